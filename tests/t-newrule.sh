#!/bin/sh
# The way of someone who writes a rule: a wrong one is refuted with a counterexample, also
# where that is repeated; corrected, it passes; then `gemel opt` applies it. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"

# p and q are composed the wrong way round.
cat >"$dir/mine.rules" <<'RULE'
# Two permutations of axes are one.
rule my_transposes in canonicalize:
    dimshuffle(dimshuffle(x, order = p), order = q) => dimshuffle(x, order = q[p])
RULE
(cd "$dir" && "$gemel" verify --rules mine.rules) >"$dir/wrong" 2>&1
[ $? = 1 ] || fail "a wrong rule must end with status 1"
grep -q '^my_transposes .*REFUTED' "$dir/wrong" || fail "the table doesn't say REFUTED"
grep -q 'dimshuffle(' "$dir/wrong" || fail "there is no counterexample"
repeat=$(sed -n 's/^  repeat: gemel verify //p' "$dir/wrong")
[ -n "$repeat" ] || fail "it isn't said how to repeat it"
(cd "$dir" && eval "'$gemel' verify $repeat") >"$dir/again" 2>&1
[ $? = 1 ] && grep -q '^my_transposes .*REFUTED' "$dir/again" || fail "verify $repeat doesn't refute"

# A slip in the text shows its place.
sed 's/dimshuffle(x, order/dimshufle(x, order/' "$dir/mine.rules" >"$dir/slip.rules"
"$gemel" verify --rules "$dir/slip.rules" >"$dir/slip" 2>&1
[ $? = 2 ] || fail "a rule that can't be parsed must end with status 2"
grep -q 'slip.rules:3:' "$dir/slip" && grep -q '\^' "$dir/slip" || fail "no place in the message"

sed 's/q\[p\]/p[q]/' "$dir/mine.rules" >"$dir/right.rules"
"$gemel" verify --rules "$dir/right.rules" >"$dir/right" 2>&1 || fail "the right rule isn't passed"

cat >"$dir/g.gmt" <<'GRAPH'
graph g(x: f32[2, 3, 4]) {
  a = dimshuffle(x, order = [2, 0, 1])
  b = dimshuffle(a, order = [1, 2, 0])
  y = b + 1
  return y
}
GRAPH
"$gemel" opt --rules "$dir/right.rules" --include my_transposes --profile "$dir/g.gmt" \
  >"$dir/out.gmt" 2>"$dir/profile" || fail "gemel opt fails"
grep -q 'my_transposes .* 1 ' "$dir/profile" || fail "the profile doesn't say that the rule fired"
[ "$(grep -c dimshuffle "$dir/out.gmt")" = 1 ] || fail "two transposes are left"
"$gemel" equal "$dir/g.gmt" "$dir/out.gmt" --allow none >/dev/null 2>&1 ||
  fail "what it made isn't the same function, bit for bit"

[ $failures = 0 ] || { cat "$dir/wrong" "$dir/slip" "$dir/right" "$dir/profile" "$dir/out.gmt"; exit 1; }
