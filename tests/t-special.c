/*
 * Domain S: arithmetic bit for bit against the machine's own (which IEEE 754 fixes for + − × ÷ √),
 * functions against libm on special values, rounding to f16 and bf16 against the definition (the
 * nearest of the two neighbours, all 65,536 of them), rounding to odd where rounding twice goes
 * wrong, integers, and what gemel__special_agrees accepts and refuses.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "dtypes.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "domains/functions.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "base/random.h"

typedef struct bench {
  gemel__special *s;
  gemel__domain *d;
  void *elements, *a, *b, *c;
} bench;

static int set_up(bench *t) {
  *t = (bench){0};
  t->s = gemel__special_new();
  if (!t->s)
    return 0;
  t->d = &t->s->domain;
  t->elements = gemel__elements_new(t->d, 3);
  t->a = gemel__element(t->d, t->elements, 0);
  t->b = gemel__element(t->d, t->elements, 1);
  t->c = gemel__element(t->d, t->elements, 2);
  return 1;
}

static void tear_down(bench *t) {
  gemel__elements_free(t->d, t->elements, 3);
  gemel__special_free(t->s);
  gemel__domains_cleanup();
}

/* The same number: NaN is NaN, zeros have the same sign. */
static int same(double a, double b) {
  return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static const double specials[] = {NAN,     INFINITY, -INFINITY, 0.0,        -0.0,
                                  1,       -1,       0.5,       -0.5,       2,
                                  -2,      3,        -3,        0x1p-1074,  -0x1p-1074,
                                  DBL_MIN, DBL_MAX,  -DBL_MAX,  FLT_MIN,    0x1p-149,
                                  FLT_MAX, -FLT_MAX, 0x1p53,    0x1p53 - 1, 2.5,
                                  -2.5,    1e-8,     1000,      -1000,      0x1.fffffffffffffp-1023,
                                  0x1p-24, 65504,    65520,     0x1p24 + 1};

/* ---- Arithmetic against the machine ---- */

typedef struct operation {
  const char *name;
  double (*wide)(double, double);
  float (*single)(float, float);
  int ulps2; /* twice the ulps that the machine's version may be off: 1 is exact */
} operation;

#define OPERATION(name, expression)                                                                \
  static double wide_##name(double x, double y) {                                                  \
    return (void)y, expression;                                                                    \
  }                                                                                                \
  static float single_##name(float x, float y) {                                                   \
    return (void)y, expression;                                                                    \
  }
#define PAIR(name, wide, single)                                                                   \
  static double wide_##name(double x, double y) {                                                  \
    return (void)y, wide;                                                                          \
  }                                                                                                \
  static float single_##name(float x, float y) {                                                   \
    return (void)y, single;                                                                        \
  }
