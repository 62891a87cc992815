# ONNX models read.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/attention.c
libgemel_a_SOURCES += %reldir%/attention.h
libgemel_a_SOURCES += %reldir%/blocked.c
libgemel_a_SOURCES += %reldir%/call.c
libgemel_a_SOURCES += %reldir%/call.h
libgemel_a_SOURCES += %reldir%/conv.c
libgemel_a_SOURCES += %reldir%/deform.c
libgemel_a_SOURCES += %reldir%/elementwise.c
libgemel_a_SOURCES += %reldir%/fold.c
libgemel_a_SOURCES += %reldir%/gather.c
libgemel_a_SOURCES += %reldir%/group-query.c
libgemel_a_SOURCES += %reldir%/import.c
libgemel_a_SOURCES += %reldir%/import.h
libgemel_a_SOURCES += %reldir%/linear-attention.c
libgemel_a_SOURCES += %reldir%/loops.c
libgemel_a_SOURCES += %reldir%/model.c
libgemel_a_SOURCES += %reldir%/model.h
libgemel_a_SOURCES += %reldir%/names.c
libgemel_a_SOURCES += %reldir%/names.h
libgemel_a_SOURCES += %reldir%/operators.c
libgemel_a_SOURCES += %reldir%/operators.def
libgemel_a_SOURCES += %reldir%/operators.h
libgemel_a_SOURCES += %reldir%/packed.c
libgemel_a_SOURCES += %reldir%/parts.c
libgemel_a_SOURCES += %reldir%/proto.c
libgemel_a_SOURCES += %reldir%/proto.def
libgemel_a_SOURCES += %reldir%/proto.h
libgemel_a_SOURCES += %reldir%/recurrent.c
libgemel_a_SOURCES += %reldir%/resize.c
libgemel_a_SOURCES += %reldir%/rotary.c
libgemel_a_SOURCES += %reldir%/sample.c
libgemel_a_SOURCES += %reldir%/shape.c
libgemel_a_SOURCES += %reldir%/signal.c
libgemel_a_SOURCES += %reldir%/sizes.c
libgemel_a_SOURCES += %reldir%/tensor.c
libgemel_a_SOURCES += %reldir%/wire.c
libgemel_a_SOURCES += %reldir%/wire.h
libgemel_a_SOURCES += %reldir%/write.c

# The names of the operators that are texts.
EXTRA_DIST += %reldir%/onnx.operators
EXTRA_DIST += %reldir%/texts.awk
BUILT_SOURCES += lib/onnx/texts.def
CLEANFILES += lib/onnx/texts.def
lib/onnx/texts.def: %reldir%/onnx.operators %reldir%/texts.awk
	$(AM_V_GEN)$(MKDIR_P) lib/onnx && $(AWK) -f $(srcdir)/%reldir%/texts.awk $(srcdir)/%reldir%/onnx.operators >$@.tmp && mv $@.tmp $@
