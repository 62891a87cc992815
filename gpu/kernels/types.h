/* SPDX-License-Identifier: MIT
 *
 * Elements in device code. Each dtype, by its name in gemel's text, has the type that lies in
 * memory (stored_f16) and the type that is calculated with (value_f16): they are the same but for
 * the two half types, whose values are float, always rounded to what the half type holds. load_f16
 * and store_f16 go from one to the other; cast_f16 takes any value and does what gemel's cast does.
 */
#ifndef GEMEL__KERNELS_TYPES_H
#define GEMEL__KERNELS_TYPES_H

#include "kernels/kernel.h"

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif

#define DEVICE static __device__ __forceinline__

/* ---- Bits ---- */

DEVICE uint32_t bits_of(float x) {
  return __float_as_uint(x);
}

DEVICE uint64_t bits_of(double x) {
  return (uint64_t)__double_as_longlong(x);
}

DEVICE float float_of(uint32_t bits) {
  return __uint_as_float(bits);
}

/* ---- Half types ---- */

/* An f16 has 1 sign, 5 exponent and 10 fraction bits. Subnormals are multiples of 2^-24. */
DEVICE float widen_f16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = (half >> 10) & 31;
  uint32_t fraction = half & 0x3ff;
  float size = exponent == 0    ? (float)fraction * 0x1p-24f
               : exponent == 31 ? float_of(0x7f800000 | fraction << 13)
                                : float_of((exponent + 112) << 23 | fraction << 13);
  return float_of(bits_of(size) | sign);
}

DEVICE float widen_bf16(uint16_t half) {
  return float_of((uint32_t)half << 16);
}

/* SIZE, finite and not negative, rounded to FRACTION bits behind the first, ties to even; below
 * LEAST, the smallest normal number, to a multiple of its last place. Adding and taking away a
 * power of two that has its last place where the result's is does the rounding. */
DEVICE double rounded_to(double size, int fraction, double least) {
  uint64_t exponent = bits_of(size < least ? least : size) >> 52;
  uint64_t magic_bits = (exponent + 52 - (uint64_t)fraction) << 52;
  double magic = __longlong_as_double((long long)magic_bits);
  return (size + magic) - magic;
}

DEVICE float round_f16(double x) {
  double size = fabs(x), near = rounded_to(size < 0x1p20 ? size : 0x1p20, 10, 0x1p-14);
  double all = x != x ? x : near > 65504.0 ? (double)INFINITY : near;
  return (float)copysign(all, x);
}

DEVICE float round_bf16(double x) {
  double size = fabs(x), near = rounded_to(size < 0x1p200 ? size : 0x1p200, 7, 0x1p-126);
  double all = x != x ? x : near > 0x1.fep127 ? (double)INFINITY : near;
  return (float)copysign(all, x);
}

/* The same of a float, by arithmetic of f32: of bf16 by adding to its bits, of f16 as above. */
DEVICE float round_f16(float x) {
  const uint32_t most = 143u << 23, least = 113u << 23; /* 2^16, 2^-14 */
  uint32_t size_bits = bits_of(x) & 0x7fffffff;
  float size = float_of(size_bits < most ? size_bits : most);
  float magic = float_of(((size_bits < least ? least : bits_of(size)) & 0x7f800000) + (13u << 23));
  float near = (size + magic) - magic;
  float all = x != x ? x : near > 65504.0f ? INFINITY : near;
  return copysignf(all, x);
}

DEVICE float round_bf16(float x) {
  uint32_t bits = bits_of(x);
  return x != x ? x : float_of((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

/* The bits of a float that the half type holds. */
DEVICE uint16_t narrow_f16(float x) {
  uint32_t sign = bits_of(x) >> 16 & 0x8000, size = bits_of(x) & 0x7fffffff;
  uint32_t half = size > 0x7f800000    ? 0x7e00
                  : size == 0x7f800000 ? 0x7c00
                  : size < 113u << 23  ? (uint32_t)(float_of(size) * 0x1p24f)
                                       : (size >> 13) - (112u << 10);
  return (uint16_t)(sign | half);
}

DEVICE uint16_t narrow_bf16(float x) {
  uint32_t bits = bits_of(x);
  return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : bits >> 16);
}

/* For tables: a result is rounded by a function of its dtype, or stays as it is. */
#define SAME(x) (x)

/* A sum and one more product: of bools, of integers as words of 64 bits, of floats. */
#define OR_OF_ANDS(sum, u, v) (uint8_t)(sum | (u & v))
#define WRAPPING(sum, u, v) (sum + (uint64_t)u * (uint64_t)v)
#define ROUNDED(sum, u, v) (sum + u * v)

/* ---- Dtypes ---- */

/* X(name, stored, value) */
#define INTEGER_TYPES(X)                                                                           \
  X(i8, int8_t, int8_t)                                                                            \
  X(i16, int16_t, int16_t)                                                                         \
  X(i32, int32_t, int32_t)                                                                         \
  X(i64, int64_t, int64_t)                                                                         \
  X(u8, uint8_t, uint8_t)                                                                          \
  X(u16, uint16_t, uint16_t)                                                                       \
  X(u32, uint32_t, uint32_t)                                                                       \
  X(u64, uint64_t, uint64_t)
#define NUMBER_TYPES(X)                                                                            \
  INTEGER_TYPES(X)                                                                                 \
  X(f16, uint16_t, float)                                                                          \
  X(bf16, uint16_t, float)                                                                         \
  X(f32, float, float)                                                                             \
  X(f64, double, double)
#define ALL_TYPES(X)                                                                               \
  X(bool, uint8_t, uint8_t)                                                                        \
  NUMBER_TYPES(X)

#define TYPES_OF(name, stored, value)                                                              \
  typedef stored stored_##name;                                                                    \
  typedef value value_##name;
ALL_TYPES(TYPES_OF)
#undef TYPES_OF

#define LOAD_AND_STORE(name, stored, value)                                                        \
  DEVICE value load_##name(const void *at) {                                                       \
    return *(const stored *)at;                                                                    \
  }                                                                                                \
  DEVICE void store_##name(void *at, value x) {                                                    \
    *(stored *)at = x;                                                                             \
  }
