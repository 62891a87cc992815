# Operations: the tables, and for each family its type rule, gradient, sampler and CPU kernel.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/ops.def
libgemel_a_SOURCES += %reldir%/ops.h
libgemel_a_SOURCES += %reldir%/scalar.def
libgemel_a_SOURCES += %reldir%/table.c
