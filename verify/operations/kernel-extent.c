/* SPDX-License-Identifier: MIT
 *
 * What a program's own kernel is tried on besides the instances that every operation gets: many
 * calls on a few states, empty operands, axes of every length, and operands of more than 65,536
 * elements.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "operations/subject.h"

enum such { ORDINARY, EMPTY, NOTHING, LARGE };

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

/* 1 if output 0 has elements: a sum over no elements has a result. */
static int has_result(const gemel__instance *instance) {
  gemel__leaf leaf;
  return gemel__leaf_of_output(instance->graph, 0, &leaf) == GEMEL_OK && leaf.count > 0;
}

static int is_such(const gemel__instance *instance, enum such such) {
  size_t least, most;
  extent(instance, &least, &most);
  if (such == NOTHING) {
    return least == 0 && has_result(instance);
  }
  return such == EMPTY ? least == 0 : least > 0 && (such == ORDINARY || most > 65536);
}

/* Draws instances of at most MAX elements until one is SUCH. GEMEL_DECLINED: none of DRAWS is. */
static gemel_status draw_such(struct subject *s, enum such such, int64_t max, gemel__random *random,
                              gemel__instance *instance, gemel_error *error) {
  enum { DRAWS = 60 };
  gemel_status status = GEMEL_DECLINED;
  int k;
  for (k = 0; k < DRAWS && status == GEMEL_DECLINED; k++) {
    status = gemel__subject_draw(s, &s->taken, 1, 0, max, random, instance, error);
    if (status == GEMEL_OK && !is_such(instance, such)) {
      gemel__instance_clear(instance);
      status = GEMEL_DECLINED;
    }
  }
  return status;
}

/* Makes the third set of values: the first set, with one element of one input taken from the
 * second. */
static gemel_status change_one(gemel__series_case *one, gemel__fill fill, gemel__random *random,
                               gemel_error *error) {
  const gemel__instance *instance = &one->instance;
  gemel_status status = gemel__values_draw(instance, fill, random, &one->values[2], error);
  size_t n = instance->n_leaves;
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    memcpy(gemel_tensor_data(one->values[2][k]), gemel_tensor_data(one->values[0][k]),
           instance->leaves[k].count * gemel_dtype_size(instance->leaves[k].dtype));
  }
  if (status == GEMEL_OK && n > 0) {
    size_t k = n - 1 - (size_t)gemel__random_below(random, n > 1 ? 2 : 1);
    size_t size = gemel_dtype_size(instance->leaves[k].dtype);
    size_t at = size * (size_t)gemel__random_below(random, instance->leaves[k].count);
    memcpy((char *)gemel_tensor_data(one->values[2][k]) + at,
           (const char *)gemel_tensor_data(one->values[1][k]) + at, size);
  }
  return status;
}

/* Draws some instances that are SUCH and returns the first that the kernel takes. If it takes none
 * of them, returns one that it declines. */
static gemel_status draw_taken(struct subject *s, enum such such, int64_t max,
                               gemel__random *random, gemel__instance *instance,
                               gemel_error *error) {
  enum { AT_ONCE = 8 };
  gemel__kernel_case *cases = gemel__alloc_array(AT_ONCE, sizeof *cases);
  gemel__instance drawn[AT_ONCE];
  gemel_status status = cases != NULL ? GEMEL_OK : gemel__no_memory(error, "instances");
  size_t n = 0, first = 0;
  while (n < AT_ONCE && status == GEMEL_OK) {
    status = draw_such(s, such, max, random, &drawn[n], error);
    if (status == GEMEL_OK) {
      status = gemel__kernel_case_init(&cases[n], &drawn[n], s->kernel->kernel, NULL);
      if (status == GEMEL_OK) {
        n++;
      } else {
        gemel__instance_clear(&drawn[n]);
      }
    }
  }
  status = n > 0 && status == GEMEL_DECLINED ? GEMEL_OK : status;
  if (status == GEMEL_OK) {
    status = gemel__kernel_probe(s->kernel, cases, n, 0, &first, error);
  }
  first = first < n ? first : 0;
  for (size_t k = 0; k < n; k++) {
    if (k == first && status == GEMEL_OK) {
      *instance = drawn[k];
    } else {
      gemel__instance_clear(&drawn[k]);
    }
  }
  gemel__free(cases, AT_ONCE * sizeof *cases);
  return status;
}

