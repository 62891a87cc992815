/* SPDX-License-Identifier: MIT
 *
 * Element types: names, sizes, kinds, promotion, and bulk conversion of the half types. Everything
 * but the promotion table is expanded from GEMEL_DTYPE_TABLE. On x86 the f16 conversions use the
 * F16C instructions where the machine has them (found out at run time); they give the same bits as
 * the plain code in dtype.h.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include "core/dtype.h"

#include <math.h>

#if GEMEL__X86
#include <immintrin.h>
#endif

typedef struct dtype_info {
  const char *name;
  size_t bytes;
  gemel_kind kind;
} dtype_info;

static const dtype_info infos[GEMEL_DTYPE_COUNT] = {
#define INFO(E, name, bytes, kind, ctype) {#name, sizeof(ctype), kind},
    GEMEL_DTYPE_TABLE(INFO)
#undef INFO
};

static int is_dtype(gemel_dtype dtype) {
  return (unsigned)dtype < GEMEL_DTYPE_COUNT;
}

const char gemel__dtype_names[] = "the dtypes are"
#define NAME(E, name, bytes, kind, ctype) " " #name
    GEMEL_DTYPE_TABLE(NAME);
#undef NAME

const char *gemel_dtype_name(gemel_dtype dtype) {
  return is_dtype(dtype) ? infos[dtype].name : "?";
}

size_t gemel_dtype_size(gemel_dtype dtype) {
  return is_dtype(dtype) ? infos[dtype].bytes : 0;
}

gemel_kind gemel_dtype_kind(gemel_dtype dtype) {
  return is_dtype(dtype) ? infos[dtype].kind : GEMEL_KIND_BOOL;
}

gemel_status gemel_dtype_find(const char *name, gemel_dtype *dtype) {
  for (int k = 0; name != NULL && dtype != NULL && k < GEMEL_DTYPE_COUNT; k++) {
    if (strcmp(name, infos[k].name) == 0) {
      *dtype = (gemel_dtype)k;
      return GEMEL_OK;
    }
  }
  return GEMEL_NOT_FOUND;
}

/* 1 if NAME is WORD without some of its letters, u8 of uint8: the first is there, and all digits.
 */
static int is_short_for(const char *name, const char *word, size_t length) {
  size_t k = 0;
  if (length == 0 || name[0] != word[0]) {
    return 0;
  }
  for (size_t i = 0; i < length; i++) {
    int same = name[k] == word[i];
    if (!same && word[i] >= '0' && word[i] <= '9') {
      return 0;
    }
    k += (size_t)same;
  }
  return name[k] == '\0';
}

void gemel__dtype_offer(gemel__suggestion *near) {
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    if (is_short_for(infos[k].name, near->wanted, near->wanted_length)) {
      near->name = infos[k].name;
      near->length = strlen(infos[k].name);
      near->distance = 0;
    }
    gemel__suggestion_offer(near, infos[k].name, strlen(infos[k].name));
  }
}

const char *gemel__dtype_suggestion(const char *written, size_t length, gemel__suggestion *near) {
  gemel__suggestion_start(near, written, length);
  gemel__dtype_offer(near);
  return gemel__suggestion_text(near);
}

/* ---- Formats ---- */

static const gemel__format formats[GEMEL_DTYPE_COUNT] = {
    [GEMEL_BOOL] = {1, 0, 0, GEMEL_BOOL},      [GEMEL_I8] = {7, 0, 6, GEMEL_I8},
    [GEMEL_I16] = {15, 0, 14, GEMEL_I16},      [GEMEL_I32] = {31, 0, 30, GEMEL_I32},
    [GEMEL_I64] = {63, 0, 62, GEMEL_I64},      [GEMEL_U8] = {8, 0, 7, GEMEL_U8},
    [GEMEL_U16] = {16, 0, 15, GEMEL_U16},      [GEMEL_U32] = {32, 0, 31, GEMEL_U32},
    [GEMEL_U64] = {64, 0, 63, GEMEL_U64},      [GEMEL_F16] = {11, -14, 15, GEMEL_F32},
    [GEMEL_BF16] = {8, -126, 127, GEMEL_F32},  [GEMEL_F32] = {24, -126, 127, GEMEL_F32},
    [GEMEL_F64] = {53, -1022, 1023, GEMEL_F64}};

const gemel__format *gemel__dtype_format(gemel_dtype dtype) {
  return &formats[is_dtype(dtype) ? dtype : GEMEL_BOOL];
}

double gemel__least_normal(gemel_dtype dtype) {
  return ldexp(1, formats[dtype].lowest);
}

