/* SPDX-License-Identifier: MIT
 *
 * log |Γ|, digamma and its derivatives, for f64; those of f32 are these, rounded.
 *
 * digamma and its derivatives are above 0 a sum of what the
 * recurrences take away, and of the series for large arguments (Abramowitz and Stegun, 6.3 and 6.4:
 * Euler's and Maclaurin's formula). On [1, 2] digamma is (x - root) P(x - 3/2), P interpolating at
 * Chebyshev points (computed in 120 digits; right to 2^-55). Below 0 all comes from arguments
 * above: what is symmetric around integers has a period, and the rest is at 1 - x. These terms may
 * cancel, so that near a root below 0 errors are small beside the terms alone.
 *
 * lgamma is Stirling's series from 10 on. Between -17.5 and 10 it is a polynomial in u, x less the
 * nearest integer, for log Γ(2 + u) (interpolated as above; right to 2^-67), and the logarithm of
 * the product of all factors between. Where that is near a root below 0, the difference from the
 * root decides: of the polynomial by a divided difference, of the product by log1p of what the
 * quotients of factors differ from 1. Further below 0 it is what reflection gives.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_GAMMA_H
#define GEMEL__OPS_ELEMENTWISE_GAMMA_H

#ifndef GEMEL__CONSTANT
#define GEMEL__CONSTANT static const
#endif

enum { DIGAMMA_TERMS = 22, DIGAMMA_SERIES = 9, ZETA_SERIES = 11, MOST_ORDER = 170 };
enum { LGAMMA_TERMS = 22, LGAMMA_SERIES = 9, SINE_TERMS = 10, LEAST_ROOT = 2, MOST_ROOT = 16 };

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

/* log Γ(2 + u) / u; Stirling's series; (sin(πu) / u - π) / u^2, of u^2. */
GEMEL__CONSTANT double lgamma_polynomial[] = {
    0x1.b0ee6072093cep-2,   0x1.4a34cc4a60fa6p-2,  -0x1.13e001a557606p-4,  0x1.51322ac7d8483p-6,
    -0x1.e404fc218f683p-8,  0x1.7add6eadb6cbbp-9,  -0x1.38ac5c2bf00bfp-10, 0x1.0b36af8630f5fp-11,
    -0x1.d3fd4c7f9fa26p-13, 0x1.a127b0f9ee692p-14, -0x1.78de594a1f5d8p-15, 0x1.580dcc735f957p-16,
    -0x1.3cbd0c34c2671p-17, 0x1.259814c96e3bdp-18, -0x1.11a54bc3cfe3cp-19, 0x1.0057bc58baf67p-20,
    -0x1.e46267845840ap-22, 0x1.c959188a8539dp-23, -0x1.98152dabaf411p-24, 0x1.8367966486352p-25,
    -0x1.0cfcd77c3ec5fp-25, 0x1.01127da9788f9p-26};
GEMEL__CONSTANT double lgamma_series[] = {
    0x1.5555555555555p-4,   -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
    -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10,
    0x1.a41a41a41a41ap-8,   -0x1.e4286cb0f5398p-6, 0x1.6fe96381e0680p-3};
GEMEL__CONSTANT double sine_polynomial[] = {
    -0x1.4abbce625be53p+2,  0x1.466bc6775aae2p+1,  -0x1.32d2cce62bd86p-1,  0x1.50783487ee77ap-4,
    -0x1.e3074fde87b40p-8,  0x1.e8f434cf676fap-12, -0x1.6fadb98c7767ep-16, 0x1.aaebebaab44a5p-21,
    -0x1.8a220459180f9p-26, 0x1.21524a4bc5851p-31};
/* The roots of lgamma below 0, less the nearest integer, -2 to -16, as the sum of two numbers, and
 * digamma there: three numbers of the one below the integer, and three of the one above. There is
 * none between -2 and 0. */