static gemel_status draw_case(struct subject *s, const struct tier_plan *plan, size_t k,
                              gemel__random *random, gemel__series_case *one, gemel_error *error) {
  gemel_status status;
  int set;
  memset(one, 0, sizeof *one);
  status = draw_taken(s, ORDINARY, k < 2 ? GEMEL__SMALL_ELEMENTS : GEMEL__LARGE_ELEMENTS, random,
                      &one->instance, error);
  for (set = 0; set < 2 && status == GEMEL_OK; set++) {
    status = gemel__values_draw(&one->instance, plan->fill, random, &one->values[set], error);
  }
  return status == GEMEL_OK ? change_one(one, plan->fill, random, error) : status;
}

static void clear_case(gemel__series_case *one) {
  for (int set = 0; set < GEMEL__SERIES_SETS; set++) {
    gemel__values_free(&one->instance, one->values[set]);
  }
  gemel__instance_clear(&one->instance);
}

/* Makes many calls on a few states. GEMEL_DECLINED: the kernel takes none of the cases. */
static gemel_status try_series(struct subject *s, const struct tier_plan *plan, size_t k,
                               gemel__inquiry *q, gemel_error *error) {
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
    gemel__inquiry_add(q, &outcome);
  }
  if (status == GEMEL_OK && outcome.refuted) {
    gemel__subject_place(s, &outcome, place, sizeof place);
    q->record.elements = q->outcome.compared;
    q->record.how = plan->how;
    q->record.detail = place;
    gemel__inquiry_refute(q, &cases[guilty].instance, NULL, cases[guilty].values[set], place,
                          outcome.expected, outcome.got);
  }
  for (c = 0; c < n; c++) {
    clear_case(&cases[c]);
  }
  return status;
}

/* Tries one instance that is SUCH: large, or with an empty operand. */
static gemel_status try_such(struct subject *s, const struct tier_plan *plan, size_t k,
                             enum such such, gemel__inquiry *q, gemel_error *error) {
  enum { APART = 600000, DRAWS = 4, MOST = 140000 };
  gemel_status status = GEMEL_DECLINED;
  size_t j;
  for (j = 0; j < DRAWS && status == GEMEL_DECLINED; j++) {
    gemel__random random;
    gemel__instance instance;
    gemel__run_random(s->run, s->name, plan->tier, APART + ((size_t)such * 16 + k) * DRAWS + j,
                      &random);
    status = draw_taken(s, such, such == LARGE ? MOST : GEMEL__SMALL_ELEMENTS, &random, &instance,
                        error);
    if (status == GEMEL_OK) {
      status = gemel__subject_judge(s, plan, plan->check, &instance, &random, q, error);
      gemel__instance_clear(&instance);
    }
  }
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* ---- All lengths ---- */

/* Lengths that are tried, in this order. Square matrices of a few sizes. A vector: 2^k − 1, 2^k and
 * 2^k + 1, where vector loops and blocks end; one length of every remainder modulo 64; every length
 * up to 33. The last axis, then the first, of a matrix (or the sides of a product): the same
 * powers, and one length of every remainder modulo 32. */
enum { SHORT = 33, RESTS = 64, LESS_RESTS = 32, LEAST_POWER = 6, POWERS = 3 * 6, SQUARES = 14 };
enum { VECTORS = POWERS + RESTS + SHORT, SIDES = POWERS + LESS_RESTS };
enum { WANTED = SQUARES + VECTORS + 2 * SIDES };

static int64_t length_of(size_t k, int64_t rests, gemel__random *random) {
  if (k < POWERS) {
    return ((int64_t)1 << (LEAST_POWER + k / 3)) + (int64_t)(k % 3) - 1;
  }
  int64_t rest = (int64_t)k - POWERS;
  return rest < rests ? rest + rests * gemel__random_between(random, 1, 6) : rest - rests + 1;
}

/* The K-th of the WANTED lengths, with rank and axis. */
static gemel__wanted wanted_of(size_t k, gemel__random *random) {
  static const int64_t squares[SQUARES] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 32, 33};
  if (k < SQUARES) {
    return (gemel__wanted){2, squares[k], -1};
  }
  k -= SQUARES;
  if (k < VECTORS) {
    return (gemel__wanted){1, length_of(k, RESTS, random), 0};
  }
  k -= VECTORS;
  return (gemel__wanted){2, length_of(k % SIDES, LESS_RESTS, random), 1 + (int)(k / SIDES)};
}

