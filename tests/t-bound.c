/*
 * Domain B: what a correct implementation computes must lie within the bound (ratio ≤ 1, always),
 * and the bound must not be idle (small faults exceed it, and honest errors come near it). Sums in
 * many orders, products with and without fma, random straight-line programs, libm's functions, in
 * f16, bf16, f32 and f64; then the rules one by one: what is exact stays exact, overflow and
 * straddling decisions are undecided, integers wrap.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"
#include "dtypes.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domains/bound.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "base/random.h"

#define MANY 300

typedef struct bench {
  gemel__bound *o;
  gemel__domain *d;
  void *elements, *a, *b, *c;
} bench;

static int set_up(bench *t) {
  *t = (bench){0};
  t->o = gemel__bound_new(128);
  if (!t->o)
    return 0;
  t->d = &t->o->domain;
  t->elements = gemel__elements_new(t->d, MANY + 3);
  t->a = gemel__element(t->d, t->elements, MANY);
  t->b = gemel__element(t->d, t->elements, MANY + 1);
  t->c = gemel__element(t->d, t->elements, MANY + 2);
  return 1;
}

static void tear_down(bench *t) {
  gemel__elements_free(t->d, t->elements, MANY + 3);
  gemel__bound_free(t->o);
  gemel__domains_cleanup();
}

static const gemel_dtype floats[] = {GEMEL_F16, GEMEL_BF16, GEMEL_F32, GEMEL_F64};

/* X rounded to the dtype, by domain S (whose own tests hold it against the machine). */
static double stored(gemel_dtype dtype, double x) {
  if (dtype == GEMEL_F64)
    return x;
  if (dtype == GEMEL_F32)
    return (float)x;
  gemel__special *s = gemel__special_new();
  gemel__domain *d = &s->domain;
  void *e = gemel__elements_new(d, 1);
  d->from_double(d, e, x);
  d->round(d, e, dtype, -1);
  x = gemel__special_value(d, e);
  gemel__elements_free(d, e, 1);
  gemel__special_free(s);
  return x;
}

/* What the dtype computes in: f16 and bf16 in f32. */
static double inner(gemel_dtype dtype, double x) {
  return dtype == GEMEL_F64 ? x : (float)x;
}

static double draw(gemel__random *r, gemel_dtype dtype) {
  int spread = dtype == GEMEL_F16 ? 3 : 12;
  return stored(dtype, gemel__random_sign(r) * gemel__random_magnitude(r, -spread, 3));
}

static double unit(gemel_dtype dtype) {
  switch (dtype) {
  case GEMEL_F16:
    return 0x1p-11;
  case GEMEL_BF16:
    return 0x1p-8;
  case GEMEL_F32:
    return 0x1p-24;
  default:
    return 0x1p-53;
  }
}

/* ---- Sums and products ---- */

/* Adds X in an order of its own: 0 forwards, 1 backwards, 2 random, 3 pairwise, 4 eight lanes. */
static double sum_in_order(gemel_dtype dtype, const double *x, size_t n, int order,
                           gemel__random *r) {
  double y[MANY], sum = 0, lanes[8] = {0};
  size_t p[MANY];
  gemel__random_permutation(r, n, p);
  memcpy(y, x, n * sizeof *x);
  switch (order) {
  case 0:
    for (size_t i = 0; i < n; i++)
      sum = inner(dtype, sum + x[i]);
    return sum;
  case 1:
    for (size_t i = n; i-- > 0;)
      sum = inner(dtype, sum + x[i]);
    return sum;
  case 2:
    for (size_t i = 0; i < n; i++)
      sum = inner(dtype, sum + x[p[i]]);
    return sum;
  case 3:
    for (size_t width = 1; width < n; width *= 2)
      for (size_t i = 0; i + width < n; i += 2 * width)
        y[i] = inner(dtype, y[i] + y[i + width]);
    return n ? y[0] : 0;
  default:
    for (size_t i = 0; i < n; i++)
      lanes[i % 8] = inner(dtype, lanes[i % 8] + x[i]);
    for (int i = 0; i < 8; i++)
      sum = inner(dtype, sum + lanes[i]);
    return sum;
  }
}

static void reference_sum(bench *t, gemel_dtype dtype, const double *x, size_t n) {
  const void *addends[MANY];
  t->d->work_in(t->d, dtype);
  for (size_t i = 0; i < n; i++) {
    addends[i] = gemel__element(t->d, t->elements, i);
    t->d->from_double(t->d, gemel__element(t->d, t->elements, i), x[i]);
  }
  t->d->sum(t->d, t->c, n, addends);
  if (dtype == GEMEL_F16 || dtype == GEMEL_BF16)
    t->d->round(t->d, t->c, dtype, -1); /* from f32 into storage */
}

