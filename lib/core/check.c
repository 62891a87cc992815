/* SPDX-License-Identifier: MIT
 *
 * The checker: proves a graph well-formed after a pass. One sweep over the nodes in the order of
 * ids: inputs come before the node and exist, and the type rule, run again, gives the types that
 * are stored.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/apply.h"
#include "core/error.h"
#include "core/graph.h"

struct room {
  gemel_value *values;
  gemel_type *types;
  gemel_type *outputs;
  size_t n_values, n_types, n_outputs;
};

static int make_room(struct room *r, size_t inputs, size_t outputs) {
  return gemel__grow(&r->values, &r->n_values, inputs + 1, sizeof *r->values) ||
         gemel__grow(&r->types, &r->n_types, inputs + 1, sizeof *r->types) ||
         gemel__grow(&r->outputs, &r->n_outputs, outputs + 1, sizeof *r->outputs);
}

static gemel_status check_inputs(const gemel_graph *graph, uint32_t id, struct room *r,
                                 gemel_error *error) {
  uint32_t count, k;
  const gemel__ref *inputs = gemel__node_inputs(graph, id, &count);
  if (make_room(r, count, gemel__node_at(graph, id)->n_outputs) != 0) {
    return gemel__no_memory(error, "checking a graph");
  }
  for (k = 0; k < count; k++) {
    if (inputs[k].node >= id ||
        inputs[k].output >= gemel__node_at(graph, inputs[k].node)->n_outputs) {
      return gemel__fail(error, GEMEL_INTERNAL, "node %u (%s): input %u is not a value before it",
                         id, gemel__node_op(graph, id)->record.name, k);
    }
    r->values[k] = gemel__value(graph, inputs[k]);
    r->types[k] = gemel__node_type(graph, inputs[k].node, inputs[k].output);
  }
  return GEMEL_OK;
}

static gemel_status check_node(const gemel_graph *graph, uint32_t id, struct room *r,
                               gemel_error *error) {
  const gemel__node *node = gemel__node_at(graph, id);
  const gemel__op *op = gemel__node_op(graph, id);
  size_t n_outputs, k;
  uint32_t count;
  gemel_status status = check_inputs(graph, id, r, error);
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__node_inputs(graph, id, &count);
  status = gemel__infer(graph->context, op, node->attrs, count, r->types, r->values, r->n_outputs,
                        &n_outputs, r->outputs, error);
  if (status != GEMEL_OK) {
    gemel__error_prefix(error, "node %u (%s)", id, op->record.name);
    return status == GEMEL_NO_MEMORY ? status : GEMEL_INTERNAL;
  }
  for (k = 0; k < node->n_outputs; k++) {
    if (n_outputs != node->n_outputs || r->outputs[k] != gemel__node_type(graph, id, (uint32_t)k)) {
      return gemel__fail(error, GEMEL_INTERNAL,
                         "node %u (%s): output %zu has not the type that "
                         "the operation gives",
                         id, op->record.name, k);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel_graph_check(const gemel_graph *graph, gemel_error *error) {
  struct room r;
  gemel_status status = GEMEL_OK;
  size_t k;
  memset(&r, 0, sizeof r);
  for (k = 0; k < graph->n_nodes && status == GEMEL_OK; k++) {
    status = check_node(graph, (uint32_t)k, &r, error);
  }
  for (k = 0; k < graph->n_outputs && status == GEMEL_OK; k++) {
    if (graph->outputs[k].node >= graph->n_nodes) {
      status = gemel__fail(error, GEMEL_INTERNAL, "output %s is no value", graph->output_names[k]);
    }
  }
  gemel__free(r.values, r.n_values * sizeof *r.values);
  gemel__free(r.types, r.n_types * sizeof *r.types);
  gemel__free(r.outputs, r.n_outputs * sizeof *r.outputs);
  return status;
}
