/* SPDX-License-Identifier: MIT
 *
 * Reverse mode. A first sweep upwards marks the nodes that depend on what is differentiated with
 * respect to; a second one downwards hands each marked node's cotangents to its operation's rule
 * and adds what comes back to the cotangents of its inputs.
 */
#include <gemel/grad.h>
#include <string.h>
#include "core/error.h"
#include "core/fault.h"
#include "core/make.h"
#include "grad/replay.h"

/* ---- Looking ahead ----
 * In a big graph almost every look at an input, and at the cotangent that waits there, misses the
 * caches. The order of the sweep is known, so what a node needs is fetched while others are done:
 * DISTANT nodes ahead its record and inputs, FAR ahead its inputs' slots, NEAR ahead what lies
 * where these point to, CLOSE ahead what else is needed where many nodes have one cotangent. */
enum { DISTANT = 96, FAR = 40, NEAR = 20, CLOSE = 8 };

static void mark_active(gemel__sweep *s, size_t n_wrt, const gemel_value *wrt) {
  size_t k;
  uint32_t count, j;
  for (k = 0; k < n_wrt; k++) {
    gemel__sweep_activate(s, wrt[k].node);
  }
  for (k = 0; k < s->n_nodes; k++) {
    const gemel__ref *inputs = gemel__node_inputs(s->graph, (uint32_t)k, &count);
    uint64_t any = 0;
    for (j = 0; j < count && any == 0; j++) {
      any = (uint64_t)gemel__sweep_active(s, inputs[j].node);
    }
    s->active[k / 64] |= any << k % 64;
  }
}

/* What holds for the next two of the same type, if A and B have one and so has their SUM. */
static void learn_sum(gemel__sweep *s, gemel_value a, gemel_value b, gemel_value sum) {
  gemel_type type = gemel__node_type(s->graph, sum.node, sum.output);
  if (a.output == 0 && b.output == 0 && gemel__stored_type(s->graph, a.node) == type &&
      gemel__stored_type(s->graph, b.node) == type) {
    s->sum_type = type;
  }
}

/* slot += COTANGENT; 0, or -1 with memory out or the error on the graph. */
static int accumulate(gemel__sweep *s, uint32_t *slot, gemel_value cotangent,
                      gemel_location where) {
  gemel_value sum = cotangent;
  if (*slot != 0 && !GEMEL__FAULT(grad_not_accumulated)) {
    gemel_value both[2];
    both[0] = gemel__sweep_get(s, slot);
    both[1] = cotangent;
    sum = gemel__apply(s->graph, s->op_add, 0, 2, both, where);
    if (!gemel_is_null(sum)) {
      learn_sum(s, both[0], cotangent, sum);
    }
  }
  return gemel_is_null(sum) ? -1 : gemel__sweep_set(s, slot, sum);
}

