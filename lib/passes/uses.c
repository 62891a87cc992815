/* SPDX-License-Identifier: MIT
 *
 * See uses.h. What uses a node has a larger id, so one sweep down the ids does: when a node is
 * reached, it is known whether anything needs it. Walking through a graph of a million nodes takes
 * milliseconds, and there is much that wants to know of the same one.
 */
#include "passes/uses.h"

#include "core/alloc.h"
#include "core/attrs.h"
#include "core/dtype.h"

/* The kind of the dtype of a node's results: its bit; all bits where there are several. */
static uint32_t kind_bit(const gemel_graph *graph, uint32_t type) {
  return type & GEMEL__SEVERAL ? UINT32_MAX
                               : 1u << gemel_dtype_kind(gemel_type_dtype(graph->context, type));
}

/* Counts what is to be known of node K, which is used and has COUNT inputs; the last one that was
 * counted had results of type *LAST. */
static inline void note(gemel__use_counts *counts, const gemel_graph *graph, size_t k,
                        uint32_t count, uint32_t *last) {
  const gemel__node *node = &graph->nodes[k];
  if (graph->node_types[k] != *last) {
    *last = graph->node_types[k];
    counts->kinds |= kind_bit(graph, *last);
  }
  counts->used++;
  counts->widest = count > counts->widest ? count : counts->widest;
  counts->has_several |= node->n_outputs != 1;
  counts->has_bodies |=
      node->attrs != 0 && gemel__attrs_at(graph->context, node->attrs)->nesting > 0;
}

/* Fills in COUNTS->uses, zeros at first, and the rest. */
static void sweep(gemel__use_counts *counts, const gemel_graph *graph) {
  uint32_t *uses = counts->uses, last = UINT32_MAX;
  counts->used = counts->live = 0;
  counts->widest = counts->kinds = 0;
  counts->has_several = counts->has_bodies = 0;
  for (size_t k = 0; k < graph->n_outputs; k++) {
    uses[graph->outputs[k].node]++;
  }
  for (size_t k = graph->n_nodes; k-- > 0;) {
    uint32_t count;
    if (uses[k] == 0) {
      counts->live += graph->nodes[k].op == graph->context->input_op;
      continue;
    }
    const gemel__ref *in = gemel__node_inputs(graph, (uint32_t)k, &count);
    note(counts, graph, k, count, &last);
    for (uint32_t j = 0; j < count; j++) {
      uses[in[j].node]++;
    }
  }
  counts->live += counts->used;
}

uint32_t *gemel__graph_uses(const gemel_graph *graph) {
  gemel__use_counts counts = {.uses = gemel__alloc_array(graph->n_nodes, sizeof *counts.uses)};
  if (counts.uses != NULL) {
    sweep(&counts, graph);
  }
  return counts.uses;
}

gemel_status gemel__use_counts_find(gemel__use_counts *counts, const gemel_graph *graph,
                                    gemel_error *error) {
  if (counts->graph == graph && counts->uses != NULL) {
    return GEMEL_OK;
  }
  if (counts->graph != graph) {
    gemel__use_counts_clear(counts);
  }
  uint32_t *uses = gemel__alloc_array(graph->n_nodes, sizeof *uses);
  if (uses == NULL) {
    return gemel__no_memory(error, "rewriting");
  }
  if (counts->graph == NULL) {
    counts->graph = gemel_graph_ref((gemel_graph *)graph);
  }
  counts->uses = uses;
  counts->n = graph->n_nodes;
  sweep(counts, graph);
  return GEMEL_OK;
}

void gemel__use_counts_stale(gemel__use_counts *counts) {
  if (counts->idle == 0) {
    gemel__free(counts->uses, counts->n * sizeof *counts->uses);
  } else {
    gemel__free(counts->seen, counts->n_seen * sizeof *counts->seen);
    counts->seen = counts->uses;
    counts->n_seen = counts->n;
    counts->was_idle = counts->idle;
  }
  counts->uses = NULL;
  counts->idle = 0;
}

void gemel__use_counts_clear(gemel__use_counts *counts) {
  if (counts->graph != NULL) {
    gemel__free(counts->uses, counts->n * sizeof *counts->uses);
    gemel__free(counts->seen, counts->n_seen * sizeof *counts->seen);
    gemel_graph_unref(counts->graph);
  }
  *counts = (gemel__use_counts){NULL};
}
