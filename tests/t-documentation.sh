#!/bin/sh
# What README.md, CONTRIBUTING.md and doc/*.md print is true: every block of code that is a file of rules
# is verified, every graph and operation is read, an error is the one that its text gives, and a
# transcript ("$ gemel …") is run and compared, where "…" stands for anything. YAML is read, by Python's yaml
# if it is there; Python that loads the library runs where NumPy is installed, and is parsed where Python is. Each block of README.md is one of these, a program, or a recipe that another check runs.
# Of every other mention of a command, in blocks and in backquotes, the options are those that it has. Each check is
# one line of output and one case in the JUnit XML. Environment as `make check` sets it: GEMEL, GEMEL_SRCDIR,
# GEMEL_JUNIT. (tests/t-adding.sh has the patches, ci/outsider the programs, with the lines that compile them.)
# SPDX-License-Identifier: MIT
set -u
LC_ALL=C
export LC_ALL
unset GEMEL_FLAGS
gemel=${GEMEL:?the path of the gemel command}
source=$(cd "${GEMEL_SRCDIR:?the source folder}" && pwd)
gemel=$(cd "$(dirname "$gemel")" && pwd)/$(basename "$gemel")
junit=${GEMEL_JUNIT:-}
[ "${GEMEL_HAS_HARNESS:-yes}" = yes ] || { echo "t-documentation: built without the harness"; exit 77; }
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/blocks" "$scratch/here" && cd "$scratch/here" || exit 99
ln -s "$source/examples" examples
passed=0 failed=0 rules=0 graphs=0 errors=0 transcripts=0 yaml=0 programs=0 recipes=0
: >"$scratch/cases"

result() { # NAME [WHY [FILE]]: failed if there is a WHY
  if [ -z "${2:-}" ]; then
    passed=$((passed + 1))
    echo "PASS: $1"
    echo "<testcase name=\"$1\" classname=\"documentation\" result=\"completed\"/>" >>"$scratch/cases"
  else
    failed=$((failed + 1))
    echo "FAIL: $1: $2"
    [ -z "${3:-}" ] || sed 's/^/  /' "$3" | head -40
    echo "<testcase name=\"$1\" classname=\"documentation\" result=\"completed\"><failure message=\"$2\"/></testcase>" >>"$scratch/cases"
  fi
}

# ---- Blocks: a file each, named DOCUMENT:LINE, those between fences and those that are indented; Python's, and what
# these print, are tests/python/test_documentation.py's ----

