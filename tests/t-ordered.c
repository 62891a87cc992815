/*
 * Domain O: exact arithmetic against GMP's rationals, functions against MPFR with directed rounding
 * (every enclosure must hold the true value, at any precision), exactness where it is promised,
 * states at the borders of domains, wrapping of integers against C's own, tapes, whole-domain
 * facts, and numbers so large that GMP would abort.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "dtypes.h"

#include <float.h>
#include <gmp.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domains/ordered-interval.h"
#include "domains/ordered.h"
#include "base/random.h"

/* Elements a, b, c of a fresh domain, which every test here wants. */
typedef struct bench {
  gemel__ordered *o;
  gemel__domain *d;
  void *elements, *a, *b, *c;
} bench;

static int set_up(bench *t, long precision) {
  *t = (bench){0};
  t->o = gemel__ordered_new(precision);
  if (!t->o)
    return 0;
  t->d = &t->o->domain;
  t->elements = gemel__elements_new(t->d, 3);
  t->a = gemel__element(t->d, t->elements, 0);
  t->b = gemel__element(t->d, t->elements, 1);
  t->c = gemel__element(t->d, t->elements, 2);
  return 1;
}

static void tear_down(bench *t) {
  gemel__elements_free(t->d, t->elements, 3);
  gemel__ordered_free(t->o);
  gemel__domains_cleanup();
}

static double draw(gemel__random *r) {
  switch (gemel__random_below(r, 4)) {
  case 0:
    return (double)gemel__random_between(r, -9, 9);
  case 1:
    return (double)gemel__random_between(r, -99, 99) / 8;
  case 2:
    return gemel__random_sign(r) * gemel__random_magnitude(r, -60, 60);
  default:
    return gemel__random_sign(r) * gemel__random_magnitude(r, -4, 4);
  }
}

/* ---- Rationals against GMP ---- */

/* E is exactly Q: taken out by 64-bit pieces would be work; its own text is exact up to 200 bits,
 * so compare E − Q, built from doubles, by sign instead: here Q comes as numerator ÷ denominator.
 */
static void check_rational(bench *t, const void *e, const mpq_t q) {
  char text[400];
  t->d->format(t->d, e, text, sizeof text);
  if (text[0] == '[')
    return; /* too long to print exactly: the chain tests below hold those */
  char *wanted = mpq_get_str(NULL, 10, q);
  CT_EQ_STR(text, wanted);
  free(wanted);
}

typedef struct arithmetic {
  const char *name;
  size_t offset;
  void (*exact)(mpq_t, const mpq_t, const mpq_t);
} arithmetic;

static void mpq_sum(mpq_t r, const mpq_t a, const mpq_t b) {
  mpq_add(r, a, b);
}
static void mpq_difference(mpq_t r, const mpq_t a, const mpq_t b) {
  mpq_sub(r, a, b);
}
static void mpq_product(mpq_t r, const mpq_t a, const mpq_t b) {
  mpq_mul(r, a, b);
}
static void mpq_quotient(mpq_t r, const mpq_t a, const mpq_t b) {
  mpq_div(r, a, b);
}

static const arithmetic arithmetics[] = {
    {"add", offsetof(gemel__domain, add), mpq_sum},
    {"sub", offsetof(gemel__domain, sub), mpq_difference},
    {"mul", offsetof(gemel__domain, mul), mpq_product},
    {"div", offsetof(gemel__domain, div), mpq_quotient},
};

typedef void binary(gemel__domain *, void *, const void *, const void *);

static binary *binary_of(gemel__domain *d, size_t offset) {
  binary *function;
  memcpy(&function, (char *)d + offset, sizeof function);
  return function;
}

static void arithmetic_is_exact(const void *data) {
  const arithmetic *row = data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  gemel__random r;
  gemel__random_seed(&r, 1);
  mpq_t x, y, z;
  mpq_inits(x, y, z, NULL);
  for (int i = 0; i < 2000; i++) {
    double a = draw(&r), b = draw(&r);
    ct_context("%a, %a", a, b);
    t.d->from_double(t.d, t.a, a);
    t.d->from_double(t.d, t.b, b);
    binary_of(t.d, row->offset)(t.d, t.c, t.a, t.b);
    if (row->exact == mpq_quotient && b == 0) {
      CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDEFINED);
      continue;
    }
    mpq_set_d(x, a);
    mpq_set_d(y, b);
    row->exact(z, x, y);
    CT_CHECK(gemel__ordered_is_exact(t.d, t.c));
    check_rational(&t, t.c, z);
    CT_EQ_INT(t.d->sign(t.d, t.c), mpq_sgn(z));
  }
  mpq_clears(x, y, z, NULL);
  tear_down(&t);
}

