/* SPDX-License-Identifier: MIT
 *
 * `gemel verify`: every operation, and the graph of its first derivative, in every tier. A tier is
 * a loop over random instances. The first instance that is refuted ends the loop, is shrunk and
 * reported. Tier gradient of the derivative (`sum.grad`) judges second derivatives.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/words.h"
#include "ops/ops.h"
#include "ops/rule.h"
#include "harness/jobs.h"
#include "tiers/kernel.h"
#include "reference/own.h"
#include "tiers/allowed.h"
#include "harness/run.h"
#include "operations/subject.h"
#include "operations/survey.h"
#include "reference/twin.h"
#include "sample/sampling.h"
#include "tiers/ulps.h"
#include "text/expr.h"

/* Most elements of an operand. SMALL: two instances in three. LARGE: the third, where loops over
 * vectors, tiles and blocks have several rounds and a remainder. */
enum { SMALL_ELEMENTS = GEMEL__SMALL_ELEMENTS, LARGE_ELEMENTS = GEMEL__LARGE_ELEMENTS };
enum { KERNEL_RANK_EVERY = 4 }; /* one in so many instances of a kernel has a rank above 4 */
/* How many instances are offered to a kernel that has taken none: in its first tier, and in a later
 * one. */
enum { PATIENCE = 1000, SHORT_PATIENCE = 150 };

#define NUMBER_OF(array) (sizeof array / sizeof *array)

static const gemel_dtype float_dtypes[] = {GEMEL_F32, GEMEL_F64, GEMEL_F16, GEMEL_BF16};
static const gemel_dtype all_dtypes[] = {GEMEL_F32, GEMEL_I32, GEMEL_F64, GEMEL_BOOL, GEMEL_I8,
                                         GEMEL_U8,  GEMEL_F16, GEMEL_I16, GEMEL_U16,  GEMEL_BF16,
                                         GEMEL_U32, GEMEL_I64, GEMEL_U64};

static void not_applicable(struct subject *s, gemel_tier tier, const char *reason) {
  gemel__subject_reason(s, tier, GEMEL_VERDICT_NOT_APPLICABLE, reason);
}

/* ---- Tiers integer, float, special ---- */

