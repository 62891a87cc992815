# Benchmarks, compiled into the gemel command (gemel bench).
# One file a line, sorted. SPDX-License-Identifier: MIT

