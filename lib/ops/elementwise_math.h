/* SPDX-License-Identifier: MIT
 *
 * Functions that the C expressions of scalar.def call through M, for f32 and f64.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_MATH_H
#define GEMEL__OPS_ELEMENTWISE_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* maximum and minimum of IEEE 754-2019. Equal numbers have equal bits but for zeros, of which `and`
 * keeps +0 and `or` -0; what is neither less, greater nor equal is NaN, and so is the sum. mod:
 * fmod is exact, so the result is rounded once; a zero takes the sign of y. */
#define GEMEL__DEFINE_FLOAT(tag, type, word, s)                                                    \
  static inline type tag##_from_bits(word bits) {                                                  \
    type value;                                                                                    \
    memcpy(&value, &bits, sizeof value);                                                           \
    return value;                                                                                  \
  }                                                                                                \
  static inline word tag##_bits(type value) {                                                      \
    word bits;                                                                                     \
    memcpy(&bits, &value, sizeof bits);                                                            \
    return bits;                                                                                   \
  }                                                                                                \
  static inline type tag##_max(type x, type y) {                                                   \
    type same = tag##_from_bits(tag##_bits(x) & tag##_bits(y));                                    \
    return x > y ? x : y > x ? y : x == y ? same : x + y;                                          \
  }                                                                                                \
  static inline type tag##_min(type x, type y) {                                                   \
    type same = tag##_from_bits(tag##_bits(x) | tag##_bits(y));                                    \
    return x < y ? x : y < x ? y : x == y ? same : x + y;                                          \
  }                                                                                                \
  static inline type tag##_mod(type x, type y) {                                                   \
    type r = fmod##s(x, y);                                                                        \
    return r == 0 ? copysign##s(0, y) : (r < 0) != (y < 0) ? r + y : r;                            \
  }                                                                                                \
  static inline type tag##_fabs(type x) {                                                          \
    return fabs##s(x);                                                                             \
  }                                                                                                \
  static inline type tag##_sqrt(type x) {                                                          \
    return sqrt##s(x);                                                                             \
  }                                                                                                \
  static inline type tag##_pow(type x, type y) {                                                   \
    return pow##s(x, y);                                                                           \
  }                                                                                                \
  static inline type tag##_exp(type x) {                                                           \
    return exp##s(x);                                                                              \
  }                                                                                                \
  static inline type tag##_log(type x) {                                                           \
    return log##s(x);                                                                              \
  }                                                                                                \
  static inline type tag##_log1p(type x) {                                                         \
    return log1p##s(x);                                                                            \
  }                                                                                                \
  static inline type tag##_expm1(type x) {                                                         \
    return expm1##s(x);                                                                            \
  }                                                                                                \
  static inline type tag##_tanh(type x) {                                                          \
    return tanh##s(x);                                                                             \
  }

GEMEL__DEFINE_FLOAT(f32, float, uint32_t, f)
GEMEL__DEFINE_FLOAT(f64, double, uint64_t, )

#endif
