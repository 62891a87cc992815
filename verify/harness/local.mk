# What every run shares: options, random streams, jobs on several threads, when to stop.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/jobs.c
libgemel_verify_a_SOURCES += %reldir%/jobs.h
libgemel_verify_a_SOURCES += %reldir%/run.c
libgemel_verify_a_SOURCES += %reldir%/run.h
libgemel_verify_a_SOURCES += %reldir%/tick.c
libgemel_verify_a_SOURCES += %reldir%/tick.h
