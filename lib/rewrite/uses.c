/* SPDX-License-Identifier: MIT
 *
 * Counting uses. What uses a node has a larger id, so one sweep down the ids does: when a node is
 * reached, it is known whether anything needs it.
 */
#include "rewrite/uses.h"

#include "core/alloc.h"

/* Counts node K, which is used. */
static void note(gemel__uses *uses, const gemel_graph *graph, uint32_t k) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(graph, k, &count);
  uses->used++;
  uses->widest = count > uses->widest ? count : uses->widest;
  for (uint32_t j = 0; j < count; j++) {
    uses->of[in[j].node]++;
  }
}

gemel_status gemel__uses_find(gemel__uses *uses, const gemel_graph *graph, gemel_error *error) {
  *uses = (gemel__uses){.of = gemel__alloc_array(graph->n_nodes, sizeof *uses->of),
                        .n = graph->n_nodes};
  if (uses->of == NULL) {
    return gemel__no_memory(error, "rewriting");
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    uses->of[graph->outputs[k].node]++;
  }
  for (size_t k = graph->n_nodes; k-- > 0;) {
    if (uses->of[k] > 0) {
      note(uses, graph, (uint32_t)k);
    } else {
      uses->live += graph->nodes[k].op == GEMEL__OP_input;
    }
  }
  uses->live += uses->used;
  return GEMEL_OK;
}

void gemel__uses_clear(gemel__uses *uses) {
  gemel__free(uses->of, uses->n * sizeof *uses->of);
  *uses = (gemel__uses){0};
}
