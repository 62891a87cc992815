/*
 * The functions of verify/domains/functions.def: each row in every domain, held against MPFR, and
 * its derivative against difference quotients in domain O. There is nothing to add for a new row.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "domains/bound.h"
#include "domains/dual.h"
#include "domains/field.h"
#include "domains/functions.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "domains/symbolic.h"
#include "base/random.h"

enum { POINTS = 200, REGISTERS = 5, PRECISION = 256 };

static const double places[] = {0.0,    -0.0,   1,   -1,  -2,       0.5,
                                1e-300, -1e-20, 700, -50, INFINITY, -INFINITY};

/* A few numbers at which something might turn, then random ones. */
static double point(gemel__random *random, size_t k) {
  return k < CT_COUNT(places)
             ? places[k]
             : gemel__random_sign(random) * gemel__random_magnitude(random, -30, 4);
}

typedef int (*of_mpfr)(mpfr_t y, const mpfr_t x, mpfr_rnd_t round);

/* MPFR's function for F, by its name where MPFR has it; the others are the row's own. */
static of_mpfr mpfr_of(gemel__real_function f) {
  switch (f) {
  case GEMEL__REAL_SIN:
    return mpfr_sin;
  case GEMEL__REAL_COS:
    return mpfr_cos;
  case GEMEL__REAL_ATAN:
    return mpfr_atan;
  case GEMEL__REAL_ERF:
    return mpfr_erf;
  case GEMEL__REAL_POLYGAMMA0:
    return mpfr_digamma;
  case GEMEL__REAL_TANH:
    return mpfr_tanh;
  case GEMEL__REAL_EXPM1:
    return mpfr_expm1;
  case GEMEL__REAL_LOG1P:
    return mpfr_log1p;
  default:
    return gemel__real_functions[f].number;
  }
}

static double by_mpfr(gemel__real_function f, double x) {
  mpfr_t t;
  mpfr_init2(t, 53);
  mpfr_set_d(t, x, MPFR_RNDN);
  mpfr_of(f)(t, t, MPFR_RNDN);
  double y = mpfr_get_d(t, MPFR_RNDN);
  mpfr_clear(t);
  return y;
}

/* 1 if F is digamma or a derivative of it. */
static int is_polygamma(gemel__real_function f) {
  return f >= GEMEL__REAL_POLYGAMMA0 && f < GEMEL__REAL_POLYGAMMA0 + GEMEL__POLYGAMMAS;
}

/* Where MPFR has a number, A = f(X) is that but for rounding; A has no value where MPFR has none,
 * or a pole. */
static void holds(gemel__domain *d, const void *a, gemel__real_function f, double x, double y) {
  double low = 0, high = 0, slack = ldexp(fabs(y), -52);
  if (isnan(y) || (isinf(y) && isfinite(x))) {
    if (is_polygamma(f) && d->state(d, a) == GEMEL__DEFINED) { /* more than a double holds */
      d->bounds(d, a, &low, &high);
    }
    CT_CHECK(d->state(d, a) != GEMEL__DEFINED || (y > 0 ? isinf(high) : isinf(low)));
    return;
  }
  CT_REQUIRE(CT_EQ_INT(d->state(d, a), GEMEL__DEFINED));
  d->bounds(d, a, &low, &high);
  CT_CHECK(low <= y && high >= y ? high - low <= 2 * slack || high == low
                                 : fabs(low - y) <= slack && fabs(high - y) <= slack);
}

static void enclosed(const void *data) {
  gemel__real_function f = *(const gemel__real_function *)data;
  gemel__ordered *o = gemel__ordered_new(PRECISION);
  gemel__bound *b = gemel__bound_new(PRECISION);
  CT_REQUIRE(o != NULL && b != NULL);
  gemel__domain *domains[] = {&o->domain, &b->domain};
  gemel__random random;
  gemel__random_seed(&random, 1);
  for (size_t k = 0; k < POINTS; k++) {
    double x = point(&random, k);
    ct_context("%s at %a", gemel__real_functions[f].name, x);
    for (size_t j = 0; j < CT_COUNT(domains); j++) {
      gemel__domain *d = domains[j];
      void *e = gemel__elements_new(d, 1);
      d->from_double(d, e, x);
      d->apply(d, e, f, e);
      holds(d, e, f, x, by_mpfr(f, x));
      gemel__elements_free(d, e, 1);
    }
  }
  gemel__ordered_free(o);
  gemel__bound_free(b);
  gemel__domains_cleanup();
}

/* 1 if F isn't a finite number everywhere from LOW to HIGH, or has poles below 0. */
static int meets_poles(gemel__real_function f, double low, double high) {
  int is_gamma = f == GEMEL__REAL_LGAMMA || is_polygamma(f);
  return f == GEMEL__REAL_ERFINV ? high >= 1 : is_gamma && low <= 0;
}

