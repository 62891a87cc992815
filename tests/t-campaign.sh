#!/bin/sh
# What `gemel campaign` makes of an optimiser that stays, of passes, of results that are there, of a
# baseline. What an optimiser that it runs can do to others: nothing. What it writes fills no
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
# A result that isn't the model byte for byte: it imports one more set of operators.
again='{ cat "$1"; printf "B\\005\\012\\001z\\020\\001"; }'
touched="set -- {in}; $again >{out}"
campaign 0 'relu.onnx: bitwise$' "exec >/dev/null 2>&1 </dev/null; sleep 1; $touched"
campaign 0 'relu.onnx: bitwise$' "[ -z \"\$(cat)\" ] && { $touched; }" <models/relu.onnx
campaign 0 'relu.onnx: bitwise$' "sleep 600 & $touched; yes &"
campaign 1 "relu.onnx: the optimiser didn't end in time$" "trap '' ALRM TERM; while :; do sleep 1; done; : {in} {out}" --seconds 0.01

# ---- A server, passes, results that are there, a baseline ----

# A server of a few lines: what it makes of a model depends on the model's name, and it counts its starts.
cat >server <<'SERVER'
echo start >>starts
echo 'optimiser 1.0'
tab=$(printf '\t')
again() { cat "$1"; printf 'B\005\012\001z\020\001'; }
while IFS=$tab read -r in out pass; do
  case $pass:$in in
    *dies*) echo 'I die' >&2; kill -9 $$ ;;
    *throws*) echo 'error ValueError: no pass for x' ; continue ;;
    *overwrites*) cp abs.onnx "$in"; cp abs.onnx "$out" ;;
    *hangs*) sleep 600 ;;
    *silent*) ;;
    *floods*) head -c 300000 /dev/zero >&2; again "$in" >"$out" ;;
    :*wrong* | bad:*) cp abs.onnx "$out" ;;
    nothing:*) cp "$in" "$out" ;;
    *rubbish*) echo rubbish >"$out" ;;
    *) again "$in" >"$out" ;;
  esac
  echo ok
done
SERVER
cp /usr/share/libonnx-testdata/data/node/test_abs/model.onnx abs.onnx
mkdir kinds
for kind in a-dies b-throws c-silent d-floods e-wrong f-rubbish g-good; do
  cp $model kinds/$kind.onnx
done
# told STATUS LAST LINE...: how the campaign that was just run ended, and lines of it.
told() {
  { [ "$status" = "$1" ] && grep -q "^gemel campaign: $2 (" out; } || { fail "status $status, not $1: $2"; cat out err; }
  shift 2
  for line; do
    grep -q -- "$line" out || { fail "no line $line"; cat out; }
  done
}
run() {
  timeout -s KILL 120 "$gemel" campaign "$@" >out 2>err
  status=$?
}
run kinds --server 'exec sh server' --json outcomes.json --junit outcomes.xml --html outcomes.html --counterexample wrong
told 1 '7 models, 2 equal, 1 silent, 2 crashed, 1 invalid, 1 differs' 'a-dies.onnx: the server was ended by signal 9: I die$' \
  'b-throws.onnx: the server: ValueError: no pass for x$' 'c-silent.onnx: the server said ok and wrote no file$' \
  'e-wrong.onnx: x = -1 each: y\[0, 0, 0\] = 0 becomes 1; first different: Relu .y., Abs .y.; see wrong/e-wrong.onnx$' \
  '^     1  differs   Relu, Abs: e-wrong.onnx$'
[ "$(wc -l <starts)" = 2 ] || fail "the server was started $(wc -l <starts) times, not again once it had died"
[ -z "$(ls scratch)" ] || fail "a server's folder is left"
[ "$(ls wrong)" = "$(printf 'e-wrong.onnx\nf-rubbish.onnx')" ] && cmp -s wrong/f-rubbish.onnx/before.onnx $model &&
  [ -s wrong/f-rubbish.onnx/after.onnx ] || fail "the models of an invalid result aren't kept"
