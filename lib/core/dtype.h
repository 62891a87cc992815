/* SPDX-License-Identifier: MIT
 *
 * Conversions that dtypes need inside the library: half types to f32 and back, rounded to nearest
 * with ties to even, one element at a time (here) or in bulk (dtype.c), and single numbers of any
 * dtype as a double. A NaN stays a NaN: it is made quiet and keeps the payload bits that fit, as
 * the conversion instructions of x86 and Arm do, so both ways of computing agree bit for bit.
 */
#ifndef GEMEL__CORE_DTYPE_H
#define GEMEL__CORE_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <gemel/dtype.h>
#include "core/suggest.h"

static inline int gemel__is_float(gemel_dtype dtype) {
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
}

static inline uint32_t gemel__f32_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float gemel__f32_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Exact. */
static inline float gemel__bf16_to_f32(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  uint32_t nan = (bits & 0x7fffffff) > 0x7f800000;
  return gemel__f32_from_bits(bits | nan << 22);
}

static inline uint16_t gemel__f32_to_bf16(float value) {
  uint32_t bits = gemel__f32_bits(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  int nan = (bits & 0x7fffffff) > 0x7f800000;
  return (uint16_t)(nan ? (bits >> 16) | 0x40 : rounded);
}

/* Exact. A subnormal half is made by subtracting the implicit bit that a float with the same
 * fraction and the smallest normal exponent would have. */
static inline float gemel__f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
  uint32_t bits = rest + ((127 - 15) << 23);
  if (rest >= 0x0f800000) {
    bits = rest | 0x7f800000 | (rest > 0x0f800000 ? 0x00400000 : 0);
  } else if (rest < 0x00800000) {
    bits = gemel__f32_bits(gemel__f32_from_bits(rest + (113u << 23)) - 0x1p-14f);
  }
  return gemel__f32_from_bits(sign | bits);
}

/* Numbers below the normal halves are rounded by adding 0.5, whose last place is the smallest half;
 * 65520 and above round to infinity. */
static inline uint16_t gemel__f32_to_f16(float value) {
  uint32_t bits = gemel__f32_bits(value);
  uint32_t sign = bits >> 16 & 0x8000;
  uint32_t rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) {
    return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff));
  }
  if (rest >= 0x477ff000) {
    return (uint16_t)(sign | 0x7c00);
  }
  if (rest < 0x38800000) {
    uint32_t shifted = gemel__f32_bits(gemel__f32_from_bits(rest) + 0.5f);
    return (uint16_t)(sign | (shifted - 0x3f000000));
  }
  rest += 0xfff + (rest >> 13 & 1);
  return (uint16_t)(sign | ((rest - ((127u - 15) << 23)) >> 13));
}

/* VALUE as an f32 rounded to odd: truncated, with the last bit set if anything was lost. Rounding
 * that to a shorter format gives what rounding VALUE itself would (Boldo and Melquiond, 2008), so
 * f64 -> half has no double rounding. */
static inline float gemel__f64_to_f32_odd(double value) {
  float rounded = (float)value;
  uint32_t bits = gemel__f32_bits(rounded);
  double back = rounded;
  if (back != value && value == value) {
    if ((back > value) == (value > 0)) {
      bits--;
    }
    bits |= 1;
  }
  return gemel__f32_from_bits(bits);
}

static inline uint16_t gemel__f64_to_f16(double value) {
  return gemel__f32_to_f16(gemel__f64_to_f32_odd(value));
}

static inline uint16_t gemel__f64_to_bf16(double value) {
  return gemel__f32_to_bf16(gemel__f64_to_f32_odd(value));
}

/* COUNT elements, contiguous; source and target don't overlap. DTYPE is GEMEL_F16 or GEMEL_BF16. */
void gemel__half_to_f32(gemel_dtype dtype, size_t count, float *out, const uint16_t *in);
void gemel__half_from_f32(gemel_dtype dtype, size_t count, uint16_t *out, const float *in);

/* "the dtypes are bool i8 …", for messages. */
extern const char gemel__dtype_names[];

/* "; did you mean NAME?" of the dtype that is near to what was written, or short for it as f32 is
 * for float32; or "". Lives in NEAR. */
const char *gemel__dtype_suggestion(const char *written, size_t length, gemel__suggestion *near);

/* Offers all dtypes to NEAR. */
void gemel__dtype_offer(gemel__suggestion *near);

/* The element at DATA as a double (64-bit integers are rounded). */
double gemel__dtype_load(gemel_dtype dtype, const void *data);

/* The numbers of a dtype. Normal ones are ±1.… · 2^e, of DIGITS binary digits with the one before
 * the point, e from LOWEST to HIGHEST; below 2^LOWEST, floats go on with fewer digits. Integers are
 * those with no digit behind the point. */
typedef struct gemel__format {
  int digits, lowest, highest;
  gemel_dtype computed_in; /* what sums, and all other arithmetic on it, are rounded to */
} gemel__format;
const gemel__format *gemel__dtype_format(gemel_dtype dtype);

/* The exponent of the least number above 0 of a float format, of which all are multiples. */
static inline int gemel__format_unit(const gemel__format *format) {
  return format->lowest - format->digits + 1;
}

/* Of a float dtype: the least normal number, the least number above 0, the largest one. */
double gemel__least_normal(gemel_dtype dtype);
double gemel__least_subnormal(gemel_dtype dtype);
double gemel__largest(gemel_dtype dtype);

/* 1 if every value of dtype FROM is one of dtype TO, infinities and NaN included. */
int gemel__exact_cast(gemel_dtype from, gemel_dtype to);

/* Stores VALUE at DATA, rounded to nearest even for floats. GEMEL_BAD_VALUE, with nothing stored,
 * if DTYPE is bool or an integer that can't hold VALUE exactly. */
gemel_status gemel__dtype_store(gemel_dtype dtype, double value, void *data);

#endif