/* The result may be either argument or both. */
static void arguments_may_coincide(const void *data) {
  const arithmetic *row = data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  gemel__random r;
  gemel__random_seed(&r, 2);
  for (int i = 0; i < 300; i++) {
    double a = draw(&r), b = draw(&r);
    int inexact = i % 3;
    for (int which = 0; which < 3; which++) {
      t.d->from_double(t.d, t.a, a);
      t.d->from_double(t.d, t.b, which == 2 ? a : b);
      if (inexact)
        t.d->exp(t.d, t.a, t.a);
      if (inexact == 2 || which == 2)
        inexact ? t.d->exp(t.d, t.b, t.b) : (void)0;
      binary *function = binary_of(t.d, row->offset);
      function(t.d, t.c, t.a, which == 2 ? t.a : t.b);
      if (which == 1) {
        function(t.d, t.b, t.a, t.b);
        t.d->set(t.d, t.a, t.b);
      } else {
        function(t.d, t.a, t.a, which == 2 ? t.a : t.b);
      }
      CT_EQ_INT(t.d->state(t.d, t.a), t.d->state(t.d, t.c));
      CT_CHECK(gemel__ordered_overlap(t.d, t.a, t.c));
      double low[2], high[2];
      gemel__ordered_bounds(t.d, t.a, &low[0], &high[0]);
      gemel__ordered_bounds(t.d, t.c, &low[1], &high[1]);
      CT_CHECK(low[0] == low[1] && high[0] == high[1]);
    }
  }
  tear_down(&t);
}

/* A long chain of operations, whose value GMP knows too; compared at the end by subtraction. */
static void chains_stay_exact(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  gemel__random r;
  gemel__random_seed(&r, 3);
  mpq_t x, y;
  mpq_inits(x, y, NULL);
  for (int i = 0; i < 100; i++) {
    t.d->from_integer(t.d, t.a, 1);
    mpq_set_si(x, 1, 1);
    for (int k = 0; k < 12; k++) {
      const arithmetic *row = &arithmetics[gemel__random_below(&r, 4)];
      double b = draw(&r);
      b = b == 0 ? 3 : b;
      mpq_set_d(y, b);
      t.d->from_double(t.d, t.b, b);
      binary_of(t.d, row->offset)(t.d, t.a, t.a, t.b);
      row->exact(x, x, y);
    }
    CT_CHECK(gemel__ordered_is_exact(t.d, t.a));
    CT_EQ_INT(t.d->sign(t.d, t.a), mpq_sgn(x));
    double low, high, middle = mpq_get_d(x); /* truncated */
    gemel__ordered_bounds(t.d, t.a, &low, &high);
    CT_LE_DOUBLE(low, nextafter(middle, INFINITY));
    CT_LE_DOUBLE(nextafter(middle, -INFINITY), high);
    check_rational(&t, t.a, x);
  }
  mpq_clears(x, y, NULL);
  tear_down(&t);
}

/* ---- Intervals against MPFR ---- */

typedef struct monotone {
  const char *name;
  void (*interval)(gemel__interval *, const gemel__interval *, slong);
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  int positive;  /* argument must be ≥ 0 */
  int magnitude; /* of arguments, in bits */
} monotone;

static const monotone monotones[] = {
    {"exp", gemel__interval_exp, mpfr_exp, 0, 8},
    {"exp/large", gemel__interval_exp, mpfr_exp, 0, 25},
    {"log", gemel__interval_log, mpfr_log, 1, 200},
    {"sqrt", gemel__interval_sqrt, mpfr_sqrt, 1, 200},
};

static void random_end(gemel__random *r, mpfr_t x, int magnitude, int positive) {
  int low = magnitude < 0 ? magnitude : -magnitude;
  mpfr_set_d(x, gemel__random_magnitude(r, low, magnitude), MPFR_RNDN);
  if (!positive && gemel__random_bits(r) & 1)
    mpfr_neg(x, x, MPFR_RNDN);
}

/* E.lo ≤ f(a) ≤ f(b) ≤ E.hi, and not much wider. */
static void functions_enclose(const void *data) {
  const monotone *row = data;
  gemel__random r;
  gemel__random_seed(&r, 4);
  gemel__interval e;
  gemel__interval_init(&e);
  mpfr_t a, b, end;
  mpfr_inits2(400, a, b, end, NULL);
  for (int i = 0; i < 600; i++) {
    slong prec = 2 + (slong)gemel__random_below(&r, 300);
    random_end(&r, a, row->magnitude, row->positive);
    random_end(&r, b, row->magnitude, row->positive);
    if (mpfr_greater_p(a, b))
      mpfr_swap(a, b);
    if (i % 2)
      mpfr_set(b, a, MPFR_RNDN);
    arf_set_mpfr(e.lo, a);
    arf_set_mpfr(e.hi, b);
    row->interval(&e, &e, prec);
    row->exact(a, a, MPFR_RNDN);
    row->exact(b, b, MPFR_RNDN);
    arf_get_mpfr(end, e.lo, MPFR_RNDD);
    CT_CHECK(mpfr_lessequal_p(end, a));
    mpfr_sub(end, a, end, MPFR_RNDU);
    if (mpfr_regular_p(end) && mpfr_regular_p(a))
      CT_LE_DOUBLE((double)mpfr_get_exp(end), (double)(mpfr_get_exp(a) - prec + 2));
    arf_get_mpfr(end, e.hi, MPFR_RNDU);
    CT_CHECK(mpfr_lessequal_p(b, end));
    mpfr_sub(end, end, b, MPFR_RNDU);
    if (mpfr_regular_p(end) && mpfr_regular_p(b))
      CT_LE_DOUBLE((double)mpfr_get_exp(end), (double)(mpfr_get_exp(b) - prec + 2));
  }
  mpfr_clears(a, b, end, NULL);
  gemel__interval_clear(&e);
  gemel__domains_cleanup();
}

