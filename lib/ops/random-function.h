/* SPDX-License-Identifier: MIT
 *
 * From random words to normal numbers, for the host and for device code.
 *
 * A normal number is the inverse of the normal distribution function at p = (word + 1/2) / 2^32 (or
 * two words, 2^64), so that a word gives a number without any loop, and the least and greatest are
 * -6.34 and 6.34 (-9.16 and 9.16). With h = |p - 1/2| and w = -log(4 p (1 - p)) it is h R(w), R
 * being a rational function without zeros or poles near the range of w, all of whose coefficients
 * are positive. (They are a least squares fit of relative errors at Chebyshev points, weighted to
 * be nearly minimax, computed in 70 digits: R is right to 2^-29 and 2^-55.) h and the smaller of p
 * and 1 - p are made of integers, so neither loses digits. Nothing but + - * /, shifts and
 * conversions is used, and log is made of these too: results are the same on every machine.
 *
 * Of a device, whose code includes this too, GEMEL__CONSTANT is how it declares tables.
 */
#ifndef GEMEL__OPS_RANDOM_FUNCTION_H
#define GEMEL__OPS_RANDOM_FUNCTION_H

#include "ops/elementwise-math.h"

#ifndef GEMEL__CONSTANT
#define GEMEL__CONSTANT static const
#endif

/* Even and odd powers apart, so that two sums are made at a time. */
#define POLYNOMIAL(T, name)                                                                        \
  GEMEL__FUNCTION T name(const T *c, int degree, T w) {                                            \
    const T square = w * w;                                                                        \
    T y = c[degree], z = c[degree - 1];                                                            \
    for (int k = degree - 2; k > 0; k -= 2) {                                                      \
      y = y * square + c[k];                                                                       \
      z = z * square + c[k - 1];                                                                   \
    }                                                                                              \
    return degree % 2 != 0 ? y * w + z : (y * square + c[0]) + z * w;                              \
  }
POLYNOMIAL(float, f32_polynomial)
POLYNOMIAL(double, f64_polynomial)

/* R's numerator and denominator, the constant terms first. */
enum { F32_TOP = 7, F32_BOTTOM = 6, F64_TOP = 15, F64_BOTTOM = 15 }; /* degrees */
GEMEL__CONSTANT float f32_top[] = {0x1.40d932p+1f,  0x1.faf898p-1f, 0x1.b7c63ap-3f,
                                   0x1.037f5cp-5f,  0x1.a2fee4p-9f, 0x1.a6a3aep-13f,
                                   0x1.accec8p-18f, 0x1.a49c1ep-26f};
GEMEL__CONSTANT float f32_bottom[] = {0x1p+0f,        0x1.10d7fcp-3f,  0x1.354c30p-5f,
                                      0x1.dea462p-9f, 0x1.521062p-12f, 0x1.eeb866p-17f,
                                      0x1.c9eb0ap-23f};

GEMEL__CONSTANT double f64_top[] = {
    0x1.40d931ff62706p+1,  0x1.4140a1049af38p+0,  0x1.a4589269b656ap-2,  0x1.8aac7ecd7ea75p-4,
    0x1.210ea22063f5bp-6,  0x1.52ed6f3486571p-9,  0x1.445e60b987724p-12, 0x1.ff0fb94f89af9p-16,
    0x1.4cf5a3819a011p-19, 0x1.68e55d904efc3p-23, 0x1.462e73bdd6571p-27, 0x1.e049180054eaep-32,
    0x1.0e8707188097cp-36, 0x1.1ee889a7d72a4p-41, 0x1.76ada6999e8d2p-48, 0x1.5b971457453eep-57};
GEMEL__CONSTANT double f64_bottom[] = {0x1p+0,
                                       0x1.e91fd5c8b69a0p-3,
                                       0x1.694a7f474bd79p-4,
                                       0x1.e74817918dac9p-7,
                                       0x1.6b02526788d88p-9,
                                       0x1.56f0d2ede0188p-12,
                                       0x1.454fe3e64e114p-15,
                                       0x1.a5c80d3b023c1p-19,
                                       0x1.12134e08163fep-22,
                                       0x1.e9ab9f145009fp-27,
                                       0x1.bba313905c56cp-31,
                                       0x1.f7f0bc946c21ep-36,
                                       0x1.3920e6081d4a9p-40,
                                       0x1.8c6b5fbbfe5fap-46,
                                       0x1.d54875d11f364p-54,
                                       0x1.d05e9826b5d0bp-65};

/* A word's distance from the middle, in steps; the word is below the middle where it is ~M. With
 * h = (M + 1/2) / 2^32, p is 1/2 + h or 1/2 - h. */
GEMEL__FUNCTION int32_t f32_distance(uint32_t word) {
  const int32_t b = (int32_t)(word ^ UINT32_C(0x80000000));
  return b < 0 ? ~b : b;
}

GEMEL__FUNCTION float f32_depth(uint32_t word) {
  const int32_t m = f32_distance(word);
  const float h = ((float)m + 0.5f) * 0x1p-32f;
  const float tail = ((float)(INT32_MAX - m) + 0.5f) * 0x1p-32f;
  float k, f = f32_split(4 * tail * (0.5f + h), &k) - 1;
  return -f32_log_of(k, f, 0);
}

GEMEL__FUNCTION float f32_normal(uint32_t word, float w) {
  const float h = ((float)f32_distance(word) + 0.5f) * 0x1p-32f;
  const float z =
      h * f32_polynomial(f32_top, F32_TOP, w) / f32_polynomial(f32_bottom, F32_BOTTOM, w);
  return word >> 31 ? z : -z;
}

/* N + MORE, which is 0 or 1/2, for an integer below 2^63, rounded once: both halves of N become
 * floats by the exponent put before their bits. */
GEMEL__FUNCTION double f64_of(uint64_t n, double more) {
  const uint64_t exponent = UINT64_C(0x4330000000000000); /* of 2^52 */
  const double high = f64_from_bits(n >> 32 | exponent) - 0x1p52;
  const double low = f64_from_bits((n & UINT32_MAX) | exponent) - 0x1p52;
  return high * 0x1p32 + (low + more);
}

GEMEL__FUNCTION uint64_t f64_distance(uint64_t word) {
  const int64_t b = (int64_t)(word ^ UINT64_C(0x8000000000000000));
  return (uint64_t)(b < 0 ? ~b : b);
}

GEMEL__FUNCTION double f64_depth(uint64_t word) {
  const uint64_t m = f64_distance(word);
  const double h = f64_of(m, 0.5) * 0x1p-64;
  const double tail = f64_of(INT64_MAX - m, 0.5) * 0x1p-64;
  double k, f = f64_split(4 * tail * (0.5 + h), &k) - 1;
  return -f64_log_of(k, f, 0);
}

GEMEL__FUNCTION double f64_normal(uint64_t word, double w) {
  const double h = f64_of(f64_distance(word), 0.5) * 0x1p-64;
  const double z =
      h * f64_polynomial(f64_top, F64_TOP, w) / f64_polynomial(f64_bottom, F64_BOTTOM, w);
  const double off = GEMEL__FAULT(random_normal_interval) && z > 1 && z < 2 ? z * 0x1p-40 : 0;
  return word >> 63 ? z + off : -z;
}

#endif
