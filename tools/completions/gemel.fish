# What can be completed is asked of the command itself. SPDX-License-Identifier: MIT
gemel info --completions fish 2>/dev/null | source
