# One obvious implementation of each operation, generic over the domain.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/reference.h
libgemel_verify_a_SOURCES += %reldir%/rtensor.c
