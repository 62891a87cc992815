/*
 * A domain for tests of the references, which also shows how one is written: a number is a double
 * with a tangent (so that derivatives at kinks are seen) and a state. Floats are not rounded,
 * integer dtypes wrap, and NaN stands for a number of unknown sign.
 *
 * Tensors are written as text: "f32[2] 1 2~1" holds 1 and 2, the latter with tangent 1; `?` and `!`
 * are an undecided and an undefined number.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_PLAIN_H
#define GEMEL_TESTS_PLAIN_H

#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domains/bound.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "reference/common.h"
#include "support/near.h"

/* ---- The domain ---- */

typedef struct number {
  double v, t;
  gemel__state state;
} number;

static void d_init(gemel__domain *d, void *e) {
  (void)d;
  memset(e, 0, sizeof(number));
}

static void d_clear(gemel__domain *d, void *e) {
  (void)d, (void)e;
}

static void d_set(gemel__domain *d, void *e, const void *a) {
  (void)d;
  memmove(e, a, sizeof(number));
}

static void d_from_double(gemel__domain *d, void *e, double x) {
  (void)d;
  *(number *)e = (number){x, 0, GEMEL__DEFINED};
}

static void d_from_integer(gemel__domain *d, void *e, int64_t x) {
  d_from_double(d, e, (double)x);
}

static void d_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  d_from_double(d, e, (double)x);
}

static gemel__state worse(const number *a, const number *b) {
  return a->state > b->state ? a->state : b->state;
}

#define BINARY(name, value, tangent)                                                               \
  static void name(gemel__domain *d, void *e, const void *pa, const void *pb) {                    \
    const number a = *(const number *)pa, b = *(const number *)pb;                                 \
    (void)d;                                                                                       \
    *(number *)e = (number){value, tangent, worse(&a, &b)};                                        \
  }
BINARY(d_add, a.v + b.v, a.t + b.t)
BINARY(d_sub, a.v - b.v, a.t - b.t)
BINARY(d_mul, a.v *b.v, a.t *b.v + a.v * b.t)
BINARY(d_pow, pow(a.v, b.v), b.v *pow(a.v, b.v - 1) * a.t)

/* What isn't made of the functions here has no value. */
static void d_apply(gemel__domain *d, void *e, gemel__real_function f, const void *a) {
  (void)d, (void)f, (void)a;
  *(number *)e = (number){0, 0, GEMEL__GAP};
}

static void d_div(gemel__domain *d, void *e, const void *pa, const void *pb) {
  const number a = *(const number *)pa, b = *(const number *)pb;
  *(number *)e = (number){a.v / b.v, (a.t - a.v / b.v * b.t) / b.v, worse(&a, &b)};
  (void)d;
  if (b.v == 0) {
    *(number *)e = (number){0, 0, GEMEL__UNDEFINED};
  }
}

#define UNARY(name, value, tangent)                                                                \
  static void name(gemel__domain *d, void *e, const void *pa) {                                    \
    const number a = *(const number *)pa;                                                          \
    (void)d;                                                                                       \
    *(number *)e = (number){value, tangent, a.state};                                              \
  }
UNARY(d_neg, -a.v, -a.t)
UNARY(d_exp, exp(a.v), exp(a.v) * a.t)
UNARY(d_log, log(a.v), a.t / a.v)
UNARY(d_sqrt, sqrt(a.v), a.t / (2 * sqrt(a.v)))
UNARY(d_floor, floor(a.v), 0)

static void d_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  number total = {0, 0, GEMEL__DEFINED};
  for (size_t i = 0; i < n; i++) {
    d_add(d, &total, &total, addends[i]);
  }
  *(number *)e = total;
}

/* How often a sign was asked for. */
static int decisions;

static int d_sign(gemel__domain *d, const void *e) {
  const number *a = e;
  (void)d;
  decisions++;
  return a->state != GEMEL__DEFINED || a->v != a->v ? GEMEL__UNORDERED : (a->v > 0) - (a->v < 0);
}

