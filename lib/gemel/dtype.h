/* SPDX-License-Identifier: MIT
 *
 * Element types. One table names them; everything else about them is derived from it. All functions
 * may be called on several threads at once.
 */
#ifndef GEMEL_DTYPE_H
#define GEMEL_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(enum, text name, bytes, kind, C storage type). f16 is IEEE binary16, bf16 the upper half of an
 * f32; both are stored as their bits in a uint16_t and computed in f32. A bool is one byte, 0 or 1.
 */
#define GEMEL_DTYPE_TABLE(X)                                                                       \
  X(BOOL, bool, 1, GEMEL_KIND_BOOL, uint8_t)                                                       \
  X(I8, i8, 1, GEMEL_KIND_SIGNED, int8_t)                                                          \
  X(I16, i16, 2, GEMEL_KIND_SIGNED, int16_t)                                                       \
  X(I32, i32, 4, GEMEL_KIND_SIGNED, int32_t)                                                       \
  X(I64, i64, 8, GEMEL_KIND_SIGNED, int64_t)                                                       \
  X(U8, u8, 1, GEMEL_KIND_UNSIGNED, uint8_t)                                                       \
  X(U16, u16, 2, GEMEL_KIND_UNSIGNED, uint16_t)                                                    \
  X(U32, u32, 4, GEMEL_KIND_UNSIGNED, uint32_t)                                                    \
  X(U64, u64, 8, GEMEL_KIND_UNSIGNED, uint64_t)                                                    \
  X(F16, f16, 2, GEMEL_KIND_FLOAT, uint16_t)                                                       \
  X(BF16, bf16, 2, GEMEL_KIND_FLOAT, uint16_t)                                                     \
  X(F32, f32, 4, GEMEL_KIND_FLOAT, float)                                                          \
  X(F64, f64, 8, GEMEL_KIND_FLOAT, double)

typedef enum gemel_dtype {
#define GEMEL_DTYPE_ENUM(E, name, bytes, kind, ctype) GEMEL_##E,
  GEMEL_DTYPE_TABLE(GEMEL_DTYPE_ENUM)
#undef GEMEL_DTYPE_ENUM
      GEMEL_DTYPE_COUNT
} gemel_dtype;

typedef enum gemel_kind {
  GEMEL_KIND_BOOL,
  GEMEL_KIND_SIGNED,
  GEMEL_KIND_UNSIGNED,
  GEMEL_KIND_FLOAT
} gemel_kind;

/* Name as in text ("f32"), "?" for a value outside the enum, never NULL. Static storage;
 * thread-safe. */
const char *gemel_dtype_name(gemel_dtype dtype);

/* Bytes of one element; 0 for a value outside the enum. Thread-safe. */
size_t gemel_dtype_size(gemel_dtype dtype);

/* Kind of number; GEMEL_KIND_BOOL for a value outside the enum. Thread-safe. */
gemel_kind gemel_dtype_kind(gemel_dtype dtype);

/* Finds the dtype with this name. GEMEL_NOT_FOUND if there is none; *DTYPE is then untouched.
 * Thread-safe. */
gemel_status gemel_dtype_find(const char *name, gemel_dtype *dtype);

/* The smallest dtype that holds both, by NumPy's table (i32 with f32 gives f64, u64 with i64 gives
 * f64; bf16 with f16 gives f32, bf16 otherwise behaves as f16 does). GEMEL_DTYPE_COUNT if one is
 * outside the enum. Thread-safe.
 * Source: numpy.promote_types; compared with NumPy 2.4.6. */
gemel_dtype gemel_promote(gemel_dtype a, gemel_dtype b);

#ifdef __cplusplus
}
#endif
#endif
