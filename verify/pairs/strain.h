/* SPDX-License-Identifier: MIT
 *
 * Looks for inputs at which the second graph loses what the first has, somewhere inside: a softmax
 * without its maximum behind ten layers, a variance as a difference of squares. Such inputs strain
 * the arithmetic: weights that are large, rows that lie far from 0, a multiple of the identity.
 */
#ifndef GEMEL__PAIRS_STRAIN_H
#define GEMEL__PAIRS_STRAIN_H

#include "base/tick.h"
#include "pairs/flips.h"

/* Runs A and B, which are equal over the reals, by the shipped code at their own sizes, and in f64
 * beside that. If the second one worsens on the first at several points, and improves on it at
 * hardly any, FOUND has the word `worsens` and a witness; release that whatever the status. Graphs
 * that take too long, or have no float narrower than f64, aren't run. GEMEL_NO_MEMORY. */
gemel_status gemel__strain_find(const gemel_graph *a, const gemel_graph *b, gemel__random *random,
                                gemel__ticker *ticker, gemel__flip *found, gemel_error *error);

#endif
