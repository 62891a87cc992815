# The harness itself: tiers and verdicts.
# One file a line, sorted. SPDX-License-Identifier: MIT