OPERATION(add, x + y)
OPERATION(sub, x - y)
OPERATION(mul, x *y)
OPERATION(div, x / y)
OPERATION(neg, -x)
PAIR(sqrt, sqrt(x), sqrtf(x))
PAIR(floor, floor(x), floorf(x))
PAIR(fmod, fmod(x, y), fmodf(x, y))
PAIR(exp, exp(x), expf(x))
PAIR(log, log(x), logf(x))
PAIR(pow, pow(x, y), powf(x, y))
PAIR(tanh, tanh(x), tanhf(x))
PAIR(expm1, expm1(x), expm1f(x))
PAIR(log1p, log1p(x), log1pf(x))
static const operation operations[] = {
#define ROW(name, ulps2)                                                                           \
  { #name, wide_##name, single_##name, ulps2 }
    ROW(add, 1),  ROW(sub, 1),   ROW(mul, 1),   ROW(div, 1),  ROW(neg, 1),
    ROW(sqrt, 1), ROW(floor, 1), ROW(fmod, 1),  ROW(exp, 4),  ROW(log, 4),
    ROW(pow, 4),  ROW(tanh, 6),  ROW(expm1, 4), ROW(log1p, 4)};

static void evaluate(bench *t, const char *name) {
  gemel__domain *d = t->d;
  const struct {
    const char *name;
    void (*binary)(gemel__domain *, void *, const void *, const void *);
    void (*unary)(gemel__domain *, void *, const void *);
  } table[] = {{"add", d->add, NULL}, {"sub", d->sub, NULL},   {"mul", d->mul, NULL},
               {"div", d->div, NULL}, {"pow", d->pow, NULL},   {"fmod", d->fmod, NULL},
               {"neg", NULL, d->neg}, {"sqrt", NULL, d->sqrt}, {"floor", NULL, d->floor},
               {"exp", NULL, d->exp}, {"log", NULL, d->log}};
  for (int f = 0; f < GEMEL__REAL_COUNT; f++)
    if (!strcmp(gemel__real_functions[f].name, name))
      d->apply(d, t->c, (gemel__real_function)f, t->a);
  for (size_t i = 0; i < CT_COUNT(table); i++)
    if (!strcmp(table[i].name, name)) {
      if (table[i].binary)
        table[i].binary(d, t->c, t->a, t->b);
      else
        table[i].unary(d, t->c, t->a);
    }
}

static void check_operation(bench *t, const operation *row, gemel_dtype dtype, double x, double y) {
  ct_context("%s(%a, %a) in %s", row->name, x, y, gemel_dtype_name(dtype));
  double machine = dtype == GEMEL_F64 ? row->wide(x, y) : row->single((float)x, (float)y);
  t->d->from_double(t->d, t->a, x);
  t->d->from_double(t->d, t->b, y);
  evaluate(t, row->name);
  if (row->ulps2 == 1) {
    t->d->round(t->d, t->c, dtype, -1);
    double ours = gemel__special_value(t->d, t->c);
    if (!same(machine, ours))
      CT_FAIL("%a, but the machine has %a", ours, machine);
  }
  CT_CHECK(gemel__special_agrees(t->d, t->c, dtype, machine, row->ulps2 / 2.0));
}

static void specials_agree(const void *data) {
  const operation *row = data;
  bench t;
  CT_REQUIRE(set_up(&t));
  for (size_t i = 0; i < CT_COUNT(specials); i++)
    for (size_t j = 0; j < CT_COUNT(specials); j++) {
      check_operation(&t, row, GEMEL_F64, specials[i], specials[j]);
      check_operation(&t, row, GEMEL_F32, (float)specials[i], (float)specials[j]);
    }
  tear_down(&t);
}

static double random_bits(gemel__random *r, gemel_dtype dtype) {
  uint64_t bits = gemel__random_bits(r);
  double x;
  float y;
  memcpy(&x, &bits, sizeof x);
  memcpy(&y, &bits, sizeof y);
  return dtype == GEMEL_F64 ? x : y;
}

/* Any bits, and pairs that are close in magnitude, so that sums round and cancel. */
static void random_agree(const void *data) {
  const operation *row = data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 11);
  for (int i = 0; i < 1500; i++) {
    gemel_dtype dtype = i % 2 ? GEMEL_F64 : GEMEL_F32;
    double x = random_bits(&r, dtype), y = random_bits(&r, dtype);
    if (i % 4 >= 2) {
      x = gemel__random_sign(&r) * gemel__random_magnitude(&r, -3, 3);
      y = gemel__random_sign(&r) * gemel__random_magnitude(&r, -30, 3);
    }
    if (dtype == GEMEL_F32) {
      x = (float)x;
      y = (float)y;
    }
    check_operation(&t, row, dtype, x, y);
  }
  tear_down(&t);
}

/* ---- Rounding ---- */

