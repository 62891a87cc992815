# A run: options, random streams, jobs, records; counterexamples in folders.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/jobs.c
libgemel_verify_a_SOURCES += %reldir%/jobs.h
libgemel_verify_a_SOURCES += %reldir%/report.c
libgemel_verify_a_SOURCES += %reldir%/report.h
libgemel_verify_a_SOURCES += %reldir%/run.c
libgemel_verify_a_SOURCES += %reldir%/run.h
libgemel_verify_a_SOURCES += %reldir%/saved.c
libgemel_verify_a_SOURCES += %reldir%/saved.h
