#!/bin/bash
# gemel bench with tiny sizes: each suite runs, the JSON is one object a line with the fields that
# bench/README.md promises, the exit status says whether a target was missed, and what is not
# understood is refused with nothing written. Figures are not judged here. Not the suite verify,
# which takes as long as gemel verify. SPDX-License-Identifier: MIT
set -u
unset GEMEL_FLAGS
gemel=${GEMEL:-./gemel}
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
failed=0
fail() { echo "FAIL: $*"; failed=1; }

# check_json FILE SUITE: every line is a flat object with these fields in this order.
check_json() {
  local text='"[^"\\]+"' number='-?[0-9.]+(e[-+]?[0-9]+)?|null'
  local row="^\{\"suite\": \"$2\", \"case\": $text, \"metric\": $text, \"value\": ($number), \"unit\": $text(, \"target\": ($number), \"ok\": (true|false))?\}\$"
  [ -s "$1" ] || fail "$2: no JSON"
  ! grep -vE "$row" "$1" || fail "$2: the lines above are not as promised"
  grep -q '"ok": ' "$1" || fail "$2: nothing has a target"
}

# run_suite SUITE OPTION...: status 0 if and only if no target is missed.
run_suite() {
  local status expected=0
  TMPDIR=$scratch OMP_WAIT_POLICY=passive timeout 300 "$gemel" bench "$@" --time 1 --threads 2 \
    --json "$scratch/$1.json" >"$scratch/$1.txt" 2>"$scratch/$1.err"
  status=$?
  check_json "$scratch/$1.json" "$1"
  ! grep -q '"ok": false' "$scratch/$1.json" || expected=1
  [ $status -eq $expected ] || fail "$1: exit status $status, not $expected: $(cat "$scratch/$1.err")"
  grep -qE '^gemel bench: [1-9][0-9]* measurements, [0-9]+ of [0-9]+ targets met$' "$scratch/$1.txt" ||
    fail "$1: no summary"
}
run_suite graph --nodes 2000
run_suite cpu --size 1000 --matrix 20
for case in chain tree dag "near dag"; do
  for metric in build print parse free save load gradient; do
    grep -q "\"case\": \"$case of 2000\", \"metric\": \"$metric\"" "$scratch/graph.json" ||
      fail "graph: no $metric of $case"
  done
done
run_suite scan --nodes 2000 --matrix 8 --graphs "$scratch/graphs"
for case in rnn gru lstm "rnn rows" "gru rows" "gru apart"; do
  for way in forward gradient; do
    grep -q "\"case\": \"$case 50x64x8\", \"metric\": \"$way\"" "$scratch/scan.json" || fail "scan: no $way of $case"
    [ -s "$scratch/graphs/$case 1000x1x32 $way.gmt" ] || fail "scan: no graph of $case, $way"
  done
done
run_suite optimizer --nodes 2000
# value_of CASE METRIC: at 2000 nodes.
value_of() {
  sed -n "s/.*\"$1 of 2000\", \"metric\": \"$2\", \"value\": \([0-9]*\),.*/\1/p" "$scratch/optimizer.json"
}
for case in residual gated convolutional bidirectional; do
  for metric in build gradient rewrite compile callable plan nodes 'nodes left' 'operations left' \
    'views left' 'flops left' 'cheapest lift' 'aggressive uploads' 'rewrite and aggressive lift'; do
    grep -q "\"case\": \"$case of 2000\", \"metric\": \"$metric\"" "$scratch/optimizer.json" ||
      fail "optimizer: no $metric of $case"
  done
done
for case in residual gated bidirectional; do
  nodes=$(value_of $case nodes)
  [ "$nodes" -ge 1940 ] && [ "$nodes" -le 2060 ] || fail "optimizer: $case has $nodes nodes, not about 2000"
done
# Five convolutions and three a block, each with two gradients, but for the first images'.
blocks=$(value_of convolutional blocks)
wanted=$((3 * (5 + 3 * blocks) - 1))
for metric in convolutions 'convolutions left'; do
  [ "$(value_of convolutional "$metric")" -eq $wanted ] || fail "optimizer: $metric are not $wanted in $blocks blocks"
done
[ -z "$(find "$scratch" -name 'gemel-bench.*')" ] || fail "graph: scratch files are left"

# On the sim the suite gpu only counts, and each case has a target for what a call asks for: without
# recordings the eight sums would be eight launches, and a chain that isn't fused eight kernels.
counts='allocations intermediate kernels launches transfers'
if [ "${GEMEL_HAS_SIM:-}" = no ]; then
  echo "SKIP: gpu: this build has no sim"