/* Of an interval all values are within the result. */
static void encloses_intervals(const void *data) {
  gemel__real_function f = *(const gemel__real_function *)data;
  gemel__ordered *o = gemel__ordered_new(PRECISION);
  CT_REQUIRE(o != NULL);
  gemel__domain *d = &o->domain;
  void *e = gemel__elements_new(d, 1);
  gemel__random random;
  gemel__random_seed(&random, 2);
  for (size_t k = 0; k < POINTS; k++) {
    double from = gemel__random_uniform(&random, -0.75, 3),
           width = gemel__random_uniform(&random, 0, 2);
    double low, high, y = by_mpfr(f, from + width * gemel__random_uniform(&random, 0, 1));
    if (meets_poles(f, from, from + width)) {
      continue;
    }
    ct_context("%s of %a to %a", gemel__real_functions[f].name, from, from + width);
    gemel__ordered_set_interval(d, e, from, from + width);
    d->apply(d, e, f, e);
    gemel__ordered_bounds(d, e, &low, &high);
    CT_CHECK(low <= y + ldexp(fabs(y), -50) && high >= y - ldexp(fabs(y), -50));
    CT_CHECK(isfinite(low) && isfinite(high));
  }
  gemel__elements_free(d, e, 1);
  gemel__ordered_free(o);
  gemel__domains_cleanup();
}

/* The distance of A from B, as a part of B. */
static double relative(const mpfr_t a, const mpfr_t b) {
  mpfr_t t;
  mpfr_init2(t, 100);
  mpfr_reldiff(t, b, a, MPFR_RNDN);
  double distance = fabs(mpfr_get_d(t, MPFR_RNDN));
  mpfr_clear(t);
  return distance;
}

/* Where MPFR has no function by the name: erf undoes erfinv, and the derivative n of digamma at 1
 * is
 * (-1)^(n + 1) n! zeta(n + 1). */
static void of_no_name(const void *data) {
  mpfr_t a, b;
  (void)data;
  mpfr_init2(a, 100);
  mpfr_init2(b, 100);
  for (int k = -9; k < 10; k++) {
    mpfr_set_si(b, k, MPFR_RNDN);
    mpfr_div_ui(b, b, 10, MPFR_RNDN);
    gemel__real_functions[GEMEL__REAL_ERFINV].number(a, b, MPFR_RNDN);
    mpfr_erf(a, a, MPFR_RNDN);
    CT_CHECK(k == 0 ? mpfr_zero_p(a) : relative(a, b) < 0x1p-90);
  }
  for (unsigned long n = 1; n < GEMEL__POLYGAMMAS; n++) {
    mpfr_set_ui(b, 1, MPFR_RNDN);
    gemel__real_functions[GEMEL__REAL_POLYGAMMA0 + n].number(a, b, MPFR_RNDN);
    mpfr_fac_ui(b, n, MPFR_RNDN);
    mpfr_neg(b, b, MPFR_RNDN);
    if (n % 2 != 0) {
      mpfr_neg(b, b, MPFR_RNDN);
    }
    mpfr_t zeta;
    mpfr_init2(zeta, 100);
    mpfr_zeta_ui(zeta, n + 1, MPFR_RNDN);
    mpfr_mul(b, b, zeta, MPFR_RNDN);
    mpfr_clear(zeta);
    CT_LE_DOUBLE(relative(a, b), 0x1p-90);
  }
  mpfr_clear(a);
  mpfr_clear(b);
}

/* IEEE values, rounded to f64: MPFR's own. */
static void special_values(const void *data) {
  gemel__real_function f = *(const gemel__real_function *)data;
  gemel__special *s = gemel__special_new();
  CT_REQUIRE(s != NULL);
  gemel__domain *d = &s->domain;
  void *e = gemel__elements_new(d, 1);
  gemel__random random;
  gemel__random_seed(&random, 3);
  for (size_t k = 0; k < POINTS; k++) {
    double x = k == POINTS - 1 ? NAN : point(&random, k), y = by_mpfr(f, x), got;
    d->from_double(d, e, x);
    d->apply(d, e, f, e);
    d->round(d, e, GEMEL_F64, 0.5);
    got = gemel__special_value(d, e);
    ct_context("%s at %a: %a, %a", gemel__real_functions[f].name, x, got, y);
    CT_CHECK(isnan(y) ? isnan(got) : got == y && signbit(got) == signbit(y));
  }
  gemel__elements_free(d, e, 1);
  gemel__special_free(s);
  gemel__domains_cleanup();
}

/* (f(x + h) − f(x − h)) ÷ 2h, at 256 bits and with h = 2^-60, is the derivative to 2^-100 or so,
 * of digamma and its derivatives, which are steep beside a pole, to so much of itself. */