static void sums_are_bounded(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 21);
  double worst = 0, x[MANY];
  int faults = 0;
  for (int i = 0; i < 200; i++) {
    size_t n = 1 + (size_t)gemel__random_below(&r, i % 2 ? 9 : MANY);
    for (size_t k = 0; k < n; k++)
      x[k] = draw(&r, dtype);
    t.d->likely = i % 4 == 0;
    reference_sum(&t, dtype, x, n);
    for (int order = 0; order < 5; order++) {
      ct_context("%zu terms, order %d", n, order);
      double sum = stored(dtype, sum_in_order(dtype, x, n, order, &r));
      double ratio = gemel__bound_ratio(t.d, t.c, dtype, sum);
      CT_LE_DOUBLE(ratio, 1);
      worst = fmax(worst, ratio);
      CT_CHECK(isinf(gemel__bound_ratio(t.d, t.c, dtype, NAN)));
      CT_CHECK(isinf(gemel__bound_ratio(t.d, t.c, dtype, -INFINITY)));
    }
    double exact = gemel__bound_value(t.d, t.c), radius = gemel__bound_radius(t.d, t.c);
    if (fabs(x[0]) > 2.5 * radius) { /* a term counted twice, one lost */
      faults++;
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, exact + x[0]) > 1);
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, exact - x[0]) > 1);
    }
  }
  CT_LE_DOUBLE(0.1, worst);
  CT_LE_DOUBLE(unit(dtype) > 0x1p-24 ? 100 : 150, faults);
  tear_down(&t);
}

/* Σ x y with rounded products, and with fma (one rounding a step). */
static void dots_are_bounded(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 22);
  double worst = 0;
  for (int i = 0; i < 200; i++) {
    size_t n = 1 + (size_t)gemel__random_below(&r, 100);
    double products[MANY], fused = 0;
    const void *addends[MANY];
    t.d->work_in(t.d, dtype);
    for (size_t k = 0; k < n; k++) {
      double x = draw(&r, dtype), y = draw(&r, dtype);
      void *e = gemel__element(t.d, t.elements, k);
      t.d->from_double(t.d, t.a, x);
      t.d->from_double(t.d, t.b, y);
      t.d->mul(t.d, e, t.a, t.b);
      t.d->round(t.d, e, dtype == GEMEL_F64 ? GEMEL_F64 : GEMEL_F32, -1);
      addends[k] = e;
      products[k] = inner(dtype, x * y);
      fused = dtype == GEMEL_F64 ? fma(x, y, fused) : fmaf((float)x, (float)y, (float)fused);
    }
    t.d->sum(t.d, t.c, n, addends);
    if (unit(dtype) > 0x1p-24)
      t.d->round(t.d, t.c, dtype, -1);
    double ratio = gemel__bound_ratio(t.d, t.c, dtype, stored(dtype, fused));
    CT_LE_DOUBLE(ratio, 1);
    for (int order = 0; order < 5; order++) {
      double sum = stored(dtype, sum_in_order(dtype, products, n, order, &r));
      ratio = fmax(ratio, gemel__bound_ratio(t.d, t.c, dtype, sum));
    }
    CT_LE_DOUBLE(ratio, 1);
    worst = fmax(worst, ratio);
    double value = gemel__bound_value(t.d, t.c);
    if (dtype == GEMEL_F64 && gemel__bound_relative(t.d, t.c) < 1e-7) {
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, value * (1 + 1e-6)) > 1);
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, value * (1 - 1e-6)) > 1);
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, (double)(float)value) > 1);
    }
  }
  CT_LE_DOUBLE(0.01, worst);
  tear_down(&t);
}

/* Sums of integers small enough are exact in any order: the bound is 0. */
static void exact_sums_have_no_bound(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  double x[MANY];
  for (int i = 0; i < MANY; i++)
    x[i] = i ? (i % 7 - 3) / 4.0 : 2;
  reference_sum(&t, dtype, x, MANY);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0);
  CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, gemel__bound_value(t.d, t.c)) == 0);
  double beyond = nextafter(gemel__bound_value(t.d, t.c), INFINITY);
  CT_CHECK(isinf(gemel__bound_ratio(t.d, t.c, dtype, beyond)));
  x[1] = 0x1p-60; /* now some order may round */
  reference_sum(&t, dtype, x, MANY);
  CT_CHECK(gemel__bound_radius(t.d, t.c) > 0);
  double magnitudes = 0, u = fmin(unit(dtype), 0x1p-24);
  for (int i = 0; i < MANY; i++)
    magnitudes += fabs(x[i]);
  double gamma = (MANY - 1) * u * magnitudes;
  CT_LE_DOUBLE(gamma, gemel__bound_radius(t.d, t.c));
  if (unit(dtype) == u)
    CT_LE_DOUBLE(gemel__bound_radius(t.d, t.c), gamma * 1.001);
  t.d->likely = 1; /* 64 roundings */
  reference_sum(&t, dtype, x, MANY);
  CT_LE_DOUBLE(64 * u * magnitudes, gemel__bound_radius(t.d, t.c));
  if (unit(dtype) == u)
    CT_LE_DOUBLE(gemel__bound_radius(t.d, t.c), 64 * u * magnitudes * 1.001);
  t.d->likely = 0;
  /* the border: 2^p terms of 1 are exact, one more isn't */
  double p = 1 / (dtype == GEMEL_F64 ? 0x1p-53 : 0x1p-24);
  const double near[] = {p - 1, 1}, above[] = {p, 1};
  gemel_dtype inside = dtype == GEMEL_F64 ? GEMEL_F64 : GEMEL_F32;
  reference_sum(&t, inside, near, 2);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0);
  reference_sum(&t, inside, above, 2);
  CT_CHECK(gemel__bound_radius(t.d, t.c) >= 1);
  tear_down(&t);
}

