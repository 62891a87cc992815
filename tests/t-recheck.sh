#!/bin/sh
# Records of proofs: another solver gives the same answers, and ci/recheck tells a question that was changed
# and one that is gone. SPDX-License-Identifier: MIT
recheck=$(cd "$(dirname "$0")/.." && pwd)/ci/recheck
. "$(dirname "$0")/command.sh"

for solver in cvc5 z3; do
  command -v $solver >/dev/null 2>&1 && break
done
command -v $solver >/dev/null 2>&1 || { echo "t-recheck: neither cvc5 nor z3 is installed"; exit 77; }

# rechecked STATUS WORDS: ci/recheck ends with STATUS and prints WORDS.
rechecked() {
  "$recheck" record $solver 60 >out 2>&1
  status=$?
  { [ $status = "$1" ] && grep -q "$2" out; } || { fail "not '$2' but (status $status):"; cat out; }
}

cat >two.rules <<'END'
rule windows in canonicalize:
    subtensor(subtensor(x, start = a, size = b, step = c), start = d, size = e, step = f)
    => subtensor(x, start = a + c * d, size = e, step = c * f)
rule wrong in canonicalize: subtensor(x, start = a, size = b, step = c) => x
END
"$gemel" verify --proof --rules two.rules --record record >out 2>&1 || { fail "no record"; cat out; }
grep -q '"name": "windows", "proof": {' record/index.jsonl || fail "the index has no proof"
grep -q '"name": "wrong", "proof": null' record/index.jsonl || fail "the index hides what is open"
[ ! -e record/wrong ] || fail "a record of what isn't proved"
questions=$(find record/windows -name '*.smt2' | wc -l)
[ "$questions" -ge 3 ] || fail "only $questions questions"
rechecked 0 "^$questions agreed, 0 not answered by $solver, 0 contradicted or missing$"
mv record/windows/scenes.jsonl scenes
rechecked 2 "has no scenes.jsonl"
mv scenes record/windows/scenes.jsonl
"$gemel" verify --proof --rules two.rules --record record >out 2>&1 && fail "a second record in one folder"

file=$(grep -l -x '(set-info :status unsat)' record/windows/*.smt2 | head -1)
sed '/^(assert /d' "$file" >changed && cp changed "$file"
rechecked 1 "^CONTRADICTED: ${file#record/}: the record says unsat, $solver says sat$"
rm "$file"
rechecked 1 "^missing: ${file#record/}$"
file=$(grep -l -x '(set-info :status sat)' record/windows/*.smt2 | head -1)
sed 's/^(check-sat)$/(assert false)\n&/' "$file" >changed && cp changed "$file"
rechecked 1 "^CONTRADICTED: ${file#record/}: the record says sat, $solver says unsat$"
finish "$questions questions asked again of $solver"
