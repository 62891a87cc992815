# Arena, status, dtypes, dims, types, tensors, the graph, interning.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/version.c
libgemel_a_SOURCES += %reldir%/alloc.h
libgemel_a_SOURCES += %reldir%/arena.h
libgemel_a_SOURCES += %reldir%/context.h
libgemel_a_SOURCES += %reldir%/dtype.c
libgemel_a_SOURCES += %reldir%/dtype.h
libgemel_a_SOURCES += %reldir%/error.h
libgemel_a_SOURCES += %reldir%/graph.h
libgemel_a_SOURCES += %reldir%/tensor.c
libgemel_a_SOURCES += %reldir%/tensor.h
