/* SPDX-License-Identifier: MIT
 *
 * Where rounding decides in a rule. A random instance at random inputs hardly ever meets a place at
 * which floor, a cast to integers or a comparison sees the last digit, so some instances are
 * searched for such places as pairs are (pairs/flips.h). A difference there is `integers`.
 */
#include <string.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "pairs/flips.h"
#include "rules/judge.h"
#include "tiers/tiers.h"

/* 1 if both sides of E are graphs of finite numbers with results to compare. */
static int may_flip(const struct gemel__example *e) {
  return (e->real || e->integral) && e->full && !e->drawn.wide && e->drawn.special == 0 &&
         e->drawn.right != NULL;
}

/* Searches one instance. */
static gemel_status search(struct gemel__rule_subject *p, const struct gemel__example *e,
                           gemel__random *random, int *searched, gemel_error *error) {
  gemel__flip flip;
  gemel_status status = gemel__flips_find(e->drawn.left, e->drawn.right, 0, GEMEL__FLIPS_FEW,
                                          random, p->run->ticker, &flip, error);
  *searched = flip.decided;
  p->needs |= flip.words;
  gemel__witness_move(&p->witness[GEMEL_NEEDS_INDEX_INTEGERS], &flip.witness);
  gemel__witness_clear(&flip.witness);
  return status;
}

static int declares_integers(const struct gemel__rule_subject *p) {
  return (p->info->needs & GEMEL__NEED(INTEGERS)) != 0;
}

/* 1 if GRAPH has a value of a float dtype, which may be rounded. */
static int computes_floats(const gemel_graph *graph) {
  uint32_t k = 0;
  while (k < graph->n_nodes &&
         !gemel__is_float(gemel_type_dtype(graph->context, gemel__node_type(graph, k, 0)))) {
    k++;
  }
  return k < graph->n_nodes;
}

gemel_status gemel__rule_excuse(const struct gemel__rule_subject *p, const gemel__pair *pair,
                                gemel_tensor *const *values, gemel__random *random,
                                gemel__outcome *outcome, gemel_error *error) {
  gemel__trial trial = {NULL, random, &pair->b};
  gemel__outcome exact;
  if (!outcome->refuted || !declares_integers(p) ||
      !(computes_floats(pair->a.graph) || computes_floats(pair->b.graph))) {
    return GEMEL_OK;
  }
  memset(&exact, 0, sizeof exact);
  GEMEL__TRY(gemel__check_pair(&pair->a, values, &trial, &exact, error));
  outcome->refuted = exact.refuted || exact.compared < outcome->compared;
  return GEMEL_OK;
}

gemel_status gemel__rule_flips(struct gemel__rule_subject *p, gemel_error *error) {
  enum { DECLARED = 36, SEARCHED = 12, LESS = 4, DECLINED = 4 };
  size_t full = declares_integers(p) ? DECLARED : SEARCHED, done = 0, declined = 0;
  size_t most = p->quick ? full / LESS : full;
  for (size_t k = 0; k < p->n && done < most && (done > 0 || declined < DECLINED) &&
                     !(p->needs & GEMEL__NEED(INTEGERS));
       k++) {
    int searched = 0;
    if (may_flip(&p->examples[k])) {
      gemel__random random;
      gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL,
                        gemel__aside(GEMEL__ASIDE_RULE_FLIPS + k), &random);
      GEMEL__TRY(search(p, &p->examples[k], &random, &searched, error));
      done += (size_t)searched;
      declined += (size_t)!searched;
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__rule_flips_of_sums(struct gemel__rule_subject *p, gemel_error *error) {
  struct gemel__example e;
  gemel__random random;
  int searched;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_SPECIAL, gemel__aside(GEMEL__ASIDE_SUMS),
                    &random);
  gemel_status status = gemel__rule_draw_sum(p, 0, &random, &e, error);
  if (status == GEMEL_OK) {
    status = search(p, &e, &random, &searched, error);
    p->compared += (p->needs & GEMEL__NEED(INTEGERS)) != 0;
  }
  gemel__example_clear(&e);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}
