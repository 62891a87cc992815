/* SPDX-License-Identifier: MIT
 *
 * Tier gradient of operations: the loop over instances. Where the operation has a reference, an
 * instance is decided against dual numbers (tiers/gradient.c). An operation without a reference can
 * only be run, so its derivative is judged by Taylor's theorem (tiers/taylor.c).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/context.h"
#include "core/error.h"
#include "core/graph.h"
#include "operations/subject.h"
#include "tiers/taylor.h"
#include "tiers/tiers.h"

enum { DUAL_ELEMENTS = 6 };    /* of an operand; dual numbers are slow */
enum { MORE_INSTANCES = 400 }; /* at most, while a branch of a derivative was never taken */

/* f64 first: a derivative's constants have most digits there. */
static const gemel_dtype dtypes[] = {GEMEL_F64, GEMEL_F32, GEMEL_F16, GEMEL_BF16};
enum { DUAL_DTYPES = sizeof dtypes / sizeof *dtypes };

static void inapplicable(struct subject *s, const char *reason) {
  gemel__subject_reason(s, GEMEL_TIER_GRADIENT, GEMEL_VERDICT_NOT_APPLICABLE, reason);
}

/* ---- Against dual numbers ---- */

/* Reports that STATUS, PROBLEM refutes, unless it says that there is nothing to judge. */
static gemel_status refuse(gemel__inquiry *q, gemel_status status, const gemel_error *problem,
                           gemel_error *error) {
  status = gemel__subject_refuse(q, status, problem);
  if (status != GEMEL_OK && error != NULL) {
    *error = *problem;
  }
  return status;
}

/* The same, but GEMEL_NOT_DIFFERENTIABLE is returned: the caller reports it. */
static gemel_status refuse_gradient(gemel__inquiry *q, gemel_status status,
                                    const gemel_error *problem, gemel_error *error) {
  if (status != GEMEL_NOT_DIFFERENTIABLE) {
    return refuse(q, status, problem, error);
  }
  if (error != NULL) {
    *error = *problem;
  }
  return status;
}

/* Judges a part of the derivative: that by one operand, or of one result. A gradient rule is told
 * which parts are wanted and may compute a part in another way than the whole. If the part is
 * refuted, *ANSWER is replaced by its answer. */
static gemel_status decide_part(const struct subject *s, const gemel__instance *instance, size_t k,
                                uint64_t seed, gemel__answer *answer, gemel_error *error) {
  /* one in so many instances of gemel's own operations is asked about a part */
  enum { EVERY = 4 };
  gemel__partial parts[GEMEL__MOST_PARTIALS];
  size_t n = gemel__instance_partials(instance, parts), turn = s->own ? k : k / EVERY;
  gemel__answer alone;
  gemel_status status;
  if (n == 0 || (!s->own && k % EVERY != 0)) {
    return GEMEL_OK;
  }
  status =
      gemel__decide_gradient_part(instance, parts[turn % n], seed, 3, 1, s->own, &alone, error);
  if (status == GEMEL_OK && alone.verdict == GEMEL_VERDICT_REFUTED) {
    gemel__answer_clear(answer);
    *answer = alone;
  } else {
    gemel__answer_clear(&alone);
  }
  return status;
}

/* 1 if a node of INSTANCE has a body (scan, invoke). */
static int runs_body(const gemel__instance *instance) {
  int runs = 0;
  for (uint32_t node = 0; node < instance->graph->n_nodes; node++) {
    uint32_t attrs = instance->graph->nodes[node].attrs;
    runs |= gemel__attrs_at(instance->graph->context, attrs)->nesting > 0;
  }
  return runs;
}

/* Adds ANSWER to TOTAL. Branches inside a body are left out: each instance has a random body of its
 * own, so whether such a branch goes both ways can't be counted over instances. */
static gemel_status add_answer(const gemel__instance *instance, gemel__answer *total,
                               gemel__answer *answer, size_t n, gemel_error *error) {
  if (runs_body(instance)) {
    gemel__sites_clear(&answer->sites);
  }
  return gemel__answer_merge(total, answer, n) != 0 ? gemel__no_memory(error, "decisions")
                                                    : GEMEL_OK;
}

