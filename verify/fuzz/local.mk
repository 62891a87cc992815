# `gemel fuzz`: random graphs through the rewriter.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/fuzz.c
libgemel_verify_a_SOURCES += %reldir%/fuzz.h
libgemel_verify_a_SOURCES += %reldir%/lifted.c
libgemel_verify_a_SOURCES += %reldir%/random-graph.c
libgemel_verify_a_SOURCES += %reldir%/random-graph.h
libgemel_verify_a_SOURCES += %reldir%/shrink.c
EXTRA_DIST += %reldir%/README.md
