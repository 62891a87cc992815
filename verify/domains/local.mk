# Number systems of the harness: prime-field chains, exact rationals and balls, duals, error bounds.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/bound.c
libgemel_verify_a_SOURCES += %reldir%/bound.h
libgemel_verify_a_SOURCES += %reldir%/domain.h
libgemel_verify_a_SOURCES += %reldir%/ordered-interval.c
libgemel_verify_a_SOURCES += %reldir%/ordered-interval.h
libgemel_verify_a_SOURCES += %reldir%/ordered.c
libgemel_verify_a_SOURCES += %reldir%/ordered.h
libgemel_verify_a_SOURCES += %reldir%/special.c
libgemel_verify_a_SOURCES += %reldir%/special.h
