/* SPDX-License-Identifier: MIT
 *
 * Finds the inputs whose root is taken, see roots.h: from each root back to the input, through what
 * moves elements and through sums.
 */
#include "equal/roots.h"

#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"

static int is_root(uint32_t op) {
  return op == GEMEL__OP_sqrt || op == GEMEL__OP_log;
}

/* 1 if the result is positive where the operands are. */
static int keeps_signs(uint32_t op) {
  switch (op) {
  case GEMEL__OP_add:
  case GEMEL__OP_broadcast_to:
  case GEMEL__OP_cast:
  case GEMEL__OP_dimshuffle:
  case GEMEL__OP_reshape:
  case GEMEL__OP_subtensor:
  case GEMEL__OP_sum:
    return 1;
  default:
    return 0;
  }
}

gemel_status gemel__roots_make_positive(gemel__pair *pair, gemel_error *error) {
  const gemel_graph *graph = pair->a.graph;
  unsigned char *wanted = gemel__alloc_zeroed(graph->n_nodes + 1);
  if (wanted == NULL) {
    return gemel__no_memory(error, "values");
  }
  for (uint32_t k = (uint32_t)graph->n_nodes; k-- > 0;) {
    uint32_t op = gemel__node_at(graph, k)->op, n;
    const gemel__ref *inputs = gemel__node_inputs(graph, k, &n);
    for (uint32_t i = 0; i < n && (is_root(op) || (wanted[k] && keeps_signs(op))); i++) {
      wanted[inputs[i].node] = 1;
    }
  }
  for (size_t k = 0; k < pair->a.n_leaves; k++) {
    if (wanted[gemel_graph_input(graph, k).node] && gemel__is_float(pair->a.leaves[k].dtype)) {
      pair->a.leaves[k].facts |= GEMEL_FACT_POSITIVE;
    }
  }
  gemel__free(wanted, graph->n_nodes + 1);
  return GEMEL_OK;
}
