/* SPDX-License-Identifier: MIT
 *
 * See search.h. What attributes and types tell of a candidate is found out once for all nodes that
 * have the same ones (a filter of the selection), and only for nodes of a kind that was met before.
 */
#include "passes/search.h"

#include "passes/profile.h"

gemel_status gemel__search_start(gemel__search *s, gemel__ref value, uint32_t tried) {
  const gemel_graph *graph = s->scene.graph;
  s->value = value;
  s->next = 0;
  s->asked = s->other = 0;
  s->filter = NULL;
  s->list = s->thorough ? gemel__selection_all(s->selection, graph, value.node, &s->count)
                        : gemel__selection_candidates(s->selection, graph, value.node, tried,
                                                      &s->count, &s->filter);
  return s->list != NULL ? GEMEL_OK : gemel__no_memory(s->scene.error, "rewriting");
}

/* Notes in the filter whether its K-th candidate FAILED; where all have, there are none. */
static void learn(gemel__filter *filter, uint32_t k, int failed) {
  uint64_t bit = (uint64_t)1 << k;
  filter->checked |= bit;
  filter->failed |= failed ? bit : 0;
  if (filter->count < GEMEL__FILTER_BITS && filter->failed + 1 == (uint64_t)1 << filter->count) {
    filter->count = 0;
  }
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
    learn(s->filter, k, status == GEMEL_DECLINED);
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

/* The next candidate of which the filter doesn't know already that it can't match. */
static inline uint32_t next_hope(const gemel__search *s) {
  uint32_t k = s->next;
  if (s->filter == NULL || k >= GEMEL__FILTER_BITS || s->thorough) {
    return k;
  }
  uint64_t hopes = ~s->filter->failed >> k;
  return hopes != 0 ? k + (uint32_t)__builtin_ctzll(hopes) : GEMEL__FILTER_BITS;
}

/* Finds out which of the operands in BITS are splats. */
static void ask_operands(gemel__search *s, uint32_t bits) {
  const gemel_graph *graph = s->scene.graph;
  uint32_t n;
  const gemel__ref *in = gemel__node_inputs(graph, s->value.node, &n);
  const gemel_tensor *tensor;
  for (uint32_t k = 0; k < 2; k++) {
    if (bits >> k & 1) {
      int is_constant = k < n && graph->nodes[in[k].node].op == s->selection->constant_op;
      s->asked |= 1u << k;
      s->other |= (uint32_t)(k >= n || !(is_constant || gemel__splat(graph, in[k], &tensor))) << k;
    }
  }
}

/* 1 if operands are no splats that candidate C asks for: several ask for the same. */
static inline int lacks_splats(gemel__search *s, const gemel__candidate *c) {
  if (c->splats & ~s->asked) {
    ask_operands(s, c->splats & ~s->asked);
  }
  return (c->splats & s->other) != 0;
}

gemel_status gemel__search_next(gemel__search *s, const gemel__candidate **candidate,
                                gemel__binding *binding) {
  gemel_status status = GEMEL_DECLINED;
  uint32_t k;
  s->slots[0] = s->value;
  while (status == GEMEL_DECLINED && (k = next_hope(s)) < s->count) {
    const gemel__candidate *c = &s->selection->candidates[s->list[k]];
    s->next = k + 1;
    *candidate = c;
    if (!s->thorough && lacks_splats(s, c)) {
      continue;
    }
    if (s->thorough ||
        gemel__outline_fits(s->selection->steps + c->outline, c->n_steps, &s->scene, s->slots)) {
      status = try_one(s, k, c, binding);
    }
  }
  return status;
}