/* Multiplies X in an order of its own: 0 forwards, 1 backwards, 2 random, 3 pairwise. */
static double product_in_order(gemel_dtype dtype, const double *x, size_t n, int order,
                               gemel__random *r) {
  double y[MANY], product = 1;
  size_t p[MANY];
  gemel__random_permutation(r, n, p);
  memcpy(y, x, n * sizeof *x);
  for (size_t width = 1; order == 3 && width < n; width *= 2)
    for (size_t i = 0; i + width < n; i += 2 * width)
      y[i] = inner(dtype, y[i] * y[i + width]);
  for (size_t i = 0; order < 3 && i < n; i++)
    product = inner(dtype, product * x[order == 0 ? i : order == 1 ? n - 1 - i : p[i]]);
  return order == 3 ? y[0] : product;
}

static void reference_product(bench *t, gemel_dtype dtype, const double *x, size_t n) {
  const void *factors[MANY];
  t->d->work_in(t->d, dtype);
  for (size_t i = 0; i < n; i++) {
    factors[i] = gemel__element(t->d, t->elements, i);
    t->d->from_double(t->d, gemel__element(t->d, t->elements, i), x[i]);
  }
  t->d->product(t->d, t->c, n, factors);
  if (dtype == GEMEL_F16 || dtype == GEMEL_BF16)
    t->d->round(t->d, t->c, dtype, -1);
}

/* The largest ratio of all orders, none of which may lie outside the bound. */
static double worst_product(bench *t, gemel_dtype dtype, const double *x, size_t n,
                            gemel__random *r) {
  double worst = 0;
  reference_product(t, dtype, x, n);
  for (int order = 0; order < 12; order++) {
    ct_context("%zu factors, order %d", n, order);
    double product =
        stored(dtype, product_in_order(dtype, x, n, order < 3 ? order : 2 + order % 2, r));
    double ratio = gemel__bound_ratio(t->d, t->c, dtype, product);
    CT_LE_DOUBLE(ratio, 1);
    worst = fmax(worst, ratio);
  }
  return worst;
}

/* Two to nine factors in any order; a factor lost, or a scale of 1 + 1e-6, is seen. */
static void products_are_bounded(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 23);
  double worst = 0, x[MANY];
  for (int i = 0; i < 300; i++) {
    size_t n = 2 + (size_t)gemel__random_below(&r, 8);
    for (size_t k = 0; k < n; k++)
      x[k] = stored(dtype, gemel__random_sign(&r) * gemel__random_magnitude(&r, -1, 1));
    worst = fmax(worst, worst_product(&t, dtype, x, n, &r));
    double exact = gemel__bound_value(t.d, t.c), u = fmin(unit(dtype), 0x1p-24);
    CT_LE_DOUBLE(gemel__bound_relative(t.d, t.c),
                 1.001 * (unit(dtype) == u ? (double)n * u : (double)n * u + 2 * unit(dtype)));
    if (unit(dtype) <= 0x1p-24) {
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, exact * (1 + 1e-6)) > 1);
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, exact * (1 - 1e-6)) > 1);
    }
    if (fabs(fabs(x[0]) - 1) > 0.01)
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, exact / x[0]) > 1);
  }
  CT_LE_DOUBLE(0.7, worst);
  tear_down(&t);
}

/* Orders that pass through subnormal numbers stay within the bound; where one may overflow it says
 * nothing. */
static void products_out_of_range(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  int reach = dtype == GEMEL_F64 ? 1000 : 120;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 24);
  double worst = 0, x[4];
  for (int i = 0; i < 300; i++) {
    x[0] = ldexp(gemel__random_magnitude(&r, -1, 1), -reach / 2 - 3);
    x[1] = ldexp(gemel__random_magnitude(&r, -1, 1), -reach / 2 - 12);
    x[2] = ldexp(gemel__random_magnitude(&r, -1, 1), reach / 2);
    x[3] = ldexp(gemel__random_magnitude(&r, -1, 1), reach / 2 - 9);
    for (size_t k = 0; k < 4 && dtype != GEMEL_F64; k++)
      x[k] = (float)x[k];
    worst = fmax(worst, worst_product(&t, dtype == GEMEL_F64 ? GEMEL_F64 : GEMEL_F32, x, 4, &r));
    CT_CHECK(t.d->state(t.d, t.c) == GEMEL__DEFINED);
  }
  CT_LE_DOUBLE(0.01, worst); /* the partial products lost more than a unit of the result */
  x[2] = ldexp(3, reach / 2 + 8);
  x[3] = ldexp(3, reach - 2);
  reference_product(&t, dtype == GEMEL_F64 ? GEMEL_F64 : GEMEL_F32, x, 4);
  CT_CHECK(t.d->state(t.d, t.c) == GEMEL__UNDECIDED);
  tear_down(&t);
}

