#!/bin/sh
# The report of gemel verify --html: well-formed, with every rule and its evidence, nothing from
# elsewhere, and text that looks like markup escaped. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"

# well_formed FILE: every tag is closed, in order, and no < or & stands by itself.
well_formed() {
  sed '1{/^<!DOCTYPE html>$/d}' "$1" | awk '
    { text = text $0 "\n" }
    END {
      while (match(text, /<[^<>]*>/)) {
        before = substr(text, 1, RSTART - 1); tag = substr(text, RSTART + 1, RLENGTH - 2)
        if (before ~ /[<>]/) { print "a stray bracket in: " before; exit 1 }
        gsub(/&(amp|lt|gt|quot);/, "", before)
        if (before ~ /&/) { print "a stray & in: " before; exit 1 }
        text = substr(text, RSTART + RLENGTH)
        if (tag ~ /\/$/) continue
        name = tag; sub(/^\//, "", name); sub(/[ \n].*/, "", name)
        if (tag !~ /^\//) stack[++depth] = name
        else if (depth < 1 || stack[depth--] != name) { print "</" name "> closes nothing"; exit 1 }
      }
      if (depth != 0 || text ~ /[<>&]/) { print "<" stack[depth] "> is left open"; exit 1 }
    }'
}

cat >mine.rules <<'RULES'
rule needs_words in canonicalize needs nsz: x + 0 => x where float(x) and rank(x) < 3 and rank(x) >= 0
rule wrong_one in canonicalize: x - y => maximum(x, y) where float(x)
rule whole in canonicalize: -(-x) => x where integer(x)
RULES
"$gemel" verify --rules mine.rules --instances 24 --html report.html >out 2>&1
[ $? = 1 ] || { fail "the exit status is not 1"; cat out; }
well_formed report.html || fail "it is not well-formed"
for rule in needs_words wrong_one whole; do
  [ "$(grep -c "<a href=\"#s[0-9]*\">$rule</a>" report.html)" = 1 ] || fail "$rule isn't in the table"
  grep -q "<h3>$rule</h3>" report.html || fail "there is no evidence of $rule"
done
for link in $(sed -n 's/.*href="#\(s[0-9]*\)".*/\1/p' report.html); do
  grep -q "<section id=\"$link\">" report.html || fail "the link $link leads nowhere"
done
grep -q 'rank(x) &lt; 3 and rank(x) &gt;= 0' report.html || fail "the text of a rule isn't there, escaped"
grep -q '<td class="refuted">refuted' report.html || fail "nothing is refuted"
grep -q '<pre>graph counterexample(' report.html || fail "there is no counterexample"
grep -q '^# nsz: element [0-9]*: left 0, right -0' report.html || fail "there is no witness of nsz"
grep -q 'was measured to give up: nsz' report.html || fail "what was measured isn't there"
[ "$(grep -c '<svg' report.html)" -ge 2 ] && grep -q '<circle' report.html && grep -q 'class="after"' report.html ||
  fail "there are no plots"
grep -E 'https?:|src=|url\(|<script|<link|@import' report.html && fail "it needs something from elsewhere"

"$gemel" verify --ops exp --instances 6 --html ops.html >out 2>&1 || fail "operations"
well_formed ops.html || fail "the report of operations is not well-formed"
grep -q '<h3>exp.grad</h3>' ops.html || fail "there is no exp.grad"
"$gemel" verify --ops exp --html nowhere/report.html >out 2>&1
[ $? = 2 ] && grep -q 'No such file' out || fail "a folder that isn't there is no error"

finish "ok"
