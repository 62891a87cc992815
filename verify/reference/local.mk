# One obvious implementation of each operation, generic over the domain.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/along.c
libgemel_verify_a_SOURCES += %reldir%/bits.c
libgemel_verify_a_SOURCES += %reldir%/common.c
libgemel_verify_a_SOURCES += %reldir%/common.h
libgemel_verify_a_SOURCES += %reldir%/conv.c
libgemel_verify_a_SOURCES += %reldir%/element.c
libgemel_verify_a_SOURCES += %reldir%/graph.c
libgemel_verify_a_SOURCES += %reldir%/index.c
libgemel_verify_a_SOURCES += %reldir%/invoke.c
libgemel_verify_a_SOURCES += %reldir%/linalg.c
libgemel_verify_a_SOURCES += %reldir%/own.c
libgemel_verify_a_SOURCES += %reldir%/own.h
libgemel_verify_a_SOURCES += %reldir%/pool.c
libgemel_verify_a_SOURCES += %reldir%/random.c
libgemel_verify_a_SOURCES += %reldir%/reduce.c
libgemel_verify_a_SOURCES += %reldir%/reference.h
libgemel_verify_a_SOURCES += %reldir%/rtensor.c
libgemel_verify_a_SOURCES += %reldir%/scalar.c
libgemel_verify_a_SOURCES += %reldir%/scalar.def
libgemel_verify_a_SOURCES += %reldir%/scan.c
libgemel_verify_a_SOURCES += %reldir%/search.c
libgemel_verify_a_SOURCES += %reldir%/shape.c
libgemel_verify_a_SOURCES += %reldir%/softmax.c
libgemel_verify_a_SOURCES += %reldir%/solve.c
libgemel_verify_a_SOURCES += %reldir%/source.c
libgemel_verify_a_SOURCES += %reldir%/take.c
libgemel_verify_a_SOURCES += %reldir%/twin.c
libgemel_verify_a_SOURCES += %reldir%/twin.h
libgemel_verify_a_SOURCES += %reldir%/transfer.c
libgemel_verify_a_SOURCES += %reldir%/unknown.c
EXTRA_DIST += %reldir%/README.md
