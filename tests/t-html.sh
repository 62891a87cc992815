#!/bin/sh
# The reports of gemel verify. --html: well-formed, with every rule and its evidence, nothing from
# elsewhere, and text that looks like markup escaped. --junit, of gemel equal too: well-formed, a case
# a verdict, red where the exit status is 1. --baseline: only what is worse is red.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"

# well_formed FILE: every tag is closed, in order, and no < or & stands by itself.
well_formed() {
  if command -v xmllint >/dev/null 2>&1; then
    xmllint --noout "$1" || return 1
  fi
  sed '1{/^<!DOCTYPE html>$/d;/^<?xml [^<>]*?>$/d}' "$1" | awk '
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
rule never in canonicalize: x + 0 => x where rank(x) < 0
RULES
"$gemel" verify --rules mine.rules --instances 24 --html report.html --junit report.xml --json report.json >out 2>&1
[ $? = 1 ] || { fail "the exit status is not 1"; cat out; }
well_formed report.html || fail "it is not well-formed"
for rule in needs_words wrong_one whole never; do
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
# what is proved stands beside what is measured: in the table, the report, and each record; without a solver nothing is
if grep -q '^whole  .*  open: no solver$' out; then
  [ "$(grep -c '"proof": null, "why": "no solver"' report.json)" = 20 ] || fail "not each record says that there is no solver"
else
  grep -q '^whole  .* elements, all sizes, ranks to \|^whole  .*, all sizes, all ranks$' out || fail "the table doesn't say what is proved"
  grep -q '^wrong_one  .*REFUTED .*  open: rank 1, scene [0-9]*: ' out || fail "the table doesn't say what is open"
  proved=$(grep -c '^[a-z_]*  .*, all sizes, ' out)
  { [ "$proved" -ge 1 ] && tail -1 out | grep -q "; $proved rules proved for all sizes, $(grep -c '^[a-z_]*  .*, all sizes, all ranks$' out) of them for all ranks\$"; } ||
    fail "what is proved isn't counted"
  grep -q '>whole</a></td>.*<td class="passed">[^<]*, all sizes, all ranks</td></tr>$' report.html || fail "the report doesn't say what is proved"
  grep -q '>wrong_one</a></td>.*<td class="na">open: [^<]*</td></tr>$' report.html || fail "the report doesn't say what is open"
  [ "$(grep -c '"name": "whole", .*"proof": {"elements": "[^"]*", "sizes": "all", "ranks": "all"}, "why": "' report.json)" = 5 ] ||
    fail "not each record says what is proved"
  [ "$(grep -c '"name": "wrong_one", .*"proof": null, "why": "rank 1, ' report.json)" = 5 ] || fail "not each record says why it isn't proved"
fi
"$gemel" verify --rules mine.rules --instances 4 --tier integer >out 2>&1
grep -q 'proved' out && fail "with --tier something is proved"
grep -E 'https?:|src=|url\(|<script|<link|@import' report.html && fail "it needs something from elsewhere"

"$gemel" verify --ops exp --instances 6 --html ops.html >out 2>&1 || fail "operations"
well_formed ops.html || fail "the report of operations is not well-formed"
grep -q '<h3>exp.grad</h3>' ops.html || fail "there is no exp.grad"
"$gemel" verify --ops exp --html nowhere/report.html >out 2>&1
[ $? = 2 ] && grep -q 'No such file' out || fail "a folder that isn't there is no error"

# ---- JUnit ----

# counts FILE TESTS FAILURES ERRORS SKIPPED: FILE is well-formed, says these counts, and has them.
counts() {
  well_formed "$1" || fail "$1 is not well-formed"
  grep -q "^<testsuite .* tests=\"$2\" failures=\"$3\" errors=\"$4\" skipped=\"$5\" " "$1" &&
    [ "$(grep -c '<testcase ' "$1") $(grep -c '<failure ' "$1") $(grep -c '<error ' "$1") $(grep -c '<skipped ' "$1")" = "$2 $3 $4 $5" ] ||
    { fail "$1 has other counts than $2 $3 $4 $5"; head -2 "$1"; }
}

counts report.xml 20 1 5 9
[ "$(grep -c '^{' report.json)" = 20 ] || fail "not as many cases as records"
grep -q '^  <testcase classname="gemel.verify.rule" name="wrong_one real" .*<failure message="refuted: .*">graph counterexample(' report.xml &&
  grep -q '^# result, element 0: left .*, right ' report.xml || fail "the counterexample isn't in the failure"
grep -q 'name="wrong_one special" .*<skipped message="not run: tier real refuted' report.xml || fail "another tier's refutation isn't skipped"
grep -q 'name="whole real" .*<skipped message="not applicable: ' report.xml || fail "what isn't applicable isn't skipped"
grep -q 'name="never float" .*<error message="uninformative: .*: rank(x) &lt; 0 (line ' report.xml || fail "uninformative is no error, escaped"
"$gemel" verify --rules mine.rules --instances 24 --seconds 0.000001 --jobs 1 --junit stopped.xml >out 2>&1
[ $? = 1 ] && [ "$(grep -c '<error message="not run: the run was stopped' stopped.xml)" = 20 ] || fail "what wasn't run for lack of time is no error"
"$gemel" verify --ops exp --instances 6 --junit ops.xml >out 2>&1 || fail "operations, JUnit"
grep -q '^<testsuite .* tests="10" failures="0" errors="0" ' ops.xml && grep -q 'classname="gemel.verify.gradient" name="exp.grad float"' ops.xml ||
  fail "cases of an operation"
square=$GEMEL_SRCDIR/examples/square
"$gemel" equal ${square}1.gmt ${square}2.gmt --instances 24 --junit pair.xml >out 2>&1 || fail "equal"
counts pair.xml 6 0 0 1
"$gemel" equal ${square}2.gmt ${square}1.gmt --instances 24 --junit pair.xml >out 2>&1
[ $? = 1 ] || fail "equal, the other way round"
counts pair.xml 6 2 0 1
grep -q 'name="square" .*<failure message="differ: tier special: refuted; ' pair.xml || fail "the whole pair is no case"
for path in nowhere/report.xml - .; do
  "$gemel" equal ${square}1.gmt ${square}2.gmt --junit $path >out 2>&1
  [ $? = 2 ] && [ "$(wc -l <out)" = 1 ] || fail "--junit $path is no error"
done
"$gemel" verify --rules none.rules --junit none.xml >out 2>&1
[ $? = 2 ] && [ ! -e none.xml ] || fail "a run that fails leaves a report"

# ---- A baseline ----

# held STATUS LINE: with the baseline base.json the exit status is STATUS, and LINE is printed.
held() {
  "$gemel" verify --rules mine.rules --tier real,integer --instances 8 --baseline base.json --junit held.xml >out 2>&1
  status=$?
  [ $status = "$1" ] && grep -q "^$2\$" out || { fail "exit status $status, or no line '$2'"; tail -3 out; }
}
cp report.json base.json
held 0 'gemel verify: 0 verdicts are worse than in the baseline, 4 as bad as there'
counts held.xml 8 0 0 6
grep -q 'name="wrong_one real" .*<skipped message="refuted: ' held.xml || fail "what is known isn't skipped"
sed '/"wrong_one", "tier": "real"/s/"refuted"/"uninformative"/' report.json >base.json
held 1 'worse: wrong_one, tier real: refuted, was uninformative'
grep -q '^gemel verify: 1 verdicts are worse than in the baseline, 3 as bad as there$' out || fail "another one is worse"
counts held.xml 8 1 0 5
sed '/"wrong_one", "tier": "real"/d' report.json >base.json
held 1 'worse: wrong_one, tier real: refuted, not in the baseline'
# the same object as others write it; a verdict that is named twice counts once, the better one
echo ' { "verdict":"refuted" ,"more":{"kind":"pass","tier":["}",{"name":"\"}"}]},"n":-1.5,"tier":"real","name":"wrong_one","kind":"rule" }' >>base.json
held 0 'gemel verify: 0 verdicts are worse than in the baseline, 4 as bad as there'
# of the refutation alone: what wasn't run because of it goes with it, which it doesn't without
grep '"verdict": "refuted"' report.json >flaws.json && mv base.json base.saved && mv flaws.json base.json
held 1 'gemel verify: 2 verdicts are worse than in the baseline, 2 as bad as there'
counts held.xml 8 0 2 4
: >base.json
held 1 'worse: wrong_one, tier integer: not run, not in the baseline'
counts held.xml 8 1 2 3
mv base.saved base.json
echo '{"kind": "rule", "name": "wrong_one", "tier": "real", "verdict": "passed"}' >>base.json
held 1 'worse: wrong_one, tier real: refuted, was passed'
for line in '{"kind": "rule", "name": "a", "tier": "real"}' '{"kind": "rule", "name": "a", "tier": "real", "verdict": "odd"}' \
  '{"kind": "rule", "name": "a", "tier": "real", "verdict": "passed"} {' '{"kind": "rule", "name": "a", "tier": "real", "verdict": "pas' '' '{' '[]' ']'; do
  { head -2 report.json; printf '%s\n' "$line"; } >bad.json
  rm -f held.xml
  "$gemel" verify --rules mine.rules --baseline bad.json --junit held.xml >out 2>&1
  [ $? = 2 ] && [ "$(cat out)" = 'gemel: bad.json:3: is no record as gemel verify --json writes it' ] && [ ! -e held.xml ] ||
    { fail "'$line' is read"; cat out; }
done
"$gemel" verify --rules mine.rules --baseline nowhere.json >out 2>&1
[ $? = 2 ] && grep -q 'nowhere.json: No such file' out || fail "a baseline that isn't there is no error"

finish "ok"
