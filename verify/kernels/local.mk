# A program's own kernel, called in a process of its own.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/case.c
libgemel_verify_a_SOURCES += %reldir%/kernel.c
libgemel_verify_a_SOURCES += %reldir%/kernel.h
libgemel_verify_a_SOURCES += %reldir%/memory.c
libgemel_verify_a_SOURCES += %reldir%/offers.c
libgemel_verify_a_SOURCES += %reldir%/process.c
libgemel_verify_a_SOURCES += %reldir%/series.c
libgemel_verify_a_SOURCES += %reldir%/share.c
libgemel_verify_a_SOURCES += %reldir%/shrink.c
EXTRA_DIST += %reldir%/README.md
