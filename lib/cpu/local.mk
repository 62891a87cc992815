# Engines that families share: tiles, threads, bindings to GEMM and oneDNN.
# One file a line, sorted. SPDX-License-Identifier: MIT

