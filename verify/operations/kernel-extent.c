/* SPDX-License-Identifier: MIT
 *
 * What a program's own kernel is tried on beside the instances that every operation gets: many
 * calls, empty operands, and operands of more elements than 16 bits count.
 */
#include <string.h>
#include "operations/subject.h"

enum such { ORDINARY, EMPTY, LARGE };

/* Fewest and most elements of the operands. */
static void extent(const gemel__instance *instance, size_t *least, size_t *most) {
  *least = SIZE_MAX;
  *most = 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    size_t count = instance->leaves[k].count;
    *least = count < *least ? count : *least;
    *most = count > *most ? count : *most;
  }
}

static int is_such(const gemel__instance *instance, enum such such) {
  size_t least, most;
  extent(instance, &least, &most);
  return such == EMPTY ? least == 0 : least > 0 && (such == ORDINARY || most > 65536);
}

/* An instance of at most MAX elements that is SUCH. GEMEL_DECLINED if that is seldom so. */
static gemel_status draw_such(struct subject *s, enum such such, int64_t max, gemel__random *random,
                              gemel__instance *instance, gemel_error *error) {
  enum { DRAWS = 60 };
  gemel_status status = GEMEL_DECLINED;
  int k;
  s->rank = 0;
  for (k = 0; k < DRAWS && status == GEMEL_DECLINED; k++) {
    status = gemel__subject_draw(s, &s->taken, 1, 0, max, random, instance, error);
    if (status == GEMEL_OK && !is_such(instance, such)) {
      gemel__instance_clear(instance);
      status = GEMEL_DECLINED;
    }
  }
  return status;
}

static gemel_status draw_case(struct subject *s, const struct tier_plan *plan, size_t k,
                              gemel__random *random, gemel__series_case *one, gemel_error *error) {
  gemel_status status;
  int set;
  memset(one, 0, sizeof *one);
  status = draw_such(s, ORDINARY, k < 2 ? GEMEL__SMALL_ELEMENTS : GEMEL__LARGE_ELEMENTS, random,
                     &one->instance, error);
  for (set = 0; set < 2 && status == GEMEL_OK; set++) {
    status = gemel__values_draw(&one->instance, plan->fill, random, &one->values[set], error);
  }
  return status;
}

static void clear_case(gemel__series_case *one) {
  gemel__values_free(&one->instance, one->values[0]);
  gemel__values_free(&one->instance, one->values[1]);
  gemel__instance_clear(&one->instance);
}

/* Many calls on a few states. GEMEL_DECLINED: the kernel takes none of the cases. */
static gemel_status try_series(struct subject *s, const struct tier_plan *plan, size_t k,
                               gemel_record *record, gemel__evidence *e, int *done,
                               gemel_error *error) {
  enum { APART = 500000 };
  gemel__series_case cases[GEMEL__SERIES_CASES];
  gemel__random random;
  gemel__trial trial = {s->kernel, &random, NULL};
  gemel__outcome outcome;
  gemel_status status = GEMEL_OK;
  char place[800];
  size_t n, guilty = 0, c;
  int set = 0;
  memset(&outcome, 0, sizeof outcome);
  gemel__run_random(s->run, s->name, plan->tier, APART + k, &random);
  for (n = 0; n < GEMEL__SERIES_CASES && status == GEMEL_OK; n++) {
    status = draw_case(s, plan, n, &random, &cases[n], error);
  }
  if (status == GEMEL_OK) {
    status = gemel__kernel_series(n, cases, &trial, plan->check, &guilty, &set, &outcome, error);
  }
  if (status == GEMEL_OK) {
    gemel__outcome_add(&e->outcome, &outcome);
  }
  if (status == GEMEL_OK && outcome.refuted) {
    *done = 1;
    gemel__subject_place(s, &outcome, place, sizeof place);
    record->instances = e->instances;
    record->elements = e->outcome.compared;
    record->how = plan->how;
    record->detail = place;
    gemel__record_refuted(s->run, record, &cases[guilty].instance, NULL, cases[guilty].values[set],
                          place, outcome.expected, outcome.got, record->seed);
  }
  for (c = 0; c < n; c++) {
    clear_case(&cases[c]);
  }
  return status;
}

/* An instance with more elements than 16 bits count, or one with an empty operand. */
static gemel_status try_such(struct subject *s, const struct tier_plan *plan, size_t k,
                             enum such such, gemel_record *record, gemel__evidence *e, int *done,
                             gemel_error *error) {
  enum { APART = 600000, DRAWS = 4, MOST = 140000 };
  gemel_status status = GEMEL_DECLINED;
  size_t j;
  for (j = 0; j < DRAWS && status == GEMEL_DECLINED; j++) {
    gemel__random random;
    gemel__instance instance;
    gemel__run_random(s->run, s->name, plan->tier, APART + ((size_t)such * 16 + k) * DRAWS + j,
                      &random);
    status =
        draw_such(s, such, such == LARGE ? MOST : GEMEL__SMALL_ELEMENTS, &random, &instance, error);
    if (status == GEMEL_OK) {
      status =
          gemel__subject_judge(s, plan, plan->check, &instance, &random, record, e, done, error);
      gemel__instance_clear(&instance);
    }
  }
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* Of dtypes that the kernel has taken. */
gemel_status gemel__subject_kernel(struct subject *s, const struct tier_plan *plan,
                                   gemel_record *record, gemel__evidence *e, int *done,
                                   gemel_error *error) {
  enum { SERIES = 12, EMPTY_ONES = 3, LARGE_ONES = 2 };
  gemel_status status = GEMEL_DECLINED;
  size_t k;
  for (k = 0; k < SERIES && s->took && status == GEMEL_DECLINED; k++) {
    status = try_series(s, plan, k, record, e, done, error);
  }
  status = status == GEMEL_DECLINED ? GEMEL_OK : status;
  for (k = 0; k < EMPTY_ONES && s->took && status == GEMEL_OK && !*done; k++) {
    status = try_such(s, plan, k, EMPTY, record, e, done, error);
  }
  if (plan->tier == GEMEL_TIER_SPECIAL) {
    return status; /* special values have been seen in all places of small operands */
  }
  for (k = 0; k < LARGE_ONES && s->took && status == GEMEL_OK && !*done; k++) {
    status = try_such(s, plan, k, LARGE, record, e, done, error);
  }
  return status;
}
