/* SPDX-License-Identifier: MIT
 *
 * The loops of all reducers for one instruction set, ISA, with registers of REGISTER bytes; leaves
 * the table reducers_ISA. Sums and products of floats keep 256 bytes of lanes whatever the
 * registers' width, so every instruction set adds in the same order; integers and maxima may be
 * taken in any order, which the compiler is free to choose. No include guard: this file is included
 * once an instruction set.
 */
#define NAME(what, tag) GEMEL__PASTE3(what, tag, ISA)

/* ROWS, four at a time, then one at a time. */
#define DEFINE_ROWS(tag, T, A, JOIN, VALUE)                                                        \
  static void NAME(rows, tag)(size_t rows, int64_t stride, size_t n, const void *data,             \
                              void *acc) {                                                         \
    A *restrict const a = acc;                                                                     \
    const char *from = data;                                                                       \
    size_t k;                                                                                      \
    for (; rows >= 4; rows -= 4, from += 4 * stride) {                                             \
      const T *restrict const p = (const T *)from;                                                 \
      const T *restrict const q = (const T *)(from + stride);                                      \
      const T *restrict const r = (const T *)(from + 2 * stride);                                  \
      const T *restrict const s = (const T *)(from + 3 * stride);                                  \
      for (k = 0; k < n; k++) {                                                                    \
        const A pq = JOIN(VALUE(p[k]), VALUE(q[k])), rs = JOIN(VALUE(r[k]), VALUE(s[k]));          \
        const A all = JOIN(pq, rs);                                                                \
        a[k] = JOIN(a[k], all);                                                                    \
      }                                                                                            \
    }                                                                                              \
    for (; rows > 0; rows--, from += stride) {                                                     \
      const T *restrict const p = (const T *)from;                                                 \
      for (k = 0; k < n; k++) {                                                                    \
        const A value = VALUE(p[k]);                                                               \
        a[k] = JOIN(a[k], value);                                                                  \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static void NAME(merge, tag)(size_t n, void *a, const void *b) {                                 \
    A *restrict const p = a;                                                                       \
    const A *restrict const q = b;                                                                 \
    for (size_t k = 0; k < n; k++) {                                                               \
      p[k] = JOIN(p[k], q[k]);                                                                     \
    }                                                                                              \
  }

#define DEFINE_ENDS(tag, A, R, IDENTITY, RESULT)                                                   \
  static void NAME(init, tag)(size_t n, void *acc) {                                               \
    A *const a = acc;                                                                              \
    for (size_t k = 0; k < n; k++) {                                                               \
      a[k] = IDENTITY;                                                                             \
    }                                                                                              \
  }                                                                                                \
  static void NAME(finish, tag)(size_t n, const void *acc, void *out) {                            \
    const A *const a = acc;                                                                        \
    R *const r = out;                                                                              \
    for (size_t k = 0; k < n; k++) {                                                               \
      r[k] = (R)RESULT(a[k]);                                                                      \
    }                                                                                              \
  }

/* How far ahead memory is asked for, in bytes: several pages, since processors' own prefetching
 * ends at each page (a tenth to a fifth faster than without, for arrays that no cache holds). */
#undef AHEAD
#define AHEAD 16384

/* Few elements one after the other; more of them in 64 (f32) or 32 (f64) lanes, the last ones
 * padded with identities, and the lanes joined until one is left. */
#define DEFINE_LANES(tag, T, V, IDENTITY, JOIN)                                                    \
  static void NAME(block, tag)(size_t n, const void *data, void *acc) {                            \
    enum { LANES = 256 / sizeof(T), VECTORS = 256 / sizeof(V), WIDTH = sizeof(V) / sizeof(T) };    \
    const T *x = data;                                                                             \
    T r = IDENTITY, lanes[LANES];                                                                  \
    V a[VECTORS];                                                                                  \
    size_t k, j;                                                                                   \
    if (n < 16) {                                                                                  \
      for (k = 0; k < n; k++) {                                                                    \
        r = JOIN(r, x[k]);                                                                         \
      }                                                                                            \
      *(T *)acc = r;                                                                               \
      return;                                                                                      \
    }                                                                                              \
    for (j = 0; j < VECTORS; j++) {                                                                \
      a[j] = (V){0} + (T)(IDENTITY);                                                               \
    }                                                                                              \
    for (; n >= LANES; n -= LANES, x += LANES) {                                                   \
      for (j = 0; j < 4; j++) {                                                                    \
        __builtin_prefetch((const char *)x + AHEAD + 64 * j);                                      \
      }                                                                                            \
      for (j = 0; j < VECTORS; j++) {                                                              \
        a[j] = JOIN(a[j], *(const V *)(x + j * WIDTH));                                            \
      }                                                                                            \
    }                                                                                              \
    memcpy(lanes, a, sizeof lanes);                                                                \
    for (k = 0; k < n; k++) {                                                                      \
      lanes[k] = JOIN(lanes[k], x[k]);                                                             \
    }                                                                                              \
    for (k = LANES / 2; k > 0; k /= 2) {                                                           \
      for (j = 0; j < k; j++) {                                                                    \
        lanes[j] = JOIN(lanes[j], lanes[j + k]);                                                   \
      }                                                                                            \
    }                                                                                              \
    *(T *)acc = lanes[0];                                                                          \
  }

#define DEFINE_PLAIN(tag, T, A, IDENTITY, JOIN, VALUE)                                             \
  static void NAME(block, tag)(size_t n, const void *data, void *acc) {                            \
    const T *const x = data;                                                                       \
    A r = IDENTITY;                                                                                \
    for (size_t k = 0; k < n; k++) {                                                               \
      const A value = VALUE(x[k]);                                                                 \
      r = JOIN(r, value);                                                                          \
    }                                                                                              \
    *(A *)acc = r;                                                                                 \
  }

#define FLOATS(tag, T, V, IDENTITY, JOIN)                                                          \
  DEFINE_LANES(tag, T, V, IDENTITY, JOIN)                                                          \
  DEFINE_ROWS(tag, T, T, JOIN, SELF)                                                               \
  DEFINE_ENDS(tag, T, T, IDENTITY, SELF)
#define OTHERS(tag, T, A, R, IDENTITY, JOIN, VALUE, RESULT)                                        \
  DEFINE_PLAIN(tag, T, A, IDENTITY, JOIN, VALUE)                                                   \
  DEFINE_ROWS(tag, T, A, JOIN, VALUE)                                                              \
  DEFINE_ENDS(tag, A, R, IDENTITY, RESULT)

#define INTEGERS(tag, T, LOW)                                                                      \
  OTHERS(sum_##tag, T, uint64_t, uint64_t, 0, ADD, WIDEN, SELF)                                    \
  OTHERS(prod_##tag, T, uint64_t, uint64_t, 1, MULTIPLY, WIDEN, SELF)                              \
  OTHERS(max_##tag, T, T, T, LOW, LARGER, SELF, SELF)

typedef float NAME(vector, f32) __attribute__((vector_size(REGISTER), aligned(4), may_alias));
typedef double NAME(vector, f64) __attribute__((vector_size(REGISTER), aligned(8), may_alias));

INTEGERS(bool, uint8_t, 0)
INTEGERS(i8, int8_t, INT8_MIN)
INTEGERS(i16, int16_t, INT16_MIN)
INTEGERS(i32, int32_t, INT32_MIN)
INTEGERS(i64, int64_t, INT64_MIN)
INTEGERS(u8, uint8_t, 0)
INTEGERS(u16, uint16_t, 0)
INTEGERS(u32, uint32_t, 0)
INTEGERS(u64, uint64_t, 0)
FLOATS(sum_f32, float, NAME(vector, f32), 0, ADD)
FLOATS(sum_f64, double, NAME(vector, f64), 0, ADD)
FLOATS(prod_f32, float, NAME(vector, f32), 1, MULTIPLY)
FLOATS(prod_f64, double, NAME(vector, f64), 1, MULTIPLY)
OTHERS(max_f32, float, int32_t, float, INT32_MIN, LARGER, key_of_f32, f32_of_key)
OTHERS(max_f64, double, int64_t, double, INT64_MIN, LARGER, key_of_f64, f64_of_key)
OTHERS(argmax_f32, float, int32_t, float, INT32_MIN, LARGER, zero_key_of_f32, f32_of_key)
OTHERS(argmax_f64, double, int64_t, double, INT64_MIN, LARGER, zero_key_of_f64, f64_of_key)

#define ENTRY(tag, A)                                                                              \
  {                                                                                                \
    sizeof(A), NAME(init, tag), NAME(block, tag), NAME(rows, tag), NAME(merge, tag),               \
        NAME(finish, tag)                                                                          \
  }
#define WIDE_ENTRIES(what)                                                                         \
  {                                                                                                \
    ENTRY(what##_bool, uint64_t), ENTRY(what##_i8, uint64_t), ENTRY(what##_i16, uint64_t),         \
        ENTRY(what##_i32, uint64_t), ENTRY(what##_i64, uint64_t), ENTRY(what##_u8, uint64_t),      \
        ENTRY(what##_u16, uint64_t), ENTRY(what##_u32, uint64_t), ENTRY(what##_u64, uint64_t),     \
        ENTRY(what##_f32, float), ENTRY(what##_f64, double)                                        \
  }
#define NARROW_ENTRIES(what)                                                                       \
  {                                                                                                \
    ENTRY(max_bool, uint8_t), ENTRY(max_i8, int8_t), ENTRY(max_i16, int16_t),                      \
        ENTRY(max_i32, int32_t), ENTRY(max_i64, int64_t), ENTRY(max_u8, uint8_t),                  \
        ENTRY(max_u16, uint16_t), ENTRY(max_u32, uint32_t), ENTRY(max_u64, uint64_t),              \
        ENTRY(what##_f32, int32_t), ENTRY(what##_f64, int64_t)                                     \
  }

static const gemel__reducer GEMEL__PASTE2(reducers, ISA)[GEMEL__REDUCE_COUNT][11] = {
    WIDE_ENTRIES(sum), WIDE_ENTRIES(prod), NARROW_ENTRIES(max), NARROW_ENTRIES(argmax)};

#undef NAME
