# Procedural passes, and what they share.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/dots.c
libgemel_a_SOURCES += %reldir%/edit.c
libgemel_a_SOURCES += %reldir%/edit.h
libgemel_a_SOURCES += %reldir%/instances.c
libgemel_a_SOURCES += %reldir%/instances.h
libgemel_a_SOURCES += %reldir%/loop.c
libgemel_a_SOURCES += %reldir%/loop.h
libgemel_a_SOURCES += %reldir%/nary.c
libgemel_a_SOURCES += %reldir%/nary.h
libgemel_a_SOURCES += %reldir%/passes.c
libgemel_a_SOURCES += %reldir%/passes.def
libgemel_a_SOURCES += %reldir%/passes.h
libgemel_a_SOURCES += %reldir%/products.c
libgemel_a_SOURCES += %reldir%/scan-join.c
libgemel_a_SOURCES += %reldir%/scan-join.h
libgemel_a_SOURCES += %reldir%/scan-live.c
libgemel_a_SOURCES += %reldir%/scan-merge.c
libgemel_a_SOURCES += %reldir%/scan-parts.h
libgemel_a_SOURCES += %reldir%/scan-prune.c
libgemel_a_SOURCES += %reldir%/scan-pull-rows.c
libgemel_a_SOURCES += %reldir%/scan-pull-sums.c
libgemel_a_SOURCES += %reldir%/scan-pull.c
libgemel_a_SOURCES += %reldir%/scan-pull.h
libgemel_a_SOURCES += %reldir%/scan-push.c
libgemel_a_SOURCES += %reldir%/scan-rows.c
libgemel_a_SOURCES += %reldir%/scan-rows.h
libgemel_a_SOURCES += %reldir%/scan-unroll.c
libgemel_a_SOURCES += %reldir%/sums.c