typedef struct interval_operation {
  const char *name;
  void (*interval)(gemel__interval *, const gemel__interval *, const gemel__interval *, slong);
  int (*exact)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
} interval_operation;

static const interval_operation interval_operations[] = {
    {"add", gemel__interval_add, mpfr_add},
    {"sub", gemel__interval_sub, mpfr_sub},
    {"mul", gemel__interval_mul, mpfr_mul},
    {"div", gemel__interval_div, mpfr_div},
};

/* A random interval, and a point of it: an end or something between. */
static void random_interval(gemel__random *r, gemel__interval *e, mpfr_t point) {
  double a = draw(r), b = gemel__random_chance(r, 1, 3) ? a : draw(r);
  double low = a < b ? a : b, high = a < b ? b : a, x = low;
  switch (gemel__random_below(r, 4)) {
  case 0:
    x = high;
    break;
  case 1:
    x = low / 2 + high / 2;
    break;
  case 2:
    x = low <= 0 && high >= 0 ? 0 : low;
  }
  arf_set_d(e->lo, low);
  arf_set_d(e->hi, high);
  if (gemel__random_chance(r, 1, 16))
    arf_neg_inf(e->lo);
  if (gemel__random_chance(r, 1, 16))
    arf_pos_inf(e->hi);
  mpfr_set_d(point, x, MPFR_RNDN);
}

static void operations_enclose(const void *data) {
  const interval_operation *row = data;
  gemel__random r;
  gemel__random_seed(&r, 5);
  gemel__interval e, f;
  gemel__interval_init(&e);
  gemel__interval_init(&f);
  mpfr_t x, y, z, end;
  mpfr_inits2(500, x, y, z, end, NULL);
  for (int i = 0; i < 4000; i++) {
    slong prec = 2 + (slong)gemel__random_below(&r, 200);
    random_interval(&r, &e, x);
    random_interval(&r, &f, y);
    if (row->exact == mpfr_div && (gemel__interval_sign(&f) == 2 || gemel__interval_sign(&f) == 0))
      continue;
    row->interval(&e, &e, &f, prec);
    int inexact = row->exact(z, x, y, MPFR_RNDN);
    if (inexact > 0)
      mpfr_nextbelow(z);
    arf_get_mpfr(end, e.lo, MPFR_RNDD);
    CT_CHECK(inexact ? mpfr_lessequal_p(end, z) : mpfr_lessequal_p(end, z));
    if (inexact)
      mpfr_nextabove(z);
    arf_get_mpfr(end, e.hi, MPFR_RNDU);
    CT_CHECK(mpfr_lessequal_p(z, end));
  }
  mpfr_clears(x, y, z, end, NULL);
  gemel__interval_clear(&e);
  gemel__interval_clear(&f);
}

static void powers_enclose(const void *data) {
  (void)data;
  gemel__random r;
  gemel__random_seed(&r, 6);
  gemel__interval e;
  gemel__interval_init(&e);
  mpfr_t x, z, end;
  fmpz_t n;
  fmpz_init(n);
  mpfr_inits2(600, x, z, end, NULL);
  for (int i = 0; i < 4000; i++) {
    slong prec = 4 + (slong)gemel__random_below(&r, 200);
    long power = gemel__random_between(&r, -9, 9);
    random_interval(&r, &e, x);
    if (power == 0 || (power < 0 && gemel__interval_sign(&e) % 2 == 0))
      continue;
    fmpz_set_si(n, power);
    gemel__interval_pow(&e, &e, n, prec);
    mpfr_pow_si(z, x, power, MPFR_RNDN);
    arf_get_mpfr(end, e.lo, MPFR_RNDD);
    mpfr_nextbelow(end);
    CT_CHECK(mpfr_lessequal_p(end, z));
    arf_get_mpfr(end, e.hi, MPFR_RNDU);
    mpfr_nextabove(end);
    CT_CHECK(mpfr_lessequal_p(z, end));
    if (power % 2 == 0)
      CT_CHECK(arf_sgn(e.lo) >= 0);
  }
  mpfr_clears(x, z, end, NULL);
  fmpz_clear(n);
  gemel__interval_clear(&e);
  gemel__domains_cleanup();
}

