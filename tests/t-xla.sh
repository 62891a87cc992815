#!/bin/sh
# Rules of XLA's simplifier (bench/peers): what bench/results/xla-rules.md says is proved is proved for tensors of one axis, but for
# rules that take long, and what it says is refuted isn't. SPDX-License-Identifier: MIT
bench=$(cd "$(dirname "$0")/../bench" && pwd)
. "$(dirname "$0")/command.sh"

slow='div_of_mask|gt_of_max|mask|narrow_product|mul_scaled_broadcast|convert_there_and_back|max_min_to_clamp|concatenate_of_slices|add_of_update|mask_of_ge|clamp_again|negative_pad'
for file in xla xla-corrected; do
  awk -v slow="^rule (xla|corrected)_($slow) " '
    /^rule / { left_out = $0 ~ slow }
    !left_out { print }' "$bench/peers/$file.rules"
done >asked.rules
"$gemel" verify --proof --ranks 1 --jobs 2 --rules asked.rules --json now >out 2>&1 || { fail "no proofs"; cat out; }

# Of the table: | rule | function | proved | refuted |; of now: {"kind": "rule", "name": RULE, "proof": null or {"elements": …
awk -F'"' '
  FILENAME == ARGV[1] && /^\| (xla|corrected)_/ {
    split($0, cells, / *\| */)
    listed[cells[2]] = cells[4]; refuted[cells[2]] = cells[5] != ""
  }
  FILENAME == ARGV[1] { next }
  {
    rule = $8; proved = $11 !~ /null/; asked++
    if (!(rule in listed)) print rule ": not in the table"
    else if (listed[rule] !~ /^open/ && !proved && !/"why": "no instance up to rank 1"/) print rule ": was proved, and now: " $0
    if (refuted[rule] && proved) print rule ": is refuted, and proved"
    wrong += refuted[rule]
  }
  END { if (asked < 70 || wrong < 6) print asked " rules, " wrong " of them refuted" }' "$bench/results/xla-rules.md" now >bad
[ ! -s bad ] || { fail "other than in the table:"; cat bad; }
finish "$(wc -l <now) rules are proved, or open, as the table says"
