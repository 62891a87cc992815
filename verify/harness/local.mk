# What every run shares: options, random streams, jobs on several threads.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/jobs.c
libgemel_verify_a_SOURCES += %reldir%/jobs.h
libgemel_verify_a_SOURCES += %reldir%/run.c
libgemel_verify_a_SOURCES += %reldir%/run.h
