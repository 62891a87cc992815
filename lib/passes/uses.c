/* SPDX-License-Identifier: MIT
 *
 * See uses.h. What uses a node has a larger id, so one sweep down the ids does: when a node is
 * reached, it is known whether anything needs it.
 */
#include "passes/uses.h"

#include "core/alloc.h"

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
