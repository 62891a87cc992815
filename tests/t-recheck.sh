#!/bin/sh
# Certificates: those of the shipped rules hold for gemel-recheck, which shares no code with gemel;
# one that was tampered with doesn't, wherever that was. SPDX-License-Identifier: MIT
[ -z "${GEMEL_QUICK:-}" ] || { echo "t-recheck: takes long, and GEMEL_QUICK is set"; exit 77; }
. "$(dirname "$0")/command.sh"
recheck=$gemel-recheck

# says FILE STATUS PATTERN: gemel-recheck FILE ends so, and a line of what it says matches.
says() {
  "$recheck" "$1" >out 2>&1
  status=$?
  { [ $status = "$2" ] && grep -q "$3" out; } || { fail "$1: status $status, should be $2 with '$3'"; head -3 out; }
}

# ---- The shipped rules ----

"$gemel" verify --rules '*' --tier special --instances 10 --certificates all.jsonl >verified 2>&1
[ $? -le 1 ] || { fail "gemel verify fails"; cat verified; }
"$recheck" --quiet all.jsonl >said
[ $? = 0 ] || { fail "the shipped rules are contradicted"; grep -v 'not covered' said; }
cat said
rules=$(wc -l <all.jsonl)
[ "$rules" -ge 300 ] || fail "there are certificates of $rules rules only"
confirmed=$(sed -n 's/^gemel-recheck: \([0-9]*\) confirmed.*/\1/p' said)
[ $((20 * confirmed)) -ge $((19 * rules)) ] || fail "$confirmed of $rules are confirmed"

# ---- Tampering ----

printf 'rule mine in canonicalize: x - (-y) => x + y\n' >mine.rules
"$gemel" verify --rules mine.rules --instances 12 --certificates mine.jsonl >verified 2>&1 ||
  { fail "mine.rules"; cat verified; }
says mine.jsonl 0 '^mine .* confirmed'
grep -q '"text": "rule mine in canonicalize: x - (-y) => x + y"' mine.jsonl || fail "no text"
grep -q '"class": "bitwise"' mine.jsonl || fail "no class"

# An instance a line, so that one of a model can be chosen.
sed 's/{"model"/\
&/g' mine.jsonl >lines

# tampered NAME SED: at least one instance is contradicted.
tampered() {
  sed -E "$2" lines >changed
  cmp -s lines changed && fail "$1: nothing was changed"
  { tr -d '\n' <changed; echo; } >"$1.jsonl"
  says "$1.jsonl" 1 '^mine .* contradicted'
}
tampered right_side 's/("right".*) = add\(/\1 = mul(/'
tampered left_side 's/("left": "[^"]*) = sub\(/\1 = add(/'
tampered input '/"model": "field"/s/("inputs": \{"[a-z]*": ")[0-9]*/\112345/'
tampered residue '/"model": "field"/s/("result": ")[0-9]*/\112345/'
tampered rational '/"model": "exact"/s/("result": ")-?[0-9]*/\177/'
tampered float '/"model": "float"/s/("result_left": ")[^ ]*/\10x1.8p+70/'
tampered float_right '/"model": "float"/s/("result_right": ")[^ ]*/\10x1.8p+70/'
tampered integer '/"model": "exact"/s/("result_left": ")-?[0-9]*/\193/'
tampered integer_right '/"model": "exact"/s/("result_right": ")-?[0-9]*/\193/'

# A correlation whose padding went to the other side.
"$gemel" verify --rules corr_of_padded --tier special --instances 12 --certificates padded.jsonl >verified 2>&1 ||
  { fail "corr_of_padded"; cat verified; }
says padded.jsonl 0 '^corr_of_padded .* confirmed'
sed 's/low = \[0\], high = \[1\]/low = [1], high = [0]/g' padded.jsonl >moved.jsonl
says moved.jsonl 1 '^corr_of_padded .* contradicted'

# ---- What is assumed of inputs ----

printf 'rule kin in canonicalize: maximum(x, -y) => x where positive(x), nonnegative(y), not_nan(y), same_type(x, y), float(x)\n' >kin.rules
"$gemel" verify --rules kin.rules --instances 12 --certificates kin.jsonl >verified 2>&1 ||
  { fail "kin.rules"; cat verified; }
grep -q 'nonnegative not_nan[,)]' kin.jsonl || fail "kin.jsonl assumes nothing"
says kin.jsonl 0 '^kin .* confirmed'

# ---- What it can't read, and what it doesn't compute ----

sed 's/"instances"/"instances/' mine.jsonl >broken.jsonl
says broken.jsonl 2 '1 unreadable'
sed 's/= sub(/= sub(nothing, /' mine.jsonl >undefined.jsonl
says undefined.jsonl 2 "'nothing' is not defined"
sed 's/= \(sub\|add\)(/= convolve(/g' mine.jsonl >unknown.jsonl
says unknown.jsonl 0 '^mine .* not covered (convolve)'
says nowhere.jsonl 2 'nowhere.jsonl: No such file'
"$recheck" >out 2>&1
[ $? = 2 ] || fail "no file is no usage error"
"$recheck" --help | grep -q '^usage: gemel-recheck' || fail "no help"

finish "ok"
