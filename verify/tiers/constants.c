/* SPDX-License-Identifier: MIT
 *
 * The numbers in the references of a program's own operations, and values beside them. A kernel
 * that compares with 101 where the formula compares with 100 is wrong only near 100, and random
 * values are hardly ever there. The numbers are found by evaluating the reference once with an
 * observer, which is told of each node of a formula and of each number in a function over elements.
 */
#include <math.h>
#include <stdint.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "domains/special.h"
#include "instances/assumed.h"
#include "tiers/model.h"
#include "tiers/tiers.h"

struct listener {
  gemel__observer observer; /* first */
  double *constants;
  size_t room, *n;
};

static void hear_number(gemel__observer *observer, double x) {
  struct listener *l = (struct listener *)observer;
  size_t k = 0;
  while (k < *l->n && l->constants[k] != x) {
    k++;
  }
  if (isfinite(x) && x != 0 && k == *l->n && k < l->room) {
    l->constants[(*l->n)++] = x;
  }
}

static void hear_node(gemel__observer *observer, const void *graph, uint32_t node) {
  double values[8];
  size_t n = 0;
  gemel__constants_of(graph, node, values, sizeof values / sizeof *values, &n);
  for (size_t k = 0; k < n; k++) {
    hear_number(observer, values[k]);
  }
}

/* Evaluates INSTANCE at VALUES; OBSERVER may be NULL. */
static gemel_status evaluate(const gemel__instance *instance, gemel_tensor *const *values,
                             gemel__observer *observer, gemel_error *error) {
  size_t n = gemel__instance_results(instance);
  gemel__special *s = gemel__special_new();
  gemel__rtensor *outputs = gemel__alloc_array(n, sizeof *outputs);
  gemel_status status = GEMEL_NO_MEMORY;
  if (s != NULL && outputs != NULL) {
    s->domain.observer = observer;
    status = gemel__instance_reference(instance, &s->domain, values, outputs, error);
  } else {
    gemel__no_memory(error, "a reference");
  }
  gemel__rtensors_free(n, outputs);
  gemel__special_free(s);
  return status;
}

int gemel__reference_refuses(const gemel__instance *instance, gemel_tensor *const *values) {
  return gemel__is_no_point(evaluate(instance, values, NULL, NULL));
}

gemel_status gemel__instance_constants(const gemel__instance *instance, double *constants,
                                       size_t room, size_t *n, gemel_error *error) {
  struct listener l = {{hear_node, hear_number}, constants, room, n};
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel__random random;
  gemel_tensor **values;
  gemel__random_seed(&random, 1);
  GEMEL__TRY(gemel__values_draw(instance, GEMEL__FILL_INTEGERS, &random, &values, error));
  gemel_status status = evaluate(instance, values, &l.observer, &problem);
  gemel__values_free(instance, values);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "a reference") : GEMEL_OK;
}

/* A random number at C or one more or less; if not INTEGRAL, also nearer to C. */
static double beside(double c, int integral, gemel__random *random) {
  double sign = gemel__random_sign(random);
  switch (gemel__random_below(random, integral ? 2 : 5)) {
  case 0:
    return integral ? rint(c) : c;
  case 1:
    return (integral ? rint(c) : c) + sign;
  case 2:
    return c * (1 + sign * 0x1p-5);
  case 3:
    return c * (1 + sign * 0x1p-20);
  default:
    return c + sign * 0x1p-4;
  }
}

static int admits(const gemel__leaf *leaf, double x) {
  switch (leaf->range) {
  case GEMEL_RANGE_POSITIVE:
    return x > 0;
  case GEMEL_RANGE_NONNEGATIVE:
    return x >= 0;
  case GEMEL_RANGE_NONZERO:
    return x != 0;
  case GEMEL_RANGE_ABOVE_MINUS_ONE:
    return x > -1;
  case GEMEL_RANGE_MODERATE:
    return fabs(x) <= 16;
  case GEMEL_RANGE_INDEX:
    return 0;
  default:
    return leaf->dtype != GEMEL_BOOL;
  }
}

static void store_number(gemel_dtype dtype, double x, void *at) {
  if (gemel__is_float(dtype)) {
    gemel__store_real(dtype, x, at);
  } else {
    int64_t whole = fabs(x) < 0x1p62 ? (int64_t)x : 0;
    gemel__points_store(dtype, 1, NULL, &whole, at);
  }
}

void gemel__values_beside(const gemel__instance *instance, const double *constants, size_t n,
                          int integral, gemel__random *random, gemel_tensor *const *values) {
  for (size_t k = 0; k < instance->n_leaves && n > 0; k++) {
    const gemel__leaf *leaf = &instance->leaves[k];
    int whole = integral || !gemel__is_float(leaf->dtype);
    for (size_t i = 0; i < leaf->count; i++) {
      double x = beside(constants[gemel__random_below(random, n)], whole, random);
      void *at = (void *)(uintptr_t)gemel__tensor_element(values[k], i);
      if (gemel__random_chance(random, 1, 2) && admits(leaf, x)) {
        store_number(leaf->dtype, x, at);
      }
    }
    gemel__leaf_settle(leaf, leaf->count, gemel_tensor_data(values[k]));
  }
}