/* ---- Exactness and states ---- */

typedef struct known {
  const char *function;
  double a, b;
  const char *result; /* as format() prints it */
} known;

static const known knowns[] = {
    {"exp", 0, 0, "1"},
    {"log", 1, 0, "0"},
    {"log", 0, 0, "-inf"},
    {"log", -1, 0, "undefined"},
    {"sqrt", 0, 0, "0"},
    {"sqrt", 4, 0, "2"},
    {"sqrt", 2.25, 0, "3/2"},
    {"sqrt", -4, 0, "undefined"},
    {"tanh", 0, 0, "0"},
    {"floor", 2.5, 0, "2"},
    {"floor", -2.5, 0, "-3"},
    {"floor", 7, 0, "7"},
    {"div", 1, 0, "undefined"},
    {"div", 0, 0, "undefined"},
    {"div", 1, 3, "1/3"},
    {"pow", 0, 0, "1"},
    {"pow", 0, 3, "0"},
    {"pow", 0, -1, "undefined"},
    {"pow", 0, 0.5, "0"},
    {"pow", 0, -0.5, "undefined"},
    {"pow", -2, 3, "-8"},
    {"pow", -2, -2, "1/4"},
    {"pow", -2, 0.5, "undefined"},
    {"pow", -2, 0, "1"},
    {"pow", 4, 0.5, "2"},
    {"pow", 4, -1.5, "1/8"},
    {"pow", 16, 0.75, "8"},
    {"pow", 1, 0x1p60, "1"},
    {"pow", 1, 0.1, "1"},
    {"pow", 7.5, 1, "15/2"},
    {"exp", INFINITY, 0, "inf"},
    {"tanh", -INFINITY, 0, "-1"},
    {"exp", NAN, 0, "undefined"},
    {"exp", -65504, 0, "[9.4244802658404284e-28449, 9.4244802658404285e-28449]"},
    {"exp", 1, 0, "[2.7182818284590451, 2.7182818284590455]"},
};

static void apply(bench *t, const char *function) {
  gemel__domain *d = t->d;
  const char *names[] = {"exp", "log", "sqrt", "floor"};
  void (*const unary[])(gemel__domain *, void *, const void *) = {d->exp, d->log, d->sqrt,
                                                                  d->floor};
  for (size_t i = 0; i < CT_COUNT(names); i++)
    if (!strcmp(function, names[i]))
      unary[i](d, t->c, t->a);
  if (!strcmp(function, "tanh"))
    d->apply(d, t->c, GEMEL__REAL_TANH, t->a);
  if (!strcmp(function, "div"))
    d->div(d, t->c, t->a, t->b);
  if (!strcmp(function, "pow"))
    d->pow(d, t->c, t->a, t->b);
}

static void known_value(const void *data) {
  const known *row = data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  char text[100];
  t.d->from_double(t.d, t.a, row->a);
  t.d->from_double(t.d, t.b, row->b);
  apply(&t, row->function);
  t.d->format(t.d, t.c, text, sizeof text);
  CT_EQ_STR(text, row->result);
  CT_EQ_UINT(t.o->undecided, 0);
  tear_down(&t);
}

static void states_spread(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  for (int s = GEMEL__DEFINED; s <= GEMEL__GAP; s++)
    for (int u = GEMEL__DEFINED; u <= GEMEL__GAP; u++)
      for (size_t i = 0; i < CT_COUNT(arithmetics) + 1; i++) {
        t.d->from_integer(t.d, t.a, 3);
        t.d->from_integer(t.d, t.b, 2);
        t.d->set_state(t.d, t.a, (gemel__state)s);
        t.d->set_state(t.d, t.b, (gemel__state)u);
        binary *function = i < 4 ? binary_of(t.d, arithmetics[i].offset) : t.d->pow;
        function(t.d, t.c, t.a, t.b);
        CT_EQ_INT(t.d->state(t.d, t.c), s > u ? s : u);
        const void *both[] = {t.a, t.b};
        t.d->sum(t.d, t.c, 2, both);
        CT_EQ_INT(t.d->state(t.d, t.c), s > u ? s : u);
        CT_EQ_INT(t.d->equal(t.d, t.a, t.b), s || u ? -1 : 0);
        CT_EQ_INT(t.d->sign(t.d, t.a), s ? GEMEL__UNORDERED : 1);
        int sure = s < GEMEL__UNDECIDED && u < GEMEL__UNDECIDED && !(s && u);
        CT_EQ_INT(gemel__ordered_overlap(t.d, t.a, t.b), !sure);
      }
  CT_EQ_UINT(t.o->undecided, 0);
  tear_down(&t);
}

