# The tiers that judge one instance: integer, float, special, gradient.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/check.c
libgemel_verify_a_SOURCES += %reldir%/constants.c
libgemel_verify_a_SOURCES += %reldir%/execute.c
libgemel_verify_a_SOURCES += %reldir%/gradient.c
libgemel_verify_a_SOURCES += %reldir%/pair.c
libgemel_verify_a_SOURCES += %reldir%/sequence.c
libgemel_verify_a_SOURCES += %reldir%/taylor.c
libgemel_verify_a_SOURCES += %reldir%/taylor.h
libgemel_verify_a_SOURCES += %reldir%/tiers.h
libgemel_verify_a_SOURCES += %reldir%/twofold.c
libgemel_verify_a_SOURCES += %reldir%/ulps.c
libgemel_verify_a_SOURCES += %reldir%/ulps.h
