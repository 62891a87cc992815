# The rule engine and the procedural passes.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/bodies.c
libgemel_a_SOURCES += %reldir%/builtin.h
libgemel_a_SOURCES += %reldir%/compile.c
libgemel_a_SOURCES += %reldir%/engine.c
libgemel_a_SOURCES += %reldir%/engine.h
libgemel_a_SOURCES += %reldir%/facts.c
libgemel_a_SOURCES += %reldir%/facts.h
libgemel_a_SOURCES += %reldir%/fold.c
libgemel_a_SOURCES += %reldir%/functions.c
libgemel_a_SOURCES += %reldir%/functions.def
libgemel_a_SOURCES += %reldir%/functions.h
libgemel_a_SOURCES += %reldir%/match.c
libgemel_a_SOURCES += %reldir%/match.h
libgemel_a_SOURCES += %reldir%/names.c
libgemel_a_SOURCES += %reldir%/operators.c
libgemel_a_SOURCES += %reldir%/predicates.c
libgemel_a_SOURCES += %reldir%/profile.c
libgemel_a_SOURCES += %reldir%/profile.h
libgemel_a_SOURCES += %reldir%/rewrite.c
libgemel_a_SOURCES += %reldir%/rule.h
libgemel_a_SOURCES += %reldir%/rules.c
libgemel_a_SOURCES += %reldir%/select.c
libgemel_a_SOURCES += %reldir%/select.h
libgemel_a_SOURCES += %reldir%/suggest.c
libgemel_a_SOURCES += %reldir%/suggest.h
libgemel_a_SOURCES += %reldir%/syntax.c
libgemel_a_SOURCES += %reldir%/syntax.h
libgemel_a_SOURCES += %reldir%/template.c
libgemel_a_SOURCES += %reldir%/template.h
libgemel_a_SOURCES += %reldir%/term-attr.c
libgemel_a_SOURCES += %reldir%/term.c
libgemel_a_SOURCES += %reldir%/term.h
