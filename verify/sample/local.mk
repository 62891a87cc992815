# Random types, tensors and graphs.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/points-bisect.c
libgemel_verify_a_SOURCES += %reldir%/points.c
libgemel_verify_a_SOURCES += %reldir%/points.h
libgemel_verify_a_SOURCES += %reldir%/random.h
