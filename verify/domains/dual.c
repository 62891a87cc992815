/* SPDX-License-Identifier: MIT
 *
 * Dual numbers over a domain. An element is two elements of the base, one after the other. A result
 * may be one of the arguments, so rules compute in scratch elements of the domain and store the
 * value last.
 */
#include "domains/dual.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/dtype.h"
#include "domains/functions.h"

enum { SCRATCH = 4 };

typedef struct dual {
  gemel__domain domain; /* first */
  gemel__domain *base;
  void *scratch; /* [SCRATCH] elements of the base */
} dual;

static gemel__domain *base_of(const gemel__domain *d) {
  return ((const dual *)d)->base;
}

static void *scratch(gemel__domain *d, size_t i) {
  return gemel__element(base_of(d), ((dual *)d)->scratch, i);
}

gemel__domain *gemel__dual_base(const gemel__domain *d) {
  return base_of(d);
}

void *gemel__dual_value(const gemel__domain *d, void *e) {
  (void)d;
  return e;
}

void *gemel__dual_tangent(const gemel__domain *d, void *e) {
  return (char *)e + base_of(d)->bytes;
}

const void *gemel__dual_tangent_of(const gemel__domain *d, const void *e) {
  return (const char *)e + base_of(d)->bytes;
}

#define BASE gemel__domain *b = base_of(d)
#define T(e) gemel__dual_tangent(d, (e))
#define TC(e) gemel__dual_tangent_of(d, (e))

static int d_to_integer(gemel__domain *d, const void *e, int64_t *x);

/* 1 if E is known to be exactly 0; of a dual number, the value and the tangent. */
static int is_zero(gemel__domain *b, const void *e) {
  int64_t x;
  for (; b->to_integer == d_to_integer; b = base_of(b))
    if (!is_zero(base_of(b), gemel__dual_tangent_of(b, e)))
      return 0;
  return b->to_integer(b, e, &x) && x == 0;
}

/* ---- Making elements ---- */

static void d_init(gemel__domain *d, void *e) {
  BASE;
  b->init(b, e);
  b->init(b, T(e));
}

static void d_clear(gemel__domain *d, void *e) {
  BASE;
  b->clear(b, e);
  b->clear(b, T(e));
}

static void d_set(gemel__domain *d, void *e, const void *a) {
  BASE;
  b->set(b, e, a);
  b->set(b, T(e), TC(a));
}

static void d_from_double(gemel__domain *d, void *e, double x) {
  BASE;
  b->from_double(b, e, x);
  b->from_integer(b, T(e), 0);
}

static void d_from_integer(gemel__domain *d, void *e, int64_t x) {
  BASE;
  b->from_integer(b, e, x);
  b->from_integer(b, T(e), 0);
}

static void d_from_unsigned(gemel__domain *d, void *e, uint64_t x) {
  BASE;
  b->from_unsigned(b, e, x);
  b->from_integer(b, T(e), 0);
}

/* ---- Arithmetic ---- */

static void d_add(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  b->add(b, T(e), TC(x), TC(y));
  b->add(b, e, x, y);
}

static void d_sub(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  b->sub(b, T(e), TC(x), TC(y));
  b->sub(b, e, x, y);
}

/* Comparisons look at the value. */
static void d_difference(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  b->sub(b, T(e), TC(x), TC(y));
  (b->difference ? b->difference : b->sub)(b, e, x, y);
}

static void d_neg(gemel__domain *d, void *e, const void *x) {
  BASE;
  b->neg(b, T(e), TC(x));
  b->neg(b, e, x);
}

/* E = a t, or 0 if t is exactly 0. */
static void scale(gemel__domain *b, void *e, const void *a, const void *t) {
  if (is_zero(b, t))
    b->from_integer(b, e, 0);
  else
    b->mul(b, e, a, t);
}

static void d_mul(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  void *s = scratch(d, 0), *t = scratch(d, 1);
  scale(b, s, x, TC(y));
  scale(b, t, y, TC(x));
  b->add(b, T(e), s, t);
  b->mul(b, e, x, y);
}

/* (tx − (x/y) ty) / y */
static void d_div(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  void *quotient = scratch(d, 0), *t = scratch(d, 1);
  b->div(b, quotient, x, y);
  scale(b, t, quotient, TC(y));
  b->sub(b, t, TC(x), t);
  if (!is_zero(b, t))
    b->div(b, t, t, y);
  b->set(b, T(e), t);
  b->set(b, e, quotient);
}

