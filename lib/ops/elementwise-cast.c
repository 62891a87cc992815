/* SPDX-License-Identifier: MIT
 *
 * Casts between all pairs of dtypes. Float to float rounds to nearest even, once; float to integer
 * truncates and saturates, and NaN gives 0; integer to integer wraps; integer to float rounds once;
 * to bool is "differs from 0". The pairs are expanded from the table of dtypes: a row of functions
 * for each source.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <stdint.h>
#include "core/dtype.h"
#include "ops/elementwise.h"

typedef struct f16_t {
  uint16_t bits;
} f16_t;
typedef struct bf16_t {
  uint16_t bits;
} bf16_t;

/* ---- What a source is widened to: an integer of 64 bits, an f32 or an f64 ---- */

#define LOAD_BOOL(x) ((int64_t)((x) != 0))
#define LOAD_I8(x) (x)
#define LOAD_I16(x) (x)
#define LOAD_I32(x) (x)
#define LOAD_I64(x) (x)
#define LOAD_U8(x) (x)
#define LOAD_U16(x) (x)
#define LOAD_U32(x) (x)
#define LOAD_U64(x) (x)
#define LOAD_F16(x) gemel__f16_to_f32(x)
#define LOAD_BF16(x) gemel__bf16_to_f32(x)
#define LOAD_F32(x) (x)
#define LOAD_F64(x) (x)

/* ---- Rounding ---- */

/* |X| < 2^64 as a double whose last bit says whether anything below it was lost (rounded to odd):
 * enough for one more, correct rounding to a half type. */
static inline double odd_from_u64(uint64_t x) {
  uint64_t lost = (x & 0x7ff) != 0;
  return x >> 53 == 0 ? (double)(int64_t)x : (double)(int64_t)(x >> 11 | lost) * 0x1p11;
}

static inline double odd_from_i64(int64_t x) {
  double size = odd_from_u64(x < 0 ? -(uint64_t)x : (uint64_t)x);
  return x < 0 ? -size : size;
}

/* Truncates VALUE to the integers [LOW, 2^BITS); LIMIT is 2^BITS, exact in both float types. */
#define SATURATE(type, value, low, limit, high)                                                    \
  ((value) >= (limit)   ? (type)(high)                                                             \
   : (value) > (low)    ? (type)(value)                                                            \
   : (value) == (value) ? (type)(low)                                                              \
                        : (type)0)

/* ---- Stores: INT, WIDE (u64) and FLOAT sources ---- */

#define FROM_INTEGER_BOOL(x) ((x) != 0)
#define FROM_INTEGER_I8(x) (int8_t)(x)
#define FROM_INTEGER_I16(x) (int16_t)(x)
#define FROM_INTEGER_I32(x) (int32_t)(x)
#define FROM_INTEGER_I64(x) (int64_t)(x)
#define FROM_INTEGER_U8(x) (uint8_t)(x)
#define FROM_INTEGER_U16(x) (uint16_t)(x)
#define FROM_INTEGER_U32(x) (uint32_t)(x)
#define FROM_INTEGER_U64(x) (uint64_t)(x)
#define FROM_INTEGER_F16(x) gemel__f64_to_f16((double)(x))
#define FROM_INTEGER_BF16(x)                                                                       \
  gemel__f64_to_bf16((x) > 0 ? odd_from_u64((uint64_t)(x)) : odd_from_i64((int64_t)(x)))
#define FROM_INTEGER_F32(x) (float)(x)
#define FROM_INTEGER_F64(x) (double)(x)

