/* SPDX-License-Identifier: MIT
 *
 * digamma and its derivatives, for f64; those of f32 are these, rounded. Above 0 a sum of what the
 * recurrences take away, and of the series for large arguments (Abramowitz and Stegun, 6.3 and 6.4:
 * Euler's and Maclaurin's formula). On [1, 2] digamma is (x - root) P(x - 3/2), P interpolating at
 * Chebyshev points (computed in 120 digits; right to 2^-55). Below 0 all comes from arguments
 * above: what is symmetric around integers has a period, and the rest is at 1 - x. These terms may
 * cancel, so that near a root below 0 errors are small beside the terms alone.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_GAMMA_H
#define GEMEL__OPS_ELEMENTWISE_GAMMA_H

#ifndef GEMEL__CONSTANT
#define GEMEL__CONSTANT static const
#endif

enum { DIGAMMA_TERMS = 22, DIGAMMA_SERIES = 9, ZETA_SERIES = 11, MOST_ORDER = 170 };

/* P, the constant term first. */
GEMEL__CONSTANT double digamma_polynomial[] = {
    0x1.e6f0cbb873617p-1,  -0x1.b1cb63005ee97p-2,  0x1.eca189b8e6da1p-3,  -0x1.2feeeb98a7cd8p-3,
    0x1.8512e5905d180p-4,  -0x1.fb442029cdbf4p-5,  0x1.4de9aa05d3418p-5,  -0x1.b9f8b1367959dp-6,
    0x1.256475e5ac975p-6,  -0x1.86355f6f68797p-7,  0x1.03c00801ba958p-7,  -0x1.5a071c746535bp-8,
    0x1.cd3e42d157015p-9,  -0x1.33661f9073563p-9,  0x1.980fc9c9f0be8p-10, -0x1.1002aaf6255f5p-10,
    0x1.7b3b41b0b38cdp-11, -0x1.f99f529bd0771p-12, 0x1.dc8ae08af0fc4p-13, -0x1.3db05b36d9a48p-13,
    0x1.104c9d0897b58p-12, -0x1.6b107f71aa124p-13};
/* B(2k) / 2k and B(2k) / (2k)! for Bernoulli's numbers from B(2) on. */
GEMEL__CONSTANT double digamma_series[] = {
    0x1.5555555555555p-4,  -0x1.1111111111111p-7, 0x1.0410410410410p-8,
    -0x1.1111111111111p-8, 0x1.f07c1f07c1f08p-8,  -0x1.5995995995996p-6,
    0x1.5555555555555p-4,  -0x1.c5e5e5e5e5e5ep-2, 0x1.86e7f9b9fe6e8p+1};
GEMEL__CONSTANT double zeta_series[] = {
    0x1.5555555555555p-4,  -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
    0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
    0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58};

/* The polynomial in T with these N coefficients, the constant one first. */
GEMEL__FUNCTION double gemel__polynomial(const double *coefficients, int n, double t) {
  double y = coefficients[n - 1];
  for (int k = n - 2; k >= 0; k--) {
    y = y * t + coefficients[k];
  }
  return y;
}

/* At x + rest, for x on [1, 2] and a rest below its last place. The root, 1.4616…, is cut in three,
 * so that what is left of x near it is right. */
GEMEL__FUNCTION double gemel__digamma_middle(double x, double rest) {
  double y = gemel__polynomial(digamma_polynomial, DIGAMMA_TERMS, x - 1.5);
  double above = (x - 0x1.762d86356b000p+0) - 0x1.c7edc35390000p-41 - 0x1.0cbc149e0d62ap-81;
  return (above + rest) * y;
}

/* From 10 on. */
GEMEL__FUNCTION double gemel__digamma_far(double x) {
  double z = 1 / (x * x);
  return log(x) - (0.5 / x + z * gemel__polynomial(digamma_series, DIGAMMA_SERIES, z));
}

/* Above 0. */
GEMEL__FUNCTION double gemel__digamma_above(double x) {
  double sum = 0;
  if (x >= 10) {
    return gemel__digamma_far(x);
  }
  for (; x > 2; x -= 1) {
    sum += 1 / (x - 1);
  }
  if (x < 1) {
    sum = -1 / x;
    x += 1;
  }
  return sum + gemel__digamma_middle(x, 0);
}

