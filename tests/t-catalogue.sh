#!/bin/sh
# Each of gemel's own rules is there because a graph needs it: over the graphs of bench/graphs, as
# they are and with the gradient of their loss, every rule of the families below, and every pass of
# lib/passes/passes.def, must fire at least once, with everything allowed or by default. Those that
# never fire are named, one failure each. Environment as `make check` sets it: GEMEL, GEMEL_SRCDIR,
# GEMEL_JUNIT.
# SPDX-License-Identifier: MIT
set -u
LC_ALL=C
export LC_ALL
unset GEMEL_FLAGS
gemel=${GEMEL:?the path of the gemel command}
source=${GEMEL_SRCDIR:?the source folder}
junit=${GEMEL_JUNIT:-}
families="along elementwise index integer linalg reduce shape softmax solve take"
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0
: >"$scratch/cases" && : >"$scratch/fired"

result() { # NAME [WHY]: failed if there is a WHY
  if [ -z "${2:-}" ]; then
    passed=$((passed + 1))
    echo "<testcase name=\"$1\" classname=\"catalogue\" result=\"completed\"/>" >>"$scratch/cases"
  else
    failed=$((failed + 1))
    echo "FAIL: $1: $2"
    echo "<testcase name=\"$1\" classname=\"catalogue\" result=\"completed\"><failure message=\"$2\"/></testcase>" >>"$scratch/cases"
  fi
}

# Rewrites a graph and notes the rules that fired.
rewrite() { # NAME FILE
  why=
  for allowed in all default; do
    "$gemel" opt --fastmath $allowed --profile -o "$scratch/out.gmt" "$2" 2>"$scratch/profile" ||
      why=$(head -1 "$scratch/profile" | tr '<>&"' '    ')
    awk 'NF == 6 && $4 > 0 { print $2 }' "$scratch/profile" >>"$scratch/fired"
  done
  result "$1" "$why"
}

for file in "$source"/bench/graphs/*.gmt; do
  name=$(basename "$file" .gmt)
  rewrite "$name" "$file"
  if "$gemel" grad "$file" --output loss -o "$scratch/grad.gmt" 2>"$scratch/why"; then
    rewrite "$name.grad" "$scratch/grad.gmt"
  else
    result "$name.grad" "$(head -1 "$scratch/why" | tr '<>&"' '    ')"
  fi
done
sort -u "$scratch/fired" >"$scratch/once"
fires() { # FAMILY NAME...
  family=$1
  shift
  [ $# -gt 0 ] || result "$family" "has no rule or pass"
  for name; do
    if grep -qx "$name" "$scratch/once"; then
      result "$family/$name"
    else
      result "$family/$name" "fires on no graph of bench/graphs"
    fi
  done
}

for family in $families; do
  fires "$family" $("$gemel" info --rules | sed -n "s/^\([a-z_0-9]*\): $family, .*/\1/p")
done
fires passes $(sed -n 's/^PASS(\([a-z_0-9]*\),.*/\1/p' "$source/lib/passes/passes.def")
if [ -n "$junit" ] && mkdir -p "$junit"; then
  { echo '<?xml version="1.0" encoding="UTF-8"?>'
    echo "<testsuites><testsuite name=\"catalogue\" failures=\"$failed\">"
    cat "$scratch/cases"
    echo '</testsuite></testsuites>'; } >"$junit/t-catalogue.xml"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
