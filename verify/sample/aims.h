/* SPDX-License-Identifier: MIT
 *
 * Aims: input values at which a graph with literals changes its behaviour. For `x < 7` these are 7
 * and its neighbours; for `x * 8 == 98760`, 12345 and every other x for which the product wraps to
 * 98760. Random values seldom hit them, so they are written among the values drawn otherwise.
 */
#ifndef GEMEL__SAMPLE_AIMS_H
#define GEMEL__SAMPLE_AIMS_H

#include <gemel/graph.h>
#include "base/random.h"

/* Most aims for each input. */
enum { GEMEL__AIMS = 48 };

/* A number of a float dtype, or an integer as int64_t bits. */
typedef union gemel__aim {
  double real;
  int64_t whole;
} gemel__aim;

typedef struct gemel__aims {
  size_t n_inputs;
  size_t most; /* the largest count of aims of an input */
  struct gemel__aims_of {
    size_t count;
    gemel__aim at[GEMEL__AIMS];
  } * inputs;
} gemel__aims;

/* Finds the aims of A's inputs, and of B's: a graph with the same inputs in the same order, or
 * NULL. Graphs of more than some hundred nodes get none. Release with gemel__aims_clear.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__aims_of_graphs(const gemel_graph *a, const gemel_graph *b, gemel__aims *aims,
                                   gemel_error *error);
void gemel__aims_clear(gemel__aims *aims);

/* Writes aims into about half of the elements of each input that has any. VALUES are packed
 * tensors. Consecutive elements get consecutive aims; ROUND chooses the first one, so that rounds
 * 0, 1, 2, ... reach them all. */
void gemel__aims_plant(const gemel__aims *aims, size_t round, gemel__random *random,
                       gemel_tensor *const *values);

#endif