/* log(1 + 2^-300) is too close to 2^-300 for 128 bits, and decided with more. */
static void precision_decides(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  int sign;
  do {
    t.d->from_double(t.d, t.b, 0x1p-300);
    t.d->from_integer(t.d, t.a, 1);
    t.d->add(t.d, t.a, t.a, t.b);
    t.d->log(t.d, t.a, t.a);
    t.d->sub(t.d, t.c, t.a, t.b);
    CT_CHECK(!gemel__ordered_is_exact(t.d, t.c));
    t.o->undecided = 0;
    sign = t.d->sign(t.d, t.c);
    CT_EQ_INT(sign == GEMEL__UNORDERED, t.o->undecided == 1);
  } while (t.o->undecided && gemel__ordered_raise(t.o));
  CT_EQ_INT(sign, -1);
  CT_EQ_INT(t.o->precision, 512);
  CT_CHECK(gemel__ordered_raise(t.o));
  CT_CHECK(gemel__ordered_raise(t.o));
  CT_CHECK(!gemel__ordered_raise(t.o));
  CT_EQ_INT(t.o->precision, GEMEL__ORDERED_MAX_PRECISION);
  tear_down(&t);
}

static void borders_are_undecided(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  size_t count = 0;
  gemel__ordered_set_interval(t.d, t.a, -1, 1);
  t.d->from_integer(t.d, t.b, 1);
  t.d->div(t.d, t.c, t.b, t.a);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  CT_EQ_UINT(t.o->undecided, ++count);
  t.d->log(t.d, t.c, t.a);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  CT_EQ_UINT(t.o->undecided, ++count);
  t.d->sqrt(t.d, t.c, t.a);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  t.d->exp(t.d, t.c, t.c); /* inherits; not counted again */
  CT_EQ_UINT(t.o->undecided, ++count);
  t.d->floor(t.d, t.c, t.a);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  CT_EQ_UINT(t.o->undecided, ++count);
  t.d->pow(t.d, t.c, t.a, t.a);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  CT_EQ_UINT(t.o->undecided, ++count);
  t.d->set(t.d, t.c, t.a);
  t.d->round(t.d, t.c, GEMEL_BOOL, -1);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  CT_EQ_UINT(t.o->undecided, ++count);
  gemel__ordered_set_interval(t.d, t.a, -2, -1);
  t.d->log(t.d, t.c, t.a);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDEFINED);
  t.d->sqrt(t.d, t.c, t.a);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDEFINED);
  gemel__ordered_set_interval(t.d, t.a, 3, 2);
  CT_EQ_INT(t.d->state(t.d, t.a), GEMEL__UNDECIDED);
  CT_EQ_UINT(t.o->undecided, count);
  tear_down(&t);
}

/* ---- Identities ---- */

/* exp and log are inverse, exp adds, sqrt squares, pow multiplies: both sides must overlap, and a
 * side that is off by 1e-30 must not. */
static void identities_hold(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  gemel__random r;
  gemel__random_seed(&r, 7);
  void *x = gemel__elements_new(t.d, 1);
  for (int i = 0; i < 500; i++) {
    double a = gemel__random_magnitude(&r, -5, 5), b = gemel__random_magnitude(&r, -5, 5);
    ct_context("%a, %a", a, b);
    t.d->from_double(t.d, t.a, a);
    t.d->from_double(t.d, t.b, b);
    switch (i % 4) {
    case 0: /* exp(log a) = a */
      t.d->log(t.d, t.c, t.a);
      t.d->exp(t.d, t.c, t.c);
      t.d->set(t.d, x, t.a);
      break;
    case 1: /* exp(a + b) = exp a · exp b */
      t.d->add(t.d, t.c, t.a, t.b);
      t.d->exp(t.d, t.c, t.c);
      t.d->exp(t.d, t.a, t.a);
      t.d->exp(t.d, t.b, t.b);
      t.d->mul(t.d, x, t.a, t.b);
      break;
    case 2: /* (√a)² = a */
      t.d->sqrt(t.d, t.c, t.a);
      t.d->mul(t.d, t.c, t.c, t.c);
      t.d->set(t.d, x, t.a);
      break;
    default: /* a^b = exp(b log a) */
      t.d->pow(t.d, t.c, t.a, t.b);
      t.d->log(t.d, x, t.a);
      t.d->mul(t.d, x, x, t.b);
      t.d->exp(t.d, x, x);
    }
    CT_CHECK(gemel__ordered_overlap(t.d, t.c, x));
    CT_CHECK(t.d->equal(t.d, t.c, x) != 0);
    t.d->from_double(t.d, t.b, 1 + 0x1p-50);
    t.d->mul(t.d, x, x, t.b);
    CT_CHECK(!gemel__ordered_overlap(t.d, t.c, x));
    CT_EQ_INT(t.d->equal(t.d, t.c, x), 0);
  }
  gemel__elements_free(t.d, x, 1);
  tear_down(&t);
}

