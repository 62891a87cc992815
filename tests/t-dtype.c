/*
 * Element types: names, sizes, promotion and the half types. Promotion is held against its defining
 * property (the smallest dtype that holds both) rather than against another copy of the table;
 * rounding to halves against every pair of neighbours and the points around their middle.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <string.h>

#include "core/dtype.h"

static void names(const void *data) {
  gemel_dtype found = GEMEL_F64;
  int k;
  (void)data;
  for (k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    CT_EQ_INT(gemel_dtype_find(gemel_dtype_name((gemel_dtype)k), &found), GEMEL_OK);
    CT_EQ_INT(found, k);
  }
  CT_EQ_STR(gemel_dtype_name(GEMEL_BF16), "bf16");
  CT_EQ_STR(gemel_dtype_name(GEMEL_DTYPE_COUNT), "?");
  CT_EQ_INT(gemel_dtype_find("f128", &found), GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_dtype_find(NULL, &found), GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_dtype_find("f32", NULL), GEMEL_NOT_FOUND);
  CT_EQ_INT(found, GEMEL_DTYPE_COUNT - 1);
  CT_EQ_UINT(gemel_dtype_size(GEMEL_BOOL), 1);
  CT_EQ_UINT(gemel_dtype_size(GEMEL_BF16), 2);
  CT_EQ_UINT(gemel_dtype_size((gemel_dtype)99), 0);
  CT_EQ_INT(gemel_dtype_kind(GEMEL_U8), GEMEL_KIND_UNSIGNED);
  CT_EQ_INT(gemel_dtype_kind(GEMEL_F16), GEMEL_KIND_FLOAT);
}

/* Bits of the integers that a dtype holds exactly from 0 up, whether it holds negatives, and how
 * far its exponents go: NumPy's notion of "holds", which forgives 64-bit integers in an f64. */
typedef struct holds {
  int bits, negative, exponent, fraction;
} holds;

static holds capacity(gemel_dtype dtype) {
  int bits = (int)gemel_dtype_size(dtype) * 8;
  switch (dtype) {
  case GEMEL_BOOL:
    return (holds){1, 0, 0, 0};
  case GEMEL_F16:
    return (holds){11, 1, 5, 11};
  case GEMEL_BF16:
    return (holds){11, 1, 8, 8}; /* taken to be as f16 towards integers */
  case GEMEL_F32:
    return (holds){24, 1, 8, 24};
  case GEMEL_F64:
    return (holds){64, 1, 11, 53};
  default:
    return gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? (holds){bits - 1, 1, 0, 0}
                                                        : (holds){bits, 0, 0, 0};
  }
}

static int covers(gemel_dtype wide, gemel_dtype narrow) {
  holds w = capacity(wide), n = capacity(narrow);
  return w.bits >= n.bits && w.negative >= n.negative && w.exponent >= n.exponent &&
         w.fraction >= n.fraction;
}

static int is_float(int dtype) {
  return gemel_dtype_kind((gemel_dtype)dtype) == GEMEL_KIND_FLOAT;
}

/* Integers go to a float only where no integer holds both. */
static int acceptable(int c, int a, int b) {
  return covers((gemel_dtype)c, (gemel_dtype)a) && covers((gemel_dtype)c, (gemel_dtype)b) &&
         (is_float(a) || is_float(b) || !is_float(c));
}

static void promotion(const void *data) {
  int a, b, c;
  (void)data;
  for (a = 0; a < GEMEL_DTYPE_COUNT; a++) {
    CT_EQ_INT(gemel_promote((gemel_dtype)a, (gemel_dtype)a), a);
    for (b = 0; b < GEMEL_DTYPE_COUNT; b++) {
      gemel_dtype got = gemel_promote((gemel_dtype)a, (gemel_dtype)b);
      ct_context("%s with %s gives %s", gemel_dtype_name((gemel_dtype)a),
                 gemel_dtype_name((gemel_dtype)b), gemel_dtype_name(got));
      CT_EQ_INT(got, gemel_promote((gemel_dtype)b, (gemel_dtype)a));
      CT_CHECK(covers(got, (gemel_dtype)a) && covers(got, (gemel_dtype)b));
      for (c = 0; c < GEMEL_DTYPE_COUNT; c++) {
        if (acceptable(c, a, b)) {
          CT_CHECK(covers((gemel_dtype)c, got) && is_float(c) == is_float((int)got));
        }
      }
    }
  }
}

