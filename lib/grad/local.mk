# Reverse and forward mode.
# One file a line, sorted. SPDX-License-Identifier: MIT

