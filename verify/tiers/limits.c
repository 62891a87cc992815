/* SPDX-License-Identifier: MIT
 *
 * Limits at infinite inputs: see limits.h.
 */
#include "tiers/limits.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"

enum { WAYS = GEMEL__LIMIT_WAYS, SIZES = GEMEL__LIMIT_SIZES };
enum { RATES = 5 }; /* different numbers for infinities that stand beside each other */

/* Every float dtype has these, times RATES. */
static const double sizes[SIZES] = {1 << 6, 1 << 12};

/* What stands for the infinity X, the AT-th, in WAY. */
static double instead_of(double x, int way, int size, size_t at) {
  double rate = way == 0 ? 1 : way == 1 ? 1 + (double)(at % RATES) : RATES - (double)(at % RATES);
  return copysign(rate * sizes[size], x);
}

/* Replaces the infinities in VALUES. Returns their number. */
static size_t replace(const gemel__instance *instance, gemel_tensor *const *values, int way,
                      int size) {
  size_t n = 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    char *data = gemel_tensor_data(values[k]);
    size_t bytes = gemel_dtype_size(leaf->dtype);
    for (size_t i = 0; gemel__is_float(leaf->dtype) && i < leaf->count; i++) {
      double x = gemel__decode(leaf->dtype, data + i * bytes);
      if (isinf(x)) {
        gemel__dtype_store(leaf->dtype, instead_of(x, way, size, n++), data + i * bytes);
      }
    }
  }
  return n;
}

/* Evaluates the reference in one way and size: 1, or 0 if that can't be done or nothing is
 * infinite. */
static int evaluate(gemel__limits *l, const gemel__instance *instance, gemel_tensor *const *values,
                    int way, int size) {
  gemel_tensor **copy = gemel__values_copy(instance, values, NULL);
  gemel__rtensor *results = gemel__alloc_zeroed(l->n * sizeof *results);
  int good =
      copy != NULL && results != NULL && replace(instance, copy, way, size) > 0 &&
      gemel__instance_reference(instance, &l->domain->domain, copy, results, NULL) == GEMEL_OK;
  l->results[way][size] = results;
  if (copy != NULL) {
    gemel__values_free(instance, copy);
  }
  return good;
}

/* With many digits: 1 - 1 / (1 + exp(-x)) is multiplied by large numbers. */
static void make(gemel__limits *l, const gemel__instance *instance, gemel_tensor *const *values) {
  l->domain = gemel__ordered_new(GEMEL__ORDERED_MAX_PRECISION);
  l->n = gemel__instance_results(instance);
  l->made = l->domain != NULL ? 1 : -1;
  for (int way = 0; way < WAYS; way++) {
    for (int size = 0; size < SIZES && l->made > 0; size++) {
      l->made = evaluate(l, instance, values, way, size) ? 1 : -1;
    }
  }
}

/* 1 if results go from NEAR to FAR, at inputs that are larger, as they do on the way to LIMIT. */
static int tends(const double *near, const double *far, double limit) {
  enum { GROWTH = 4 };
  const double close = 0x1p-8;
  if (isinf(limit)) {
    double sign = limit > 0 ? 1 : -1;
    double before = fmax(fabs(near[0]), fabs(near[1]));
    return fmin(sign * far[0], sign * far[1]) > GROWTH * before;
  }
  double off = fmax(fabs(far[0] - limit), fabs(far[1] - limit));
  double before = fmax(fabs(near[0] - limit), fabs(near[1] - limit));
  return off <= close * (limit != 0 ? fabs(limit) : 1) && (off == 0 || off * GROWTH <= before);
}

int gemel__is_limit(gemel__limits *limits, const gemel__instance *instance,
                    gemel_tensor *const *values, size_t output, size_t i, double computed) {
  if (limits->made == 0) {
    make(limits, instance, values);
  }
  int agree = limits->made > 0 && !isnan(computed);
  gemel__domain *d = agree ? &limits->domain->domain : NULL;
  for (int way = 0; way < WAYS && agree; way++) {
    double ends[SIZES][2];
    for (int size = 0; size < SIZES && agree; size++) {
      gemel__rtensor *r = &limits->results[way][size][output];
      const void *e = i < r->count ? gemel__rtensor_at(r, i) : NULL;
      agree = e != NULL && d->state(d, e) == GEMEL__DEFINED && !gemel__ordered_infinity(d, e);
      if (agree) {
        gemel__ordered_bounds(d, e, &ends[size][0], &ends[size][1]);
      }
    }
    agree = agree && tends(ends[0], ends[1], computed);
  }
  return agree;
}

void gemel__limits_clear(gemel__limits *limits) {
  for (int way = 0; way < WAYS; way++) {
    for (int size = 0; size < SIZES; size++) {
      if (limits->results[way][size] != NULL) {
        gemel__rtensors_free(limits->n, limits->results[way][size]);
      }
    }
  }
  gemel__ordered_free(limits->domain);
  memset(limits, 0, sizeof *limits);
}
