/*
 * Functions of floats are as accurate as the table of operations says: random arguments, judged in
 * long double. The harness does that by MPFR, for all of them; this takes no library, and many
 * arguments near what is hard.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gemel/gemel.h>
#include "core/dtype.h"
#include "ops/elementwise.h"
#include "support/promised.h"
#include "support/random.h"

static const gemel__scalar_row *row_called(const char *name) {
  int k;
  for (k = 0; k < GEMEL__SCALAR_COUNT; k++) {
    if (strcmp(gemel__scalar_rows[k].name, name) == 0) {
      return &gemel__scalar_rows[k];
    }
  }
  CT_FAIL("there is no operation %s", name);
  return &gemel__scalar_rows[0];
}

static long double sigmoid_of(long double x) {
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}

/* Not where its argument is 0 or a negative integer. Abramowitz and Stegun, 6.3.5 and 6.3.18. */
static long double digamma_of(long double x) {
  long double before = 0, z;
  for (; x < 40; x += 1) {
    before += 1 / x;
  }
  z = 1 / (x * x);
  z *= 1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z * (1 / 240.0L - z / 132)));
  return logl(x) - 0.5L / x - z - before;
}

typedef struct accurate {
  const char *op;
  long double (*exact)(long double);
  double low, high;
} accurate;

static const accurate accurates[] = {
    {"exp", expl, -104, 89},
    {"exp", expl, -745, 710},
    {"log", logl, 0, 4},
    {"log", logl, 0, 1e300},
    {"log1p", log1pl, -1, 2},
    {"log1p", log1pl, -1e-3, 1e-3},
    {"expm1", expm1l, -1, 1},
    {"expm1", expm1l, -40, 90},
    {"tanh", tanhl, -1, 1},
    {"tanh", tanhl, -20, 20},
    {"sigmoid", sigmoid_of, -1, 1},
    {"sigmoid", sigmoid_of, -740, 40},
    {"sqrt", sqrtl, 0, 100},
    {"digamma", digamma_of, 2, 30},
    {"digamma", digamma_of, -0.5, -0.45},
    {"asinh", asinhl, -3, 3},
    {"asinh", asinhl, -1e20, 1e20},
    {"acosh", acoshl, 1, 2},
    {"acosh", acoshl, 2, 4e9},
    {"atanh", atanhl, -1, 1},
    {"lgamma", lgammal, 0, 3},
    {"lgamma", lgammal, 3, 200},
    {"lgamma", lgammal, -2.5, -2.4},
    {"lgamma", lgammal, -2.8, -2.7},
    {"lgamma", lgammal, -10.0000003, -10.0000002},
    {"lgamma", lgammal, -18.5, -17.5},
    {"lgamma", lgammal, -300, -30},
};

static void promises(const void *data) {
  (void)data;
  for (int k = 0; k < GEMEL__SCALAR_COUNT; k++) {
    ct_context("%s, see tests/support/promised.h", gemel__scalar_rows[k].name);
    CT_LE_DOUBLE(gemel__scalar_rows[k].ulp, promise(gemel__scalar_rows[k].name));
  }
}

/* Valgrind computes long double as double. */
static int long_double_is_long(void) {
  volatile long double one = 1, eps = 0x1p-63L;
  return one + eps != one;
}

static void accuracy(const void *data) {
  const accurate *a = data;
  const gemel__scalar_row *row = row_called(a->op);
  const gemel_dtype both[] = {GEMEL_F32, GEMEL_F64};
  double worst;
  int d, k;
  if (!long_double_is_long()) {
    CT_SKIP("long double is no longer than double here");
  }
  for (d = 0; d < 2; d++) {
    worst = 0;
    for (k = 0; k < 20000; k++) {
      uint64_t x, out;
      const void *in[] = {&x};
      double at = a->low + (a->high - a->low) * ((double)(bits64() >> 11) * 0x1p-53), error;
      gemel__dtype_store(both[d], at, &x);
      gemel__scalar_kernel_for(row, both[d], both[d])(1, &out, in);
      error =
          ulps(both[d], gemel__dtype_load(both[d], &out), a->exact(gemel__dtype_load(both[d], &x)));
      worst = error > worst || error != error ? error : worst;
    }
    ct_context("%s of %s on [%g, %g]", a->op, gemel_dtype_name(both[d]), a->low, a->high);
    CT_LE_DOUBLE(worst, promise(a->op));
  }
}

/* Powers of small numbers that are exact come out exact; the next ones as rounded as they can be.
 */
static void exact_powers(const void *data) {
  const gemel__scalar_row *row = row_called("pow");
  const gemel_dtype both[] = {GEMEL_F32, GEMEL_F64};
  const double most[] = {0x1p24, 0x1p53};
  (void)data;
  for (int d = 0; d < 2; d++) {
    for (int base = 2; base < 3000; base++) {
      double exact = base, scale = 1.0 / 64;
      for (int power = 1; exact <= most[d]; power++, exact *= base, scale /= 64) {
        uint64_t x, y, out;
        const void *in[] = {&x, &y};
        gemel__dtype_store(both[d], base * (-1.0 / 64), &x);
        gemel__dtype_store(both[d], power, &y);
        gemel__scalar_kernel_for(row, both[d], both[d])(1, &out, in);
        ct_context("(-%d / 64)^%d of %s", base, power, gemel_dtype_name(both[d]));
        CT_CHECK(gemel__dtype_load(both[d], &out) == (power % 2 != 0 ? -exact : exact) * scale);
      }
    }
  }
}

static const ct_test tests[] = {CT_TEST("promises", promises, NULL),
                                CT_TEST("exact-powers", exact_powers, NULL)};

void ct_register(void) {
  char name[100];
  ct_suite("accuracy", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(accurates); k++) {
    snprintf(name, sizeof name, "%s/%zu", accurates[k].op, k);
    CT_ADD("accuracy", name, accuracy, &accurates[k]);
  }
}
