#!/bin/sh
# doc/adding.md: its patches add scalar operations, a tensor operation, a rewrite rule, a pass, a kernel for
# GPUs, and to the harness a tier, a domain, a maker of questions and a source of points. They are applied to a copy of the
# sources, which is built out of tree (without optimisation and without libraries for products: about
# half a minute on two cores), and the harness must find evidence for all of them in every tier. Then each
# is made wrong, and the harness must refute it. Each check is one line of output and
# one case in the JUnit XML. Environment as `make check` sets it: GEMEL, GEMEL_SRCDIR, GEMEL_JUNIT.
# SPDX-License-Identifier: MIT
[ -z "${GEMEL_QUICK:-}" ] || { echo "t-adding: takes long, and GEMEL_QUICK is set"; exit 77; }
set -u
LC_ALL=C
export LC_ALL
unset GEMEL_FLAGS MAKEFLAGS MAKELEVEL MFLAGS
gemel=${GEMEL:?the path of the gemel command}
source=${GEMEL_SRCDIR:?the source folder}
junit=${GEMEL_JUNIT:-}
build=$(dirname "$gemel")
scratch=$(mktemp -d) || exit 99
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
copy=$scratch/source
tree=$scratch/build
patches="scalar function tensor rule pass gpu tier domain question source"
passed=0 failed=0
: >"$scratch/cases"

finish() {
  if [ -n "$junit" ] && mkdir -p "$junit"; then
    { echo '<?xml version="1.0" encoding="UTF-8"?>'
      echo "<testsuites><testsuite name=\"adding\" failures=\"$failed\">"
      cat "$scratch/cases"
      echo '</testsuite></testsuites>'; } >"$junit/t-adding.xml"
  fi
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
}
good() {
  passed=$((passed + 1))
  echo "PASS: $1"
  echo "<testcase name=\"$1\" classname=\"adding\" result=\"completed\"/>" >>"$scratch/cases"
}
wrong() { # NAME WHY [FILE]
  failed=$((failed + 1))
  echo "FAIL: $1: $2"
  [ -z "${3:-}" ] || tail -20 "$3" | sed 's/^/  /'
  echo "<testcase name=\"$1\" classname=\"adding\" result=\"completed\"><failure message=\"$2\"/></testcase>" >>"$scratch/cases"
}
skip() {
  echo "SKIP: $1"
  exit 77
}
check() { # NAME WHY CONDITION...
  name=$1 why=$2
  shift 2
  if "$@"; then good "$name"; else wrong "$name" "$why"; fi
}

command -v patch >/dev/null || skip "there is no patch: install the Debian package patch"
grep -q '^#define HAVE_VERIFY 1' "$build/config.h" || skip "built without the harness"

# ---- What doc/adding.md shows ----

# shown NAME: what stands in doc/adding.md between its markers are lines that the patch adds, file by file and in its order; it
# names each file of the patch.
shown() {
  sed -n "/^<!-- doc\/adding\/$1.patch -->\$/,/^<!-- end -->\$/p" "$source/doc/adding.md" | sed '1d;$d' | sed '/^```/d' >"$scratch/shown"
  awk 'FNR == NR { if (/^[+][+][+] b\//) file = substr($0, 7); else if (/^[+]/) { line[++n] = substr($0, 2); of[n] = file }; next }
    /^@ / { file = substr($0, 3); named[file] = 1; next }
    /^…$/ { next }
    { while (++at <= n && !(line[at] == $0 && of[at] == file)); if (at > n) { print file ": " $0; bad = 1; exit } }
    END { for (k = 1; k <= n; k++) if (!(of[k] in named)) bad = 1; exit bad || !at }' "$source/doc/adding/$1.patch" "$scratch/shown"
}
files_of() { grep -c '^+++ ' "$source/doc/adding/$1.patch"; }
for name in $patches; do check "$name/shown" "doc/adding.md shows what the patch has not" shown "$name"; done
for row in scalar:2 function:3 tensor:3 rule:1 pass:3 gpu:2 tier:2 domain:3 question:3 source:3; do
  check "${row%:*}/files" "it takes another number of files" test "$(files_of "${row%:*}")" = "${row#*:}"
done

# ---- A copy of the sources, patched and built ----

mkdir "$copy" "$tree"
for entry in "$source"/*; do
  case ${entry##*/} in build-aux) ;; *.tar.* | _build | _inst | build* | coverage.* | autom4te.cache) continue ;; esac
  [ -e "$entry/config.status" ] || cp -pR "$entry" "$copy/"
