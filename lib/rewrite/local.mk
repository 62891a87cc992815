# The rewrite engine: dispatch, matching, building, the pipeline, the choice of rules.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/bodies.c
libgemel_a_SOURCES += %reldir%/bodies.h
libgemel_a_SOURCES += %reldir%/build.c
libgemel_a_SOURCES += %reldir%/build.h
libgemel_a_SOURCES += %reldir%/choice.c
libgemel_a_SOURCES += %reldir%/choice.h
libgemel_a_SOURCES += %reldir%/dispatch.c
libgemel_a_SOURCES += %reldir%/dispatch.h
libgemel_a_SOURCES += %reldir%/engine.c
libgemel_a_SOURCES += %reldir%/engine.h
libgemel_a_SOURCES += %reldir%/fold.c
libgemel_a_SOURCES += %reldir%/match.c
libgemel_a_SOURCES += %reldir%/match.h
libgemel_a_SOURCES += %reldir%/pipeline.c
libgemel_a_SOURCES += %reldir%/profile.c
libgemel_a_SOURCES += %reldir%/profile.h
libgemel_a_SOURCES += %reldir%/settle.c
libgemel_a_SOURCES += %reldir%/settle.h
libgemel_a_SOURCES += %reldir%/uses.c
libgemel_a_SOURCES += %reldir%/uses.h
