#!/bin/sh
# The gemel command from outside: what every sub-command prints, exit statuses, bad input of every
# kind, and that a failed command leaves no file behind. Each check is one line of output and one
# case in the JUnit XML. Environment as `make check` sets it: GEMEL, GEMEL_SRCDIR, GEMEL_JUNIT.
# SPDX-License-Identifier: MIT
set -u
LC_ALL=C
export LC_ALL
unset GEMEL_FLAGS
gemel=${GEMEL:?the path of the gemel command}
source=${GEMEL_SRCDIR:?the source folder}
junit=${GEMEL_JUNIT:-}
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/here" && cd "$scratch/here" || exit 99
passed=0 failed=0 skipped=0
: >"$scratch/cases"

xml() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g' | tr -d '\000-\010\013\014\016-\037'; }
case_is() { # NAME RESULT-ATTRIBUTE BODY
  printf '<testcase name="%s" classname="command" %s>%s</testcase>\n' \
    "$(printf %s "$1" | xml)" "$2" "$3" >>"$scratch/cases"
}
good() { passed=$((passed + 1)); echo "PASS: $1"; case_is "$1" 'result="completed"' ''; }
skip() { skipped=$((skipped + 1)); echo "SKIP: $1"; case_is "$1" 'result="skipped"' ''; }
wrong() { # NAME WHY
  failed=$((failed + 1))
  echo "FAIL: $1: $2"
  sed 's/^/  stdout: /' "$scratch/out" | head -20
  sed 's/^/  stderr: /' "$scratch/err" | head -20
  case_is "$1" 'result="completed"' "<failure message=\"$(printf %s "$2" | xml)\"/>"
}

