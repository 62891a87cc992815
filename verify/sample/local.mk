# Random types, tensors, graphs and operands.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/aims.h
libgemel_verify_a_SOURCES += %reldir%/draft.c
libgemel_verify_a_SOURCES += %reldir%/draft.h
libgemel_verify_a_SOURCES += %reldir%/generate-loops.c
libgemel_verify_a_SOURCES += %reldir%/generate-pulls.c
libgemel_verify_a_SOURCES += %reldir%/generate-pushes.c
libgemel_verify_a_SOURCES += %reldir%/generators.c
libgemel_verify_a_SOURCES += %reldir%/generators.h
libgemel_verify_a_SOURCES += %reldir%/inverse.c
libgemel_verify_a_SOURCES += %reldir%/inverse.h
libgemel_verify_a_SOURCES += %reldir%/ordinal.c
libgemel_verify_a_SOURCES += %reldir%/ordinal.h
libgemel_verify_a_SOURCES += %reldir%/points.c
libgemel_verify_a_SOURCES += %reldir%/points.h
libgemel_verify_a_SOURCES += %reldir%/propose-blocks.c
libgemel_verify_a_SOURCES += %reldir%/propose-conv.c
libgemel_verify_a_SOURCES += %reldir%/propose-dot.c
libgemel_verify_a_SOURCES += %reldir%/propose-elementwise.c
libgemel_verify_a_SOURCES += %reldir%/propose-index.c
libgemel_verify_a_SOURCES += %reldir%/propose-pool.c
libgemel_verify_a_SOURCES += %reldir%/propose-random.c
libgemel_verify_a_SOURCES += %reldir%/propose-reduce.c
libgemel_verify_a_SOURCES += %reldir%/propose-shape.c
libgemel_verify_a_SOURCES += %reldir%/propose-solve.c
libgemel_verify_a_SOURCES += %reldir%/propose-take.c
libgemel_verify_a_SOURCES += %reldir%/propose.h
libgemel_verify_a_SOURCES += %reldir%/symbolize.c
libgemel_verify_a_SOURCES += %reldir%/symbolize.h
