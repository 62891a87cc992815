# Tables, JSON lines and replay files.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/replay.c
libgemel_verify_a_SOURCES += %reldir%/report.c
libgemel_verify_a_SOURCES += %reldir%/whole.c
libgemel_verify_a_SOURCES += %reldir%/whole.h