static void same_argument_is_special(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  int64_t x;
  t.d->from_double(t.d, t.a, 0.3);
  t.d->exp(t.d, t.a, t.a);
  t.d->sub(t.d, t.c, t.a, t.a);
  CT_CHECK(t.d->to_integer(t.d, t.c, &x) && x == 0);
  t.d->div(t.d, t.c, t.a, t.a);
  CT_CHECK(t.d->to_integer(t.d, t.c, &x) && x == 1);
  t.d->from_integer(t.d, t.b, 0);
  t.d->mul(t.d, t.c, t.a, t.b);
  CT_CHECK(t.d->to_integer(t.d, t.c, &x) && x == 0);
  CT_EQ_INT(t.d->equal(t.d, t.a, t.a), -1);
  CT_EQ_INT(t.d->equal(t.d, t.b, t.b), 1);
  tear_down(&t);
}

/* ---- Integers ---- */

static void integers_wrap(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  gemel__random r;
  gemel__random_seed(&r, 8);
  for (int i = 0; i < 500; i++) {
    int64_t x = (int64_t)gemel__random_bits(&r) >> gemel__random_below(&r, 64);
    int64_t y = (int64_t)gemel__random_bits(&r) >> gemel__random_below(&r, 64), got = 77;
    ct_context("%lld, %lld", (long long)x, (long long)y);
    t.d->from_integer(t.d, t.a, x);
    t.d->from_integer(t.d, t.b, y);
    t.d->mul(t.d, t.c, t.a, t.b);
    t.d->add(t.d, t.c, t.c, t.a);
    t.d->round(t.d, t.c, dtype, -1);
    int64_t low = (int64_t)((uint64_t)x * (uint64_t)y + (uint64_t)x), want = wrapped(dtype, low);
    if (dtype == GEMEL_BOOL)
      want = x != 0 && y != -1;
    if (dtype == GEMEL_U64 && low < 0) {
      CT_CHECK(!t.d->to_integer(t.d, t.c, &got));
      t.d->from_unsigned(t.d, t.b, (uint64_t)low);
      CT_EQ_INT(t.d->equal(t.d, t.c, t.b), 1);
    } else {
      CT_CHECK(t.d->to_integer(t.d, t.c, &got));
      CT_EQ_INT(got, want);
    }
  }
  t.d->from_double(t.d, t.a, 0.5);
  t.d->round(t.d, t.a, dtype, -1);
  CT_EQ_INT(t.d->state(t.d, t.a), dtype == GEMEL_BOOL ? GEMEL__DEFINED : GEMEL__GAP);
  tear_down(&t);
}

static void floats_stay(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  t.d->from_double(t.d, t.a, 0x1.123456789abcdp-1060);
  t.d->set(t.d, t.b, t.a);
  t.d->round(t.d, t.a, dtype, 2);
  CT_EQ_INT(t.d->equal(t.d, t.a, t.b), 1);
  tear_down(&t);
}

/* ---- Size ---- */

/* Repeated squaring, a tower of exponentials, deep sums of awkward fractions: no abort, no guess.
 */
static void size_is_capped(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  t.d->from_double(t.d, t.a, 1.5);
  for (int i = 0; i < 200; i++)
    t.d->mul(t.d, t.a, t.a, t.a);
  CT_CHECK(!gemel__ordered_is_exact(t.d, t.a));
  CT_EQ_INT(t.d->sign(t.d, t.a), 1);
  t.d->from_integer(t.d, t.b, 1);
  t.d->div(t.d, t.b, t.b, t.a);
  CT_EQ_INT(t.d->state(t.d, t.b), GEMEL__DEFINED);
  CT_CHECK(t.d->sign(t.d, t.b) != -1);
  t.d->from_integer(t.d, t.a, 10);
  for (int i = 0; i < 20; i++) {
    t.d->exp(t.d, t.a, t.a);
    CT_EQ_INT(t.d->sign(t.d, t.a), 1);
  }
  t.d->neg(t.d, t.b, t.a);
  t.d->exp(t.d, t.b, t.b);
  CT_CHECK(t.d->sign(t.d, t.b) != -1);
  t.d->floor(t.d, t.c, t.a);
  t.d->floor(t.d, t.c, t.b);
  t.d->sqrt(t.d, t.c, t.a);
  t.d->log(t.d, t.c, t.a);
  t.d->pow(t.d, t.c, t.a, t.a);
  t.d->sub(t.d, t.c, t.a, t.b);
  t.d->round(t.d, t.c, GEMEL_I32, -1);
  t.d->from_double(t.d, t.a, 1.25);
  t.d->from_double(t.d, t.b, 0x1p1000);
  t.d->pow(t.d, t.c, t.a, t.b);
  t.d->pow(t.d, t.c, t.b, t.b);
  t.d->pow(t.d, t.c, t.b, t.a);
  t.d->from_double(t.d, t.b, 0x1p62);
  t.d->pow(t.d, t.c, t.a, t.b);
  CT_EQ_INT(t.d->sign(t.d, t.c), 1);
  t.d->from_integer(t.d, t.a, 0);
  for (int i = 1; i < 3000; i++) {
    t.d->from_integer(t.d, t.b, 1);
    t.d->from_integer(t.d, t.c, i);
    t.d->div(t.d, t.b, t.b, t.c);
    t.d->add(t.d, t.a, t.a, t.b);
  }
  double low, high;
  gemel__ordered_bounds(t.d, t.a, &low, &high);
  CT_CHECK(low > 8.58 && high < 8.59 && high - low < 1e-14);
  t.d->from_double(t.d, t.a, DBL_MAX);
  t.d->from_double(t.d, t.b, 0x1p-1074);
  for (int i = 0; i < 12; i++) {
    t.d->mul(t.d, t.a, t.a, t.a);
    t.d->mul(t.d, t.b, t.b, t.b);
    t.d->add(t.d, t.c, t.a, t.b);
    CT_EQ_INT(t.d->sign(t.d, t.c), 1);
  }
  tear_down(&t);
}

