# Two graphs made comparable, and what one gives up against the other.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/align.c
libgemel_verify_a_SOURCES += %reldir%/align.h
libgemel_verify_a_SOURCES += %reldir%/beyond.c
libgemel_verify_a_SOURCES += %reldir%/beyond.h
libgemel_verify_a_SOURCES += %reldir%/contrast.c
libgemel_verify_a_SOURCES += %reldir%/contrast.h
libgemel_verify_a_SOURCES += %reldir%/cut.c
libgemel_verify_a_SOURCES += %reldir%/cut.h
libgemel_verify_a_SOURCES += %reldir%/improve.c
libgemel_verify_a_SOURCES += %reldir%/joint.c
libgemel_verify_a_SOURCES += %reldir%/joint.h
libgemel_verify_a_SOURCES += %reldir%/lengths.c
libgemel_verify_a_SOURCES += %reldir%/lengths.h
libgemel_verify_a_SOURCES += %reldir%/match.c
libgemel_verify_a_SOURCES += %reldir%/match.h
libgemel_verify_a_SOURCES += %reldir%/measure.h
libgemel_verify_a_SOURCES += %reldir%/needs-lengths.c
libgemel_verify_a_SOURCES += %reldir%/needs.c
libgemel_verify_a_SOURCES += %reldir%/needs.h
libgemel_verify_a_SOURCES += %reldir%/pair.c
libgemel_verify_a_SOURCES += %reldir%/pair.h
libgemel_verify_a_SOURCES += %reldir%/ranges.c
libgemel_verify_a_SOURCES += %reldir%/rounding.c
libgemel_verify_a_SOURCES += %reldir%/scale.c
libgemel_verify_a_SOURCES += %reldir%/scale.h
libgemel_verify_a_SOURCES += %reldir%/scout.c
libgemel_verify_a_SOURCES += %reldir%/scout.h
libgemel_verify_a_SOURCES += %reldir%/targets.c
libgemel_verify_a_SOURCES += %reldir%/targets.h
libgemel_verify_a_SOURCES += %reldir%/widen.c
libgemel_verify_a_SOURCES += %reldir%/widen.h
libgemel_verify_a_SOURCES += %reldir%/witness.c
EXTRA_DIST += %reldir%/README.md
EXTRA_DIST += %reldir%/needs.md
