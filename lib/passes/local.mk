# Procedural passes, and what they share.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/dots.c
libgemel_a_SOURCES += %reldir%/edit.c
libgemel_a_SOURCES += %reldir%/edit.h
libgemel_a_SOURCES += %reldir%/instances.c
libgemel_a_SOURCES += %reldir%/instances.h
libgemel_a_SOURCES += %reldir%/nary.c
libgemel_a_SOURCES += %reldir%/nary.h
libgemel_a_SOURCES += %reldir%/passes.c
libgemel_a_SOURCES += %reldir%/passes.def
libgemel_a_SOURCES += %reldir%/passes.h
libgemel_a_SOURCES += %reldir%/products.c
libgemel_a_SOURCES += %reldir%/sums.c