double gemel__least_subnormal(gemel_dtype dtype) {
  return ldexp(1, formats[dtype].lowest - formats[dtype].digits + 1);
}

double gemel__largest(gemel_dtype dtype) {
  return ldexp(2 - ldexp(1, 1 - formats[dtype].digits), formats[dtype].highest);
}

int gemel__exact_cast(gemel_dtype from, gemel_dtype to) {
  const gemel__format *f = &formats[from], *t = &formats[to];
  gemel_kind source = infos[from].kind, target = infos[to].kind;
  if (from == to || source == GEMEL_KIND_BOOL) {
    return 1;
  }
  if ((source == GEMEL_KIND_FLOAT && target != source) ||
      (source == GEMEL_KIND_SIGNED && target == GEMEL_KIND_UNSIGNED)) {
    return 0;
  }
  return f->digits <= t->digits && f->lowest >= t->lowest && f->highest <= t->highest;
}

/* ---- Promotion ---- */

/* clang-format off */
enum { B_ = GEMEL_BOOL, I1 = GEMEL_I8, I2 = GEMEL_I16, I4 = GEMEL_I32, I8 = GEMEL_I64,
       U1 = GEMEL_U8, U2 = GEMEL_U16, U4 = GEMEL_U32, U8 = GEMEL_U64,
       H_ = GEMEL_F16, BF = GEMEL_BF16, F4 = GEMEL_F32, F8 = GEMEL_F64 };

static const unsigned char promotions[GEMEL_DTYPE_COUNT][GEMEL_DTYPE_COUNT] = {
  /*        bool i8  i16 i32 i64 u8  u16 u32 u64 f16 bf16 f32 f64 */
  /*bool*/ {B_,  I1, I2, I4, I8, U1, U2, U4, U8, H_, BF,  F4, F8},
  /*i8*/   {I1,  I1, I2, I4, I8, I2, I4, I8, F8, H_, BF,  F4, F8},
  /*i16*/  {I2,  I2, I2, I4, I8, I2, I4, I8, F8, F4, F4,  F4, F8},
  /*i32*/  {I4,  I4, I4, I4, I8, I4, I4, I8, F8, F8, F8,  F8, F8},
  /*i64*/  {I8,  I8, I8, I8, I8, I8, I8, I8, F8, F8, F8,  F8, F8},
  /*u8*/   {U1,  I2, I2, I4, I8, U1, U2, U4, U8, H_, BF,  F4, F8},
  /*u16*/  {U2,  I4, I4, I4, I8, U2, U2, U4, U8, F4, F4,  F4, F8},
  /*u32*/  {U4,  I8, I8, I8, I8, U4, U4, U4, U8, F8, F8,  F8, F8},
  /*u64*/  {U8,  F8, F8, F8, F8, U8, U8, U8, U8, F8, F8,  F8, F8},
  /*f16*/  {H_,  H_, F4, F8, F8, H_, F4, F8, F8, H_, F4,  F4, F8},
  /*bf16*/ {BF,  BF, F4, F8, F8, BF, F4, F8, F8, F4, BF,  F4, F8},
  /*f32*/  {F4,  F4, F4, F8, F8, F4, F4, F8, F8, F4, F4,  F4, F8},
  /*f64*/  {F8,  F8, F8, F8, F8, F8, F8, F8, F8, F8, F8,  F8, F8},
};
/* clang-format on */

gemel_dtype gemel_promote(gemel_dtype a, gemel_dtype b) {
  return is_dtype(a) && is_dtype(b) ? (gemel_dtype)promotions[a][b] : GEMEL_DTYPE_COUNT;
}

/* ---- Half types in bulk ---- */

#define DEFINE_LOOPS(tag, isa)                                                                     \
  static void tag##_to_f32_##isa(size_t count, float *restrict out, const uint16_t *restrict in) { \
    size_t k;                                                                                      \
    for (k = 0; k < count; k++) {                                                                  \
      out[k] = gemel__##tag##_to_f32(in[k]);                                                       \
    }                                                                                              \
  }                                                                                                \
  static void tag##_from_f32_##isa(size_t count, uint16_t *restrict out,                           \
                                   const float *restrict in) {                                     \
    size_t k;                                                                                      \
    for (k = 0; k < count; k++) {                                                                  \
      out[k] = gemel__f32_to_##tag(in[k]);                                                         \
    }                                                                                              \
  }

DEFINE_LOOPS(f16, base)
DEFINE_LOOPS(bf16, base)

