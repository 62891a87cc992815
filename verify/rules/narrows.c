/* SPDX-License-Identifier: MIT
 *
 * Where the two sides of a rule are defined. A run that ends in an error is a result like others: a
 * rule narrows if its right side ends in one where the left side doesn't, as with an index that the
 * left side keeps in range, and widens if it is the other way. Examples with operations that can
 * fail are run with integers within and beside what an index may be; examples with symbols are
 * built at sizes at which a type rule may refuse one side, 0 among them. Where no result has an
 * element, an error is no difference.
 */
#include <stdio.h>
#include <string.h>
#include "base/status.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "harness/report.h"
#include "instances/assumed.h"
#include "instances/source.h"
#include "ops/ops.h"
#include "pairs/defined.h"
#include "pairs/numbers.h"
#include "rules/judge.h"
#include "tiers/tiers.h"

enum { MOST_NUMBERS = 16, LARGE = 100000 };

static const char narrows[] =
    "narrows: the right side ends in an error where the left side has a result";

struct narrowing {
  struct gemel__rule_subject *p;
  gemel__random random;
  int64_t numbers[MOST_NUMBERS]; /* of the example's sides */
  size_t n_numbers;
  int refuted;
};

static void begin(struct narrowing *s, gemel__inquiry *q, size_t number) {
  s->refuted = 1;
  gemel__rule_begin(s->p, q, GEMEL_TIER_REAL);
  q->record.instances = number;
  q->record.how = GEMEL_EVIDENCE_SAMPLES;
  q->record.detail = narrows;
}

/* ---- Values ---- */

static void note_number(void *user, int64_t number) {
  struct narrowing *s = user;
  if (s->n_numbers < MOST_NUMBERS && number > -LARGE && number < LARGE) {
    s->numbers[s->n_numbers++] = number;
  }
}

/* A number beside what an index may be: an end of an axis from either side, or a number of the
 * rule. */
static int64_t beside(struct narrowing *s, const gemel__instance *instance) {
  const gemel__leaf *leaf = &instance->leaves[gemel__random_below(&s->random, instance->n_leaves)];
  int64_t number =
      leaf->rank > 0 ? leaf->shape[gemel__random_below(&s->random, (uint64_t)leaf->rank)] : 1;
  if (s->n_numbers > 0 && gemel__random_chance(&s->random, 1, 3)) {
    number = s->numbers[gemel__random_below(&s->random, s->n_numbers)];
  }
  number += gemel__random_between(&s->random, -1, 1);
  return gemel__random_chance(&s->random, 1, 2) ? -number : number;
}

/* Makes integers 0 or 1; one of each tensor, in two rounds of three, a number beside. */
static void plant(struct narrowing *s, gemel__instance *instance, size_t round,
                  gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves; k++) {
    gemel__leaf any = instance->leaves[k];
    any.range = any.range == GEMEL_RANGE_INDEX ? GEMEL_RANGE_ANY : any.range;
    for (size_t i = 0; gemel__is_integer_leaf(&any) && i < any.count; i++) {
      gemel__leaf_put(&any, gemel__leaf_at(&any, values[k], i),
                      (long double)gemel__random_between(&s->random, 0, 1));
    }
    if (gemel__is_integer_leaf(&any) && any.count > 0 && round % 3 != 0) {
      size_t at = gemel__random_below(&s->random, any.count);
      gemel__leaf_put(&any, gemel__leaf_at(&any, values[k], at), (long double)beside(s, instance));
    }
  }
}

/* Runs both sides of example K once. */
static gemel_status run_both(struct narrowing *s, size_t k, size_t round, gemel_error *error) {
  gemel__pair *pair = &s->p->examples[k].pair;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_tensor **values;
  GEMEL__TRY(gemel__values_draw(&pair->a, GEMEL__FILL_SMALL, &s->random, &values, error));
  plant(s, &pair->a, round, values);
  gemel_status a = gemel__instance_run(&pair->a, values, &s->random, NULL);
  gemel_status b = gemel__instance_run(&pair->b, values, &s->random, &problem);
  if (a == GEMEL_OK && gemel__refuses(b)) {
    gemel__inquiry q;
    begin(s, &q, k + 1);
    gemel__inquiry_refute(&q, &pair->a, pair->b.graph, values, narrows, "a result", problem.text);
  }
  s->p->widens |= gemel__refuses(a) && b == GEMEL_OK;
  gemel__values_free(&pair->a, values);
  return a == GEMEL_NO_MEMORY || b == GEMEL_NO_MEMORY ? gemel__no_memory(error, "results")
                                                      : GEMEL_OK;
}