LOAD_AND_STORE(bool, uint8_t, uint8_t)
INTEGER_TYPES(LOAD_AND_STORE)
LOAD_AND_STORE(f32, float, float)
LOAD_AND_STORE(f64, double, double)
#undef LOAD_AND_STORE

#define LOAD_AND_STORE_HALF(name)                                                                  \
  DEVICE float load_##name(const void *at) {                                                       \
    return widen_##name(*(const uint16_t *)at);                                                    \
  }                                                                                                \
  DEVICE void store_##name(void *at, float x) {                                                    \
    *(uint16_t *)at = narrow_##name(x);                                                            \
  }
LOAD_AND_STORE_HALF(f16)
LOAD_AND_STORE_HALF(bf16)
#undef LOAD_AND_STORE_HALF

/* The same of any float, which is rounded. */
DEVICE void store_rounded_f16(void *at, float x) {
  store_f16(at, round_f16(x));
}
DEVICE void store_rounded_bf16(void *at, float x) {
  uint32_t bits = bits_of(x), even = bits >> 16 & 1;
  *(uint16_t *)at = x != x ? narrow_bf16(x) : (uint16_t)((bits + 0x7fff + even) >> 16);
}

/* ---- Casts ---- */

/* |x| < 2^64 as a double whose last bit says whether anything below it was lost: enough for one
 * more, correct rounding to a half type. */
DEVICE double odd_double(uint64_t x) {
  uint64_t lost = (x & 0x7ff) != 0;
  return x >> 53 == 0 ? (double)(int64_t)x : (double)(int64_t)(x >> 11 | lost) * 0x1p11;
}

DEVICE double odd_double(int64_t x) {
  double size = odd_double(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
  return x < 0 ? -size : size;
}

/* A value widened to one of four types, from which everything else is reached by one rounding. */
#define WIDEN(from, to)                                                                            \
  DEVICE to wide(from x) {                                                                         \
    return (to)x;                                                                                  \
  }
WIDEN(int8_t, int64_t)
WIDEN(int16_t, int64_t)
WIDEN(int32_t, int64_t)
WIDEN(int64_t, int64_t)
WIDEN(uint8_t, uint64_t)
WIDEN(uint16_t, uint64_t)
WIDEN(uint32_t, uint64_t)
WIDEN(uint64_t, uint64_t)
WIDEN(float, float)
WIDEN(double, double)
#undef WIDEN

/* To an integer: wraps from integers; truncates and saturates from floats, of which NaN is 0. */
#define CAST_TO_INTEGER(name, low, limit, high)                                                    \
  DEVICE value_##name integer_##name(int64_t x) {                                                  \
    return (value_##name)x;                                                                        \
  }                                                                                                \
  DEVICE value_##name integer_##name(uint64_t x) {                                                 \
    return (value_##name)x;                                                                        \
  }                                                                                                \
  DEVICE value_##name integer_##name(double x) {                                                   \
    return x >= limit ? value_##name(high)                                                         \
           : x > low  ? (value_##name)x                                                            \
           : x == x   ? (value_##name)(low)                                                        \
                      : (value_##name)0;                                                             \
  }                                                                                                \
  template <class T> DEVICE value_##name cast_##name(T x) {                                        \
    return integer_##name(wide(x));                                                                \
  }
CAST_TO_INTEGER(i8, -128.0, 128.0, 127)
CAST_TO_INTEGER(i16, -32768.0, 32768.0, 32767)
CAST_TO_INTEGER(i32, -0x1p31, 0x1p31, 0x7fffffff)
CAST_TO_INTEGER(i64, -0x1p63, 0x1p63, 0x7fffffffffffffff)
CAST_TO_INTEGER(u8, 0.0, 256.0, 0xff)
CAST_TO_INTEGER(u16, 0.0, 65536.0, 0xffff)
CAST_TO_INTEGER(u32, 0.0, 0x1p32, 0xffffffff)
CAST_TO_INTEGER(u64, 0.0, 0x1p64, 0xffffffffffffffff)
#undef CAST_TO_INTEGER

DEVICE double exact(int64_t x) {
  return odd_double(x);
}
DEVICE double exact(uint64_t x) {
  return odd_double(x);
}
DEVICE double exact(double x) {
  return x;
}
DEVICE float exact(float x) {
  return x;
}
template <class T> DEVICE float cast_f16(T x) {
  return round_f16(exact(wide(x)));
}
template <class T> DEVICE float cast_bf16(T x) {
  return round_bf16(exact(wide(x)));
}
template <class T> DEVICE float cast_f32(T x) {
  return (float)x;
}
template <class T> DEVICE double cast_f64(T x) {
  return (double)x;
}
template <class T> DEVICE uint8_t cast_bool(T x) {
  return x != 0;
}

#endif
