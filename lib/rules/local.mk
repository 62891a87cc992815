# Declarative rewrites.
# One file a line, sorted. SPDX-License-Identifier: MIT