/* What no order rounds has no bound: powers of two and, around them, an odd part that fits. */
static void exact_products_have_no_bound(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  gemel_dtype inside = dtype == GEMEL_F64 ? GEMEL_F64 : GEMEL_F32;
  bench t;
  CT_REQUIRE(set_up(&t));
  const double powers[] = {0.5, -2, 1, 1.5, 8, -1}, odd[] = {3, 5, 17, 257, 0.25, -1};
  reference_product(&t, inside, powers, 6);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0 && gemel__bound_value(t.d, t.c) == 12);
  reference_product(&t, inside, odd, 6);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0);
  double wide = 1 + (inside == GEMEL_F64 ? 0x1p-52 : 0x1p-23);
  const double scaled[] = {wide, 4, 0.5}, over[] = {wide, 3}, none[] = {wide, wide, 0};
  reference_product(&t, inside, scaled, 3);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0);
  reference_product(&t, inside, over, 2);
  CT_CHECK(gemel__bound_radius(t.d, t.c) > 0);
  reference_product(&t, inside, none, 3);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0 && gemel__bound_value(t.d, t.c) == 0);
  tear_down(&t);
}

/* ---- Straight-line programs ---- */

typedef struct machine {
  gemel_dtype dtype;
  double values[40];
  size_t count;
} machine;

/* One random operation on what is there, by the machine and by the domain. Rounds as a kernel of
 * the dtype does. Returns 0 where the machine gives no finite number. */
static int step(bench *t, machine *m, gemel__random *r) {
  size_t i = (size_t)gemel__random_below(r, m->count), j = (size_t)gemel__random_below(r, m->count);
  void *a = gemel__element(t->d, t->elements, i), *b = gemel__element(t->d, t->elements, j);
  void *e = gemel__element(t->d, t->elements, m->count);
  double x = m->values[i], y = m->values[j], z, ulps = -1;
  int wide = m->dtype == GEMEL_F64;
  switch (gemel__random_below(r, 8)) {
  case 0:
    z = x - y;
    t->d->sub(t->d, e, a, b);
    break;
  case 1:
    z = x * y;
    t->d->mul(t->d, e, a, b);
    break;
  case 2:
    z = x / y;
    t->d->div(t->d, e, a, b);
    break;
  case 3:
    z = wide ? sqrt(x) : sqrtf((float)x);
    t->d->sqrt(t->d, e, a);
    break;
  case 4:
    z = wide ? exp(x) : expf((float)x);
    t->d->exp(t->d, e, a);
    ulps = 2;
    break;
  case 5:
    z = wide ? log(x) : logf((float)x);
    t->d->log(t->d, e, a);
    ulps = 2;
    break;
  case 6:
    z = -x;
    t->d->neg(t->d, e, a);
    ulps = 0;
    break;
  default:
    z = x + y;
    t->d->add(t->d, e, a, b);
  }
  t->d->round(t->d, e, m->dtype, ulps);
  z = stored(m->dtype, inner(m->dtype, z));
  m->values[m->count] = z;
  if (!isfinite(z) || fabs(z) > 1e4)
    return 0;
  m->count++;
  return 1;
}

static void programs_are_bounded(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 23);
  double worst = 0;
  long compared = 0, undecided = 0, beyond = 0;
  for (int i = 0; i < 400; i++) {
    machine m = {.dtype = dtype};
    for (; m.count < 4; m.count++) {
      m.values[m.count] = draw(&r, dtype);
      t.d->from_double(t.d, gemel__element(t.d, t.elements, m.count), m.values[m.count]);
    }
    for (int k = 0; k < 60 && m.count < 40; k++)
      if (step(&t, &m, &r)) {
        const void *e = gemel__element(t.d, t.elements, m.count - 1);
        double z = m.values[m.count - 1], ratio = gemel__bound_ratio(t.d, e, dtype, z);
        compared++;
        undecided += t.d->state(t.d, e) != GEMEL__DEFINED;
        CT_CHECK(t.d->state(t.d, e) != GEMEL__UNDEFINED); /* the machine has a number */
        CT_LE_DOUBLE(ratio, 1);
        worst = fmax(worst, ratio);
        double radius = gemel__bound_radius(t.d, e);
        beyond += gemel__bound_ratio(t.d, e, dtype, z + 2.01 * radius + 0x1p-200) > 1;
      }
  }
  ct_property("compared", compared);
  CT_CHECK(compared > 8000);
  CT_LE_DOUBLE((double)undecided / (double)compared, 0.25);
  CT_LE_DOUBLE(0.75, (double)beyond / (double)compared);
  CT_LE_DOUBLE(0.9, worst);
  tear_down(&t);
}

