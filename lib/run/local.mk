# Schedule, memory plan, compiled functions, shared variables, profiles.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_a_SOURCES += %reldir%/bind.c
libgemel_a_SOURCES += %reldir%/ceiling.c
libgemel_a_SOURCES += %reldir%/cluster-build.c
libgemel_a_SOURCES += %reldir%/cluster-device.c
libgemel_a_SOURCES += %reldir%/cluster.c
libgemel_a_SOURCES += %reldir%/dump-load.c
libgemel_a_SOURCES += %reldir%/dump.c
libgemel_a_SOURCES += %reldir%/dump.h
libgemel_a_SOURCES += %reldir%/execution.c
libgemel_a_SOURCES += %reldir%/function.c
libgemel_a_SOURCES += %reldir%/function.h
libgemel_a_SOURCES += %reldir%/instr.c
libgemel_a_SOURCES += %reldir%/instr.h
libgemel_a_SOURCES += %reldir%/listing.c
libgemel_a_SOURCES += %reldir%/memory.c
libgemel_a_SOURCES += %reldir%/order.c
libgemel_a_SOURCES += %reldir%/order.h
libgemel_a_SOURCES += %reldir%/overlap.c
libgemel_a_SOURCES += %reldir%/plan-move.c
libgemel_a_SOURCES += %reldir%/plan.c
libgemel_a_SOURCES += %reldir%/planner.h
libgemel_a_SOURCES += %reldir%/profile-print.c
libgemel_a_SOURCES += %reldir%/profile.c
libgemel_a_SOURCES += %reldir%/profile.h
libgemel_a_SOURCES += %reldir%/program.c
libgemel_a_SOURCES += %reldir%/record.c
libgemel_a_SOURCES += %reldir%/record.h
libgemel_a_SOURCES += %reldir%/run.c
libgemel_a_SOURCES += %reldir%/schedule.c
libgemel_a_SOURCES += %reldir%/schedule.h
libgemel_a_SOURCES += %reldir%/shared.c
libgemel_a_SOURCES += %reldir%/solve.c
libgemel_a_SOURCES += %reldir%/watch.c