/* Written out, against a slip in the property above. */
static void promotion_spot(const void *data) {
  (void)data;
  CT_EQ_INT(gemel_promote(GEMEL_I32, GEMEL_F32), GEMEL_F64);
  CT_EQ_INT(gemel_promote(GEMEL_U64, GEMEL_I8), GEMEL_F64);
  CT_EQ_INT(gemel_promote(GEMEL_U8, GEMEL_I8), GEMEL_I16);
  CT_EQ_INT(gemel_promote(GEMEL_U32, GEMEL_I32), GEMEL_I64);
  CT_EQ_INT(gemel_promote(GEMEL_I16, GEMEL_F16), GEMEL_F32);
  CT_EQ_INT(gemel_promote(GEMEL_U8, GEMEL_BF16), GEMEL_BF16);
  CT_EQ_INT(gemel_promote(GEMEL_F16, GEMEL_BF16), GEMEL_F32);
  CT_EQ_INT(gemel_promote(GEMEL_BOOL, GEMEL_F16), GEMEL_F16);
}

static uint16_t to_half(gemel_dtype dtype, float value) {
  return dtype == GEMEL_F16 ? gemel__f32_to_f16(value) : gemel__f32_to_bf16(value);
}

static float from_half(gemel_dtype dtype, unsigned half) {
  return dtype == GEMEL_F16 ? gemel__f16_to_f32((uint16_t)half)
                            : gemel__bf16_to_f32((uint16_t)half);
}

static uint16_t to_half_64(gemel_dtype dtype, double value) {
  return dtype == GEMEL_F16 ? gemel__f64_to_f16(value) : gemel__f64_to_bf16(value);
}

/* Reports only what is wrong: there are many numbers. */
static void rounds(gemel_dtype dtype, double value, unsigned want) {
  unsigned got = to_half_64(dtype, value), single = to_half(dtype, (float)value);
  unsigned minus = to_half_64(dtype, -value);
  if (!CT_CHECK(got == want && minus == (want | 0x8000) &&
                ((double)(float)value != value || single == want))) {
    CT_FAIL("%a as %s is %04x and from f32 %04x, negated %04x, should be %04x", value,
            gemel_dtype_name(dtype), got, single, minus, want);
  }
}

/* Every finite half, its next, and the points around the middle between them. */
static void half_rounding(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  unsigned infinity = dtype == GEMEL_F16 ? 0x7c00 : 0x7f80, half;
  for (half = 0; half < infinity; half++) {
    double low = from_half(dtype, half), step = low - from_half(dtype, half - (half > 0));
    double high = half + 1 < infinity ? from_half(dtype, half + 1) : low + step;
    double middle = (low + high) / 2;
    float single = (float)middle;
    rounds(dtype, low, half);
    rounds(dtype, middle, half + (half & 1));
    rounds(dtype, nextafter(middle, 0), half);
    rounds(dtype, nextafter(middle, INFINITY), half + 1);
    if (single == middle) {
      rounds(dtype, nextafterf(single, 0), half);
      rounds(dtype, nextafterf(single, INFINITY), half + 1);
    }
  }
  rounds(dtype, INFINITY, infinity);
}

/* Meaning of each f16 from its fields, apart from the code under test. */
static void f16_values(const void *data) {
  unsigned half;
  (void)data;
  for (half = 0; half < 0x7c00; half++) {
    int exponent = (int)(half >> 10), fraction = (int)(half & 0x3ff);
    double wanted = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    if (from_half(GEMEL_F16, half) != wanted || from_half(GEMEL_F16, half | 0x8000) != -wanted) {
      CT_FAIL("f16 %04x is %a, should be %a", half, (double)from_half(GEMEL_F16, half), wanted);
    }
  }
  CT_CHECK(signbit(from_half(GEMEL_F16, 0x8000)));
  CT_CHECK(from_half(GEMEL_F16, 0x7c00) == INFINITY);
  CT_CHECK(isnan(from_half(GEMEL_F16, 0x7c01)) && isnan(from_half(GEMEL_BF16, 0x7f81)));
}

