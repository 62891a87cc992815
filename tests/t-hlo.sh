#!/bin/sh
# Modules of XLA's HLO as files: each command takes them where it takes a graph, and gemel campaign --hlo takes what XLA
# dumps: pairs in the order of passes, unchanged ones told as such, a table by pass, the last module against the first; what
# a pass made wrong is found, with inputs. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"

# module OPCODE [FIRST-LINE]: a module of one opcode of two vectors and a sum of its result.
module() {
  cat <<END
HloModule jit_f${2:-}

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

ENTRY %main (x: f32[3], y: f32[3]) -> f32[] {
  %x = f32[3]{0} parameter(0)
  %y = f32[3]{0} parameter(1)
  %r = f32[3]{0} $1
  %z = f32[] constant(0)
  ROOT %t = f32[] reduce(%r, %z), dimensions={0}, to_apply=%add
}
END
}

# says TEXT COMMAND...: succeeds and prints it.
says() {
  text=$1
  shift
  "$@" >out 2>err || { fail "$*: status $?"; cat err; }
  grep -qe "$text" out || { fail "$*: no '$text'"; cat out; }
}

module 'multiply(%x, %y)' >f.hlo
module 'multiply(%y, %x)' >g.txt
module 'add(%x, %y)' >h.hlo
says '^graph jit_f(p0: f32\[3\], p1: f32\[3\])' "$gemel" show f.hlo
says 'd_p1' "$gemel" grad --wrt p1 f.hlo
says 'out0' "$gemel" opt f.hlo
says 'the same function, bitwise' "$gemel" equal f.hlo g.txt
"$gemel" equal f.hlo h.hlo >out 2>&1
[ $? = 1 ] && grep -q 'p0' out || { fail "equal: another function is not told"; cat out; }
"$gemel" show /dev/null >out 2>&1 && fail "show: nothing is a module"
printf 'HloModule m\nENTRY e {\n  ROOT a = f32[2] b(c)\n}\n' >broken.hlo
"$gemel" show broken.hlo >out 2>&1
[ $? = 2 ] && grep -q 'broken.hlo:3:.*there is no c before it' out || { fail "show: the place of an error"; cat out; }

# ---- XLA's dumps ----

mkdir -p dumps/sub right
name=dumps/sub/module_0004.jit_f
module 'multiply(%x, %y)' >$name.before_optimizations.txt
module 'multiply(%x, %y)' ', is_scheduled=true' >$name.0000.first.after_pipeline-start.before_dce.txt
module 'multiply(%y, %x)' >$name.0001.first.after_a.b.after_turn.before_c.txt
cp $name.* right
module 'add(%y, %x)' >$name.0002.first.after_wrong.txt
cp $name.0002.first.after_wrong.txt $name.cpu_after_optimizations.txt
echo 'BufferAssignment:' >$name.cpu_after_optimizations-buffer-assignment.txt
"$gemel" campaign dumps --hlo --json out.json --counterexample kept >out 2>err
[ $? = 1 ] || { fail "campaign: status $?"; cat err; }
line() { grep -qE "$1" "$2" || { fail "campaign: no line '$1'"; cat "$2"; }; }
line '^equal +[0-9.]+ s  sub/module_0004.jit_f, turn: bitwise$' out
line '^differs +[0-9.]+ s  sub/module_0004.jit_f, wrong: ' out
line '^differs +[0-9.]+ s  sub/module_0004.jit_f, all passes: ' out
line '^pipeline-start +1 +0 +1 +0 ' out
line '^gemel campaign: 1 models, 1 equal, 2 unchanged, 2 differs' out
[ "$(grep -c '"pass": ' out.json)" = 5 ] || fail "campaign: JSON has no line for each pair"
for file in before.hlo after.hlo first/inputs.npz; do
  [ -s "kept/sub%2Fmodule_0004.jit_f.wrong/$file" ] || { fail "campaign: $file isn't kept"; find kept; }