/* The answers of a subject's instances. */
struct answers {
  struct subject *subject;
  gemel__answer total;
};

static gemel_status judge(gemel__inquiry *q, struct answers *a, const gemel__instance *instance,
                          size_t k, uint64_t seed, gemel_error *error) {
  const struct subject *s = a->subject;
  gemel__answer answer;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status = gemel__decide_gradient_part(
      instance, (gemel__partial){0, 0}, seed, s->derivative ? 3 : 5, 2, s->own, &answer, &problem);
  if (status == GEMEL_OK && answer.verdict != GEMEL_VERDICT_REFUTED) {
    status = decide_part(s, instance, k, seed, &answer, &problem);
  }
  if (status != GEMEL_OK) {
    status = refuse_gradient(q, status, &problem, error);
  } else if (answer.verdict == GEMEL_VERDICT_REFUTED) {
    q->record.instances++;
    gemel__inquiry_answer(q, &answer, instance, NULL, seed);
  } else {
    status = add_answer(instance, &a->total, &answer, q->record.instances++, error);
  }
  gemel__answer_clear(&answer);
  return status;
}

static gemel_status try_gradient(gemel__inquiry *q, void *user, size_t k, gemel_error *error) {
  struct answers *a = user;
  gemel__random random;
  gemel__instance instance;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel__run_random(q->run, a->subject->name, GEMEL_TIER_GRADIENT, k, &random);
  a->subject->embedded = 0;
  gemel_status status = gemel__subject_draw(a->subject, dtypes, DUAL_DTYPES, 0, DUAL_ELEMENTS,
                                            &random, &instance, &problem);
  if (status != GEMEL_OK) {
    return refuse_gradient(q, status, &problem, error);
  }
  status = judge(q, a, &instance, k, gemel__random_bits(&random), error);
  gemel__instance_clear(&instance);
  return status;
}

/* While a branch of a derivative was never taken, there are more instances. */
static gemel_status try_gradients(gemel__inquiry *q, struct answers *a, gemel_error *error) {
  size_t wanted = gemel__subject_instances(a->subject) / 2 + 1, k = wanted;
  gemel_status status = gemel__inquiry_each(q, wanted, try_gradient, a, error);
  for (; status == GEMEL_OK && !q->refuted && k < wanted + MORE_INSTANCES &&
         gemel__answer_one_way(&a->total);
       k++) {
    status = try_gradient(q, a, k, error);
  }
  return status;
}

gemel_status gemel__verify_gradient(struct subject *s, gemel_error *error) {
  gemel__inquiry q;
  struct answers a = {.subject = s, .total = {.how = GEMEL_EVIDENCE_NONE}};
  gemel__sites_init(&a.total.sites);
  gemel__inquiry_begin(&q, s->run, s->kind, s->name, GEMEL_TIER_GRADIENT);
  gemel_status status = try_gradients(&q, &a, error);
  if (status == GEMEL_NOT_DIFFERENTIABLE && !q.refuted && q.record.instances == 0) {
    inapplicable(s, "not differentiable");
    status = GEMEL_OK;
  } else if (status == GEMEL_OK && !q.refuted && q.record.instances == 0) {
    inapplicable(s, "nothing of a float dtype to differentiate");
  } else if (status == GEMEL_OK && !q.refuted) {
    gemel__answer_settle(&a.total);
    gemel__inquiry_answer(&q, &a.total, NULL, NULL, 0);
  }
  gemel__answer_clear(&a.total);
  return status;
}

/* ---- Without a reference ---- */

static void conclude_taylor(gemel__inquiry *q, const gemel__taylor *t) {
  char detail[160];
  q->record.elements = t->points;
  if (t->moves == 0) {
    snprintf(detail, sizeof detail, "the function didn't change along any of %zu lines", t->points);
  } else if (isinf(t->least)) {
    snprintf(detail, sizeof detail, "no remainder above rounding along %zu lines", t->points);
  } else {
    snprintf(detail, sizeof detail,
             "least order of Taylor's remainder along %zu lines: %.2f (2 if right, 1 if not)",
             t->points, t->least);
  }
  gemel__inquiry_end(q, t->moves > 0 ? GEMEL_VERDICT_PASSED : GEMEL_VERDICT_UNINFORMATIVE,
                     GEMEL_EVIDENCE_TAYLOR, detail);
}

