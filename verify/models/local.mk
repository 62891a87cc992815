# Models of ONNX drawn at random.
# One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/onnx.models
libgemel_verify_a_SOURCES += %reldir%/decorate.c
libgemel_verify_a_SOURCES += %reldir%/draw.c
libgemel_verify_a_SOURCES += %reldir%/expand.c
libgemel_verify_a_SOURCES += %reldir%/parse.c
libgemel_verify_a_SOURCES += %reldir%/shapes.c
libgemel_verify_a_SOURCES += %reldir%/sketch.h
libgemel_verify_a_SOURCES += %reldir%/text.c
libgemel_verify_a_SOURCES += %reldir%/write.c
nodist_libgemel_verify_a_SOURCES += verify/models/builtin.c
CLEANFILES += verify/models/builtin.c
verify/models/builtin.c: %reldir%/onnx.models lib/rules/embed.awk
	$(AM_V_GEN)$(MKDIR_P) verify/models && \
	  $(AWK) -v name=gemel__builtin_models -f $(srcdir)/lib/rules/embed.awk $(srcdir)/%reldir%/onnx.models >$@.tmp && \
	  mv $@.tmp $@