done
"$gemel" campaign right --hlo >out 2>err || { fail "campaign: status $? of what is right"; cat out err; }
line '^gemel campaign: 1 models, 2 equal, 1 unchanged' out
"$gemel" campaign right --hlo --shard 2/2 >out 2>err || fail "campaign: a shard without modules"
"$gemel" campaign dumps --hlo --optimizer 'cp {in} {out}' >out 2>err
[ $? = 2 ] || fail "campaign: --optimizer with --hlo"
mkdir none
"$gemel" campaign none --hlo >out 2>err
[ $? = 2 ] || fail "campaign: no modules"

# ---- Effects, and what is opaque ----

# effect LINE: a module that negates, with LINE.
effect() {
  printf 'HloModule m\nENTRY e {\n  p = f32[3] parameter(0)\n  t = token[] after-all()\n  %s\n  ROOT r = f32[3] negate(p)\n}\n' "$1"
}
effect 'o = token[] outfeed(p, t)' >told.hlo
effect '' >silent.hlo
effect 'q = f32[3] add(p, p), metadata={op_name="x"}
  o = token[] outfeed(q, t)' >other.hlo
says 'the same function, bitwise' "$gemel" equal told.hlo told.hlo
"$gemel" equal told.hlo silent.hlo >out 2>&1
[ $? = 2 ] && grep -q 'no output called effect1' out || { fail "equal: an effect that was dropped"; cat out; }
"$gemel" equal told.hlo other.hlo >out 2>&1
[ $? = 1 ] && grep -q 'not shown to be the same function' out || { fail "equal: an effect of something else"; cat out; }

# ---- Loops in branches, long loops ----

# branch NUMBER: even ? 0, by a loop : x + NUMBER; for odd x the loop would never end.
branch() {
  cat <<END
HloModule m
going {
  x = s32[] parameter(0)
  z = s32[] constant(0)
  ROOT r = pred[] compare(x, z), direction=NE
}
step {
  x = s32[] parameter(0)
  t = s32[] constant(2)
  ROOT r = s32[] subtract(x, t)
}
even {
  x = s32[] parameter(0)
  m = s32[] constant(63)
  y = s32[] and(x, m)
  ROOT r = s32[] while(y), condition=going, body=step
}
odd {
  x = s32[] parameter(0)
  k = s32[] constant($1)
  ROOT r = s32[] add(x, k)
}
ENTRY e {
  x = s32[] $2
  o = s32[] constant(1)
  b = s32[] and(x, o)
  z = s32[] constant(0)
  p = pred[] compare(b, z), direction=EQ
  ROOT r = s32[] conditional(p, x, x), true_computation=even, false_computation=odd
}
END
}
branch 5 'parameter(0)' >five.hlo
branch 7 'parameter(0)' >seven.hlo
branch 5 'constant(5)' >run.hlo
"$gemel" equal five.hlo seven.hlo >out 2>&1
[ $? = 1 ] && grep -q ' differ ' out || { fail "equal: branches beside one with a loop"; cat out; }
says '10' timeout 60 "$gemel" run run.hlo

# count BODY: counts to its parameter, and then BODY.
count() {
  cat <<END
HloModule m
going {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  ROOT r = pred[] compare(i, n), direction=LT
}
step {
  p = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  o = s32[] constant(1)
  j = s32[] add(i, o)
  ROOT r = (s32[], s32[]) tuple(j, n)
}
ENTRY e {
  n = s32[] parameter(0)
  z = s32[] constant(0)
  p = (s32[], s32[]) tuple(z, n)
  w = (s32[], s32[]) while(p), condition=going, body=step
  i = s32[] get-tuple-element(w), index=0
  k = s32[] constant(65536)
  l = pred[] compare(n, k), direction=GT
  ROOT r = s32[] select(l, $1, i)
}
END
}
count i >counted.hlo
count k >other.hlo
says 'the same function.*, where no loop takes more than 65,536 steps' "$gemel" equal counted.hlo other.hlo
finish "modules of HLO are read, and what passes made of them is judged"