static void derivatives(const void *data) {
  gemel__real_function f = *(const gemel__real_function *)data;
  gemel__ordered *o = gemel__ordered_new(PRECISION);
  CT_REQUIRE(o != NULL);
  gemel__domain *d = &o->domain, *dual = gemel__dual_new(d);
  void *e = gemel__elements_new(d, REGISTERS), *v = gemel__elements_new(dual, 1);
  void *h = gemel__element(d, e, 0), *a = gemel__element(d, e, 1), *b = gemel__element(d, e, 2);
  gemel__random random;
  gemel__random_seed(&random, 4);
  d->from_double(d, h, 0x1p-60);
  for (size_t k = 0; k < POINTS; k++) {
    double x = gemel__random_uniform(&random, -0.9, 4), low, high;
    if (!isfinite(by_mpfr(f, x)) || f == GEMEL__REAL_POLYGAMMA0 + GEMEL__POLYGAMMAS - 1) {
      continue; /* outside, or the last one of the table */
    }
    dual->from_double(dual, v, x);
    d->from_integer(d, gemel__dual_tangent(dual, v), 3);
    dual->apply(dual, v, f, v);
    d->from_double(d, a, x);
    d->sub(d, b, a, h);
    d->add(d, a, a, h);
    d->apply(d, a, f, a);
    d->apply(d, b, f, b);
    d->sub(d, a, a, b);
    d->add(d, b, h, h);
    d->div(d, a, a, b);
    d->from_integer(d, b, 3);
    d->mul(d, a, a, b);
    d->bounds(d, a, &low, &high);
    double size = is_polygamma(f) ? fmax(1, fabs(low)) : 1;
    d->sub(d, a, a, gemel__dual_tangent(dual, v));
    d->bounds(d, a, &low, &high);
    ct_context("%s at %a: off by %a to %a", gemel__real_functions[f].name, x, low, high);
    CT_CHECK(fabs(low) < size * 0x1p-60 && fabs(high) < size * 0x1p-60);
  }
  dual->from_double(dual, v, 0.25); /* a constant's derivative stays exactly 0 */
  dual->apply(dual, v, f, v);
  CT_EQ_INT(d->sign(d, gemel__dual_tangent(dual, v)), 0);
  gemel__elements_free(dual, v, 1);
  gemel__elements_free(d, e, REGISTERS);
  gemel__dual_free(dual);
  gemel__ordered_free(o);
  gemel__domains_cleanup();
}

/* Residues: a random function, of which nothing is known but its name; formulas: a gap. */
static void outside_the_model(const void *data) {
  gemel__real_function f = *(const gemel__real_function *)data;
  gemel__domain *d = gemel__field_new(NULL, 5, NULL);
  gemel__symbolic *s = gemel__symbolic_new(100);
  CT_REQUIRE(d != NULL && s != NULL);
  void *e = gemel__elements_new(d, 4), *t = gemel__elements_new(&s->domain, 1);
  void *x = gemel__element(d, e, 0), *y = gemel__element(d, e, 1), *z = gemel__element(d, e, 2);
  gemel__field_random(d, x, GEMEL__LEAF_ANY);
  d->apply(d, y, f, x);
  d->apply(d, z, f, x);
  CT_EQ_INT(d->equal(d, y, z), 1);
  CT_CHECK(gemel__field_flags(d, y) & GEMEL__FIELD_IS_KEYED);
  CT_EQ_STR(gemel__field_get_report(d)->keyed_name, gemel__real_functions[f].name);
  d->add(d, x, x, x);
  d->apply(d, z, f, x);
  CT_EQ_INT(d->equal(d, y, z), 0);
  s->domain.apply(&s->domain, t, f, t);
  CT_EQ_INT(s->domain.state(&s->domain, t), GEMEL__GAP);
  gemel__elements_free(d, e, 4);
  gemel__elements_free(&s->domain, t, 1);
  gemel__field_free(d);
  gemel__symbolic_free(s);
}

static const gemel__real_function functions[] = {
#define FUNCTION(word, ...) GEMEL__REAL_##word,
#include "domains/functions.def"
#undef FUNCTION
};

void ct_register(void) {
  CT_ADD("functions", "of_no_name", of_no_name, NULL);
  for (size_t k = 0; k < CT_COUNT(functions); k++) {
    const char *name = gemel__real_functions[k].name;
    CT_ADD_TO("functions", "enclosed", name, enclosed, &functions[k]);
    CT_ADD_TO("functions", "intervals", name, encloses_intervals, &functions[k]);
    CT_ADD_TO("functions", "special", name, special_values, &functions[k]);
    CT_ADD_TO("functions", "derivative", name, derivatives, &functions[k]);
    CT_ADD_TO("functions", "outside", name, outside_the_model, &functions[k]);
  }
}