#define FROM_FLOAT_BOOL(x) ((x) != 0)
#define FROM_FLOAT_I8(x) SATURATE(int8_t, x, INT8_MIN, 128, INT8_MAX)
#define FROM_FLOAT_I16(x) SATURATE(int16_t, x, INT16_MIN, 32768, INT16_MAX)
#define FROM_FLOAT_I32(x) SATURATE(int32_t, x, -0x1p31f, 0x1p31f, INT32_MAX)
#define FROM_FLOAT_I64(x) SATURATE(int64_t, x, -0x1p63f, 0x1p63f, INT64_MAX)
#define FROM_FLOAT_U8(x) SATURATE(uint8_t, x, 0, 256, UINT8_MAX)
#define FROM_FLOAT_U16(x) SATURATE(uint16_t, x, 0, 65536, UINT16_MAX)
#define FROM_FLOAT_U32(x) SATURATE(uint32_t, x, 0, 0x1p32f, UINT32_MAX)
#define FROM_FLOAT_U64(x) SATURATE(uint64_t, x, 0, 0x1p64f, UINT64_MAX)
#define FROM_FLOAT_F16(x) gemel__f64_to_f16(x)
#define FROM_FLOAT_BF16(x) gemel__f64_to_bf16(x)
#define FROM_FLOAT_F32(x) (float)(x)
#define FROM_FLOAT_F64(x) (double)(x)

#define FROM_SINGLE_BOOL(x) FROM_FLOAT_BOOL(x)
#define FROM_SINGLE_I8(x) FROM_FLOAT_I8(x)
#define FROM_SINGLE_I16(x) FROM_FLOAT_I16(x)
#define FROM_SINGLE_I32(x) FROM_FLOAT_I32(x)
#define FROM_SINGLE_I64(x) FROM_FLOAT_I64(x)
#define FROM_SINGLE_U8(x) FROM_FLOAT_U8(x)
#define FROM_SINGLE_U16(x) FROM_FLOAT_U16(x)
#define FROM_SINGLE_U32(x) FROM_FLOAT_U32(x)
#define FROM_SINGLE_U64(x) FROM_FLOAT_U64(x)
#define FROM_SINGLE_F16(x) gemel__f32_to_f16(x)
#define FROM_SINGLE_BF16(x) gemel__f32_to_bf16(x)
#define FROM_SINGLE_F32(x) (x)
#define FROM_SINGLE_F64(x) (double)(x)

/* ---- The pairs ---- */

#define CAST(FROM, TO, source, target, way)                                                        \
  static void GEMEL__PASTE3(cast_##FROM, TO, ISA)(size_t n, void *out, const void *const *in) {    \
    target *const r = out;                                                                         \
    const source *const p = in[0];                                                                 \
    GEMEL__INDEPENDENT                                                                             \
    for (size_t k = 0; k < n; k++) {                                                               \
      const __typeof__(LOAD_##FROM(p[k])) x = LOAD_##FROM(p[k]);                                   \
      r[k] = (target)(way##_##TO(x));                                                              \
    }                                                                                              \
  }

#define ROW_BOOL(TO, name, bytes, kind, target) CAST(BOOL, TO, uint8_t, target, FROM_INTEGER)
#define ROW_I8(TO, name, bytes, kind, target) CAST(I8, TO, int8_t, target, FROM_INTEGER)
#define ROW_I16(TO, name, bytes, kind, target) CAST(I16, TO, int16_t, target, FROM_INTEGER)
#define ROW_I32(TO, name, bytes, kind, target) CAST(I32, TO, int32_t, target, FROM_INTEGER)
#define ROW_I64(TO, name, bytes, kind, target) CAST(I64, TO, int64_t, target, FROM_INTEGER)
#define ROW_U8(TO, name, bytes, kind, target) CAST(U8, TO, uint8_t, target, FROM_INTEGER)
#define ROW_U16(TO, name, bytes, kind, target) CAST(U16, TO, uint16_t, target, FROM_INTEGER)
#define ROW_U32(TO, name, bytes, kind, target) CAST(U32, TO, uint32_t, target, FROM_INTEGER)
#define ROW_U64(TO, name, bytes, kind, target) CAST(U64, TO, uint64_t, target, FROM_INTEGER)
#define ROW_F16(TO, name, bytes, kind, target) CAST(F16, TO, uint16_t, target, FROM_SINGLE)
#define ROW_BF16(TO, name, bytes, kind, target) CAST(BF16, TO, uint16_t, target, FROM_SINGLE)
#define ROW_F32(TO, name, bytes, kind, target) CAST(F32, TO, float, target, FROM_SINGLE)
#define ROW_F64(TO, name, bytes, kind, target) CAST(F64, TO, double, target, FROM_FLOAT)

#define ALL_ROWS                                                                                   \
  GEMEL_DTYPE_TABLE(ROW_BOOL)                                                                      \
  GEMEL_DTYPE_TABLE(ROW_I8)                                                                        \
  GEMEL_DTYPE_TABLE(ROW_I16)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_I32)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_I64)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_U8)                                                                        \
  GEMEL_DTYPE_TABLE(ROW_U16)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_U32)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_U64)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_F16)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_BF16)                                                                      \
  GEMEL_DTYPE_TABLE(ROW_F32)                                                                       \
  GEMEL_DTYPE_TABLE(ROW_F64)

