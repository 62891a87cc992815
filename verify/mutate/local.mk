# `gemel mutate`: wrong variants of rules and rows.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/mutate.c
libgemel_verify_a_SOURCES += %reldir%/mutate.def
libgemel_verify_a_SOURCES += %reldir%/mutate.h
libgemel_verify_a_SOURCES += %reldir%/row.c
libgemel_verify_a_SOURCES += %reldir%/rule.c
libgemel_verify_a_SOURCES += %reldir%/text.c
libgemel_verify_a_SOURCES += %reldir%/text.h
EXTRA_DIST += %reldir%/README.md
