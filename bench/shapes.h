/* SPDX-License-Identifier: MIT
 *
 * Big graphs to measure with. Each has one input, "x", as node 0, exactly N elementwise nodes after
 * it, and one output, "y", that needs all of them.
 */
#ifndef GEMEL__BENCH_SHAPES_H
#define GEMEL__BENCH_SHAPES_H

#include <stdint.h>
#include <gemel/graph.h>

typedef struct gemel__shape {
  const char *name;
  gemel_value (*build)(gemel_graph *graph, gemel_value x, uint64_t nodes, uint64_t seed);
} gemel__shape;

/* The shapes; the last has a NULL name. BUILD returns the last node, or the null value with the
 * error on GRAPH. */
extern const gemel__shape gemel__shapes[];

#endif
