/* SPDX-License-Identifier: MIT
 *
 * What no kind of rounding explains, see beyond.h. At finite inputs the results of both graphs are
 * held against each other, and where they are apart domain B says how far each may be from the
 * exact result at just these inputs:
 *
 *   an integer or a truth that isn't the same                             integers
 *   NaN or an infinity on the second side, where the first is right       worsens
 *   two numbers further apart than both bounds together                   bound
 *
 * "Worsens" is asked at moderate numbers alone, and wants two such points: near the largest ones a
 * sum in another order may overflow too, and a product even among moderate ones, though seldom.
 * Where domain B has no number although both sides compute one (an infinity among the constants),
 * ordinary numbers that agree in less than half of their digits are too far apart.
 */
#include "needs/beyond.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"

struct look {
  const gemel__pair *pair;
  gemel_tensor *const *values;
  const gemel__both *base;
  gemel__temper temper;
  int folded;
  gemel__domain *domain;
  const gemel__rtensor *exact; /* the left side's, then the right side's */
  gemel__needs *needs;
  int worsens; /* here */
};

static double number_at(const gemel_tensor *tensor, size_t i) {
  return gemel__decode(gemel_tensor_dtype(tensor), gemel__tensor_element(tensor, i));
}

static int is_float(const gemel_tensor *tensor) {
  return gemel__is_float(gemel_tensor_dtype(tensor));
}

static gemel_status note(struct look *l, gemel__beyond what, size_t output, size_t i,
                         gemel_error *error) {
  enum { OFTEN = 2 };
  gemel__witness *witness = &l->needs->beyond_witness[what];
  l->worsens |= what == GEMEL__BEYOND_WORSENS;
  if (what != GEMEL__BEYOND_WORSENS || l->needs->worsened + 1 >= OFTEN) {
    l->needs->beyond |= 1u << what;
  }
  return witness->values != NULL
             ? GEMEL_OK
             : gemel__witness_take(witness, l->pair, l->values, l->base, output, i, error);
}

/* ---- Integers ---- */

static gemel_status look_at_integers(struct look *l, size_t output, gemel_error *error) {
  size_t i, n = gemel__both_elements(l->base, output);
  for (i = 0; i < n; i++) {
    if (gemel__both_contrast(l->base, output, i) != GEMEL__SAME) {
      return note(l, GEMEL__BEYOND_INTEGERS, output, i, error);
    }
  }
  return GEMEL_OK;
}

/* ---- Floats ---- */

/* 1 if element I is worth a look at the exact results, which take long. */
static int is_apart(const struct look *l, size_t output, size_t i) {
  double x = number_at(l->base->left[output], i), y = number_at(l->base->right[output], i);
  gemel_dtype dtype = gemel_tensor_dtype(l->base->left[output]);
  if (isfinite(x) && isfinite(y)) {
    return fabs(x - y) > ldexp(fmax(fabs(x), fabs(y)), 2 - gemel__dtype_format(dtype)->digits);
  }
  return l->temper != GEMEL__WILD && isfinite(x);
}

static int any_apart(const struct look *l) {
  for (size_t k = 0; k < l->base->n; k++) {
    size_t n = gemel__both_elements(l->base, k);
    for (size_t i = 0; i < n && is_float(l->base->left[k]) && !gemel__both_identical(l->base, k);
         i++) {
      if (is_apart(l, k, i)) {
        return 1;
      }
    }
  }
  return 0;
}

/* The largest finite number among the results of OUTPUT, and at least 1. */
static double scale_of(const struct look *l, size_t output) {
  double most = 1;
  size_t i, n = gemel__both_elements(l->base, output);
  for (i = 0; i < n; i++) {
    double x = number_at(l->base->left[output], i), y = number_at(l->base->right[output], i);
    most = fmax(most, fmax(isfinite(x) ? fabs(x) : 0, isfinite(y) ? fabs(y) : 0));
  }
  return most;
}

/* 1 if two finite numbers are further apart than both bounds together. */
static int is_too_far(struct look *l, size_t output, double x, double y, const void *left,
                      const void *right) {
  gemel__domain *d = l->domain;
  double room, apart;
  if (d->state(d, left) == GEMEL__DEFINED && d->state(d, right) == GEMEL__DEFINED) {
    apart = fabs(gemel__bound_value(d, left) - gemel__bound_value(d, right));
    room = gemel__bound_radius(d, left) + gemel__bound_radius(d, right) + (l->folded ? apart : 0);
    return fabs(x - y) > room * (1 + 1e-9);
  }
  if (l->temper == GEMEL__CALM && d->state(d, left) != GEMEL__UNDECIDED &&
      d->state(d, right) != GEMEL__UNDECIDED) {
    int digits = gemel__dtype_format(gemel_tensor_dtype(l->base->left[output]))->digits / 2;
    return fabs(x - y) > ldexp(scale_of(l, output), -digits);
  }
  return 0;
}

static gemel_status look_at_element(struct look *l, size_t output, size_t i, gemel_error *error) {
  gemel__domain *d = l->domain;
  const void *left = gemel__rtensor_at(&l->exact[output], i);
  const void *right = gemel__rtensor_at(&l->exact[l->base->n + output], i);
  double x = number_at(l->base->left[output], i), y = number_at(l->base->right[output], i);
  if (isfinite(x) && isfinite(y)) {
    return is_too_far(l, output, x, y, left, right) ? note(l, GEMEL__BEYOND_BOUND, output, i, error)
                                                    : GEMEL_OK;
  }
  if (isfinite(x) && d->state(d, left) == GEMEL__DEFINED &&
      gemel__bound_ratio(d, left, gemel_tensor_dtype(l->base->left[output]), x) <= 1) {
    return note(l, GEMEL__BEYOND_WORSENS, output, i, error);
  }
  return GEMEL_OK;
}

