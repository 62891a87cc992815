# `gemel verify --rules`: instances of rules and passes, their class.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/all.c
libgemel_verify_a_SOURCES += %reldir%/arms.c
libgemel_verify_a_SOURCES += %reldir%/arms.h
libgemel_verify_a_SOURCES += %reldir%/class.c
libgemel_verify_a_SOURCES += %reldir%/collect.c
libgemel_verify_a_SOURCES += %reldir%/constants.c
libgemel_verify_a_SOURCES += %reldir%/constants.h
libgemel_verify_a_SOURCES += %reldir%/draw.c
libgemel_verify_a_SOURCES += %reldir%/draw.h
libgemel_verify_a_SOURCES += %reldir%/goal.c
libgemel_verify_a_SOURCES += %reldir%/goal.h
libgemel_verify_a_SOURCES += %reldir%/hinted.c
libgemel_verify_a_SOURCES += %reldir%/hinted.h
libgemel_verify_a_SOURCES += %reldir%/left.c
libgemel_verify_a_SOURCES += %reldir%/left.h
libgemel_verify_a_SOURCES += %reldir%/pass.c
libgemel_verify_a_SOURCES += %reldir%/report.c
libgemel_verify_a_SOURCES += %reldir%/report.h
libgemel_verify_a_SOURCES += %reldir%/special.c
libgemel_verify_a_SOURCES += %reldir%/trial.c
libgemel_verify_a_SOURCES += %reldir%/trial.h
libgemel_verify_a_SOURCES += %reldir%/withdraw.c
libgemel_verify_a_SOURCES += %reldir%/withdraw.h
EXTRA_DIST += %reldir%/README.md