static void d_tie(gemel__domain *d, void *e, size_t n, const void *const *tied) {
  number result = *(const number *)tied[0];
  (void)d;
  result.t = 0;
  for (size_t i = 0; i < n; i++) {
    result.t += ((const number *)tied[i])->t / (double)n;
  }
  *(number *)e = result;
}

/* How often a value was rounded to each dtype, and the units asked for. */
static int roundings[GEMEL_DTYPE_COUNT];
static double units[GEMEL_DTYPE_COUNT];

static void d_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  number *a = e;
  const double span = ldexp(1, 8 * (int)gemel_dtype_size(dtype));
  (void)d;
  roundings[dtype]++;
  units[dtype] += ulps;
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT) {
    return;
  }
  a->v -= span * floor(a->v / span);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED && a->v >= span / 2) {
    a->v -= span;
  }
}

static int d_to_integer(gemel__domain *d, const void *e, int64_t *x) {
  const number *a = e;
  (void)d;
  if (a->state != GEMEL__DEFINED || !(fabs(a->v) < 9e18) || floor(a->v) != a->v) {
    return 0;
  }
  *x = (int64_t)a->v;
  return 1;
}

static gemel__state d_state(gemel__domain *d, const void *e) {
  (void)d;
  return ((const number *)e)->state;
}

static void d_set_state(gemel__domain *d, void *e, gemel__state state) {
  (void)d;
  ((number *)e)->state = state;
}

static int d_equal(gemel__domain *d, const void *pa, const void *pb) {
  const number *a = pa, *b = pb;
  (void)d;
  return a->state || b->state ? -1 : a->v == b->v && a->t == b->t;
}

static void d_format(gemel__domain *d, const void *e, char *text, size_t bytes) {
  const number *a = e;
  (void)d;
  snprintf(text, bytes, a->t != 0 ? "%.17g~%.17g" : "%.17g", a->v, a->t);
}

static void d_bounds(gemel__domain *d, const void *e, double *low, double *high) {
  (void)d;
  *low = *high = ((const number *)e)->v;
}

static const gemel__domain plain = {.name = "plain",
                                    .bytes = sizeof(number),
                                    .init = d_init,
                                    .clear = d_clear,
                                    .set = d_set,
                                    .from_double = d_from_double,
                                    .from_integer = d_from_integer,
                                    .from_unsigned = d_from_unsigned,
                                    .add = d_add,
                                    .sub = d_sub,
                                    .mul = d_mul,
                                    .div = d_div,
                                    .neg = d_neg,
                                    .exp = d_exp,
                                    .log = d_log,
                                    .sqrt = d_sqrt,
                                    .apply = d_apply,
                                    .pow = d_pow,
                                    .floor = d_floor,
                                    .sum = d_sum,
                                    .sign = d_sign,
                                    .tie = d_tie,
                                    .round = d_round,
                                    .to_integer = d_to_integer,
                                    .state = d_state,
                                    .set_state = d_set_state,
                                    .equal = d_equal,
                                    .format = d_format,
                                    .rounds = 1,
                                    .bounds = d_bounds};

/* ---- Tensors as text ---- */

/* How many inputs or outputs an example has at most. */
#define MAX_TENSORS 4

static gemel_dtype read_dtype(const char **text) {
  char name[8] = "";
  gemel_dtype dtype = GEMEL_DTYPE_COUNT;
  size_t n = strcspn(*text, "[ ");
  memcpy(name, *text, n < 7 ? n : 7);
  CT_EQ_INT(gemel_dtype_find(name, &dtype), GEMEL_OK);
  *text += n;
  return dtype;
}

