/* SPDX-License-Identifier: MIT
 *
 * Reverse mode. A first sweep upwards marks the nodes that depend on what is differentiated with
 * respect to; a second one downwards hands each marked node's cotangents to its operation's rule
 * and adds what comes back to the cotangents of its inputs.
 */
#include <gemel/grad.h>
#include <string.h>
#include "core/error.h"
#include "grad/sweep.h"

static void mark_active(gemel__sweep *s, size_t n_wrt, const gemel_value *wrt) {
  uint32_t count, j;
  for (size_t k = 0; k < n_wrt; k++) {
    gemel__sweep_activate(s, wrt[k].node);
  }
  for (size_t k = 0; k < s->n_nodes; k++) {
    const gemel__ref *inputs = gemel__node_inputs(s->graph, (uint32_t)k, &count);
    uint64_t any = 0;
    for (j = 0; j < count && any == 0; j++) {
      any = (uint64_t)gemel__sweep_active(s, inputs[j].node);
    }
    s->active[k / 64] |= any << k % 64;
  }
}

/* slot += COTANGENT; 0, or -1 with memory out or the error on the graph. */
static int accumulate(gemel__sweep *s, uint32_t *slot, gemel_value cotangent,
                      gemel_location where) {
  gemel_value sum = cotangent;
  if (*slot != 0) {
    gemel_value both[2];
    both[0] = gemel__sweep_get(s, slot);
    both[1] = cotangent;
    sum = gemel__apply(s->graph, GEMEL__OP_add, 0, 2, both, where);
  }
  return gemel_is_null(sum) ? -1 : gemel__sweep_set(s, slot, sum);
}

