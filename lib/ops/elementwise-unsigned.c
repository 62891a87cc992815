/* SPDX-License-Identifier: MIT
 *
 * Scalar kernels of bool and the unsigned integers, and of `where`, which moves words of 1, 2, 4 or
 * 8 bytes whatever they mean. bool is computed in integers, and what differs from 0 becomes 1.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <stdint.h>
#include "ops/elementwise.h"
#include "ops/elementwise-integer.h"

#define DEFINE_FUNCTIONS(tag, type)                                                                \
  static inline type tag##_mod(type x, type y) {                                                   \
    return (type)(y == 0 ? 0 : x % y);                                                             \
  }                                                                                                \
  static inline type tag##_fmod(type x, type y) {                                                  \
    return (type)(y == 0 ? 0 : x % y);                                                             \
  }                                                                                                \
  static inline type tag##_trunc_div(type x, type y) {                                             \
    return (type)(y == 0 ? 0 : x / y);                                                             \
  }                                                                                                \
  static inline type tag##_floor_div(type x, type y) {                                             \
    return (type)(y == 0 ? 0 : x / y);                                                             \
  }                                                                                                \
  static inline type tag##_shift_right(type x, type y) {                                           \
    return (type)(y < 8 * sizeof(type) ? x >> y : 0);                                              \
  }                                                                                                \
  static inline type tag##_pow(type x, type y) {                                                   \
    return (type)gemel__wrapping_power(x, y);                                                      \
  }
DEFINE_FUNCTIONS(u8, uint8_t)
DEFINE_FUNCTIONS(u16, uint16_t)
DEFINE_FUNCTIONS(u32, uint32_t)
DEFINE_FUNCTIONS(u64, uint64_t)

#define HAVE_LOGIC TRUTH
#define HAVE_SELECT(...)
#define LIST_LOGIC LISTED
#define LIST_SELECT(name)
#undef HAVE_NUMBER
#undef LIST_NUMBER
#undef HAVE_INTEGER
#undef LIST_INTEGER
#define HAVE_NUMBER(...)
#define LIST_NUMBER(name)
#define HAVE_INTEGER(...)
#define LIST_INTEGER(name)
#define FINISH(value) ((value) != 0)
#define T uint8_t
#define U uint32_t
#define TAG bool
#define ISA base
#include "ops/elementwise-loops.h"
#undef ISA
#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define T uint8_t
#define TAG bool
#include "ops/elementwise-loops.h"
#undef ISA
GEMEL__END_VARIANT
#endif

#undef HAVE_LOGIC
#undef HAVE_SELECT
#undef LIST_LOGIC
#undef LIST_SELECT
#undef HAVE_NUMBER
#undef LIST_NUMBER
#undef HAVE_INTEGER
#undef LIST_INTEGER
#undef FINISH
#undef U
#define HAVE_LOGIC(...)
#define HAVE_SELECT MASKED
#define HAVE_NUMBER SAME
#define HAVE_INTEGER SAME
#define LIST_LOGIC(name)
#define LIST_SELECT LISTED
#define LIST_NUMBER LISTED
#define LIST_INTEGER LISTED
#define FINISH(value) (T)(value)

#define ISA base
#define T uint8_t
#define TAG u8
#define U uint32_t
#include "ops/elementwise-loops.h"
#define T uint16_t
#define TAG u16
#include "ops/elementwise-loops.h"
#define T uint32_t
#define TAG u32
#include "ops/elementwise-loops.h"
#undef U
#define U uint64_t
#define T uint64_t
#define TAG u64
#include "ops/elementwise-loops.h"
#undef U
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define T uint8_t
#define TAG u8
#define U uint32_t
#include "ops/elementwise-loops.h"
#define T uint16_t
#define TAG u16
#include "ops/elementwise-loops.h"
#define T uint32_t
#define TAG u32
#include "ops/elementwise-loops.h"
#undef U
#define U uint64_t
#define T uint64_t
#define TAG u64
#include "ops/elementwise-loops.h"
#undef U
#undef ISA
GEMEL__END_VARIANT
#else
#define table_bool_avx2 table_bool_base
#define table_u8_avx2 table_u8_base
#define table_u16_avx2 table_u16_base
#define table_u32_avx2 table_u32_base
#define table_u64_avx2 table_u64_base
#endif

const gemel__scalar_kernel *gemel__unsigned_kernels(gemel_dtype dtype, gemel__isa isa) {
  static const gemel__scalar_kernel *const tables[2][5] = {
      {table_bool_base, table_u8_base, table_u16_base, table_u32_base, table_u64_base},
      {table_bool_avx2, table_u8_avx2, table_u16_avx2, table_u32_avx2, table_u64_avx2},
  };
  return tables[isa != GEMEL__ISA_BASE][dtype == GEMEL_BOOL ? 0 : 1 + dtype - GEMEL_U8];
}
