/* SPDX-License-Identifier: MIT
 *
 * Recurrent networks as loops, as text, and the matrix products in them.
 */
#ifndef GEMEL__BENCH_RECURRENT_H
#define GEMEL__BENCH_RECURRENT_H

#include <gemel/graph.h>
#include "blas.h"

/* A network: a loop over rows x w or, where the products with w are left to others, rows x. */
typedef struct gemel__network {
  const char *name;
  const char *body; /* the text of the graph "step" */
  const char *matrices,
      *operands; /* the recurrent matrices, as inputs of a graph and as operands */
  int states, gates, rows_given;
} gemel__network;

/* Ends with one whose name is NULL. */
extern const gemel__network gemel__networks[];

typedef struct gemel__recurrent_sizes {
  int steps, batch, units;
} gemel__recurrent_sizes;

/* The graph of the state h after each step; GRADIENT: of loss, the sum of h * dy, with its gradient
 * by every input but dy. NULL with *ERROR. */
gemel_graph *gemel__network_graph(gemel_context *context, const gemel__network *network,
                                  const gemel__recurrent_sizes *sizes, int gradient,
                                  gemel_error *error);

/* The products of a call without the rest of it, by a library. COUNT times in turn on rows that
 * follow each other, each product on what lies there: all numbers are 0.01. */
typedef struct gemel__products {
  const gemel__blas *library;
  struct {
    int count;
    gemel__gemm product;
  } parts[6];
  int n;
  float *memory;
} gemel__products;

/* GRADIENT: with those of the gradient. Release the memory with free. */
void gemel__products_open(gemel__products *p, const gemel__network *network,
                          const gemel__recurrent_sizes *sizes, int gradient);

/* Computes them: the RUN of a contender. */
void gemel__products_run(void *products);

#endif
