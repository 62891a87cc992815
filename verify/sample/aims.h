/* SPDX-License-Identifier: MIT
 *
 * Aims: values of a graph's inputs at which something turns. A literal of a graph says where: in
 * `x < 7` at 7 and its neighbours, in `x * 8 == 98760` at 12345, and at whatever else becomes 98760
 * when it wraps. Few of them come up by chance, so they are planted among values drawn otherwise.
 */
#ifndef GEMEL__SAMPLE_AIMS_H
#define GEMEL__SAMPLE_AIMS_H

#include <gemel/graph.h>
#include "base/random.h"

/* At most so many for each input. */
enum { GEMEL__AIMS = 48 };

/* A number of a float dtype, or the bits of one of another. */
typedef union gemel__aim {
  double real;
  int64_t whole;
} gemel__aim;

typedef struct gemel__aims {
  size_t n_inputs;
  size_t most; /* aims of an input */
  struct gemel__aims_of {
    size_t count;
    gemel__aim at[GEMEL__AIMS];
  } * inputs;
} gemel__aims;

/* The aims of A's inputs, and of B's, a graph with the same inputs in the same order (NULL: none).
 * Of graphs of more than some hundred nodes there are none. Release with gemel__aims_clear.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__aims_of_graphs(const gemel_graph *a, const gemel_graph *b, gemel__aims *aims,
                                   gemel_error *error);
void gemel__aims_clear(gemel__aims *aims);

/* Puts aims among VALUES, packed tensors of the inputs: into about half of the elements of each
 * input that has any. Consecutive elements get consecutive aims, ROUND says which comes first, so
 * that rounds 0, 1, 2, ... reach them all. */
void gemel__aims_plant(const gemel__aims *aims, size_t round, gemel__random *random,
                       gemel_tensor *const *values);

#endif
