#!/bin/sh
# What the command does on a terminal: verdicts in colour, but not where NO_COLOR or TERM=dumb asks
# for none, nor in a pipe; columns are as wide with colours as without. The terminal is made by
# script(1). SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
command -v script >/dev/null 2>&1 || { echo "$self: there is no script(1), so no terminal"; exit 77; }
script -qec true /dev/null </dev/null >terminal 2>&1 || { echo "$self: $(cat terminal)"; exit 77; }
unset NO_COLOR
TERM=xterm
export TERM
escape=$(printf '\033')
red=$escape'\[1;31m' green=$escape'\[32m' yellow=$escape'\[33m' plain=$escape'\[m'

cat >two.rules <<'END'
rule right_one in canonicalize needs nsz: x + 0 => x where float(x)
rule wrong_one in canonicalize: x - y => maximum(x, y) where float(x)
rule never in canonicalize: x + 0 => x where rank(x) < 0
END
# on_terminal FILE COMMAND: what is written to the terminal, without progress.
on_terminal() {
  script -qec "$2" /dev/null </dev/null 2>&1 | tr '\r' '\n' | sed "s/^$escape\[K//" | grep -vE '^gemel verify: (verifying|[0-9]+ % done)' >"$1"
}
verify="'$gemel' verify --rules two.rules --instances 8"
on_terminal coloured "$verify"
grep -q "^right_one  ${green}passed [a-z]*$plain " coloured || fail "passed isn't green"
grep -q "^wrong_one  ${red}REFUTED$plain   " coloured || fail "REFUTED isn't red"
grep -q "^${red}refuted$plain: wrong_one, tier " coloured || fail "refuted isn't red above a counterexample"
grep -q "^never .*${yellow}uninformative$plain" coloured || fail "uninformative isn't yellow"
[ $failures = 0 ] || cat coloured

# no_escapes FILE WHY: no colours, and with that the same table as without a terminal.
eval "$verify" 2>/dev/null | sed 's/, [0-9.]* s)/)/' >piped
same_table() {
  grep -q "$escape\[[0-9;]*m" "$1" && fail "$2: there are colours"
  sed 's/, [0-9.]* s)/)/' "$1" | grep -v '^$' >"$1.text"
  grep -v '^$' piped | diff - "$1.text" >"$1.diff" || { fail "$2: another table than in a pipe"; cat "$1.diff"; }
}
same_table piped "in a pipe"
on_terminal none "NO_COLOR=1 $verify"
same_table none "NO_COLOR=1"
on_terminal dumb "TERM=dumb $verify"
same_table dumb "TERM=dumb"
on_terminal empty "NO_COLOR= $verify"
cmp -s empty coloured || grep -q "$green" empty || fail "an empty NO_COLOR takes the colours away"
# Columns begin where they do without colours.
sed "s/$escape\[[0-9;]*m//g" coloured >bare
same_table bare "without its codes"

printf 'graph f(x: f32[3]) {\n  return y = x + x\n}\n' >a.gmt
printf 'graph f(x: f32[3]) {\n  return y = x * x\n}\n' >b.gmt
on_terminal equal "'$gemel' equal a.gmt a.gmt"
grep -q "^gemel equal: a.gmt and a.gmt ${green}are the same function$plain, bitwise" equal || fail "equal isn't green"
on_terminal differ "'$gemel' equal a.gmt b.gmt"
grep -q "^gemel equal: a.gmt and b.gmt ${red}differ$plain" differ || fail "differ isn't red"
finish "colours on a terminal, none where they are not wanted"
