# What all rooms use: elements as numbers and text, outcomes, text of any length, clocks, when to stop.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/buffer.c
libgemel_verify_a_SOURCES += %reldir%/buffer.h
libgemel_verify_a_SOURCES += %reldir%/clock.c
libgemel_verify_a_SOURCES += %reldir%/clock.h
libgemel_verify_a_SOURCES += %reldir%/element.c
libgemel_verify_a_SOURCES += %reldir%/element.h
libgemel_verify_a_SOURCES += %reldir%/names.c
libgemel_verify_a_SOURCES += %reldir%/outcome.c
libgemel_verify_a_SOURCES += %reldir%/outcome.h
libgemel_verify_a_SOURCES += %reldir%/random.h
prover_sources += %reldir%/smt.c
prover_sources += %reldir%/smt.h
libgemel_verify_a_SOURCES += %reldir%/status.h
libgemel_verify_a_SOURCES += %reldir%/tick.c
libgemel_verify_a_SOURCES += %reldir%/tick.h
