/* SPDX-License-Identifier: MIT
 *
 * Looks for inputs at which rounding decides otherwise in one graph than in the other: an integer
 * or a truth that isn't the same, or a float result that is made of one. The shipped code runs both
 * graphs at their own sizes, at random inputs and where a result of one graph jumps: there the
 * number that decides is within its rounding error of the threshold.
 */
#ifndef GEMEL__PAIRS_FLIPS_H
#define GEMEL__PAIRS_FLIPS_H

#include "base/tick.h"
#include "pairs/needs.h"

/* The work of all runs (gemel__pair_work) of a search, some seconds at most; and of one that is one
 * of many, some hundredths. */
#define GEMEL__FLIPS_ALL 1e9
#define GEMEL__FLIPS_FEW 1e7

typedef struct gemel__flip {
  gemel__witness witness; /* VALUES are NULL if none was found */
  unsigned words;         /* that say it, as bits: `integers`, or kinds of rounding */
  int decided;            /* 1: rounding decides some result, so there was something to search */
} gemel__flip;

/* Integers among VALUES that aren't indices become the largest of their dtype, at odd TURNs the
 * least, but for a few that are one nearer to 0; at two of four turns one at the same place of
 * each. So the sums and products are the largest that there are. Truths become 1 likewise. */
void gemel__put_largest(const gemel__instance *instance, size_t turn, gemel__random *random,
                        gemel_tensor *const *values);

/* Searches for a difference between A and B that are equal over the reals, until all runs have done
 * WORK, or TICKER (may be NULL) says stop. Float results that a truth only chooses are looked at if
 * CHOICES says so; the word for a difference there is not `integers`, but that of the arithmetic in
 * which the graphs differ. Nothing is run unless rounding decides some result (decided.h). Release
 * FLIP's witness whatever the status. GEMEL_NO_MEMORY. */
gemel_status gemel__flips_find(const gemel_graph *a, const gemel_graph *b, int choices, double work,
                               gemel__random *random, gemel__ticker *ticker, gemel__flip *flip,
                               gemel_error *error);

#endif
