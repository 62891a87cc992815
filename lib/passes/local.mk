# The rule engine and the procedural passes.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/compile.c
libgemel_a_SOURCES += %reldir%/facts.c
libgemel_a_SOURCES += %reldir%/facts.h
libgemel_a_SOURCES += %reldir%/functions.c
libgemel_a_SOURCES += %reldir%/functions.def
libgemel_a_SOURCES += %reldir%/functions.h
libgemel_a_SOURCES += %reldir%/names.c
libgemel_a_SOURCES += %reldir%/operators.c
libgemel_a_SOURCES += %reldir%/predicates.c
libgemel_a_SOURCES += %reldir%/rule.h
libgemel_a_SOURCES += %reldir%/suggest.c
libgemel_a_SOURCES += %reldir%/suggest.h
libgemel_a_SOURCES += %reldir%/syntax.c
libgemel_a_SOURCES += %reldir%/syntax.h
libgemel_a_SOURCES += %reldir%/term-attr.c
libgemel_a_SOURCES += %reldir%/term.c
libgemel_a_SOURCES += %reldir%/term.h
