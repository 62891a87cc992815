# Arena, status, dtypes, dims, types, tensors, the graph, interning.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/version.c
