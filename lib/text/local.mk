# Graph text, binary graphs, NPY, NPZ and safetensors, DOT.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/attribute.c
libgemel_a_SOURCES += %reldir%/binary-read.c
libgemel_a_SOURCES += %reldir%/binary-write.c
libgemel_a_SOURCES += %reldir%/binary.h
libgemel_a_SOURCES += %reldir%/bodies.c
libgemel_a_SOURCES += %reldir%/bodies.h
libgemel_a_SOURCES += %reldir%/define.c
libgemel_a_SOURCES += %reldir%/define.h
libgemel_a_SOURCES += %reldir%/expr.c
libgemel_a_SOURCES += %reldir%/expr.h
libgemel_a_SOURCES += %reldir%/file.c
libgemel_a_SOURCES += %reldir%/file.h
libgemel_a_SOURCES += %reldir%/infix.c
libgemel_a_SOURCES += %reldir%/infix.h
libgemel_a_SOURCES += %reldir%/map.c
libgemel_a_SOURCES += %reldir%/map.h
libgemel_a_SOURCES += %reldir%/names.c
libgemel_a_SOURCES += %reldir%/names.h
libgemel_a_SOURCES += %reldir%/npy.c
libgemel_a_SOURCES += %reldir%/npy.h
libgemel_a_SOURCES += %reldir%/npz.c
libgemel_a_SOURCES += %reldir%/parse.c
libgemel_a_SOURCES += %reldir%/print-attrs.c
libgemel_a_SOURCES += %reldir%/print.c
libgemel_a_SOURCES += %reldir%/print.h
libgemel_a_SOURCES += %reldir%/program.c
libgemel_a_SOURCES += %reldir%/program.h
libgemel_a_SOURCES += %reldir%/safetensors.c
libgemel_a_SOURCES += %reldir%/values.c
libgemel_a_SOURCES += %reldir%/values.h
libgemel_a_SOURCES += %reldir%/write.c
libgemel_a_SOURCES += %reldir%/write.h