done
chmod -R u+w "$copy"
# What a build inside the source folder leaves there would be taken for built already.
find "$copy" \( -name '*.[oa]' -o -name '*.P[oa]' \) -exec rm -f {} +
rm -f "$copy/config.status" "$copy/config.h" "$copy/Makefile" "$copy/gemel"
for name in $patches; do
  if ! (cd "$copy" && patch -p1 -s <"$source/doc/adding/$name.patch") >"$scratch/log" 2>&1; then
    wrong "$name/applies" "the patch does not apply" "$scratch/log"
    finish
  fi
  good "$name/applies"
done

# from_makefile NAME: what the build at hand was configured with.
from_makefile() { sed -n "s/^$1 = //p" "$build/Makefile" | head -1; }
# make_gemel [OPTION...]: the command, with options of make.
make_gemel() { (cd "$tree" && make lib/gemel/ops.h && make -j2 "$@" gemel) >"$scratch/log" 2>&1; }
cd "$tree" || exit 99
if ! "$copy/configure" --without-cuda --without-dnnl --without-blas CC="$(from_makefile CC)" CFLAGS=-O0 CXXFLAGS=-O0 \
  CPPFLAGS="$(from_makefile CPPFLAGS)" LDFLAGS="$(from_makefile LDFLAGS)" >"$scratch/log" 2>&1 ||
  ! make_gemel; then
  wrong builds "the patched sources do not build" "$scratch/log"
  finish
fi
good builds

# ---- The harness on them ----

# tier NAME TIER VERDICT: the operation's own record of that tier says so.
tier() { # NAME TIER VERDICT [KIND]
  grep -q "\"kind\": \"${4:-operation}\", \"name\": \"$1\", \"tier\": \"$2\", \"verdict\": \"$3\"" "$scratch/json"
}
verify() { # NAME INTEGER: evidence for operation NAME, whose tier integer is INTEGER
  "$tree/gemel" verify --ops "$1" --instances 40 --json "$scratch/json" >"$scratch/out" 2>&1 || {
    wrong "$1/verify" "exit status $?" "$scratch/out"
    return
  }
  good "$1/verify"
  for wanted in "real passed" "integer $2" "float passed" "gradient passed" "special passed" "ties passed"; do
    check "$1/${wanted%% *}" "not ${wanted#* }" tier "$1" "${wanted%% *}" "${wanted#* }"
  done
  check "$1/gradient-records" "not every tier of the gradient" \
    test "$(grep -c "\"kind\": \"gradient\", \"name\": \"$1.grad\"" "$scratch/json")" = 6
}
verify log1pexp "not applicable"
verify erfc "not applicable"
verify differences passed
verify_rewrite() { # NAME KIND: evidence for a rule or pass in every tier
  "$tree/gemel" verify --rules "$1" --json "$scratch/json" >"$scratch/out" 2>&1 || {
    wrong "$1/verify" "exit status $?" "$scratch/out"
    return
  }
  good "$1/verify"
  for wanted in real integer float gradient special; do
    check "$1/$wanted" "not passed" tier "$1" "$wanted" passed "$2"
  done
}
verify_rewrite sum_of_bounds rule
verify_rewrite repeated_maxima pass
# The maker of questions: it asks about a graph that the new rule rewrites.
printf 'graph g(x: f32[N], y: f32[N]) { return r = minimum(x, y) + maximum(x, y) }' >"$scratch/bounds.gmt"
"$tree/gemel" rewritten "$scratch/bounds.gmt" >"$scratch/out" 2>&1
check rewritten "the rewritten graph is not the same function" test $? = 0
# The kernel for GPUs, on the sim: of a build that has it.
has_sim() { grep -qF 'S["GPU_SIM_TRUE"]=""' "$tree/config.status"; }
GEMEL_SIM_HOME=$copy/gpu
export GEMEL_SIM_HOME
if has_sim; then
  "$tree/gemel" verify --ops differences --device sim --tier integer,special --instances 40 >"$scratch/out" 2>&1
  check differences/gpu "not passed on the sim" test $? = 0
fi
# The pass fires, and only where an operand comes again.
printf 'graph g(x: f32, y: f32) { return r = maximum(maximum(maximum(x, y), exp(y)), x), s = maximum(y, exp(x)) }' >"$scratch/max.gmt"
"$tree/gemel" opt --include repeated_maxima -o "$scratch/max.out.gmt" "$scratch/max.gmt" >"$scratch/out" 2>&1
check repeated_maxima/fires "not three of four are left" \
  test "$(grep -c 'maximum(' "$scratch/max.out.gmt")" = 3

