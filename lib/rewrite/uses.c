/* SPDX-License-Identifier: MIT
 *
 * Counting uses. What uses a node has a larger id, so one sweep down the ids does: when a node is
 * reached, it is known whether anything needs it.
 */
#include "rewrite/uses.h"

#include "core/alloc.h"

/* Counts a use of VALUE, and of its node. */
static void use(gemel__uses *uses, const gemel_graph *graph, gemel__ref value) {
  size_t number = gemel__value_number(graph, value);
  uses->of[value.node]++;
  uses->of[number] += number != value.node;
}

/* Counts node K, which is used. */
static void note(gemel__uses *uses, const gemel_graph *graph, uint32_t k) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(graph, k, &count);
  uses->used++;
  uses->widest = count > uses->widest ? count : uses->widest;
  for (uint32_t j = 0; j < count; j++) {
    use(uses, graph, in[j]);
  }
}

gemel_status gemel__uses_find(gemel__uses *uses, const gemel_graph *graph, gemel_error *error) {
  size_t n = gemel__value_count(graph);
  *uses = (gemel__uses){.of = gemel__alloc_array(n, sizeof *uses->of), .n = n};
  if (uses->of == NULL) {
    return gemel__no_memory(error, "rewriting");
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    use(uses, graph, graph->outputs[k]);
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