/* Rationals of more than GEMEL__ORDERED_BITS bits become intervals, and endpoints stay below
 * 2^(2^80). */
/* Powers at the ends of what a machine word holds. */
static void powers_are_capped(const void *data) {
  static const double powers[] = {0x1p31, 0x1p32, 0x1p62, 0x1p63, 0x1p64, 0x1p127};
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  for (size_t k = 0; k < 2 * CT_COUNT(powers); k++) {
    t.d->from_double(t.d, t.a, 1.5);
    t.d->from_double(t.d, t.b, k % 2 ? -powers[k / 2] : powers[k / 2]);
    t.d->pow(t.d, t.c, t.a, t.b);
    CT_CHECK(!gemel__ordered_is_exact(t.d, t.c));
    CT_CHECK(t.d->sign(t.d, t.c) != -1);
    t.d->from_integer(t.d, t.a, -1);
    t.d->pow(t.d, t.c, t.a, t.b);
    CT_CHECK(t.d->sign(t.d, t.c) != -1);
  }
  tear_down(&t);
}

static void limits_are_kept(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  for (int power = 3000; power <= 4000; power += 1000) {
    t.d->from_double(t.d, t.a, 1.5);
    t.d->from_integer(t.d, t.b, power);
    t.d->pow(t.d, t.c, t.a, t.b);
    CT_EQ_INT(gemel__ordered_is_exact(t.d, t.c), power == 3000);
  }
  tear_down(&t);
  gemel__interval e;
  gemel__interval_init(&e);
  arf_set_d(e.lo, 1.5);
  arf_set_d(e.hi, 1.75);
  for (int i = 0; i < 200; i++)
    gemel__interval_mul(&e, &e, &e, 100);
  CT_CHECK(fmpz_bits(ARF_EXPREF(e.lo)) == 80 && arf_sgn(e.lo) > 0 && arf_is_pos_inf(e.hi));
  arf_set_d(e.lo, 0.5);
  arf_set_d(e.hi, 0.75);
  for (int i = 0; i < 200; i++)
    gemel__interval_mul(&e, &e, &e, 100);
  CT_CHECK(arf_is_zero(e.lo) && fmpz_bits(ARF_EXPREF(e.hi)) <= 80 && arf_sgn(e.hi) > 0);
  gemel__interval_neg(&e, &e);
  gemel__interval_add(&e, &e, &e, 100);
  CT_CHECK(arf_is_zero(e.hi) && arf_sgn(e.lo) < 0);
  gemel__interval_clear(&e);
}

/* ---- Tapes ---- */

static void decisions_are_recorded(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  gemel__tape tape = {0};
  t.o->tape = &tape;
  const double values[] = {-2.5, 0, 3};
  for (int i = 0; i < 3; i++) {
    t.d->from_double(t.d, t.a, values[i]);
    t.d->sign(t.d, t.a);
    t.d->floor(t.d, t.b, t.a);
    t.d->add(t.d, t.c, t.a, t.b);
    gemel__ordered_max(t.d, t.c, t.a, t.b);
  }
  gemel__ordered_set_interval(t.d, t.a, -1, 1);
  t.d->sign(t.d, t.a);
  t.d->floor(t.d, t.b, t.a);
  t.d->from_double(t.d, t.a, 0x1p80);
  t.d->floor(t.d, t.b, t.a);
  const int64_t wanted[] = {-1, -3, 0, 0, 1, 3, GEMEL__UNORDERED, INT64_MIN, INT64_MIN};
  CT_EQ_UINT(tape.count, CT_COUNT(wanted));
  for (size_t i = 0; i < CT_COUNT(wanted) && i < tape.count; i++)
    CT_EQ_INT(tape.entries[i], wanted[i]);
  gemel__tape_clear(&tape);
  tear_down(&t);
}

/* ---- Whole domains ---- */