/* A bound that is too small is seen: a quarter of an ulp for divisions, γ of half the terms. */
static void small_bounds_are_seen(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 24);
  int seen = 0;
  for (int i = 0; i < 200; i++) {
    double x = draw(&r, dtype), y = draw(&r, dtype);
    t.d->from_double(t.d, t.a, x);
    t.d->from_double(t.d, t.b, y);
    t.d->div(t.d, t.c, t.a, t.b);
    t.d->set(t.d, t.a, t.c);
    t.d->round(t.d, t.c, dtype, 0.25);
    t.d->round(t.d, t.a, dtype, -1);
    double z = stored(dtype, inner(dtype, x / y));
    seen += gemel__bound_ratio(t.d, t.c, dtype, z) > 1;
    CT_LE_DOUBLE(gemel__bound_ratio(t.d, t.a, dtype, z), 1);
  }
  CT_LE_DOUBLE(20, seen);
  tear_down(&t);
}

/* ---- Libm ---- */

typedef struct function {
  const char *name;
  double (*wide)(double);
  float (*single)(float);
  double low, high;
} function;

static const function functions[] = {{"exp", exp, expf, -20, 20},
                                     {"log", log, logf, 0.01, 100},
                                     {"sqrt", sqrt, sqrtf, 0, 100},
                                     {"exp/tiny", exp, expf, -1e-9, 1e-9},
                                     {"log/near_1", log, logf, 0.999, 1.001},
                                     {"exp/subnormal", exp, expf, -103, -88}};

static void functions_are_bounded(const void *data) {
  const function *row = data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 25);
  for (int i = 0; i < 2000; i++) {
    gemel_dtype dtype = i % 2 ? GEMEL_F64 : GEMEL_F32;
    double x = stored(dtype, gemel__random_uniform(&r, row->low, row->high));
    double y = dtype == GEMEL_F64 ? row->wide(x) : row->single((float)x);
    t.d->from_double(t.d, t.a, x);
    (row->wide == exp ? t.d->exp : row->wide == log ? t.d->log : t.d->sqrt)(t.d, t.c, t.a);
    t.d->round(t.d, t.c, dtype, row->wide == sqrt ? -1 : 2);
    ct_context("%a in %s", x, gemel_dtype_name(dtype));
    CT_LE_DOUBLE(gemel__bound_ratio(t.d, t.c, dtype, y), 1);
    if (y != 0 && fabs(y) > 1e-30)
      CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, y * (1 + 8 * unit(dtype))) > 1);
  }
  tear_down(&t);
}

/* ---- The rules one by one ---- */

static void exact_results_stay_exact(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  t.d->from_double(t.d, t.a, 1.5);
  t.d->from_double(t.d, t.b, 3);
  t.d->mul(t.d, t.c, t.a, t.b);
  t.d->round(t.d, t.c, dtype, -1);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0);
  CT_CHECK(gemel__bound_relative(t.d, t.c) == 0);
  CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, 4.5) == 0);
  CT_CHECK(isinf(gemel__bound_ratio(t.d, t.c, dtype, 4.5000001)));
  CT_EQ_INT(t.d->equal(t.d, t.c, t.c), 1);
  t.d->round(t.d, t.c, dtype, 1); /* not correctly rounded */
  double radius = gemel__bound_radius(t.d, t.c), ulp = 8 * unit(dtype);
  CT_LE_DOUBLE(ulp, radius);
  CT_LE_DOUBLE(radius, ulp * (dtype == GEMEL_F32 || dtype == GEMEL_F64 ? 1.0001 : 1.01));
  CT_LE_DOUBLE(gemel__bound_ratio(t.d, t.c, dtype, 4.5 + ulp), 1);
  CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, 4.5 + 2 * ulp) > 1);
  t.d->div(t.d, t.c, t.a, t.b); /* 1/2 exactly */
  t.d->round(t.d, t.c, dtype, -1);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0);
  t.d->from_double(t.d, t.a, 1);
  t.d->from_double(t.d, t.b, unit(dtype));
  t.d->add(t.d, t.a, t.a, t.b); /* one bit too many */
  t.d->round(t.d, t.a, dtype, 0);
  CT_CHECK(gemel__bound_radius(t.d, t.a) == 0);
  t.d->round(t.d, t.a, dtype, -1);
  CT_LE_DOUBLE(unit(dtype), gemel__bound_radius(t.d, t.a));
  tear_down(&t);
}

static void overflow_says_nothing(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  const double largest[] = {65504, 0x1.fep127, FLT_MAX, DBL_MAX};
  double top = largest[dtype - GEMEL_F16];
  t.d->from_double(t.d, t.a, top);
  t.d->round(t.d, t.a, dtype, -1);
  CT_EQ_INT(t.d->state(t.d, t.a), GEMEL__DEFINED);
  CT_CHECK(gemel__bound_radius(t.d, t.a) == 0);
  t.d->from_double(t.d, t.b, 1 + 0x1p-40);
  t.d->mul(t.d, t.c, t.a, t.b);
  t.d->round(t.d, t.c, dtype, -1);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, 1) == 0);
  CT_CHECK(isinf(gemel__bound_relative(t.d, t.c)));
  CT_CHECK(isinf(gemel__bound_radius(t.d, t.c)) && isnan(gemel__bound_value(t.d, t.c)));
  const double x[] = {0.75 * top, 0.75 * top, -0.75 * top}; /* in one order it overflows */
  if (dtype == GEMEL_F32 || dtype == GEMEL_F64) {
    reference_sum(&t, dtype, x, 3);
    CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  }
  tear_down(&t);
}

