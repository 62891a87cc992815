/* SPDX-License-Identifier: MIT
 *
 * Forward mode. Going up in the order of ids, each node that a tangent reaches and an output needs
 * hands its inputs' tangents to its operation's rule.
 */
#include <gemel/grad.h>
#include <string.h>
#include "core/error.h"
#include "grad/sweep.h"

/* Marks what the outputs need. */
static void mark_needed(gemel__sweep *s, size_t n, const gemel_value *outputs) {
  size_t k;
  uint32_t count, j;
  for (k = 0; k < n; k++) {
    s->active[outputs[k].node] = 1;
  }
  for (k = s->n_nodes; k-- > 0;) {
    if (s->active[k]) {
      const gemel__ref *inputs = gemel__node_inputs(s->graph, (uint32_t)k, &count);
      for (j = 0; j < count; j++) {
        s->active[inputs[j].node] = 1;
      }
    }
  }
}

static int reached(gemel__sweep *s, uint32_t node) {
  uint32_t count, k;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &count);
  for (k = 0; k < count; k++) {
    if (gemel__sweep_slot(s, inputs[k].node, inputs[k].output)->node != UINT32_MAX) {
      return 1;
    }
  }
  return 0;
}

static gemel_status forward_node(gemel__sweep *s, uint32_t node, gemel_error *error) {
  const gemel__op *op = gemel__node_op(s->graph, node);
  gemel_status status;
  size_t k;
  if (!reached(s, node)) {
    return GEMEL_OK;
  }
  status = gemel__sweep_call(s, node, error);
  if (status != GEMEL_OK) {
    return status;
  }
  for (k = 0; k < s->call.n_inputs; k++) {
    gemel_value x = s->call.inputs[k];
    s->call.in_cotangents[k] = gemel__sweep_get(s, gemel__sweep_slot(s, x.node, x.output));
    s->wanted[k] = !gemel_is_null(s->call.in_cotangents[k]);
  }
  if (op->record.jvp == NULL) {
    for (k = 0; k < s->call.n_outputs; k++) {
      if (gemel__differentiable(s->graph, node, (uint32_t)k)) {
        gemel__fail(error, GEMEL_NOT_DIFFERENTIABLE, "it has no forward derivative");
        return gemel__sweep_fail(s, node, GEMEL_NOT_DIFFERENTIABLE, error);
      }
    }
    return GEMEL_OK;
  }
  status = op->record.jvp(&s->call);
  if (status != GEMEL_OK || s->graph->error.status != GEMEL_OK) {
    return gemel__sweep_fail(s, node, status, error);
  }
  for (k = 0; k < s->call.n_outputs; k++) {
    gemel__ref *slot = gemel__sweep_slot(s, node, (uint32_t)k);
    /* a value given as WRT keeps the tangent that the caller gave */
    if (slot->node == UINT32_MAX && !gemel_is_null(s->call.out_cotangents[k])) {
      slot->node = s->call.out_cotangents[k].node;
      slot->output = s->call.out_cotangents[k].output;
    }
  }
  return GEMEL_OK;
}

static gemel_status check_tangents(const gemel_graph *graph, size_t n_wrt, const gemel_value *wrt,
                                   const gemel_value *tangents, gemel_error *error) {
  size_t k;
  for (k = 0; k < n_wrt; k++) {
    if (!gemel__differentiable(graph, wrt[k].node, wrt[k].output)) {
      return gemel__fail(error, GEMEL_BAD_TYPE,
                         "value %zu to differentiate by is not of a float "
                         "dtype",
                         k);
    }
    if (gemel_value_type(tangents[k]) != gemel_value_type(wrt[k])) {
      return gemel__fail(error, GEMEL_BAD_TYPE, "tangent %zu has not the type of its value", k);
    }
  }
  return GEMEL_OK;
}

static gemel_status collect(gemel__sweep *s, size_t n, const gemel_value *outputs,
                            gemel_value *derivatives, gemel_error *error) {
  size_t k;
  for (k = 0; k < n; k++) {
    gemel__ref *slot = gemel__sweep_slot(s, outputs[k].node, outputs[k].output);
    derivatives[k] = slot->node != UINT32_MAX
                         ? gemel__sweep_get(s, slot)
                         : gemel__filled_like(outputs[k], 0, gemel_value_where(outputs[k]));
    if (gemel_is_null(derivatives[k])) {
      return gemel__sweep_fail(s, outputs[k].node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel_jvp(size_t n_outputs, const gemel_value *outputs, size_t n_wrt,
                       const gemel_value *wrt, const gemel_value *tangents,
                       gemel_value *derivatives, gemel_error *error) {
  gemel_error mine;
  gemel__sweep s;
  gemel_graph *graph;
  gemel_status status;
  size_t k;
  error = error != NULL ? error : &mine;
  graph = gemel__one_graph(n_outputs, outputs, n_wrt, wrt, error);
  if (graph == NULL || gemel__one_graph(n_wrt, tangents, 1, outputs, error) == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  status = check_tangents(graph, n_wrt, wrt, tangents, error);
  if (status == GEMEL_OK && graph->error.status != GEMEL_OK) {
    *error = graph->error;
    status = error->status;
  }
  if (status != GEMEL_OK || (status = gemel__sweep_init(&s, graph, error)) != GEMEL_OK) {
    return status;
  }
  mark_needed(&s, n_outputs, outputs);
  for (k = 0; k < n_wrt; k++) {
    gemel__ref ref = {tangents[k].node, tangents[k].output};
    *gemel__sweep_slot(&s, wrt[k].node, wrt[k].output) = ref;
  }
  for (k = 0; k < s.n_nodes && status == GEMEL_OK; k++) {
    if (s.active[k]) {
      status = forward_node(&s, (uint32_t)k, error);
    }
  }
  if (status == GEMEL_OK) {
    status = collect(&s, n_outputs, outputs, derivatives, error);
  }
  gemel__sweep_clear(&s);
  return status;
}