static gemel_status seed_outputs(gemel__sweep *s, size_t n, const gemel_value *outputs,
                                 const gemel_value *seeds, gemel_error *error) {
  size_t k;
  for (k = 0; k < n; k++) {
    gemel_type type = gemel_value_type(outputs[k]);
    gemel_value seed;
    if (!gemel__differentiable(s->graph, outputs[k].node, outputs[k].output)) {
      return gemel__bad_value(outputs[k], "output", k, "is not of a float dtype", error);
    }
    if (seeds == NULL && gemel_type_rank(s->graph->context, type) != 0) {
      return gemel__bad_value(outputs[k], "output", k, "is not a scalar and has no seed", error);
    }
    if (seeds != NULL && !gemel_type_equal(gemel_value_type(seeds[k]), type)) {
      return gemel__bad_value(seeds[k], "seed", k, "has not the type of its output", error);
    }
    seed =
        seeds != NULL ? seeds[k] : gemel__filled_like(outputs[k], 1, gemel_value_where(outputs[k]));
    if (gemel_is_null(seed) ||
        accumulate(s, gemel__sweep_slot(s, outputs[k].node, outputs[k].output), seed,
                   gemel_value_where(outputs[k])) != 0) {
      return gemel__sweep_fail(s, outputs[k].node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

/* 1 if some cotangent reaches NODE's outputs; they are put into the call. */
static int take_cotangents(gemel__sweep *s, uint32_t node) {
  int any = 0;
  for (size_t k = 0; k < s->call.n_outputs; k++) {
    s->call.d_outputs[k] = gemel__sweep_get(s, gemel__sweep_slot(s, node, (uint32_t)k));
    any |= !gemel_is_null(s->call.d_outputs[k]);
  }
  return any;
}

static int want_inputs(gemel__sweep *s) {
  int any = 0;
  for (size_t k = 0; k < s->call.n_inputs; k++) {
    gemel_value x = s->call.inputs[k];
    s->wanted[k] =
        gemel__sweep_active(s, x.node) && gemel__differentiable(s->graph, x.node, x.output);
    any |= s->wanted[k];
  }
  return any;
}

static int has_cotangent(gemel__sweep *s, uint32_t node) {
  uint32_t k, n = gemel__node_at(s->graph, node)->n_outputs;
  for (k = 0; k < n; k++) {
    if (*gemel__sweep_slot(s, node, k) != 0) {
      return 1;
    }
  }
  return 0;
}

/* Adds what the rule of NODE gave to the cotangents of its inputs. */
static gemel_status add_cotangents(gemel__sweep *s, uint32_t node, gemel_error *error) {
  int trusted = gemel__sweep_trusts(s, node);
  for (size_t k = 0; k < s->call.n_inputs; k++) {
    gemel_value x = s->call.inputs[k], cotangent = s->call.d_inputs[k];
    if (!s->wanted[k] || gemel_is_null(cotangent)) {
      continue;
    }
    if (!trusted && !gemel__sweep_fits(s, cotangent, x)) {
      return gemel__sweep_misfit(s, node, k, cotangent, x, error);
    }
    if (accumulate(s, gemel__sweep_slot(s, x.node, x.output), cotangent, s->call.where) != 0) {
      return gemel__sweep_fail(s, node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

/* Asks the rule of NODE, and adds what it gives to the cotangents of its inputs. */
static gemel_status reverse_node(gemel__sweep *s, uint32_t node, gemel_error *error) {
  if (gemel__node_at(s->graph, node)[1].in_begin == gemel__node_at(s->graph, node)->in_begin ||
      !has_cotangent(s, node)) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__sweep_call(s, node, error);
  if (status != GEMEL_OK || !take_cotangents(s, node) || !want_inputs(s)) {
    return status;
  }
  if (s->op->record.grad == NULL) {
    gemel__fail(error, GEMEL_NOT_DIFFERENTIABLE, "it has no gradient");
    return gemel__sweep_fail(s, node, GEMEL_NOT_DIFFERENTIABLE, error);
  }
  gemel__sweep_hush(error);
  status = s->op->record.grad(&s->call);
  if (status != GEMEL_OK || s->graph->error.status != GEMEL_OK) {
    return gemel__sweep_fail(s, node, status, error);
  }
  return add_cotangents(s, node, error);
}

static gemel_status collect(gemel__sweep *s, size_t n_wrt, const gemel_value *wrt,
                            gemel_value *gradients, gemel_error *error) {
  size_t k;
  for (k = 0; k < n_wrt; k++) {
    uint32_t *slot = gemel__sweep_slot(s, wrt[k].node, wrt[k].output);
    gradients[k] = *slot != 0 ? gemel__sweep_get(s, slot)
                              : gemel__filled_like(wrt[k], 0, gemel_value_where(wrt[k]));
    if (gemel_is_null(gradients[k])) {
      return gemel__sweep_fail(s, wrt[k].node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

static gemel_status sweep_down(gemel_graph *graph, size_t n_outputs, const gemel_value *outputs,
                               const gemel_value *seeds, size_t n_wrt, const gemel_value *wrt,
                               gemel_value *gradients, gemel_error *error) {
  gemel__sweep s;
  size_t k;
  gemel_status status = gemel__sweep_init(&s, graph, error);
  if (status != GEMEL_OK) {
    return status;
  }
  mark_active(&s, n_wrt, wrt);
  status = seed_outputs(&s, n_outputs, outputs, seeds, error);
  for (k = s.n_nodes; k-- > 0 && status == GEMEL_OK;) {
    if (gemel__sweep_active(&s, (uint32_t)k)) {
      status = reverse_node(&s, (uint32_t)k, error);
    }
  }
  if (status == GEMEL_OK) {
    status = collect(&s, n_wrt, wrt, gradients, error);
  }
  gemel__sweep_clear(&s);
  return status == GEMEL_OK ? gemel__debug_check(graph, error) : status;
}

gemel_status gemel_grad(size_t n_outputs, const gemel_value *outputs, const gemel_value *seeds,
                        size_t n_wrt, const gemel_value *wrt, gemel_value *gradients,
                        gemel_error *error) {
  gemel_error mine; /* on success the caller's stays as it is */
  gemel_graph *graph = NULL;
  gemel_status status = gemel__same_graph(n_outputs, outputs, "output", &graph, &mine);
  if (status == GEMEL_OK) {
    status = gemel__same_graph(n_wrt, wrt, "value to differentiate by", &graph, &mine);
  }
  if (status == GEMEL_OK && seeds != NULL) {
    status = gemel__same_graph(n_outputs, seeds, "seed", &graph, &mine);
  }
  if (status == GEMEL_OK && n_wrt > 0 && gradients == NULL) {
    status = gemel__fail(&mine, GEMEL_BAD_ARGUMENT, "there is no room for the gradients");
  }
  if (status == GEMEL_OK) {
    status = gemel__sweep_ready(graph, n_wrt, wrt, &mine);
  }
  if (status == GEMEL_OK) {
    status = sweep_down(graph, n_outputs, outputs, seeds, n_wrt, wrt, gradients, &mine);
  }
  if (status != GEMEL_OK && error != NULL) {
    *error = mine;
  }
  return status;
}

gemel_value gemel_gradient_at(gemel_value y, gemel_value x, gemel_location where) {
  gemel_error error;
  gemel_value gradient = {NULL, 0, 0};
  gemel_graph *graph = y.graph != NULL ? y.graph : x.graph;
  if (graph == NULL || graph->error.status != GEMEL_OK) {
    return gradient;
  }
  if (gemel_grad(1, &y, NULL, 1, &x, &gradient, &error) != GEMEL_OK) {
    return gemel__graph_fail_at(graph, where, error.status, "%s", error.text);
  }
  return gradient;
}
