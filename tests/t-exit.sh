#!/bin/sh
# Exit status 1 is a verdict, and nothing else: where memory or threads run out, whoever notices, the
# status is 2, with one message, and the process ends. Wherever it is, the limit changes no verdict.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
[ "${GEMEL_COVERED:-}" != yes ] || { echo "$self: gcov crashes where memory is out"; exit 77; }
"$gemel" info | grep -q 'build .*sanitizers' && { echo "$self: sanitizers need address space"; exit 77; }
export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2

cat >first.gmt <<'END'
graph f(x: f32[N], y: f32[N]) { return z = x * x + 2:f32 * x * y + y * y }
END
cat >second.gmt <<'END'
graph f(x: f32[N], y: f32[N]) { return z = (x + y) * (x + y) }
END

# limited KIB WORDS: gemel WORDS with so much address space says what it says without a limit, or 2.
limited() {
  kib=$1
  shift
  ( ulimit -v "$kib" && exec timeout -s KILL 300 "$gemel" "$@" ) >out 2>err
  status=$?
  case $status in
  0) [ ! -s err ] || ! grep '^gemel: ' err || fail "$*, $kib KiB: status 0 with a message" ;;
  2) [ "$(grep -c '^gemel: ' err)" = 1 ] || { fail "$*, $kib KiB: status 2 without one message"; cat err; } ;;
  127) grep -q 'shared librar' err || { fail "$*, $kib KiB: status 127"; cat err; } ;;
  *) fail "$*, $kib KiB: status $status"; cat err ;;
  esac
  echo "$status" >>statuses
  cat err >>errors
}

# Address space that is too small for a thread's stack: OpenMP calls exit(1).
OMP_STACKSIZE=512M
export OMP_STACKSIZE
limited 1000000 verify --ops add --jobs 2
if "$gemel" info | grep -q 'OpenMP'; then
  grep -q '^gemel: exit() was called' err || { fail "no thread was refused"; cat err; }
fi
unset OMP_STACKSIZE

# Less than any needs, then more and more: GMP calls abort().
kib=120000
while [ $kib -le 400000 ]; do
  limited $kib verify --ops add --jobs 2
  limited $kib equal --threads 2 --allow all first.gmt second.gmt
  kib=$((kib + 40000))
done
grep -q '^gemel: abort() was called' errors || fail "memory never ran out"
sort statuses | uniq -c

# What the man page says is enough on two cores.
: >statuses
limited 524288 verify --ops add --jobs 16
limited 524288 equal --threads 16 --allow all first.gmt second.gmt
[ "$(sort -u statuses)" = 0 ] || { fail "512 MiB aren't enough"; tail -5 errors; }

finish "statuses are the command's own"
