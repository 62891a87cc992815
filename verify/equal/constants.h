/* SPDX-License-Identifier: MIT
 *
 * Folded constants: what an optimiser folds is a float, what it folded a real number.
 */
#ifndef GEMEL__EQUAL_CONSTANTS_H
#define GEMEL__EQUAL_CONSTANTS_H

#include <gemel/graph.h>
#include "base/tick.h"

/* A pair with folded constants taken for the real numbers that they stand for. A or B is NULL where
 * there is none in that graph. */
typedef struct gemel__folded {
  gemel_graph *a, *b;
  size_t count; /* of constants */
} gemel__folded;

/* 1 if the graphs agree over the reals, as far as a look can tell. */
typedef int (*gemel__agree)(void *user, const gemel_graph *a, const gemel_graph *b);

/* Looks for constants of A and B that are folded from the other's, and takes them for what they
 * stand for, if the graphs AGREE then. Such a one is a float constant which the other graph hasn't,
 * and which some correct implementation may have computed from the other's constants (offers.h),
 * element by element within twice the bound of domain B. FOLDED is empty if there are none, or the
 * graphs don't agree even so, or TICKER (may be NULL) says stop. GEMEL_NO_MEMORY. */
gemel_status gemel__constants_fold(const gemel_graph *a, const gemel_graph *b, gemel__agree agree,
                                   void *user, gemel__ticker *ticker, gemel__folded *folded,
                                   gemel_error *error);
void gemel__folded_clear(gemel__folded *folded);

#endif