static void subnormals_are_bounded(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  const int tiny[] = {-24, -133, -149, -1074};
  int least = tiny[dtype - GEMEL_F16];
  double spacing = ldexp(1, least);
  t.d->from_double(t.d, t.a, ldexp(3, least));
  t.d->from_double(t.d, t.b, 0.5);
  t.d->mul(t.d, t.c, t.a, t.b); /* 1.5 spacings: may become 1 or 2 */
  t.d->round(t.d, t.c, dtype, -1);
  CT_LE_DOUBLE(gemel__bound_ratio(t.d, t.c, dtype, spacing), 1);
  CT_LE_DOUBLE(gemel__bound_ratio(t.d, t.c, dtype, 2 * spacing), 1);
  CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, 3 * spacing) > 1);
  CT_CHECK(gemel__bound_relative(t.d, t.c) > 0.3);
  t.d->set(t.d, t.c, t.a);
  t.d->round(t.d, t.c, dtype, -1);
  CT_CHECK(gemel__bound_radius(t.d, t.c) == 0); /* representable */
  t.d->round(t.d, t.c, dtype, 2);
  CT_LE_DOUBLE(2 * spacing, gemel__bound_radius(t.d, t.c));
  CT_LE_DOUBLE(gemel__bound_radius(t.d, t.c), 3 * spacing);
  tear_down(&t);
}

static void decisions_wait_for_the_bound(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__domain *d = t.d;
  d->from_double(d, t.a, 1.0 / 3);
  d->from_integer(d, t.b, 3);
  d->mul(d, t.c, t.a, t.b);
  d->round(d, t.c, GEMEL_F64, -1);
  d->from_integer(d, t.b, 1);
  d->sub(d, t.c, t.c, t.b); /* −2^-54 ± 2^-54 or so */
  CT_EQ_UINT(t.o->undecided, 0);
  CT_EQ_INT(d->sign(d, t.c), GEMEL__UNORDERED);
  CT_EQ_UINT(t.o->undecided, 1);
  d->div(d, t.a, t.b, t.c);
  CT_EQ_INT(d->state(d, t.a), GEMEL__UNDECIDED);
  d->log(d, t.a, t.c);
  CT_CHECK(d->state(d, t.a) != GEMEL__DEFINED);
  d->sqrt(d, t.a, t.c);
  CT_CHECK(d->state(d, t.a) != GEMEL__DEFINED);
  d->floor(d, t.a, t.c);
  CT_EQ_INT(d->state(d, t.a), GEMEL__UNDECIDED);
  CT_EQ_INT(d->equal(d, t.c, t.c), -1);
  d->from_integer(d, t.a, 7);
  d->hull(d, t.c, t.b, t.a); /* 1 or 7 */
  CT_LE_DOUBLE(gemel__bound_ratio(d, t.c, GEMEL_F64, 1), 1);
  CT_LE_DOUBLE(gemel__bound_ratio(d, t.c, GEMEL_F64, 7), 1);
  CT_CHECK(gemel__bound_ratio(d, t.c, GEMEL_F64, 7.5) > 1);
  CT_CHECK(gemel__bound_ratio(d, t.c, GEMEL_F64, 0.5) > 1);
  d->sub(d, t.c, t.a, t.a);
  CT_EQ_INT(d->sign(d, t.c), 0);
  CT_EQ_INT(d->equal(d, t.a, t.b), 0);
  d->from_double(d, t.a, 2.5);
  d->round(d, t.a, GEMEL_F32, 2);
  CT_EQ_INT(d->sign(d, t.a), 1);
  d->floor(d, t.c, t.a);
  int64_t x = 0;
  CT_CHECK(d->to_integer(d, t.c, &x) && x == 2);
  CT_CHECK(!d->to_integer(d, t.a, &x));
  tear_down(&t);
}

typedef struct known {
  const char *function;
  double a, b, value; /* NaN: undefined */
} known;

static const known knowns[] = {
    {"exp", 0, 0, 1},       {"log", 1, 0, 0},         {"log", 0, 0, -INFINITY},
    {"log", -1, 0, NAN},    {"sqrt", 9, 0, 3},        {"sqrt", 0, 0, 0},
    {"sqrt", -1, 0, NAN},   {"div", 1, 0, NAN},       {"div", 0, 0, NAN},
    {"div", 3, 4, 0.75},    {"pow", 0, 0, 1},         {"pow", -2, 3, -8},
    {"pow", -2, -1, -0.5},  {"pow", 0, -1, NAN},      {"pow", -2, 0.5, NAN},
    {"pow", 0, 0.5, 0},     {"pow", 0, -0.5, NAN},    {"pow", 5, 0, 1},
    {"floor", -1.5, 0, -2}, {"floor", 1e30, 0, 1e30}, {"add", INFINITY, 1, INFINITY}};

