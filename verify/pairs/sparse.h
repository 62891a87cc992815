/* SPDX-License-Identifier: MIT
 *
 * Sparse inputs. In the sum of a million numbers, one that is left out is less than rounding. So
 * large inputs are made zero, or one, but for a few places: corners, random ones, places at and
 * beside the numbers of the graph, and such in which two coordinates are so far apart. Whether one
 * of these is read then shows.
 */
#ifndef GEMEL__PAIRS_SPARSE_H
#define GEMEL__PAIRS_SPARSE_H

#include "instances/instance.h"

enum { GEMEL__SPARSE_NUMBERS = 24 };

typedef struct gemel__sparse {
  int64_t numbers[GEMEL__SPARSE_NUMBERS]; /* the largest in both graphs, without repetition */
  size_t n;
} gemel__sparse;

/* Finds the numbers of A and B. */
void gemel__sparse_find(gemel__sparse *sparse, const gemel_graph *a, const gemel_graph *b);

/* Makes the large inputs among VALUES sparse; indices and small inputs stay as they are. One place
 * has the greatest number: the last element at TURN 0, the first at TURN 1, then any. Returns 1 if
 * an input was large. */
int gemel__sparse_put(const gemel__sparse *sparse, const gemel__instance *instance, size_t turn,
                      gemel__random *random, gemel_tensor *const *values);

#endif