python3 - <<'CHECK' || fail "the reports aren't what they should be"
import base64, hashlib, json, re, xml.dom.minidom
rows = {row["model"][2:-5]: row for row in map(json.loads, open("outcomes.json"))}
assert len(rows) == 7 and all(row["optimizer"] == "optimiser 1.0" for row in rows.values())
wrong = rows["wrong"]
assert (wrong["outcome"], wrong["inputs"], wrong["output"], wrong["before"], wrong["after"]) == \
    ("differs", "x = -1 each", "y[0, 0, 0]", "0", "1"), wrong
assert (wrong["first_node"], wrong["second_node"], wrong["cause"], wrong["folder"]) == \
    ("Relu 'y'", "Abs 'y'", "Relu, Abs", "wrong/e-wrong.onnx"), wrong
suite = xml.dom.minidom.parse("outcomes.xml").documentElement
assert suite.getAttribute("failures") == "5" and suite.getAttribute("errors") == "0"
failures = [f.getAttribute("message") for f in suite.getElementsByTagName("failure")]
assert any(m.startswith("differs: x = -1 each: y[0, 0, 0] = 0 becomes 1") for m in failures), failures
page = open("outcomes.html").read()
xml.dom.minidom.parseString(page)
script = re.search("<script>(.*?)</script>", page, re.S).group(1)
named = re.search("script-src 'sha256-([^']*)'", page).group(1)
assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == named, "the page forbids its script"
assert page.index("<h2>Failures") < page.index("<h2>Models") and page.count("<script") == 1
CHECK
# An optimiser that writes over what it is given changes a copy.
mkdir mine && cp $model mine/overwrites.onnx
run mine --server 'exec sh server'
told 1 '1 models, 1 differs' 'x = -1 each: y\[0, 0, 0\] = 0 becomes 1'
cmp -s $model mine/overwrites.onnx || fail "a model is overwritten"
# One that may have weights in other files, as this with a domain called location, isn't copied.
{ cat $model; printf 'B\014\012\010location\020\001'; } >mine/overwrites.onnx
run mine --server 'exec sh server'
told 1 '1 models, 1 crashed' 'overwrites.onnx: it wrote over the model$'
# Names may be written in other ways in a baseline, and answers may be too many.
mkdir names && cp $model "names/wrong \"é𝄞\".onnx"
run names --server 'exec sh server' --json named.json
python3 -c 'import json; [print(json.dumps(json.loads(line))) for line in open("named.json")]' >ascii.json
grep -q 'u00e9' ascii.json || fail "Python writes names as they are"
run names --server 'exec sh server' --baseline ascii.json
told 0 '1 models, 1 as bad in the baseline'
run kinds --server 'echo chatty; while read -r line; do set -- $line; cp "$1" "$2"; printf "ok\\nok\\n"; done'
told 1 '7 models, .*crashed' 'the server: it answers more often than it is asked$'
"$gemel" run wrong/e-wrong.onnx/first >/dev/null 2>&1 || fail "the counterexample doesn't run"

# What is as bad in the baseline doesn't fail; what is worse, or new, does.
run kinds --server 'exec sh server' --baseline outcomes.json
told 0 '7 models, 2 equal, 5 as bad in the baseline' 'differs .* e-wrong.onnx (in the baseline): '
sed '/e-wrong/s/differs/open/; /b-throws/d' outcomes.json >better.json
run kinds --server 'exec sh server' --baseline better.json
told 1 '7 models, 2 equal, 1 crashed, 1 differs, 3 as bad in the baseline'