static gemel_status compare_values(struct narrowing *s, size_t k, gemel_error *error) {
  enum { ROUNDS = 9 };
  struct gemel__example *e = &s->p->examples[k];
  s->n_numbers = 0;
  gemel__numbers_each(e->drawn.left, note_number, s);
  gemel__numbers_each(e->drawn.right, note_number, s);
  gemel__instance_compile(&e->pair.a, 0);
  gemel__instance_compile(&e->pair.b, 0);
  for (size_t round = 0; round < ROUNDS && !s->refuted; round++) {
    GEMEL__TRY(run_both(s, k, round, error));
  }
  return GEMEL_OK;
}

/* ---- Sizes ---- */

/* The status of GRAPH at these sizes. *FULL: a result has elements. */
static gemel_status build(const gemel_graph *graph, size_t n, const char *const *names,
                          const int64_t *sizes, gemel__random *random, int *full,
                          gemel_error *problem) {
  gemel__pair pair;
  gemel_status status =
      gemel__pair_draw_at(&pair, graph, graph, n, (const char **)names, sizes, random, problem);
  if (status == GEMEL_OK) {
    *full = gemel__rule_has_elements(pair.a.graph);
    gemel__pair_clear(&pair);
  }
  return status;
}

/* Reports that the right side of example K refuses SIZES. */
static void report_sizes(struct narrowing *s, size_t k, size_t n, const char *const *names,
                         const int64_t *sizes, const char *problem) {
  gemel__instance left = {.graph = s->p->examples[k].drawn.symbolic_left};
  gemel__inquiry q;
  char said[600];
  size_t used = 0;
  for (size_t j = 0; j < n && used < sizeof said; j++) {
    used += (size_t)snprintf(said + used, sizeof said - used, "%s%s = %lld", j > 0 ? ", " : "",
                             names[j], (long long)sizes[j]);
  }
  if (used < sizeof said) {
    snprintf(said + used, sizeof said - used, ": %s", problem);
  }
  char *text = gemel__counterexample(&left, NULL, NULL, said, NULL, NULL);
  begin(s, &q, k + 1);
  q.refuted = 1; /* two graphs that can't be built are nothing to replay */
  q.record.counterexample = text != NULL ? text : said;
  gemel__inquiry_end(&q, GEMEL_VERDICT_REFUTED, q.record.how, narrows);
  gemel_text_free(text);
}

/* Builds the symbolic sides of example K at one choice of sizes. */
static gemel_status build_both(struct narrowing *s, size_t k, size_t round, gemel_error *error) {
  static const int64_t usual[] = {0, 1, 2, 3};
  const gemel__rule_instance *drawn = &s->p->examples[k].drawn;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  const char *names[GEMEL__MOST_SYMBOLS];
  int64_t sizes[GEMEL__MOST_SYMBOLS];
  int full_a = 0, full_b = 0;
  size_t n = gemel__pair_symbols(drawn->symbolic_left, names, GEMEL__MOST_SYMBOLS);
  for (size_t j = 0; j < n; j++) {
    sizes[j] = round < 2 ? (int64_t)round : usual[gemel__random_below(&s->random, 4)];
  }
  gemel__random again = s->random; /* symbols that no input has are drawn, and alike for both */
  gemel_status a = build(drawn->symbolic_left, n, names, sizes, &again, &full_a, NULL);
  gemel_status b = build(drawn->symbolic_right, n, names, sizes, &s->random, &full_b, &problem);
  if (a == GEMEL_OK && full_a && gemel__refuses(b)) {
    report_sizes(s, k, n, names, sizes, problem.text);
  }
  s->p->widens |= gemel__refuses(a) && b == GEMEL_OK && full_b;
  return a == GEMEL_NO_MEMORY || b == GEMEL_NO_MEMORY ? gemel__no_memory(error, "an instance")
                                                      : GEMEL_OK;
}

gemel_status gemel__rule_narrows(struct gemel__rule_subject *p, int *refuted, gemel_error *error) {
  enum { EXAMPLES = 16, SYMBOLIC = 4, SIZES = 4 };
  struct narrowing s = {.p = p};
  size_t ran = 0, built = 0;
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_REAL, gemel__aside(GEMEL__ASIDE_NARROWS),
                    &s.random);
  for (size_t k = 0; k < p->n && !s.refuted; k++) {
    const struct gemel__example *e = &p->examples[k];
    if (e->drawn.right == NULL || e->drawn.special != 0 || !e->full) {
      continue;
    }
    if (ran < EXAMPLES && e->pair.a.n_leaves > 0 &&
        (gemel__may_refuse(e->drawn.left) || gemel__may_refuse(e->drawn.right))) {
      GEMEL__TRY(compare_values(&s, k, error));
      ran++;
    }
    for (size_t j = 0; e->drawn.symbolic_right != NULL && built < SYMBOLIC && j < SIZES; j++) {
      GEMEL__TRY(s.refuted ? GEMEL_OK : build_both(&s, k, j, error));
    }
    built += e->drawn.symbolic_right != NULL;
  }
  *refuted = s.refuted;
  return GEMEL_OK;
}