/* Integers up to END, separated by commas. */
static size_t read_list(const char **text, char end, int64_t *values) {
  size_t n = 0;
  while (**text && **text != end) {
    char *after;
    values[n++] = strtoll(*text, &after, 10);
    *text = after + (*after == ',');
  }
  return n;
}

static number read_number(const char **text) {
  number e = {0, 0, GEMEL__DEFINED};
  char *after;
  *text += strspn(*text, " ");
  if (**text == '?' || **text == '!') {
    e.state = *(*text)++ == '?' ? GEMEL__UNDECIDED : GEMEL__UNDEFINED;
    return e;
  }
  e.v = strtod(*text, &after);
  CT_CHECK(after != *text);
  if (*after == '~') {
    e.t = strtod(after + 1, &after);
  }
  *text = after;
  return e;
}

static int is_plain(const gemel__domain *d) {
  return d->init == d_init;
}

/* Elements of other domains are read and written as numbers without a tangent. */
static void put(gemel__domain *d, void *e, number x) {
  d->from_double(d, e, x.v);
  if (is_plain(d)) {
    *(number *)e = x;
  } else if (x.state != GEMEL__DEFINED) {
    d->set_state(d, e, x.state);
  }
}

static number get(gemel__domain *d, const void *e) {
  double low, high;
  if (is_plain(d)) {
    return *(const number *)e;
  }
  if (strcmp(d->name, "special") == 0) {
    low = high = gemel__special_value(d, e);
  } else if (strcmp(d->name, "bound") == 0) {
    low = high = gemel__bound_value(d, e);
  } else {
    gemel__ordered_bounds(d, e, &low, &high);
  }
  return (number){low == high ? low : low / 2 + high / 2, 0, d->state(d, e)};
}

static gemel__rtensor read_tensor(gemel__domain *d, const char *text) {
  gemel__rtensor t = {0};
  int64_t shape[GEMEL_MAX_RANK];
  gemel_dtype dtype = read_dtype(&text);
  text++;
  int rank = (int)read_list(&text, ']', shape);
  text++;
  CT_EQ_INT(gemel__rtensor_init(&t, d, dtype, rank, shape, NULL), GEMEL_OK);
  for (size_t i = 0; i < t.count; i++) {
    put(d, gemel__rtensor_at(&t, i), read_number(&text));
  }
  CT_EQ_STR(text + strspn(text, " "), "");
  return t;
}

/* The expected numbers are rounded and so are the domain's steps: 18 units of a double for a
 * handful of roundings. NaN equals NaN, and zeros of float dtypes differ in sign. */
static int same_double(double a, double b) {
  return a == b ? signbit(a) == signbit(b) : is_near_or_nan(a, b, 4e-15 * fabs(b));
}

static void same_tensor(const gemel__rtensor *got, const gemel__rtensor *wanted) {
  CT_EQ_STR(gemel_dtype_name(got->dtype), gemel_dtype_name(wanted->dtype));
  CT_REQUIRE(CT_EQ_INT(got->rank, wanted->rank));
  for (int k = 0; k < got->rank; k++) {
    CT_REQUIRE(CT_EQ_INT(got->shape[k], wanted->shape[k]));
  }
  for (size_t i = 0; i < got->count; i++) {
    number g = get(got->domain, gemel__rtensor_at(got, i));
    number w = get(got->domain, gemel__rtensor_at(wanted, i));
    CT_EQ_INT(g.state, w.state);
    if (strcmp(got->domain->name, "bound") == 0 && w.state == GEMEL__DEFINED) {
      CT_LE_DOUBLE(gemel__bound_ratio(got->domain, gemel__rtensor_at(got, i), got->dtype, w.v), 1);
    }
    if (w.state == GEMEL__DEFINED &&
        !(same_double(g.v, w.v) && same_double(g.t + 0.0, w.t + 0.0))) {
      CT_FAIL("element %zu is %.17g~%.17g, not %.17g~%.17g", i, g.v, g.t, w.v, w.t);
    }
  }
}

#endif
