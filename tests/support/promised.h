/* SPDX-License-Identifier: MIT
 *
 * How accurate the scalar operations are. Rows in lib/ops/scalar.def say so too, and kernels are
 * verified by what those say; a row that promises less than this fails. And how far off a result
 * is.
 */
#ifndef GEMEL_TESTS_PROMISED_H
#define GEMEL_TESTS_PROMISED_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <gemel/dtype.h>

/* In units of the last place, all that isn't rounded correctly. */
static const struct {
  const char *op;
  double ulp;
} promised[] = {{"pow", 1.1},  {"exp", 1},       {"log", 1},     {"log1p", 1},     {"expm1", 1.5},
                {"tanh", 1.5}, {"sigmoid", 2.5}, {"erf", 1.5},   {"sin", 2},       {"cos", 2},
                {"tan", 2},    {"asin", 2},      {"acos", 2},    {"atan", 2},      {"sinh", 2},
                {"cosh", 2},   {"asinh", 2},     {"acosh", 2},   {"atanh", 2},     {"atan2", 2},
                {"erfinv", 8}, {"lgamma", 3},    {"digamma", 5}, {"polygamma", 20}};

static inline double promise(const char *op) {
  size_t k = 0;
  while (k < sizeof promised / sizeof *promised && strcmp(promised[k].op, op) != 0) {
    k++;
  }
  return k < sizeof promised / sizeof *promised ? promised[k].ulp : 0.5;
}

/* Distance of GOT from EXACT in units of the last place that EXACT has in DTYPE. */
static inline double ulps(gemel_dtype dtype, double got, long double exact) {
  int bits = dtype == GEMEL_F32 ? 24 : 53, least = dtype == GEMEL_F32 ? -149 : -1074, e;
  double largest = dtype == GEMEL_F32 ? (double)FLT_MAX : DBL_MAX;
  if (isinf(got) && (got > 0) == (exact > 0) &&
      fabsl(exact) > (long double)largest * (1 + 0x1p-54L)) {
    return 0;
  }
  frexpl(exact, &e);
  e = e - bits < least || exact == 0 ? least : e - bits;
  return (double)(fabsl((long double)got - exact) / ldexpl(1, e));
}

#endif
