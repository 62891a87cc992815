/* SPDX-License-Identifier: MIT
 *
 * See uses.h. What uses a node has a larger id, so one sweep down the ids does: when a node is
 * reached, it is known whether anything needs it. Walking through a graph of a million nodes takes
 * milliseconds, and there is much that wants to know of the same one.
 */
#include "passes/uses.h"

#include "core/alloc.h"
#include "core/attrs.h"

uint32_t *gemel__graph_uses(const gemel_graph *graph) {
  uint32_t *uses = gemel__alloc_array(graph->n_nodes, sizeof *uses);
  if (uses == NULL) {
    return NULL;
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    uses[graph->outputs[k].node]++;
  }
  for (size_t k = graph->n_nodes; k-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(graph, (uint32_t)k, &count);
    for (uint32_t j = 0; uses[k] > 0 && j < count; j++) {
      uses[in[j].node]++;
    }
  }
  return uses;
}

static int has_bodies(const gemel_graph *graph) {
  for (size_t k = 0; k < graph->n_nodes; k++) {
    if (graph->nodes[k].attrs != 0 &&
        gemel__attrs_at(graph->context, graph->nodes[k].attrs)->nesting > 0) {
      return 1;
    }
  }
  return 0;
}

gemel_status gemel__use_counts_find(gemel__use_counts *counts, const gemel_graph *graph,
                                    gemel_error *error) {
  if (counts->graph == graph) {
    return GEMEL_OK;
  }
  gemel__use_counts_clear(counts);
  uint32_t *uses = gemel__graph_uses(graph);
  if (uses == NULL) {
    return gemel__no_memory(error, "rewriting");
  }
  *counts = (gemel__use_counts){gemel_graph_ref((gemel_graph *)graph), uses, 0, has_bodies(graph)};
  for (size_t k = 0; k < graph->n_nodes; k++) {
    counts->live += uses[k] > 0 || graph->nodes[k].op == graph->context->input_op;
  }
  return GEMEL_OK;
}

void gemel__use_counts_clear(gemel__use_counts *counts) {
  if (counts->graph != NULL) {
    gemel__free(counts->uses, counts->graph->n_nodes * sizeof *counts->uses);
    gemel_graph_unref(counts->graph);
  }
  *counts = (gemel__use_counts){NULL, NULL, 0, 0};
}
