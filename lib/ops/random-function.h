/* SPDX-License-Identifier: MIT
 *
 * From random words to normal numbers, for the host and for device code.
 *
 * A normal number is the inverse of the normal distribution function at p = (word + 1/2) / 2^32 (or
 * two words, 2^64), so that a word gives a number without any loop, and the least and greatest are
 * -6.34 and 6.34 (-9.16 and 9.16). With h = |p - 1/2| and w = -log(4 p (1 - p)) it is h R(w), R
 * being the rational function of elementwise-normal.h. h and the smaller of p
 * and 1 - p are made of integers, so neither loses digits. Nothing but + - * /, shifts and
 * conversions is used, and log is made of these too: results are the same on every machine.
 */
#ifndef GEMEL__OPS_RANDOM_FUNCTION_H
#define GEMEL__OPS_RANDOM_FUNCTION_H

#include "ops/elementwise-math.h"

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
  float k, f = f32_split(4 * tail * (0.5f + h), 0, &k) - 1;
  return -f32_log_of(k, f);
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
  double k, f = f64_split(4 * tail * (0.5 + h), 0, &k) - 1;
  return -f64_log_of(k, f);
}

GEMEL__FUNCTION double f64_normal(uint64_t word, double w) {
  const double h = f64_of(f64_distance(word), 0.5) * 0x1p-64;
  const double z =
      h * f64_polynomial(f64_top, F64_TOP, w) / f64_polynomial(f64_bottom, F64_BOTTOM, w);
  return word >> 63 ? z : -z;
}

#endif