/* Rounding 200 bits and then 53 must be as rounding once. */
static void twice_is_once(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  const double tiny[] = {0x1p-300, -0x1p-300, 0, 0x1p-1000};
  const double wanted[] = {0x1.0000000000001p0, 1, 1, 0x1.0000000000001p0};
  for (size_t i = 0; i < CT_COUNT(tiny); i++) {
    t.d->from_double(t.d, t.a, 1);
    t.d->from_double(t.d, t.b, 0x1p-53);
    t.d->add(t.d, t.c, t.a, t.b); /* exactly between two numbers */
    t.d->from_double(t.d, t.b, tiny[i]);
    t.d->add(t.d, t.c, t.c, t.b);
    t.d->round(t.d, t.c, GEMEL_F64, -1);
    CT_CHECK(gemel__special_value(t.d, t.c) == wanted[i]);
    t.d->neg(t.d, t.a, t.a);
    t.d->from_double(t.d, t.b, -0x1p-53);
    t.d->add(t.d, t.c, t.a, t.b);
    t.d->from_double(t.d, t.b, -tiny[i]);
    t.d->add(t.d, t.c, t.c, t.b);
    t.d->round(t.d, t.c, GEMEL_F64, -1);
    CT_CHECK(gemel__special_value(t.d, t.c) == -wanted[i]);
  }
  tear_down(&t);
}

/* The number of a 16-bit format with these bits (finite ones), by its definition. */
static double number_of(int bits, int fraction_bits, int bias) {
  int exponent = bits >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  if (exponent == 0)
    return ldexp(fraction, 1 - bias - fraction_bits);
  return ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

static double rounded(bench *t, gemel_dtype dtype, double x) {
  t->d->from_double(t->d, t->c, x);
  t->d->round(t->d, t->c, dtype, -1);
  return gemel__special_value(t->d, t->c);
}

/* Between each number and the next: below the middle down, above up, at it to the even one. */
static void small_floats_round(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  int fraction = dtype == GEMEL_F16 ? 10 : 7, bias = dtype == GEMEL_F16 ? 15 : 127;
  int infinite = dtype == GEMEL_F16 ? 0x7c00 : 0x7f80, wrong = 0;
  bench t;
  CT_REQUIRE(set_up(&t));
  for (int bits = 0; bits < infinite; bits++) {
    double x = number_of(bits, fraction, bias), y = number_of(bits + 1, fraction, bias);
    double middle = x / 2 + y / 2, to = bits + 1 == infinite ? INFINITY : y;
    wrong += !same(rounded(&t, dtype, x), x);
    wrong += !same(rounded(&t, dtype, -x), -x);
    wrong += !same(rounded(&t, dtype, middle), bits % 2 ? to : x);
    wrong += !same(rounded(&t, dtype, -middle), bits % 2 ? -to : -x);
    wrong += !same(rounded(&t, dtype, nextafter(middle, 0)), x);
    wrong += !same(rounded(&t, dtype, nextafter(middle, INFINITY)), to);
  }
  CT_EQ_INT(wrong, 0);
  CT_CHECK(same(rounded(&t, dtype, DBL_MAX), INFINITY));
  CT_CHECK(same(rounded(&t, dtype, -0x1p-1074), -0.0));
  CT_CHECK(same(rounded(&t, dtype, NAN), NAN));
  CT_CHECK(same(rounded(&t, dtype, -INFINITY), -INFINITY));
  tear_down(&t);
}

/* f64 to f32 is the machine's conversion. */
static void singles_round(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 12);
  for (int i = 0; i < 20000; i++) {
    int low = i % 3 ? -160 : -10, high = i % 3 == 1 ? 130 : 10;
    double x = gemel__random_sign(&r) * gemel__random_magnitude(&r, low, high);
    if (i % 4 == 0) { /* exactly between two singles, or next to that */
      float near = (float)x, next = nextafterf(near, INFINITY);
      x = (double)near / 2 + (double)next / 2;
      x = i % 8 ? x : nextafter(x, i % 16 ? 0 : INFINITY);
    }
    if (!same(rounded(&t, GEMEL_F32, x), (float)x))
      CT_FAIL("%a gives %a", x, rounded(&t, GEMEL_F32, x));
    CT_CHECK(same(rounded(&t, GEMEL_F64, x), x));
  }
  tear_down(&t);
}

