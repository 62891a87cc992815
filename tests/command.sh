# What a test of the gemel command begins with, sourced: $gemel is the command, the current folder
# an empty one that goes at the end, "fail WORDS" counts a failure, and "finish WORDS" ends the
# test. A build without the harness skips it. SPDX-License-Identifier: MIT
unset GEMEL_FLAGS MAKEFLAGS MAKELEVEL MFLAGS
self=$(basename "$0" .sh)
gemel=$(cd "$(dirname "${GEMEL:-./gemel}")" && pwd)/gemel
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failures=0
fail() {
  echo "$self: $*"
  failures=$((failures + 1))
}
finish() {
  [ $failures = 0 ] && echo "$self: $*"
  exit $((failures != 0))
}
[ "${GEMEL_HAS_HARNESS:-yes}" = yes ] || { echo "$self: built without the harness"; exit 77; }
