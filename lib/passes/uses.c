/* SPDX-License-Identifier: MIT
 *
 * See uses.h. What uses a node has a larger id, so one sweep down the ids does: when a node is
 * reached, it is known whether anything needs it. Walking through a graph of a million nodes takes
 * milliseconds, and there is much that wants to know of the same one.
 */
#include "passes/uses.h"

#include "core/alloc.h"
#include "core/attrs.h"

/* Counts what is to be known of NODE, which is used and has COUNT inputs. */
static inline void note(gemel__use_counts *counts, const gemel_graph *graph,
                        const gemel__node *node, uint32_t count) {
  counts->used++;
  counts->widest = count > counts->widest ? count : counts->widest;
  counts->has_several |= node->n_outputs != 1;
  counts->has_bodies |=
      node->attrs != 0 && gemel__attrs_at(graph->context, node->attrs)->nesting > 0;
}

/* Fills in COUNTS->uses, zeros at first, and the rest. */
static void sweep(gemel__use_counts *counts, const gemel_graph *graph) {
  uint32_t *uses = counts->uses;
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
    note(counts, graph, &graph->nodes[k], count);
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
  if (counts->graph == graph) {
    return GEMEL_OK;
  }
  gemel__use_counts_clear(counts);
  uint32_t *uses = gemel__alloc_array(graph->n_nodes, sizeof *uses);
  if (uses == NULL) {
    return gemel__no_memory(error, "rewriting");
  }
  *counts = (gemel__use_counts){.graph = gemel_graph_ref((gemel_graph *)graph), .uses = uses};
  sweep(counts, graph);
  return GEMEL_OK;
}

void gemel__use_counts_clear(gemel__use_counts *counts) {
  if (counts->graph != NULL) {
    gemel__free(counts->uses, counts->graph->n_nodes * sizeof *counts->uses);
    gemel_graph_unref(counts->graph);
  }
  *counts = (gemel__use_counts){NULL};
}
