#!/bin/sh
# The reports of gemel verify. --html, of gemel equal too: well-formed, the verdict first, failures
# before passes, every rule and its evidence, nothing from elsewhere, and text that looks like
# markup escaped; ci/browser looks at them in a browser. --junit, of gemel equal too: well-formed, a case
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
SOURCE_DATE_EPOCH=1000000000 "$gemel" verify --rules mine.rules --instances 24 --html report.html --junit report.xml --json report.json >out 2>&1
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
# A plot needs some points, bars an error above 0: none is empty.
grep -q '<svg\|<figure' report.html && fail "there is a plot of nothing"
"$gemel" verify --rules 'dot_*' --instances 3 --tier float --html plotted.html >out.plotted 2>&1 || { fail "rules with errors"; cat out.plotted; }
well_formed plotted.html || fail "the report with plots is not well-formed"
rules=$(sed -n 's,^<p>\([0-9]*\) rules: all passed\.</p>$,\1,p' plotted.html)
[ "${rules:-0}" -ge 8 ] && [ "$(grep -c '<circle' plotted.html) $(grep -c 'class="plot"' plotted.html)" = "$rules 1" ] || fail "there is no plot of all rules"
[ "$(grep -c 'class="bars"' plotted.html)" -ge 1 ] && grep -q 'class="before"' plotted.html && grep -q 'class="after"' plotted.html || fail "there are no bars"
# The head: the verdict, files, version, date, the command line.
grep -q '^<title>Refuted: gemel verify rules mine.rules</title>$' report.html &&
  grep -q '^<p class="verdict">Refuted</p>$' report.html && grep -q '^<h1>gemel verify rules <code>mine.rules</code></h1>$' report.html ||
  fail "the head doesn't say what is refuted"
grep -q '^<dt>date</dt><dd><time datetime="2001-09-09T01:46:40Z">2001-09-09T01:46:40Z</time></dd>$' report.html || fail "the date isn't that of SOURCE_DATE_EPOCH"
grep -q "^<dt>version</dt><dd>$("$gemel" --version)</dd>\$" report.html || fail "there is no version"
grep -qF '<pre>gemel verify --rules mine.rules --instances 24 --html report.html --junit report.xml --json report.json</pre>' report.html ||
  fail "there is no command line"
