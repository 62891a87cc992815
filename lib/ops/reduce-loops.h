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

/* And for each of several blocks that are read abreast. */
#undef NEAR
#define NEAR 512

/* Elements of a line that are asked for at once, of maxima. */
#undef FETCHED
#define FETCHED 512

/* Few elements one after the other; more of them in 64 (f32) or 32 (f64) lanes, the last ones
 * padded with identities, and the lanes joined until one is left. Blocks read abreast take turns of
 * LANES elements, their lanes waiting in memory meanwhile. */
#define DEFINE_LANES(tag, T, V, IDENTITY, JOIN)                                                    \
  enum {                                                                                           \
    NAME(LANES, tag) = 256 / sizeof(T),                                                            \
    NAME(VECTORS, tag) = 256 / sizeof(V),                                                          \
    NAME(WIDTH, tag) = sizeof(V) / sizeof(T)                                                       \
  };                                                                                               \
  static inline void NAME(clear, tag)(V * a) {                                                     \
    for (size_t j = 0; j < NAME(VECTORS, tag); j++) {                                              \
      a[j] = (V){0} + (T)(IDENTITY);                                                               \
    }                                                                                              \
  }                                                                                                \
  static inline void NAME(take, tag)(V * a, const T *x, size_t ahead) {                            \
    for (size_t j = 0; j < 4; j++) {                                                               \
      __builtin_prefetch((const char *)x + ahead + 64 * j);                                        \
    }                                                                                              \
    for (size_t j = 0; j < NAME(VECTORS, tag); j++) {                                              \
      a[j] = JOIN(a[j], *(const V *)(x + j * NAME(WIDTH, tag)));                                   \
    }                                                                                              \
  }                                                                                                \
  static inline T NAME(fold, tag)(const V *a, size_t n, const T *x) {                              \
    T lanes[NAME(LANES, tag)];                                                                     \
    size_t k, j;                                                                                   \
    memcpy(lanes, a, sizeof lanes);                                                                \
    for (k = 0; k < n; k++) {                                                                      \
      lanes[k] = JOIN(lanes[k], x[k]);                                                             \
    }                                                                                              \
    for (k = NAME(LANES, tag) / 2; k > 0; k /= 2) {                                                \
      for (j = 0; j < k; j++) {                                                                    \
        lanes[j] = JOIN(lanes[j], lanes[j + k]);                                                   \
      }                                                                                            \
    }                                                                                              \
    return lanes[0];                                                                               \
  }                                                                                                \
  static void NAME(block, tag)(size_t n, const void *data, void *acc) {                            \
    const T *x = data;                                                                             \
    T r = IDENTITY;                                                                                \
    V a[NAME(VECTORS, tag)];                                                                       \
    size_t k;                                                                                      \
    if (n < 16) {                                                                                  \
      for (k = 0; k < n; k++) {                                                                    \
        r = JOIN(r, x[k]);                                                                         \
      }                                                                                            \
      *(T *)acc = r;                                                                               \
      return;                                                                                      \
    }                                                                                              \
    NAME(clear, tag)(a);                                                                           \
    for (; n >= NAME(LANES, tag); n -= NAME(LANES, tag), x += NAME(LANES, tag)) {                  \
      NAME(take, tag)(a, x, AHEAD);                                                                \
    }                                                                                              \
    *(T *)acc = NAME(fold, tag)(a, n, x);                                                          \
  }                                                                                                \
  static void NAME(abreast, tag)(const void *data, void *acc) {                                    \
    const T *const x = data;                                                                       \
    V a[GEMEL__REDUCE_ABREAST][NAME(VECTORS, tag)];                                                \
    size_t b, k;                                                                                   \
    for (b = 0; b < GEMEL__REDUCE_ABREAST; b++) {                                                  \
      NAME(clear, tag)(a[b]);                                                                      \
    }                                                                                              \
    for (k = 0; k < GEMEL__REDUCE_BLOCK; k += NAME(LANES, tag)) {                                  \
      for (b = 0; b < GEMEL__REDUCE_ABREAST; b++) {                                                \
        NAME(take, tag)(a[b], x + b * GEMEL__REDUCE_BLOCK + k, NEAR);                              \
      }                                                                                            \
    }                                                                                              \
    for (b = 0; b < GEMEL__REDUCE_ABREAST; b++) {                                                  \
      ((T *)acc)[b] = NAME(fold, tag)(a[b], 0, x);                                                 \
    }                                                                                              \
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

/* The largest of N numbers by their bits, S and U being integers as wide: the largest signed one,
 * or if that has a sign, and so all have, the least. NaNs are beyond the infinities, those with a
 * sign as unsigned integers, LOW being those of -inf. */
#define DEFINE_LARGEST(tag, T, S, U, LOW, IDENTITY, KEY)                                           \
  static void NAME(block, tag)(size_t n, const void *data, void *acc) {                            \
    typedef S __attribute__((may_alias)) word;                                                     \
    const word *const x = data;                                                                    \
    S most = n > 0 ? x[0] : IDENTITY, least = most, bits;                                          \
    U top = (U)most;                                                                               \
    T value;                                                                                       \
    for (size_t from = 0, to = FETCHED; from < n; from = to, to += FETCHED) {                      \
      to = to < n ? to : n;                                                                        \
      for (size_t k = from; k < to; k += 64 / sizeof(T)) {                                         \
        __builtin_prefetch((const char *)(x + k) + AHEAD);                                         \
      }                                                                                            \
      for (size_t k = from; k < to; k++) {                                                         \
        most = LARGER(most, x[k]);                                                                 \
        least = SMALLER(least, x[k]);                                                              \
        top = LARGER(top, (U)x[k]);                                                                \
      }                                                                                            \
    }                                                                                              \
    bits = top > LOW ? (S)top : most < 0 ? least : most;                                           \
    memcpy(&value, &bits, sizeof value);                                                           \
    *(S *)acc = n > 0 ? KEY(value) : IDENTITY;                                                     \
  }

/* Short lines, which the way to a block would take longer than. */
#define DEFINE_LINES(tag, T, A, IDENTITY, JOIN, VALUE)                                             \
  static void NAME(lines, tag)(size_t count, int64_t stride, size_t n, const void *data,           \
                               void *acc) {                                                        \
    A *const a = acc;                                                                              \
    const char *from = data;                                                                       \
    for (size_t k = 0; k < count; k++, from += stride) {                                           \
      const T *const x = (const T *)from;                                                          \
      A r = IDENTITY;                                                                              \
      if (n >= 16) {                                                                               \
        NAME(block, tag)(n, x, &a[k]);                                                             \
        continue;                                                                                  \
      }                                                                                            \
      for (size_t j = 0; j < n; j++) {                                                             \
        const A value = VALUE(x[j]);                                                               \
        r = JOIN(r, value);                                                                        \
      }                                                                                            \
      a[k] = r;                                                                                    \
    }                                                                                              \
  }

/* Rows one at a time; the first of equal elements stays. */
#define DEFINE_PLACES(tag, T, A, VALUE)                                                            \
  static void NAME(places, tag)(size_t rows, int64_t stride, size_t n, const void *data,           \
                                int32_t row, void *acc, int32_t *places) {                         \
    A *restrict const a = acc;                                                                     \
    int32_t *restrict const at = places;                                                           \
    const char *from = data;                                                                       \
    for (; rows > 0; rows--, from += stride, row++) {                                              \
      const T *restrict const p = (const T *)from;                                                 \
      for (size_t k = 0; k < n; k++) {                                                             \
        const A value = VALUE(p[k]), best = a[k];                                                  \
        at[k] = value > best ? row : at[k];                                                        \
        a[k] = value > best ? value : best;                                                        \
      }                                                                                            \
    }                                                                                              \
  }

#define DEFINE_FIRST(tag, T, A, OF_KEY, IS_SOUGHT)                                                 \
  static size_t NAME(first, tag)(size_t n, const void *data, const void *acc) {                    \
    const T *const x = data;                                                                       \
    const T sought = OF_KEY(*(const A *)acc);                                                      \
    const int32_t count = (int32_t)n;                                                              \
    int32_t least = count;                                                                         \
    for (int32_t k = 0; k < count; k++) {                                                          \
      const int32_t place = IS_SOUGHT(x[k], sought) ? k : count;                                   \
      least = place < least ? place : least;                                                       \
    }                                                                                              \
    return (size_t)least;                                                                          \
  }

#define FLOATS(tag, T, V, IDENTITY, JOIN)                                                          \
  DEFINE_LANES(tag, T, V, IDENTITY, JOIN)                                                          \
  DEFINE_LINES(tag, T, T, IDENTITY, JOIN, SELF)                                                    \
  DEFINE_ROWS(tag, T, T, JOIN, SELF)                                                               \
  DEFINE_ENDS(tag, T, T, IDENTITY, SELF)
#define OTHERS(tag, T, A, R, IDENTITY, JOIN, VALUE, RESULT)                                        \
  DEFINE_PLAIN(tag, T, A, IDENTITY, JOIN, VALUE)                                                   \
  WITH_BLOCK(tag, T, A, R, IDENTITY, JOIN, VALUE, RESULT)
#define LARGEST(tag, T, A, U, LOW, IDENTITY, KEY, RESULT)                                          \
  DEFINE_LARGEST(tag, T, A, U, LOW, IDENTITY, KEY)                                                 \
  WITH_BLOCK(tag, T, A, T, IDENTITY, LARGER, KEY, RESULT)
#define WITH_BLOCK(tag, T, A, R, IDENTITY, JOIN, VALUE, RESULT)                                    \
  DEFINE_LINES(tag, T, A, IDENTITY, JOIN, VALUE)                                                   \
  DEFINE_ROWS(tag, T, A, JOIN, VALUE)                                                              \
  DEFINE_ENDS(tag, A, R, IDENTITY, RESULT)

#define INTEGERS(tag, T, LOW)                                                                      \
  OTHERS(sum_##tag, T, uint64_t, uint64_t, 0, ADD, WIDEN, SELF)                                    \
  OTHERS(prod_##tag, T, uint64_t, uint64_t, 1, MULTIPLY, WIDEN, SELF)                              \
  OTHERS(max_##tag, T, T, T, LOW, LARGER, SELF, SELF)                                              \
  DEFINE_PLACES(max_##tag, T, T, SELF)                                                             \
  DEFINE_FIRST(max_##tag, T, T, SELF, EQUAL)

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
LARGEST(max_f32, float, int32_t, uint32_t, LOW_F32, INT32_MIN, key_of_f32, f32_of_key)
LARGEST(max_f64, double, int64_t, uint64_t, LOW_F64, INT64_MIN, key_of_f64, f64_of_key)
LARGEST(argmax_f32, float, int32_t, uint32_t, LOW_F32, INT32_MIN, zero_key_of_f32, f32_of_key)
LARGEST(argmax_f64, double, int64_t, uint64_t, LOW_F64, INT64_MIN, zero_key_of_f64, f64_of_key)
DEFINE_PLACES(argmax_f32, float, int32_t, zero_key_of_f32)
DEFINE_PLACES(argmax_f64, double, int64_t, zero_key_of_f64)
DEFINE_FIRST(argmax_f32, float, int32_t, f32_of_key, EQUAL_OR_NAN)
DEFINE_FIRST(argmax_f64, double, int64_t, f64_of_key, EQUAL_OR_NAN)

#define ENTRY(tag, A, abreast, places, first)                                                      \
  {                                                                                                \
    sizeof(A), NAME(init, tag), NAME(block, tag), abreast, NAME(lines, tag), NAME(rows, tag),      \
        NAME(merge, tag), NAME(finish, tag), places, first                                         \
  }
#define SUM_ENTRY(tag) ENTRY(tag, uint64_t, NULL, NULL, NULL)
#define FLOAT_ENTRY(tag, A) ENTRY(tag, A, NAME(abreast, tag), NULL, NULL)
#define MAX_ENTRY(tag, A) ENTRY(tag, A, NULL, NAME(places, tag), NAME(first, tag))
#define WIDE_ENTRIES(what)                                                                         \
  {                                                                                                \
    SUM_ENTRY(what##_bool), SUM_ENTRY(what##_i8), SUM_ENTRY(what##_i16), SUM_ENTRY(what##_i32),    \
        SUM_ENTRY(what##_i64), SUM_ENTRY(what##_u8), SUM_ENTRY(what##_u16), SUM_ENTRY(what##_u32), \
        SUM_ENTRY(what##_u64), FLOAT_ENTRY(what##_f32, float), FLOAT_ENTRY(what##_f64, double)     \
  }
#define NARROW_ENTRIES(f32, f64)                                                                   \
  {                                                                                                \
    MAX_ENTRY(max_bool, uint8_t), MAX_ENTRY(max_i8, int8_t), MAX_ENTRY(max_i16, int16_t),          \
        MAX_ENTRY(max_i32, int32_t), MAX_ENTRY(max_i64, int64_t), MAX_ENTRY(max_u8, uint8_t),      \
        MAX_ENTRY(max_u16, uint16_t), MAX_ENTRY(max_u32, uint32_t), MAX_ENTRY(max_u64, uint64_t),  \
        f32, f64                                                                                   \
  }

static const gemel__reducer GEMEL__PASTE2(reducers, ISA)[GEMEL__REDUCE_COUNT][11] = {
    WIDE_ENTRIES(sum), WIDE_ENTRIES(prod),
    NARROW_ENTRIES(ENTRY(max_f32, int32_t, NULL, NULL, NULL),
                   ENTRY(max_f64, int64_t, NULL, NULL, NULL)),
    NARROW_ENTRIES(MAX_ENTRY(argmax_f32, int32_t), MAX_ENTRY(argmax_f64, int64_t))};

#undef NAME
