/* SPDX-License-Identifier: MIT
 *
 * Scalar kernels of the signed integers. Arithmetic wraps: it is done in unsigned types.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <stdint.h>
#include "ops/elementwise.h"
#include "ops/elementwise-integer.h"

/* The remainder by -1 is 0 without dividing: the smallest number by -1 overflows. */
#define DEFINE_MOD(tag, type)                                                                      \
  static inline type tag##_mod(type x, type y) {                                                   \
    type r = y == 0 || y == -1 ? 0 : (type)(x % y);                                                \
    return (type)(r != 0 && (r ^ y) < 0 ? r + y : r);                                              \
  }
#define DEFINE_QUOTIENTS(tag, type)                                                                \
  static inline type tag##_fmod(type x, type y) {                                                  \
    return y == 0 || y == -1 ? 0 : (type)(x % y);                                                  \
  }                                                                                                \
  static inline type tag##_trunc_div(type x, type y) {                                             \
    return y == 0 ? 0 : y == -1 ? (type)(0 - (uint64_t)x) : (type)(x / y);                         \
  }                                                                                                \
  static inline type tag##_floor_div(type x, type y) {                                             \
    type r = tag##_fmod(x, y);                                                                     \
    return (type)(tag##_trunc_div(x, y) - (r != 0 && (r ^ y) < 0));                                \
  }                                                                                                \
  static inline type tag##_shift_right(type x, type y) {                                           \
    return (type)((uint64_t)y < 8 * sizeof(type) ? x >> y : x < 0 ? -1 : 0);                       \
  }
/* A negative exponent leaves 1 / x^n: 0 but for the bases 1 and -1 (and for 0, which has none). */
#define DEFINE_POW(tag, type)                                                                      \
  static inline type tag##_pow(type x, type y) {                                                   \
    if (y < 0) {                                                                                   \
      return (type)(x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0);                                  \
    }                                                                                              \
    return (type)gemel__wrapping_power((uint64_t)x, (uint64_t)y);                                  \
  }
DEFINE_MOD(i8, int8_t)
DEFINE_MOD(i16, int16_t)
DEFINE_MOD(i32, int32_t)
DEFINE_MOD(i64, int64_t)
DEFINE_QUOTIENTS(i8, int8_t)
DEFINE_QUOTIENTS(i16, int16_t)
DEFINE_QUOTIENTS(i32, int32_t)
DEFINE_QUOTIENTS(i64, int64_t)
DEFINE_POW(i8, int8_t)
DEFINE_POW(i16, int16_t)
DEFINE_POW(i32, int32_t)
DEFINE_POW(i64, int64_t)

#define FINISH(value) (T)(value)
#define HAVE_LOGIC(...)
#define HAVE_SELECT(...)
#define LIST_LOGIC(name)
#define LIST_SELECT(name)

#define ISA base
#define T int8_t
#define TAG i8
#define U uint32_t
#include "ops/elementwise-loops.h"
#define T int16_t
#define TAG i16
#include "ops/elementwise-loops.h"
#define T int32_t
#define TAG i32
#include "ops/elementwise-loops.h"
#undef U
#define U uint64_t
#define T int64_t
#define TAG i64
#include "ops/elementwise-loops.h"
#undef U
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define T int8_t
#define TAG i8
#define U uint32_t
#include "ops/elementwise-loops.h"
#define T int16_t
#define TAG i16
#include "ops/elementwise-loops.h"
#define T int32_t
#define TAG i32
#include "ops/elementwise-loops.h"
#undef U
#define U uint64_t
#define T int64_t
#define TAG i64
#include "ops/elementwise-loops.h"
#undef U
#undef ISA
GEMEL__END_VARIANT
#else
#define table_i8_avx2 table_i8_base
#define table_i16_avx2 table_i16_base
#define table_i32_avx2 table_i32_base
#define table_i64_avx2 table_i64_base
#endif

const gemel__scalar_kernel *gemel__signed_kernels(gemel_dtype dtype, gemel__isa isa) {
  static const gemel__scalar_kernel *const tables[2][4] = {
      {table_i8_base, table_i16_base, table_i32_base, table_i64_base},
      {table_i8_avx2, table_i16_avx2, table_i32_avx2, table_i64_avx2},
  };
  return tables[isa != GEMEL__ISA_BASE][dtype - GEMEL_I8];
}
