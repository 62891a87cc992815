/* SPDX-License-Identifier: MIT
 *
 * Drawing graphs on which gemel's own passes fire.
 */
#ifndef GEMEL__PASSES_INSTANCES_H
#define GEMEL__PASSES_INSTANCES_H

#include <gemel/graph.h>

typedef struct gemel__drawing {
  gemel_graph *graph;
  uint64_t (*random)(void *state);
  void *state;
  gemel_dtype dtype;
} gemel__drawing;

/* A number below N, which is small. */
uint64_t gemel__draw_below(const gemel__drawing *d, uint64_t n);

/* Chooses the dtype: an integer, or a float. */
void gemel__draw_dtype(gemel__drawing *d, int integer);

/* Inputs: x of two axes, y that broadcasts to it; and a number from 1 to 9. */
void gemel__draw_inputs(const gemel__drawing *d, gemel_value in[3]);

/* NUMBER in the dtype. */
gemel_value gemel__draw_number(const gemel__drawing *d, double number);

/* Operation OP on one or two values; Y null: one. */
gemel_value gemel__draw_apply(const gemel__drawing *d, const char *op, gemel_value x,
                              gemel_value y);

#endif