# A pass that is wrong is named, and the next one gets the model from before it.
mkdir one && cp $model one/relu.onnx
run one --server 'exec sh server' --passes 'printf "nothing\ngood\nbad\n\ndies\nlast\n"' --json passes.json --counterexample by-pass
told 1 '1 models, 2 equal, 1 crashed, 1 differs' '^equal .* relu.onnx, good: bitwise$' '^differs .* relu.onnx, bad: x = ' \
  '^crashed .* relu.onnx, dies: ' '^equal .* relu.onnx, last: bitwise$' '^     1  differs   bad: Relu, Abs: relu.onnx$'
[ "$(ls by-pass)" = relu.onnx.bad ] && cmp -s by-pass/relu.onnx.bad/after.onnx abs.onnx || fail "no counterexample of the pass"
[ "$(grep -c '"pass": "bad"' passes.json)" = 1 ] || fail "the pass isn't in the JSON"
run one --server 'exec sh server' --passes 'echo nothing'
told 0 '1 models, 1 unchanged'
run one --optimizer 'case {pass} in bad) cp abs.onnx {out} ;; *) cp {in} {out} ;; esac' --passes 'echo good; echo bad'
told 1 '1 models, 1 differs' ', bad: '
cp one/relu.onnx one/hangs.onnx
run one --server 'exec sh server' --seconds 0.01
told 1 '2 models, 1 equal, 1 crashed' "hangs.onnx: the server didn't end in time$"
rm one/hangs.onnx

# Results that are there.
mkdir after && cp abs.onnx after/e-wrong.onnx && cp $model after/g-good.onnx && head -c 50 $model >after/f-rubbish.onnx
run kinds --after after --name 'by hand'
told 1 '7 models, 1 unchanged, 4 silent, 1 invalid, 1 differs' 'a-dies.onnx: there is no after/a-dies.onnx$'

run kinds --after nowhere
[ $status = 2 ] && grep -q 'after: nowhere is no folder' err || fail "a folder that isn't there has results"
mkdir -p deep/a deep-after/a && cp $model deep/a/b.onnx && cp $model deep/a_b.onnx && cp abs.onnx deep-after/a/b.onnx && cp abs.onnx deep-after/a_b.onnx
ln -s nothing deep/gone.onnx
run deep --after deep-after --counterexample deep-wrong
[ $status = 2 ] && [ "$(ls deep-wrong)" = "$(printf 'a%%2Fb.onnx\na_b.onnx')" ] && grep -q 'gone.onnx' out || { fail "models of similar names"; cat out err; }

# What is wrong in any other place than the function: types, names, operators that no version has.
for kind in type name; do
  mkdir $kind-in $kind-out
  cp $model $kind-in/relu.onnx
done
python3 - $model name-out/relu.onnx <<'RENAME'
import sys
model = open(sys.argv[1], "rb").read()
open(sys.argv[2], "wb").write(model.replace(b"\x12\x01y", b"\x12\x01z").replace(b"\x0a\x01y", b"\x0a\x01z"))
RENAME
cp /usr/share/libonnx-testdata/data/node/test_not_3d/model.onnx type-out/relu.onnx
run name-in --after name-out
told 1 '1 models, 1 invalid' 'the second graph has no output called y$'
run type-in --after type-out
told 1 '1 models, 1 invalid' 'input x is '

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

# The process that judges a pair runs out of memory. (OpenBLAS raises SIGINT where it gets none for a thread.)
if ! "$gemel" info | grep -q 'build .*sanitizers'; then
  kib=140000
  while [ $kib -le 200000 ]; do
    ( export OPENBLAS_NUM_THREADS=1; ulimit -v $kib && exec timeout -s KILL 120 "$gemel" campaign models --optimizer "$touched" ) >out 2>err
    status=$?
    case $status in 0 | 2 | 127) ;; *) fail "with $kib KiB: status $status"; cat out err ;; esac
    [ -z "$(ls scratch)" ] || fail "with $kib KiB: a folder is left"
    kib=$((kib + 30000))
  done
fi

finish "optimisers are judged, and nothing is left of them"
