# Arena, status, dtypes, dims, types, tensors, the graph, interning.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/alloc.c
libgemel_a_SOURCES += %reldir%/alloc.h
libgemel_a_SOURCES += %reldir%/apply.c
libgemel_a_SOURCES += %reldir%/apply.h
libgemel_a_SOURCES += %reldir%/arena.c
libgemel_a_SOURCES += %reldir%/arena.h
libgemel_a_SOURCES += %reldir%/attrs.c
libgemel_a_SOURCES += %reldir%/attrs.h
libgemel_a_SOURCES += %reldir%/check.c
libgemel_a_SOURCES += %reldir%/cons.c
libgemel_a_SOURCES += %reldir%/cons.h
libgemel_a_SOURCES += %reldir%/context.c
libgemel_a_SOURCES += %reldir%/context.h
libgemel_a_SOURCES += %reldir%/dtype.c
libgemel_a_SOURCES += %reldir%/dtype.h
libgemel_a_SOURCES += %reldir%/error.c
libgemel_a_SOURCES += %reldir%/error.h
libgemel_a_SOURCES += %reldir%/freeze.c
libgemel_a_SOURCES += %reldir%/graph.c
libgemel_a_SOURCES += %reldir%/graph.h
libgemel_a_SOURCES += %reldir%/intern.c
libgemel_a_SOURCES += %reldir%/intern.h
libgemel_a_SOURCES += %reldir%/lift.c
libgemel_a_SOURCES += %reldir%/lift.h
libgemel_a_SOURCES += %reldir%/registry.c
libgemel_a_SOURCES += %reldir%/registry.h
libgemel_a_SOURCES += %reldir%/tensor.c
libgemel_a_SOURCES += %reldir%/tensor.h
libgemel_a_SOURCES += %reldir%/types.c
libgemel_a_SOURCES += %reldir%/version.c
libgemel_a_SOURCES += %reldir%/dims-normal.c
libgemel_a_SOURCES += %reldir%/dims-text.c
libgemel_a_SOURCES += %reldir%/dims-walk.c
libgemel_a_SOURCES += %reldir%/dims.c
libgemel_a_SOURCES += %reldir%/dims.h