/* pi cot(pi f) for |f| <= 1/2, where it is 0. */
GEMEL__FUNCTION double gemel__pi_cot_pi(double f) {
  const double pi = 0x1.921fb54442d18p+1;
  return fabs(f) < 0.25 ? pi / tan(pi * f) : copysign(pi * tan(pi * (0.5 - fabs(f))), f);
}

/* At 1 - x, below 0. What 1 - x loses by rounding counts on [1, 2], where there is a root. */
GEMEL__FUNCTION double gemel__digamma_mirrored(double x) {
  double y = 1 - x;
  return y < 2 ? gemel__digamma_middle(y, (1 - y) - x) : gemel__digamma_above(y);
}

GEMEL__FUNCTION double gemel__digamma(double x) {
  double f = x - rint(x);
  if (x > 0 || x != x) {
    return gemel__digamma_above(x);
  }
  if (f != 0) {
    return gemel__digamma_mirrored(x) - gemel__pi_cot_pi(f);
  }
  return x == 0 ? -1 / x : (double)NAN; /* a pole */
}

/* (x / (x + k))^m, with what rounding takes away from the sum and from the quotient. */
GEMEL__FUNCTION double gemel__power_of_quotient(double x, double k, double m) {
  double far = x + k, lost = x >= k ? k - (far - x) : x - (far - k), q = x / far;
  return pow(q, m) * (1 + m * ((fma(-q, far, x) - q * lost) / x));
}

/* n! times the sum over k from 0 on of 1 / (x + k)^m, for m = n + 1 > 1 and x > 0. All but 1 / x^m
 * is relative to that, whose root is multiplied twice, so that nothing overflows or vanishes on the
 * way that the result doesn't. */
GEMEL__FUNCTION double gemel__zeta(int n, double x) {
  double m = n + 1, factorial = 1, sum = 0, root = pow(x, -0.5 * m), steps = 0;
  for (int k = 2; k <= n; k++) {
    factorial *= k;
  }
  for (; x + steps < 8 + m; steps += 1) {
    sum += gemel__power_of_quotient(x, steps, m);
  }
  const double *series = zeta_series;
  double far = x + steps, factor = m / far, tail = far / n + 0.5;
  for (int k = 0; k < ZETA_SERIES; k++) {
    tail += series[k] * factor;
    factor *= (m + 2 * k + 1) / far * ((m + 2 * k + 2) / far);
  }
  return factorial * root * (sum + gemel__power_of_quotient(x, steps, m) * tail) * root;
}

/* What comes again at each integer is that part of the sum whose terms go on to both sides. */
GEMEL__FUNCTION double gemel__zeta_below(int n, double x) {
  double f = x - rint(x), sign = n % 2 != 0 ? 1 : -1;
  double near = gemel__zeta(n, fabs(f)), other = gemel__zeta(n, 1 - fabs(f));
  double both = f > 0 ? near + sign * other : sign * near + other;
  if (both != both) { /* both overflow: the nearer pole's is the larger */
    both = fabs(f) == 0.5 ? 0 : f > 0 ? near : sign * near;
  }
  return both - sign * gemel__zeta(n, 1 - x);
}

/* The derivative of this ORDER of digamma. */
GEMEL__FUNCTION double gemel__polygamma(double order, double x) {
  if (!(order >= 0 && order <= MOST_ORDER && order == rint(order)) || x != x ||
      x == -(double)INFINITY) {
    return NAN;
  }
  int n = (int)order, odd = n % 2 != 0;
  double sign = odd ? 1 : -1;
  if (n == 0) {
    return gemel__digamma(x);
  }
  if (x - rint(x) == 0 && x <= 0) { /* a pole */
    return odd ? (double)INFINITY : x == 0 ? -1 / x : (double)NAN;
  }
  return x < (double)INFINITY ? sign * (x > 0 ? gemel__zeta(n, x) : gemel__zeta_below(n, x))
                              : sign * 0;
}

#endif
