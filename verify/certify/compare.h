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

enum { GEMEL__LENGTHS = 2 };

/* Small chains of prime fields, each made when it is first needed and kept. Zeroed at first. */
typedef struct gemel__pool {
  gemel__domain *fields[GEMEL__LENGTHS];
  gemel__random random;
  uint64_t seed; /* of the chains */
} gemel__pool;

void gemel__pool_clear(gemel__pool *pool);

typedef enum gemel__likeness {
  GEMEL__ALIKE,    /* the same function, decided */
  GEMEL__SAMPLED,  /* equal wherever it was looked, and that is all there is to say */
  GEMEL__DOUBTFUL, /* a difference that may come from a character instead of a sign */
  GEMEL__UNLIKE,   /* a difference */
  GEMEL__UNSEEN    /* there was not enough to compare */
} gemel__likeness;

/* What two graphs, LEFT and RIGHT, are compared for. */
typedef struct gemel__comparison {
  const gemel_graph *sides[2];
  const gemel_range *ranges; /* what is known of each input */
  int exact;                 /* 1: every bit is to stay, as far as inputs are finite */
  int infinite;              /* 1: at infinite inputs they have to agree, too */
} gemel__comparison;

/* By residues alone. */
gemel_status gemel__compare_fast(gemel__pool *pool, const gemel__comparison *comparison,
                                 gemel__likeness *likeness, gemel_error *error);

/* Where that (*LIKENESS) decided nothing: exactly, at points and sizes that the graphs themselves
 * suggest, the true ones among them; and by both models. UNLIKE is then certain, and *SHOWN is a
 * text, freed with gemel_text_free: inputs at which both differ, and what they give; else NULL. */
gemel_status gemel__compare_surely(gemel__pool *pool, const gemel__comparison *comparison,
                                   gemel__likeness *likeness, char **shown, gemel_error *error);

#endif