for document in README.md CONTRIBUTING.md $(cd "$source" && ls doc/*.md); do
  awk -v name="$scratch/blocks/$(echo "$document" | tr / _)" '
    /^```/ { fenced = !fenced; left = /python|text/; at = fenced ? name ":" NR : ""; next }
    fenced { if (!left) print >at; next }
    /^    / { if (at == "") at = name ":" NR; print substr($0, 5) >at; next }
    /^$/ && at != "" { print >at; next }
    { at = "" }' "$source/$document"
done

# ---- Rules, graphs, operations, errors ----

rules_block() { # opt: no rule is called as one of gemel's own, which would be an error
  rules=$((rules + 1))
  cp "$1" block.rules
  for seed in 1 2 3; do
    "$gemel" verify --rules ./block.rules --seed $seed >out 2>&1 || { result "$2" "gemel verify --rules refutes it, seed $seed" out; return; }
  done
  echo 'graph g(x: f32[3]) { return r = x }' >any.gmt
  if "$gemel" opt --rules block.rules any.gmt >out 2>&1; then result "$2"; else result "$2" "gemel opt --rules can't read it" out; fi
}
graph_block() {
  graphs=$((graphs + 1))
  cp "$1" block.gmt
  if "$gemel" show block.gmt >out 2>&1; then result "$2"; else result "$2" "gemel show can't read it" out; fi
}
operation_block() {
  graphs=$((graphs + 1))
  cp "$1" block.gmt
  if "$gemel" verify --ops ./block.gmt --instances 12 >out 2>&1; then result "$2"; else result "$2" "gemel verify --ops refutes it" out; fi
}
# Jobs for continuous integration. Without Python's yaml each line must be "- item" or "key: …", but for the lines of
# a text ("key: |"), which stand further in.
yaml_block() {
  yaml=$((yaml + 1))
  if python3 -c 'import yaml' 2>/dev/null; then
    python3 -c 'import sys, yaml; sys.exit(not isinstance(yaml.safe_load(open(sys.argv[1])), dict))' "$1" >out 2>&1
  else
    awk '{ match($0, /^ */); depth = RLENGTH }
      /\t/ || depth % 2 { print; exit 1 }
      text && depth > inside { next }
      { inside = depth; text = /: \|$/ }
      !/^ *(- )?[.A-Za-z_-]+:( |$)/ && !/^ *- / && !/^$/ { print; exit 1 }' "$1" >out
  fi && result "$2" || result "$2" "it is no YAML" out
}
# FILE:LINE:COLUMN: message, and below it that line of the file: what stands before that is made up.
error_block() {
  errors=$((errors + 1))
  file=$(sed -n '1s/:.*//p' "$1") line=$(sed -n '1s/^[^:]*:\([0-9]*\):.*/\1/p' "$1")
  { case $file in *.gmt) [ "$line" -lt 2 ] || echo 'graph g(x: f32[3]) {' ;; esac
    k=2
    while [ $k -lt "$line" ]; do echo; k=$((k + 1)); done
    sed -n 2p "$1"; } >"$file"
  case $file in
    *.rules) echo 'graph g(x: f32[3]) { return r = x }' >any.gmt
      "$gemel" opt --rules "$file" any.gmt >out 2>&1 ;;
    *) "$gemel" show "$file" >out 2>&1 ;;
  esac
  sed '1s/^gemel: //' out | diff "$1" - >differs && result "$2" || result "$2" "it reads otherwise" differs
}

# ---- Transcripts ----

# says EXPECTED OUTPUT: the lines of EXPECTED, in which … stands for anything; seconds are as they are.
says() {
  awk 'function pattern(text) {
      gsub(/[][\\.*+?(){}|^$]/, "\\\\&", text)
      gsub(/…/, ".*", text)
      gsub(/[0-9]+\\\.[0-9]+ s/, "[0-9.]+ s", text)
      return "^" text "$"
    }
    FNR == NR { if ($0 != "") wanted[++n] = $0; next }
    $0 != "" { lines[++m] = $0 }
    END {
      j = 1
      for (k = 1; k <= n; k++) {
        if (wanted[k] == "…") { any = 1; continue }
        while (any && j <= m && lines[j] !~ pattern(wanted[k])) j++
        if (j > m || lines[j] !~ pattern(wanted[k])) { print "there is no line: " wanted[k]; exit 1 }
        j++
        any = 0
      }
    }' "$1" "$2"
}

# finish_command NAME: COMMAND was met, and what it is to print stands in the file wanted.
finish_command() {
  name=$1
  case $command in
    '') return ;;
    'cat '*/*) result "$name" "$command: a file of the sources is shown by grep -v" ;;
    'cat '*) cp wanted "${command#cat }" ;; # which its reader has written
    'grep '*)
      eval "$command" >out 2>&1
      sed '/^$/d' wanted | diff - out >differs && result "$name" || result "$name" "$command prints otherwise" differs ;;
    'gemel '*) # prints to its standard output what is wanted, or to both
      transcripts=$((transcripts + 1))
      eval "'$gemel' ${command#gemel }" >out 2>err
      status=$?
      cat err out >both
      if [ $status -gt 1 ]; then result "$name" "$command ends with status $status" err
      elif says wanted out >differs || says wanted both >differs; then result "$name"
      else cat both >>differs; result "$name" "$command prints otherwise" differs; fi ;;
    'cc '*' && ./a.out' | 'c++ '*' && ./a.out') ;; # in ci/outsider
    *) result "$name" "nothing runs: $command" ;;
  esac
}
transcript_block() {
  command=
  : >wanted
  number=0
  while IFS= read -r line <&3; do
    case $line in
      '$ '*) finish_command "$2/$number"; command=${line#\$ }; number=$((number + 1)); : >wanted ;;
      *) printf '%s\n' "$line" >>wanted ;;
    esac
  done 3<"$1"
  finish_command "$2/$number"
}

# ---- Blocks of README.md that take minutes, or ask for root ----

# Each line is one of these, word for word, but for a comment: .ci/run runs them, ci/quickstart on a fresh system,
# configure and its targets from the tarball.
recipe_block() {
  recipes=$((recipes + 1))
  sed 's/ *#.*//; /^$/d' "$1" >steps
  while IFS= read -r step; do
    case $step in
      ci/quickstart | ci/test) [ -x "$source/$step" ] || { result "$2" "there is no $step"; return; } ;;
      './configure && make && make check && make install') ;;
      *) result "$2" "nothing runs: $step"; return ;;
    esac
  done <steps
  result "$2"
}