else
  GEMEL_CACHE=$scratch/cache GEMEL_SIM_HOME=${GEMEL_SRCDIR:-.}/gpu run_suite gpu --device sim
  ! grep '"ok": false' "$scratch/gpu.json" || fail "gpu: the targets above are missed"
  cases=$(grep -c '"launches"' "$scratch/gpu.json")
  [ "$cases" -ge 30 ] || fail "gpu: only $cases cases"
  [ "$(grep -c '"launches", "value": 1, "unit": "a call", "target": 1' "$scratch/gpu.json")" -eq "$cases" ] ||
    fail "gpu: not every call is one launch"
  metrics=$(sed -n 's/.*"case": "call: 8 sums", "metric": "\([^"]*\)".*/\1/p' "$scratch/gpu.json" | sort | tr '\n' ' ')
  [ "$metrics" = "$counts " ] || fail "gpu: $metrics are measured on the sim, not $counts"
  for metric in requests 'bytes a request' sectors/least L2/least memory/least 'bank conflicts' 'H100, before' \
    'H100, estimate' 'H100, of peak' 'A100, estimate' 'A100, of peak' 'RTX 4090, estimate' 'RTX 4090, of peak'; do
    wanted=45
    [ "$metric" != 'H100, before' ] || wanted=22 # the others came later
    [ "$(grep -c "\"metric\": \"$metric\", \"value\": [0-9]" "$scratch/gpu.json")" -eq $wanted ] ||
      fail "gpu: not $wanted cases have \"$metric\""
  done
  # Nothing is below the least, nor above a card's peak; but parts of results that a launch reads back are in L2.
  ! grep -E '"(sectors|L2)/least", "value": 0|"memory/least", "value": 0(\.[0-8]|\.9[0-6]|[,}])|of peak", "value": ([0-9]{3}|0[,}])' "$scratch/gpu.json" ||
    fail "gpu: these are impossible"
  grep -q '"there and back f32", "metric": "transfers", "value": 2,' "$scratch/gpu.json" ||
    fail "gpu: there and back aren't two transfers"
  grep -q '"call: 8 sums", "metric": "kernels", "value": 8,' "$scratch/gpu.json" ||
    fail "gpu: eight sums aren't eight kernels"
  grep -q '"neg f32", "metric": "intermediate", "value": 0,' "$scratch/gpu.json" ||
    fail "gpu: one operation takes memory beside its result"
  printf 'graph f(x: f32[E]) { return y = neg(x) }\n' >"$scratch/there.gmt"
  GEMEL_SIM_HOME=${GEMEL_SRCDIR:-.}/gpu "$gemel" bench "$scratch/there.gmt" --device sim --size 16 --time 1 2>&1 | grep -q 'there.gmt .* s ' ||
    fail "file: no time of a call on the sim"
  while read -r case; do
    grep -qF "\"$case\"" "${GEMEL_SRCDIR:-.}/bench/peers/gpu.py" || fail "gpu.py doesn't know $case"
  done < <(sed -n 's/.*"case": "\([^"]*\)", "metric": "launches".*/\1/p' "$scratch/gpu.json")
fi

"$gemel" bench cpu --case 'dot*' --size 1000 --matrix 5 --time 1 --json - 2>/dev/null >"$scratch/out"
check_json "$scratch/out" cpu
! grep -v '"case": "dot' "$scratch/out" || fail "--case lets others through"

# refused ARGUMENT...: status 2, one message, no file.
refused() {
  "$gemel" bench "$@" --json "$scratch/none.json" >/dev/null 2>"$scratch/err"
  [ $? -eq 2 ] || fail "bench $*: status is not 2"
  [ "$(wc -l <"$scratch/err")" -eq 1 ] || fail "bench $*: not one message"
  [ ! -e "$scratch/none.json" ] || fail "bench $*: a file is written"
}
refused
refused nosuch
refused graph cpu
refused graph --nodes -5
refused graph --nodes 12x
refused cpu --threads 0
refused cpu --nosuch
refused cpu --device sim
refused gpu --device host
refused gpu --device nosuch
refused cpu --case nosuch
# A graph in a file; one that isn't there, and one with too many inputs.
printf 'graph f(x: f32[E], y: f64[R, C], n: i32[3]) { return z = sum(x) }\n' >"$scratch/one.gmt"
"$gemel" bench "$scratch/one.gmt" --size 1000 --time 1 --json - 2>/dev/null | grep -qE '^{"suite": "file", "case": ".*one.gmt", "metric": "call", "value": [0-9.e-]+, "unit": "s"}$' ||
  fail "file: no time of a call"
{
  printf 'graph f(a: f32[3]'
  printf ', x%s: f32[3]' $(seq 256)
  printf ') { return z = a }\n'
} >"$scratch/many.gmt"
"$gemel" bench "$scratch/many.gmt" 2>&1 | grep -q 'more than 256 inputs' || fail "file: 257 inputs"
"$gemel" bench "$scratch/none.gmt" >/dev/null 2>"$scratch/none.err"
[ $? -eq 2 ] && grep -q 'none.gmt' "$scratch/none.err" || fail "file: none"

exit $failed
