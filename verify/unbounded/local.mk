# Proofs that rules hold for all sizes.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/ask.c
libgemel_verify_a_SOURCES += %reldir%/ask.h
libgemel_verify_a_SOURCES += %reldir%/attribute.c
libgemel_verify_a_SOURCES += %reldir%/attribute.h
libgemel_verify_a_SOURCES += %reldir%/axes-bound.c
libgemel_verify_a_SOURCES += %reldir%/axes-conditions.c
libgemel_verify_a_SOURCES += %reldir%/axes-terms.c
libgemel_verify_a_SOURCES += %reldir%/axes-typing.h
libgemel_verify_a_SOURCES += %reldir%/axes.c
libgemel_verify_a_SOURCES += %reldir%/axes.h
libgemel_verify_a_SOURCES += %reldir%/equal.c
libgemel_verify_a_SOURCES += %reldir%/equal.h
libgemel_verify_a_SOURCES += %reldir%/extremes.c
libgemel_verify_a_SOURCES += %reldir%/folds.c
libgemel_verify_a_SOURCES += %reldir%/lists.c
libgemel_verify_a_SOURCES += %reldir%/parts.c
libgemel_verify_a_SOURCES += %reldir%/parts.h
libgemel_verify_a_SOURCES += %reldir%/prove.c
libgemel_verify_a_SOURCES += %reldir%/pull.c
libgemel_verify_a_SOURCES += %reldir%/pull.h
libgemel_verify_a_SOURCES += %reldir%/record.c
libgemel_verify_a_SOURCES += %reldir%/record.h
libgemel_verify_a_SOURCES += %reldir%/scene.c
libgemel_verify_a_SOURCES += %reldir%/scene.h
libgemel_verify_a_SOURCES += %reldir%/sides.c
libgemel_verify_a_SOURCES += %reldir%/sums.c
libgemel_verify_a_SOURCES += %reldir%/term.c
libgemel_verify_a_SOURCES += %reldir%/term.h
libgemel_verify_a_SOURCES += %reldir%/unbounded.c
libgemel_verify_a_SOURCES += %reldir%/unbounded.h