GEMEL__CONSTANT double lgamma_roots[] = {-0x1.d3fe4b007c361p-2,
                                         0x1.541360cea0e60p-56,
                                         0x1.83fe966af535fp+0,
                                         0,
                                         0,
                                         0,
                                         -0x1.260dbc9e59af8p-3,
                                         0x1.1d065994b0991p-58,
                                         0x1.f20a65f2fac55p+2,
                                         0x1.025f7af2137fap-2,
                                         -0x1.7995a4b4641ebp-56,
                                         -0x1.ea12da904b18cp+0,
                                         -0x1.4273c2ccac062p-5,
                                         0x1.e307a790f3f77p-59,
                                         0x1.aca5cf4921642p+4,
                                         0x1.6e3aae0f406bdp-5,
                                         0x1.e5753daddb926p-61,
                                         -0x1.4b99d966c5647p+4,
                                         -0x1.0d4afe16db219p-7,
                                         -0x1.498adcb2a729cp-61,
                                         0x1.ed72e0829ae02p+6,
                                         0x1.1510b222a0657p-7,
                                         0x1.e5eab7f12cef6p-61,
                                         -0x1.d224a3ef9e41fp+6,
                                         -0x1.6b25897c8ced8p-10,
                                         -0x1.f0b65b458e173p-66,
                                         0x1.69de49e3af2aap+9,
                                         0x1.6d0a6e0bf2a09p-10,
                                         -0x1.4ed62cbd31ee0p-64,
                                         -0x1.661f6a43a5e12p+9,
                                         -0x1.9fef6ff0f5be9p-13,
                                         0x1.be919233c3eaap-67,
                                         0x1.3b407aa387bd1p+12,
                                         0x1.a044a3c880185p-13,
                                         0x1.d949a3dc02de1p-68,
                                         -0x1.3abf7a5cea91bp+12,
                                         -0x1.a01459fc9f60dp-16,
                                         0x1.30c4f8c4dea26p-70,
                                         0x1.3b088fed67718p+15,
                                         0x1.a01fa98c3c356p-16,
                                         0x1.7d4add4f3562dp-72,
                                         -0x1.3af76fe4c2fabp+15,
                                         -0x1.71dda3ec36b6cp-19,
                                         -0x1.0ffb70d477adfp-74,
                                         0x1.6261203919440p+18,
                                         0x1.71ded0bf801bdp-19,
                                         -0x1.3a55d249679f9p-74,
                                         -0x1.625edfc63db2fp+18,
                                         -0x1.27e4eee649ed1p-22,
                                         -0x1.d95e15441e031p-76,
                                         0x1.baf825a0c63b2p+21,
                                         0x1.27e50808cbe75p-22,
                                         0x1.1885afab83963p-76,
                                         -0x1.baf7da5f3795dp+21,
                                         -0x1.ae6454c576597p-26,
                                         0x1.90015bf1b415cp-80,
                                         0x1.308a827152450p+25,
                                         0x1.ae64583932495p-26,
                                         -0x1.a55b7a31a0b4ap-81,
                                         -0x1.308a7d8eadb7cp+25,
                                         -0x1.1eed8ee62acf8p-29,
                                         -0x1.e04a1e70f241cp-85,
                                         0x1.c8cfc050d4f38p+28,
                                         0x1.1eed8f18f0438p-29,
                                         -0x1.acc3d3c978bd8p-84,
                                         -0x1.c8cfbfaf2b0c8p+28,
                                         -0x1.612461380cd08p-33,
                                         0x1.17237e0e47fbdp-87,
                                         0x1.7328cc0534b1bp+32,
                                         0x1.6124613d00d0bp-33,
                                         0x1.001c54155b96cp-87,
                                         -0x1.7328cbfacb4e5p+32,
                                         -0x1.93974a8bd29cfp-37,
                                         0x1.09d47384560edp-91,
                                         0x1.44c3b28055944p+36,
                                         0x1.93974a8c3cf6cp-37,
                                         -0x1.f04e88bb6e247p-91,
                                         -0x1.44c3b27faa6bcp+36,
                                         -0x1.ae7f3e7337a1dp-41,
                                         0x1.ef83d0b08e728p-95,
                                         0x1.30777758057b6p+40,
                                         0x1.ae7f3e733f622p-41,
                                         -0x1.81b8fc4e9b9acp-95,
                                         -0x1.30777757fa84ap+40,
                                         -0x1.ae7f3e733b428p-45,
                                         -0x1.25fc9dc8f8bbep-99,
                                         0x1.307777580059bp+44,
                                         0x1.ae7f3e733bc16p-45,
                                         -0x1.2e72e4d113627p-100,
                                         -0x1.30777757ffa65p+44};

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
  return f64_log(x) - (0.5 / x + z * gemel__polynomial(digamma_series, DIGAMMA_SERIES, z));
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

/* sin(πu), |u| <= 1/2. */
GEMEL__FUNCTION double gemel__sine_of_pi(double u) {
  double z = u * u, series = z * gemel__polynomial(sine_polynomial, SINE_TERMS, z);
  return u * 0x1.921fb54442d18p+1 + u * (0x1.1a62633145c07p-53 + series);
}

/* π cot(πf) for |f| <= 1/2, where it is 0. */
GEMEL__FUNCTION double gemel__pi_cot_pi(double f) {
  double cosine = gemel__sine_of_pi(0.5 - fabs(f));
  return 0x1.921fb54442d18p+1 * cosine / gemel__sine_of_pi(f);
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
  return f64_pow(q, m) * (1 + m * ((fma(-q, far, x) - q * lost) / x));
}

/* n! times the sum over k from 0 on of 1 / (x + k)^m, for m = n + 1 > 1 and x > 0. All but 1 / x^m
 * is relative to that, whose root is multiplied twice, so that nothing overflows or vanishes on the
 * way that the result doesn't. */
