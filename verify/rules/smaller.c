/* SPDX-License-Identifier: MIT
 *
 * Reports refutations, see smaller.h. Instances of fewer elements are drawn anew; the values of the
 * first that shows the difference are then shrunk.
 */
#include "rules/smaller.h"

#include <stdio.h>
#include <string.h>
#include "core/error.h"
#include "harness/report.h"
#include "rules/folded.h"
#include "rules/report.h"

gemel_status gemel__rule_derive(const gemel__pair *pair, gemel__pair *gradient,
                                gemel_error *error) {
  gemel_status status = gemel__rule_has_elements(pair->a.graph) ? GEMEL_OK : GEMEL_DECLINED;
  memset(gradient, 0, sizeof *gradient);
  status = status ? status : gemel__instance_gradient(&gradient->a, &pair->a, error);
  return status ? status : gemel__instance_gradient(&gradient->b, &pair->b, error);
}

struct found {
  gemel__pair pair;
  gemel_tensor **values;
};

static void clear_found(struct found *f) {
  gemel__values_free(&f->pair.a, f->values);
  gemel__pair_clear(&f->pair);
  memset(f, 0, sizeof *f);
}

/* 1 if DRAWN's sides differ over the reals by the rounding of a constant alone. */
static gemel_status is_folded(const struct gemel__rule_subject *p,
                              const gemel__rule_instance *drawn,
                              const struct gemel__rule_search *how, gemel__random *random,
                              int *folded, gemel_error *error) {
  gemel__pair pair;
  *folded = 0;
  if (!p->folds || (how->check != gemel__check_pair && !how->gradient)) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__instance_fold(drawn, random, &pair, folded, error);
  if (*folded) {
    gemel__pair_clear(&pair);
  }
  return status;
}

/* Sets FOUND if instance DRAWN shows the difference too. An instance that can't be evaluated shows
 * nothing; only GEMEL_NO_MEMORY is returned. */
static gemel_status shows(const gemel__rule_instance *drawn, const struct gemel__rule_search *how,
                          gemel__random *random, struct found *found, gemel_error *error) {
  gemel__pair plain;
  gemel__outcome outcome;
  gemel_status status = gemel__pair_draw(&plain, drawn->left, drawn->right, random, NULL);
  memset(found, 0, sizeof *found);
  memset(&outcome, 0, sizeof outcome);
  if (status == GEMEL_OK && how->gradient) {
    status = gemel__rule_derive(&plain, &found->pair, NULL);
    gemel__pair_clear(&plain);
  } else if (status == GEMEL_OK) {
    found->pair = plain;
  }
  if (status == GEMEL_OK) {
    gemel__trial trial = {NULL, random, &found->pair.b};
    status = gemel__values_draw(&found->pair.a, how->fill, random, &found->values, NULL);
    status = status ? status : how->check(&found->pair.a, found->values, &trial, &outcome, NULL);
  }
  if (status != GEMEL_OK || !outcome.refuted) {
    clear_found(found);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a counterexample") : GEMEL_OK;
}

/* Looks for the difference in smaller instances. If one shows it, *FOUND_ONE is 1, and FOUND has
 * it. */
static gemel_status find_smaller(struct gemel__rule_subject *p,
                                 const struct gemel__rule_search *how, gemel_dtype dtype,
                                 gemel__random *random, struct found *found, int *found_one,
                                 gemel_error *error) {
  enum { DRAWS = 12, SIZES = 4 };
  gemel_status status = GEMEL_OK;
  *found_one = 0;
  for (int k = 0; k < SIZES * DRAWS && status == GEMEL_OK && !*found_one; k++) {
    gemel__rule_wish wish = {.dtype = dtype,
                             .max_elements = (int64_t)1 << k / DRAWS,
                             .empty = k % DRAWS == 0,
                             .tries = 10};
    gemel__rule_instance drawn;
    gemel__rule_draws draws = {0};
    gemel_status had = gemel__rule_draw_again(p, &wish, random, &drawn, &draws, NULL);
    if (had != GEMEL_OK) {
      status = had == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a counterexample") : GEMEL_OK;
      continue;
    }
    int folded = 1;
    status = is_folded(p, &drawn, how, random, &folded, error);
    if (drawn.right != NULL && status == GEMEL_OK && !folded) {
      status = shows(&drawn, how, random, found, error);
      *found_one = status == GEMEL_OK && found->values != NULL;
    }
    gemel__rule_instance_clear(&drawn);
  }
  return status;
}

gemel_status gemel__rule_report_values(struct gemel__rule_subject *p, gemel__inquiry *q,
                                       gemel__pair *pair, gemel_tensor ***values,
                                       const struct gemel__rule_search *how, uint64_t seed,
                                       gemel_error *error) {
  gemel__random random;
  gemel__trial trial = {NULL, &random, NULL};
  gemel__outcome outcome;
  struct found found = {*pair, *values};
  gemel_dtype dtype = pair->a.n_leaves > 0 ? pair->a.leaves[0].dtype : GEMEL_F64;
  char place[160];
  int smaller;
  gemel_status status;
  gemel__random_seed(&random, seed);
  status = find_smaller(p, how, dtype, &random, &found, &smaller, error);
  if (status != GEMEL_OK) {
    return status;
  }
  if (!smaller) {
    found.pair = *pair;
    found.values = *values;
  }
  memset(&outcome, 0, sizeof outcome);
  trial.other = &found.pair.b;
  status = how->check(&found.pair.a, found.values, &trial, &outcome, error);
  if (status == GEMEL_OK) {
    status = gemel__shrink(&found.pair.a, &found.values, how->fill, how->check, &trial, NULL, NULL,
                           &outcome, error);
  }
  if (status == GEMEL_OK) {
    snprintf(place, sizeof place, "%s, element %zu", how->what, outcome.element);
    gemel__rule_refuted(q, &found.pair, outcome.output, found.values, place, outcome.expected,
                        outcome.got, seed);
  }
  if (smaller) {
    clear_found(&found);
  }
  return status;
}