#if GEMEL__X86

GEMEL__BEGIN_AVX2
DEFINE_LOOPS(bf16, avx2)
GEMEL__END_VARIANT

__attribute__((target("avx,f16c"))) static void f16_to_f32_avx2(size_t count, float *out,
                                                                const uint16_t *in) {
  size_t k;
  for (k = 0; k + 8 <= count; k += 8) {
    _mm256_storeu_ps(out + k, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + k))));
  }
  f16_to_f32_base(count - k, out + k, in + k);
}

__attribute__((target("avx,f16c"))) static void f16_from_f32_avx2(size_t count, uint16_t *out,
                                                                  const float *in) {
  size_t k;
  for (k = 0; k + 8 <= count; k += 8) {
    __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(in + k), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)(out + k), half);
  }
  f16_from_f32_base(count - k, out + k, in + k);
}

#else

#define f16_to_f32_avx2 f16_to_f32_base
#define f16_from_f32_avx2 f16_from_f32_base
#define bf16_to_f32_avx2 bf16_to_f32_base
#define bf16_from_f32_avx2 bf16_from_f32_base

#endif

/* Every machine that has AVX2 has F16C too. */
void gemel__half_to_f32(gemel_dtype dtype, size_t count, float *out, const uint16_t *in) {
  int wide = gemel__isa_best() >= GEMEL__ISA_AVX2;
  if (dtype == GEMEL_BF16) {
    (wide ? bf16_to_f32_avx2 : bf16_to_f32_base)(count, out, in);
  } else {
    (wide ? f16_to_f32_avx2 : f16_to_f32_base)(count, out, in);
  }
}

void gemel__half_from_f32(gemel_dtype dtype, size_t count, uint16_t *out, const float *in) {
  int wide = gemel__isa_best() >= GEMEL__ISA_AVX2;
  if (dtype == GEMEL_BF16) {
    (wide ? bf16_from_f32_avx2 : bf16_from_f32_base)(count, out, in);
  } else {
    (wide ? f16_from_f32_avx2 : f16_from_f32_base)(count, out, in);
  }
}

/* ---- Single numbers ---- */

double gemel__dtype_load(gemel_dtype dtype, const void *data) {
  if (dtype == GEMEL_F16 || dtype == GEMEL_BF16) {
    uint16_t half;
    memcpy(&half, data, sizeof half);
    return dtype == GEMEL_F16 ? gemel__f16_to_f32(half) : gemel__bf16_to_f32(half);
  }
  switch (dtype) {
#define LOAD(E, name, bytes, kind, ctype)                                                          \
  case GEMEL_##E: {                                                                                \
    ctype value;                                                                                   \
    memcpy(&value, data, sizeof value);                                                            \
    return (double)value;                                                                          \
  }
    GEMEL_DTYPE_TABLE(LOAD)
#undef LOAD
  default:
    return 0;
  }
}

/* 2^63 and 2^64 are no longer held, though converting the largest integer to double gives them. */
static int integer_holds(gemel_dtype dtype, double value) {
  int is_signed = infos[dtype].kind == GEMEL_KIND_SIGNED;
  int bits = infos[dtype].kind == GEMEL_KIND_BOOL ? 1 : (int)(8 * infos[dtype].bytes) - is_signed;
  double limit = (double)(1ull << (bits - 1)) * 2;
  if (!(value < limit && value >= (is_signed ? -limit : 0))) {
    return 0;
  }
  return value < 0 ? (double)(int64_t)value == value : (double)(uint64_t)value == value;
}

gemel_status gemel__dtype_store(gemel_dtype dtype, double value, void *data) {
  if (!is_dtype(dtype) || (infos[dtype].kind != GEMEL_KIND_FLOAT && !integer_holds(dtype, value))) {
    return GEMEL_BAD_VALUE;
  }
  if (dtype == GEMEL_F16 || dtype == GEMEL_BF16) {
    uint16_t half = dtype == GEMEL_F16 ? gemel__f64_to_f16(value) : gemel__f64_to_bf16(value);
    memcpy(data, &half, sizeof half);
    return GEMEL_OK;
  }
  switch (dtype) {
#define STORE(E, name, bytes, kind, ctype)                                                         \
  case GEMEL_##E: {                                                                                \
    ctype stored = (ctype)value;                                                                   \
    memcpy(data, &stored, sizeof stored);                                                          \
    break;                                                                                         \
  }
    GEMEL_DTYPE_TABLE(STORE)
#undef STORE
  default:
    break;
  }
  return GEMEL_OK;
}
