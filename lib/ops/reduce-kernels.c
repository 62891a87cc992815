/* SPDX-License-Identifier: MIT
 *
 * Reductions of contiguous elements, for three instruction sets. Maxima of floats are taken of
 * integer keys in the order of the numbers: -0 just below +0, every NaN above all, so that NaN
 * comes through and the order of comparison doesn't matter.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <stdint.h>
#include <string.h>
#include "ops/reduce.h"

#define SELF(x) (x)
#define WIDEN(x) ((uint64_t)(x))
#define ADD(x, y) ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define LARGER(x, y) ((x) > (y) ? (x) : (y))
#define SMALLER(x, y) ((x) < (y) ? (x) : (y))
#define EQUAL(x, y) ((x) == (y))
/* Where there is a NaN, it is the largest, and equal to nothing. */
#define EQUAL_OR_NAN(x, largest) (((x) == (largest)) | ((x) != (x)))
#define LOW_F32 0xff800000u /* -inf */
#define LOW_F64 0xfff0000000000000u

/* Negative numbers' bits grow downwards: turning all but the sign over makes them grow upwards.
 * Written without a branch, or else compilers make one that vectors can't take. */
static inline int32_t key_of_f32(float x) {
  int32_t bits, nan;
  memcpy(&bits, &x, sizeof bits);
  nan = -(int32_t)((bits & INT32_MAX) > 0x7f800000);
  return ((bits ^ ((bits >> 31) & INT32_MAX)) & ~nan) | (nan & INT32_MAX);
}

static inline float f32_of_key(int32_t key) {
  int32_t bits = key == INT32_MAX ? 0x7fc00000 : key ^ ((key >> 31) & INT32_MAX);
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline int64_t key_of_f64(double x) {
  int64_t bits, nan;
  memcpy(&bits, &x, sizeof bits);
  nan = -(int64_t)((bits & INT64_MAX) > 0x7ff0000000000000);
  return ((bits ^ ((bits >> 63) & INT64_MAX)) & ~nan) | (nan & INT64_MAX);
}

static inline double f64_of_key(int64_t key) {
  int64_t bits = key == INT64_MAX ? 0x7ff8000000000000 : key ^ ((key >> 63) & INT64_MAX);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Zeros are equal where the first of the largest is sought: -0 + 0 is +0. */
static inline int32_t zero_key_of_f32(float x) {
  return key_of_f32(x + 0.0f);
}

static inline int64_t zero_key_of_f64(double x) {
  return key_of_f64(x + 0.0);
}

#define ISA base
#define REGISTER 16
#include "ops/reduce-loops.h"
#undef REGISTER
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define REGISTER 32
#include "ops/reduce-loops.h"
#undef REGISTER
#undef ISA
GEMEL__END_VARIANT
GEMEL__BEGIN_AVX512
#define ISA avx512
#define REGISTER 64
#include "ops/reduce-loops.h"
#undef REGISTER
#undef ISA
GEMEL__END_VARIANT
#else
#define reducers_avx2 reducers_base
#define reducers_avx512 reducers_base
#endif

const gemel__reducer *gemel__reducer_for(gemel__reduction what, gemel_dtype dtype, gemel__isa isa) {
  size_t column = dtype == GEMEL_F64 ? 10 : dtype == GEMEL_F32 ? 9 : (size_t)dtype;
  switch (isa) {
  case GEMEL__ISA_AVX512:
    return &reducers_avx512[what][column];
  case GEMEL__ISA_AVX2:
    return &reducers_avx2[what][column];
  default:
    return &reducers_base[what][column];
  }
}
