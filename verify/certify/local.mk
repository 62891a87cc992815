# Certified compilation: each application of a rewrite is checked while it happens.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/certify.c
libgemel_verify_a_SOURCES += %reldir%/change.c
libgemel_verify_a_SOURCES += %reldir%/change.h
libgemel_verify_a_SOURCES += %reldir%/compare.c
libgemel_verify_a_SOURCES += %reldir%/compare.h
libgemel_verify_a_SOURCES += %reldir%/difference.c
libgemel_verify_a_SOURCES += %reldir%/difference.h
libgemel_verify_a_SOURCES += %reldir%/fold.c
libgemel_verify_a_SOURCES += %reldir%/fold.h
libgemel_verify_a_SOURCES += %reldir%/region.c
libgemel_verify_a_SOURCES += %reldir%/region.h
libgemel_verify_a_SOURCES += %reldir%/sizes.c
libgemel_verify_a_SOURCES += %reldir%/sizes.h
libgemel_verify_a_SOURCES += %reldir%/bits.c
libgemel_verify_a_SOURCES += %reldir%/bits.h
libgemel_verify_a_SOURCES += %reldir%/trials.c
libgemel_verify_a_SOURCES += %reldir%/trials.h
EXTRA_DIST += %reldir%/README.md