static void known_value(const void *data) {
  const known *row = data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__domain *d = t.d;
  d->from_double(d, t.a, row->a);
  d->from_double(d, t.b, row->b);
  const char *unary[] = {"exp", "log", "sqrt", "floor"}, *binary[] = {"div", "pow", "add"};
  void (*const one[])(gemel__domain *, void *, const void *) = {d->exp, d->log, d->sqrt, d->floor};
  void (*const two[])(gemel__domain *, void *, const void *, const void *) = {d->div, d->pow,
                                                                              d->add};
  for (size_t i = 0; i < CT_COUNT(unary); i++)
    if (!strcmp(unary[i], row->function))
      one[i](d, t.c, t.a);
  for (size_t i = 0; i < CT_COUNT(binary); i++)
    if (!strcmp(binary[i], row->function))
      two[i](d, t.c, t.a, t.b);
  CT_EQ_INT(d->state(d, t.c), isnan(row->value) ? GEMEL__UNDEFINED : GEMEL__DEFINED);
  if (!isnan(row->value))
    CT_CHECK(gemel__bound_value(d, t.c) == row->value && gemel__bound_radius(d, t.c) == 0);
  CT_EQ_UINT(t.o->undecided, 0);
  tear_down(&t);
}

static void integers_are_exact(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  gemel__random r;
  gemel__random_seed(&r, 26);
  t.d->work_in(t.d, dtype);
  for (int i = 0; i < 300; i++) {
    uint64_t want = 0;
    const void *addends[20];
    for (int k = 0; k < 20; k++) {
      int64_t x = (int64_t)gemel__random_bits(&r), y = (int64_t)gemel__random_bits(&r);
      void *e = gemel__element(t.d, t.elements, (size_t)k);
      t.d->from_integer(t.d, t.a, x);
      t.d->from_integer(t.d, t.b, y);
      t.d->mul(t.d, e, t.a, t.b);
      addends[k] = e;
      want += (uint64_t)x * (uint64_t)y;
    }
    t.d->sum(t.d, t.c, 20, addends);
    t.d->round(t.d, t.c, dtype, -1);
    int64_t got = 0, low = dtype == GEMEL_BOOL ? 1 : wrapped(dtype, (int64_t)want);
    double value = dtype == GEMEL_U64 ? (double)(uint64_t)low : (double)low;
    CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__DEFINED);
    CT_CHECK(gemel__bound_ratio(t.d, t.c, dtype, value) == 0);
    CT_CHECK(isinf(gemel__bound_ratio(t.d, t.c, dtype, nextafter(value, INFINITY))));
    if (dtype != GEMEL_U64 || low >= 0) {
      CT_CHECK(t.d->to_integer(t.d, t.c, &got));
      CT_EQ_INT(got, low);
    }
  }
  t.d->from_double(t.d, t.a, 0.5);
  t.d->round(t.d, t.a, dtype, -1);
  CT_EQ_INT(t.d->state(t.d, t.a), dtype == GEMEL_BOOL ? GEMEL__DEFINED : GEMEL__UNDECIDED);
  tear_down(&t);
}

/* The computed ball always holds the exact value's ball: evaluated at 128 and at 512 bits, both
 * agree. */
static void precisions_agree(const void *data) {
  (void)data;
  gemel__bound *narrow = gemel__bound_new(128), *wide = gemel__bound_new(512);
  gemel__random r;
  gemel__random_seed(&r, 27);
  for (int i = 0; i < 300; i++) {
    double x = gemel__random_magnitude(&r, -4, 4), value[2], radius[2];
    for (int k = 0; k < 2; k++) {
      gemel__domain *d = k ? &wide->domain : &narrow->domain;
      void *e = gemel__elements_new(d, 1);
      d->from_double(d, e, x);
      d->log(d, e, e);
      d->exp(d, e, e);
      d->mul(d, e, e, e);
      d->round(d, e, GEMEL_F64, -1);
      value[k] = gemel__bound_value(d, e);
      radius[k] = gemel__bound_radius(d, e);
      gemel__elements_free(d, e, 1);
    }
    CT_CHECK(value[0] == value[1]);
    CT_LE_DOUBLE(fabs(radius[0] - radius[1]), 1e-6 * radius[0]);
  }
  gemel__bound_free(narrow);
  gemel__bound_free(wide);
  gemel__domains_cleanup();
}

static void size_is_capped(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  t.d->from_integer(t.d, t.a, 10);
  for (int i = 0; i < 20; i++)
    t.d->exp(t.d, t.a, t.a);
  CT_EQ_INT(t.d->state(t.d, t.a), GEMEL__UNDECIDED);
  t.d->from_double(t.d, t.a, 1.5);
  for (int i = 0; i < 200; i++)
    t.d->mul(t.d, t.a, t.a, t.a);
  CT_EQ_INT(t.d->state(t.d, t.a), GEMEL__UNDECIDED);
  t.d->from_double(t.d, t.a, 1.25);
  t.d->from_double(t.d, t.b, 0x1p62);
  t.d->pow(t.d, t.c, t.a, t.b);
  t.d->round(t.d, t.c, GEMEL_I32, -1);
  t.d->from_double(t.d, t.b, 0x1p1000);
  t.d->pow(t.d, t.c, t.a, t.b);
  t.d->pow(t.d, t.c, t.b, t.a);
  t.d->floor(t.d, t.c, t.b);
  t.d->round(t.d, t.c, GEMEL_U8, -1);
  CT_EQ_INT(t.d->sign(t.d, t.c), 0);
  tear_down(&t);
}

