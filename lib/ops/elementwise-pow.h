/* SPDX-License-Identifier: MIT
 *
 * pow, and the inverses of the hyperbolic functions, by f64; those of f32 are these, rounded.
 *
 * pow is exp(y log |x|), where the logarithm and its product with y are sums of two numbers
 * (T. J. Dekker, A floating-point technique for extending the available precision, 1971): log |x|
 * is right to 2^-64, and what exp rounds is off by less than a fifth of a unit in the last place,
 * so that a result that is exact comes out exact. There is no fma, which machines without one are
 * slow at. The polynomials are those of elementwise-math.h.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_POW_H
#define GEMEL__OPS_ELEMENTWISE_POW_H

/* A number as the sum of two, the second less than the first's last place. */
struct gemel__two {
  double high, low;
};

/* x + y for |x| >= |y|, or x = 0. */
GEMEL__FUNCTION struct gemel__two gemel__quick_sum(double x, double y) {
  double sum = x + y;
  struct gemel__two two = {sum, y - (sum - x)};
  return two;
}

GEMEL__FUNCTION struct gemel__two gemel__sum(double x, double y) {
  double sum = x + y, part = sum - x;
  struct gemel__two two = {sum, (x - (sum - part)) + (y - part)};
  return two;
}

/* The upper half of x's digits. */
GEMEL__FUNCTION double gemel__upper(double x) {
  double large = 0x8000001p0 * x;
  return large - (large - x);
}

GEMEL__FUNCTION struct gemel__two gemel__product(double x, double y) {
  double a = gemel__upper(x), b = gemel__upper(y), c = x - a, d = y - b, xy = x * y;
  struct gemel__two two = {xy, ((a * b - xy) + (a * d + c * b)) + c * d};
  return two;
}

GEMEL__FUNCTION struct gemel__two gemel__product_of_two(struct gemel__two x, struct gemel__two y) {
  struct gemel__two p = gemel__product(x.high, y.high);
  return gemel__quick_sum(p.high, p.low + (x.high * y.low + x.low * y.high));
}

/* (log(1 + f) / s - 2) / z - 2/3, over z, for s = f / (2 + f) and z = s^2: right to 2^-64. */
GEMEL__FUNCTION double gemel__log_tail(double z) {
  return 0x1.999999999999ap-2 +
         z * (0x1.2492492492491p-2 +
              z * (0x1.c71c71c71d07cp-3 +
                   z * (0x1.745d17450787dp-3 +
                        z * (0x1.3b13b1c327111p-3 +
                             z * (0x1.1110dda1ec271p-3 +
                                  z * (0x1.e1f8aa608e4ecp-4 +
                                       z * (0x1.ac3b374b048f0p-4 + z * 0x1.b95e5debc9477p-4)))))));
}

/* log(1 + f), for m = 1 + f between the square roots of 1/2 and of 2: s (2 + z (2/3 + z tail)). */
GEMEL__FUNCTION struct gemel__two gemel__log_of_fraction(double m) {
  const double third = 0x1.5555555555555p-1, third_low = 0x1.5555555555555p-55; /* two of them */
  double f = m - 1;
  struct gemel__two below = gemel__sum(1, m), s = {f / below.high, 0}, z, q;
  struct gemel__two back = gemel__product(s.high, below.high);
  s.low = (((f - back.high) - back.low) - s.high * below.low) / below.high;
  z = gemel__product_of_two(s, s);
  q = gemel__quick_sum(third, z.high * gemel__log_tail(z.high));
  q.low += third_low;
  z = gemel__product_of_two(z, q);
  q = gemel__quick_sum(2, z.high);
  q.low += z.low;
  return gemel__product_of_two(s, q);
}

/* log(x) for a positive, finite x. */
GEMEL__FUNCTION struct gemel__two gemel__log(double x) {
  const int subnormal = x < 0x1p-1022;
  double k;
  double m = f64_split(subnormal ? x * 0x1p52 : x, subnormal ? 52.0 : 0.0, &k);
  struct gemel__two near = gemel__log_of_fraction(m);
  struct gemel__two all = gemel__sum(-k * 0x1.62e42fefp-1, near.high);
  return gemel__quick_sum(all.high, all.low + (near.low - k * 0x1.473de6af278edp-34));
}

/* exp(x), where x lies between -800 and 800. As f64_exp_clamped, with what 1 + r + r^2 / 2 loses.
 */
