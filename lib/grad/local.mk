# Reverse and forward mode.
# One file a line, sorted. SPDX-License-Identifier: MIT


libgemel_a_SOURCES += %reldir%/forward.c
libgemel_a_SOURCES += %reldir%/reverse.c
libgemel_a_SOURCES += %reldir%/sweep.c
libgemel_a_SOURCES += %reldir%/sweep.h
