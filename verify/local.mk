# The harness itself: tiers and verdicts.
# One file a line, sorted. SPDX-License-Identifier: MIT

libgemel_verify_a_SOURCES += %reldir%/align.c
libgemel_verify_a_SOURCES += %reldir%/align.h
libgemel_verify_a_SOURCES += %reldir%/equal.c
libgemel_verify_a_SOURCES += %reldir%/replay.c
libgemel_verify_a_SOURCES += %reldir%/certify/certify.c
libgemel_verify_a_SOURCES += %reldir%/certify/compare.c
libgemel_verify_a_SOURCES += %reldir%/certify/compare.h
libgemel_verify_a_SOURCES += %reldir%/certify/fold.c
libgemel_verify_a_SOURCES += %reldir%/certify/fold.h
libgemel_verify_a_SOURCES += %reldir%/certify/memo.c
libgemel_verify_a_SOURCES += %reldir%/certify/memo.h
libgemel_verify_a_SOURCES += %reldir%/certify/region.c
libgemel_verify_a_SOURCES += %reldir%/certify/region.h
libgemel_verify_a_SOURCES += %reldir%/check.c
libgemel_verify_a_SOURCES += %reldir%/rebuild.c
libgemel_verify_a_SOURCES += %reldir%/rebuild.h
libgemel_verify_a_SOURCES += %reldir%/contrast.c
libgemel_verify_a_SOURCES += %reldir%/contrast.h
libgemel_verify_a_SOURCES += %reldir%/cut.c
libgemel_verify_a_SOURCES += %reldir%/cut.h
libgemel_verify_a_SOURCES += %reldir%/needs.c
libgemel_verify_a_SOURCES += %reldir%/needs.h
libgemel_verify_a_SOURCES += %reldir%/rounding.c
libgemel_verify_a_SOURCES += %reldir%/embed.c
libgemel_verify_a_SOURCES += %reldir%/execute.c
libgemel_verify_a_SOURCES += %reldir%/gradient.c
libgemel_verify_a_SOURCES += %reldir%/instance.c
libgemel_verify_a_SOURCES += %reldir%/instance.h
libgemel_verify_a_SOURCES += %reldir%/law.c
libgemel_verify_a_SOURCES += %reldir%/model.c
libgemel_verify_a_SOURCES += %reldir%/model.h
libgemel_verify_a_SOURCES += %reldir%/models.h
libgemel_verify_a_SOURCES += %reldir%/mutate.c
libgemel_verify_a_SOURCES += %reldir%/mutate.def
libgemel_verify_a_SOURCES += %reldir%/mutate.h
libgemel_verify_a_SOURCES += %reldir%/mutate-rule.c
libgemel_verify_a_SOURCES += %reldir%/mutate-text.c
libgemel_verify_a_SOURCES += %reldir%/mutate-text.h
libgemel_verify_a_SOURCES += %reldir%/pair.c
libgemel_verify_a_SOURCES += %reldir%/pair.h
libgemel_verify_a_SOURCES += %reldir%/rules-class.c
libgemel_verify_a_SOURCES += %reldir%/rules-draw.c
libgemel_verify_a_SOURCES += %reldir%/rules-draw.h
libgemel_verify_a_SOURCES += %reldir%/rules-left.c
libgemel_verify_a_SOURCES += %reldir%/rules-left.h
libgemel_verify_a_SOURCES += %reldir%/rules-report.c
libgemel_verify_a_SOURCES += %reldir%/rules-report.h
libgemel_verify_a_SOURCES += %reldir%/rules.c
libgemel_verify_a_SOURCES += %reldir%/rules.h
libgemel_verify_a_SOURCES += %reldir%/run.c
libgemel_verify_a_SOURCES += %reldir%/run.h
libgemel_verify_a_SOURCES += %reldir%/sites.c
libgemel_verify_a_SOURCES += %reldir%/sites.h
libgemel_verify_a_SOURCES += %reldir%/scale.c
libgemel_verify_a_SOURCES += %reldir%/scale.h
libgemel_verify_a_SOURCES += %reldir%/taylor.c
libgemel_verify_a_SOURCES += %reldir%/taylor.h
libgemel_verify_a_SOURCES += %reldir%/tiers.h
libgemel_verify_a_SOURCES += %reldir%/values.c
libgemel_verify_a_SOURCES += %reldir%/verdict.c
libgemel_verify_a_SOURCES += %reldir%/verify.c

if VERIFY
gemelinclude_HEADERS += %reldir%/gemel/verify.h
endif
