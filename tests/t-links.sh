#!/bin/sh
# In a folder where others write, a link may lie where gemel is to write a file. Another's isn't
# followed: what it points to stays as it is. The user's own, and pipes and devices, are.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
cat >f.gmt <<'END'
graph f(x: f32[2]) { return y = x + 1:f32 }
END
cat >other.gmt <<'END'
graph f(x: f32[2]) { return y = x + 2:f32 }
END
printf 'rule own in canonicalize: x + 0 => x where integer(x)\n' >own.rules

untouched() { # NAME: the victim is as it was
  [ "$(cat victim)" = precious ] || { fail "$1: was written through a link"; echo precious >victim; }
}
echo precious >victim

# Names that can be foreseen: of the file aside, and in folders of records.
python3 - <<'END' || fail "no numpy file"
import struct
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
head += b" " * (64 - (10 + len(head) + 1) % 64) + b"\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<2f", 1, 2))
END
sh -c 'ln -s victim "y.npy.$$.tmp"; exec "$@"' sh "$gemel" run --in x=x.npy --out y=y.npy f.gmt >out 2>&1 || { fail "run"; cat out; }
untouched run
mkdir record
ln -s ../new record/index.jsonl
"$gemel" verify --proof --rules own.rules --record record >out 2>&1
[ ! -e new ] || fail "a record was written through a link"
mkdir cache
ln -s "$PWD/new" cache/autotune
GEMEL_CACHE=$PWD/cache "$gemel" run --autotune --in x=x.npy f.gmt >out 2>&1 || { fail "autotune"; cat out; }
[ ! -e new ] || fail "the file of timings was written through a link"

# The user's own link stays one; a device, a pipe and a link to one are written to.
ln -s theirs own
echo old >theirs
"$gemel" equal f.gmt other.gmt --json own >out 2>&1
{ [ -L own ] && grep -q '"kind": "whole"' theirs; } || fail "the user's own link wasn't followed"
rm own
ln -s own loop
ln -s loop own
"$gemel" equal f.gmt other.gmt --json own >out 2>&1
{ [ $? = 2 ] && grep -q '^gemel: own: .*symbolic links' out; } || fail "links in a circle"
"$gemel" equal f.gmt other.gmt --json /dev/stdout --html /dev/null 2>err | grep -q '"kind": "whole"' || fail "no pipe"
[ -c /dev/null ] || fail "/dev/null is a file"

[ "$(id -u)" = 0 ] || finish "links aren't followed; another's can be made by root alone"

# foreign NAME: a link of somebody else to the victim.
foreign() {
  rm -f "$1"
  ln -s "$PWD/victim" "$1" && chown -h 12345 "$1"
}
for option in json junit html; do
  foreign "out.$option"
  "$gemel" equal f.gmt other.gmt "--$option" "out.$option" >out 2>&1
  untouched "--$option"
  { [ ! -L "out.$option" ] && [ -s "out.$option" ]; } || { fail "--$option: no file"; cat out; }
done
for name in y.npy y.npz y.gmt; do
  foreign "$name"
done
"$gemel" run --in x=x.npy --out y=y.npy f.gmt >out 2>&1
untouched run/npy
"$gemel" convert f.gmt y.gmt >out 2>&1
untouched convert
foreign second
ln -s second first
"$gemel" equal f.gmt other.gmt --json first >out 2>&1
untouched "own and another's"
mkdir wrong
foreign wrong/question
foreign wrong/first
"$gemel" equal f.gmt other.gmt --counterexample wrong >out 2>&1
untouched --counterexample
finish "links aren't followed"
