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
  uint32_t count, j;
  for (size_t k = 0; k < n; k++) {
    gemel__sweep_activate(s, outputs[k].node);
  }
  for (size_t k = s->n_nodes; k-- > 0;) {
    if (gemel__sweep_active(s, (uint32_t)k)) {
      const gemel__ref *inputs = gemel__node_inputs(s->graph, (uint32_t)k, &count);
      for (j = 0; j < count; j++) {
        gemel__sweep_activate(s, inputs[j].node);
      }
    }
  }
}

static int reached(gemel__sweep *s, uint32_t node) {
  uint32_t count, k;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &count);
  for (k = 0; k < count; k++) {
    if (*gemel__sweep_slot(s, inputs[k].node, inputs[k].output) != 0) {
      return 1;
    }
  }
  return 0;
}

/* Puts what the rule of NODE gave into the slots of its outputs. */
static gemel_status take_tangents(gemel__sweep *s, uint32_t node, gemel_error *error) {
  int trusted = gemel__sweep_trusts(s, node);
  for (size_t k = 0; k < s->call.n_outputs; k++) {
    uint32_t *slot = gemel__sweep_slot(s, node, (uint32_t)k);
    gemel_value tangent = s->call.d_outputs[k];
    /* a value given as WRT keeps the tangent that the caller gave */
    if (*slot != 0 || gemel_is_null(tangent)) {
      continue;
    }
    if (!trusted && !gemel__sweep_fits(s, tangent, s->call.outputs[k])) {
      return gemel__sweep_misfit(s, node, k, tangent, s->call.outputs[k], error);
    }
    if (gemel__sweep_set(s, slot, tangent) != 0) {
      return gemel__sweep_fail(s, node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

static gemel_status forward_node(gemel__sweep *s, uint32_t node, gemel_error *error) {
  if (!reached(s, node)) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__sweep_call(s, node, error);
  if (status != GEMEL_OK) {
    return status;
  }
  for (size_t k = 0; k < s->call.n_inputs; k++) {
    gemel_value x = s->call.inputs[k];
    s->call.d_inputs[k] = gemel__sweep_get(s, gemel__sweep_slot(s, x.node, x.output));
    s->wanted[k] = !gemel_is_null(s->call.d_inputs[k]);
  }
  if (s->op->record.jvp == NULL) {
    for (size_t k = 0; k < s->call.n_outputs; k++) {
      if (gemel__differentiable(s->graph, node, (uint32_t)k)) {
        gemel__fail(error, GEMEL_NOT_DIFFERENTIABLE, "it has no forward derivative");
        return gemel__sweep_fail(s, node, GEMEL_NOT_DIFFERENTIABLE, error);
      }
    }
    return GEMEL_OK;
  }
  gemel__sweep_hush(error);
  status = s->op->record.jvp(&s->call);
  if (status != GEMEL_OK || s->graph->error.status != GEMEL_OK) {
    return gemel__sweep_fail(s, node, status, error);
  }
  return take_tangents(s, node, error);
}

static gemel_status check_tangents(size_t n_wrt, const gemel_value *wrt,
                                   const gemel_value *tangents, gemel_error *error) {
  size_t k;
  for (k = 0; k < n_wrt; k++) {
    if (!gemel_type_equal(gemel_value_type(tangents[k]), gemel_value_type(wrt[k]))) {
      return gemel__bad_value(tangents[k], "tangent", k, "has not the type of its value", error);
    }
  }
  return GEMEL_OK;
}

/* Puts the tangents into the slots of WRT; those of a value that stands there twice add up. */
static gemel_status place_tangents(gemel__sweep *s, size_t n_wrt, const gemel_value *wrt,
                                   const gemel_value *tangents, gemel_error *error) {
  size_t k;
  for (k = 0; k < n_wrt; k++) {
    uint32_t *slot = gemel__sweep_slot(s, wrt[k].node, wrt[k].output);
    gemel_value tangent = tangents[k];
    if (*slot != 0) {
      gemel_value both[2] = {gemel__sweep_get(s, slot), tangent};
      tangent = gemel_apply_at(s->graph, "add", 2, both, 0, NULL, gemel_value_where(wrt[k]));
    }
    if (gemel_is_null(tangent) || gemel__sweep_set(s, slot, tangent) != 0) {
      return gemel__sweep_fail(s, wrt[k].node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

static gemel_status collect(gemel__sweep *s, size_t n, const gemel_value *outputs,
                            gemel_value *derivatives, gemel_error *error) {
  size_t k;
  for (k = 0; k < n; k++) {
    uint32_t *slot = gemel__sweep_slot(s, outputs[k].node, outputs[k].output);
    derivatives[k] = *slot != 0 ? gemel__sweep_get(s, slot)
                                : gemel__filled_like(outputs[k], 0, gemel_value_where(outputs[k]));
    if (gemel_is_null(derivatives[k])) {
      return gemel__sweep_fail(s, outputs[k].node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

static gemel_status sweep_up(gemel_graph *graph, size_t n_outputs, const gemel_value *outputs,
                             size_t n_wrt, const gemel_value *wrt, const gemel_value *tangents,
                             gemel_value *derivatives, gemel_error *error) {
  gemel__sweep s;
  size_t k;
  gemel_status status = gemel__sweep_init(&s, graph, error);
  if (status != GEMEL_OK) {
    return status;
  }
  mark_needed(&s, n_outputs, outputs);
  status = place_tangents(&s, n_wrt, wrt, tangents, error);
  for (k = 0; k < s.n_nodes && status == GEMEL_OK; k++) {
    if (gemel__sweep_active(&s, (uint32_t)k)) {
      status = forward_node(&s, (uint32_t)k, error);
    }
  }
  if (status == GEMEL_OK) {
    status = collect(&s, n_outputs, outputs, derivatives, error);
  }
  gemel__sweep_clear(&s);
  return status == GEMEL_OK ? gemel__debug_check(graph, error) : status;
}

gemel_status gemel_jvp(size_t n_outputs, const gemel_value *outputs, size_t n_wrt,
                       const gemel_value *wrt, const gemel_value *tangents,
                       gemel_value *derivatives, gemel_error *error) {
  gemel_error mine; /* on success the caller's stays as it is */
  gemel_graph *graph = NULL;
  gemel_status status = gemel__same_graph(n_outputs, outputs, "output", &graph, &mine);
  if (status == GEMEL_OK) {
    status = gemel__same_graph(n_wrt, wrt, "value to differentiate by", &graph, &mine);
  }
  if (status == GEMEL_OK) {
    status = gemel__same_graph(n_wrt, tangents, "tangent", &graph, &mine);
  }
  if (status == GEMEL_OK && n_outputs > 0 && derivatives == NULL) {
    status = gemel__fail(&mine, GEMEL_BAD_ARGUMENT, "there is no room for the derivatives");
  }
  if (status == GEMEL_OK) {
    status = gemel__sweep_ready(graph, n_wrt, wrt, &mine);
  }
  if (status == GEMEL_OK) {
    status = check_tangents(n_wrt, wrt, tangents, &mine);
  }
  if (status == GEMEL_OK) {
    status = sweep_up(graph, n_outputs, outputs, n_wrt, wrt, tangents, derivatives, &mine);
  }
  if (status != GEMEL_OK && error != NULL) {
    *error = mine;
  }
  return status;
}
