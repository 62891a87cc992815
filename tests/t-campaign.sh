#!/bin/sh
# What an optimiser that `gemel campaign` runs can do to others: nothing. What it writes fills no
# disk; it, what it started and the folder for its files go with gemel, however that ends; where
# memory runs out there is no verdict, and none is told. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
model=/usr/share/libonnx-testdata/data/node/test_relu/model.onnx
[ -r $model ] || { echo "$self: there is no $model"; exit 77; }
mkdir models scratch
cp $model models/relu.onnx
TMPDIR=$PWD/scratch
export TMPDIR

# campaign STATUS TEXT OPTIMIZER OPTIONS: how it ends, and a line that it prints.
campaign() {
  wanted=$1 text=$2 optimizer=$3
  shift 3
  timeout -s KILL 120 "$gemel" campaign models --optimizer "$optimizer" "$@" >out 2>err
  status=$?
  { [ $status = "$wanted" ] && grep -q "$text" out; } || { fail "$optimizer: status $status"; cat out err; }
  [ -z "$(ls scratch)" ] || { fail "$optimizer: a folder is left"; rm -rf scratch/*; }
}

# Files of more than 5 MB can't be written, and a gigabyte is.
(
  ulimit -f 10240
  campaign 1 ': the optimiser ended with status 3: last words$' \
    ': {in} {out}; head -c 1000000000 /dev/zero || exit 4; echo; echo last words >&2; exit 3'
  [ $failures = 0 ]
) || fail "much output isn't taken"
campaign 1 'status 3: 2 of 2$' "printf '1 of 2\\r2 of 2\\r\\n\\n'; exit 3; : {in} {out}"
campaign 0 'relu.onnx: bitwise$' 'exec >/dev/null 2>&1 </dev/null; sleep 1; cp {in} {out}'
campaign 0 'relu.onnx: bitwise$' '[ -z "$(cat)" ] && cp {in} {out}' <models/relu.onnx
campaign 0 'relu.onnx: bitwise$' 'sleep 600 & cp {in} {out}; yes &'
campaign 1 "relu.onnx: the optimiser didn't end in time$" "trap '' ALRM TERM; while :; do sleep 1; done; : {in} {out}" --seconds 0.01

alive() { # PIDFILE: any of these processes, but for those that only wait to be collected
  while read -r pid; do
    case $(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null) in '' | Z) ;; *) return 0 ;; esac
  done <"$1"
  return 1
}

# killed SIGNALS OPTIMIZER: ten seconds after these signals, which whoever runs this may ignore, nothing is left of it.
killed() {
  rm -f pids
  env --default-signal=HUP,TERM "$gemel" campaign models --json killed.json --optimizer "echo \$\$ >>pids; $2; : {in} {out}" >out 2>err &
  gemel_pid=$!
  waited=0
  while [ "$(wc -l 2>/dev/null <pids)" != 2 ] && [ $waited -lt 300 ]; do
    sleep 0.1
    waited=$((waited + 1))
  done
  [ "$(ls scratch | wc -l)" = 1 ] || fail "$1: there is no folder for files"
  for signal in $1; do
    kill -"$signal" $gemel_pid
  done
  wait $gemel_pid 2>/dev/null
  waited=0
  while { alive pids || [ -n "$(ls scratch)" ]; } && [ $waited -lt 100 ]; do
    sleep 0.1
    waited=$((waited + 1))
  done
  ! alive pids || { fail "$1: the optimiser lives"; xargs kill -KILL <pids; }
  [ -z "$(ls scratch)" ] || { fail "$1: a folder is left"; rm -rf scratch/*; }
  # KILL after another may come while the report is written, beside its place.
  case $1:$(echo killed.json*) in 'TERM KILL:'* | *:killed.json | *:'killed.json*') ;; *) fail "$1: half a file is left" ;; esac
  rm -f killed.json*
}

child='sh -c "echo \$\$ >>pids; exec sleep 600"'
for signals in KILL TERM HUP 'TERM TERM' 'TERM KILL' ABRT SEGV; do
  killed "$signals" "$child"
done
killed KILL "trap '' HUP TERM INT; ($child) & while :; do : >\$(dirname {out})/\$\$.\$((n = n + 1)); done"

# The process that judges a pair runs out of memory.
if ! "$gemel" info | grep -q 'build .*sanitizers'; then
  kib=140000
  while [ $kib -le 200000 ]; do
    ( ulimit -v $kib && exec timeout -s KILL 120 "$gemel" campaign models --optimizer 'cp {in} {out}' ) >out 2>err
    status=$?
    case $status in 0 | 2 | 127) ;; *) fail "with $kib KiB: status $status"; cat out err ;; esac
    [ -z "$(ls scratch)" ] || fail "with $kib KiB: a folder is left"
    kib=$((kib + 30000))
  done
fi

finish "nothing is left of an optimiser"
