# The rule engine and the procedural passes.
# One file a line, sorted. SPDX-License-Identifier: MIT

