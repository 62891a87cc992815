# `gemel verify`: operations and their derivatives in every tier, surveys of scalar ones.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/arrange.c
libgemel_verify_a_SOURCES += %reldir%/arrange.h
libgemel_verify_a_SOURCES += %reldir%/besides.c
libgemel_verify_a_SOURCES += %reldir%/gradient.c
libgemel_verify_a_SOURCES += %reldir%/kernel-extent.c
libgemel_verify_a_SOURCES += %reldir%/law.c
libgemel_verify_a_SOURCES += %reldir%/subject.c
libgemel_verify_a_SOURCES += %reldir%/subject.h
libgemel_verify_a_SOURCES += %reldir%/survey-thresholds.c
libgemel_verify_a_SOURCES += %reldir%/survey-values.c
libgemel_verify_a_SOURCES += %reldir%/survey.c
libgemel_verify_a_SOURCES += %reldir%/survey.h
libgemel_verify_a_SOURCES += %reldir%/verify.c
EXTRA_DIST += %reldir%/README.md
