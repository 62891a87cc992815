# Tables, JSON lines, counterexamples in folders.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/report.c
libgemel_verify_a_SOURCES += %reldir%/report.h
libgemel_verify_a_SOURCES += %reldir%/saved.c
libgemel_verify_a_SOURCES += %reldir%/saved.h