/* Bulk conversion gives the same bits as one element at a time, NaN included, at every length. */
static void half_bulk(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  static uint16_t in[65536], back[65536], single[65536];
  static float wide[65536];
  size_t k, count;
  for (k = 0; k < 65536; k++) {
    in[k] = (uint16_t)k;
  }
  for (count = 65536 - 17; count <= 65536; count++) {
    size_t from = count == 65536 ? 0 : count - 40;
    gemel__half_to_f32(dtype, count - from, wide + from, in + from);
    gemel__half_from_f32(dtype, count - from, back + from, wide + from);
  }
  for (k = 0; k < 65536; k++) {
    float one = from_half(dtype, (unsigned)k);
    if (memcmp(&one, &wide[k], sizeof one) != 0) {
      CT_FAIL("%04x in bulk is %a, alone %a", (unsigned)k, (double)wide[k], (double)one);
    }
    single[k] = to_half(dtype, wide[k]);
  }
  CT_EQ_MEM(back, single, sizeof back);
  for (k = 0; k < 65536; k++) {
    wide[k] = gemel__f32_from_bits((uint32_t)k * 65537u + 12345u * (uint32_t)(k % 7));
    single[k] = to_half(dtype, wide[k]);
  }
  gemel__half_from_f32(dtype, 65536, back, wide);
  CT_EQ_MEM(back, single, sizeof back);
}

typedef struct store_case {
  gemel_dtype dtype;
  double value;
  int ok;
} store_case;

static const store_case stores[] = {
    {GEMEL_BOOL, 1, 1},      {GEMEL_BOOL, 2, 0},       {GEMEL_BOOL, -1, 0},
    {GEMEL_I8, -128, 1},     {GEMEL_I8, 128, 0},       {GEMEL_U8, 255, 1},
    {GEMEL_U8, -1, 0},       {GEMEL_I32, 0.5, 0},      {GEMEL_I32, NAN, 0},
    {GEMEL_I64, -0x1p63, 1}, {GEMEL_I64, 0x1p63, 0},   {GEMEL_U64, 0x1.fffffffffffffp63, 1},
    {GEMEL_U64, 0x1p64, 0},  {GEMEL_U64, INFINITY, 0}, {GEMEL_F16, -65504, 1},
    {GEMEL_BF16, 1, 1},      {GEMEL_F32, 0.5, 1},      {GEMEL_F64, 0.1, 1},
};

static void single_numbers(const void *data) {
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(stores); k++) {
    uint64_t room = 0x5555555555555555;
    ct_context("%s %g", gemel_dtype_name(stores[k].dtype), stores[k].value);
    CT_EQ_INT(gemel__dtype_store(stores[k].dtype, stores[k].value, &room),
              stores[k].ok ? GEMEL_OK : GEMEL_BAD_VALUE);
    if (stores[k].ok) {
      CT_CHECK(gemel__dtype_load(stores[k].dtype, &room) == stores[k].value);
    } else {
      CT_EQ_UINT(room, 0x5555555555555555);
    }
  }
}

static const gemel_dtype f16 = GEMEL_F16, bf16 = GEMEL_BF16;

static const ct_test tests[] = {
    CT_TEST("names", names, NULL),
    CT_TEST("promotion/smallest", promotion, NULL),
    CT_TEST("promotion/spot", promotion_spot, NULL),
    CT_TEST("f16/values", f16_values, NULL),
    CT_TEST("f16/rounding", half_rounding, &f16),
    CT_TEST("bf16/rounding", half_rounding, &bf16),
    CT_TEST("f16/bulk", half_bulk, &f16),
    CT_TEST("bf16/bulk", half_bulk, &bf16),
    CT_TEST("load-store", single_numbers, NULL),
};

void ct_register(void) {
  ct_suite("dtype", tests, CT_COUNT(tests));
}