static gemel_status look_at_floats(struct look *l, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < l->base->n; k++) {
    size_t n = gemel__both_elements(l->base, k);
    for (size_t i = 0; i < n && is_float(l->base->left[k]) && status == GEMEL_OK; i++) {
      if (is_apart(l, k, i) && i < l->exact[k].count && i < l->exact[l->base->n + k].count) {
        status = look_at_element(l, k, i, error);
      }
    }
  }
  return status;
}

static gemel_status look_with_bounds(struct look *l, gemel_error *error) {
  size_t n = l->base->n;
  gemel__rtensor *exact = gemel__alloc_zeroed(2 * n * sizeof *exact);
  gemel_status status = exact == NULL ? gemel__no_memory(error, "exact results") : GEMEL_OK;
  if (status == GEMEL_OK) {
    status = gemel__instance_reference(&l->pair->a, l->domain, l->values, exact, error);
  }
  if (status == GEMEL_OK) {
    status = gemel__instance_reference(&l->pair->b, l->domain, l->values, exact + n, error);
  }
  if (status == GEMEL_OK) {
    l->exact = exact;
    status = look_at_floats(l, error);
  }
  if (exact != NULL) {
    gemel__rtensors_clear(2 * n, exact);
  }
  gemel__free(exact, 2 * n * sizeof *exact);
  return status;
}

gemel_status gemel__beyond_look(const gemel__pair *pair, gemel_tensor *const *values,
                                const gemel__both *base, gemel__temper temper, int folded,
                                gemel__bound *bound, gemel__needs *needs, gemel_error *error) {
  struct look l = {pair, values, base, temper, folded, &bound->domain, NULL, needs, 0};
  gemel_status status = GEMEL_OK;
  size_t k;
  for (k = 0; k < base->n && status == GEMEL_OK; k++) {
    if (!is_float(base->left[k])) {
      status = look_at_integers(&l, k, error);
    }
  }
  status = status == GEMEL_OK && any_apart(&l) ? look_with_bounds(&l, error) : status;
  needs->worsened += (size_t)l.worsens;
  return status;
}

/* ---- Words ---- */

static const unsigned words[] = {
    [GEMEL__BEYOND_INTEGERS] = GEMEL_PAIR_BIT(INTEGERS),
    [GEMEL__BEYOND_WORSENS] = GEMEL_PAIR_BIT(WORSENS),
    [GEMEL__BEYOND_BOUND] = 0, /* nothing allows it */
};

unsigned gemel__beyond_words(const gemel__needs *needs) {
  unsigned result = 0;
  for (size_t k = 0; k < GEMEL__BEYOND_COUNT; k++) {
    result |= needs->beyond >> k & 1 ? words[k] : 0;
  }
  return result;
}

gemel__witness *gemel__beyond_witness(gemel__needs *needs, unsigned refused, const char **word) {
  static const char *const names[] = {"integers", "worsens", "more than rounding"};
  size_t k, at = 0;
  for (k = GEMEL__BEYOND_COUNT; k-- > 0;) {
    if ((needs->beyond >> k & 1) && (words[k] == 0 || (refused & words[k]) != 0)) {
      *word = names[k];
      return &needs->beyond_witness[k];
    }
  }
  while (at + 1 < GEMEL_NEEDS_COUNT &&
         (!(refused >> at & 1) || needs->witness[at].values == NULL)) {
    at++;
  }
  *word = gemel_needs_word((int)at);
  return &needs->witness[at];
}

/* ---- Integers to try ---- */

/* A number beside 2^k, where the significands of floats and the widths of integers end; a multiple
 * of a small number or beside one; or any bits. */
static uint64_t odd_integer(gemel__random *random) {
  static const int widths[] = {7, 8, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 63};
  uint64_t bits = gemel__random_bits(random);
  int width = widths[gemel__random_below(random, sizeof widths / sizeof *widths)];
  uint64_t near = ((uint64_t)1 << width) + (uint64_t)gemel__random_between(random, -2, 3);
  switch (gemel__random_below(random, 4)) {
  case 0:
    return bits;
  case 1:
    return (bits >> gemel__random_below(random, 60)) / 9 * 9 * (bits % 8 + 1) - bits % 2;
  case 2:
    return -near;
  default:
    return near;
  }
}

void gemel__beyond_fill(gemel_tensor *tensor, uint64_t common, gemel__random *random) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  size_t n = (size_t)gemel_tensor_elements(tensor), size = gemel_dtype_size(dtype), i;
  gemel__random shared;
  gemel__random_seed(&shared, common);
  for (i = 0; i < n; i++) {
    uint64_t near = odd_integer(&shared) + (uint64_t)gemel__random_between(random, -1, 1);
    int64_t x = (int64_t)(gemel__random_chance(random, 1, 2) ? near : odd_integer(random));
    gemel__points_store(dtype, 1, NULL, &x, (char *)gemel_tensor_data(tensor) + i * size);
  }
}
