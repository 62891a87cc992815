/* SPDX-License-Identifier: MIT
 *
 * How often the nodes of a graph are used, and what else is asked of the same graph again and again
 * by what works on it in turn.
 */
#ifndef GEMEL__PASSES_USES_H
#define GEMEL__PASSES_USES_H

#include "core/graph.h"

/* How often each node is used by nodes that an output needs, and as an output: n_nodes of them, to
 * be freed. NULL: memory is out. */
uint32_t *gemel__graph_uses(const gemel_graph *graph);

/* What was found out about a graph last. Zeroed at first. */
typedef struct gemel__use_counts {
  gemel_graph *graph; /* a reference; NULL: nothing yet */
  uint32_t *uses;
  uint64_t used, live; /* nodes that are; those and inputs */
  uint32_t widest;     /* how many inputs a node that is used has at most */
  int has_several;     /* a node that is used hasn't just one output */
  int has_bodies;      /* an attribute of a node that is used is a graph */
} gemel__use_counts;

/* Has COUNTS be of GRAPH, unless it is. GEMEL_NO_MEMORY. */
gemel_status gemel__use_counts_find(gemel__use_counts *counts, const gemel_graph *graph,
                                    gemel_error *error);

void gemel__use_counts_clear(gemel__use_counts *counts);

#endif