GEMEL__FUNCTION double gemel__zeta(int n, double x) {
  double m = n + 1, factorial = 1, sum = 0, root = f64_pow(x, -0.5 * m), steps = 0;
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

/* ---- lgamma ---- */

/* From 10 on. */
GEMEL__FUNCTION struct gemel__two gemel__lgamma_far(double x) {
  const double half_log = 0x1.acfe390c97d69p-2; /* of 2π, less 1/2 */
  double z = 1 / (x * x), series = gemel__polynomial(lgamma_series, LGAMMA_SERIES, z) / x;
  struct gemel__two log = gemel__log(x);
  log = gemel__quick_sum(log.high - 1, log.low);
  struct gemel__two p = gemel__product(x - 0.5, log.high);
  return gemel__quick_sum(p.high, p.low + ((x - 0.5) * log.low + (half_log + series)));
}

/* log |x (x + 1) … (x + n)|, or for a negative n of (x - 1) … (x + n + 1). All factors but one are
 * exact. */
GEMEL__FUNCTION struct gemel__two gemel__log_of_factors(double x, int n) {
  struct gemel__two product = {1, 0};
  int first = n < 0 ? n + 1 : 0, last = n < 0 ? -1 : n;
  for (int k = first; k <= last; k++) {
    struct gemel__two p = gemel__product(product.high, x + k);
    product = gemel__quick_sum(p.high, p.low + product.low * (x + k));
  }
  struct gemel__two log = gemel__log(fabs(product.high));
  return gemel__quick_sum(log.high, log.low + product.low / product.high);
}

/* log Γ(2 + u), |u| <= 1/2. */
GEMEL__FUNCTION struct gemel__two gemel__lgamma_middle(double u) {
  double rest = gemel__polynomial(lgamma_polynomial + 1, LGAMMA_TERMS - 1, u);
  struct gemel__two p = gemel__product(u, lgamma_polynomial[0]);
  return gemel__sum(p.high, p.low + u * (0x1.6cb90701fbfabp-58 + u * rest));
}

/* q - log(1 + q) for |q| < 0.4, as f64_log_near has it. */
GEMEL__FUNCTION double gemel__lost_by_log(double q) {
  double s = q / (2 + q), z = s * s, half = 0.5 * q * q;
  return half - s * (half + z * GEMEL__LOG_F64(z));
}

/* At u - n, by D = u - ROOT[0]: D times digamma, and what is of second order in D, of the
 * polynomial and of each factor's logarithm. */
GEMEL__FUNCTION double gemel__lgamma_from_root(double u, double d, const double *root, int n) {
  const double *polynomial = lgamma_polynomial;
  double outer = 0, slope = 0, curve = 0, lost = 0;
  for (int k = LGAMMA_TERMS - 1; k >= 0; k--) { /* divided differences of the polynomial times u */
    curve = curve * root[0] + slope;
    outer = outer * u + polynomial[k];
    slope = slope * root[0] + outer;
  }
  for (int k = n; k >= -1; k--) {
    lost += gemel__lost_by_log(d / (root[0] - k));
  }
  return d * root[2] + (d * d * curve + lost);
}

/* Between -17.5 and 10. */
GEMEL__FUNCTION double gemel__lgamma_near(double x) {
  double nearest = rint(x), u = x - nearest;
  int n = (int)-nearest;
  if (n >= LEAST_ROOT && n <= MOST_ROOT) {
    const double *root = lgamma_roots + 6 * (n - LEAST_ROOT) + 3 * (u > 0);
    double d = (u - root[0]) - root[1];
    if (fabs(d) < 0.125 * fabs(root[0])) {
      return gemel__lgamma_from_root(u, d, root, n);
    }
  }
  struct gemel__two middle = gemel__lgamma_middle(u), factors = gemel__log_of_factors(x, n + 1);
  double sign = n + 1 < 0 ? 1 : -1;
  middle.low += sign * factors.low;
  factors = gemel__sum(middle.high, sign * factors.high);
  return factors.high + (factors.low + middle.low);
}

/* log(π / |sin(πx)|) - log Γ(1 - x), where these may cancel. */
GEMEL__FUNCTION double gemel__lgamma_below(double x) {
  double sine = fabs(gemel__sine_of_pi(x - rint(x)));
  struct gemel__two far = gemel__lgamma_far(1 - x), near = gemel__log(0x1.921fb54442d18p+1 / sine);
  return (near.high - far.high) + (near.low - far.low);
}

GEMEL__FUNCTION double f64_lgamma(double x) {
  if (x != x || fabs(x) == (double)INFINITY) {
    return x * x;
  }
  if (x <= 0 && x == rint(x)) { /* a pole */
    return INFINITY;
  }
  if (x >= 10) {
    struct gemel__two y = gemel__lgamma_far(x < 0x1p100 ? x : 10);
    return x < 0x1p100 ? y.high + y.low : x * (f64_log(x) - 1);
  }
  return x < -17.5 ? gemel__lgamma_below(x) : gemel__lgamma_near(x);
}

GEMEL__FUNCTION double f64_digamma(double x) {
  return gemel__digamma(x);
}

GEMEL__FUNCTION double f64_polygamma(double order, double x) {
  return gemel__polygamma(order, x);
}

GEMEL__FUNCTION float f32_lgamma(float x) {
  return (float)f64_lgamma((double)x);
}

GEMEL__FUNCTION float f32_digamma(float x) {
  return (float)gemel__digamma((double)x);
}

GEMEL__FUNCTION float f32_polygamma(float order, float x) {
  return (float)gemel__polygamma((double)order, (double)x);
}

#endif