static void facts_are_proved(const void *data) {
  const double *range = data;
  bench t;
  CT_REQUIRE(set_up(&t, 128));
  gemel__domain *d = t.d;
  double low, high;
  gemel__ordered_intervals(t.o, 1);
  gemel__ordered_set_interval(d, t.a, range[0], range[1]);
  d->from_integer(d, t.b, 1);
  d->mul(d, t.c, t.a, t.a);
  CT_CHECK(gemel__ordered_overlap(d, t.c, t.b));
  d->add(d, t.c, t.c, t.b);
  CT_EQ_INT(d->sign(d, t.c), 1); /* x² + 1 > 0 */
  d->sqrt(d, t.c, t.c);
  CT_EQ_INT(d->sign(d, t.c), 1);
  d->exp(d, t.c, t.a);
  d->add(d, t.c, t.c, t.b);
  CT_EQ_INT(d->sign(d, t.c), 1); /* eˣ + 1 > 0 */
  d->log(d, t.c, t.c);
  gemel__ordered_bounds(d, t.c, &low, &high);
  CT_LE_DOUBLE(0, low); /* softplus ≥ 0 */
  gemel__ordered_abs(d, t.c, t.a);
  d->add(d, t.c, t.c, t.b);
  CT_EQ_INT(d->sign(d, t.c), 1);
  d->from_integer(d, t.b, 0);
  gemel__ordered_max(d, t.c, t.a, t.b);
  gemel__ordered_bounds(d, t.c, &low, &high);
  CT_CHECK(low == 0 && high == range[1]); /* relu */
  d->from_integer(d, t.b, 3);
  d->hull(d, t.c, t.b, t.a);
  gemel__ordered_bounds(d, t.c, &low, &high);
  CT_CHECK(low == range[0] && high == fmax(range[1], 3));
  CT_EQ_INT(d->sign(d, t.a), GEMEL__UNORDERED); /* not a fact */
  gemel__ordered_intervals(t.o, 0);
  CT_CHECK(d->hull == NULL);
  tear_down(&t);
}

static const double ranges[][2] = {
    {-1, 1}, {-0x1p60, 0x1p60}, {-1e300, 1e-300}, {-INFINITY, INFINITY}, {-5e-324, 1e308}};

/* ---- Memory ---- */

static int memory_runs_out(void *data) {
  (void)data;
  gemel__ordered *o = gemel__ordered_new(128);
  if (!o)
    return GEMEL_NO_MEMORY;
  gemel__ordered_free(o);
  return GEMEL_OK;
}

static void refusals_are_survived(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(memory_runs_out, NULL) >= 1);
}

static const ct_test tests[] = {
    CT_TEST("exact/chains", chains_stay_exact, NULL),
    CT_TEST("enclose/pow", powers_enclose, NULL),
    CT_TEST("states/spread", states_spread, NULL),
    CT_TEST("precision/decides", precision_decides, NULL),
    CT_TEST("borders/undecided", borders_are_undecided, NULL),
    CT_TEST("identities", identities_hold, NULL),
    CT_TEST("same_argument", same_argument_is_special, NULL),
    CT_TEST("size/capped", size_is_capped, NULL),
    CT_TEST("size/limits", limits_are_kept, NULL),
    CT_TEST("size/powers", powers_are_capped, NULL),
    CT_TEST("tape", decisions_are_recorded, NULL),
    CT_TEST("memory", refusals_are_survived, NULL),
};

void ct_register(void) {
  char text[60];
  ct_suite("ordered", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(arithmetics); i++) {
    CT_ADD_TO("ordered", "exact", arithmetics[i].name, arithmetic_is_exact, &arithmetics[i]);
    CT_ADD_TO("ordered", "aliases", arithmetics[i].name, arguments_may_coincide, &arithmetics[i]);
    CT_ADD_TO("ordered", "enclose", interval_operations[i].name, operations_enclose,
              &interval_operations[i]);
  }
  for (size_t i = 0; i < CT_COUNT(monotones); i++)
    CT_ADD_TO("ordered", "enclose", monotones[i].name, functions_enclose, &monotones[i]);
  for (size_t i = 0; i < CT_COUNT(knowns); i++) {
    snprintf(text, sizeof text, "%s(%g,%g)", knowns[i].function, knowns[i].a, knowns[i].b);
    CT_ADD_TO("ordered", "known", text, known_value, &knowns[i]);
  }
  for (size_t i = 0; i < CT_COUNT(dtypes); i++) {
    int is_float = gemel_dtype_kind(dtypes[i]) == GEMEL_KIND_FLOAT;
    const char *name = gemel_dtype_name(dtypes[i]);
    CT_ADD_TO("ordered", "round", name, is_float ? floats_stay : integers_wrap, &dtypes[i]);
  }
  for (size_t i = 0; i < CT_COUNT(ranges); i++) {
    snprintf(text, sizeof text, "%g,%g", ranges[i][0], ranges[i][1]);
    CT_ADD_TO("ordered", "facts", text, facts_are_proved, ranges[i]);
  }
}