for block in "$scratch"/blocks/*; do
  name=$(basename "$block")
  first=$(grep -v '^#' "$block" | head -1)
  case $first in
    'rule '* | 'for '*:) rules_block "$block" "$name" ;;
    'graph '*) graph_block "$block" "$name" ;;
    'operation '*'{') operation_block "$block" "$name" ;;
    'name: '* | 'stages: '*) yaml_block "$block" "$name" ;;
    '$ '*) transcript_block "$block" "$name" ;;
    *.rules:[0-9]*:[0-9]*:\ *|*.gmt:[0-9]*:[0-9]*:\ *) error_block "$block" "$name" ;;
    *) case $name in README*)
        if grep -q '^int main(' "$block"; then programs=$((programs + 1)); else recipe_block "$block" "$name"; fi ;;
      esac ;;
  esac
done
[ $programs = "$(grep -cE '^    \$ c(c|\+\+) .* && \./a\.out$' "$source/README.md")" ] && [ $programs -ge 1 ] && result README.programs ||
  result README.programs "$programs programs in README.md, but not as many lines that compile one"
[ $recipes -ge 2 ] && result README.recipes || result README.recipes "$recipes recipes in README.md are too few"

# ---- Options of all commands that are mentioned ----

cat "$source"/doc/*.md "$source/README.md" "$source/CONTRIBUTING.md" | sed '/^```/,/^```/d' | grep -o '`gemel [^`]*`' | tr -d '`' >quoted
sed -n 's/^gemel \([a-z][a-z]*\).*/\1/p' quoted | sort -u | while read -r command; do
  "$gemel" "$command" --help >/dev/null 2>&1 || echo "$command"
done >unknown
[ ! -s unknown ] && result commands || result commands "gemel has no such commands" unknown
cat "$scratch"/blocks/* quoted | grep -oE '(^|[ /`])gemel [a-z]+( [^|;&#]*)?' | sed 's/.*gemel /gemel /' | sort -u >mentioned
while read -r _ command rest; do
  "$gemel" "$command" --help >help 2>/dev/null || continue
  for word in $rest; do
    case $word in
      --*) option=$(echo "$word" | sed 's/[=,.)].*//')
        grep -q -e "$option\\b" help || result "option/$command $option" "gemel $command has no such option" ;;
    esac
  done
done <mentioned

[ "$(wc -l <mentioned)" -gt 15 ] && result mentioned || result mentioned "commands are not found" mentioned
[ $rules -ge 1 ] && [ $graphs -ge 5 ] && [ $errors -ge 2 ] && [ $transcripts -ge 3 ] && [ $yaml -ge 2 ] && result found ||
  result found "$rules files of rules, $graphs graphs, $errors errors, $transcripts transcripts, $yaml files of YAML are too few"
if [ -n "$junit" ] && mkdir -p "$junit"; then
  { echo '<?xml version="1.0" encoding="UTF-8"?>'
    echo "<testsuites><testsuite name=\"documentation\" failures=\"$failed\">"
    cat "$scratch/cases"
    echo '</testsuite></testsuites>'; } >"$junit/t-documentation.xml"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
