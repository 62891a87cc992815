# What one graph gives up of IEEE arithmetic against another.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/beyond.c
libgemel_verify_a_SOURCES += %reldir%/beyond.h
libgemel_verify_a_SOURCES += %reldir%/cut.c
libgemel_verify_a_SOURCES += %reldir%/cut.h
libgemel_verify_a_SOURCES += %reldir%/improve.c
libgemel_verify_a_SOURCES += %reldir%/lengths.c
libgemel_verify_a_SOURCES += %reldir%/measure.h
libgemel_verify_a_SOURCES += %reldir%/needs.c
libgemel_verify_a_SOURCES += %reldir%/needs.h
libgemel_verify_a_SOURCES += %reldir%/rounding.c
libgemel_verify_a_SOURCES += %reldir%/witness.c
EXTRA_DIST += %reldir%/README.md
