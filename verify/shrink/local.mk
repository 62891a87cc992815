# Shrinking of failing instances.
# One file a line, sorted. SPDX-License-Identifier: MIT

