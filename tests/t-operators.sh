#!/bin/sh
# --operators FILE: operators of ONNX and composites of one's own, for models and texts. SPDX-License-Identifier: MIT
examples=$(cd "$(dirname "$0")/../examples" && pwd)
. "$(dirname "$0")/command.sh"
sed 's/Div/Dix/' "$examples/divmul.onnx" >own.onnx
echo 'operator Dix(x, y) { return partial(quotient(x, y)) } composite quotient(x, y) { return trunc_div(x, y) }' >own
echo 'operator Dix(x, y) { return partial(trunc_div(y, x)) }' >wrong
echo 'operator Dix(x, y { return x }' >malformed
echo 'graph g(x: i32[3], u: i32[3]) { return y = quotient(1, x) * u }' >own.gmt

# try STATUS WORDS ARGUMENTS...: gemel with these ends with STATUS and says WORDS.
try() {
  expected=$1 words=$2
  shift 2
  "$gemel" "$@" >out 2>&1
  status=$?
  { [ $status = "$expected" ] && grep -q -- "$words" out; } || { fail "gemel $* ends with $status:"; cat out; }
}
try 3 "doesn't know this operator" show own.onnx
try 0 trunc_div show --operators own own.onnx
try 0 trunc_div show --operators own own.gmt
try 0 "are the same function" equal --operators own own.onnx "$examples/divmul.onnx"
try 1 differ equal --operators wrong own.onnx "$examples/divmul.onnx"
try 2 "own:1: there is an operator called Dix already" show --operators own --operators own own.onnx
try 2 "none: No such file" show --operators none own.onnx
try 2 "malformed:1:19: expected" show --operators malformed own.onnx
finish "operators of one's own are read"
