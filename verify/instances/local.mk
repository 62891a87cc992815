# Instances: a graph of concrete shapes with values for its inputs, made, changed and embedded.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/aims.c
libgemel_verify_a_SOURCES += %reldir%/aims.h
libgemel_verify_a_SOURCES += %reldir%/assumed.c
libgemel_verify_a_SOURCES += %reldir%/assumed.h
libgemel_verify_a_SOURCES += %reldir%/crossing.c
libgemel_verify_a_SOURCES += %reldir%/crossing.h
libgemel_verify_a_SOURCES += %reldir%/embed.c
libgemel_verify_a_SOURCES += %reldir%/instance.c
libgemel_verify_a_SOURCES += %reldir%/instance.h
libgemel_verify_a_SOURCES += %reldir%/meeting.c
libgemel_verify_a_SOURCES += %reldir%/meeting.h
libgemel_verify_a_SOURCES += %reldir%/propose-invoke.c
libgemel_verify_a_SOURCES += %reldir%/propose-invoke.h
libgemel_verify_a_SOURCES += %reldir%/propose.c
libgemel_verify_a_SOURCES += %reldir%/propose.h
libgemel_verify_a_SOURCES += %reldir%/rebuild.c
libgemel_verify_a_SOURCES += %reldir%/rebuild.h
libgemel_verify_a_SOURCES += %reldir%/shows.c
libgemel_verify_a_SOURCES += %reldir%/shrink.c
libgemel_verify_a_SOURCES += %reldir%/source-real.c
libgemel_verify_a_SOURCES += %reldir%/source-rounded.c
libgemel_verify_a_SOURCES += %reldir%/source.c
libgemel_verify_a_SOURCES += %reldir%/source.h
libgemel_verify_a_SOURCES += %reldir%/sources.def
libgemel_verify_a_SOURCES += %reldir%/trial.h
libgemel_verify_a_SOURCES += %reldir%/values.c
libgemel_verify_a_SOURCES += %reldir%/views.c
