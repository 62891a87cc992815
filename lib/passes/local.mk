# The rule engine and the procedural passes.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/compile.c
libgemel_a_SOURCES += %reldir%/names.c
libgemel_a_SOURCES += %reldir%/rule.h
libgemel_a_SOURCES += %reldir%/syntax.c
libgemel_a_SOURCES += %reldir%/syntax.h
libgemel_a_SOURCES += %reldir%/term.h
