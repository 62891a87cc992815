# Proofs that rules hold for all sizes. The prover is what the hash in prover.h is of: a proof that was
# recorded (proved.def) counts as long as that is the same.
# One file a line, sorted. SPDX-License-Identifier: MIT

prover_sources += %reldir%/ask.c
prover_sources += %reldir%/ask.h
prover_sources += %reldir%/attribute.c
prover_sources += %reldir%/attribute.h
prover_sources += %reldir%/axes-bound.c
prover_sources += %reldir%/axes-conditions.c
prover_sources += %reldir%/axes-sorts.c
prover_sources += %reldir%/axes-sums.c
prover_sources += %reldir%/axes-terms.c
prover_sources += %reldir%/axes-typing.h
prover_sources += %reldir%/axes.c
prover_sources += %reldir%/axes.h
prover_sources += %reldir%/bounds.c
prover_sources += %reldir%/bounds.h
prover_sources += %reldir%/claim.c
prover_sources += %reldir%/convs.c
prover_sources += %reldir%/defined.c
prover_sources += %reldir%/dtypes.c
prover_sources += %reldir%/elements.c
prover_sources += %reldir%/equal.c
prover_sources += %reldir%/equal.h
prover_sources += %reldir%/example.c
prover_sources += %reldir%/exponentials.c
prover_sources += %reldir%/extremes.c
prover_sources += %reldir%/folds.c
prover_sources += %reldir%/hint.c
prover_sources += %reldir%/hint.h
prover_sources += %reldir%/indices.c
prover_sources += %reldir%/laws.c
prover_sources += %reldir%/lint.c
prover_sources += %reldir%/lists.c
prover_sources += %reldir%/many.c
prover_sources += %reldir%/maps.c
prover_sources += %reldir%/parts.c
prover_sources += %reldir%/parts.h
prover_sources += %reldir%/pull.c
prover_sources += %reldir%/pull.h
prover_sources += %reldir%/record.c
prover_sources += %reldir%/record.h
prover_sources += %reldir%/relevant.c
prover_sources += %reldir%/scalar.c
prover_sources += %reldir%/scalar.def
prover_sources += %reldir%/scalar.h
prover_sources += %reldir%/scene.c
prover_sources += %reldir%/scene.h
prover_sources += %reldir%/sides.c
prover_sources += %reldir%/sums.c
prover_sources += %reldir%/term.c
prover_sources += %reldir%/term.h
prover_sources += %reldir%/unbounded.c
prover_sources += %reldir%/unbounded.h

libgemel_verify_a_SOURCES += $(prover_sources)
libgemel_verify_a_SOURCES += %reldir%/proved.c
libgemel_verify_a_SOURCES += %reldir%/proved.def
nodist_libgemel_verify_a_SOURCES += %reldir%/prover.h
BUILT_SOURCES += %reldir%/prover.h
CLEANFILES += %reldir%/prover.h
hashed_sources = $(prover_sources) verify/tiers/solver-check.c verify/tiers/solver.c
%reldir%/prover.h: $(hashed_sources)
	$(AM_V_GEN)$(MKDIR_P) %reldir% && \
	  (cd $(srcdir) && cat $(hashed_sources)) | cksum | \
	  sed 's/ .*//; s/.*/\#define GEMEL__PROVER UINT32_C(&)/' >$@.tmp && mv $@.tmp $@
%reldir%/libgemel_verify_a-proved.$(OBJEXT): %reldir%/prover.h
EXTRA_DIST += %reldir%/README.md