/* Tries the K-th length: in the dense variant and one other, or in all variants if the matrix is
 * square. If the kernel declines the instance, several others are offered. */
static gemel_status try_length(struct subject *s, const struct tier_plan *plan, size_t k,
                               gemel__inquiry *q, gemel_error *error) {
  enum { APART = 700000, DRAWS = 2 };
  gemel_status status = GEMEL_DECLINED;
  for (size_t j = 0; j < DRAWS && status == GEMEL_DECLINED; j++) {
    gemel__random random;
    gemel__instance instance;
    gemel__run_random(s->run, s->name, plan->tier, APART + k * DRAWS + j, &random);
    s->wanted = wanted_of(k, &random);
    int64_t length = s->wanted.length;
    int square = s->wanted.axis < 0;
    int64_t most = square ? length * length : 5 * length + 40;
    s->kernel->few =
        square ? 0 : 1 + (unsigned)gemel__random_below(&random, GEMEL__KERNEL_VARIANTS - 1);
    status = j == 0 ? draw_such(s, ORDINARY, most, &random, &instance, error)
                    : draw_taken(s, ORDINARY, most, &random, &instance, error);
    if (status == GEMEL_OK) {
      status = gemel__subject_judge(s, plan, plan->check, &instance, &random, q, error);
      gemel__instance_clear(&instance);
    }
  }
  memset(&s->wanted, 0, sizeof s->wanted);
  s->kernel->few = 0;
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

/* Tries all lengths. A run of fewer instances than usual tries a share of them. */
static gemel_status try_lengths(struct subject *s, const struct tier_plan *plan, gemel__inquiry *q,
                                gemel_error *error) {
  enum { USUAL = 24 };
  gemel_status status = GEMEL_OK;
  size_t n = s->run->options.instances, step = n < USUAL ? USUAL / (n > 0 ? n : 1) : 1;
  for (size_t k = s->op->max_inputs == 1 ? SQUARES : 0;
       k < WANTED && status == GEMEL_OK && s->took && !q->refuted; k += step) {
    status = try_length(s, plan, k, q, error);
  }
  return status;
}

/* Lengths are tried in one tier only: integer, or float if results are never exact. */
static int tries_lengths(const struct subject *s, const struct tier_plan *plan) {
  int exact = gemel__run_wants(s->run, GEMEL_TIER_INTEGER) && !gemel__subject_inexact(s);
  return s->took && plan->tier == (exact ? GEMEL_TIER_INTEGER : GEMEL_TIER_FLOAT);
}

/* A kernel is offered the dtype that it took last. */
gemel_status gemel__subject_kernel(struct subject *s, const struct tier_plan *plan,
                                   gemel__inquiry *q, gemel_error *error) {
  enum { SERIES = 12, EMPTY_ONES = 3, LARGE_ONES = 2 };
  gemel_status status = GEMEL_OK;
  size_t k;
  memset(&s->wanted, 0, sizeof s->wanted);
  for (k = 0; k < 2 * EMPTY_ONES && s->took && status == GEMEL_OK && !q->refuted; k++) {
    status = try_such(s, plan, k, k % 2 == 0 ? EMPTY : NOTHING, q, error);
  }
  if (status == GEMEL_OK && tries_lengths(s, plan)) {
    status = try_lengths(s, plan, q, error);
  }
  /* Tier special has tried special values in every place of small operands already. */
  for (k = 0; k < LARGE_ONES && plan->tier != GEMEL_TIER_SPECIAL && s->took && status == GEMEL_OK &&
              !q->refuted;
       k++) {
    status = try_such(s, plan, k, LARGE, q, error);
  }
  /* The series comes last: a counterexample of a single call can be shrunk, one of a series can't.
   */
  int judged = q->refuted || status != GEMEL_OK;
  for (k = 0; k < SERIES && s->took && !judged; k++) {
    status = try_series(s, plan, k, q, error);
    judged = status != GEMEL_DECLINED;
  }
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}
