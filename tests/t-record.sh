#!/bin/sh
# What gemel verify --proof --record DIR writes, as doc/proofs.md says: claims, scenes and their steps, and
# a question for each step that needed one, which says where it is asked. The same whatever the number of jobs,
# and only to an empty folder. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
doc=$GEMEL_SRCDIR/doc/proofs.md

cat >five.rules <<'END'
rule windows in canonicalize:
    subtensor(subtensor(x, start = a, size = b, step = c), start = d, size = e, step = f)
    => subtensor(x, start = a + c * d, size = e, step = c * f)
rule wrong in canonicalize: subtensor(x, start = a, size = b, step = c) => x
rule turned in canonicalize:
    dimshuffle(dimshuffle(x, order = p), order = q) => x where permutation(p), length(p) == rank(x), q == inverse(p)
rule joined in canonicalize: -join(..xs, axis = k) => -join(..xs, axis = k)
rule quotient in canonicalize: sum(exp(-x), axes = a) => sum(1 / exp(x), axes = a) where float(x)
END
"$gemel" verify --proof --ranks 2 --rules five.rules --jobs 1 --record record >out 2>&1 || {
  fail "no record"; cat out; finish; }

# The index: a line a rule, in their order, with what the table says.
sed -n 's/.*"name": "\([a-z]*\)", "proof": \(null\|{"elements": "\([a-z ()]*\)".*"ranks": "\([a-z0-9]*\)"}\).*/\1: \3, \4/p' \
  record/index.jsonl >index
printf '%s\n' 'windows: any, all' 'wrong: , ' 'turned: any, 2' 'joined: any, all' 'quotient: values (reals), all' |
  cmp -s - index || { fail "the index"; cat index; }
ls record >folders
printf '%s\n' index.jsonl joined quotient turned windows | cmp -s - folders || { fail "folders"; cat folders; }

# Scenes: as many as the index says, numbered from 1; steps are those of the documentation.
sed -n 's/^| \(`.*`\) |.*/\1/p' "$doc" | grep -o '`[a-z ]*`' | tr -d '`' | sort -u >steps
for rule in windows turned joined quotient; do
  scenes=$(sed -n "s/.*\"name\": \"$rule\".*\"scenes\": \([0-9]*\),.*/\1/p" record/index.jsonl)
  sed -n 's/^{"scene": \([0-9]*\), "steps": \[.*\], "choices": \[[0-9, ]*\], "end": "\(proved\|no instance\)"}$/\1/p' \
    record/$rule/scenes.jsonl >numbers
  [ "$(grep -c . record/$rule/scenes.jsonl)" = "$(grep -c . numbers)" ] || fail "$rule: lines that are no scenes"
  seq "$(grep -c . numbers)" | cmp -s - numbers || fail "$rule: scenes aren't numbered from 1"
  [ "$(grep -c '"proved"}$' record/$rule/scenes.jsonl)" = "$scenes" ] || fail "$rule: not $scenes scenes are proved"
  sed 's/.*"choices": \[\(.*\)\], "end".*/\1/' record/$rule/scenes.jsonl | sort | uniq -d | grep . && fail "$rule: a scene twice"
  grep -o '"step": "[^"]*"' record/$rule/scenes.jsonl | sed 's/.*: "\(.*\)"/\1/' | sort -u | comm -23 - steps | grep . &&
    fail "$rule: a step that isn't documented"
  # Each question is some step's, and each step's question is there.
  grep -o '"file": "[^"]*"' record/$rule/scenes.jsonl | sed 's/.*: "\(.*\)"/\1/' | sort -u >named
  (cd record/$rule && ls | grep -v '^scenes.jsonl$') | cmp -s - named || fail "$rule: files aren't those that steps name"
done
grep -q '"step": "right side valid", "about": "a window beyond its tensor", "file": "' record/windows/scenes.jsonl ||
  fail "windows: a window's end isn't asked about"
grep -q '"step": "map"' record/quotient/scenes.jsonl || fail "quotient: no map of indices"
grep -q '"step": "defined"' record/quotient/scenes.jsonl || fail "quotient: where both are numbers isn't asked"

# A question is SMT-LIB, with one check and the answer that carries the step, and says where it is asked.
for file in record/*/*.smt2; do
  rule=$(basename "$(dirname "$file")")
  grep -q "^; gemel [0-9.]*, a question of the proof of rule $rule:$" "$file" || fail "$file: of which rule?"
  scene=$(sed -n 's/^; Scene \([0-9]*\), choices \[.*\], in which$/\1/p' "$file")
  choices=$(sed -n 's/^; Scene [0-9]*, choices \[\(.*\)\], in which$/\1/p' "$file")
  step=$(sed -n 's/^; Step "\([a-z ]*\)": .*\.$/\1/p' "$file")
  line=$(grep "^{\"scene\": $scene, " record/"$rule"/scenes.jsonl)
  case $line in *"\"step\": \"$step\""*"${file##*/}"*) ;; *) fail "$file: step $step isn't in scene $scene" ;; esac
  case $line in *"\"choices\": [$choices"*) ;; *) fail "$file: choices [$choices] aren't those of scene $scene" ;; esac
  case $step in 'no contradiction') answer='sat\|unknown' ;; *) answer=unsat ;; esac
  grep -q -x "(set-info :status \($answer\))" "$file" || fail "$file: the answer isn't $answer"
  [ "$(grep -c -x '(check-sat)' "$file")" = 1 ] || fail "$file: not one check"
  [ "$(grep -v '^;' "$file" | tr -cd '(' | wc -c)" = "$(grep -v '^;' "$file" | tr -cd ')' | wc -c)" ] ||
    fail "$file: parentheses"
done

# says RULE LINE: a question of RULE says so of what is asked.
says() {
  cat record/"$1"/*.smt2 | grep -q -x -e ";   *$2" || fail "$1: no question says '$2'"
}
says windows 'x: a tensor of rank 1, of any dtype'
says windows 'd: \[d\.0\]'
says windows '=> subtensor(x, start = a + c \* d, size = e, step = c \* f)'
says turned 'q: \[0, 1\]'
says joined 'xs: 2 tensors'
says quotient 'x: a tensor of rank 1, f32'

"$gemel" verify --proof --ranks 2 --rules five.rules --jobs 2 --record again >/dev/null 2>&1
diff -r record again >out || { fail "another record with two jobs"; head -5 out; }

# refused WORDS DIR: the command says WORDS of DIR, with status 2, and leaves DIR as it is.
refused() {
  find "$2" 2>/dev/null | sort >before
  "$gemel" verify --proof --ranks 1 --rules five.rules --record "$2" >out 2>&1
  { [ $? = 2 ] && grep -q "$1" out; } || { fail "not '$1' of $2"; cat out; }
  find "$2" 2>/dev/null | sort | cmp -s - before || fail "$2 was changed"
}
mkdir file hidden rule empty
touch file/notes hidden/.notes
cp -r record/windows rule/windows
for folder in record file hidden rule; do
  refused 'is there: a record begins in an empty folder' $folder
done
refused 'is no folder' five.rules
refused 'No such file or directory' nowhere/record
long=$(printf '%0190d' 0)
mkdir -p "$long/$long/$long" && refused 'the path is too long' "$long/$long/$long/$long"
"$gemel" verify --proof --ranks 1 --rules five.rules --record empty >out 2>&1 || { fail "an empty folder is refused"; cat out; }
"$gemel" verify --rules five.rules --record measured >out 2>&1 && fail "--record without --proof"
finish "$(find record -name '*.smt2' | wc -l) questions"
