#!/bin/sh
# Whatever a rule is refuted for, what is printed is a counterexample of at most 12 lines and a
# command, and the command, as it is printed, refutes the rule again. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"

# repeated NAME: runs the command behind "repeat:" in NAME.out, in the place of which "gemel" is.
repeated() {
  command=$(sed -n 's/^  repeat: gemel //p' "$1.out" | head -1)
  [ -n "$command" ] || { fail "$1: no command"; return; }
  eval "'$gemel' $command" >"$1.again" 2>&1
  [ $? = 1 ] || fail "$1: gemel $command doesn't refute"
  grep -q '^refuted: ' "$1.again" || fail "$1: gemel $command refutes something else"
}

# refuted NAME TIER WHY RULE [OPTION...]: with and without a folder for replays.
refuted() {
  name=$1 tier=$2 why=$3
  printf 'rule %s in canonicalize%s\n' "$name" "$4" >"$name.rules"
  shift 4
  for folder in '' "--replay-dir replays"; do
    # shellcheck disable=SC2086 # the folder is two words or none
    "$gemel" verify --rules "$name.rules" --instances 48 $folder "$@" >"$name.out" 2>&1
    [ $? = 1 ] || fail "$name: the exit status is not 1"
    grep -q "^refuted: $name, tier $tier: .*$why" "$name.out" || { fail "$name: not for '$why'"; cat "$name.out"; }
    lines=$(sed -n '/^refuted: /,/^  repeat: /s/^    //p' "$name.out" | wc -l)
    { [ "$lines" -ge 1 ] && [ "$lines" -le 12 ]; } || fail "$name: a counterexample of $lines lines"
    repeated "$name"
  done
}

refuted constant real '' ': x + 1 => x + 2 where float(x)'
refuted domain real '' ' needs afn, nsz, ninf: exp(log(x)) => x'
refuted bits integer 'each bit counts' ': abs(x - y) => x - y where signed(x) and signed(y)'
refuted engine_type real 'the engine refuses' ': sum(x) => x'
refuted engine_shape real 'the engine refuses' ': dimshuffle(x, order = [1, 0]) => x'
refuted engine_circle real 'the engine refuses' ': (x + y) + z => x + (y + z) where float(x)'
refuted undeclared special 'gives up nsz' ': x + 0 => x where float(x)'
refuted infinite special 'gives up' ' needs nsz: x * 0 => 0 where float(x) and scalar(x)'
refuted rounding special 'gives up' ': x / y / z => x / (y * z) where float(x) and float(y) and float(z)'

# overstated NAME WORD RULE: the rule is no wrong one, but its `needs` say too much
overstated()
{
  printf 'rule %s in canonicalize%s\n' "$1" "$3" >"$1.rules"
  "$gemel" verify --rules "$1.rules" --instances 48 >"$1.out" 2>&1
  [ $? = 1 ] || fail "$1: the exit status is not 1"
  grep -q "^overstated: $1, tier special: $2 is declared and nothing shows it" "$1.out" || { fail "$1: not overstated"; cat "$1.out"; }
  grep -q '1 overstated, 0 refuted' "$1.out" || fail "$1: not counted"
}

overstated idle nsz ' needs nsz: x * 1 => x'
overstated idle_rounding reassoc ' needs reassoc: -(-x) => x where float(x)'
overstated idle_improves improves ' needs improves: -(-x) => x'

finish "all kinds of refutations are repeated"