grep -q '<p>4 rules: 1 refuted, 1 open, 2 passed\.' report.html || fail "the head doesn't count the rules"
grep -qF "<p><code>repeat: gemel verify --rules 'mine.rules' --seed 1 --instances 24 --replay-dir ." report.html || fail "it isn't said how to repeat"
# Failures come first, in full; passes below the table, folded.
order=$(grep -n '<h3>\|<h2>' report.html | sed 's/.*<h[23]>\([^<]*\)<.*/\1/' | tr '\n' ',')
[ "$order" = 'Not passed,wrong_one,never,All verdicts,Evidence,needs_words,whole,' ] || fail "the order is $order"
[ "$(sed -n 's/.*<a href="#s[0-9]*">\([a-z_]*\)<.*/\1/p' report.html | tr '\n' ',')" = 'wrong_one,never,needs_words,whole,' ] || fail "the order of the table"
[ "$(grep -c '<details class="card" open="open">' report.html) $(grep -c '<details class="card">' report.html)" = '2 2' ] || fail "other things are folded"
# what is proved stands beside what is measured: in the table, the report, and each record; without a solver nothing is
if grep -q '^whole  .*  open: no solver$' out; then
  [ "$(grep -c '"proof": null, "why": "no solver"' report.json)" = 20 ] || fail "not each record says that there is no solver"
else
  grep -q '^whole  .* elements, all sizes, ranks to \|^whole  .*, all sizes, all ranks$' out || fail "the table doesn't say what is proved"
  grep -q '^wrong_one  .*REFUTED .*  open: rank 1, scene [0-9]*: ' out || fail "the table doesn't say what is open"
  proved=$(grep -c '^[a-z_]*  .*, all sizes, ' out)
  { [ "$proved" -ge 1 ] && tail -1 out | grep -q "; $proved rules proved for all sizes, $(grep -c '^[a-z_]*  .*, all sizes, all ranks$' out) of them for all ranks\$"; } ||
    fail "what is proved isn't counted"
  grep -q '>whole</a></td>.*<td class="more passed">[^<]*, all sizes, all ranks</td></tr>$' report.html || fail "the report doesn't say what is proved"
  grep -q '>wrong_one</a></td>.*<td class="more na">open: [^<]*</td></tr>$' report.html || fail "the report doesn't say what is open"
  [ "$(grep -c '"name": "whole", .*"proof": {"elements": "[^"]*", "sizes": "all", "ranks": "all"}, "why": "' report.json)" = 5 ] ||
    fail "not each record says what is proved"
  [ "$(grep -c '"name": "wrong_one", .*"proof": null, "why": "rank 1, ' report.json)" = 5 ] || fail "not each record says why it isn't proved"
fi
"$gemel" verify --rules mine.rules --instances 4 --tier integer >out 2>&1
grep -q 'proved' out && fail "with --tier something is proved"
grep -E 'https?:|src=|url\(|<script|<link|@import' report.html && fail "it needs something from elsewhere"

SOURCE_DATE_EPOCH=soon "$gemel" verify --ops exp --instances 6 --html ops.html >out 2>&1 || fail "operations"
well_formed ops.html || fail "the report of operations is not well-formed"
grep -q '<h3>exp.grad</h3>' ops.html || fail "there is no exp.grad"
grep -q '^<p class="verdict">Passed</p>$' ops.html && grep -q '<p>1 operation, 1 derivative: all passed\.' ops.html || fail "the verdict on operations"
grep -q '<h2>Not passed\|<svg\|<figure' ops.html && fail "what isn't there has a place"
grep -q "<time datetime=\"$(date -u +%Y-%m)" ops.html || fail "the date isn't today's"
"$gemel" verify --ops exp --html nowhere/report.html >out 2>&1
[ $? = 2 ] && grep -q 'No such file' out || fail "a folder that isn't there is no error"

# What wasn't run is named once, folded.
"$gemel" verify --ops 'e*' --seconds 0.000001 --jobs 1 --html stopped.html >out 2>&1
[ $? = 1 ] && well_formed stopped.html && grep -q '^<p class="verdict">Open</p>$' stopped.html && [ "$(grep -c '<h3>' stopped.html)" = 0 ] &&
  [ "$(sed -n 's,^<h2>Not run: \([0-9]*\)</h2>$,\1,p' stopped.html)" = "$(grep -c '<br/>$' stopped.html)" ] || fail "what wasn't run"

# ---- equal ----

# pair STATUS VERDICT SENTENCE ARGUMENT...: the report of gemel equal.
pair() {
  status=$1 verdict=$2 sentence=$3
  shift 3
  "$gemel" equal "$@" --html pair.html >out 2>&1
  [ $? = "$status" ] && well_formed pair.html && grep -q "^<p class=\"verdict\">$verdict</p>\$" pair.html && grep -q "^<p>$sentence</p>\$" pair.html ||
    { fail "the report of a pair isn't $verdict"; cat out; }
  grep -q '<table\|<svg' pair.html && fail "the report of a pair has a table or a plot"
}
cp "$GEMEL_SRCDIR"/examples/square[12].gmt .
pair 0 Equal 'They are the same function, up to ninf, reassoc, for sizes up to [0-9]*\.' square1.gmt square2.gmt --instances 24
pair 1 Different 'They differ, told apart by ninf, reassoc, worsens\. Not allowed: worsens\.' square2.gmt square1.gmt --instances 24
grep -q '^<h1>gemel equal <code>square2.gmt</code> and <code>square1.gmt</code></h1>$' pair.html || fail "the files aren't named"
[ "$(sed -n 's/^<li class="\([a-z]*\)"><b>special.*/\1/p;/^<li/q' pair.html)" = refuted ] || fail "the refuted tier isn't the first"
pair 1 Open 'They were not shown to be the same function\.' square1.gmt square2.gmt --seconds 0.000001
# Text from outside: a file's and a graph's name, on the command line, and in an optimiser's output.
evil="<img src=x onerror=alert(1)>$(printf '\342\200\256')&\"'.gmt"
sed 's/^graph square/graph b/' square1.gmt >"$evil"
pair 0 Equal 'They are the same function, bitwise\.' "$evil" "$evil" --instances 4
grep -q '<img' pair.html && fail "a file's name is markup"
grep -q "^<pre>gemel equal --instances 4 --html pair.html '&lt;img src=x onerror=alert(1)&gt;???&amp;&quot;'\\\\''.gmt'\|<code>&lt;img src=x onerror=alert(1)&gt;???&amp;&quot;'.gmt</code>" pair.html ||
  fail "a file's name isn't there, escaped"
# A long counterexample is folded.
{
  echo "graph many($(seq -s ', ' -f 'x%g: f64[2]' 1 40)) {"
  echo "  return z = $(seq -s ' + ' -f 'x%g' 1 40)"
  echo '}'
} >sum.gmt
sed "s/z = .*/z = $(seq -s ' + ' -f 'x%g' 40 -1 2) - x1/" sum.gmt >other.gmt
pair 1 Different 'They differ.*' sum.gmt other.gmt --instances 4
grep -q '<details><summary>counterexample, [0-9]* lines</summary><pre>graph first(' pair.html || fail "a long counterexample isn't folded"

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
  "$gemel" verify --rules mine.rules --tier real,integer --instances 8 --baseline base.json --junit held.xml --html held.html >out 2>&1
  status=$?
  [ $status = "$1" ] && grep -q "^$2\$" out || { fail "exit status $status, or no line '$2'"; tail -3 out; }
}
cp report.json base.json
held 0 'gemel verify: 0 verdicts are worse than in the baseline, 4 as bad as there'
grep -q '^<p class="verdict">As in the baseline</p>$' held.html && grep -q '<dt>baseline</dt><dd>base.json</dd>' held.html ||
  fail "the report doesn't say that all is as in the baseline"
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
