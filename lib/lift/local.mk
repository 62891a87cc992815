# The lift of a graph to a device.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/body.c
libgemel_a_SOURCES += %reldir%/build.c
libgemel_a_SOURCES += %reldir%/cheapest.c
libgemel_a_SOURCES += %reldir%/cost.c
libgemel_a_SOURCES += %reldir%/lift.c
libgemel_a_SOURCES += %reldir%/lift.h
libgemel_a_SOURCES += %reldir%/place.c
libgemel_a_SOURCES += %reldir%/report.c
