/* SPDX-License-Identifier: MIT
 *
 * Constant folding: an operation on constants is computed once, by the kernels that would compute
 * it at run time, so its bits are the same. What would make the graph bigger (a broadcast, a range)
 * stays as it is.
 */
#include <string.h>
#include <gemel/function.h>
#include "core/alloc.h"
#include "core/cons.h"
#include "passes/engine.h"

enum { LARGE = 4096 };

static const gemel_tensor *constant_at(const gemel_graph *graph, gemel__ref value) {
  const gemel__node *node = gemel__node_at(graph, value.node);
  if (strcmp(gemel__node_op(graph, value.node)->record.name, "constant") != 0) {
    return NULL;
  }
  return gemel__attrs_at(graph->context, node->attrs)->values[0].u.tensor;
}

/* 1 if all inputs are constants and there is one; *ELEMENTS is how many they have together. */
static int all_constant(const gemel_graph *graph, uint32_t node, int64_t *elements) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  *elements = 0;
  for (uint32_t k = 0; k < count; k++) {
    const gemel_tensor *tensor = constant_at(graph, inputs[k]);
    if (tensor == NULL) {
      return 0;
    }
    *elements += gemel_tensor_elements(tensor);
  }
  return count > 0;
}

/* Elements of a value, if its type tells. */
static int64_t elements_of(const gemel_graph *graph, uint32_t node) {
  const struct gemel__type *type = gemel__type_at(graph->context, gemel__node_type(graph, node, 0));
  int64_t n = 1, size;
  for (int k = 0; k < type->rank; k++) {
    if (!gemel_dim_is_constant(graph->context, type->dims[k], &size) || size > LARGE) {
      return INT64_MAX;
    }
    n *= size;
  }
  return n;
}

/* Computes the node by itself, in a graph of its own. */
static gemel_tensor *compute(const gemel_graph *graph, uint32_t node, gemel_error *error) {
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, node, &count);
  gemel_graph *alone = gemel_graph_new(graph->context, error);
  gemel_value *operands = gemel__alloc_array(count, sizeof *operands), made = {NULL, 0, 0};
  gemel_tensor *result = NULL;
  if (alone != NULL && operands != NULL) {
    for (uint32_t k = 0; k < count; k++) {
      const gemel__node *input = gemel__node_at(graph, inputs[k].node);
      operands[k] = gemel__apply(alone, input->op, input->attrs, 0, NULL, (gemel_location){"", 0});
    }
    made = gemel__apply(alone, graph->nodes[node].op, graph->nodes[node].attrs, count, operands,
                        (gemel_location){"", 0});
  } else if (operands == NULL) {
    gemel__no_memory(error, "a constant");
  }
  if (!gemel_is_null(made) && gemel_output(made, "folded") == GEMEL_OK) {
    gemel_evaluate(alone, NULL, &result, error);
  } else if (alone != NULL && operands != NULL) {
    *error = *gemel_graph_error(alone);
  }
  gemel__free(operands, count * sizeof *operands);
  gemel_graph_unref(alone);
  return result;
}

int gemel__fold(gemel_graph *graph, uint32_t node, gemel__ref *value) {
  int64_t given, made;
  const gemel__node *record = gemel__node_at(graph, node);
  gemel_location where = gemel__node_where(graph, node);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  if (record->n_outputs != 1 || !all_constant(graph, node, &given)) {
    return 0;
  }
  made = elements_of(graph, node);
  if (made > LARGE || made > given) {
    return 0;
  }
  gemel_tensor *tensor = compute(graph, node, &error);
  if (tensor == NULL) { /* what fails at run time may: it is not for us to say when */
    return error.status == GEMEL_NO_MEMORY ? -1 : 0;
  }
  gemel_value constant = gemel_constant_at(graph, tensor, where);
  gemel_tensor_unref(tensor);
  value->node = constant.node;
  value->output = 0;
  return gemel_is_null(constant) ? -1 : 1;
}
