/* SPDX-License-Identifier: MIT
 *
 * The rows of lib/ops/scalar.def as device functions: add_f32(x, y, z) and so on, of values (see
 * types.h). Half types have those of f32, whose results their callers round. The expressions and
 * the functions in them are the very ones that the host computes, so that a GPU gives the same
 * bits; only those of rows with the flag LIBRARY are CUDA's.
 */
#ifndef GEMEL__KERNELS_SCALAR_H
#define GEMEL__KERNELS_SCALAR_H

#include "kernels/types.h"

#define GEMEL__FUNCTION DEVICE
#define GEMEL__CONSTANT __constant__ const
#define GEMEL__PASTE2(a, b) GEMEL__PASTE2_(a, b)
#define GEMEL__PASTE2_(a, b) a##_##b
#ifndef isunordered
#define isunordered(x, y) ((x) != (x) || (y) != (y))
#endif
#include "ops/elementwise-math.h"

/* ---- Functions of integers ---- */

/* X^Y modulo 2^64, and so modulo any shorter word. */
DEVICE uint64_t wrapping_power(uint64_t x, uint64_t y) {
  uint64_t r = 1;
  for (; y != 0; y >>= 1) {
    r = y & 1 ? r * x : r;
    x *= x;
  }
  return r;
}

/* The remainder by -1 is 0 without dividing: the smallest number by -1 overflows. A negative
 * exponent leaves 0 but for the bases 1 and -1. */
#define SIGNED_FUNCTIONS(name)                                                                     \
  DEVICE value_##name name##_mod(value_##name x, value_##name y) {                                 \
    value_##name r = y == 0 || y == -1 ? 0 : (value_##name)(x % y);                                \
    return (value_##name)(r != 0 && (r ^ y) < 0 ? r + y : r);                                      \
  }                                                                                                \
  DEVICE value_##name name##_fmod(value_##name x, value_##name y) {                                \
    return y == 0 || y == -1 ? 0 : (value_##name)(x % y);                                          \
  }                                                                                                \
  DEVICE value_##name name##_trunc_div(value_##name x, value_##name y) {                           \
    return y == 0 ? 0 : y == -1 ? (value_##name)(0 - (uint64_t)x) : (value_##name)(x / y);         \
  }                                                                                                \
  DEVICE value_##name name##_floor_div(value_##name x, value_##name y) {                           \
    value_##name r = name##_fmod(x, y);                                                            \
    return (value_##name)(name##_trunc_div(x, y) - (r != 0 && (r ^ y) < 0));                       \
  }                                                                                                \
  DEVICE value_##name name##_shift_right(value_##name x, value_##name y) {                         \
    return (value_##name)((uint64_t)y < 8 * sizeof x ? x >> y : x < 0 ? -1 : 0);                   \
  }                                                                                                \
  DEVICE value_##name name##_pow(value_##name x, value_##name y) {                                 \
    return y < 0 ? (value_##name)(x == 1    ? 1                                                    \
                                  : x == -1 ? (y & 1 ? -1 : 1)                                     \
                                            : 0)                                                   \
                 : (value_##name)wrapping_power((uint64_t)x, (uint64_t)y);                         \
  }
#define UNSIGNED_FUNCTIONS(name)                                                                   \
  DEVICE value_##name name##_mod(value_##name x, value_##name y) {                                 \
    return (value_##name)(y == 0 ? 0 : x % y);                                                     \
  }                                                                                                \
  DEVICE value_##name name##_fmod(value_##name x, value_##name y) {                                \
    return (value_##name)(y == 0 ? 0 : x % y);                                                     \
  }                                                                                                \
  DEVICE value_##name name##_trunc_div(value_##name x, value_##name y) {                           \
    return (value_##name)(y == 0 ? 0 : x / y);                                                     \
  }                                                                                                \
  DEVICE value_##name name##_floor_div(value_##name x, value_##name y) {                           \
    return (value_##name)(y == 0 ? 0 : x / y);                                                     \
  }                                                                                                \
  DEVICE value_##name name##_shift_right(value_##name x, value_##name y) {                         \
    return (value_##name)(y < 8 * sizeof x ? x >> y : 0);                                          \
  }                                                                                                \
  DEVICE value_##name name##_pow(value_##name x, value_##name y) {                                 \
    return (value_##name)wrapping_power(x, y);                                                     \
  }
