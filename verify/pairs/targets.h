/* SPDX-License-Identifier: MIT
 *
 * Points at which what the graphs of a pair compare meets, at the pair's own sizes: a count that is
 * exactly k, a sum at its threshold, an index at a literal.
 */
#ifndef GEMEL__PAIRS_TARGETS_H
#define GEMEL__PAIRS_TARGETS_H

#include "base/tick.h"
#include "pairs/pair.h"

/* What is done at a point. VALUES may be kept, and are NULL then. *STOP: 1 ends the search. */
typedef gemel_status (*gemel__target_visit)(void *user, gemel_tensor ***values, int *stop,
                                            gemel_error *error);

typedef struct gemel__targets {
  gemel__random *random;
  gemel__ticker *ticker; /* may be NULL */
  double elements;       /* of values that may be computed, in all */
  gemel__target_visit visit;
  void *user;
} gemel__targets;

/* Visits such points, and those beside them, of PAIR, which a visit that ends the search may clear.
 * GEMEL_NO_MEMORY, or what a visit returns. */
gemel_status gemel__targets_find(const gemel__pair *pair, const gemel__targets *how,
                                 gemel_error *error);

#endif
