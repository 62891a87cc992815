/* SPDX-License-Identifier: MIT
 *
 * Where two graphs part: values that are equal at a witness, an input at which the graphs differ,
 * are matched, and the first nodes without a match are named, or made a smaller pair.
 */
#ifndef GEMEL__PAIRS_ALIGN_H
#define GEMEL__PAIRS_ALIGN_H

#include "pairs/pair.h"

/* ALL = INSTANCE with the value of each node as an output, in the nodes' order; *OUTPUTS = the
 * outputs of its graph as values of ALL's, an array to be freed. 0: there are more nodes than are
 * looked at, or memory is out; nothing is to be released then. */
int gemel__expose(const gemel__instance *instance, gemel__instance *all, gemel_value **outputs);

/* Writes to TEXT which nodes of A and B are the first that have no match in the other graph
 * although all their inputs have one. TEXT is "" if the graphs can't be aligned (too large, or all
 * values match). */
void gemel__align(const gemel__instance *a, const gemel__instance *b, gemel_tensor *const *values,
                  char *text, size_t bytes);

/* Replaces a pair that differs at VALUES by a smaller pair that differs, and VALUES by its inputs.
 * The smaller pair returns an output that differs or, if both graphs apply the same operation
 * there, the operands that differ. Values that both graphs have are its inputs. Returns 1 if that
 * was done, 0 if the pair stays as it is: it is too large, has no such part, or domain O doesn't
 * refute the part. */
int gemel__part(gemel__pair *pair, gemel_tensor ***values);

#endif
