# Number systems of the harness: prime-field chains, exact rationals and balls, duals, error bounds.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/arb.h
libgemel_verify_a_SOURCES += %reldir%/bound-element.h
libgemel_verify_a_SOURCES += %reldir%/bound-loose.c
libgemel_verify_a_SOURCES += %reldir%/bound-loose.h
libgemel_verify_a_SOURCES += %reldir%/bound-verdict.c
libgemel_verify_a_SOURCES += %reldir%/bound.c
libgemel_verify_a_SOURCES += %reldir%/bound.h
libgemel_verify_a_SOURCES += %reldir%/chain-log.c
libgemel_verify_a_SOURCES += %reldir%/chain.c
libgemel_verify_a_SOURCES += %reldir%/chain.h
libgemel_verify_a_SOURCES += %reldir%/domain.c
libgemel_verify_a_SOURCES += %reldir%/domain.h
libgemel_verify_a_SOURCES += %reldir%/dual.c
libgemel_verify_a_SOURCES += %reldir%/dual.h
libgemel_verify_a_SOURCES += %reldir%/field-element.c
libgemel_verify_a_SOURCES += %reldir%/field-element.h
libgemel_verify_a_SOURCES += %reldir%/field-function.c
libgemel_verify_a_SOURCES += %reldir%/field.c
libgemel_verify_a_SOURCES += %reldir%/field.h
libgemel_verify_a_SOURCES += %reldir%/functions.c
libgemel_verify_a_SOURCES += %reldir%/functions.def
libgemel_verify_a_SOURCES += %reldir%/functions.h
libgemel_verify_a_SOURCES += %reldir%/machine.c
libgemel_verify_a_SOURCES += %reldir%/machine.h
libgemel_verify_a_SOURCES += %reldir%/ordered-interval.c
libgemel_verify_a_SOURCES += %reldir%/ordered-interval.h
libgemel_verify_a_SOURCES += %reldir%/ordered.c
libgemel_verify_a_SOURCES += %reldir%/ordered.h
libgemel_verify_a_SOURCES += %reldir%/special.c
libgemel_verify_a_SOURCES += %reldir%/special.h
libgemel_verify_a_SOURCES += %reldir%/symbolic.c
libgemel_verify_a_SOURCES += %reldir%/symbolic.h
libgemel_verify_a_SOURCES += %reldir%/formula.c
libgemel_verify_a_SOURCES += %reldir%/formula.h
EXTRA_DIST += %reldir%/README.md
