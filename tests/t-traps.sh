#!/bin/sh
# Traps: mistakes that a prover for all sizes is known to make (PROOF_FAULT in tests/faults). With one switched on, one
# of the tests of proofs that it names must fail. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
planted=$(dirname "$gemel")/tests/planted
caught=0
# caught_by NAME PROGRAM TESTS: TESTS of PROGRAM fail with fault NAME.
caught_by() {
  status=0
  GEMEL_FAULT=$1 timeout 300 "$planted/$2" --gtest_filter="$3" >out 2>&1 || status=$?
  [ $status = 1 ] && grep '^\[  FAILED  \] [^ ]*\.' out >failed && caught=$((caught + 1)) && return
  tail -5 out
  fail "$1: $2 ends with status $status: $3"
}
sed -n 's/^PROOF_FAULT(\([^,]*\),.*, "\([^ ]*\) \(.*\)")$/\1 \2 \3/p' "$planted/fault.def" >traps
while read -r name program tests; do caught_by "$name" "$program" "$tests"; done <traps
for program in t-unbounded t-unbounded-pulls t-unbounded-scalar; do
  GEMEL_FAULT= "$planted/$program" --gtest_list_tests >out 2>&1 && fail "a fault without a name is taken"
done
[ "$caught" -gt 0 ] || fail "there are no traps"
finish "$caught mistakes of provers caught"
