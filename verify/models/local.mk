# Are two sides the same function over the reals? Both models, the solver, the decision.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/compared.c
libgemel_verify_a_SOURCES += %reldir%/compared.h
libgemel_verify_a_SOURCES += %reldir%/drive.c
libgemel_verify_a_SOURCES += %reldir%/model.c
libgemel_verify_a_SOURCES += %reldir%/model.h
libgemel_verify_a_SOURCES += %reldir%/models.h
libgemel_verify_a_SOURCES += %reldir%/sites.c
libgemel_verify_a_SOURCES += %reldir%/sites.h
libgemel_verify_a_SOURCES += %reldir%/solver-check.c
libgemel_verify_a_SOURCES += %reldir%/solver-check.h
libgemel_verify_a_SOURCES += %reldir%/solver.c
libgemel_verify_a_SOURCES += %reldir%/solver.h
libgemel_verify_a_SOURCES += %reldir%/verdict.c
EXTRA_DIST += %reldir%/README.md
