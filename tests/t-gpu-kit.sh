#!/bin/sh
# gpu/kit/run with stubs in the programs' places, each of which can fail in every way that a program on a GPU does: the
# summary names the step, and the exit status is 1. Needs no GPU. SPDX-License-Identifier: MIT
command -v python3 >/dev/null || { echo "t-gpu-kit: there is no python3"; exit 77; }
source=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 99
failures=0
fail() {
  echo "t-gpu-kit: $*"
  failures=$((failures + 1))
}

# One stub with many names. It is in a step, and if that is one of $BAD it does $HOW, of three tests in the second.
mkdir -p build/tests path python
cat >stub <<'END'
#!/bin/sh
fault() {
  case $HOW in
  status) echo "a wrong result" ;;
  killed) kill -9 $$ ;;
  hangs) sleep 100 ;;
  lost) echo "CUDA says an illegal memory access was encountered (700)" ;;
  slow) return ;;
  esac
  echo "[  FAILED  ] stub.two (0 ms)"
  exit 1
}
is_bad() { case " $BAD " in *" $step "*) ;; *) false ;; esac; }
all="$* "
case $0 in
*/compute-sanitizer)
  while [ "$1" != --tool ]; do shift; done
  step=$2
  shift 2
  echo "$*" >>"$SANITIZED"
  ! is_bad || fault
  exec "$@"
  ;;
*/ncu) step=profile ;;
*/t-cuda-on-gpu) step=catalogue ;;
*/t-cuda-conv-on-gpu) step=convolutions ;;
*/t-cuda-*) step=${0##*/t-cuda-} step=${step%-on-gpu} ;;
*/t-gpu-*) step=examples ;;
*) case $all in verify*) step=verify ;; *"bench gpu "*) step=bench ;; *probe.gmt*) step=probe ;; *) step=peers ;; esac ;;
esac
case $0 in
*/t-*)
  case $all in
  *--gtest_list_tests*) [ "$HOW" != none ] || { echo "there is no GPU" >&2; exit 77; }
    printf 'stub.\n  one\n  two\n  three\n'
    exit ;;
  *'*'* | " ") all="one two three" ;;
  esac
  [ "$HOW" != slow ] || sleep 1
  for test in one two three; do
    case $all in *$test*) ;; *) continue ;; esac
    echo "[ RUN      ] stub.$test"
    [ $test != two ] || ! is_bad || fault
    echo "[       OK ] stub.$test (0 ms)"
  done
  exit ;;
esac
is_bad && [ "$HOW" != refuted ] && fault
file=${all##*--json } file=${file%% *}
[ "$file" != - ] || file=/dev/stdout
[ "$file" = "$all" ] && exit
case $step in
verify) verdict=passed
  ! is_bad || verdict=refuted
  echo "{\"name\": \"neg.x\", \"tier\": \"float\", \"verdict\": \"$verdict\", \"detail\": \"wrong\"}" >>"$file" ;;
*) echo '{"suite": "gpu", "case": "neg f32", "metric": "call", "value": 1e-05, "unit": "s"}' >>"$file" ;;
esac
END
chmod +x stub
for name in gemel-cuda tests/t-cuda-on-gpu tests/t-cuda-conv-on-gpu tests/t-cuda-lifted-on-gpu tests/t-cuda-scan-on-gpu \
  tests/t-cuda-solve-on-gpu tests/t-gpu-examples-on-gpu; do
  ln -s "$scratch/stub" "build/$name"
done
ln -s "$scratch/stub" path/ncu
ln -s "$scratch/stub" path/compute-sanitizer
echo 'raise ImportError("no PyTorch for this test")' >python/torch.py
export PATH="$scratch/path:$PATH" PYTHONPATH="$scratch/python" SANITIZED="$scratch/sanitized"

# run OUT STATUS OPTION...: the runner ends with STATUS.
run() {
  out=$1 status=$2
  shift 2
  python3 "$source/gpu/kit/run" --programs build:build/tests --out "$out" "$@" >"$out.log" 2>&1
  found=$?
  [ $found -eq "$status" ] || { fail "$out: status $found, not $status"; tail -n 20 "$out.log"; }
}
# says OUT KEY [WORD]...: the list of KEY in the summary has names that begin with each WORD; without any, it has none.
says() {
  python3 - "$@" <<'END' || { fail "$*: not so"; cat "$1.log"; }
import json, sys
out, key, *words = sys.argv[1:]
names = json.load(open(out + "/summary.json"))[key]
sys.exit(not (all(any(name.startswith(word) for name in names) for word in words) if words else not names))
END
}

run well 0
says well failed
says well "not done"
for step in probe catalogue verify lifted scan solve examples convolutions bench peers memcheck racecheck "profile of neg"; do
  grep -q "^PASS: $step" well.log || fail "no step $step"
done

# broken OUT HOW STEPS OPTION...: with that fault in STEPS each is named.
broken() {
  out=$1 how=$2 steps=$3
  shift 3
  BAD=$steps HOW=$how run "$out" 1 "$@"
  says "$out" failed $steps
  [ $failures -eq 0 ] || touch "failed-$out"
}
steps="catalogue verify lifted scan solve examples convolutions peers memcheck racecheck" figures="bench profile"
broken status status "$steps" & # of figures 1 says that a target was missed
broken killed killed "$steps $figures" &
broken lost lost "$steps $figures" &
broken refuted refuted verify --only verify &
for how in status killed lost; do
  broken probe-$how $how probe &
done
wait
for step in probe $steps $figures; do
  broken "$step-hangs" hangs "$step" --only "$step*" --patience 0.0125 &
done
wait
set -- failed-*
[ ! -e "$1" ] || fail "$*"

# Behind a test that ended the program, the others are run, and that test alone under the sanitizer.
for out in killed lost lifted-hangs; do
  grep -q "^PASS: lifted, round 2" $out.log || fail "$out: the rest isn't run"
  grep -q "^FAIL: lifted: stub.two" $out.log || fail "$out: no test is run alone"
done
grep -q "t-cuda-lifted-on-gpu --gtest_filter=stub.two" sanitized || fail "the test alone isn't under the sanitizer"

HOW=slow run late 1 --budget 3 --patience 0.1
says late "not done" peers
HOW=none run none 77
[ "$(cat none.log)" = "there is no GPU" ] || fail "without a GPU: $(cat none.log)"

# make gpu-check does the same.
(cd build && GEMEL_SRCDIR=$source BAD=scan HOW=status sh "$source/tests/gpu-check" >../check.log 2>&1)
[ $? -eq 1 ] || fail "gpu-check doesn't fail"
grep -q "^gpu-check: .*1 failed: scan;" check.log || { fail "gpu-check doesn't say what failed"; cat check.log; }
grep -q "^neg f32  *10.00" check.log || fail "gpu-check prints no figures"

[ $failures -eq 0 ] && echo "t-gpu-kit: each step can fail"
exit $((failures > 0))