# The source of points finds where two graphs differ, and nothing else does.
printf 'graph f(x: f32[12]) { return y = x }' >"$scratch/first.gmt"
cat >"$scratch/second.gmt" <<'GRAPH'
graph g(x: f32[12]) {
  z = exp(x)
  up = gt(subtensor(z, start = [1], size = [11]), subtensor(z, start = [0], size = [11]))
  return y = where(eq(prod(cast(up, dtype = i64)), 1), x + 1:f32, x)
}
GRAPH
ascending() { # VERDICT of tier real
  "$tree/gemel" equal "$scratch/first.gmt" "$scratch/second.gmt" >"$scratch/out" 2>&1
  grep -q "^real  *$1 " "$scratch/out"
}
check ascending/finds "the graphs aren't refuted" ascending REFUTED

# ---- A wrong twin is refuted ----

# plant FILE FROM TO: replaces the text FROM, which stands there once, in a file of the copy.
plant() {
  [ "$(grep -cF -e "$2" "$copy/$1")" = 1 ] || return 1
  awk -v from="$2" -v to="$3" '
    { at = index($0, from) }
    at { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)) }
    { print }' "$copy/$1" >"$scratch/planted" && cat "$scratch/planted" >"$copy/$1"
}
refuted() { # NAME [OPTION [TIER]]: in that tier, or in any
  "$tree/gemel" verify "${2:---ops}" "$1" ${3:+--tier "$3"} >"$scratch/out" 2>&1
  [ $? = 1 ] && grep -q "^refuted: $1, tier ${3:-}" "$scratch/out"
}
# Of functions.def, which every file of verify/ includes, functions.c alone has what is planted.
if plant verify/reference/scalar.def '(ONE, X, EXP, ADD, LOG)' '(TWO, X, EXP, ADD, LOG)' &&
  plant verify/domains/functions.def 'one, t), b->neg(b, e, e)' 'one, t), b->add(b, e, e, e)' &&
  plant verify/domains/whole.h '__builtin_sub_overflow(a->x, b->x, &x)' '__builtin_add_overflow(a->x, b->x, &x)' &&
  plant verify/reference/reduce.c 'if (before[axis]-- > 0)' 'if (before[axis]-- > 1)' &&
  plant lib/rules/elementwise.rules 'minimum(x, y) + maximum(x, y) => x + y' 'minimum(x, y) + maximum(x, y) => x - y' &&
  plant lib/passes/maxima.c 'for (size_t j = 1; j < m->n; j++)' 'for (size_t j = 2; j < m->n; j++)' &&
  plant verify/instances/source-ascending.c '(double)i * step' '(double)(i / 2) * step' &&
  touch "$copy/verify/domains/functions.c" && make_gemel -o "$copy/verify/domains/functions.def"; then
  check ascending/wrong "the graphs are refuted without it" ascending uninformative
  check log1pexp/wrong-twin "a wrong twin passes" refuted log1pexp
  check erfc/wrong-derivative "a wrong derivative in the domains passes" refuted erfc
  check differences/wrong-twin "a wrong twin passes" refuted differences
  check sum_of_bounds/wrong "a wrong rule passes" refuted sum_of_bounds --rules
  check repeated_maxima/wrong "a wrong pass passes" refuted repeated_maxima --rules
  check ties/wrong-twin "a wrong twin passes in the new tier" refuted differences --ops ties
  check whole/wrong "a wrong domain passes" refuted sub --ops integer
  "$tree/gemel" rewritten "$scratch/bounds.gmt" >"$scratch/out" 2>&1
  check rewritten/wrong "a wrong rewrite passes" test $? = 1
  if ! has_sim; then
    finish
  elif plant verify/reference/reduce.c 'if (before[axis]-- > 1)' 'if (before[axis]-- > 0)' &&
    plant gpu/kernels/reduce.cu 'k * l.out_step, FINISH(own - before))' '(l.length - 1 - k) * l.out_step, FINISH(own - before))' &&
    make_gemel -o "$copy/verify/domains/functions.def"; then
    "$tree/gemel" verify --ops differences --device sim --tier integer >"$scratch/out" 2>&1
    check differences/wrong-kernel "a wrong kernel for GPUs passes" test $? = 1
  else
    wrong differences/wrong-kernel "could not be planted" "$scratch/log"
  fi
else
  wrong wrong-twins "could not be planted" "$scratch/log"
fi
finish
