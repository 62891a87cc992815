/* SPDX-License-Identifier: MIT
 *
 * Are two small graphs with the same inputs the same function? Fast where they are.
 */
#ifndef GEMEL__VERIFY_COMPARE_H
#define GEMEL__VERIFY_COMPARE_H

#include <gemel/graph.h>
#include "domains/domain.h"
#include "sample/points.h"
#include "sample/random.h"

enum { GEMEL__LENGTHS = 2 };

/* Small chains of prime fields, each made when it is first needed and kept. Zeroed at first. */
typedef struct gemel__pool {
  gemel__domain *fields[GEMEL__LENGTHS];
  gemel__random random;
  uint64_t seed; /* of the chains */
} gemel__pool;

void gemel__pool_clear(gemel__pool *pool);

typedef enum gemel__likeness {
  GEMEL__SAME,     /* equal wherever it was looked */
  GEMEL__DOUBTFUL, /* a difference that may come from a character instead of a sign */
  GEMEL__NOT_SAME, /* a difference */
  GEMEL__UNSEEN    /* there was not enough to compare */
} gemel__likeness;

/* By residues alone. DOMAINS: what is known of each input. */
gemel_status gemel__compare_fast(gemel__pool *pool, const gemel_graph *left,
                                 const gemel_graph *right, const gemel_domain *domains,
                                 gemel__likeness *likeness, gemel_error *error);

/* Where that (*LIKENESS) left it open: exactly, at points; and a difference between residues that
 * no point shows is put to both models. NOT_SAME is then certain. */
gemel_status gemel__compare_surely(gemel__pool *pool, const gemel_graph *left,
                                   const gemel_graph *right, const gemel_domain *domains,
                                   gemel__likeness *likeness, gemel_error *error);

#endif
