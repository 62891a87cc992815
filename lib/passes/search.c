/* SPDX-License-Identifier: MIT
 *
 * See search.h. What attributes and types tell of a candidate is found out once for all nodes that
 * have the same ones (a filter of the selection), and only for nodes of a kind that was met before.
 */
#include "passes/search.h"

#include "passes/profile.h"

gemel_status gemel__search_start(gemel__search *s, gemel__ref value, uint32_t tried) {
  const gemel_graph *graph = s->scene.graph;
  const gemel__node *node = gemel__node_at(graph, value.node);
  uint32_t count;
  const gemel__ref *inputs = gemel__node_inputs(graph, value.node, &count);
  uint32_t first = count > 0 ? graph->nodes[inputs[0].node].op : 0;
  uint32_t second = count > 1 ? graph->nodes[inputs[1].node].op : 0;
  second |= count > 1 && gemel__same_ref(inputs[0], inputs[1]) ? GEMEL__SAME_OPERANDS : 0;
  first |= tried << GEMEL__TRIED_SHIFT;
  s->value = value;
  s->next = 0;
  s->filter = NULL;
  s->list = gemel__selection_find(s->selection, node->op, first, second, &s->count);
  if (s->list == NULL) {
    return gemel__no_memory(s->scene.error, "rewriting");
  }
  if (s->count > 0) {
    s->filter = gemel__selection_filter(s->selection, graph, value.node, s->list);
  }
  return GEMEL_OK;
}

/* GEMEL_DECLINED if the filter, which learns it if it doesn't know, says that the K-th candidate,
 * C, can't match; GEMEL_NO_MEMORY. */
static gemel_status foresee(gemel__search *s, uint32_t k, const gemel__candidate *c) {
  uint64_t bit = (uint64_t)1 << (k % GEMEL__FILTER_BITS);
  if (s->filter == NULL || k >= GEMEL__FILTER_BITS) {
    return GEMEL_OK;
  }
  if (!(s->filter->checked & bit)) {
    gemel__binding binding;
    gemel_status status = gemel__rule_foresee(c->rule, c->order, &s->scene, s->value, &binding);
    if (status != GEMEL_OK && status != GEMEL_DECLINED) {
      return status;
    }
    s->filter->checked |= bit;
    s->filter->failed |= status == GEMEL_DECLINED ? bit : 0;
  }
  return s->filter->failed & bit ? GEMEL_DECLINED : GEMEL_OK;
}

/* Matches candidate C, or knows from one that was alike what comes of it. */
static gemel_status match(gemel__search *s, const gemel__candidate *c, gemel__binding *binding) {
  int known;
  gemel__verdict *verdict =
      gemel__verdict_find(s->selection->verdicts, c->rule, c->order, &c->grounds, s->scene.graph,
                          s->selection->constant_op, s->slots, &known);
  s->verdict = verdict;
  if (known && verdict->fails) {
    return GEMEL_DECLINED;
  }
  if (known && verdict->fires && !s->whole) {
    gemel__verdict_bind(c->rule, &c->grounds, s->slots, binding);
    return GEMEL_OK;
  }
  gemel_status status = gemel__rule_match(c->rule, c->order, &s->scene, s->value, binding);
  if (verdict != NULL && !known) {
    verdict->fails = status == GEMEL_DECLINED;
  }
  return status;
}

static gemel_status match_thoroughly(gemel__search *s, const gemel__candidate *c,
                                     gemel__binding *binding) {
  s->verdict = NULL;
  return gemel__rule_match(c->rule, c->order, &s->scene, s->value, binding);
}

static gemel_status try_one(gemel__search *s, uint32_t k, const gemel__candidate *c,
                            gemel__binding *binding) {
  double start = s->timed ? gemel__profile_now() : 0;
  gemel_status status = s->thorough ? match_thoroughly(s, c, binding) : foresee(s, k, c);
  status = status || s->thorough ? status : match(s, c, binding);
  if (s->timed) {
    s->selection->tallies[c->row].seconds += gemel__profile_now() - start;
  }
  return status;
}

/* 1 if the filter knows already that the K-th candidate, C, can't match, or operations don't fit.
 */
static inline int is_hopeless(gemel__search *s, uint32_t k, const gemel__candidate *c) {
  return !s->thorough &&
         ((s->filter != NULL && k < GEMEL__FILTER_BITS && (s->filter->failed >> k & 1)) ||
          !gemel__outline_fits(s->selection->steps + c->outline, c->n_steps, &s->scene, s->slots));
}

gemel_status gemel__search_next(gemel__search *s, const gemel__candidate **candidate,
                                gemel__binding *binding) {
  gemel_status status = GEMEL_DECLINED;
  s->slots[0] = s->value;
  while (s->next < s->count && status == GEMEL_DECLINED) {
    uint32_t k = s->next++;
    *candidate = &s->selection->candidates[s->list[k]];
    if (!is_hopeless(s, k, *candidate)) {
      status = try_one(s, k, *candidate, binding);
    }
  }
  return status;
}
