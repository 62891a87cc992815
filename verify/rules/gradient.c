/* SPDX-License-Identifier: MIT
 *
 * Tier gradient of a rule: derivatives of both sides are compared at random points.
 */
#include <string.h>
#include "core/dtype.h"
#include "rules/folded.h"
#include "rules/judge.h"
#include "rules/smaller.h"

static const struct gemel__rule_search by_derivative = {gemel__check_derivatives, GEMEL__FILL_FULL,
                                                        1, "derivative"};

/* Compares the derivatives of both sides at random points, none of which is a kink. */
static gemel_status compare_gradients(struct gemel__rule_subject *p, gemel__inquiry *q,
                                      struct gemel__example *e, gemel__random *random,
                                      gemel_error *error) {
  const gemel__pair *pair = gemel__example_reals(e);
  gemel__random again = *random;
  int folds = 0;
  gemel__pair gradient;
  gemel_tensor **values = NULL;
  gemel__outcome outcome;
  uint64_t seed = gemel__random_bits(random);
  gemel_status status = gemel__rule_derive(pair, &gradient, error);
  gemel__trial trial = {NULL, random, &gradient.b};
  memset(&outcome, 0, sizeof outcome);
  status =
      status ? status : gemel__values_draw(&gradient.a, GEMEL__FILL_FULL, random, &values, error);
  if (status == GEMEL_OK) {
    gemel__values_part(&gradient.a, pair->a.n_leaves, values);
    status = gemel__check_derivatives_of(&pair->a, &pair->b, &gradient.a, values, &trial, &outcome,
                                         error);
    q->record.elements += gradient.a.n_leaves;
  }
  if (status == GEMEL_OK && outcome.refuted) {
    status = gemel__example_fold(p, e, &folds, error);
  }
  if (status == GEMEL_OK && outcome.refuted && !folds) {
    q->record.how = GEMEL_EVIDENCE_SAMPLES;
    q->record.detail = "the derivatives of both sides differ";
    status = gemel__rule_report_values(p, q, &gradient, &values, &by_derivative, seed, error);
  }
  q->record.instances += status == GEMEL_OK && !folds;
  gemel__values_free(&gradient.a, values);
  gemel__pair_clear(&gradient);
  if (folds && status == GEMEL_OK) {
    return compare_gradients(p, q, e, &again, error);
  }
  return status == GEMEL_DECLINED || status == GEMEL_NOT_DIFFERENTIABLE || status == GEMEL_BAD_VALUE
             ? GEMEL_OK
             : status;
}

static gemel_status derive_example(gemel__inquiry *q, void *user, size_t k, gemel_error *error) {
  struct gemel__rule_subject *p = user;
  gemel__random random;
  if (!p->examples[k].real || !gemel__is_float(p->examples[k].drawn.dtype)) {
    return GEMEL_OK;
  }
  gemel__run_random(p->run, p->info->name, GEMEL_TIER_GRADIENT, k, &random);
  return compare_gradients(p, q, &p->examples[k], &random, error);
}

gemel_status gemel__rule_gradient(struct gemel__rule_subject *p, gemel_error *error) {
  gemel__inquiry q;
  gemel__rule_begin(p, &q, GEMEL_TIER_GRADIENT);
  GEMEL__TRY(gemel__inquiry_each(&q, p->n, derive_example, p, error));
  if (!q.refuted && q.record.instances > 0) {
    gemel__rule_end(p, &q, GEMEL_VERDICT_PASSED, GEMEL_EVIDENCE_SAMPLES, "");
  } else if (!q.refuted) {
    gemel__rule_end(p, &q, GEMEL_VERDICT_NOT_APPLICABLE, GEMEL_EVIDENCE_NONE,
                    "nothing of a float dtype to differentiate");
  }
  return GEMEL_OK;
}
