#!/bin/sh
# Completions of bash, zsh and fish, as each of them finds them in the files that are installed: every
# command, every option of a command's --help, words of the library's tables, files. A shell that isn't
# there is left out. SPDX-License-Identifier: MIT
. "$(dirname "$0")/command.sh"
scripts=${GEMEL_SRCDIR:?the source folder}/tools/completions
case $scripts in /*) ;; *) echo "$self: GEMEL_SRCDIR is no absolute path"; exit 99 ;; esac
PATH=$(dirname "$gemel"):$PATH
export PATH
unset ZDOTDIR
HOME=$dir XDG_CONFIG_HOME=$dir XDG_DATA_HOME=$dir
export HOME XDG_CONFIG_HOME XDG_DATA_HOME
mkdir here && cd here || exit 99
touch model.onnx 'my rules.rules'
tried=

# offers SHELL WANTED WORD...: what the shell completes the last word to has WANTED, a line.
offers() {
  shell=$1 wanted=$2
  shift 2
  "of_$shell" "$@" >"$dir/offered" 2>"$dir/said"
  grep -q -x -F -e "$wanted" "$dir/offered" || { fail "$shell: gemel $*: no $wanted"; head -5 "$dir/offered" "$dir/said"; }
}
# offers_not SHELL UNWANTED WORD...
offers_not() {
  shell=$1 unwanted=$2
  shift 2
  "of_$shell" "$@" >"$dir/offered" 2>"$dir/said"
  ! grep -q -x -F -e "$unwanted" "$dir/offered" || fail "$shell: gemel $*: $unwanted"
}

of_bash() {
  bash --norc -c '. "$0"; COMP_WORDS=(gemel "$@") COMP_CWORD=$#; _gemel; printf "%s\n" "${COMPREPLY[@]}"' "$scripts/gemel" "$@"
}
of_fish() {
  fish --no-config -c "source '$scripts/gemel.fish'; complete -C 'gemel $*'" 2>"$dir/complaints" | cut -f1
  [ ! -s "$dir/complaints" ] || { fail "fish complains"; head -5 "$dir/complaints"; }
}
# What stands on the line when TAB was pressed, or is listed below it, a word a line. It waits for
# $wanted, up to 20 s.
of_zsh() {
  zsh -f -c '
    zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z "PS1=; unset zle_bracketed_paste; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; zstyle \":completion:*\" list-colors \"\"; zstyle \":completion:*\" verbose no; LISTMAX=10000; stty cols 9999 rows 900; echo re\"\"ady"
    zpty -r -m z line "*ready*"
    zpty -w -n z "$2"$'"'\\t\\t'"'; 
    all=
    for ((k = 0; k < 100; k++)); do
      while zpty -r -t z line; do all+=$line; [[ $all = *$3* ]] && k=100; done
      sleep 0.2
    done
    print -r -- $all
    zpty -d z' "$self" "$scripts" "gemel $*" "$wanted" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | tr -s '\r\a =,' '\n'
}

for shell in bash fish zsh; do
  command -v $shell >/dev/null 2>&1 || continue
  tried="$tried $shell"
  offers $shell convert con
  offers $shell --seconds verify --sec
  offers $shell --exclude opt --exc
  offers $shell fast_compile run --mode fast_c
  offers $shell gradient verify --tier grad
  offers $shell reassoc equal --allow reas
  offers $shell softmax verify --ops softm
  offers $shell mul_one verify --rules mul_on
  offers $shell optimizer bench optim
done
# In bash and fish the answer is a list that can be compared: no more and no less.
for shell in bash fish; do
  command -v $shell >/dev/null 2>&1 || continue
  for command in $("$gemel" --help | sed -n 's/^  \([a-z]*\)  .*[.]$/\1/p'); do
    offers $shell "$command" "$(printf '%.3s' "$command")"
    "$gemel" "$command" --help | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p' | sort >"$dir/has"
    "of_$shell" "$command" -- | sort | sed '/^$/d' >"$dir/offered"
    diff "$dir/has" "$dir/offered" >"$dir/said" || { fail "$shell: gemel $command has other options than are offered"; cat "$dir/said"; }
  done
  offers $shell float,special verify --tier float,spe
  offers_not $shell --ops equal --op
  offers_not $shell model.onnx run --threads mod
  offers_not $shell equal equal eq
done
if command -v bash >/dev/null 2>&1; then
  offers bash integer verify --tier = int
  offers bash real verify --tier =
  of_bash run mod >"$dir/offered" 2>&1
  [ ! -s "$dir/offered" ] || [ -z "$(cat "$dir/offered")" ] || fail "bash: words where a file stands"
fi
! command -v fish >/dev/null 2>&1 || offers fish model.onnx run mod
! command -v zsh >/dev/null 2>&1 || offers zsh model.onnx run mod
for shell in bash zsh fish; do
  ! command -v $shell >/dev/null 2>&1 || "$gemel" info --completions $shell | $shell -n || fail "$shell doesn't read its script"
done
"$gemel" info --completions csh >"$dir/offered" 2>"$dir/said"
[ $? = 2 ] && grep -q "is no shell of bash, zsh and fish" "$dir/said" || fail "csh isn't refused"
[ -n "$tried" ] || { echo "$self: no bash, zsh or fish"; exit 77; }
finish "completions of$tried"
