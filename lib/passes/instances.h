/* SPDX-License-Identifier: MIT
 *
 * Drawing graphs on which gemel's own passes fire.
 */
#ifndef GEMEL__PASSES_INSTANCES_H
#define GEMEL__PASSES_INSTANCES_H

#include <gemel/graph.h>

typedef struct gemel__drawing {
  gemel_graph *graph;
  uint64_t (*random)(void *user);
  void *user;
  gemel_dtype dtype;
} gemel__drawing;

/* A number below N, which is small. */
uint64_t gemel__draw_below(const gemel__drawing *d, uint64_t n);

/* What draws on GRAPH by RANDOM and USER in a dtype that it chooses, an integer or a float. */
gemel__drawing gemel__draw_on(gemel_graph *graph, uint64_t (*random)(void *user), void *user,
                              int integer);

/* The same, with inputs: x of two axes, y that broadcasts to it; and a number from 1 to 9. */
gemel__drawing gemel__draw_start(gemel_graph *graph, uint64_t (*random)(void *user), void *user,
                                 int integer, gemel_value in[3]);

/* NUMBER in the dtype. */
gemel_value gemel__draw_number(const gemel__drawing *d, double number);

/* Operation OP on one or two values; Y null: one. */
gemel_value gemel__draw_apply(const gemel__drawing *d, const char *op, gemel_value x,
                              gemel_value y);

#endif
