/* SPDX-License-Identifier: MIT
 *
 * Finds inputs at which a comparison in a pair's graphs is just met, at the pair's own sizes: a
 * count that is exactly k, a sum at its threshold, an index at a literal.
 */
#ifndef GEMEL__PAIRS_TARGETS_H
#define GEMEL__PAIRS_TARGETS_H

#include "base/tick.h"
#include "pairs/pair.h"

/* Called at each point. It may keep VALUES, and sets them to NULL then. *STOP = 1 ends the
 * search. */
typedef gemel_status (*gemel__target_visit)(void *user, gemel_tensor ***values, int *stop,
                                            gemel_error *error);

typedef struct gemel__targets {
  gemel__random *random;
  gemel__ticker *ticker; /* may be NULL */
  double elements;       /* how many elements of values may be computed in all */
  gemel__target_visit visit;
  void *user;
} gemel__targets;

/* Calls the visit at such points of PAIR and beside them. A visit that ends the search may clear
 * PAIR. GEMEL_NO_MEMORY, or what a visit returns. */
gemel_status gemel__targets_find(const gemel__pair *pair, const gemel__targets *how,
                                 gemel_error *error);

#endif
