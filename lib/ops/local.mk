# Operations: the tables, and for each family its type rule, gradient, sampler and CPU kernel.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/elementwise.c
libgemel_a_SOURCES += %reldir%/elementwise.h
libgemel_a_SOURCES += %reldir%/elementwise_broadcast.c
libgemel_a_SOURCES += %reldir%/elementwise_cast.c
libgemel_a_SOURCES += %reldir%/elementwise_float.c
libgemel_a_SOURCES += %reldir%/elementwise_integer.h
libgemel_a_SOURCES += %reldir%/elementwise_kernels.c
libgemel_a_SOURCES += %reldir%/elementwise_loops.h
libgemel_a_SOURCES += %reldir%/elementwise_math.h
libgemel_a_SOURCES += %reldir%/elementwise_plain.c
libgemel_a_SOURCES += %reldir%/elementwise_sample.c
libgemel_a_SOURCES += %reldir%/elementwise_signed.c
libgemel_a_SOURCES += %reldir%/elementwise_unsigned.c
libgemel_a_SOURCES += %reldir%/isa.c
libgemel_a_SOURCES += %reldir%/isa.h
libgemel_a_SOURCES += %reldir%/index.c
libgemel_a_SOURCES += %reldir%/ops.def
libgemel_a_SOURCES += %reldir%/ops.h
libgemel_a_SOURCES += %reldir%/rule.c
libgemel_a_SOURCES += %reldir%/rule.h
libgemel_a_SOURCES += %reldir%/sampling.c
libgemel_a_SOURCES += %reldir%/sampling.h
libgemel_a_SOURCES += %reldir%/reduce.c
libgemel_a_SOURCES += %reldir%/reduce.h
libgemel_a_SOURCES += %reldir%/reduce_argmax.c
libgemel_a_SOURCES += %reldir%/reduce_kernels.c
libgemel_a_SOURCES += %reldir%/reduce_loops.h
libgemel_a_SOURCES += %reldir%/reduce_plan.c
libgemel_a_SOURCES += %reldir%/reduce_plan.h
libgemel_a_SOURCES += %reldir%/reduce_run.c
libgemel_a_SOURCES += %reldir%/scalar.def
libgemel_a_SOURCES += %reldir%/shape.c
libgemel_a_SOURCES += %reldir%/shape-blocks.c
libgemel_a_SOURCES += %reldir%/source.c
libgemel_a_SOURCES += %reldir%/table.c
