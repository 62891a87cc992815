# Modules of XLA's HLO read.
# One file a line, sorted. SPDX-License-Identifier: MIT

EXTRA_DIST += %reldir%/hlo.operators
libgemel_a_SOURCES += %reldir%/call.c
libgemel_a_SOURCES += %reldir%/call.h
libgemel_a_SOURCES += %reldir%/constant.c
libgemel_a_SOURCES += %reldir%/control.c
libgemel_a_SOURCES += %reldir%/control.h
libgemel_a_SOURCES += %reldir%/conv.c
libgemel_a_SOURCES += %reldir%/dot.c
libgemel_a_SOURCES += %reldir%/import.c
libgemel_a_SOURCES += %reldir%/index.c
libgemel_a_SOURCES += %reldir%/live.c
libgemel_a_SOURCES += %reldir%/live.h
libgemel_a_SOURCES += %reldir%/module.h
libgemel_a_SOURCES += %reldir%/opaque.c
libgemel_a_SOURCES += %reldir%/opaque.h
libgemel_a_SOURCES += %reldir%/parse.c
libgemel_a_SOURCES += %reldir%/reduce.c
libgemel_a_SOURCES += %reldir%/shape.c
libgemel_a_SOURCES += %reldir%/texts.c
libgemel_a_SOURCES += %reldir%/texts.h
libgemel_a_SOURCES += %reldir%/trips.c
libgemel_a_SOURCES += %reldir%/window.c
libgemel_a_SOURCES += %reldir%/window.h
libgemel_a_SOURCES += %reldir%/windows.c
