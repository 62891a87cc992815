/* SPDX-License-Identifier: MIT
 *
 * Where graphs are defined. A call that ends in an error, such as an index outside of a tensor or
 * sizes that should be equal, is a result like others: if one graph ends in an error where the
 * other doesn't, they aren't the same function. Both are run at small sizes, equal and different, 0
 * and 1 among them, with integers within and beside what an index may be, and with floats and
 * truths of which a computed index comes to either end. Where no result would have an element, an
 * error is no difference.
 */
#ifndef GEMEL__PAIRS_DEFINED_H
#define GEMEL__PAIRS_DEFINED_H

#include "pairs/pair.h"
#include "base/tick.h"

typedef struct gemel__defined {
  int narrows; /* 1: the second graph ends in an error where the first doesn't */
  int widens;  /* 1: the first graph does where the second doesn't */
  /* Of NARROWS if there is any, else of WIDENS: */
  gemel__pair pair;
  gemel_tensor **values; /* NULL: sizes alone are refused */
  char sizes[120];       /* "N = 2, M = 3"; "" if there are no symbols */
  char problem[200];     /* the error */
} gemel__defined;

/* 1 if STATUS, of a run, says that a graph isn't defined there, not that something else failed. */
int gemel__refuses(gemel_status status);

/* Compares where A and B are defined, until TICKER (may be NULL) says stop. Release with
 * gemel__defined_clear whatever the status. GEMEL_NO_MEMORY. */
gemel_status gemel__defined_compare(const gemel_graph *a, const gemel_graph *b,
                                    gemel__random *random, gemel__ticker *ticker,
                                    gemel__defined *defined, gemel_error *error);
void gemel__defined_clear(gemel__defined *defined);

#endif