static void integers_wrap(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 13);
  for (int i = 0; i < 1000; i++) {
    int64_t x = (int64_t)gemel__random_bits(&r) >> gemel__random_below(&r, 64);
    int64_t y = (int64_t)gemel__random_bits(&r) >> gemel__random_below(&r, 64), got = 0;
    t.d->from_integer(t.d, t.a, x);
    t.d->from_integer(t.d, t.b, y);
    t.d->mul(t.d, t.c, t.a, t.b);
    t.d->round(t.d, t.c, dtype, -1);
    int64_t want = wrapped(dtype, (int64_t)((uint64_t)x * (uint64_t)y));
    if (dtype == GEMEL_BOOL)
      want = x != 0 && y != 0;
    if (dtype == GEMEL_U64 && want < 0) {
      t.d->from_unsigned(t.d, t.b, (uint64_t)want);
      CT_EQ_INT(t.d->equal(t.d, t.c, t.b), 1);
    } else {
      CT_CHECK(t.d->to_integer(t.d, t.c, &got));
      CT_EQ_INT(got, want);
    }
  }
  int64_t top = 0;
  double unit = dtype == GEMEL_BOOL;
  CT_CHECK(same(rounded(&t, dtype, NAN), unit));
  CT_CHECK(same(rounded(&t, dtype, -0.0), 0.0));
  CT_CHECK(same(rounded(&t, dtype, 0x1p1000), unit));
  t.d->from_double(t.d, t.c, INFINITY);
  t.d->round(t.d, t.c, dtype, -1);
  t.d->from_integer(t.d, t.b, 1);
  if (dtype != GEMEL_BOOL) { /* the greatest: one more wraps to the least */
    t.d->add(t.d, t.a, t.c, t.b);
    t.d->round(t.d, t.a, dtype, -1);
    t.d->from_double(t.d, t.b, -INFINITY);
    t.d->round(t.d, t.b, dtype, -1);
    CT_EQ_INT(t.d->equal(t.d, t.a, t.b), 1);
    CT_CHECK(t.d->to_integer(t.d, t.b, &top));
    int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
    CT_CHECK(is_signed ? top < 0 : top == 0);
  }
  tear_down(&t);
}

/* ---- Signs and comparison ---- */

static void signs_are_ieee(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  const double values[] = {NAN, -INFINITY, -1, -0.0, 0.0, 0x1p-1074, INFINITY};
  const int wanted[] = {GEMEL__UNORDERED, -1, -1, 0, 0, 1, 1};
  for (size_t i = 0; i < CT_COUNT(values); i++) {
    t.d->from_double(t.d, t.a, values[i]);
    CT_EQ_INT(t.d->sign(t.d, t.a), wanted[i]);
    CT_EQ_INT(gemel__special_is_nan(t.d, t.a), isnan(values[i]) != 0);
    CT_EQ_INT(gemel__special_is_infinite(t.d, t.a), isinf(values[i]) != 0);
    if (!isnan(values[i]))
      CT_EQ_INT(gemel__special_sign_bit(t.d, t.a), signbit(values[i]) != 0);
    for (size_t j = 0; j < CT_COUNT(values); j++) {
      t.d->from_double(t.d, t.b, values[j]);
      CT_EQ_INT(t.d->equal(t.d, t.a, t.b), same(values[i], values[j]));
    }
  }
  CT_EQ_INT(t.d->ieee, 1);
  CT_CHECK(t.d->hull == NULL && t.d->tie == NULL);
  tear_down(&t);
}

typedef struct verdict {
  double value, computed, ulps;
  gemel_dtype dtype;
  int agrees, without_zero_signs;
} verdict;