SIGNED_FUNCTIONS(i8)
SIGNED_FUNCTIONS(i16)
SIGNED_FUNCTIONS(i32)
SIGNED_FUNCTIONS(i64)
UNSIGNED_FUNCTIONS(u8)
UNSIGNED_FUNCTIONS(u16)
UNSIGNED_FUNCTIONS(u32)
UNSIGNED_FUNCTIONS(u64)
#undef SIGNED_FUNCTIONS
#undef UNSIGNED_FUNCTIONS

/* ---- The rows ---- */

/* sign compares with 0 from both sides, unsigned numbers too. */
#ifdef __CUDACC__
#pragma nv_diag_suppress 186
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits"
#endif

#define T float
#define TAG f32
#define FLOATS 1
#include "kernels/scalar-rows.h"
#define T double
#define TAG f64
#define FLOATS 1
#include "kernels/scalar-rows.h"
#define T int8_t
#define U uint32_t
#define TAG i8
#include "kernels/scalar-rows.h"
#define T int16_t
#define U uint32_t
#define TAG i16
#include "kernels/scalar-rows.h"
#define T int32_t
#define U uint32_t
#define TAG i32
#include "kernels/scalar-rows.h"
#define T int64_t
#define U uint64_t
#define TAG i64
#include "kernels/scalar-rows.h"
#define T uint8_t
#define U uint32_t
#define TAG u8
#include "kernels/scalar-rows.h"
#define T uint16_t
#define U uint32_t
#define TAG u16
#include "kernels/scalar-rows.h"
#define T uint32_t
#define U uint32_t
#define TAG u32
#include "kernels/scalar-rows.h"
#define T uint64_t
#define U uint64_t
#define TAG u64
#include "kernels/scalar-rows.h"
#define T uint8_t
#define U uint32_t
#define TAG bool
#define BOOLS 1
#include "kernels/scalar-rows.h"

#ifdef __CUDACC__
#pragma nv_diag_default 186
#else
#pragma GCC diagnostic pop
#endif

/* Which dtypes a row has functions for: X(name, …, code, …) tells by its code.
 * FOR_<code>_<kind>(a, b) is a where there are some, else b. */
#define FOR_ARITH_float(a, b) a
#define FOR_ARITH_integer(a, b) a
#define FOR_ARITH_bool(a, b) a
#define FOR_NUMBER_float(a, b) a
#define FOR_NUMBER_integer(a, b) a
#define FOR_NUMBER_bool(a, b) b
#define FOR_INTEGER_float(a, b) b
#define FOR_INTEGER_integer(a, b) a
#define FOR_INTEGER_bool(a, b) b
#define FOR_REAL_float(a, b) a
#define FOR_REAL_integer(a, b) b
#define FOR_REAL_bool(a, b) b
#define FOR_QUOTIENT_float(a, b) a
#define FOR_QUOTIENT_integer(a, b) b
#define FOR_QUOTIENT_bool(a, b) b
#define FOR_COMPARE_float(a, b) a
#define FOR_COMPARE_integer(a, b) a
#define FOR_COMPARE_bool(a, b) a
#define FOR_LOGIC_float(a, b) b
#define FOR_LOGIC_integer(a, b) b
#define FOR_LOGIC_bool(a, b) a
#define FOR_SELECT_float(a, b) b
#define FOR_SELECT_integer(a, b) b
#define FOR_SELECT_bool(a, b) b
#define FOR_CAST_float(a, b) b
#define FOR_CAST_integer(a, b) b
#define FOR_CAST_bool(a, b) b

#endif
