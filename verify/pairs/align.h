/* SPDX-License-Identifier: MIT
 *
 * Where do two graphs part? Nodes with equal values at a witness are matched.
 */
#ifndef GEMEL__PAIRS_ALIGN_H
#define GEMEL__PAIRS_ALIGN_H

#include "pairs/pair.h"

/* Writes to TEXT which nodes of A and B are the first whose inputs all have a match in the other
 * graph but whose own value has none; "" if the graphs can't be aligned (too large, or values
 * match). */
void gemel__align(const gemel__instance *a, const gemel__instance *b, gemel_tensor *const *values,
                  char *text, size_t bytes);

/* Replaces a pair that differs at VALUES by its smallest part that can be found: from an output
 * that differs back to values that should have been equal (both graphs apply the same operation to
 * them and to values that are equal), and these from values that both graphs have, which become
 * inputs. VALUES are replaced with it. 1 if that was done, 0 if the pair stays as it is: too large,
 * no such part, or none that domain O tells apart. */
int gemel__part(gemel__pair *pair, gemel_tensor ***values);

#endif