/* The same for a COTANGENT of TYPE, the only output of its node, as many are. */
static GEMEL__INLINE int accumulate_more(gemel__sweep *s, uint32_t *slot, uint32_t cotangent,
                                         gemel_type type, gemel_location where) {
  uint32_t waiting = *slot - 1, sum;
  gemel__ref both[2] = {{waiting, 0}, {cotangent, 0}};
  if (*slot == 0) {
    *slot = cotangent + 1;
    return 0;
  }
  if (type == s->sum_type && !(*slot & GEMEL__SEVERAL) &&
      gemel__stored_type(s->graph, waiting) == type && !GEMEL__FAULT(grad_not_accumulated) &&
      gemel__cons_make(s->graph, s->op_add, 0, 2, both, type, where, &sum) == GEMEL_OK) {
    *slot = sum + 1;
    return 0;
  }
  return accumulate(s, slot, gemel__value(s->graph, both[1]), where);
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
    if (seeds != NULL && gemel_value_type(seeds[k]) != type) {
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
  size_t k;
  int any = 0;
  for (k = 0; k < s->call.n_outputs; k++) {
    s->call.out_cotangents[k] = gemel__sweep_get(s, gemel__sweep_slot(s, node, (uint32_t)k));
    any |= !gemel_is_null(s->call.out_cotangents[k]);
  }
  return any;
}

/* As gemel__differentiable; most values have the type of the one before. */
static inline int differentiable(gemel__sweep *s, gemel_value x) {
  gemel_type type = gemel__node_type(s->graph, x.node, x.output);
  if (type != s->float_type) {
    if (!gemel__differentiable(s->graph, x.node, x.output)) {
      return 0;
    }
    s->float_type = type;
  }
  return 1;
}

static int want_inputs(gemel__sweep *s) {
  size_t k;
  int any = 0;
  for (k = 0; k < s->call.n_inputs; k++) {
    gemel_value x = s->call.inputs[k];
    s->wanted[k] = gemel__sweep_active(s, x.node) && differentiable(s, x);
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
  size_t k;
  for (k = 0; k < s->call.n_inputs; k++) {
    gemel_value x = s->call.inputs[k], cotangent = s->call.in_cotangents[k];
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

/* As add_cotangents, of what recipes gave. */
static gemel_status add_replayed(gemel__sweep *s, uint32_t node, const gemel__replayed *r,
                                 gemel_error *error) {
  uint32_t k;
  for (k = 0; k < r->n_inputs; k++) {
    if (r->any[k] && accumulate_more(s, gemel__sweep_slot(s, r->inputs[k], 0), r->cotangents[k],
                                     r->types[k], r->where) != 0) {
      return gemel__sweep_fail(s, node, GEMEL_NO_MEMORY, error);
    }
  }
  return GEMEL_OK;
}

/* Asks the rule of NODE. */
static gemel_status reverse_by_rule(gemel__sweep *s, uint32_t node, gemel_error *error) {
  gemel_status status = gemel__sweep_call(s, node, error);
  if (status != GEMEL_OK) {
    return status;
  }
  if (!take_cotangents(s, node) || !want_inputs(s)) {
    return GEMEL_OK;
  }
  if (s->op->record.grad == NULL) {
    gemel__fail(error, GEMEL_NOT_DIFFERENTIABLE, "it has no gradient");
    return gemel__sweep_fail(s, node, GEMEL_NOT_DIFFERENTIABLE, error);
  }
  gemel__sweep_hush(error);
  status = s->op->record.grad(&s->call);
  if (status == GEMEL_OK && s->graph->error.status == GEMEL_OK) {
    gemel__replay_learn(s, node);
  }
  if (status != GEMEL_OK || s->graph->error.status != GEMEL_OK) {
    return gemel__sweep_fail(s, node, status, error);
  }
  return add_cotangents(s, node, error);
}

static gemel_status reverse_node(gemel__sweep *s, uint32_t node, gemel_error *error) {
  gemel__replayed replayed;
  if (gemel__node_at(s->graph, node)[1].in_begin == gemel__node_at(s->graph, node)->in_begin ||
      !has_cotangent(s, node)) {
    return GEMEL_OK;
  }
  return gemel__replay(s, node, &replayed) ? add_replayed(s, node, &replayed, error)
                                           : reverse_by_rule(s, node, error);
}

static void fetch_node(const gemel_graph *graph, uint32_t node) {
  const gemel__node *record = gemel__node_at(graph, node);
  gemel__prefetch(record - (DISTANT - FAR));
  if (record->in_begin >= 2 * (DISTANT - FAR)) { /* as if each had two inputs */
    gemel__prefetch(&graph->pool[record->in_begin - 2 * (DISTANT - FAR)]);
  }
}

static void fetch_slots(gemel__sweep *s, uint32_t node) {
  uint32_t count, k;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &count);
  for (k = 0; k < count && k < 4; k++) {
    uint32_t input = inputs[k].node;
    gemel__fetch_type(s->graph, input);
    gemel__prefetch(&s->active[input / 64]);
    gemel__prefetch(s->first_slot != NULL ? (void *)&s->first_slot[input] : &s->slots[input]);
  }
}

/* The node of the cotangent of a value; UINT32_MAX: none is there, or none that is looked up soon.
 */
static GEMEL__INLINE uint32_t waiting_at(gemel__sweep *s, uint32_t node, uint32_t output) {
  uint32_t slot = *gemel__sweep_slot(s, node, output);
  return slot & GEMEL__SEVERAL ? UINT32_MAX : slot - 1;
}

static GEMEL__INLINE uint32_t cotangent_of(gemel__sweep *s, uint32_t node) {
  return gemel__node_at(s->graph, node)->n_outputs > 0 ? waiting_at(s, node, 0) : UINT32_MAX;
}

/* What the rule of NODE makes takes its cotangent, and is looked for near it. A cotangent that
 * waits at an input is added to what has just been made, or to that of NODE itself. */
static void fetch_cotangents(gemel__sweep *s, uint32_t node) {
  uint32_t cotangent = cotangent_of(s, node), count, k;
  const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &count);
  if (cotangent == UINT32_MAX) {
    return;
  }
  gemel__fetch_type(s->graph, cotangent);
  gemel__cons_prefetch(s->graph, cotangent);
  for (k = 0; k < count && k < 4; k++) {
    uint32_t waiting = waiting_at(s, inputs[k].node, inputs[k].output);
    if (waiting != UINT32_MAX && waiting > cotangent) {
      gemel__cons_prefetch(s->graph, waiting);
    }
  }
}

static void fetch_others(gemel__sweep *s, uint32_t node) {
  uint32_t cotangent = cotangent_of(s, node), count, k;
  if (cotangent != UINT32_MAX && gemel__cons_crowded(s->graph, cotangent)) {
    const gemel__ref *inputs = gemel__node_inputs(s->graph, node, &count);
    for (k = 0; k < count && k < 4; k++) {
      gemel__cons_prefetch(s->graph, inputs[k].node);
    }
  }
}

static void look_ahead(gemel__sweep *s, size_t node) {
  if (node >= DISTANT) {
    fetch_node(s->graph, (uint32_t)(node - FAR));
  }
  if (node >= FAR) {
    fetch_slots(s, (uint32_t)(node - FAR));
    fetch_cotangents(s, (uint32_t)(node - NEAR));
    fetch_others(s, (uint32_t)(node - CLOSE));
  }
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
    look_ahead(&s, k);
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