static const struct tier_plan plans[] = {
#define PLAN(E, fill, check, dtypes, how)                                                          \
  {GEMEL_TIER_##E, GEMEL__FILL_##fill, check, dtypes, NUMBER_OF(dtypes), GEMEL_EVIDENCE_##how, 0},
    GEMEL__TIER_CHECKS(PLAN)
#undef PLAN
};

/* 1 if the row has no derivative text for any operand: the derivative is zero. */
static int zero_derivative(const struct subject *s) {
  const gemel__scalar_row *row = gemel__scalar_row_of(s->op);
  for (int k = 0; row != NULL && k < row->n_inputs; k++) {
    if (row->grads[k] != NULL && row->grads[k][0] != '\0') {
      return 0;
    }
  }
  return row != NULL || s->op->grad == gemel__grad_nothing;
}

static const char *reason_without_instances(const struct tier_plan *plan, const struct subject *s) {
  if (s->derivative) {
    return "it has no derivative in a float dtype";
  }
  return plan->tier == GEMEL_TIER_INTEGER ? "its sampler gives no instance"
                                          : "it takes no float dtype";
}

/* Appends to DETAIL what a kernel took and declined, or how many instances the reference doesn't
 * take. */
static void say_declined(const struct subject *s, const gemel__inquiry *q, char *detail,
                         size_t bytes) {
  size_t used = strlen(detail);
  if (s->kernel != NULL || q->declined > 0) {
    used += (size_t)snprintf(detail + used, bytes - used, used > 0 ? "; " : "");
  }
  if (s->kernel != NULL) {
    gemel__kernel_offers_text(&s->kernel->offers, detail + used, bytes - used);
  } else if (q->declined > 0) {
    snprintf(detail + used, bytes - used, "the reference doesn't take %zu instances", q->declined);
  }
}

/* Why the results that were compared say nothing; NULL: they do. */
static const char *reason_without_results(const struct subject *s, const struct tier_plan *plan,
                                          const gemel__outcome *o) {
  if (plan->tier == GEMEL_TIER_INTEGER &&
      (gemel__subject_inexact(s) || (s->own && o->informative == 0 && o->inexact > 0))) {
    return "its results are not exact on integers";
  }
  return s->derivative && o->informative == 0 && zero_derivative(s)
             ? "its derivative is zero everywhere: decided by tier gradient of the operation"
             : NULL;
}

/* Appends to DETAIL what may be given up. */
static void say_allowed(const struct subject *s, char *detail, size_t bytes) {
  size_t used = strlen(detail);
  unsigned allow = gemel__own_reference_allows(s->run->context, s->op);
  allow |= s->kernel != NULL ? s->kernel->allow : 0;
  gemel__allowed_text(allow, used > 0 ? "; allowed: " : "allowed: ", detail + used, bytes - used);
  const gemel_device *device = gemel_device_of_space(s->run->context, GEMEL__DEVICE_SPACE);
  if (device != NULL && device->matmul_precision != GEMEL_PRECISION_IEEE) {
    used = strlen(detail);
    snprintf(detail + used, bytes - used, "%sproducts of f32 in %s", used > 0 ? "; " : "",
             gemel_precision_name((gemel_precision)device->matmul_precision));
  }
}

/* What is left out of a tier that passed, and the measured errors of a survey, unless ULPS is NULL.
 */
static void say_passed(const struct subject *s, const gemel__inquiry *q, const gemel__ulps *ulps,
                       char *detail, size_t bytes) {
  if (q->outcome.inexact > 0) {
    snprintf(detail, bytes, "%zu results left out: the reference isn't certain there",
             q->outcome.inexact);
  }
  say_declined(s, q, detail, bytes);
  say_allowed(s, detail, bytes);
  if (ulps != NULL) {
    size_t used = strlen(detail);
    snprintf(detail + used, bytes - used, used > 0 && ulps->most > 0 ? "; " : "");
    used = strlen(detail);
    gemel__ulps_text(ulps, detail + used, bytes - used);
  }
}

/* Reports a tier in which nothing was refuted. ULPS: the measured errors of a survey, or NULL. */
static void conclude(struct subject *s, const struct tier_plan *plan, gemel__inquiry *q,
                     const gemel__ulps *ulps) {
  char detail[1600] = "";
  const gemel__outcome *o = &q->outcome;
  const char *reason = q->record.instances == 0 ? reason_without_instances(plan, s)
                                                : reason_without_results(s, plan, o);
  q->record.elements = o->compared;
  q->record.worst = o->worst;
  if (q->record.instances == 0 && q->declined > 0) {
    snprintf(detail, sizeof detail, s->kernel != NULL ? "" : "its reference takes no instance");
    if (s->kernel != NULL) {
      say_declined(s, q, detail, sizeof detail);
    }
    gemel__inquiry_end(q, GEMEL_VERDICT_NOT_RUN, GEMEL_EVIDENCE_NONE, detail);
  } else if (reason != NULL) {
    gemel__inquiry_end(q, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE, reason);
  } else if (o->informative == 0) {
    snprintf(detail, sizeof detail, "%zu results compared, all zero or without a useful bound",
             o->compared);
    gemel__inquiry_end(q, GEMEL_VERDICT_UNINFORMATIVE, plan->how, detail);
  } else {
    say_passed(s, q, ulps, detail, sizeof detail);
    gemel__inquiry_end(q, GEMEL_VERDICT_PASSED, plan->how, detail);
  }
}

/* Reports that the program's reference and its type rule give different dtypes or shapes. */
static void disagree(gemel__inquiry *q, const gemel__instance *instance, const gemel_error *error) {
  q->record.instances = 1;
  q->record.detail = "the reference and the type rule differ";
  gemel__inquiry_refute(q, instance, NULL, NULL, "its type", "one type", error->text);
}

/* 1 if all elements of the first operand of instance K are the least or the greatest number of its
 * dtype (*END says which): of integers in tier integer, of floats (−∞, +∞) in tier special. That is
 * two rounds of dtypes in seven, or in twelve. */
static int is_about_end(const struct tier_plan *plan, size_t k, gemel__fill *end) {
  enum { LEAST_AT = 2, GREATEST_AT = 5, ROUNDS = 7, SPECIAL_ROUNDS = 12 };
  size_t round = k / plan->n_dtypes % (plan->tier == GEMEL_TIER_SPECIAL ? SPECIAL_ROUNDS : ROUNDS);
  *end = round == LEAST_AT ? GEMEL__FILL_LEAST : GEMEL__FILL_GREATEST;
  return plan->elements == 0 && (round == LEAST_AT || round == GREATEST_AT) &&
         (plan->tier == GEMEL_TIER_SPECIAL ||
          (plan->tier == GEMEL_TIER_INTEGER && !gemel__is_float(plan->dtypes[k % plan->n_dtypes])));
}

/* 1 if some of the logits of instance K are −∞, as where attention is masked, in tier float: there
 * the numbers beside them are judged by their bounds. Of the library's own operations besides.c has
 * such instances. */
static int is_masked(const struct subject *s, size_t k) {
  enum { EVERY = 6, AT = 3 };
  return (s->own || s->kernel != NULL) && !s->derivative && k % EVERY == AT;
}

/* 1 if the numbers of instance K are large, so that a kernel of one of the library's operations
 * that doesn't subtract the largest logit overflows, and one that leaves out large terms shows. */
static int is_large(const struct subject *s, size_t k) {
  enum { EVERY = 6, AT = 5 };
  return !s->own && s->kernel != NULL && !s->derivative && k % EVERY == AT;
}

/* How the values of instance K are drawn. In tier special the fills take turns for each dtype. Tier
 * float of a program's own operation also draws integers and round numbers: where its results are
 * never exact, no other tier compares them at ties and round numbers. */
static gemel__fill fill_for(const struct subject *s, const struct tier_plan *plan, size_t k) {
  static const gemel__fill special[] = {GEMEL__FILL_SPECIAL, GEMEL__FILL_MEETING,
                                        GEMEL__FILL_SPECIAL, GEMEL__FILL_SIGNS};
  if (plan->tier == GEMEL_TIER_SPECIAL) {
    return special[k / plan->n_dtypes % (sizeof special / sizeof *special)];
  }
  if (plan->tier == GEMEL_TIER_FLOAT && is_masked(s, k)) {
    return GEMEL__FILL_MASKED;
  }
  if (plan->tier == GEMEL_TIER_FLOAT && is_large(s, k)) {
    return GEMEL__FILL_LARGE;
  }
  if (!s->own || plan->tier != GEMEL_TIER_FLOAT || k % 3 == 0) {
    return plan->fill;
  }
  return k % 3 == 1 && !(s->op->flags & GEMEL_OP_INEXACT) ? GEMEL__FILL_INTEGERS
                                                          : GEMEL__FILL_POINTS;
}

/* The rank of instance K: in one instance of KERNEL_RANK_EVERY each rank above 4 in turn, else 0
 * (any). */
static int kernel_rank(size_t k) {
  enum { USUAL_RANK = 4 };
  return k % KERNEL_RANK_EVERY == KERNEL_RANK_EVERY - 1
             ? USUAL_RANK + 1 + (int)(k / KERNEL_RANK_EVERY % (GEMEL_MAX_RANK - USUAL_RANK))
             : 0;
}

/* Draws instance K. ATTEMPT > 0: another one in its place, after the kernel declined it. */
static gemel_status draw_numbered(struct subject *s, const struct tier_plan *plan, size_t k,
                                  size_t attempt, gemel__random *random, gemel__instance *instance,
                                  gemel_error *error) {
  enum { APART = 1000003, ENDS_DRAWS = 4 }; /* tries for an operand with elements */
  int64_t most;
  size_t first;
  gemel__fill end;
  gemel__run_random(s->run, s->name, plan->tier, k + attempt * APART, random);
  s->decides = s->own && plan->tier != GEMEL_TIER_SPECIAL && k % 3 == 2;
  int about_end = is_about_end(plan, k, &end);
  most = plan->elements > 0                   ? plan->elements
         : gemel__random_chance(random, 1, 3) ? LARGE_ELEMENTS
                                              : SMALL_ELEMENTS;
  s->embedded = s->kernel == NULL && !s->derivative && !about_end &&
                plan->check != gemel__check_exact_agreement && plan->tier != GEMEL_TIER_SPECIAL &&
                gemel__random_chance(random, 1, 2);
  s->in_sequence = s->kernel == NULL && plan->tier == GEMEL_TIER_INTEGER;
  s->stateful = s->embedded && gemel__random_chance(random, 1, 2);
  s->wanted.rank = s->kernel != NULL ? kernel_rank(s->took ? k : k + attempt) : 0;
  /* shifted, so that high ranks come in every dtype */
  first = s->kernel != NULL ? k + k / KERNEL_RANK_EVERY + attempt : k;
  gemel_status status;
  for (int left = about_end ? ENDS_DRAWS : 1;; left--) {
    status = attempt > 0 && s->took
                 ? gemel__subject_draw(s, &s->taken, 1, 0, most, random, instance, error)
                 : gemel__subject_draw(s, plan->dtypes, plan->n_dtypes, first, most, random,
                                       instance, error);
    if (left == 1 || status != GEMEL_OK || instance->n_leaves == 0 ||
        instance->leaves[0].count > 0) {
      break;
    }
    gemel__instance_clear(instance);
  }
  /* the sampler may have given a float dtype in place of an integer one: no infinities there */
  about_end &= plan->tier == GEMEL_TIER_SPECIAL || !gemel__is_float(s->dtype);
  s->fill = about_end ? end : fill_for(s, plan, k);
  return status;
}

/* Draws and judges one instance. GEMEL_DECLINED: the kernel doesn't take it. */
static gemel_status try_draw(struct subject *s, const struct tier_plan *plan, size_t k,
                             size_t attempt, gemel__inquiry *q, gemel_error *error) {
  gemel__random random;
  gemel__instance instance;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_status status = draw_numbered(s, plan, k, attempt, &random, &instance, &problem);
  if (status != GEMEL_OK) {
    status = gemel__subject_refuse(q, status, &problem);
    if (status != GEMEL_OK && error != NULL) {
      *error = problem;
    }
    return status;
  }
  status = gemel__subject_judge(s, plan, plan->check, &instance, &random, q, &problem);
  if (s->own && status == GEMEL_BAD_TYPE) {
    disagree(q, &instance, &problem);
    status = GEMEL_OK;
  }
  if (status != GEMEL_OK && error != NULL) {
    *error = problem;
  }
  gemel__instance_clear(&instance);
  return status;
}

/* Looks for an instance that a kernel takes which has taken none so far. Instances from attempt
 * *ATTEMPT on are shown to its `prepare`, many in one process. *ATTEMPT becomes the number of the
 * first that it takes, or 0 if PATIENCE runs out. A kernel for which it ran out gets SHORT_PATIENCE
 * in later tiers. */
static gemel_status find_taken(struct subject *s, const struct tier_plan *plan, size_t k,
                               size_t *attempt, gemel_error *error) {
  gemel__kernel_case *cases = gemel__alloc_array(GEMEL__KERNEL_PROBES, sizeof *cases);
  gemel_status status = cases != NULL ? GEMEL_OK : gemel__no_memory(error, "instances");
  size_t n = 0, first = 0, numbers[GEMEL__KERNEL_PROBES];
  while (status == GEMEL_OK && first == n && s->kernel->patience > 0) {
    for (n = 0; n < GEMEL__KERNEL_PROBES && status == GEMEL_OK && s->kernel->patience > 0;
         ++*attempt, s->kernel->patience--) {
      gemel__random random;
      gemel__instance instance;
      status = draw_numbered(s, plan, k, *attempt, &random, &instance, error);
      if (status == GEMEL_OK) {
        status = gemel__kernel_case_init(&cases[n], &instance, s->kernel->kernel, NULL);
        gemel__instance_clear(&instance);
      }
      numbers[n] = *attempt;
      n += status == GEMEL_OK;
      status = status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
    }
    if (status == GEMEL_OK) {
      status = gemel__kernel_probe(s->kernel, cases, n, k, &first, error);
    }
  }
  *attempt = status == GEMEL_OK && first < n ? numbers[first] : 0;
  gemel__free(cases, GEMEL__KERNEL_PROBES * sizeof *cases);
  return status;
}

/* One instance. If a kernel declines it, others of another dtype and shape are drawn in its place.
 */
static gemel_status try_instance(struct subject *s, const struct tier_plan *plan, size_t k,
                                 gemel__inquiry *q, gemel_error *error) {
  enum { REDRAWS = 12 };
  gemel_status status = try_draw(s, plan, k, 0, q, error);
  size_t j;
  for (j = 1; s->kernel != NULL && status == GEMEL_DECLINED && j <= REDRAWS; j++) {
    q->declined++;
    if (!s->took) {
      status = find_taken(s, plan, k, &j, error);
      if (status != GEMEL_OK || j == 0) {
        return status;
      }
    }
    status = try_draw(s, plan, k, j, q, error);
  }
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* Shrinks and reports what a survey refuted. */
static gemel_status report_survey(struct subject *s, const struct tier_plan *plan,
                                  gemel__surveying *w, gemel__inquiry *q, gemel_error *error) {
  gemel__random random;
  gemel__trial trial = {s->kernel, &random, NULL};
  gemel__random_seed(&random, q->record.seed);
  q->record.instances += w->instances;
  q->outcome = w->outcome;
  s->dtype = w->dtype;
  return gemel__subject_refute(s, plan, plan->check, NULL, &w->instance, &w->values, &trial, q,
                               error);
}

/* Surveys a scalar operation over its whole domain (survey.h). */
static gemel_status survey(struct subject *s, const struct tier_plan *plan, gemel__ulps *ulps,
                           gemel__inquiry *q, gemel_error *error) {
  gemel__surveying w = {.run = s->run,
                        .op = s->op,
                        .name = s->name,
                        .tier = plan->tier,
                        .check = plan->check,
                        .kernel = s->kernel,
                        .ulps = ulps};
  gemel_status status = gemel__survey_tier(&w, error);
  if (status == GEMEL_OK && w.refuted) {
    status = report_survey(s, plan, &w, q, error);
  } else if (status == GEMEL_OK) {
    q->record.instances += w.instances;
    gemel__inquiry_add(q, &w.outcome);
  }
  gemel__values_free(&w.instance, w.values);
  gemel__instance_clear(&w.instance);
  return status;
}

/* Reports a survey that refuted nothing. */
static gemel_status conclude_survey(struct subject *s, const struct tier_plan *plan,
                                    const gemel__ulps *ulps, gemel__inquiry *q,
                                    gemel_error *error) {
  gemel__buffer b = {NULL, 0, 0, 0};
  int round;
  for (round = 0; round < 2 && ulps->seen != 0; round++) {
    gemel__ulps_json(ulps, &b);
    if (round == 0 && gemel__buffer_allocate(&b) != 0) {
      return gemel__no_memory(error, "a record");
    }
  }
  q->record.ulp = ulps->most;
  q->record.ulps = gemel__buffer_finish(&b);
  conclude(s, plan, q, ulps);
  gemel_text_free((char *)q->record.ulps);
  return GEMEL_OK;
}

static gemel_status survey_and_conclude(struct subject *s, const struct tier_plan *plan,
                                        gemel__inquiry *q, gemel_error *error) {
  gemel__ulps *ulps = gemel__ulps_new();
  gemel_status status =
      ulps != NULL ? survey(s, plan, ulps, q, error) : gemel__no_memory(error, "a record");
  if (status == GEMEL_OK && !q->refuted) {
    status = conclude_survey(s, plan, ulps, q, error);
  }
  gemel__ulps_free(ulps);
  return status;
}

/* 1 unless the kernel on trial has taken nothing and its patience is used up. */
static int hopeful(const struct subject *s) {
  return s->kernel == NULL || s->took || s->kernel->patience > 0;
}

static void begin_trial(gemel__kernel_trial *trial) {
  trial->patience = trial->fruitless ? SHORT_PATIENCE : PATIENCE;
  memset(&trial->offers, 0, sizeof trial->offers);
}

static gemel_status verify_tier(struct subject *s, const struct tier_plan *plan,
                                gemel_error *error) {
  gemel__inquiry q;
  size_t n = gemel__subject_instances(s), more;
  const struct tier_plan *larger = gemel__subject_larger(s, plan, &more);
  s->took = 0;
  if (s->kernel != NULL) {
    begin_trial(s->kernel);
  }
  gemel__inquiry_begin(&q, s->run, s->kind, s->name, plan->tier);
  for (size_t k = 0; k < n + more && !q.refuted && hopeful(s); k++) {
    GEMEL__TRY(try_instance(s, k < n ? plan : larger, k, &q, error));
  }
  if (s->kernel == NULL && !q.refuted) {
    GEMEL__TRY(gemel__subject_besides(s, plan, &q, error));
  } else if (s->kernel != NULL && !q.refuted) {
    s->kernel->fruitless = !s->took;
    GEMEL__TRY(gemel__subject_kernel(s, plan, &q, error));
  }
  if (q.refuted) {
    return GEMEL_OK;
  }
  if (plan->tier != GEMEL_TIER_FLOAT && !s->derivative &&
      gemel__survey_applies(s->op, s->run->options.instances)) {
    return survey_and_conclude(s, plan, &q, error);
  }
  conclude(s, plan, &q, NULL);
  return GEMEL_OK;
}

/* ---- Entry points ---- */

static gemel_status verify_shipped(struct subject *s, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < NUMBER_OF(plans) && status == GEMEL_OK; k++) {
    if (gemel__run_wants(s->run, plans[k].tier)) {
      if (s->derivative && plans[k].tier == GEMEL_TIER_SPECIAL) {
        not_applicable(s, plans[k].tier,
                       "made of operations whose special values are verified one by one");
      } else if (s->kernel != NULL && s->kernel->hung) {
        gemel__subject_reason(s, plans[k].tier, GEMEL_VERDICT_NOT_RUN,
                              "a call of the kernel didn't come to its end");
      } else {
        status = verify_tier(s, &plans[k], error);
      }
    }
  }
  return status;
}

static gemel_status verify_subject(struct subject *s, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  if (gemel__run_wants(s->run, GEMEL_TIER_REAL)) {
    if (s->derivative) {
      not_applicable(s, GEMEL_TIER_REAL, "decided by tier gradient of the operation");
    } else {
      status = gemel__verify_law(s->run, s->op, s->name, error);
    }
  }
  if (status == GEMEL_OK) {
    status = verify_shipped(s, error);
  }
  if (status == GEMEL_OK && gemel__run_wants(s->run, GEMEL_TIER_GRADIENT)) {
    status = gemel__verify_gradient(s, error);
  }
  return status;
}

/* Reports the same verdict for all tiers. */
static void emit_all(struct subject *s, gemel_verdict verdict, const char *reason) {
  for (size_t tier = 0; tier < GEMEL_TIER_COUNT; tier++) {
    if (gemel__run_wants(s->run, (gemel_tier)tier)) {
      gemel__subject_reason(s, (gemel_tier)tier, verdict, reason);
    }
  }
}

static void begin_subject(struct subject *s, gemel__run *run, const gemel_operation *op) {
  memset(s, 0, sizeof *s);
  s->run = run;
  s->op = op;
  s->kind = "operation";
  snprintf(s->name, sizeof s->name, "%s", op->name);
}

static void begin_derivative(struct subject *s) {
  s->kind = "gradient";
  s->derivative = 1;
  snprintf(s->name, sizeof s->name, "%.140s.grad", s->op->name);
}

#define NO_INSTANCE "no instance: its sampler gives none that its type rule takes"

/* *FOUND = 1 if the sampler gives an instance that the type rule takes, in any dtype. Its random
 * streams are used by no tier. */
static gemel_status find_instance(struct subject *s, int *found, gemel_error *error) {
  enum { APART = 1 << 30 };
  size_t n = gemel__subject_instances(s), k;
  *found = 0;
  for (k = 0; k < n && !*found; k++) {
    gemel__random random;
    gemel__instance instance;
    gemel_error problem = {GEMEL_OK, 0, 0, ""};
    gemel__run_random(s->run, s->name, GEMEL_TIER_INTEGER, APART + k, &random);
    gemel_status status = gemel__subject_draw(s, all_dtypes, NUMBER_OF(all_dtypes), k,
                                              SMALL_ELEMENTS, &random, &instance, &problem);
    if (status == GEMEL_NO_MEMORY) {
      return gemel__no_memory(error, "an instance");
    }
    *found = status != GEMEL_DECLINED; /* other failures are reported by the tiers */
    if (status == GEMEL_OK) {
      gemel__instance_clear(&instance);
    }
  }
  return GEMEL_OK;
}

static gemel_status untried_without_instance(struct subject *s, gemel_error *error) {
  (void)error;
  emit_all(s, GEMEL_VERDICT_NOT_RUN, NO_INSTANCE);
  return GEMEL_OK;
}

static gemel_status verify_operation(gemel__run *run, const gemel_operation *op,
                                     gemel_error *error) {
  struct subject s;
  gemel_status (*judge)(struct subject *, gemel_error *);
  gemel_status status;
  int found;
  begin_subject(&s, run, op);
  if (op->flags & GEMEL_OP_SOURCE) {
    emit_all(&s, GEMEL_VERDICT_NOT_APPLICABLE, "a graph's input or constant: nothing is computed");
    return GEMEL_OK;
  }
  if (gemel__sampler_of(run->context, op) == NULL) {
    emit_all(&s, GEMEL_VERDICT_NOT_RUN, "it has no sampler");
    return GEMEL_OK;
  }
  status = find_instance(&s, &found, error);
  if (status != GEMEL_OK) {
    return status;
  }
  s.own = gemel__own_reference_exists(run->context, op);
  judge = s.own || gemel__twin_of(gemel__op_find(run->context, op->name))->reference != NULL
              ? verify_subject
              : gemel__verify_unknown;
  judge = found ? judge : untried_without_instance;
  status = judge(&s, error);
  if (status == GEMEL_OK && (op->grad != NULL || op->jvp != NULL)) {
    begin_derivative(&s);
    status = judge(&s, error);
  }
  return status;
}

static int names_any(const void *user, const char *word, size_t length, gemel__suggestion *near) {
  gemel_context *context = (gemel_context *)user;
  for (size_t k = 0; k < gemel_operation_count(context); k++) {
    if (gemel__word_names_or_offers(word, length, gemel_operation_at(context, k)->name, near)) {
      return 1;
    }
  }
  return 0;
}

/* The operations that the options' list names. The caller frees the array of TOTAL entries with
 * gemel__free. NULL: memory is out. */
static const gemel_operation **match_operations(const gemel__run *run, size_t total, size_t *n) {
  const gemel_operation **ops = gemel__alloc_array(total, sizeof *ops);
  *n = 0;
  for (size_t k = 0; k < total && ops != NULL; k++) {
    const gemel_operation *op = gemel_operation_at(run->context, k);
    if (gemel__list_names(run->options.ops, op->name)) {
      ops[(*n)++] = op;
    }
  }
  return ops;
}

static gemel_status operation_job(gemel__run *run, const void *user, size_t k, gemel_error *error) {
  const gemel_operation *op = ((const gemel_operation *const *)user)[k];
  gemel_status status = verify_operation(run, op, error);
  if (status != GEMEL_OK) {
    gemel__error_prefix(error, "verifying %s", op->name);
  }
  return status;
}

static gemel_status operation_untried(gemel__run *run, const void *user, size_t k,
                                      gemel_error *error) {
  struct subject s;
  (void)error;
  begin_subject(&s, run, ((const gemel_operation *const *)user)[k]);
  emit_all(&s, GEMEL_VERDICT_NOT_RUN, GEMEL__UNTRIED);
  if (s.op->grad != NULL || s.op->jvp != NULL) {
    begin_derivative(&s);
    emit_all(&s, GEMEL_VERDICT_NOT_RUN, GEMEL__UNTRIED);
  }
  return GEMEL_OK;
}

gemel_status gemel_verify_operations(gemel_context *context, const gemel_verify_options *options,
                                     gemel_verify_summary *summary, gemel_error *error) {
  gemel__run run;
  size_t total = gemel_operation_count(context), n;
  gemel_status status = gemel__run_init(&run, context, options, summary, error);
  if (status != GEMEL_OK) {
    return status;
  }
  const gemel_operation **ops = match_operations(&run, total, &n);
  status = ops == NULL ? gemel__no_memory(error, "operations")
                       : gemel__list_check(run.options.ops, "operation", names_any, context, error);
  status = status == GEMEL_OK
               ? gemel__run_subjects(&run, n, operation_job, operation_untried, ops, error)
               : status;
  gemel__free(ops, total * sizeof *ops);
  gemel__run_finish(&run, summary);
  return status;
}

gemel_status gemel_verify_kernel(gemel_context *context, const char *name,
                                 const gemel_kernel *kernel, const gemel_verify_options *options,
                                 gemel_verify_summary *summary, gemel_error *error) {
  gemel__run run;
  struct subject s;
  int found;
  gemel_status status = gemel__run_init(&run, context, options, summary, error);
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__kernel_trial trial = {.kernel = kernel, .seconds = run.options.kernel_seconds, .only = -1};
  memset(&s, 0, sizeof s);
  s.run = &run;
  s.kind = "kernel";
  s.kernel = &trial;
  trial.in_process = run.options.in_process;
  trial.allow = run.options.allow;
  trial.seconds = trial.seconds > 0 ? trial.seconds : 10;
  s.op = gemel_operation_find(context, name);
  if (s.op == NULL || kernel == NULL || kernel->run == NULL) {
    return gemel__fail(error, s.op == NULL ? GEMEL_NOT_FOUND : GEMEL_BAD_ARGUMENT,
                       s.op == NULL ? "there is no operation called %s"
                                    : "the kernel for %s has no run function",
                       name);
  }
  if ((run.options.allow & ~GEMEL_NEEDS_ALL) != 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "allow has bits that are no words");
  }
  s.own = gemel__own_reference_exists(context, s.op);
  snprintf(s.name, sizeof s.name, "%s:%s", name, kernel->name != NULL ? kernel->name : "kernel");
  status = find_instance(&s, &found, error);
  for (size_t k = 0; k < NUMBER_OF(plans) && status == GEMEL_OK && !found; k++) {
    if (gemel__run_wants(&run, plans[k].tier)) {
      gemel__subject_reason(&s, plans[k].tier, GEMEL_VERDICT_NOT_RUN, NO_INSTANCE);
    }
  }
  status = status == GEMEL_OK && found ? verify_shipped(&s, error) : status;
  gemel__run_finish(&run, summary);
  return status;
}
