#!/bin/sh
# The composites of <gemel/nn.h> in the harness's five tiers, on the host and as GPU code on the CPU: each stands in
# nn.gmt. SPDX-License-Identifier: MIT
tests=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/command.sh"
awk '/^# / { said = 1; next } /^composite / && said { sub(/^composite /, ""); sub(/\(.*/, ""); print } { said = 0 }' \
  "$tests/../lib/composites/numpy.composites" >composites
[ "$(wc -l <composites)" -ge 23 ] || fail "composites are not found"
while read -r name; do
  grep -q "^operation try_$name\(_[a-z]*\)\?(.*\b$name(" "$tests/nn.gmt" || fail "nn.gmt has no operation for $name"
done <composites
cp "$tests/nn.gmt" .
"$gemel" verify --ops ./nn.gmt --instances 24 >out 2>&1 || { fail "a composite is refuted, or nothing is known of it"; grep -v 'n/a' out; }
if "$gemel" verify --device abacus --ops neg 2>&1 | grep -q 'knows.* sim'; then
  "$gemel" verify --ops ./nn.gmt --instances 4 --device sim >out 2>&1 || { fail "a composite is refuted on sim"; grep -v 'n/a' out; }
fi
finish "$(wc -l <composites) composites pass in all tiers"
