#!/bin/sh
# Faults that are patches.
# Each patch of tests/faults is applied to a copy of the files that it names; these are compiled as
# the build at hand compiles them, but without optimisation, and linked in front of the library. The
# command that this makes must refute what the patch's second line names, for the seeds 1 to
# GEMEL_FAULT_SEEDS (2); without a patch nothing may. Environment as `make check` sets it: GEMEL,
# GEMEL_SRCDIR. With arguments, only the patches of these names. SPDX-License-Identifier: MIT
[ -z "${GEMEL_QUICK:-}" ] || { echo "t-planted: takes a minute, and GEMEL_QUICK is set"; exit 77; }
source=$(cd "${GEMEL_SRCDIR:?the source folder}" && pwd)
. "$(dirname "$0")/command.sh"
build=$(dirname "$gemel")
command -v patch >/dev/null || { echo "t-planted: there is no patch: install the Debian package patch"; exit 77; }

cat >show.mk <<'MAKE'
$(info $(CC) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(libgemel_a_CPPFLAGS) $(CPPFLAGS) $(libgemel_a_CFLAGS) $(AM_CFLAGS) $(CFLAGS))
$(info $(CCLD) $(AM_CFLAGS) $(CFLAGS) $(gemel_LDFLAGS) $(LDFLAGS))
$(info $(gemel_OBJECTS) $(gemel_LDADD) $(LIBS))
show: ;
MAKE
make -s -C "$build" --no-print-directory -f Makefile -f "$dir/show.mk" show >flags 2>errors || { cat errors; exit 99; }
compile=$(sed -n 1p flags) link=$(sed -n 2p flags) rest=$(sed -n 3p flags)

# made NAME: ./planted is the command with the patch of that name.
made() {
  rm -rf "$dir/lib" "$dir/planted"
  objects=
  for file in $(sed -n 's|^+++ b/||p' "$source/tests/faults/$1.patch"); do
    mkdir -p "$(dirname "$dir/$file")"
    cp "$source/$file" "$dir/$file" && chmod u+w "$dir/$file"
  done
  patch -p1 -s <"$source/tests/faults/$1.patch" || return 1
  for file in $(find lib -name '*.c'); do
    objects="$objects $dir/$file.o"
    (cd "$build" && eval "$compile -O0 -I$dir/lib -I$source/$(dirname "$file") -c -o $dir/$file.o $dir/$file") || return 1
  done
  (cd "$build" && eval "$link -o $dir/planted $objects $rest")
}

patches=0 passed=
for name in ${*:-$(cd "$source/tests/faults" && ls *.patch | sed 's/\.patch$//')}; do
  what=$(sed -n 's/^verify: //p' "$source/tests/faults/$name.patch")
  case $what in --*) ;; *) fail "$name: the second line says nothing to verify"; continue ;; esac
  if ! made "$name" >log 2>&1; then
    tail -20 log
    fail "$name: the patch doesn't apply, or what it makes doesn't build"
    continue
  fi
  seed=0
  while [ $((seed += 1)) -le "${GEMEL_FAULT_SEEDS:-2}" ]; do
    ./planted verify $what --seed $seed >out 2>&1
    [ $? = 1 ] && grep -q '^refuted: ' out || { tail -5 out; fail "$name: not refuted by $what, seed $seed"; }
  done
  case $passed in *"|$what|"*) ;; *)
    "$gemel" verify $what --instances 8 >out 2>&1 || { tail -5 out; fail "$what doesn't pass without a fault"; }
    passed="$passed|$what|" ;;
  esac
  patches=$((patches + 1))
done
finish "$patches patches refuted"
