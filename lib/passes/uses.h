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

/* What was found out about a graph last. Zeroed at first. A graph may be changed in place by nodes
 * behind its own; passes that had nothing to do before then need only look at what is new, or is
 * used otherwise. */
typedef struct gemel__use_counts {
  gemel_graph *graph;  /* a reference; NULL: nothing yet */
  uint32_t *uses;      /* NULL: the graph has changed */
  size_t n;            /* of them */
  uint64_t used, live; /* nodes that are; those and inputs */
  uint32_t widest;     /* how many inputs a node that is used has at most */
  uint32_t kinds;      /* of the dtypes of nodes that are used: a bit a gemel_kind */
  int has_several;     /* a node that is used hasn't just one output */
  int has_bodies;      /* an attribute of a node that is used is a graph */
  uint64_t idle;       /* a bit for each pass that found nothing to do in the graph as it is */
  uint64_t was_idle;   /* the same of the graph as it was when its nodes' uses were ... */
  uint32_t *seen;      /* ... these, N_SEEN of them; NULL: there was none */
  size_t n_seen;
} gemel__use_counts;

/* Has COUNTS be of GRAPH as it is. GEMEL_NO_MEMORY. */
gemel_status gemel__use_counts_find(gemel__use_counts *counts, const gemel_graph *graph,
                                    gemel_error *error);

/* The graph has changed in place. */
void gemel__use_counts_stale(gemel__use_counts *counts);

/* 1 if NODE, which is used, is new since COUNTS->seen, or wasn't used then, or its use by one node
 * alone has come or gone. */
static inline int gemel__use_changed(const gemel__use_counts *counts, uint32_t node) {
  return node >= counts->n_seen || counts->seen[node] == 0 ||
         (counts->seen[node] == 1) != (counts->uses[node] == 1);
}

void gemel__use_counts_clear(gemel__use_counts *counts);

#endif