# run COMMAND...: exit status in $status, output in $scratch/out and $scratch/err.
run() {
  "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  status=$?
}
# Waits up to five minutes for a condition: until COMMAND...
until_so() {
  tries=0
  until "$@" || [ $tries -ge 1500 ]; do
    sleep 0.2
    tries=$((tries + 1))
  done
}
# A process has its own handler of SIGTERM.
handles_term() {
  [ ! -r "/proc/$1/status" ] && sleep 5 && return
  case $(readlink "/proc/$1/exe") in */sh | */dash | */bash) return 1 ;; esac # the shell that will become the command handles it too
  [ $((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") & 0x4000)) != 0 ]
}
# Names of folders; names, sizes and times of all else.
files() { find . -type d -print -o -exec ls -ld --time-style=full-iso {} + | sort; }

# gives NAME STATUS PATTERN ARGUMENT...: gemel exits so, and a line of stdout matches the pattern, if
# there is one.
gives() {
  name=$1 wanted=$2 pattern=$3
  shift 3
  run "$gemel" "$@"
  if [ "$status" != "$wanted" ]; then
    wrong "$name" "exit status $status, not $wanted"
  elif [ -n "$pattern" ] && ! grep -q -e "$pattern" "$scratch/out"; then
    wrong "$name" "no line of stdout matches '$pattern'"
  else
    good "$name"
  fi
}

# fails STATUS NAME TEXT ARGUMENT...: this exit status, nothing on stdout, one message on stderr that
# begins with "gemel: " and has TEXT in it, and every file as it was.
fails() {
  wanted=$1 name=$2 text=$3
  shift 3
  before=$(files)
  run "$gemel" "$@"
  if [ "$status" != "$wanted" ]; then
    wrong "$name" "exit status $status, not $wanted"
  elif [ -s "$scratch/out" ]; then
    wrong "$name" "there is something on stdout"
  elif [ "$(grep -c '^gemel: ' "$scratch/err")" != 1 ] || [ "$(head -c 7 "$scratch/err")" != "gemel: " ]; then
    wrong "$name" "stderr is not one message beginning with 'gemel: '"
  elif ! grep -q -F -e "$text" "$scratch/err"; then
    wrong "$name" "the message has no '$text' in it"
  elif [ "$(files)" != "$before" ]; then
    wrong "$name" "files have changed"
  else
    good "$name"
  fi
}

# What can't be read or written; what a model has and gemel hasn't.
refuses() { fails 2 "$@"; }
lacks() { fails 3 "$@"; }

# same NAME FILE FILE: they have the same bytes.
same() {
  cmp -s "$2" "$3" && good "$1" || wrong "$1" "$2 and $3 differ"
}

# ---- What to work on ----

cat >make.gmt <<'END'
graph make() {
  x = reshape(cast(arange(n = 12), dtype = f32), shape = [4, 3])
  long = cast(arange(n = 5000), dtype = f64)
  return x = x, w = cast(arange(n = 3), dtype = f32), i = arange(n = 3), d = cast(x, dtype = f64), long = long
}
END
cat >f.gmt <<'END'
graph f(x: f32[N, 3], w: f32[3]) {
  y = x * w
  return y = y, loss = sum(y * y)
}
END
cat >equal.gmt <<'END'
graph other(x: f32[N, 3], w: f32[3]) {
  y = w * x
  return loss = sum(sum(y * y, axes = [1])), y = y
}
END
sed 's/y = w \* x/y = w * x * 1.000001:f32/' equal.gmt >differs.gmt
sed 's/f32\[3\]/f64[3]/' f.gmt >f64.gmt
sed 's/loss =/cost =/' f.gmt >renamed.gmt
mkdir folder
gives run/out 0 '' run make.gmt --out data
gives run/out-again 0 '' run make.gmt --out data
x=data/x.npy w=data/w.npy

# ---- run --out: a file of one output, one of all, a folder ----

gives run/out-file 0 'i: i64' run make.gmt --out x=one.npy --out w=two.npy
same run/out-file-x one.npy "$x"
same run/out-file-w two.npy "$w"
gives run/out-file-and-folder 0 '' run make.gmt --out x=three.npy -o rest
same run/out-file-x-too three.npy "$x"
[ ! -e rest/x.npy ] && [ -f rest/w.npy ] && good run/out-rest || wrong run/out-rest "x is in rest, or w isn't"
gives run/out-npz 0 '' run make.gmt --out all.npz
refuses run/out-no-such "no output called 'z'" run make.gmt --out z=z.npy
refuses run/out-twice "output x is given twice" run make.gmt --out x=a.npy --out x=b.npy
refuses run/out-same "two outputs go to a.npy" run make.gmt --out x=a.npy --out w=a.npy
refuses run/out-two-folders "both a and b" run make.gmt --out a --out b
refuses run/out-one-file "of which output?" run make.gmt --out a.npy
refuses run/out-nowhere 'no/where.npy' run make.gmt --out x=no/where.npy
refuses run/out-is-folder 'is a folder' run make.gmt --out x=folder
refuses run/out-empty '' run make.gmt --out x=

# ---- Help and version ----

gives version 0 '^gemel [0-9]' --version
gives help 0 '^usage: gemel COMMAND' --help
run "$gemel"
[ "$status" = 2 ] && grep -q '^usage:' "$scratch/err" && good no-arguments || wrong no-arguments "exit status $status"
commands=$("$gemel" --help | sed -n 's/^  \([a-z]*\)  .*[.]$/\1/p')
harness=$(printf '%s\n' $commands | grep -c -x -e verify -e equal -e campaign -e models -e mutate -e fuzz)
[ "$(printf '%s\n' $commands | grep -c -x -e run -e grad -e opt -e show -e convert -e bench -e info)" = 7 ] &&
  good commands || wrong commands "--help lists other commands: $commands"
[ "${GEMEL_HAS_HARNESS:-yes}" = yes ] && all=6 || all=0
[ "$harness" = $all ] && good commands/harness || wrong commands/harness "--help lists $harness commands of the harness, not $all"
page=$source/doc/gemel.1
for command in $commands; do
  gives "help/$command" 0 "^usage: gemel $command " "$command" --help
  for option in $(sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/\2/p' "$scratch/out"); do
    grep -q -e "^\.BR* .*\\\\-\\\\-$(printf %s "$option" | sed 's/-/\\\\-/g')\( \|$\)" "$page" &&
      good "man/$command/$option" || wrong "man/$command/$option" "gemel.1 does not describe --$option"
  done
  grep -q "^\.SS gemel $command\$" "$page" && good "man/$command" || wrong "man/$command" "gemel.1 does not describe it"
done
for command in $commands; do "$gemel" "$command" --help; done >"$scratch/out"
if [ "$harness" != 0 ]; then # without it, options in the page are in no command
  for option in $(sed -n 's/^\.BR* .*\\-\\-\([a-z\\-]*\).*/\1/p' "$page" | sed 's/\\//g; s/^version$//'); do
    grep -q -e "--$option\b" "$scratch/out" && good "man-only/$option" || wrong "man-only/$option" "no command has --$option"
  done
fi
"$gemel" --help | sed -n '/GEMEL_FLAGS/,$s/^  \([a-z]*\)  .*/\1/p' >"$scratch/flags"
sed -n '/^The names are$/,/^In a list/s/^\.BR //p' "$page" | sed 's/"[^"]*"//g' | tr -s ' ' '\n' |
  grep '[a-z]' | sort | diff - "$scratch/flags" >"$scratch/out" &&
  good man/flags || wrong man/flags "gemel.1 has other flags than --help"
if command -v mandoc >/dev/null 2>&1; then
  mandoc -Tlint -W warning "$page" >"$scratch/out" 2>"$scratch/err" && good man/lint || wrong man/lint "mandoc warns"
else
  skip man/lint
fi

# ---- A file of no rules is named ----

echo '# nothing here' >none.rules
for command in verify mutate; do
  [ "$harness" = 0 ] || refuses "rules/none/$command" 'gemel: ./none.rules holds no rule' $command --rules ./none.rules
done

# ---- show, convert, info ----

gives show 0 '^graph f(x: f32\[N, 3\], w: f32\[3\]) {' show f.gmt
cp "$scratch/out" shown.gmt
gives show/twice 0 '^graph f' show shown.gmt
same show/same shown.gmt "$scratch/out"
gives show/debug 0 '= mul(%0, %1): f32\[N, 3\]  # f.gmt:2$' show --format debug f.gmt
gives show/debug-attributes 0 '= reshape(%[0-9]*, shape = \[4, 3\]): f32\[4, 3\]' show --format=debug make.gmt
cat >attributes.gmt <<'END'
graph attributes(x: f32[9, N]) {
  a, b, c, d, e, f, g, h, i = split(x, sizes = [1, 1, 1, 1, 1, 1, 1, 1, 1])
  j = invoke(a, body = graph (x: f32[1, N]) { return r = -x })
  k = reshape(b, shape = [N])
  return y = cast(j, dtype = f64), k = k, l = tensor(f32[2, 2], [1, 2, 3, 4]), s = searchsorted(k, k, side = "right")
}
END
gives show/attributes 0 '' show --format debug attributes.gmt
for said in 'split(%0, sizes = \[1, 1, 1, 1, 1, 1, 1, 1, \.\.\.\], axis = 0)' 'invoke(%1, body = graph of 2 nodes)' 'reshape(%1:1, shape = \[N\])' \
  'constant(value = f32\[2, 2\])' 'cast(%2, dtype = f64)' 'searchsorted(%3, %3, side = right)'; do
  grep -q -e "$said" "$scratch/out" && good "show/attributes/${said%%(*}" || wrong "show/attributes/${said%%(*}" "no line has $said"
done
gives show/dot 0 '^  n0 -> n2 \[label="0: f32\[N, 3\]"\];' show -f dot f.gmt
gives show/out 0 '' show f.gmt -o shown2.gmt
same show/out-same shown.gmt shown2.gmt
gives convert/binary 0 '' convert f.gmt f.gemel
gives show/binary 0 '^graph f' show f.gemel
same convert/same shown.gmt "$scratch/out"
gives convert/text 0 '' convert f.gemel back.gmt
same convert/back shown.gmt back.gmt
lacks convert/compressed "compressed" convert "$source/tests/corpus/npy/bad-compressed.npz" x.npz
gives convert/npz 0 '' convert "$x" x.npz
gives convert/npy 0 '' convert x.npz x2.npy
same convert/npy-same "$x" x2.npy
gives info 0 '^  dtypes    bool i8 .* f64$' info
gives info/ops 0 '^softmax(x, axis: int = -1)$' info --ops
for line in 'where(x, y, z)' 'take(x, indices, axis: int = 0)' 'join(xs\.\.\., axis: int = 0)' \
  'reshape(x, shape: dims)' 'arange(n: dim, dtype: dtype = i64)'; do
  grep -q "^$line\$" "$scratch/out" && good "info/ops/${line%%(*}" || wrong "info/ops/${line%%(*}" "no line '$line'"
done
gives info/rules 0 '^mul_one: .*, canonicalize$' info --rules
gives info/passes 0 '^scan_push_rows: pass, canonicalize, needs reassoc$' info --rules

# ---- run, grad ----

gives run 0 '^loss: f32$' run f.gmt --in "x=$x" --in "w=$w"
grep -q '^1022\.$' "$scratch/out" && good run/value || wrong run/value "the loss is not 1022"
grep -q '^ \[ 0. 10. 22.\]\]$' "$scratch/out" && good run/row || wrong run/row "a row of y is missing"
gives convert/safetensors 0 '' convert x.npz x.safetensors
gives convert/safetensors-npy 0 '' convert x.safetensors x3.npy
same convert/safetensors-same x2.npy x3.npy
gives run/safetensors 0 '^1022\.$' run f.gmt --in x.safetensors -i "w=$w"
printf 'graph half(x: f32[N, 3]) {\n  return x = cast(x, dtype = bf16)\n}\n' >half.gmt
gives run/out-safetensors 0 '' run half.gmt -i x.safetensors -o half.safetensors
printf 'graph whole(x: bf16[N, 3]) {\n  return sum = sum(cast(x, dtype = f32))\n}\n' >whole.gmt
gives run/in-bf16 0 '^66\.$' run whole.gmt -i half.safetensors
refuses run/out-bf16 'write safetensors' run half.gmt -i x.safetensors -o half.npz
gives run/npz 0 '^1022\.$' run f.gmt --in x.npz -i "w=$w"
gives run/list 0 '^1022\.$' run f.gmt -i "x=$x" -i "w=$w" --list
grep -q -e '-> output y  # f.gmt:2$' "$scratch/err" && good run/listing ||
  wrong run/listing "no line says where output y is stored"
GEMEL_CACHE=$scratch/kept && export GEMEL_CACHE
echo 'graph p(x: f32[N, 3]) { return y = max_pool(broadcast_to(x, shape = [4, N, 3]), size = [2]) }' >pool.gmt
gives run/autotune 0 '^y: f32' run pool.gmt -i "x=$x" --autotune --list
grep -q 'chosen by timing' "$scratch/err" && grep -q '^max_pool ' "$GEMEL_CACHE/autotune" && good run/autotune-kept ||
  wrong run/autotune-kept "no kernel was chosen by timing, or it isn't kept"
unset GEMEL_CACHE
gives run/profile 0 '^1022\.$' run f.gmt -i "x=$x" -i "w=$w" --profile --calls 5 --json p.json --trace t.json
grep -q '^calls  *5$' "$scratch/err" && grep -q ' -> %[0-9]* .*# f.gmt:2' "$scratch/err" && good run/profile-table ||
  wrong run/profile-table "no five calls, or no line of the file"
{ grep -c '"calls": 5' p.json; grep -c '"name": "call"' t.json; } >"$scratch/out"
printf '%s\n' "$(wc -l <p.json)" 5 | same run/profile-files "$scratch/out" -
printf 'graph g(x: f32[N, 3]) {\n  y = x - 5\n  return z = sum(log(y))\n}\n' >nan.gmt
gives run/nan 0 '^nan$' run nan.gmt -i "x=$x"
refuses run/guard 'nan.gmt:3: log(f32[N, 3]): %' run nan.gmt -i "x=$x" --guard nan
refuses run/out-new-folder 'nan.gmt:3' run nan.gmt -i "x=$x" --guard nan --out new
grep -q 'has a NaN at \[0, 0\], and its operands (f32\[4, 3\]) have none' "$scratch/err" &&
  good run/guard-element || wrong run/guard-element "the element is not named"
refuses run/guard-other 'has an infinity at [1, 2]' run nan.gmt -i "x=$x" --guard inf
GEMEL_FLAGS=guard=nan,profile=1,trace=flags.json && export GEMEL_FLAGS
refuses run/guard-flag 'has a NaN at [0, 0]' run nan.gmt -i "x=$x"
gives run/profile-flag 0 '^1022\.$' run f.gmt -i "x=$x" -i "w=$w"
grep -q '^calls  *1$' "$scratch/err" && grep -q '"name": "call"' flags.json && good run/trace-flag ||
  wrong run/trace-flag "no profile, or no trace"
unset GEMEL_FLAGS
refuses run/guard-kind "'odd' is neither nan, inf nor all" run nan.gmt -i "x=$x" --guard odd
refuses run/trace-nowhere 'none/t.json' run f.gmt -i "x=$x" -i "w=$w" --trace none/t.json
gives run/dump 0 '^1022\.$' run f.gmt -i "x=$x" -i "w=$w" --dump bug --fastmath none --threads 1
gives run/replay 0 '^loss: f32 is the same, bit for bit$' run bug
gives run/replay-plain 0 '^y: f32.4, 3. is the same, bit for bit$' run bug/ --plain --list --profile
grep -q '^calls  *1$' "$scratch/err" && good run/replay-profile || wrong run/replay-profile "no profile"
cp -r bug bug2 && sed 's/sum(/max(/' bug/graph.gmt >bug2/graph.gmt
gives run/replay-differs 1 '^loss: f32 differs in 1 of 1 elements; the first is number 0: 1022 was stored, 484 is computed$' run bug2
printf 'graph whole() {\n  return y = 9223372036854775805:u64\n}\n' >whole.gmt
gives run/dump-whole 0 '^9223372036854775805$' run whole.gmt --dump whole
sed -i s/805:/804:/ whole/graph.gmt
gives run/replay-whole 1 ': 9223372036854775805 was stored, 9223372036854775804 is computed$' run whole
refuses run/dump-there 'bug: is there already' run f.gmt -i "x=$x" -i "w=$w" --dump bug
refuses run/dump-nowhere 'none/bug' run f.gmt -i "x=$x" -i "w=$w" --dump none/bug --out folder
run "$gemel" run nan.gmt -i "x=$x" --guard nan --dump stopped
[ "$status" = 2 ] && [ ! -e stopped/outputs.npz ] && [ -d stopped ] && good run/dump-stopped || wrong run/dump-stopped "no folder without outputs"
refuses run/replay-stopped 'stopped: nan.gmt:3: log(f32' run stopped
refuses run/replay-option '--mode: the folder bug says that by itself' run bug --mode none
refuses run/replay-folder 'folder/graph.gmt' run folder
rm -rf bug bug2 stopped
gives run/threads 0 '^1022\.$' run f.gmt -i "x=$x" -i "w=$w" --threads 2 --deterministic --plain
cat >count.gmt <<'END'
graph count(x: f32[N, 3], state n: i64[]) {
  update n = n + 1
  return y = sum(x) * cast(n, dtype = f32)
}
END
printf 'graph zero() {\n  return n = 0:i64\n}\n' >zero.gmt
gives run/zero 0 '' run zero.gmt --out data
gives run/state-start 0 '^0\.$' run count.gmt -i "x=$x" -i n=data/n.npy --state count.npz
gives run/state-once 0 '^66\.$' run count.gmt -i "x=$x" --state count.npz
gives run/state-twice 0 '^132\.$' run count.gmt -i "x=$x" --state count.npz
grep -q '^n' "$scratch/out" && wrong run/state-hidden "the update is printed" || good run/state-hidden
gives run/state-pure 0 '^4$' run count.gmt -i "x=$x" -i count.npz
refuses run/state-missing 'input n (i64[]) is not given' run count.gmt -i "x=$x" --state none.npz
refuses run/state-nowhere 'none/s.npz' run count.gmt -i "x=$x" -i n=data/n.npy --state none/s.npz
# A key as a state: each run draws on, and from a key that was kept the same numbers come again.
cat >key.gmt <<'END'
graph key() {
  return key = tensor(u64[2], [7, 41]), w = tensor(f32[3, 3], [1, 0, 0, 0, 1, 0, 0, 0, 1])
}
END
gives run/key 0 '' run key.gmt --out keys
dropout() {
  gives "run/random-$1" 0 '' run "$source/examples/dropout.gmt" -i "x=$x" -i w=keys/w.npy --state key.npz --out "drop$1" ${2:+-i "$2"}
}
dropout 1 key=keys/key.npy
cp key.npz kept.npz
dropout 2
cmp -s drop1/y.npy drop2/y.npy && wrong run/random-other "two draws are the same" || good run/random-other
cp kept.npz key.npz
dropout 3
same run/random-again drop2/y.npy drop3/y.npy
gives run/long 0 '^\[   0.    1.    2. ... 4997. 4998. 4999.\]$' run make.gmt
gives grad 0 'return y = .*, loss = .*, d_x = .*, d_w = ' grad f.gmt --output loss
gives grad/out 0 '' grad f.gmt --wrt w --output loss -o grad.gemel
gives grad/value 0 '^\[  0. 332. 856.\]$' run grad.gemel -i "x=$x" -i "w=$w"
gives flags 0 '^1022\.$' run f.gmt -i "x=$x" -i "w=$w"
GEMEL_FLAGS=threads=1,deterministic=1,seed=4 && export GEMEL_FLAGS
gives flags/run 0 '^1022\.$' run f.gmt -i "x=$x" -i "w=$w"
GEMEL_FLAGS=threads=many
refuses flags/value "GEMEL_FLAGS: threads: 'many'" run f.gmt -i "x=$x" -i "w=$w"
GEMEL_FLAGS=colour=1
refuses flags/name "'colour'" show f.gmt
GEMEL_FLAGS=seed
refuses flags/form "'seed' is no name=value" show f.gmt
unset GEMEL_FLAGS

# ---- opt ----

cat >opt.gmt <<'END'
graph f(x: f32[N], y: f32) {
  z = log(1 + x)
  return r = -(-z) * 1, s = y - y
}
END
printf 'rule %s in canonicalize%s: %s\n' own ' needs nnan, ninf' 'x - x => 0' >own.rules
printf 'rule a in stabilize: tanh(x) => sigmod(x)' >bad.rules
printf 'rule a in stabilize: sqr(x) => abs(x) rule b in stabilize: abs(x) => sqr(x)' >circle.rules
sed 's/log/sqr/' opt.gmt >sqr.gmt
gives opt 0 '^  n0 = log1p(x)$' opt opt.gmt
gives opt/mode 0 '= mul(n4, n0)$' opt --mode none opt.gmt
gives opt/none 0 '= log(n1)$' opt -f none opt.gmt
gives opt/words 0 'log1p(x)' opt -f afn,nsz opt.gmt
gives opt/include 0 '= mul(' opt -i neg_neg opt.gmt
gives opt/exclude 0 '= mul(' opt -x 'mul_*,passes' opt.gmt
gives opt/phase 0 '= log1p(x)$' opt -x canonicalize opt.gmt
gives opt/rules 0 '= sub(y, y)$' opt --rules own.rules opt.gmt
gives opt/all 0 '= 0:f32$' opt --rules own.rules --fastmath all opt.gmt
gives opt/json 0 '^{"kind": "phase", "phase": "canonicalize", .*"applied": 2, .*"before": 9, "after": 6}$' \
  opt --json - --out opt.gemel --profile opt.gmt
grep -q '^stabilize  *log_to_log1p ' "$scratch/err" && good opt/profile || wrong opt/profile "no row of log_to_log1p"
gives opt/binary 0 'log1p' show opt.gemel
GEMEL_FLAGS=mode=fast_run,exclude=mul_one:stabilize,fastmath=afn:nsz && export GEMEL_FLAGS
gives opt/flags 0 '= log(n1)$' opt opt.gmt
grep -q '= mul(' "$scratch/out" && good opt/flags-list || wrong opt/flags-list "mul_one is not excluded"
unset GEMEL_FLAGS
# what is rewritten is seen in the bits: log(1 + x) is 0 at 1e-8, log1p(x) isn't
printf 'graph g() { x = 1e-8:f32 return x = broadcast_to(x, shape = [2]), y = x }' >tiny.gmt
gives opt/tiny 0 '' run tiny.gmt --out tiny
gives run/rewritten 0 'e-0[89]' run opt.gmt -i x=tiny/x.npy -i y=tiny/y.npy
gives run/as-written 0 '^\[0. 0.\]$' run opt.gmt -i x=tiny/x.npy -i y=tiny/y.npy --mode none
gives run/plain-as-written 0 '^\[0. 0.\]$' run opt.gmt -i x=tiny/x.npy -i y=tiny/y.npy --plain
gives run/exclude 0 '^\[0. 0.\]$' run opt.gmt -i x=tiny/x.npy -i y=tiny/y.npy -x 'log*'
refuses run/mode "no mode 'slow'" run opt.gmt --mode slow
refuses opt/mode-name "no mode 'slow'" opt --mode slow opt.gmt
refuses opt/device "no device 'abacus': this program knows host" opt --device abacus opt.gmt
refuses run/device "no device 'abacus'" run opt.gmt -i x=tiny/x.npy -i y=tiny/y.npy --device abacus
for number in host:0 host: sim: sim:x sim:-1 sim:1x sim:99999999999; do
  refuses "run/$number" "no device '$number'" run opt.gmt -i x=tiny/x.npy -i y=tiny/y.npy --device $number
done
refuses opt/lift "neither aggressive nor cheapest" opt --lift backward opt.gmt
gives opt/host 0 '= mul(n4, n0)$' opt --mode none --device host --lift aggressive opt.gmt
if "$gemel" opt --device abacus opt.gmt 2>&1 | grep -q 'knows.* sim'; then
  gives opt/sim 0 'transfer(x, space = 1)$' opt --mode none --device sim --lift aggressive opt.gmt
  cat >stay.gmt <<'END'
graph stay(x: f32[4, 4]) {
  return y = exp(cholesky(dot(x, x))) * 2:f32
}
END
  gives opt/sim-profile 0 'dot(n0, n0' opt --mode none --device sim --lift aggressive --profile stay.gmt
  grep -q '^lift  *mul  *[0-9.]*  *1  *2$' "$scratch/err" && grep -q '^lifted 4 nodes, 0 stay .* transfers 1 values to the device and 1 from it, its plan 1$' "$scratch/err" &&
    good opt/sim-report || wrong opt/sim-report "no report of what is lifted"
  gives opt/sim-cheapest 0 '' opt --mode none --device sim --lift cheapest --profile stay.gmt
  grep -q '^stay.gmt:2: cholesky stays on the host: transfers would take longer' "$scratch/err" && grep -q '^by the model .* a call takes [0-9.]* us$' "$scratch/err" &&
    good opt/sim-stays || wrong opt/sim-stays "no report of what stays"
  gives run/sim 0 '^\[1e-08 1e-08\]$' run opt.gmt -i x=tiny/x.npy -i y=tiny/y.npy --device sim --lift aggressive \
    --dump lifted
  gives replay/sim 0 'is the same, bit for bit$' run lifted --device sim
  gives replay/second 0 'is the same, bit for bit$' run lifted --device sim:1
  refuses run/third "sim: choosing the GPU: CUDA says invalid device ordinal" run lifted --device sim:2
  GEMEL_SIM_DEVICES=3 gives replay/third 0 'is the same, bit for bit$' run lifted --device sim:2
  refuses replay/no-device 'memory space 1, which has no device' run lifted
  rm -r lifted
else
  skip opt/sim
fi
refuses opt/word "'speed'" opt --fastmath speed opt.gmt
refuses opt/unknown 'called frob' opt --exclude frob opt.gmt
refuses opt/mistake '1:33: there is no operation called sigmod; did you mean sigmoid?' opt --rules bad.rules opt.gmt
refuses opt/circle 'asks for what it replaces): b, a' opt --rules circle.rules sqr.gmt

# ---- Bad usage ----

refuses usage/command "'frobnicate'" frobnicate
refuses usage/option "'--frobnicate'" --frobnicate

# nothing_near NAME: the message that refuses NAME has no "did you mean" in it.
nothing_near() {
  grep -q 'did you mean' "$scratch/err" && wrong "$1" "something is near" || good "$1"
}
nothing_near near/no-option
refuses near/command "there is no command 'covnert'; did you mean convert?" covnert a b
refuses near/no-command "there is no command 'matmul'; see" matmul
refuses near/option 'run: there is no option --autotnue; did you mean --autotune?; see' run --autotnue f.gmt
refuses near/option-value 'opt: there is no option --exlcude; did you mean --exclude?' opt --exlcude=x f.gmt
refuses near/several 'run: several options begin with --d; see' run --d=1 f.gmt
refuses near/rule 'exclude: no rule, tag, family or phase is called mul_noe; did you mean mul_one?' opt --exclude mul_noe f.gmt
refuses near/pattern 'is called mul_noe*' opt --exclude 'mul_noe*' f.gmt
nothing_near near/no-pattern
GEMEL_FLAGS=sede=7 refuses near/flag "there is no flag 'sede'; did you mean seed?" run f.gmt
printf 'graph f(x: f32[3, 3]) {\n  return y = softmax(x, axes = 0)\n}\n' >axes.gmt
refuses near/attribute "softmax has no attribute called 'axes'; did you mean axis?" show axes.gmt
if [ "$harness" != 0 ]; then
  refuses near/ops "no operation matches 'sofmax'; did you mean softmax?" verify --ops exp,sofmax
  refuses near/rules "no rule, pass, tag, family or phase matches 'ad_zero'; did you mean add_zero?" verify --rules ad_zero
  refuses near/proof "no rule, tag, family or phase matches 'ad_zero'; did you mean add_zero?" verify --proof --rules ad_zero
  refuses near/tier "there is no tier 'flaot'; did you mean float?" verify --tier flaot
  refuses near/allow "there is no word 'reasoc'; did you mean reassoc?" equal --allow reasoc f.gmt f.gmt
fi
refuses usage/many 'one argument too many' info more
for command in $commands; do
  refuses "usage/$command/option" '--frobnicate' "$command" --frobnicate
  refuses "usage/$command/letter" '-Z' "$command" -Z
  case $command in fuzz | info | mutate | verify) ;; *) refuses "usage/$command/few" 'too few arguments' "$command" ;; esac
done
refuses usage/missing-value '--in needs a value' run f.gmt --in
refuses usage/useless-value '--plain takes no value' run f.gmt --plain=1
refuses usage/negative "'-1'" run f.gmt --threads -1
refuses usage/number "'2x'" run f.gmt --threads 2x
refuses usage/overflow "'99999999999999999999999'" run f.gmt --threads 99999999999999999999999
refuses usage/format "'svgz'" show f.gmt --format svgz
refuses usage/in "'x'" run f.gmt --in x
refuses usage/output "'nothing'" grad f.gmt --output nothing
refuses usage/outputs '2 outputs' grad f.gmt
refuses usage/wrt "'nothing'" grad f.gmt --output loss --wrt w,nothing
refuses usage/wrt-twice 'named twice' grad f.gmt --output loss --wrt w,w
refuses usage/not-scalar 'is f32[N, 3], not a scalar' grad f.gmt --output y
refuses usage/extension 'extension' convert f.gmt f.xyz
refuses usage/kinds "can't become" convert f.gmt f.npy

# ---- Bad graphs ----

: >empty.gmt
printf 'graph f(x: f32[3]) {\n  y = x + + 2:\n  return y = y\n}\n' >broken.gmt
printf 'graph f(x: f32[3]) {\n  return y = frobnicate(x)\n}\n' >unknown.gmt
printf 'graph f(x: f32[3], y: f32[4]) {\n  return z = x + y\n}\n' >shapes.gmt
printf 'graph f(x: f32[-3]) {\n  return y = x\n}\n' >negative.gmt
printf 'graph f(x: f99[3]) {\n  return y = x\n}\n' >dtype.gmt
head -c 60 f.gmt >cut.gmt
head -c 100 f.gemel >cut.gemel
size=$(wc -c <f.gemel)
{ head -c $((size / 2)) f.gemel; printf '\377'; tail -c $((size - size / 2 - 1)) f.gemel; } >flipped.gemel
head -c 3000 /dev/urandom >noise.gmt
for command in show "grad --output loss" run "show --format debug" "grad --output loss -o out.gmt"; do
  set -- $command
  refuses "$command/no-file" 'No such file' "$@" nothing.gmt
  refuses "$command/folder" 'folder' "$@" folder
  refuses "$command/empty" 'empty.gmt' "$@" empty.gmt
  refuses "$command/broken" 'broken.gmt:2:' "$@" broken.gmt
  grep -q '^ *^$' "$scratch/err" && good "$command/caret" || wrong "$command/caret" "no caret below the line"
  refuses "$command/unknown" "'frobnicate'" "$@" unknown.gmt
  refuses "$command/shapes" 'f32[3]' "$@" shapes.gmt
  refuses "$command/negative" 'negative.gmt' "$@" negative.gmt
  refuses "$command/dtype" "f99" "$@" dtype.gmt
  refuses "$command/cut" 'cut.gmt' "$@" cut.gmt
  refuses "$command/cut-binary" 'cut.gemel' "$@" cut.gemel
  refuses "$command/flipped" 'flipped.gemel' "$@" flipped.gemel
  refuses "$command/noise" 'noise.gmt' "$@" noise.gmt
done
refuses convert/no-file 'No such file' convert nothing.gmt out.gemel
refuses convert/broken 'broken.gmt:2:' convert broken.gmt out.gemel
refuses convert/cut 'cut.gemel' convert cut.gemel out.gmt

# ---- Bad tensors ----

npy() { printf '\223NUMPY\001\000v\000%-117s\n' "$1"; } # a header; the elements follow
npy "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }" >minus.npy
npy "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }" >object.npy
npy "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }" >huge.npy
npy "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" >none.npy
head -c 9 "$x" >head.npy
head -c 60 "$x" >header.npy
head -c 150 "$x" >short.npy
{ cat "$x"; echo; } >behind.npy
head -c 100 x.npz >cut.npz
cp f.gmt text.npy
for bad in minus object huge none head header short behind text; do
  refuses "npy/$bad" "$bad.npy" run f.gmt -i "x=$bad.npy" -i "w=$w" -o out
  refuses "npy/convert-$bad" "$bad.npy" convert "$bad.npy" out.npz
done
refuses npz/cut 'cut.npz' run f.gmt -i cut.npz -i "w=$w"
refuses npz/text 'text.npz' run f.gmt -i text.npz
refuses npy/no-file 'No such file' run f.gmt -i x=nothing.npy
refuses npy/folder 'folder' run f.gmt -i x=folder
refuses run/missing 'input w (f32[3]) is not given' run f.gmt -i "x=$x" -o out
refuses run/unknown "no input called 'z'" run f.gmt -i "z=$x"
refuses run/twice 'given twice' run f.gmt -i "x=$x" -i "x=$x"
refuses run/dtype 'input x is f32[N, 3], the file holds f64[4, 3]' run f.gmt -i x=data/d.npy -i "w=$w" -o out
refuses run/rank 'input w is f32[3], the file holds f32[4, 3]' run f.gmt -i "x=$x" -i "w=$x" -o out
refuses run/size 'input w is f32[3], the file holds f64[5000]' run f.gmt -i w=data/long.npy
printf 'graph f(x: f32[N], y: f32[N, 3]) {\n  return z = dot(x, y)\n}\n' >symbols.gmt
refuses run/symbol 'N' run symbols.gmt -i "x=$w" -i "y=$x"

# ---- Bad places to write to ----

refuses write/folder 'folder' convert f.gmt folder/../folder.gmt/x.gmt
mkdir folder.gmt folder.npy folder.npz file.d 2>/dev/null
refuses write/graph-folder 'folder.gmt' convert f.gmt folder.gmt
refuses write/grad-folder 'folder' grad f.gmt --output loss -o folder
refuses write/npy-folder 'folder.npy' convert "$x" folder.npy
refuses write/npz-folder 'folder.npz' convert "$x" folder.npz
refuses write/out-file "no folder" run make.gmt -o f.gmt
refuses write/out-deep 'nothing/deep' run make.gmt -o nothing/deep
if [ -c /dev/full ]; then
  refuses full/grad 'No space left' grad f.gmt --output loss -o /dev/full
  ln -s /dev/full full.gmt
  refuses full/convert 'No space left' convert f.gmt full.gmt
  "$gemel" show f.gmt >/dev/full 2>"$scratch/err"
  status=$?
  : >"$scratch/out"
  [ "$status" = 2 ] && grep -q '^gemel: ' "$scratch/err" && good full/stdout || wrong full/stdout "exit status $status"
  "$gemel" info --ops >/dev/full 2>"$scratch/err"
  status=$?
  [ "$status" = 2 ] && grep -q '^gemel: ' "$scratch/err" && good full/info || wrong full/info "exit status $status"
else
  skip full
fi

# A limit on the size of files stands in for a full disk: what was there stays, nothing else appears.
limited() { (trap '' XFSZ && ulimit -f 8 && exec "$gemel" "$@"); }
awk 'BEGIN { print "graph long(x: f32[3]) {"; print "n0 = x"; for (k = 1; k < 20000; k++) print "n" k " = n" k-1 " + x"; print "return y = n" k-1; print "}" }' >long.gmt
echo precious >kept.gmt
cp kept.gmt kept.npz
before=$(files)
for arguments in "convert long.gmt new.gemel" "convert long.gmt kept.gmt" "convert data/long.npy new.npy" \
  "convert data/long.npy kept.npz" "show long.gmt -o kept.gmt"; do
  run limited $arguments
  if [ "$status" = 2 ] && grep -q '^gemel: ' "$scratch/err" && [ "$(files)" = "$before" ]; then
    good "limited/$arguments"
  else
    wrong "limited/$arguments" "exit status $status, or files have changed"
  fi
done

# ---- Deep graphs on a small stack ----

deep() { (ulimit -s 256 && exec "$gemel" "$@"); }
for arguments in "show long.gmt" "show --format debug long.gmt" "show --format dot long.gmt" \
  "convert long.gmt long.gemel" "show long.gemel" "run long.gmt --in x=$w --dump long.dump" "run long.dump" \
  "run long.gmt --in x=$w"; do
  run deep $arguments
  [ "$status" = 0 ] && good "deep/$arguments" || wrong "deep/$arguments" "exit status $status"
done
grep -q '^\[    0. 20000. 40000.\]$' "$scratch/out" && good deep/value || wrong deep/value "the sum is wrong"

# Bodies within bodies, as deep as they may be.
{
  echo 'graph b0(x: f32[]) { return y = x + x }'
  for k in $(seq 1 30); do echo "graph b$k(x: f32[]) { return y = invoke(x, body = b$((k - 1))) }"; done
  echo 'graph top() { return z = invoke(1.5:f32, body = b30) }'
} >nested.gmt
for arguments in "show nested.gmt" "convert nested.gmt nested.gemel" "show nested.gemel" "opt nested.gmt" \
  "run nested.gmt"; do
  run deep $arguments
  [ "$status" = 0 ] && good "deep/$arguments" || wrong "deep/$arguments" "exit status $status"
done

# ---- verify, equal ----

without_times() { sed 's/"seconds": [^,]*,//' "$@"; }
if [ "$harness" != 0 ]; then
  gives verify 0 '^gemel verify: 2 operations, .* 0 refuted (seed 1, ' verify --ops '[ae]?[dp]' --instances 6 --json one.json
  # the last of repeated options counts
  gives verify/last 0 '^gemel verify: 1 operations, .* 0 refuted (seed 1, ' verify --ops exp --ops add --instances 6 --json one.json
  [ "$(tail -1 "$scratch/out" | cut -c 1-13)" = 'gemel verify:' ] && good verify/summary-last || wrong verify/summary-last "it is not the last line"
  for field in kind name tier verdict how detail instances elements seed seconds worst error_probability; do
    [ "$(grep -c "^{.*\"$field\": .*}\$" one.json)" = "$(wc -l <one.json)" ] && good "json/$field" || wrong "json/$field" "not in every line"
  done
  tiers=$(sed -n '/define GEMEL_TIER_TABLE/,/[^\\]$/p' "$source/verify/gemel/verify.h" | grep -c 'X([A-Z]')
  [ "$tiers" -ge 5 ] && [ "$(wc -l <one.json)" = $((2 * tiers)) ] && good json/lines ||
    wrong json/lines "there is not a line for each tier of add and of its gradient"
  gives verify/stdout 0 '^{"kind": "operation", "name": "add", "tier": "real", "verdict": "passed"' verify --ops add --instances 6 --json -
  without_times one.json >"$scratch/one"
  without_times "$scratch/out" >"$scratch/two"
  same verify/repeats "$scratch/one" "$scratch/two"
  tail -1 "$scratch/err" | grep -q '^gemel verify: ' && good verify/stderr || wrong verify/stderr "no summary on stderr"
  gives verify/tier 0 '^add  *-  *passed  *-  *-  *passed 0.50 ulp$' verify --ops add --tier special,integer --seed 5 --instances 6
  tail -1 "$scratch/out" | grep -q '(seed 5, ' && good verify/seed || wrong verify/seed "seed 5 is not printed"
  GEMEL_FLAGS=seed=77,instances=3 && export GEMEL_FLAGS
  gives verify/flags 0 '(seed 77, ' verify --ops add
  gives verify/over-flags 0 '(seed 8, ' verify --ops add --seed 8
  unset GEMEL_FLAGS
  gives verify/random 0 '(seed [0-9]' verify --ops add --seed random --instances 40 --tier integer
  gives verify/list 0 '^gemel verify: 4 operations, .* 0 refuted' verify --ops 'exp,[es]q*' --tier integer --instances 6
  refuses verify/list-typo "no operation matches 'lgo'" verify --ops exp,lgo
  refuses verify/list-empty 'no operation is named' verify --ops ,
  gives verify/rules-list 0 '^gemel verify: 0 operations, 2 rules, ' verify --rules sqr_exp,log_exp --tier real --instances 4
  refuses verify/rules-list-typo "matches 'lgo'" verify --rules sqr_exp,lgo
  printf 'rule swapped in canonicalize:\n  reverse(dimshuffle(x, order = p), axes = a)\n  => dimshuffle(reverse(x, axes = a), order = p)\n' >swapped.rules
  run "$gemel" verify --rules swapped.rules --instances 1 --tier real
  grep -q '^gemel: warning: swapped.rules:3:35: rule swapped: axes of a tensor .* of p are used as axes of x' "$scratch/err" &&
    good verify/axes-warned || wrong verify/axes-warned "no warning of axes"
  refuses mutate/list-typo "no scalar operation matches 'lgo'" mutate --ops exp,lgo
  refuses mutate/rules-list-typo "matches 'lgo'" mutate --rules sqr_exp,lgo
  refuses verify/none 'nothing*' verify --ops 'nothing*' --json new.json
  refuses verify/tiers "'unreal'" verify --tier real,unreal
  refuses verify/negative "'-5'" verify --instances -5
  refuses verify/zero "'0'" verify --instances 0
  refuses verify/no-jobs "'0'" verify --jobs 0
  for jobs in 1 3; do
    gives verify/jobs/$jobs 0 '^gemel verify: 3 operations, .* 0 refuted' verify --ops '[es]q*' --instances 8 --jobs $jobs --json jobs.$jobs
    sed 's/"seconds": [^,]*,//' jobs.$jobs >jobs.$jobs.timeless
  done
  same verify/jobs jobs.1.timeless jobs.3.timeless
  # nothing is begun after the time is up; the table has what was tried, and a line the rest: a thread that took an operation and
  # was too late leaves one between those that others began
  for jobs in 1 2; do
    gives verify/seconds/$jobs 1 '^not run: .* to .*, [0-9]* verdicts: the run was stopped before it was tried$' verify --ops '[es]*' --seconds 0.001 --instances 6 --jobs $jobs
    [ "$(grep -c '^not run: ' "$scratch/out")" -le $jobs ] && ! grep -q '^[^ ]*\( *not run\)\{5\}$' "$scratch/out" &&
      good verify/seconds-table/$jobs || wrong verify/seconds-table/$jobs "what wasn't tried isn't a line for each thread at most"
    gives verify/seconds-rules/$jobs 1 ' 0 operations, [1-9][0-9]* rules, .* not run, 0 refuted' verify --rules canonicalize --seconds 0.001 --instances 6 --jobs $jobs
  done
  # A signal does the same, and the reports are there; rows come as operations end.
  for signal in INT TERM; do
    rm -f cut.json cut.xml cut.html "$scratch/out"
    default=$(env --default-signal=INT true 2>/dev/null && echo --default-signal=INT) # a shell's jobs ignore it
    if [ $signal = INT ] && [ -z "$default" ]; then
      skip verify/signal/INT
      continue
    fi
    sh -c 'echo $$ >verify.pid; exec env "$@"' sh $default "$gemel" verify --json cut.json --junit cut.xml --html cut.html --jobs 2 \
      >"$scratch/out" 2>"$scratch/err" &
    until_so grep -qs '^size  ' "$scratch/out"
    grep -q '^size  ' "$scratch/out" && ! grep -q '^gemel verify: ' "$scratch/out" && good verify/rows/$signal || wrong verify/rows/$signal "rows come at the end"
    kill -$signal "$(cat verify.pid)"
    wait $!
    status=$?
    if [ "$status" != 1 ] || ! grep -q '^not run: .* verdicts: the run was stopped before it was tried$' "$scratch/out"; then
      wrong verify/signal/$signal "exit status $status, or what wasn't tried isn't told"
    elif [ "$(grep -c . cut.json)" -lt 100 ] || ! grep -q '</testsuites*>' cut.xml || ! grep -q '</html>' cut.html; then
      wrong verify/signal/$signal "a report isn't there, or isn't whole"
    else
      good verify/signal/$signal
    fi
  done
  # The whole catalogue is looked at quickly; what is chosen, and a release, is not.
  gives verify/quick 1 '; a quick look: --thorough tries 128 instances where this tried 8, and proves anew$' verify --seconds 0.001
  run "$gemel" verify --thorough --seconds 0.001
  ! grep -q 'a quick look' "$scratch/out" && good verify/thorough || wrong verify/thorough "it is a quick look"
  gives verify/thorough-instances 0 '"name": "neg.grad", "tier": "integer", "verdict": "passed".*"instances": 128' verify --thorough --ops neg --tier integer --json -
  gives verify/seconds-enough 0 ' 0 not run, 0 refuted' verify --ops exp --seconds 500.5 --instances 6
  for bad in 0 -1 soon; do
    refuses "verify/seconds '$bad'" "'$bad'" verify --ops exp --seconds "$bad"
  done
  refuses verify/bad-seed "'soon'" verify --seed soon
  refuses verify/json-folder 'folder' verify --ops add --json folder
  refuses verify/json-nowhere 'No such file' verify --ops add --json nothing/one.json
  refuses verify/replay-dir-new 'No such file' verify --ops add --replay-dir new --json nothing/one.json
  refuses verify/replay-dir 'no folder' verify --ops add --replay-dir f.gmt
  refuses verify/replay-nothing 'No such file' verify --replay nothing
  refuses verify/replay-graph 'f.gmt' verify --replay f.gmt
  refuses verify/replay-noise 'noise.gmt' verify --replay noise.gmt
  if [ -c /dev/full ]; then
    run "$gemel" verify --ops add --instances 2 --json /dev/full
    [ "$status" = 2 ] && grep -q 'No space left' "$scratch/err" && good verify/full || wrong verify/full "exit status $status"
  fi

  gives equal 0 '^gemel equal: f.gmt and equal.gmt are the same function, up to .*(seed 1, ' equal f.gmt equal.gmt
  gives equal/bitwise 0 'are the same function, bitwise (seed 3, ' equal f.gmt f.gemel --seed 3
  gives equal/none 1 '^not allowed: .*reassoc' equal f.gmt equal.gmt --allow none
  huge=0 # numbers whose exponents have more digits than there is memory
  for expression in 'mod(exp(-1e13 - x * x), y)' 'pow(x, -9223372036854775808)' \
    'cast(cast(pow(x, 1e16), dtype = i64), dtype = f64)' 'mod(pow(2, -1e18 * x), y)'; do
    huge=$((huge + 1))
    echo "graph huge(x: f64[2], y: f64[2]) { return r = $expression }" >huge.gmt
    gives "equal/huge-$huge" 0 'are the same function' equal huge.gmt huge.gmt --instances 8
  done
  gives equal/differs 1 '^gemel equal: f.gmt and differs.gmt differ' equal f.gmt differs.gmt --json pair.json --replay-dir replays
  grep -q '"verdict": "refuted".*"counterexample": "graph .*"replay": "replays/' pair.json && good equal/json || wrong equal/json "no counterexample with its replay"
  # A folder of somebody else's is believed in nothing.
  damaged=0
  for edit in 's/^calls = .*/calls = 8/' 's/^calls = .*/calls = 99999999999999999999/' 's/^range = .*/range = 99 0 0/' \
    's/^range = .*/range = 6 5 5/' 's/^range = .*/range = 0 3 1/' 's/^range = .*/range = 0 x/' 's/^tier = .*/tier = none/' \
    's/^kind = .*/kind = kernel/' 's/^seed = .*//' 's/^name = .*//'; do
    damaged=$((damaged + 1))
    rm -rf damaged
    cp -r replays/*.replay damaged
    sed -i "$edit" damaged/question
    refuses "verify/replay-damaged-$damaged" 'damaged' verify --replay damaged
  done
  cp f.gmt "$(printf 'name\303\251\377\t"\\.gmt')"
  "$gemel" equal name* differs.gmt --json odd.json >/dev/null
  "$gemel" equal f.gmt f.gemel --json bitwise.json >/dev/null
  "$gemel" equal f.gmt equal.gmt --json upto.json --match name >/dev/null
  "$gemel" equal f.gmt equal.gmt --allow none --json refused.json >/dev/null
  "$gemel" equal f.gmt equal.gmt --seconds 0.000001 --json open.json >/dev/null
  cat >whole.py <<'END'
import json
def whole(path, **expected):
    lines = [json.loads(line) for line in open(path, encoding="utf-8")]
    last = lines.pop()
    assert all(line["kind"] == "pair" for line in lines), path
    assert last["kind"] == "whole" and last["name"] == "f" and last["seed"] == 1 and 0 <= last["seconds"] < 600, last
    for field, value in expected.items():
        assert last.get(field) == value, (path, field, last)
    return last
last = whole("pair.json", first="f.gmt", second="differs.gmt", verdict="differs", bitwise=False)
assert last["detail"].startswith("tier real: refuted"), last
whole("odd.json", first="nameé?\t\"\\.gmt", second="differs.gmt", verdict="differs")
whole("bitwise.json", second="f.gemel", verdict="equal", bitwise=True, needs=[], not_allowed=[], detail="", sizes_up_to=None)
last = whole("upto.json", verdict="equal", bitwise=False, not_allowed=[])
assert "reassoc" in last["needs"] and last["sizes_up_to"] > 1, last
last = whole("refused.json", verdict="differs", sizes_up_to=None)
assert "reassoc" in last["needs"] and "reassoc" in last["not_allowed"], last
last = whole("open.json", verdict="open")
assert "not run" in last["detail"], last
END
  run python3 whole.py
  [ "$status" = 0 ] && good equal/whole || wrong equal/whole "another last line of JSON"
  gives equal/whole-baseline 0 '^gemel verify: 0 verdicts are worse' verify --ops neg --tier real --baseline bitwise.json
  for file in replays/*; do
    gives equal/replay 1 ' 1 refuted (seed ' verify --replay "$file"
    for part in question first/graph.gmt first/inputs.npz second/graph.gmt; do
      rm -rf cut
      cp -r "$file" cut
      head -c 30 "$file/$part" >"cut/$part"
      refuses "equal/replay-cut/$part" "cut/$part" verify --replay cut
    done
  done
  # mutants of a right rule, of which all are killed but one that is no mistake, and of a blind one
  printf 'rule r in canonicalize:\n    -(-x) => x\n    where integer(x)\n' >right.rules
  printf 'rule r in canonicalize:\n    -(-x) => x\n    where rank(x) < 60\n' >blind.rules
  gives mutate 0 '^gemel mutate: 1 rules, .* 0 alike, 0 survived, 0 refuted: score 100.00 %, strict 100.00 % (seed 1, ' mutate --rules right.rules --instances 8 --json mutants.json
  grep -q '^{"kind": "mutant", "of": "rule", "rule": "r", "mutation": "where: drops integer(x)", .*"verdict": "equivalent"' mutants.json && good mutate/json || wrong mutate/json "the idle condition is not equivalent"
  gives mutate/blind 0 '^alike: r, where: drops rank(x) < 60' mutate --rules blind.rules --instances 8
  gives mutate/markdown 0 '^|---|' mutate --rules blind.rules --instances 8 --markdown
  gives mutate/ops 0 '^gemel mutate: 1 operations, .* 0 survived, 0 refuted: score 100.00 %, strict 100.00 % (seed 1, ' mutate --ops sqr --instances 8
  gives mutate/one-in 0 '^gemel mutate: 1 operations, [0-9] mutants, ' mutate --ops sqr --instances 8 --one-in 2
  refuses mutate/no-op 'nothing*' mutate --ops 'nothing*'
  refuses mutate/none 'nothing*' mutate --rules 'nothing*' --json new.json
  refuses mutate/no-file 'No such file' mutate --rules nothing.rules
  refuses mutate/zero "'0'" mutate --instances 0
  # random graphs, and one in a file, with a rule that goes in circles
  printf 'rule around in stabilize:\n    sigmoid(x) => sqr(sigmoid(-x))\n' >around.rules
  gives fuzz 0 '^gemel fuzz: .* findings: fails 0, unsettled 0, order 0, differs 0, lifted 0 (seed 1, ' fuzz --graphs 50 --evaluate 25
  mkdir found
  gives fuzz/finds 1 "^Again: gemel fuzz --rules 'around.rules' 'found/fails-1-" fuzz --graphs 60 --rules around.rules --replay-dir found
  again=$(sed -n 's/^Again: gemel //p' "$scratch/out" | head -1)
  eval "gives fuzz/again 1 '^fails: rules go in circles .*around' $again"
  gives fuzz/number 1 "^Again: gemel fuzz --rules 'around.rules' --seed 1 --first [0-9]* --graphs 1" fuzz --graphs 60 --rules around.rules
  again=$(sed -n 's/^Again: gemel //p' "$scratch/out" | tail -1)
  eval "gives fuzz/number-again 1 ' findings: fails 1, ' $again"
  # what certified rewriting asked: questions, not more than applications, and those left open
  printf 'graph c(x: f32[3], y: f32[3]) { return z = exp(log(1 + exp(x))) * 1 + (y + 0) * 1 }\n' >certify.gmt
  run "$gemel" opt --certify certify.gmt
  grep -q '^certified: [1-9][0-9]* applications, [0-9]* of them of proved rules, [1-9][0-9]* different questions, 1 of them open (1 agree in samples)$' "$scratch/err" && good opt/certified || wrong opt/certified "no counts"
  run "$gemel" opt certify.gmt
  [ -s "$scratch/err" ] && wrong opt/uncertified "counts without certifying" || good opt/uncertified
  # a rewrite that is refuted: status 1, the whole region, inputs at which both sides differ
  printf 'rule wrong in canonicalize:\n  exp(tanh(x)) * y + z * y + w * y => exp(tanh(x)) * y + z * y - w * y\n' >certify.rules
  printf 'graph c(x: f32[3], y: f32[3], z: f32[3], w: f32[3]) { return r = exp(tanh(x)) * y + z * y + w * y }\n' >certify.gmt
  for command in opt run; do
    before=$(files)
    if [ $command = opt ]; then
      run "$gemel" opt --certify --include wrong --rules certify.rules certify.gmt --out opt.gmt
    else
      run "$gemel" run --certify --include wrong --rules certify.rules certify.gmt --out new -i "x=$w" -i "y=$w" -i "z=$w" -i "w=$w"
    fi
    if [ "$status" != 1 ] || [ -s "$scratch/out" ] || [ "$(files)" != "$before" ]; then
      wrong $command/refuted "exit status $status, not 1; or there is something on stdout; or files have changed"
    elif grep -q '^gemel: certify.gmt:1: rule wrong doesn.t hold here' "$scratch/err" && ! grep -q '^\.\.\.' "$scratch/err" &&
      [ "$(grep -c '^}$' "$scratch/err")" = 2 ] && [ "$(grep -c '^# input [wxyz]: f32.3. = ' "$scratch/err")" = 4 ] &&
      grep -q '^# element [0-2]: before .*, after ' "$scratch/err"; then
      good $command/refuted
    else
      wrong $command/refuted "the report isn't whole"
    fi
  done
  gives fuzz/file 0 '^gemel fuzz: 1 graphs' fuzz f.gmt
  refuses fuzz/folder 'No such file' fuzz --graphs 60 --rules around.rules --replay-dir nowhere/found
  refuses fuzz/new-folder 'no.rules' fuzz --graphs 1 --rules no.rules --replay-dir new
  refuses fuzz/no-folder 'f.gmt: is no folder' fuzz --graphs 60 --replay-dir f.gmt
  refuses fuzz/zero "'0'" fuzz --graphs 0
  refuses fuzz/device "no device 'tpu'" fuzz --graphs 1 --device tpu
  refuses fuzz/no-file 'No such file' fuzz nothing.gmt
  gives models/drawn 0 '^gemel models: 3 models of [0-9]* operators in drawn; [0-9]* sketches were no models (seed 6)$' \
    models drawn --count 3 --first 5 --seed 6 --aim Conv,Pad --opset 13
  [ "$(cd drawn && ls | sed 's/-.*//' | tr '\n' ' ')" = '0005 0006 0007 ' ] && good models/files || wrong models/files "$(ls drawn)"
  refuses models/operator 'did you mean Conv?' models drawn --aim Convv
  refuses models/template 'did you mean conv_norm?' models drawn --template conv_nrm
  refuses models/opset "'6'" models drawn --opset 6
  refuses models/folder 'f.gmt: is no folder' models f.gmt --count 1
  refuses equal/types 'f64[3]' equal f.gmt f64.gmt --json new.json
  refuses equal/names 'loss' equal f.gmt renamed.gmt
  refuses equal/words "'fast'" equal f.gmt f.gmt --allow nsz,fast
  refuses equal/no-file 'No such file' equal f.gmt nothing.gmt
  refuses equal/broken 'broken.gmt:2:' equal f.gmt broken.gmt
  refuses equal/folder 'folder' equal folder f.gmt
  sed 's/return r/return s/; s/x:/u:/' <<'END' >here.gmt
graph here(x: f32[N]) {
  return r = relu(u) * 2:f32
}
END
  printf 'graph there(x: f32[N]) {\n  return r = relu(x) + relu(x)\n}\n' >there.gmt
  printf 'graph other(x: f32[N]) {\n  return r = relu(x) + x\n}\n' >other.gmt
  gives equal/match-place 0 'are the same function' equal there.gmt here.gmt --match place
  gives equal/match-list 0 'are the same function' equal there.gmt here.gmt --match x=u,r=s
  refuses equal/match-slip "'x=q'" equal there.gmt here.gmt --match x=q
  gives equal/tier 0 '^real ' equal there.gmt there.gmt --tier real
  gives equal/tier-alone 0 'there.gmt agree in the tiers that were asked: real (' equal there.gmt there.gmt --tier real
  gives equal/tiers 0 '' equal there.gmt there.gmt --tier real,special --json tiers.json
  grep -q '^{"kind": "whole".*, "tiers": \["real", "special"\], ' tiers.json && good equal/tiers-json || wrong equal/tiers-json "$(tail -1 tiers.json)"
  refuses equal/no-tier "'reel'" equal there.gmt there.gmt --tier reel
  refuses equal/dim '--dim is for a model of ONNX' equal there.gmt here.gmt --dim N=3
  cp there.gmt 'in place.gmt'
  gives opt/in-place 0 '' opt 'in place.gmt' --out 'in place.gmt'
  gives show/format-and-out 0 '' show there.gmt --format dot --out dot
  refuses equal/report-on-input "--json: './there.gmt' is what the command reads" equal there.gmt here.gmt --json ./there.gmt
  refuses equal/reports "--json and --html name one file, 'one'" equal there.gmt here.gmt --json one --html one
  examples=$source/examples
  "$gemel" equal "$examples/square1.gmt" "$examples/square2.gmt" --instances 1000000 --json stopped.json --html stopped.html >"$scratch/out" 2>"$scratch/err" &
  until_so handles_term $!
  kill -TERM $!
  wait $!
  status=$?
  [ $status = 1 ] && grep -q '^{"kind": "whole".*"verdict": "open"' stopped.json && grep -q '</html>' stopped.html && [ -z "$(ls stopped.*.??????  2>/dev/null)" ] &&
    good equal/signal || wrong equal/signal "no reports"
  gives equal/folder-of-difference 1 ' differ ' equal there.gmt other.gmt --counterexample found
  gives equal/folder-first 0 '^r: f32.* is the same, bit for bit$' run found/first
  gives equal/folder-second 0 '^r: f32.* is the same, bit for bit$' run found/second
  cmp -s found/first/outputs.npz found/second/outputs.npz && wrong equal/folder-results "the results are the same" || good equal/folder-results
  gives equal/folder-again 1 ' 1 refuted (seed ' verify --replay found
  refuses equal/folder-taken 'found/first: is there already' equal there.gmt other.gmt --counterexample found
  for side in a b; do
    printf 'graph f(x: bf16[N], y: bf16[N]) {\n  return r = x - y * 2:bf16\n}\n' >bf16-$side.gmt
  done
  sed -i 's/(x: bf16\[N\], y: bf16\[N\])/(y: bf16[N], x: bf16[N])/; s/x - y/y - x/' bf16-b.gmt
  gives equal/folder-of-bf16 1 ' differ ' equal bf16-a.gmt bf16-b.gmt --counterexample bf16
  gives equal/folder-of-bf16-again 1 ' 1 refuted (seed ' verify --replay bf16
  for what in 'x * x' 'x * abs(x)'; do
    printf 'graph f(x: f64[200000*N]) {\n  return y = sum(%s)\n}\n' "$what" >"large-${#what}.gmt"
  done
  gives equal/folder-of-large 1 ' differ ' equal large-5.gmt large-10.gmt --counterexample large --replay-dir large-replays
  gives equal/folder-of-large-again 1 ' 1 refuted (seed ' verify --replay large
  gives equal/replay-of-large 1 ' 1 refuted (seed ' verify --replay large-replays/f-float-1.replay
  refuses equal/folder-is-a-file 'there.gmt' equal there.gmt other.gmt --counterexample there.gmt
  gives equal/threads 0 'are the same function' equal f.gmt equal.gmt --threads 1
  sed 's/, [0-9.]* s)$//' "$scratch/out" >alone
  gives equal/threads-2 0 'are the same function' equal f.gmt equal.gmt --threads 2
  sed 's/, [0-9.]* s)$//' "$scratch/out" | cmp -s - alone && good equal/threads-same || wrong equal/threads-same "two threads say something else than one"
  for side in a b; do
    printf 'graph f(x: f64[11, 12], w: f64[12, 12]) {\n  h = dot(x, w)\n  m = sum(h, axes = [1], keepdims = 1) / 12:f64\n' >long-$side.gmt
  done
  printf '  return y = sqrt(sum(sqr(h - m), axes = [1]) + 0.001:f64)\n}\n' >>long-a.gmt
  printf '  return y = sqrt(sum(h * h, axes = [1]) - sum(h * m, axes = [1]) + 0.001:f64)\n}\n' >>long-b.gmt
  for threads in 1 2; do
    gives equal/seconds-$threads 1 '^special .*not run *stopped after [0-9.]* s$' equal long-a.gmt long-b.gmt --instances 20000 --seconds 0.3 --threads $threads
    grep -q ' were not shown to be the same function (' "$scratch/out" && good equal/seconds-verdict-$threads || wrong equal/seconds-verdict-$threads "no verdict"
    [ -s "$scratch/err" ] && wrong equal/silent-$threads "progress where there is no terminal" || good equal/silent-$threads
  done
  gives equal/seconds-enough 0 'are the same function' equal there.gmt here.gmt --match place --seconds 500.5
  for bad in 0 0.0 -1 nan inf 1e3 2s ''; do
    refuses "equal/seconds '$bad'" "'$bad'" equal there.gmt there.gmt --seconds "$bad"
  done
  for bad in 0 -2 1.5 nan many 257; do
    refuses "equal/threads '$bad'" "'$bad'" equal there.gmt there.gmt --threads "$bad"
  done
  printf 'graph f(x: f64[3]) {\n  return y = where(x * 3:f64 == 1:f64, x + %s:f64, x)\n}\n' 2 >third.gmt
  sed 's/x + 2/x + 1/' third.gmt >other-third.gmt
  gives equal/no-inputs 1 '^no counterexample was written: ' equal third.gmt other-third.gmt --counterexample unwritten
  [ -e unwritten ] && wrong equal/nothing-written "a folder is there" || good equal/nothing-written
  gives equal/examples 0 'are the same function' equal "$source/examples/square1.gmt" "$source/examples/square2.gmt"
  gives verify/leaky 0 ' 0 refuted ' verify --ops "$source/examples/leaky.gmt" --instances 12
else
  skip harness
fi
# ---- Models of ONNX ----

models=/usr/share/libonnx-testdata/data
if [ -d "$models" ]; then
  cp "$models/node/test_relu/model.onnx" relu.onnx
  cp "$models/node/test_abs/model.onnx" abs.onnx
  cp "$models/pytorch-converted/test_Conv2d/model.onnx" conv.onnx
  head -c 50 relu.onnx >cut.onnx
  gives onnx/show 0 '= relu(x)' show relu.onnx
  gives onnx/convert 0 '' convert relu.onnx relu.gmt
  gives onnx/equal-itself 0 'are the same function, bitwise' equal conv.onnx conv.onnx
  gives onnx/equal-graph 0 'are the same function, bitwise' equal relu.onnx relu.gmt
  gives onnx/equal-other 1 'relu.onnx and abs.onnx differ' equal relu.onnx abs.onnx
  [ "$harness" = 0 ] || {
    mkdir scratch
    TMPDIR=$PWD/scratch
    export TMPDIR
    # A result that isn't the model byte for byte: it imports one more set of operators.
    again="{ cat {in}; printf 'B\\005\\012\\001z\\020\\001'; } >{out}"
    # What an optimiser makes of three models: the same, another function, nothing; two can't be read.
    mkdir -p 'some models/below'
    cp relu.onnx abs.onnx 'some models'
    cp conv.onnx 'some models/below/it'"'"'s.onnx'
    cp cut.onnx "some models/cut.onnx"
    optimizer='case {in} in *relu*) cp abs.onnx {out} ;; *abs*) echo no pass >&2; exit 3 ;; *) '"$again"' ;; esac'
    gives campaign/all 1 '^gemel campaign: 4 models, 1 equal, 1 not read, 1 crashed, 1 differs (' \
      campaign 'some models' --optimizer "$optimizer" --json all.json --junit all.xml --html all.html -c wrong --seconds 20
    grep -q '^crashed .* abs.onnx: the optimiser ended with status 3: no pass$' "$scratch/out" &&
      grep -q "^equal .* below/it's.onnx: bitwise\$" "$scratch/out" && grep -q "^differs .* relu.onnx: x = -1 each: y\\[0, 0, 0\\] = 0 becomes 1; first different: Relu 'y', Abs 'y'; see wrong/relu.onnx\$" "$scratch/out" &&
      grep -q '^     1  differs   Relu, Abs: relu.onnx$' "$scratch/out" &&
      good campaign/lines || wrong campaign/lines "lines of models"
    cmp -s wrong/relu.onnx/before.onnx relu.onnx && cmp -s wrong/relu.onnx/after.onnx abs.onnx &&
      [ -s wrong/relu.onnx/input_0.pb ] && [ "$(ls wrong)" = relu.onnx ] &&
      good campaign/counterexample || wrong campaign/counterexample "no models with inputs"
    # A counterexample that can't be written, as a file is in its place or it is there already, costs no verdict.
    mkdir kept
    : >kept/relu.onnx
    for folder in kept wrong; do
      gives campaign/unwritten/$folder 2 '^gemel campaign: 4 models, 1 equal, 1 not read, 1 crashed, 1 differs (' \
        campaign 'some models' --optimizer "$optimizer" --json unwritten.json --junit unwritten.xml -c $folder --seconds 20
      grep -q '^differs .* relu.onnx: x = .*; counterexample not written: ' "$scratch/out" &&
        [ "$(wc -l <unwritten.json)" = 4 ] && grep -q ' failures="2" ' unwritten.xml &&
        good campaign/unwritten/$folder/told || wrong campaign/unwritten/$folder/told "verdicts or reports are lost"
    done
    python3 -c 'import sys, xml.dom.minidom as x; [x.parse(f) for f in sys.argv[1:]]' all.xml &&
      grep -q '<testsuite .*tests="4" failures="2" errors="0" skipped="1"' all.xml &&
      good campaign/junit || wrong campaign/junit "not XML, or other counts"
    python3 -c 'import xml.dom.minidom as x; x.parse("all.html")' && grep -q '^<p class="verdict">Failures</p>$' all.html &&
      grep -q '^<h1>gemel campaign <code>some models</code></h1>$' all.html &&
      grep -q '<b class="tag refuted">1 differs</b> <b class="tag refuted">1 crashed</b> <b class="tag na">1 not read</b> <b class="tag passed">1 equal</b>' all.html &&
      [ "$(sed -n 's/^<tr><td class="\([a-z]*\)" data-key="[0-9]*">.*<td class="name">\([^<]*\)<.*/\1 \2/p' all.html | paste -sd ,)" = \
        "refuted relu.onnx,refuted abs.onnx,na cut.onnx,passed below/it's.onnx" ] &&
      good campaign/html || wrong campaign/html "not XML, or other verdicts, or in another order"
    for k in 1 2 3; do
      "$gemel" campaign 'some models' --optimizer "$optimizer" --seconds 20 --shard $k/3 --json shard-$k.json >"$scratch/out"
    done
    cat shard-?.json | sort | sed 's/, "seconds.*//' >shards
    sort all.json | sed 's/, "folder.*//; s/, "seconds.*//' | cmp -s - shards && [ "$(wc -l <shards)" = 4 ] &&
      good campaign/shards || wrong campaign/shards "three shards aren't the whole"
    for option in '--allow reasoc' '--tier flaot' '--threads 0' '--dim N=x' '--instances 0' '--seed x'; do
      refuses "campaign/$option" "${option%% *}: " campaign 'some models' --optimizer 'cp {in} {out}' $option
    done
    gives campaign/equal 0 ' 1 equal (' campaign 'some models/below' --optimizer "$again"
    gives campaign/unchanged 0 ' 1 unchanged (' campaign 'some models/below' --optimizer 'cp {in} {out}'
    # An optimiser that hangs, one that writes no model, one that writes what gemel doesn't read; links in a circle.
    ln -s . 'some models/below/circle'
    mkfifo 'some models/below/fifo.onnx'
    gives campaign/hangs 1 '^gemel campaign: 1 models, 1 crashed (' campaign 'some models/below' --seconds 0.01 \
      --optimizer 'alarm() { sleep 600; }; alarm; cp {in} {out}'
    grep -q "the optimiser didn't end in time" "$scratch/out" && good campaign/hangs/why || wrong campaign/hangs/why "another reason"
    gives campaign/rubbish 1 ' 1 invalid (' campaign 'some models/below' --optimizer 'echo {in} >{out}'
    gives campaign/folder 1 ' 1 silent (' campaign 'some models/below' --optimizer ': {in}; mkdir {out}; touch {out}/x'
    cp "$models/node/test_nonzero_example/model.onnx" unread.onnx
    gives campaign/unread-result 0 ' 1 open (' campaign 'some models/below' --optimizer ': {in}; cp unread.onnx {out}'
    cp relu.onnx "$(printf 'some models/below/\001\377.onnx')"
    gives campaign/bytes 0 ' 2 unchanged (' campaign 'some models/below' --optimizer "$(printf 'cp {in} {out} #\001\357\277\277\303\251<')" \
      --json bytes.json --junit bytes.xml --html bytes.html
    grep -q "$(printf '{out} #???\303\251&lt;')" bytes.html && good campaign/bytes/html || wrong campaign/bytes/html "other bytes"
    python3 -c 'import json, xml.dom.minidom as x; x.parse("bytes.xml"); print([json.loads(l) for l in open("bytes.json", encoding="utf-8")])' &&
      good campaign/bytes/read || wrong campaign/bytes/read "reports aren't JSON and XML"
    # A signal ends the optimiser too, and what was judged is told.
    (until_so [ -e hangs ]; kill -TERM $(cat campaign.pid)) &
    sh -c 'echo $$ >campaign.pid; exec "$@"' sh "$gemel" campaign 'some models/below' --json stopped.json --html stopped.html \
      --optimizer "case {in} in *it*) : >$PWD/hangs; sleep 600 ;; esac; cp {in} {out}" >"$scratch/out" 2>"$scratch/err"
    [ $? = 2 ] && grep -q '1 models, 1 unchanged, then a signal ended it' "$scratch/out" &&
      grep -q '^<p class="verdict">Nothing wrong, some open</p>$' stopped.html && grep -q 'Then a signal ended the campaign' stopped.html && [ "$(wc -l <stopped.json)" = 1 ] &&
      good campaign/signal || wrong campaign/signal "not told what was judged"
    [ -z "$(ls scratch)" ] && good campaign/scratch || wrong campaign/scratch "its folder is left"
    unset TMPDIR
    # A folder that can't be read, for whoever asks: its path is too long. What else there is is judged.
    long=$(printf '%0250d' 0)
    mkdir closed
    cp relu.onnx closed
    (cd closed && for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do mkdir $long && cd $long || exit; done)
    gives campaign/closed 2 '^gemel campaign: 2 models, 1 unchanged, 1 no access (' campaign closed --optimizer 'cp {in} {out}' --junit closed.xml
    grep -q '^no access .*00: File name too long$' "$scratch/out" && grep -q ' errors="1" ' closed.xml &&
      good campaign/closed/why || wrong campaign/closed/why "not told why"
    rm -r closed
    refuses campaign/no-optimizer "one of --optimizer, --server and --after" campaign 'some models'
    refuses campaign/two-optimizers "one of --optimizer, --server and --after" campaign 'some models' --after wrong --server cat
    refuses campaign/no-pass "{pass} and --passes" campaign 'some models' --optimizer 'cp {in} {out}' --passes 'echo a'
    refuses campaign/no-passes "printed no names" campaign 'some models' --optimizer 'cp {in} {out} {pass}' --passes true
    refuses campaign/no-baseline "all.xml:1: is no record" campaign 'some models' --after wrong --baseline all.xml
    refuses campaign/no-server "status 3" campaign 'some models' --server 'exit 3'
    refuses campaign/no-file "{in} and {out}" campaign 'some models' --optimizer 'true {in}'
    refuses campaign/shard "no K/N" campaign 'some models' --optimizer 'cp {in} {out}' --shard 4/3
    refuses campaign/empty "no models" campaign folder --optimizer 'cp {in} {out}'
    refuses campaign/none "No such file" campaign nowhere --optimizer 'cp {in} {out}'
  }
  refuses onnx/cut "cut.onnx: byte " show cut.onnx
  cp "$models/node/test_nonzero_example/model.onnx" nonzero.onnx
  lacked="gemel doesn't know this operator, of which the model has 1"
  for command in show run grad opt; do
    lacks onnx/lacks/$command "$lacked" $command nonzero.onnx
  done
  lacks onnx/lacks/convert "$lacked" convert nonzero.onnx nonzero.gmt
  gives onnx/lacks/bench 3 '' bench ./nonzero.onnx
  if [ "$harness" != 0 ]; then
    lacks onnx/lacks/fuzz "$lacked" fuzz nonzero.onnx
    lacks onnx/lacks/equal-first "$lacked" equal nonzero.onnx relu.onnx --json lacked.json --junit lacked.xml
    lacks onnx/lacks/equal-second "$lacked" equal relu.onnx nonzero.onnx
    refuses onnx/lacks/equal-cut "cut.onnx: byte " equal cut.onnx nonzero.onnx
    mkdir unread && cp nonzero.onnx unread
    gives onnx/lacks/campaign 0 '^not read .*nonzero.onnx: ' campaign unread --optimizer "$again"
  fi
  refuses onnx/dim-malformed "--dim: 'N' should be NAME=SIZE" show relu.onnx --dim N
  refuses onnx/dim-unknown "no input has a size called N" show relu.onnx --dim N=2
  refuses onnx/missing "none.onnx: No such file" show none.onnx
else
  skip onnx
fi
for shell in bash zsh fish; do
  gives info/completions/$shell 0 '\<replay-dir\>' info --completions $shell
  for command in $commands; do
    grep -q "\<$command\>" "$scratch/out" || wrong info/completions/$shell/$command "no such command"
  done
done
refuses info/completions "'tcsh'" info --completions tcsh
gives info/onnx 0 '^com.microsoft.FusedConv$' info --onnx

for file in "$source"/examples/*.gmt; do
  gives "examples/$(basename "$file")" 0 '^graph ' show "$file"
done

if [ -n "$junit" ] && mkdir -p "$junit"; then
  { echo '<?xml version="1.0" encoding="UTF-8"?>'
    echo "<testsuites><testsuite name=\"command\" tests=\"$((passed + failed + skipped))\" failures=\"$failed\">"
    cat "$scratch/cases"
    echo '</testsuite></testsuites>'; } >"$junit/t-command.xml"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
