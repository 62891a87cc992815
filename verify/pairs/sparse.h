/* SPDX-License-Identifier: MIT
 *
 * Sparse inputs. In the sum of a million numbers, one that is left out is less than rounding. So
 * large inputs are made zero, or one, but for a few places: corners, random ones, places at and
 * beside the numbers of the graph, and such in which two coordinates are so far apart. Whether one
 * of these is read then shows. A maximum shows one place alone, so the first and the last places of
 * an axis, and those at the graphs' numbers, have the greatest number, or the least, by turns.
 *
 * A count shows what it does beyond a number only where so many elements are alike. So inputs are
 * made level, too: one number in all places, or in the first so many, and 0 behind them.
 */
#ifndef GEMEL__PAIRS_SPARSE_H
#define GEMEL__PAIRS_SPARSE_H

#include "instances/instance.h"

enum {
  GEMEL__SPARSE_NUMBERS = 24,
  GEMEL__SPARSE_LEVELS = 40,
  /* The turns of gemel__sparse_put from which on one edge is sought, or inputs are level. */
  GEMEL__SPARSE_EDGE = 1000,
  GEMEL__SPARSE_LEVEL = 2000
};

typedef struct gemel__sparse {
  int64_t numbers[GEMEL__SPARSE_NUMBERS]; /* the largest in both graphs, without repetition */
  size_t n;
  int64_t levels[GEMEL__SPARSE_LEVELS]; /* small ones, numbers of both graphs and those beside */
  size_t n_levels;
} gemel__sparse;

/* Finds the numbers of A and B. */
void gemel__sparse_find(gemel__sparse *sparse, const gemel_graph *a, const gemel_graph *b);

/* How many turns there are at which inputs are level: at all sizes, and in the first places. */
size_t gemel__sparse_levels(const gemel__sparse *sparse);

/* Makes the large inputs among VALUES sparse; indices and small inputs stay as they are. One place
 * has the greatest number: the last element at TURN 0, the first at TURN 1, then any; from
 * GEMEL__SPARSE_EDGE on one edge after the other. From GEMEL__SPARSE_LEVEL on, all inputs but
 * indices are level. Returns 1 if an input was changed. */
int gemel__sparse_put(const gemel__sparse *sparse, const gemel__instance *instance, size_t turn,
                      gemel__random *random, gemel_tensor *const *values);

#endif