GEMEL__FUNCTION double gemel__exp(struct gemel__two x) {
  const double magic = 0x1.8p52 + 2046;
  double n_magic = x.high * 0x1.71547652b82fep+0 + magic, n = n_magic - magic;
  uint64_t both = f64_bits(n_magic), half = both >> 1;
  struct gemel__two r = gemel__sum(x.high - n * 0x1.62e42fefp-1, x.low - n * 0x1.473de6af278edp-34);
  struct gemel__two square = gemel__product(r.high, r.high);
  struct gemel__two one = gemel__quick_sum(1, r.high);
  struct gemel__two sum = gemel__quick_sum(one.high, 0.5 * square.high);
  double cube = square.high * r.high * GEMEL__EXP_REST_F64(r.high);
  double low = (one.low + sum.low) + (0.5 * square.low + r.low * (1 + r.high)) + cube;
  return (sum.high + low) * f64_from_bits(half << 52) * f64_from_bits((both - half) << 52);
}

/* |x|^y, for a positive finite |x|. Beyond the bounds of y all is 0, 1 or infinite. */
GEMEL__FUNCTION double gemel__power_of_size(double size, double y) {
  double exponent = y > 0x1p64 ? 0x1p64 : y < -0x1p64 ? -0x1p64 : y;
  struct gemel__two log = gemel__log(size), p = gemel__product(exponent, log.high);
  p = gemel__quick_sum(p.high, p.low + exponent * log.low);
  const int inside = fabs(p.high) < 800;
  p.high = inside ? p.high : copysign(800.0, p.high);
  p.low = inside ? p.low : 0;
  return gemel__exp(p);
}

/* R = |x|^y with a sign, and what C's annex F says of special values. */
GEMEL__FUNCTION double gemel__signed_power(double x, double y, double r) {
  double size = fabs(x);
  const int whole = rint(y) == y; /* infinities and large numbers are even */
  const int odd = whole && fabs(y) < 0x1p53 && rint(0.5 * y) != 0.5 * y;
  double end = (size == 0) == (y > 0) ? 0 : (double)INFINITY;
  r = size == 0 || size == (double)INFINITY ? end : r;
  r = odd ? copysign(r, x) : x < 0 && !whole && x > -(double)INFINITY ? (double)NAN : r;
  r = x != x || y != y ? x + y : r;
  return x == 1 || y == 0 || (x == -1 && fabs(y) == (double)INFINITY) ? 1 : r;
}

GEMEL__FUNCTION double f64_pow(double x, double y) {
  double size = fabs(x);
  return gemel__signed_power(x, y, gemel__power_of_size(size > 0 && size < INFINITY ? size : 1, y));
}

/* Of f32 the logarithm of f64 is enough. */
GEMEL__FUNCTION float f32_pow(float x, float y) {
  double size = fabs((double)x), p = (double)y * f64_log(size > 0 && size < INFINITY ? size : 1);
  return (float)gemel__signed_power((double)x, (double)y, f64_exp(p == p ? p : 0));
}

/* ---- Inverses of hyperbolic functions ---- */

/* log(1 + T), and where SIZE is LARGE log(2 SIZE), beside which what it leaves out is nothing. */
GEMEL__FUNCTION double gemel__log_of_double(double size, double t) {
  const int large = size > 0x1p30;
  double y = f64_log1p(large ? size - 1 : t);
  return large ? y + 0x1.62e42fefa39efp-1 : y;
}

GEMEL__FUNCTION double f64_asinh(double x) {
  double size = fabs(x), square = size * size;
  double y = gemel__log_of_double(size, size + square / (1 + sqrt(1 + square)));
  return copysign(y, x);
}

GEMEL__FUNCTION double f64_acosh(double x) {
  double t = x - 1;
  double y = gemel__log_of_double(x, t + sqrt(t + t + t * t));
  return x >= 1 ? y : x - x + (double)NAN;
}

/* log((1 + x) / (1 - x)) / 2. */
GEMEL__FUNCTION double f64_atanh(double x) {
  double size = fabs(x), twice = size + size;
  double t = size < 0.5 ? twice + twice * size / (1 - size) : twice / (1 - size);
  double y = copysign(0.5 * f64_log1p(t), x);
  return size < 1 ? y : size == 1 ? copysign((double)INFINITY, x) : (double)NAN;
}

#define ROUNDED_F64(name)                                                                          \
  GEMEL__FUNCTION float f32_##name(float x) {                                                      \
    return (float)f64_##name((double)x);                                                           \
  }
ROUNDED_F64(asinh)
ROUNDED_F64(acosh)
ROUNDED_F64(atanh)
#undef ROUNDED_F64

#endif
