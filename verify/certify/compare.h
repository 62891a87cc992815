/* SPDX-License-Identifier: MIT
 *
 * Are two small graphs with the same inputs the same function? Fast where they are.
 */
#ifndef GEMEL__CERTIFY_COMPARE_H
#define GEMEL__CERTIFY_COMPARE_H

#include <gemel/graph.h>
#include "domains/domain.h"
#include "sample/points.h"
#include "base/random.h"
#include "models/model.h"

enum { GEMEL__LENGTHS = 2 };

/* Small chains of prime fields, each made when it is first needed and kept. Zeroed at first. */
typedef struct gemel__pool {
  gemel__domain *fields[GEMEL__LENGTHS];
  gemel__random random;
  uint64_t seed; /* of the chains */
} gemel__pool;

void gemel__pool_clear(gemel__pool *pool);

/* What comparing finds: the same function; one wherever it was looked, which proves nothing; too
 * little to compare; a difference that may come from a character that stands for a sign; and one
 * that is certain. */
static const gemel__finding gemel__same = {GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_FIELD};
static const gemel__finding gemel__sampled = {GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_SAMPLES};
static const gemel__finding gemel__unseen = {GEMEL_VERDICT_UNINFORMATIVE, GEMEL_EVIDENCE_NONE};
static const gemel__finding gemel__doubtful = {GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_NONE};
static const gemel__finding gemel__different = {GEMEL_VERDICT_REFUTED, GEMEL_EVIDENCE_SAMPLES};

static inline int gemel__is_different(gemel__finding f) {
  return f.verdict == GEMEL_VERDICT_REFUTED && f.how != GEMEL_EVIDENCE_NONE;
}

/* What two graphs, LEFT and RIGHT, are compared for. */
typedef struct gemel__comparison {
  const gemel_graph *sides[2];
  const gemel_range *ranges; /* what is known of each input */
  int exact;                 /* 1: every bit is to stay, as far as inputs are finite */
  int infinite;              /* 1: at infinite inputs they have to agree, too */
} gemel__comparison;

/* By residues alone. */
gemel_status gemel__compare_fast(gemel__pool *pool, const gemel__comparison *comparison,
                                 gemel__finding *finding, gemel_error *error);

/* Where that decided nothing: by both models, at sizes that the graphs themselves suggest, the true
 * ones among them. A difference is then certain, and *SHOWN is a text, freed with gemel_text_free:
 * inputs at which both differ, and what they give; else NULL. */
gemel_status gemel__compare_surely(gemel__pool *pool, const gemel__comparison *comparison,
                                   gemel__finding *finding, char **shown, gemel_error *error);

#endif