static void d_sum(gemel__domain *d, void *e, size_t n, const void *const *addends) {
  BASE;
  const void **parts = gemel__alloc_array(n, sizeof *parts);
  void *s = scratch(d, 0), *t = scratch(d, 1);
  if (!parts) {
    d->set_state(d, e, GEMEL__GAP);
    return;
  }
  for (size_t i = 0; i < n; i++)
    parts[i] = TC(addends[i]);
  b->sum(b, t, n, parts);
  b->sum(b, s, n, addends);
  b->set(b, e, s);
  b->set(b, T(e), t);
  gemel__free(parts, n * sizeof *parts);
}

/* ---- Functions ---- */

static void d_exp(gemel__domain *d, void *e, const void *x) {
  BASE;
  void *s = scratch(d, 0);
  b->exp(b, s, x);
  scale(b, T(e), s, TC(x));
  b->set(b, e, s);
}

static void d_log(gemel__domain *d, void *e, const void *x) {
  BASE;
  if (is_zero(b, TC(x)))
    b->from_integer(b, T(e), 0);
  else
    b->div(b, T(e), TC(x), x);
  b->log(b, e, x);
}

static void d_sqrt(gemel__domain *d, void *e, const void *x) {
  BASE;
  void *s = scratch(d, 0), *twice = scratch(d, 1);
  b->sqrt(b, s, x);
  b->add(b, twice, s, s);
  if (is_zero(b, TC(x)))
    b->from_integer(b, T(e), 0);
  else
    b->div(b, T(e), TC(x), twice);
  b->set(b, e, s);
}

static void d_apply(gemel__domain *d, void *e, gemel__real_function f, const void *x) {
  BASE;
  void *s = scratch(d, 0), *one = scratch(d, 1);
  b->from_integer(b, one, 1);
  if (is_zero(b, TC(x))) {
    b->from_integer(b, T(e), 0);
  } else {
    gemel__real_functions[f].derivative(b, s, x, one, scratch(d, 2));
    b->mul(b, T(e), s, TC(x));
  }
  b->apply(b, e, f, x);
}

/* T = y x^(y−1) tx */
static void power_by_base(gemel__domain *d, void *t, const void *x, const void *y) {
  BASE;
  void *s = scratch(d, 3);
  if (is_zero(b, y) || is_zero(b, TC(x))) {
    b->from_integer(b, t, 0);
    return;
  }
  b->from_integer(b, s, 1);
  b->sub(b, s, y, s);
  b->pow(b, s, x, s);
  b->mul(b, s, s, y);
  b->mul(b, t, s, TC(x));
}

/* T = x^y log x ty; 0 for x = 0, as x^y log x goes to 0 there for y > 0. */
static void power_by_exponent(gemel__domain *d, void *t, const void *power, const void *x,
                              const void *y) {
  BASE;
  void *s = scratch(d, 3);
  if (is_zero(b, TC(y)) || is_zero(b, x)) {
    b->from_integer(b, t, 0);
    return;
  }
  b->log(b, s, x);
  b->mul(b, s, s, power);
  b->mul(b, t, s, TC(y));
}

static void d_pow(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  void *power = scratch(d, 0), *s = scratch(d, 1), *t = scratch(d, 2);
  b->pow(b, power, x, y);
  power_by_base(d, s, x, y);
  power_by_exponent(d, t, power, x, y);
  b->add(b, T(e), s, t);
  b->set(b, e, power);
}

static void d_floor(gemel__domain *d, void *e, const void *x) {
  BASE;
  b->floor(b, e, x);
  b->from_integer(b, T(e), 0);
}

/* ---- Decisions ---- */

static int d_sign(gemel__domain *d, const void *x) {
  BASE;
  return b->sign(b, x);
}

static void base_tie(gemel__domain *b, void *e, size_t n, const void *const *tied) {
  if (b->tie)
    b->tie(b, e, n, tied);
  else
    b->set(b, e, tied[0]);
}

static void d_forget(gemel__domain *d, void *e) {
  gemel__domain *b = gemel__dual_base(d);
  b->from_integer(b, gemel__dual_tangent(d, e), 0);
  if (b->forget != NULL) {
    b->forget(b, gemel__dual_value(d, e));
  }
}

