/* SPDX-License-Identifier: MIT
 *
 * Check of a pair of graphs: does domain O tell them apart at a point?
 */
#include "core/alloc.h"
#include "core/error.h"
#include "domains/ordered.h"
#include "tiers/compared.h"
#include "tiers/poles.h"
#include "tiers/tiers.h"

/* A pair at a point. */
struct pair_at_point {
  gemel__question question; /* what both sides are */
  gemel__poles poles;
  gemel__ordered *o;
  size_t n;             /* outputs */
  gemel__rtensor *room; /* left's results, then right's */
};

/* Evaluates both sides in O at VALUES, and in S if O doesn't decide. */
static gemel_status evaluate_both(struct pair_at_point *c, const gemel__instance *a,
                                  const gemel__instance *b, gemel_tensor *const *values,
                                  gemel_error *error) {
  GEMEL__TRY(gemel__instance_reference(a, &c->o->domain, values, c->room, error));
  GEMEL__TRY(gemel__instance_reference(b, &c->o->domain, values, c->room + c->n, error));
  return gemel__poles_look(&c->poles, &c->question, &c->o->domain, c->room, values, error);
}

/* 1 if X and Y, element I of output K, don't differ for certain. */
static int agree(const struct pair_at_point *c, size_t k, size_t i, const void *x, const void *y) {
  gemel__domain *d = &c->o->domain;
  return gemel__ordered_overlap(d, x, y) ||
         ((c->poles.rounded || d->state(d, x) != d->state(d, y)) &&
          gemel__poles_agree(&c->poles, k, i, d, x, y));
}

/* Puts the first result that certainly differs into OUTCOME. Returns 1 if more digits may show
 * another difference. */
static int find_difference(const struct pair_at_point *c, gemel__outcome *outcome) {
  gemel__domain *d = &c->o->domain;
  const gemel__rtensor *room = c->room;
  size_t k, i, n = c->n;
  int open = 0;
  for (k = 0; k < n && !outcome->refuted; k++) {
    for (i = 0; i < room[k].count && i < room[n + k].count && !outcome->refuted; i++) {
      void *x = gemel__rtensor_at(&room[k], i), *y = gemel__rtensor_at(&room[n + k], i);
      outcome->compared += d->state(d, x) == GEMEL__DEFINED && d->state(d, y) == GEMEL__DEFINED;
      if (agree(c, k, i, x, y)) {
        open |= !gemel__ordered_is_exact(d, x) || !gemel__ordered_is_exact(d, y);
        continue;
      }
      outcome->refuted = 1;
      outcome->output = k;
      outcome->element = i;
      gemel__format_both(d, x, y, outcome->expected, outcome->got, sizeof outcome->got);
    }
  }
  return open && !outcome->refuted;
}

/* With 128 bits, then with MORE. */
static gemel_status compare(struct pair_at_point *c, const gemel__instance *a,
                            const gemel__instance *b, gemel_tensor *const *values, int more,
                            gemel__outcome *outcome, gemel_error *error) {
  static const long precisions[] = {128, 1024}; /* 128 suffice for most differences */
  gemel_status status = GEMEL_OK;
  int open = 1;
  for (int k = 0; k < (more ? 2 : 1) && open && status == GEMEL_OK; k++) {
    c->o = gemel__ordered_new(precisions[k]);
    status = c->o == NULL ? gemel__no_memory(error, "a comparison")
                          : evaluate_both(c, a, b, values, error);
    open = status == GEMEL_OK && find_difference(c, outcome);
    gemel__rtensors_clear(2 * c->n, c->room);
    gemel__ordered_free(c->o);
  }
  return status;
}

static gemel_status check(gemel__domains how, int more, const gemel__instance *a,
                          const gemel__instance *b, gemel_tensor *const *values,
                          gemel__outcome *outcome, gemel_error *error) {
  gemel__model_side left = {gemel__side_graph, a->graph}, right = {gemel__side_graph, b->graph};
  size_t n = gemel_graph_output_count(a->graph);
  struct pair_at_point c = {.question = {.leaves = a,
                                         .left = &left,
                                         .right = &right,
                                         .n_outputs = n,
                                         .compare_domain = how},
                            .n = n};
  c.room = gemel__alloc_array(2 * n, sizeof *c.room);
  gemel_status status = c.room == NULL ? gemel__no_memory(error, "a comparison")
                                       : compare(&c, a, b, values, more, outcome, error);
  gemel__free(c.room, 2 * n * sizeof *c.room);
  gemel__poles_clear(&c.poles);
  return status;
}

gemel_status gemel__check_pair(const gemel__instance *instance, gemel_tensor *const *values,
                               const gemel__trial *trial, gemel__outcome *outcome,
                               gemel_error *error) {
  return check(GEMEL__SAME_DOMAIN, 1, instance, trial->other, values, outcome, error);
}

gemel_status gemel__check_equal(const gemel__instance *instance, gemel_tensor *const *values,
                                const gemel__trial *trial, gemel__outcome *outcome,
                                gemel_error *error) {
  return check(GEMEL__IEEE_DECIDES, 1, instance, trial->other, values, outcome, error);
}

gemel_status gemel__check_equal_digits(const gemel__instance *instance, gemel_tensor *const *values,
                                       const gemel__trial *trial, int more, gemel__outcome *outcome,
                                       gemel_error *error) {
  return check(GEMEL__IEEE_DECIDES, more, instance, trial->other, values, outcome, error);
}
