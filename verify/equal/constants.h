/* SPDX-License-Identifier: MIT
 *
 * Recognizes folded constants. An optimiser folds W * s, a tensor of real numbers, into V, its
 * elements rounded. So dot(x, W) * s and dot(x, V) differ over the reals; they are equal if V is
 * taken for W * s.
 */
#ifndef GEMEL__EQUAL_CONSTANTS_H
#define GEMEL__EQUAL_CONSTANTS_H

#include <gemel/graph.h>
#include "base/tick.h"

/* A pair whose folded constants are replaced by the expressions that they were folded from. A or B
 * is NULL if that graph has none. */
typedef struct gemel__folded {
  gemel_graph *a, *b;
  size_t count; /* how many constants were replaced */
} gemel__folded;

/* Returns 1 if the graphs agree over the reals, at the points that it tries. */
typedef int (*gemel__agree)(void *user, const gemel_graph *a, const gemel_graph *b);

/* Replaces constants of A and B that are folded from the other graph's, if the graphs AGREE then. A
 * constant counts as folded if it is a float, the other graph doesn't have it, and a correct
 * implementation may have computed it from the other's constants (offers.h): each element within
 * twice the bound of domain B. If that isn't enough, values computed from such constants alone are
 * replaced likewise, or else constants that the other graph has. FOLDED is empty if there are none,
 * the graphs don't agree even then, or TICKER (may be NULL) says stop. GEMEL_NO_MEMORY. */
gemel_status gemel__constants_fold(const gemel_graph *a, const gemel_graph *b, gemel__agree agree,
                                   void *user, gemel__ticker *ticker, gemel__folded *folded,
                                   gemel_error *error);
void gemel__folded_clear(gemel__folded *folded);

/* GRAPH with the expressions of BY in place of constants that they were folded to, or of values
 * computed from such, the nearest if there are several; whether the graphs agree then isn't asked.
 * *COUNT: how many constants were replaced, *ROUNDED: how many of these aren't the very number.
 * NULL if there is none, or on GEMEL_NO_MEMORY. */
gemel_graph *gemel__constants_unfold(const gemel_graph *graph, const gemel_graph *by,
                                     gemel__ticker *ticker, size_t *count, size_t *rounded,
                                     gemel_error *error);

#endif
