/* SPDX-License-Identifier: MIT
 *
 * Left sides with symbols, see symbols.h.
 */
#include "rules/claim-symbols.h"

#include "core/attrs.h"
#include "ops/ops.h"

enum { MOST_NODES = 128, MOST_OPERANDS = 40 };

static const gemel_location nowhere = {NULL, 0};

static const char *const names[GEMEL__CLAIM_SYMBOLS] = {"s0", "s1", "s2", "s3", "s4",  "s5",
                                                        "s6", "s7", "s8", "s9", "s10", "s11"};

/* 1 if an axis of SIZE gets a symbol. Of size 1 none does: only a literal 1 is repeated. */
static int gets_symbol(int64_t size, const gemel__claim_sizes *sizes, gemel__random *random) {
  return sizes->count < GEMEL__CLAIM_SYMBOLS && size != 1 && gemel__random_chance(random, 7, 8);
}

static gemel_type symbolic_type(gemel_context *context, gemel_type type, gemel__random *random,
                                gemel__claim_sizes *sizes) {
  int rank = gemel_type_rank(context, type);
  gemel_dim dims[GEMEL_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    int64_t size = 0;
    dims[k] = gemel_type_dims(context, type)[k];
    gemel_dim_is_constant(context, dims[k], &size);
    if (gets_symbol(size, sizes, random)) {
      sizes->names[sizes->count] = names[sizes->count];
      dims[k] = gemel_dim_symbol(context, names[sizes->count]);
      sizes->sizes[sizes->count++] = size;
    }
  }
  return gemel__type_with_dims(context, type, rank, dims);
}

/* Node K of LEFT in INTO, applied to the nodes in MAP. */
static void copy_node(const gemel_graph *left, uint32_t k, gemel_graph *into, uint32_t *map) {
  gemel_value inputs[MOST_OPERANDS];
  uint32_t count;
  const gemel__node *node = gemel__node_at(left, k);
  const gemel__ref *refs = gemel__node_inputs(left, k, &count);
  for (uint32_t j = 0; j < count && j < MOST_OPERANDS; j++) {
    inputs[j] = gemel__value(into, (gemel__ref){map[refs[j].node], refs[j].output});
  }
  map[k] = count > MOST_OPERANDS
               ? gemel__graph_fail(into, GEMEL_UNSUPPORTED, "too many operands").node
               : gemel__apply(into, node->op, node->attrs, count, inputs, nowhere).node;
}

static gemel_status copy(const gemel_graph *left, gemel__random *random, gemel__claim_sizes *sizes,
                         gemel_graph *into) {
  uint32_t map[MOST_NODES];
  for (uint32_t k = 0; k < left->n_nodes && gemel_graph_error(into)->status == GEMEL_OK; k++) {
    long input = gemel__input_index(left, k);
    if (input < 0) {
      copy_node(left, k, into, map);
      continue;
    }
    gemel_value old = gemel_graph_input(left, (size_t)input);
    gemel_type type = symbolic_type(left->context, gemel_value_type(old), random, sizes);
    map[k] = gemel__input_like(into, gemel_graph_input_name(left, (size_t)input), type, old).node;
  }
  gemel_value root = gemel_graph_output(left, 0);
  GEMEL__TRY(gemel_graph_error(into)->status);
  return gemel_output(gemel__value(into, (gemel__ref){map[root.node], root.output}),
                      gemel_graph_output_name(left, 0));
}

gemel_status gemel__claim_symbolic(const gemel_graph *left, gemel__random *random,
                                   gemel__claim_sizes *sizes, gemel_graph **symbolic) {
  sizes->count = 0;
  *symbolic = NULL;
  if (left->n_nodes > MOST_NODES) {
    return GEMEL_OK;
  }
  gemel_graph *graph = gemel_graph_new(left->context, NULL);
  gemel_status status = graph != NULL ? copy(left, random, sizes, graph) : GEMEL_NO_MEMORY;
  if (status == GEMEL_OK && sizes->count > 0) {
    *symbolic = graph;
    return GEMEL_OK;
  }
  gemel_graph_unref(graph);
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}
