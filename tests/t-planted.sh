#!/bin/sh
# Faults that a test program finds (TEST_FAULT in tests/faults): of graphs on two devices, layouts and joins, and mistakes
# that a prover for all sizes is known to make. The program is linked with what is planted; one of the tests that the
# fault names must fail with it, and all must pass without. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
planted=$(dirname "$gemel")/tests/planted
found=0
"$gemel" info | grep -q '^  oneDNN  *[0-9]' && onednn=yes || onednn=

# ends STATUS FAULT PROGRAM TESTS: TESTS of PROGRAM end so with FAULT.
ends() {
  status=0
  GEMEL_FAULT=$2 timeout 300 "$planted/$3" --gtest_filter="$4" >out 2>&1 || status=$?
  [ $status = "$1" ] && { [ $status = 0 ] || grep -q '^\[  FAILED  \] [^ ]*\.' out; } && return
  tail -5 out
  fail "$2: $3 ends with status $status: $4"
  return 1
}
sed -n 's/^TEST_FAULT(\([^,]*\),.*, "\([^ ]*\) \(.*\)")$/\1 \2 \3/p' "$planted/fault.def" >faults
while read -r name program tests; do
  [ "$program" = t-channels-last ] && [ -z "$onednn" ] && continue
  ends 1 "$name" "$program" "$tests" && found=$((found + 1))
  echo "$program $tests" >>passing
done <faults
sort -u passing >each
while read -r program tests; do ends 0 none "$program" "$tests"; done <each
GEMEL_FAULT=nothing "$planted/t-join" >out 2>&1 && fail "a fault that isn't there is switched on"
[ "$found" -gt 0 ] || fail "there are no faults"
finish "$found faults found"