static const verdict verdicts[] = {
    {NAN, NAN, 0, GEMEL_F32, 1, 1},
    {NAN, 0, 9, GEMEL_F32, 0, 0},
    {0, NAN, 9, GEMEL_F32, 0, 0},
    {1, NAN, 9, GEMEL_F32, 0, 0},
    {INFINITY, NAN, 9, GEMEL_F64, 0, 0},
    {INFINITY, INFINITY, 0, GEMEL_F32, 1, 1},
    {INFINITY, -INFINITY, 9, GEMEL_F32, 0, 0},
    {INFINITY, FLT_MAX, 9, GEMEL_F32, 0, 0},
    {0.0, -0.0, 9, GEMEL_F32, 0, 1},
    {-0.0, -0.0, 0, GEMEL_F32, 1, 1},
    {-0.0, 0x1p-149, 9, GEMEL_F32, 0, 0},
    {1, 1, 0, GEMEL_F32, 1, 1},
    {1, 1 + FLT_EPSILON, -1, GEMEL_F32, 0, 0},
    {1, 1 + FLT_EPSILON, 0.5, GEMEL_F32, 0, 0},
    {1, 1 + FLT_EPSILON, 1, GEMEL_F32, 1, 1},
    {1, 1 + 3 * FLT_EPSILON, 2, GEMEL_F32, 0, 0},
    {-1, -1 - 2 * FLT_EPSILON, 2, GEMEL_F32, 1, 1},
    {1, -1, 1e9, GEMEL_F32, 0, 0},
    {1, 1 + DBL_EPSILON, 1, GEMEL_F64, 1, 1},
    {1, 1 + 2 * DBL_EPSILON, 1, GEMEL_F64, 0, 0},
    {1.0 / 3, (float)(1.0 / 3), -1, GEMEL_F32, 1, 1},
    {1.0 / 3, 1.0 / 3, 0.5, GEMEL_F32, 0, 0}, /* not a number of f32 */
    {1e300, INFINITY, 2, GEMEL_F32, 1, 1},
    {1e300, FLT_MAX, 2, GEMEL_F32, 0, 0},
    {FLT_MAX, INFINITY, 2, GEMEL_F32, 1, 1},
    {FLT_MAX, INFINITY, 0.5, GEMEL_F32, 0, 0},
    {FLT_MAX, -INFINITY, 2, GEMEL_F32, 0, 0},
    {FLT_MAX / 2, INFINITY, 2, GEMEL_F32, 0, 0},
    {0x1p-149, 0, 2, GEMEL_F32, 1, 1},
    {0x1p-149, -0.0, 2, GEMEL_F32, 0, 1},
    {0x1p-149, 0, -1, GEMEL_F32, 0, 0},
    {0x1p-150, 0, -1, GEMEL_F32, 1, 1},
    {0x1p-146, 0, 2, GEMEL_F32, 0, 0},
    {0x1.8p-150, 0x1p-149, -1, GEMEL_F32, 1, 1},
    {-0x1p-400, -0.0, -1, GEMEL_F32, 1, 1},
    {-0x1p-400, 0.0, -1, GEMEL_F32, 0, 1},
    {65504, INFINITY, 1, GEMEL_F16, 1, 1},
    {300, 44, 0, GEMEL_U8, 1, 1},
    {300, 300, 9, GEMEL_U8, 0, 0},
    {-1, 255, 0, GEMEL_U8, 1, 1},
    {5, 6, 9, GEMEL_I32, 0, 0},
    {5, 1, 0, GEMEL_BOOL, 1, 1},
    {0, 1, 0, GEMEL_BOOL, 0, 0},
};

static void verdict_is(const void *data) {
  const verdict *row = data;
  bench t;
  CT_REQUIRE(set_up(&t));
  t.d->from_double(t.d, t.a, row->value);
  CT_EQ_INT(gemel__special_agrees(t.d, t.a, row->dtype, row->computed, row->ulps), row->agrees);
  t.s->zero_signs = 0;
  CT_EQ_INT(gemel__special_agrees(t.d, t.a, row->dtype, row->computed, row->ulps),
            row->without_zero_signs);
  CT_CHECK(same(gemel__special_value(t.d, t.a), row->value));
  tear_down(&t);
}

