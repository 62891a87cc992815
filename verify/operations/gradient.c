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

/* As gemel__subject_refuse, but GEMEL_NOT_DIFFERENTIABLE is returned: the caller reports it. */
static gemel_status refuse_gradient(struct subject *s, gemel_record *record, gemel_status status,
                                    int *done, const gemel_error *error) {
  return status == GEMEL_NOT_DIFFERENTIABLE ? status
                                            : gemel__subject_refuse(s, record, status, done, error);
}

static gemel_status keep_error(gemel_status status, const gemel_error *problem,
                               gemel_error *error) {
  if (status != GEMEL_OK && error != NULL) {
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

static gemel_status try_gradient(struct subject *s, size_t k, gemel_record *record,
                                 gemel__answer *total, size_t *instances, int *done,
                                 gemel_error *error) {
  gemel__random random;
  gemel__instance instance;
  gemel__answer answer;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  uint64_t seed;
  gemel_status status;
  gemel__run_random(s->run, s->name, GEMEL_TIER_GRADIENT, k, &random);
  s->embedded = 0;
  status =
      gemel__subject_draw(s, dtypes, DUAL_DTYPES, 0, DUAL_ELEMENTS, &random, &instance, &problem);
  if (status != GEMEL_OK) {
    return keep_error(refuse_gradient(s, record, status, done, &problem), &problem, error);
  }
  seed = gemel__random_bits(&random);
  status = gemel__decide_gradient_part(&instance, (gemel__partial){0, 0}, seed,
                                       s->derivative ? 3 : 5, 2, s->own, &answer, &problem);
  if (status == GEMEL_OK && answer.verdict != GEMEL_VERDICT_REFUTED) {
    status = decide_part(s, &instance, k, seed, &answer, &problem);
  }
  if (status != GEMEL_OK) {
    gemel__answer_clear(&answer);
    gemel__instance_clear(&instance);
    return keep_error(refuse_gradient(s, record, status, done, &problem), &problem, error);
  }
  if (answer.verdict == GEMEL_VERDICT_REFUTED) {
    *done = 1;
    record->instances = *instances + 1;
    gemel__record_answer(s->run, record, &answer, &instance, NULL, seed);
  } else {
    status = add_answer(&instance, total, &answer, (*instances)++, error);
  }
  gemel__answer_clear(&answer);
  gemel__instance_clear(&instance);
  return status;
}

gemel_status gemel__verify_gradient(struct subject *s, gemel_error *error) {
  gemel_record record;
  gemel__answer total;
  double started = gemel__clock();
  size_t k, instances = 0, wanted = gemel__subject_instances(s) / 2 + 1;
  gemel_status status = GEMEL_OK;
  int done = 0;
  memset(&total, 0, sizeof total);
  total.how = GEMEL_EVIDENCE_NONE;
  gemel__sites_init(&total.sites);
  gemel__record_init(&record, s->run, s->kind, s->name, GEMEL_TIER_GRADIENT);
  for (k = 0; status == GEMEL_OK && !done &&
              (k < wanted || (k < wanted + MORE_INSTANCES && gemel__answer_one_way(&total)));
       k++) {
    status = try_gradient(s, k, &record, &total, &instances, &done, error);
    record.seconds = gemel__clock() - started;
  }
  if (status == GEMEL_NOT_DIFFERENTIABLE && !done && instances == 0) {
    inapplicable(s, "not differentiable");
    status = GEMEL_OK;
  } else if (status == GEMEL_OK && !done && instances == 0) {
    inapplicable(s, "nothing of a float dtype to differentiate");
  } else if (status == GEMEL_OK && !done) {
    record.instances = instances;
    gemel__answer_settle(&total);
    gemel__record_answer(s->run, &record, &total, NULL, NULL, 0);
  }
  gemel__answer_clear(&total);
  return status;
}

/* ---- Without a reference ---- */

static void conclude_taylor(struct subject *s, gemel_record *record, const gemel__taylor *t) {
  char detail[160];
  record->elements = t->points;
  record->how = GEMEL_EVIDENCE_TAYLOR;
  record->verdict = t->moves > 0 ? GEMEL_VERDICT_PASSED : GEMEL_VERDICT_UNINFORMATIVE;
  if (t->moves == 0) {
    snprintf(detail, sizeof detail, "the function didn't change along any of %zu lines", t->points);
  } else if (isinf(t->least)) {
    snprintf(detail, sizeof detail, "no remainder above rounding along %zu lines", t->points);
  } else {
    snprintf(detail, sizeof detail,
             "least order of Taylor's remainder along %zu lines: %.2f (2 if right, 1 if not)",
             t->points, t->least);
  }
  record->detail = detail;
  gemel__record_emit(s->run, record);
}

static void refute_taylor(struct subject *s, gemel_record *record, const gemel__taylor *t,
                          const gemel__instance *instance) {
  char got[60];
  snprintf(got, sizeof got, "order %.2f", t->least);
  record->how = GEMEL_EVIDENCE_TAYLOR;
  record->elements = t->points;
  record->detail = "what Taylor's theorem leaves isn't of order 2";
  gemel__record_refuted(s->run, record, instance, NULL, NULL, t->place, "order 2", got,
                        record->seed);
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

/* Tier gradient of an operation without a reference: the order of the remainder in Taylor's
 * theorem. */
static gemel_status verify_taylor(struct subject *s, gemel_error *error) {
  gemel__taylor t = {0, 0, INFINITY, 0, ""};
  gemel_record record;
  double started = gemel__clock();
  size_t k, wanted = gemel__subject_instances(s) / 2 + 1;
  gemel_status status = GEMEL_OK;
  int done = 0;
  gemel__record_init(&record, s->run, s->kind, s->name, GEMEL_TIER_GRADIENT);
  for (k = 0; k < wanted && status == GEMEL_OK && !done; k++) {
    gemel__random random;
    gemel__instance instance;
    gemel_error problem = {GEMEL_OK, 0, 0, ""};
    gemel__run_random(s->run, s->name, GEMEL_TIER_GRADIENT, k, &random);
    s->embedded = 0;
    status = gemel__subject_draw(s, dtypes, 1, 0, DUAL_ELEMENTS, &random, &instance, &problem);
    if (status == GEMEL_OK) {
      status = check_taylor(&instance, k, &random, &t, &problem);
      record.seconds = gemel__clock() - started;
      record.instances = k + 1;
      if (status == GEMEL_OK && t.refuted) {
        done = 1;
        refute_taylor(s, &record, &t, &instance);
      }
      gemel__instance_clear(&instance);
    }
    if (status != GEMEL_OK) {
      status =
          keep_error(gemel__subject_refuse(s, &record, status, &done, &problem), &problem, error);
    }
  }
  if (status == GEMEL_OK && !done && t.points == 0) {
    gemel__subject_reason(s, GEMEL_TIER_GRADIENT, GEMEL_VERDICT_NOT_RUN,
                          "no instance in f64, whose digits Taylor's theorem needs: "
                          "gemel_verify_reference gives it a reference");
  } else if (status == GEMEL_OK && !done) {
    conclude_taylor(s, &record, &t);
  }
  return status;
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
