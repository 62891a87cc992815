/* SPDX-License-Identifier: MIT
 *
 * Compares two small graphs with the same inputs: are they the same function? Fast if they are.
 */
#ifndef GEMEL__CERTIFY_COMPARE_H
#define GEMEL__CERTIFY_COMPARE_H

#include <gemel/graph.h>
#include "domains/domain.h"
#include "sample/points.h"
#include "base/random.h"
#include "tiers/model.h"

enum { GEMEL__CHAIN_LENGTHS = 2 };

/* Chains of prime fields of two lengths, each made when it is first needed. Begins as zeros. */
typedef struct gemel__pool {
  gemel__domain *fields[GEMEL__CHAIN_LENGTHS];
  gemel__random random;
  uint64_t seed; /* from which the chains' seeds follow */
} gemel__pool;

void gemel__pool_clear(gemel__pool *pool);

/* What a comparison finds: proved the same; the same in samples, which is no proof; nothing
 * compared; a difference that may come from a character used as a sign; a certain difference. */
static const gemel__finding gemel__same = {GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_FIELD};
static const gemel__finding gemel__sampled = {GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_SAMPLES};
static const gemel__finding gemel__unseen = {GEMEL_VERDICT_UNINFORMATIVE, GEMEL_EVIDENCE_NONE};
static const gemel__finding gemel__doubtful = {GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_NONE};
static const gemel__finding gemel__different = {GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_SAMPLES};

static inline int gemel__is_different(gemel__finding f) {
  return f.verdict == GEMEL_VERDICT_REFUTED && f.how != GEMEL_EVIDENCE_NONE;
}

/* A question: are SIDES the same function? */
typedef struct gemel__comparison {
  const gemel_graph *sides[2];
  const gemel_range *ranges; /* by input */
  int exact;                 /* 1: every bit must stay at finite inputs */
  int infinite;              /* 1: they must agree at infinite inputs too */
} gemel__comparison;

/* Compares by residues, and bits if digits may be lost. GEMEL_NO_MEMORY. */
gemel_status gemel__compare_fast(gemel__pool *pool, const gemel__comparison *comparison,
                                 gemel__finding *finding, gemel_error *error);

/* Compares by both models, for what gemel__compare_fast doesn't decide: at small sizes and, if
 * numbers are computed from indices or sizes, at the true ones. If *FINDING is different, *SHOWN is
 * a text with inputs at which the sides differ and their results, to be freed with gemel_text_free;
 * otherwise it is NULL. GEMEL_NO_MEMORY. */
gemel_status gemel__compare_surely(gemel__pool *pool, const gemel__comparison *comparison,
                                   gemel__finding *finding, char **shown, gemel_error *error);

#endif