/* A ball about a number that is far smaller or larger than its radius: the sum of the two, exactly,
 * would have as many bits as their exponents are apart. */
static void ends_are_capped(const void *data) {
  (void)data;
  bench t;
  CT_REQUIRE(set_up(&t));
  t.d->from_double(t.d, t.a, -1e15);
  t.d->exp(t.d, t.a, t.a);
  t.d->round(t.d, t.a, GEMEL_F64, 1);
  t.d->floor(t.d, t.c, t.a); /* 0 or -1: rounding may have made it 0 */
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  t.d->from_double(t.d, t.b, 0.5);
  t.d->add(t.d, t.c, t.a, t.b);
  t.d->floor(t.d, t.c, t.c);
  CT_EQ_INT(t.d->sign(t.d, t.c), 0);
  t.d->from_double(t.d, t.b, 3);
  t.d->add(t.d, t.c, t.a, t.b);
  t.d->floor(t.d, t.c, t.c); /* 3 or 2 */
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  t.d->from_double(t.d, t.b, 0x1p51 + 0.5);
  t.d->round(t.d, t.b, GEMEL_F32, 0.5); /* half a unit of f32: 2^27 */
  t.d->floor(t.d, t.c, t.b);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  t.d->from_double(t.d, t.b, 5e-324);
  t.d->from_double(t.d, t.c, 0x1p1000);
  t.d->add(t.d, t.c, t.c, t.b); /* rounded to 128 bits: a radius of 2^873 */
  t.d->floor(t.d, t.c, t.c);
  CT_EQ_INT(t.d->state(t.d, t.c), GEMEL__UNDECIDED);
  tear_down(&t);
}

static int memory_runs_out(void *data) {
  (void)data;
  gemel__bound *b = gemel__bound_new(128);
  if (!b)
    return GEMEL_NO_MEMORY;
  gemel__bound_free(b);
  gemel__special *s = gemel__special_new();
  if (!s)
    return GEMEL_NO_MEMORY;
  gemel__special_free(s);
  return GEMEL_OK;
}

static void refusals_are_survived(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(memory_runs_out, NULL) >= 2);
}

static const ct_test tests[] = {
    CT_TEST("decisions", decisions_wait_for_the_bound, NULL),
    CT_TEST("precisions", precisions_agree, NULL),
    CT_TEST("size/capped", size_is_capped, NULL),
    CT_TEST("size/ends", ends_are_capped, NULL),
    CT_TEST("memory", refusals_are_survived, NULL),
};

void ct_register(void) {
  char text[60];
  ct_suite("bound", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(floats); i++) {
    const char *name = gemel_dtype_name(floats[i]);
    CT_ADD_TO("bound", "sum", name, sums_are_bounded, &floats[i]);
    CT_ADD_TO("bound", "dot", name, dots_are_bounded, &floats[i]);
    CT_ADD_TO("bound", "sum/exact", name, exact_sums_have_no_bound, &floats[i]);
    CT_ADD_TO("bound", "product", name, products_are_bounded, &floats[i]);
    CT_ADD_TO("bound", "product/range", name, products_out_of_range, &floats[i]);
    CT_ADD_TO("bound", "product/exact", name, exact_products_have_no_bound, &floats[i]);
    CT_ADD_TO("bound", "program", name, programs_are_bounded, &floats[i]);
    CT_ADD_TO("bound", "too_small", name, small_bounds_are_seen, &floats[i]);
    CT_ADD_TO("bound", "exact", name, exact_results_stay_exact, &floats[i]);
    CT_ADD_TO("bound", "overflow", name, overflow_says_nothing, &floats[i]);
    CT_ADD_TO("bound", "subnormal", name, subnormals_are_bounded, &floats[i]);
  }
  for (size_t i = 0; i < CT_COUNT(functions); i++)
    CT_ADD_TO("bound", "function", functions[i].name, functions_are_bounded, &functions[i]);
  for (size_t i = 0; i < CT_COUNT(dtypes); i++)
    if (gemel_dtype_kind(dtypes[i]) != GEMEL_KIND_FLOAT)
      CT_ADD_TO("bound", "integer", gemel_dtype_name(dtypes[i]), integers_are_exact, &dtypes[i]);
  for (size_t i = 0; i < CT_COUNT(knowns); i++) {
    snprintf(text, sizeof text, "%s(%g,%g)", knowns[i].function, knowns[i].a, knowns[i].b);
    CT_ADD_TO("bound", "known", text, known_value, &knowns[i]);
  }
}
