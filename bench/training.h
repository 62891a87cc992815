/* SPDX-License-Identifier: MIT
 *
 * Training graphs of any size: a loss, and its gradient by every parameter, built with the public
 * builders as a program would build them.
 */
#ifndef GEMEL__BENCH_TRAINING_H
#define GEMEL__BENCH_TRAINING_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/graph.h>

/* The parameters of a model, in the order in which they were made. */
typedef struct gemel__parameters {
  gemel_value *values, *gradients;
  size_t count, room;
} gemel__parameters;

typedef struct gemel__training {
  const char *name;
  const char *unit; /* what SIZE counts: blocks, or steps */
  /* Builds the loss of a model of SIZE units (at least 1), a scalar; null on failure, with the
   * error on GRAPH. Parameters are appended to P. */
  gemel_value (*loss)(gemel_graph *graph, uint64_t size, gemel__parameters *p);
} gemel__training;

/* Ends with one whose name is NULL. */
extern const gemel__training gemel__trainings[];

/* Appends the gradient of LOSS by all of P. */
gemel_status gemel__training_gradient(gemel_value loss, gemel__parameters *p, gemel_error *error);

/* Makes LOSS and the gradients outputs. */
gemel_status gemel__training_outputs(gemel_value loss, const gemel__parameters *p,
                                     gemel_error *error);

void gemel__parameters_free(gemel__parameters *p);

/* How much work a graph is: the nodes that an output needs, those among them that are neither
 * inputs nor constants, those among these that are views and that are convolutions, and 2 × the
 * multiplications in their matrix products and convolutions (all sizes must be numbers). */
typedef struct gemel__work {
  uint64_t nodes, operations, views, convolutions;
  double flops;
} gemel__work;
gemel__work gemel__work_of(gemel_graph *graph);

#endif