static void d_no_derivative(gemel__domain *d, void *e) {
  BASE;
  b->set_state(b, T(e), GEMEL__UNDEFINED);
  if (b->no_derivative != NULL) {
    b->no_derivative(b, gemel__dual_value(d, e));
  }
}

/* The value of any of them, and the mean of the tangents. If there is no memory for the list of
 * tangents: a GAP. */
static void d_tie(gemel__domain *d, void *e, size_t n, const void *const *tied) {
  BASE;
  const void **parts = gemel__alloc_array(n, sizeof *parts);
  void *s = scratch(d, 0), *t = scratch(d, 1);
  if (!parts) {
    d->set_state(d, e, GEMEL__GAP);
    return;
  }
  for (size_t i = 0; i < n; i++)
    parts[i] = TC(tied[i]);
  b->sum(b, t, n, parts);
  if (n > 1 && !is_zero(b, t)) {
    b->from_integer(b, s, (int64_t)n);
    b->div(b, t, t, s);
  }
  base_tie(b, s, n, tied);
  b->set(b, e, s);
  b->set(b, T(e), t);
  gemel__free(parts, n * sizeof *parts);
}

static void d_hull(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  void *t = scratch(d, 0);
  b->hull(b, t, TC(x), TC(y));
  b->hull(b, e, x, y);
  b->set(b, T(e), t);
}

static void d_between(gemel__domain *d, void *e, const void *x, const void *y) {
  BASE;
  b->between(b, e, x, y);
  b->from_integer(b, T(e), 0);
}

static void d_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  BASE;
  b->round(b, e, dtype, ulps);
  if (!gemel__is_float(dtype))
    b->from_integer(b, T(e), 0);
}

/* ---- Questions ---- */

static int d_to_integer(gemel__domain *d, const void *e, int64_t *x) {
  BASE;
  return b->to_integer(b, e, x);
}

static gemel__state d_state(gemel__domain *d, const void *e) {
  BASE;
  gemel__state value = b->state(b, e), tangent = b->state(b, TC(e));
  return value > tangent ? value : tangent;
}

static void d_set_state(gemel__domain *d, void *e, gemel__state state) {
  BASE;
  b->set_state(b, e, state);
  b->set_state(b, T(e), state);
}

static int d_equal(gemel__domain *d, const void *x, const void *y) {
  BASE;
  int value = b->equal(b, x, y), tangent = b->equal(b, TC(x), TC(y));
  if (!value || !tangent)
    return 0;
  return value < 0 || tangent < 0 ? -1 : 1;
}

static void d_format(gemel__domain *d, const void *e, char *text, size_t bytes) {
  BASE;
  b->format(b, e, text, bytes);
  size_t at = bytes ? strlen(text) : 0;
  if (at + 5 >= bytes)
    return;
  memcpy(text + at, " + (", 5);
  b->format(b, TC(e), text + at + 4, bytes - at - 4);
  at = strlen(text);
  snprintf(text + at, bytes - at, ") d");
}

/* ---- Making a domain ---- */

static const gemel__domain functions = {
    .name = "dual",
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
    .difference = d_difference,
    .exp = d_exp,
    .log = d_log,
    .sqrt = d_sqrt,
    .apply = d_apply,
    .pow = d_pow,
    .floor = d_floor,
    .sum = d_sum,
    .sign = d_sign,
    .tie = d_tie,
    .forget = d_forget,
    .no_derivative = d_no_derivative,
    .round = d_round,
    .to_integer = d_to_integer,
    .state = d_state,
    .set_state = d_set_state,
    .equal = d_equal,
    .format = d_format,
};

gemel__domain *gemel__dual_new(gemel__domain *base) {
  dual *d = gemel__alloc_zeroed(sizeof *d);
  if (!d)
    return NULL;
  d->domain = functions;
  d->domain.bytes = 2 * base->bytes;
  d->domain.ieee = base->ieee;
  d->domain.hull = base->hull ? d_hull : NULL;
  d->domain.between = base->between ? d_between : NULL;
  d->domain.observer = base->observer;
  d->base = base;
  d->scratch = gemel__elements_new(base, SCRATCH);
  if (d->scratch)
    return &d->domain;
  gemel__free(d, sizeof *d);
  return NULL;
}

void gemel__dual_free(gemel__domain *domain) {
  if (!domain)
    return;
  dual *d = (dual *)domain;
  gemel__elements_free(d->base, d->scratch, SCRATCH);
  gemel__free(d, sizeof *d);
}