#define ENTRY_BOOL(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_BOOL, TO, ISA),
#define ENTRY_I8(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_I8, TO, ISA),
#define ENTRY_I16(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_I16, TO, ISA),
#define ENTRY_I32(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_I32, TO, ISA),
#define ENTRY_I64(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_I64, TO, ISA),
#define ENTRY_U8(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_U8, TO, ISA),
#define ENTRY_U16(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_U16, TO, ISA),
#define ENTRY_U32(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_U32, TO, ISA),
#define ENTRY_U64(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_U64, TO, ISA),
#define ENTRY_F16(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_F16, TO, ISA),
#define ENTRY_BF16(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_BF16, TO, ISA),
#define ENTRY_F32(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_F32, TO, ISA),
#define ENTRY_F64(TO, name, bytes, kind, target) GEMEL__PASTE3(cast_F64, TO, ISA),

#define ALL_ENTRIES                                                                                \
  {                                                                                                \
    {GEMEL_DTYPE_TABLE(ENTRY_BOOL)}, {GEMEL_DTYPE_TABLE(ENTRY_I8)},                                \
        {GEMEL_DTYPE_TABLE(ENTRY_I16)}, {GEMEL_DTYPE_TABLE(ENTRY_I32)},                            \
        {GEMEL_DTYPE_TABLE(ENTRY_I64)}, {GEMEL_DTYPE_TABLE(ENTRY_U8)},                             \
        {GEMEL_DTYPE_TABLE(ENTRY_U16)}, {GEMEL_DTYPE_TABLE(ENTRY_U32)},                            \
        {GEMEL_DTYPE_TABLE(ENTRY_U64)}, {GEMEL_DTYPE_TABLE(ENTRY_F16)},                            \
        {GEMEL_DTYPE_TABLE(ENTRY_BF16)}, {GEMEL_DTYPE_TABLE(ENTRY_F32)}, {                         \
      GEMEL_DTYPE_TABLE(ENTRY_F64)                                                                 \
    }                                                                                              \
  }

typedef gemel__scalar_kernel cast_table[GEMEL_DTYPE_COUNT][GEMEL_DTYPE_COUNT];

#define ISA base
ALL_ROWS
static const cast_table casts_base = ALL_ENTRIES;
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
ALL_ROWS
static const cast_table casts_avx2 = ALL_ENTRIES;
#undef ISA
GEMEL__END_VARIANT
#else
#define casts_avx2 casts_base
#endif

/* ---- Halves to and from f32 have instructions of their own ---- */

#define BULK(half, HALF)                                                                           \
  static void half##_to_f32(size_t n, void *out, const void *const *in) {                          \
    gemel__half_to_f32(HALF, n, out, in[0]);                                                       \
  }                                                                                                \
  static void f32_to_##half(size_t n, void *out, const void *const *in) {                          \
    gemel__half_from_f32(HALF, n, out, in[0]);                                                     \
  }
BULK(f16, GEMEL_F16)
BULK(bf16, GEMEL_BF16)

gemel__scalar_kernel gemel__cast_kernel(gemel_dtype from, gemel_dtype to, gemel__isa isa) {
  if (to == GEMEL_F32 && (from == GEMEL_F16 || from == GEMEL_BF16)) {
    return from == GEMEL_F16 ? f16_to_f32 : bf16_to_f32;
  }
  if (from == GEMEL_F32 && (to == GEMEL_F16 || to == GEMEL_BF16)) {
    return to == GEMEL_F16 ? f32_to_f16 : f32_to_bf16;
  }
  return isa == GEMEL__ISA_BASE ? casts_base[from][to] : casts_avx2[from][to];
}
