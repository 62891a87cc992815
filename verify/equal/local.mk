# `gemel equal`: the question about two graphs, divided and answered.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/asked.c
libgemel_verify_a_SOURCES += %reldir%/asked.h
libgemel_verify_a_SOURCES += %reldir%/candidates.c
libgemel_verify_a_SOURCES += %reldir%/candidates.h
libgemel_verify_a_SOURCES += %reldir%/closed.c
libgemel_verify_a_SOURCES += %reldir%/closed.h
libgemel_verify_a_SOURCES += %reldir%/constants.c
libgemel_verify_a_SOURCES += %reldir%/constants.h
libgemel_verify_a_SOURCES += %reldir%/equal.c
libgemel_verify_a_SOURCES += %reldir%/equal.h
libgemel_verify_a_SOURCES += %reldir%/gathered.c
libgemel_verify_a_SOURCES += %reldir%/gathered.h
libgemel_verify_a_SOURCES += %reldir%/general.c
libgemel_verify_a_SOURCES += %reldir%/general.h
libgemel_verify_a_SOURCES += %reldir%/elements.c
libgemel_verify_a_SOURCES += %reldir%/elements.h
libgemel_verify_a_SOURCES += %reldir%/offer-values.c
libgemel_verify_a_SOURCES += %reldir%/offer-values.h
libgemel_verify_a_SOURCES += %reldir%/signs.c
libgemel_verify_a_SOURCES += %reldir%/signs.h
libgemel_verify_a_SOURCES += %reldir%/small.c
libgemel_verify_a_SOURCES += %reldir%/small.h
libgemel_verify_a_SOURCES += %reldir%/loops.c
libgemel_verify_a_SOURCES += %reldir%/loops.h
libgemel_verify_a_SOURCES += %reldir%/offers-form.h
libgemel_verify_a_SOURCES += %reldir%/offers-linear.c
libgemel_verify_a_SOURCES += %reldir%/offers.c
libgemel_verify_a_SOURCES += %reldir%/offers.h
libgemel_verify_a_SOURCES += %reldir%/parts.c
libgemel_verify_a_SOURCES += %reldir%/question.c
libgemel_verify_a_SOURCES += %reldir%/question.h
libgemel_verify_a_SOURCES += %reldir%/real.c
libgemel_verify_a_SOURCES += %reldir%/replay.c
EXTRA_DIST += %reldir%/README.md
