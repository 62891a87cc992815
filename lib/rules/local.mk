# The rule language, and declarative rewrites, a file a family; they become strings in the library.
# One file a line, sorted. SPDX-License-Identifier: MIT

rule_files =
rule_files += %reldir%/along.rules
rule_files += %reldir%/conv.rules
rule_files += %reldir%/elementwise.rules
rule_files += %reldir%/index.rules
rule_files += %reldir%/integer.rules
rule_files += %reldir%/linalg.rules
rule_files += %reldir%/reduce.rules
rule_files += %reldir%/shape.rules
rule_files += %reldir%/softmax.rules
rule_files += %reldir%/solve.rules
rule_files += %reldir%/take.rules

libgemel_a_SOURCES += %reldir%/builtin.h
libgemel_a_SOURCES += %reldir%/compile.c
libgemel_a_SOURCES += %reldir%/facts.c
libgemel_a_SOURCES += %reldir%/facts.h
libgemel_a_SOURCES += %reldir%/functions.c
libgemel_a_SOURCES += %reldir%/functions.def
libgemel_a_SOURCES += %reldir%/functions.h
libgemel_a_SOURCES += %reldir%/kinds.c
libgemel_a_SOURCES += %reldir%/kinds.h
libgemel_a_SOURCES += %reldir%/names.c
libgemel_a_SOURCES += %reldir%/operators.c
libgemel_a_SOURCES += %reldir%/predicates.c
libgemel_a_SOURCES += %reldir%/rule-names.c
libgemel_a_SOURCES += %reldir%/rule-names.h
libgemel_a_SOURCES += %reldir%/rule.h
libgemel_a_SOURCES += %reldir%/rules.c
libgemel_a_SOURCES += %reldir%/stanza.c
libgemel_a_SOURCES += %reldir%/stanza.h
libgemel_a_SOURCES += %reldir%/syntax.c
libgemel_a_SOURCES += %reldir%/syntax.h
libgemel_a_SOURCES += %reldir%/term-attr.c
libgemel_a_SOURCES += %reldir%/term.c
libgemel_a_SOURCES += %reldir%/term.h

EXTRA_DIST += $(rule_files)
EXTRA_DIST += %reldir%/embed.awk
nodist_libgemel_a_SOURCES = lib/rules/builtin.c
CLEANFILES += lib/rules/builtin.c
lib/rules/builtin.c: $(rule_files) lib/rules/embed.awk
	$(AM_V_GEN)$(MKDIR_P) lib/rules && \
	  $(AWK) -f $(srcdir)/lib/rules/embed.awk `for f in $(rule_files); do if test -f $$f; then echo $$f; else echo $(srcdir)/$$f; fi; done` >$@.tmp && \
	  mv $@.tmp $@
