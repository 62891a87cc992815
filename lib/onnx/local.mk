# ONNX models read.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/attention.c
libgemel_a_SOURCES += %reldir%/call.c
libgemel_a_SOURCES += %reldir%/call.h
libgemel_a_SOURCES += %reldir%/conv.c
libgemel_a_SOURCES += %reldir%/elementwise.c
libgemel_a_SOURCES += %reldir%/files.c
libgemel_a_SOURCES += %reldir%/fold.c
libgemel_a_SOURCES += %reldir%/fused.c
libgemel_a_SOURCES += %reldir%/gather.c
libgemel_a_SOURCES += %reldir%/import.c
libgemel_a_SOURCES += %reldir%/import.h
libgemel_a_SOURCES += %reldir%/linalg.c
libgemel_a_SOURCES += %reldir%/loops.c
libgemel_a_SOURCES += %reldir%/losses.c
libgemel_a_SOURCES += %reldir%/model.c
libgemel_a_SOURCES += %reldir%/model.h
libgemel_a_SOURCES += %reldir%/names.c
libgemel_a_SOURCES += %reldir%/names.h
libgemel_a_SOURCES += %reldir%/normalize.c
libgemel_a_SOURCES += %reldir%/operators.def
libgemel_a_SOURCES += %reldir%/operators.h
libgemel_a_SOURCES += %reldir%/parts.c
libgemel_a_SOURCES += %reldir%/proto.c
libgemel_a_SOURCES += %reldir%/proto.def
libgemel_a_SOURCES += %reldir%/proto.h
libgemel_a_SOURCES += %reldir%/recurrent.c
libgemel_a_SOURCES += %reldir%/reduce.c
libgemel_a_SOURCES += %reldir%/resize.c
libgemel_a_SOURCES += %reldir%/shape.c
libgemel_a_SOURCES += %reldir%/sizes.c
libgemel_a_SOURCES += %reldir%/tensor.c
libgemel_a_SOURCES += %reldir%/wire.c
libgemel_a_SOURCES += %reldir%/wire.h
libgemel_a_SOURCES += %reldir%/write.c
