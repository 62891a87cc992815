#!/bin/sh
# tests/faults/plant: a fault stands in the copy that is made, whatever space is between its words; where its text is gone,
# stands twice or is part of another's, the build of planted copies fails and says where. SPDX-License-Identifier: MIT
source=$(cd "${GEMEL_SRCDIR:?the source folder}" && pwd)
. "$(dirname "$0")/command.sh"
mkdir -p tree/lib tree/tests/faults
cp "$source/tests/faults/plant" "$source/tests/faults/plant.awk" tree/tests/faults
cat >tree/lib/a.c <<'END'
int f(int x) {
  return x +
         1;
}
#define DOUBLE(x)                    \
  ((x) +                             \
   (x))
int g(int x) { return x; }
int h(int x) { return x; }
END
one='FAULT(one_more, "f adds 2", "f")
@ lib/a.c
- return x + 1;
+ return x + 1 +
+   GEMEL__FAULT(one_more);'

# plants STATUS WORDS FAULTS: planting FAULTS ends so, and says WORDS.
plants() {
  printf '%s\n' "$3" >tree/tests/faults/a.fault
  sh "$source/tests/faults/plant" tree copies >out 2>&1
  status=$?
  [ $status = "$1" ] && { [ -z "$2" ] || grep -q "$2" out; } || { fail "not '$2' but (status $status):"; cat out; }
}
plants 0 '' "$one"
grep -q 'GEMEL__FAULT(one_more);' copies/lib/a.c || { fail "the fault isn't in the copy"; cat copies/lib/a.c; }
[ "$(cat copies/fault.def)" = 'FAULT(one_more, "f adds 2", "f")' ] || fail "the fault isn't in the list"
plants 0 '' 'FAULT(in_macro, "", "")
@ lib/a.c
- ((x) + (x))
+ ((x) - (x))'
grep -q '((x) - (x))' copies/lib/a.c || fail "a fault in a macro"
plants 1 "a.fault:2: this text isn't in lib/a.c" "$(printf '%s\n' "$one" | sed 's/x + 1;/x + 3;/')"
plants 1 'stands twice' 'FAULT(twice, "", "")
@ lib/a.c
- return x;
+ return 0;'
plants 1 'is part of another' "$one
FAULT(inner, \"\", \"\")
@ lib/a.c
- + 1;
+ + 2;"
plants 1 'read' 'FAULT(nowhere, "", "")
@ lib/b.c
- x
+ y'
# The build's own rule, with one text of the real list that is gone.
mkdir -p whole/tests
for entry in "$source"/* "$source"/tests/*; do
  ln -s "$entry" "whole/${entry#"$source/"}" 2>/dev/null
done
rm whole/tests/faults
cp -r "$source/tests/faults" whole/tests/
chmod -R u+w whole/tests/faults
made() { make -C "$(dirname "$gemel")" srcdir="$dir/whole" planted="$dir/planted" "$dir/planted/stamp" >out 2>&1; }
made || { fail "the faults of tests/faults aren't planted"; cat out; }
rm planted/stamp
sed '0,/^- /s/^- .*/- a line that was there once;/' "$source/tests/faults/run.fault" >whole/tests/faults/run.fault
made && fail "the build takes a stale fault"
[ ! -e planted/stamp ] && grep -q "run.fault:[0-9]*: this text isn't in .*run" out ||
  { fail "the stale fault isn't named"; cat out; }
finish "faults are planted, and stale ones refused"