/* What differs by less than half of the digits of S is alike, and zeros are. */
static void alike(const void *data) {
  static const struct {
    double a, b, b_off; /* the second is b + b_off */
    int alike;
  } rows[] = {
      {NAN, NAN, 0, 1},
      {NAN, 1, 0, 0},
      {INFINITY, INFINITY, 0, 1},
      {0, -0.0, 0, 1},
      {INFINITY, -INFINITY, 0, 0},
      {3, 3, 0, 1},
      {3, 3, 0x1p-140, 1},
      {3, 3, 0x1p-60, 0},
      {0, 0, 0x1p-140, 0},
      {INFINITY, 1e300, 0, 0},
      {-3, 3, 0, 0},
  };
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  for (size_t k = 0; k < CT_COUNT(rows); k++) {
    t.d->from_double(t.d, t.a, rows[k].a);
    t.d->from_double(t.d, t.b, rows[k].b);
    t.d->from_double(t.d, t.c, rows[k].b_off);
    if (rows[k].b_off != 0) {
      t.d->add(t.d, t.b, t.b, t.c);
    }
    CT_EQ_INT(gemel__special_alike(t.d, t.a, t.b), rows[k].alike);
    CT_EQ_INT(gemel__special_alike(t.d, t.b, t.a), rows[k].alike);
  }
  tear_down(&t);
}

static void sums_keep_specials(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  const double terms[][3] = {{INFINITY, -INFINITY, 1}, {INFINITY, 1, 1},   {-0.0, -0.0, -0.0},
                             {-0.0, 0.0, -0.0},        {NAN, 1, INFINITY}, {1, -1, -0.0}};
  const void *addends[] = {t.a, t.b, t.c};
  for (size_t i = 0; i < CT_COUNT(terms); i++) {
    t.d->from_double(t.d, t.a, terms[i][0]);
    t.d->from_double(t.d, t.b, terms[i][1]);
    t.d->from_double(t.d, t.c, terms[i][2]);
    t.d->sum(t.d, t.b, 3, addends);
    CT_CHECK(same(gemel__special_value(t.d, t.b), terms[i][0] + terms[i][1] + terms[i][2]));
  }
  t.d->sum(t.d, t.b, 0, addends);
  CT_CHECK(same(gemel__special_value(t.d, t.b), 0.0));
  tear_down(&t);
}

static const gemel_dtype small_floats[] = {GEMEL_F16, GEMEL_BF16};

static const ct_test tests[] = {
    CT_TEST("round/twice", twice_is_once, NULL),
    CT_TEST("round/f16", small_floats_round, &small_floats[0]),
    CT_TEST("round/bf16", small_floats_round, &small_floats[1]),
    CT_TEST("round/f32", singles_round, NULL),
    CT_TEST("sign", signs_are_ieee, NULL),
    CT_TEST("sum", sums_keep_specials, NULL),
    CT_TEST("alike", alike, NULL),
};

void ct_register(void) {
  char text[100];
  ct_suite("special", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(operations); i++) {
    snprintf(text, sizeof text, "specials/%s", operations[i].name);
    CT_ADD("special", text, specials_agree, &operations[i]);
    snprintf(text, sizeof text, "random/%s", operations[i].name);
    CT_ADD("special", text, random_agree, &operations[i]);
  }
  for (size_t i = 0; i < CT_COUNT(dtypes); i++) {
    snprintf(text, sizeof text, "wrap/%s", gemel_dtype_name(dtypes[i]));
    if (gemel_dtype_kind(dtypes[i]) != GEMEL_KIND_FLOAT)
      CT_ADD("special", text, integers_wrap, &dtypes[i]);
  }
  for (size_t i = 0; i < CT_COUNT(verdicts); i++) {
    const verdict *v = &verdicts[i];
    snprintf(text, sizeof text, "agrees/%zu/%s/%g/%g/%g", i, gemel_dtype_name(v->dtype), v->value,
             v->computed, v->ulps);
    CT_ADD("special", text, verdict_is, v);
  }
}