static void refute_taylor(gemel__inquiry *q, const gemel__taylor *t,
                          const gemel__instance *instance) {
  char got[60];
  snprintf(got, sizeof got, "order %.2f", t->least);
  q->record.how = GEMEL_EVIDENCE_TAYLOR;
  q->record.elements = t->points;
  q->record.detail = "what Taylor's theorem leaves isn't of order 2";
  gemel__inquiry_refute(q, instance, NULL, NULL, t->place, "order 2", got);
}

/* Checks the whole derivative, then one of its parts, in turn. */
static gemel_status check_taylor(const gemel__instance *instance, size_t k, gemel__random *random,
                                 gemel__taylor *t, gemel_error *error) {
  gemel__partial parts[GEMEL__MOST_PARTIALS];
  size_t n = gemel__instance_partials(instance, parts);
  gemel_status status = gemel__taylor_check(instance, (gemel__partial){0, 0}, random, t, error);
  return status != GEMEL_OK || t->refuted || n == 0
             ? status
             : gemel__taylor_check(instance, parts[k % n], random, t, error);
}

struct lines {
  struct subject *subject;
  gemel__taylor taylor;
};

static gemel_status try_taylor(gemel__inquiry *q, void *user, size_t k, gemel_error *error) {
  struct lines *l = user;
  gemel__random random;
  gemel__instance instance;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel__run_random(q->run, l->subject->name, GEMEL_TIER_GRADIENT, k, &random);
  l->subject->embedded = 0;
  gemel_status status =
      gemel__subject_draw(l->subject, dtypes, 1, 0, DUAL_ELEMENTS, &random, &instance, &problem);
  if (status == GEMEL_OK) {
    status = check_taylor(&instance, k, &random, &l->taylor, &problem);
    q->record.instances = k + 1;
    if (status == GEMEL_OK && l->taylor.refuted) {
      refute_taylor(q, &l->taylor, &instance);
    }
    gemel__instance_clear(&instance);
  }
  return status == GEMEL_OK ? GEMEL_OK : refuse(q, status, &problem, error);
}

/* Tier gradient of an operation without a reference: the order of the remainder in Taylor's
 * theorem. */
static gemel_status verify_taylor(struct subject *s, gemel_error *error) {
  gemel__inquiry q;
  struct lines l = {s, {0, 0, INFINITY, 0, ""}};
  gemel__inquiry_begin(&q, s->run, s->kind, s->name, GEMEL_TIER_GRADIENT);
  GEMEL__TRY(gemel__inquiry_each(&q, gemel__subject_instances(s) / 2 + 1, try_taylor, &l, error));
  if (!q.refuted && l.taylor.points == 0) {
    gemel__subject_reason(s, GEMEL_TIER_GRADIENT, GEMEL_VERDICT_NOT_RUN,
                          "no instance in f64, whose digits Taylor's theorem needs: "
                          "gemel_verify_reference gives it a reference");
  } else if (!q.refuted) {
    conclude_taylor(&q, &l.taylor);
  }
  return GEMEL_OK;
}

gemel_status gemel__verify_unknown(struct subject *s, gemel_error *error) {
  for (size_t tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    if (gemel__run_wants(s->run, (gemel_tier)tier) && tier != GEMEL_TIER_GRADIENT) {
      gemel__subject_reason(s, (gemel_tier)tier, GEMEL_VERDICT_NOT_RUN,
                            "it has no reference: gemel_verify_reference gives it one");
    }
  }
  if (!gemel__run_wants(s->run, GEMEL_TIER_GRADIENT)) {
    return GEMEL_OK;
  }
  if (s->op->grad == NULL && s->op->jvp == NULL) {
    inapplicable(s, "not differentiable");
    return GEMEL_OK;
  }
  return verify_taylor(s, error);
}
