# Composites: builders that are written as text, their language and expansion.
# One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/numpy.composites
libgemel_a_SOURCES += %reldir%/collective.c
libgemel_a_SOURCES += %reldir%/composites.h
libgemel_a_SOURCES += %reldir%/evaluate.c
libgemel_a_SOURCES += %reldir%/functions.c
libgemel_a_SOURCES += %reldir%/item.c
libgemel_a_SOURCES += %reldir%/item.h
libgemel_a_SOURCES += %reldir%/parse.c
libgemel_a_SOURCES += %reldir%/syntax.h
libgemel_a_SOURCES += %reldir%/table.c
libgemel_a_SOURCES += %reldir%/training.c
nodist_libgemel_a_SOURCES += lib/composites/builtin.c
CLEANFILES += lib/composites/builtin.c
lib/composites/builtin.c: %reldir%/numpy.composites lib/onnx/onnx.operators lib/hlo/hlo.operators lib/rules/embed.awk
	$(AM_V_GEN)$(MKDIR_P) lib/composites && \
	  $(AWK) -v name=gemel__builtin_composites -f $(srcdir)/lib/rules/embed.awk $(srcdir)/%reldir%/numpy.composites $(srcdir)/lib/onnx/onnx.operators $(srcdir)/lib/hlo/hlo.operators >$@.tmp && \
	  mv $@.tmp $@
