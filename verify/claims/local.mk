# Claims of the prover, checked before they are told.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/check.c
libgemel_verify_a_SOURCES += %reldir%/check.h
libgemel_verify_a_SOURCES += %reldir%/draw.c
libgemel_verify_a_SOURCES += %reldir%/draw.h
libgemel_verify_a_SOURCES += %reldir%/left.c
libgemel_verify_a_SOURCES += %reldir%/left.h
libgemel_verify_a_SOURCES += %reldir%/prove.c
libgemel_verify_a_SOURCES += %reldir%/right.c
libgemel_verify_a_SOURCES += %reldir%/right.h
libgemel_verify_a_SOURCES += %reldir%/scope.c
libgemel_verify_a_SOURCES += %reldir%/scope.h
libgemel_verify_a_SOURCES += %reldir%/symbols.c
libgemel_verify_a_SOURCES += %reldir%/symbols.h
