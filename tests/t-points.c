/*
 * The random numbers and sample points of the harness: known answers of the generator, evenness,
 * values within their ranges, everything planted on purpose really drawn, and storage in every
 * dtype.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample/points.h"
#include "base/random.h"

/* ---- Random numbers ---- */

/* The first outputs of xoshiro256** from the state {1, 2, 3, 4}, and of splitmix64 from the seed
 * 1234567, as published with the generators. */
static void generator_is_known(const void *data) {
  (void)data;
  const uint64_t wanted[] = {11520u, 0u, 1509978240u, UINT64_C(1215971899390074240),
                             UINT64_C(1216172134540287360)};
  gemel__random r = {{1, 2, 3, 4}};
  for (size_t i = 0; i < CT_COUNT(wanted); i++)
    CT_EQ_UINT(gemel__random_bits(&r), wanted[i]);
  uint64_t state = 1234567;
  CT_EQ_UINT(gemel__splitmix(&state), UINT64_C(6457827717110365317));
  CT_EQ_UINT(gemel__splitmix(&state), UINT64_C(3203168211198807973));
}

static void streams_differ(const void *data) {
  (void)data;
  gemel__random a, b, c, d;
  gemel__random_seed(&a, 5);
  gemel__random_seed(&b, 5);
  gemel__random_split(&c, 5, 0);
  gemel__random_split(&d, 5, 1);
  for (int i = 0; i < 100; i++) {
    uint64_t x = gemel__random_bits(&a), y = gemel__random_bits(&c), z = gemel__random_bits(&d);
    CT_EQ_UINT(x, gemel__random_bits(&b));
    CT_CHECK(x != y && x != z && y != z);
  }
}

static void draws_are_even(const void *data) {
  (void)data;
  gemel__random r;
  gemel__random_seed(&r, 31);
  long counts[7] = {0}, chances = 0, below_half = 0, exponents[5] = {0};
  for (int i = 0; i < 70000; i++) {
    counts[gemel__random_below(&r, 7)]++;
    chances += gemel__random_chance(&r, 1, 4);
    below_half += gemel__random_unit(&r) < 0.5;
    double x = gemel__random_magnitude(&r, -2, 2), u = gemel__random_uniform(&r, -3, 5);
    CT_CHECK(x >= 0.25 && x < 8 && u >= -3 && u <= 5);
    exponents[ilogb(x) + 2]++;
    int64_t k = gemel__random_between(&r, INT64_MIN, INT64_MAX),
            m = gemel__random_between(&r, 4, 4);
    CT_CHECK(m == 4);
    (void)k;
  }
  for (int i = 0; i < 7; i++)
    CT_CHECK(labs(counts[i] - 10000) < 500);
  for (int i = 0; i < 5; i++)
    CT_CHECK(labs(exponents[i] - 14000) < 600);
  CT_CHECK(labs(chances - 17500) < 600 && labs(below_half - 35000) < 700);
  long low = 0; /* without rejection of the last, incomplete round this would be a half */
  for (int i = 0; i < 30000; i++)
    low += gemel__random_below(&r, (uint64_t)3 << 62) < (uint64_t)1 << 62;
  CT_CHECK(labs(low - 10000) < 500);
  CT_EQ_UINT(gemel__random_below(&r, 0), 0);
  CT_EQ_UINT(gemel__random_below(&r, 1), 0);
}

static void permutations_are_whole(const void *data) {
  (void)data;
  gemel__random r;
  gemel__random_seed(&r, 32);
  size_t p[50], first[4] = {0};
  for (int i = 0; i < 4000; i++) {
    unsigned char seen[50] = {0};
    gemel__random_permutation(&r, 50, p);
    for (int k = 0; k < 50; k++)
      seen[p[k]]++;
    for (int k = 0; k < 50; k++)
      CT_CHECK(seen[k] == 1);
    gemel__random_permutation(&r, 4, p);
    first[p[0]]++;
  }
  for (int k = 0; k < 4; k++)
    CT_CHECK(first[k] > 850 && first[k] < 1150);
}

/* ---- Points ---- */

static const gemel_range ranges[] = {
    GEMEL_RANGE_ANY,     GEMEL_RANGE_POSITIVE,        GEMEL_RANGE_NONNEGATIVE,
    GEMEL_RANGE_NONZERO, GEMEL_RANGE_ABOVE_MINUS_ONE, GEMEL_RANGE_MODERATE,
    GEMEL_RANGE_INDEX};
static const char *const range_names[] = {
    "any", "positive", "nonnegative", "nonzero", "above_minus_one", "moderate", "index"};

static int is_inside(double x, gemel_range range) {
  switch (range) {
  case GEMEL_RANGE_POSITIVE:
    return x > 0;
  case GEMEL_RANGE_NONNEGATIVE:
    return x >= 0;
  case GEMEL_RANGE_NONZERO:
    return x != 0;
  case GEMEL_RANGE_ABOVE_MINUS_ONE:
    return x > -1;
  case GEMEL_RANGE_MODERATE:
    return fabs(x) <= 16;
  case GEMEL_RANGE_INDEX:
    return x >= -3 && x < 4 && x == floor(x);
  default:
    return 1;
  }
}

static void ranges_are_kept(const void *data) {
  gemel_range range = *(const gemel_range *)data;
  gemel__random r;
  gemel__random_seed(&r, 33);
  gemel__points p = {0};
  gemel__points_add_constant(&p, -1);
  gemel__points_add_constant(&p, 1e300);
  gemel__points_add_constant(&p, -DBL_MAX);
  gemel__points_add_constant(&p, 0x1p-1074);
  double x[20];
  size_t outside = 0;
  for (int i = 0; i < 3000; i++) {
    gemel__points_begin(&p, &r);
    gemel__points_draw(&p, &r, range, -3, 4, CT_COUNT(x), x);
    for (size_t k = 0; k < CT_COUNT(x); k++)
      outside += !isfinite(x[k]) || !is_inside(x[k], range) || (x[k] == 0 && signbit(x[k]));
  }
  CT_EQ_UINT(outside, 0);
  gemel__points_clear(&p);
}

static const gemel_dtype dtypes[] = {
#define DTYPE(E, name, bytes, kind, type) GEMEL_##E,
    GEMEL_DTYPE_TABLE(DTYPE)};

/* Is X a number of the dtype, as gemel__points_draw_integers stores it? */
static int is_number(gemel_dtype dtype, int64_t x) {
  switch (dtype) {
  case GEMEL_BOOL:
    return x == 0 || x == 1;
#define INSIDE(E, type)                                                                            \
  case GEMEL_##E:                                                                                  \
    return x == (int64_t)(type)x
    INSIDE(I8, int8_t);
    INSIDE(I16, int16_t);
    INSIDE(I32, int32_t);
    INSIDE(U8, uint8_t);
    INSIDE(U16, uint16_t);
    INSIDE(U32, uint32_t);
  default:
    return 1;
  }
}

static void extremes_are_drawn(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  gemel__random r;
  gemel__random_seed(&r, 34);
  gemel__points p = {0};
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  unsigned bits = 8 * (unsigned)gemel_dtype_size(dtype);
  uint64_t all = UINT64_MAX >> (64 - bits);
  int64_t greatest = dtype == GEMEL_BOOL ? 1 : (int64_t)(is_signed ? all >> 1 : all);
  int64_t least = is_signed ? -greatest - 1 : 0, x[10];
  long top = 0, bottom = 0, zero = 0, ties = 0;
  for (int i = 0; i < 2000; i++) {
    gemel__points_begin(&p, &r);
    gemel_range range = ranges[i % 6];
    gemel__points_draw_integers(&p, &r, dtype, range, 0, 0, CT_COUNT(x), x);
    for (size_t k = 0; k < CT_COUNT(x); k++) {
      double value = dtype == GEMEL_U64 ? (double)(uint64_t)x[k] : (double)x[k];
      if (!is_number(dtype, x[k]) || !is_inside(value, range))
        CT_FAIL("%lld in range %s", (long long)x[k], range_names[range]);
      top += x[k] == greatest;
      bottom += x[k] == least;
      zero += x[k] == 0;
      ties += k && x[k] == x[k - 1];
    }
    gemel__points_draw_integers(&p, &r, dtype, GEMEL_RANGE_INDEX, 1, 2, CT_COUNT(x), x);
    CT_CHECK(x[0] == 1 && x[9] == 1);
  }
  CT_CHECK(top > 100 && bottom > 100 && zero > 100 && ties > 100);
  gemel__points_clear(&p);
}

/* Every kind that the header promises, and ties between two leaves. */
static void kinds_are_drawn(const void *data) {
  (void)data;
  gemel__random r;
  gemel__random_seed(&r, 35);
  gemel__points p = {0};
  const double c = 1000.7;
  const double around[] = {c, -c, 2 * c, c / 2, c + 1, c - 1, c + 0x1p-20, c - 0x1p-20};
  long seen[CT_COUNT(around)] = {0}, halves = 0, integers = 0, huge = 0, tiny = 0, ties = 0;
  CT_EQ_INT(gemel__points_add_constant(&p, c), 0);
  CT_EQ_INT(gemel__points_add_constant(&p, c), 0);
  CT_EQ_INT(gemel__points_add_constant(&p, NAN), 0);
  CT_EQ_INT(gemel__points_add_constant(&p, INFINITY), 0);
  CT_EQ_UINT(p.n_constants, 1);
  for (int i = 0; i < 2000; i++) {
    double x[6], y[6];
    gemel__points_begin(&p, &r);
    gemel__points_draw(&p, &r, GEMEL_RANGE_ANY, 0, 0, 6, x);
    gemel__points_draw(&p, &r, GEMEL_RANGE_ANY, 0, 0, 6, y);
    for (int k = 0; k < 6; k++) {
      for (size_t j = 0; j < CT_COUNT(around); j++)
        seen[j] += x[k] == around[j];
      integers += x[k] == floor(x[k]) && fabs(x[k]) <= 8;
      halves += fabs(x[k]) <= 8 && x[k] != floor(x[k]) && 2 * x[k] == floor(2 * x[k]);
      huge += fabs(x[k]) > 0x1p50;
      tiny += x[k] != 0 && fabs(x[k]) < 0x1p-50;
      for (int j = 0; j < 6; j++)
        ties += x[k] == y[j] && fabs(x[k]) > 0x1p20; /* no other way to repeat those */
    }
  }
  for (size_t j = 0; j < CT_COUNT(around); j++)
    CT_CHECK(seen[j] > 50);
  CT_CHECK(integers > 2000 && halves > 100 && huge > 100 && tiny > 100);
  CT_LE_DOUBLE(100, (double)ties);
  gemel__points_clear(&p);
  CT_CHECK(p.constants == NULL);
}

static void points_repeat(const void *data) {
  (void)data;
  double x[2][50];
  int64_t y[2][50];
  for (int i = 0; i < 2; i++) {
    gemel__random r;
    gemel__points p = {0};
    gemel__random_seed(&r, 36);
    gemel__points_add_constant(&p, 3);
    gemel__points_begin(&p, &r);
    gemel__points_draw(&p, &r, GEMEL_RANGE_ANY, 0, 0, 50, x[i]);
    gemel__points_draw_integers(&p, &r, GEMEL_I32, GEMEL_RANGE_ANY, 0, 0, 50, y[i]);
    gemel__points_clear(&p);
  }
  CT_EQ_MEM(x[0], x[1], sizeof x[0]);
  CT_EQ_MEM(y[0], y[1], sizeof y[0]);
}

/* ---- Storage ---- */

static void storage_is_right(const void *data) {
  (void)data;
  const double reals[] = {0,           1,           -2,        0.1,       1e30,    -1e30,
                          65504,       65519,       0x1p-24,   0x1.8p-24, 0x1p-25, -0x1p-15,
                          0x1.ff8p-15, 0x1.ffcp-15, 0x1.fffp0, 0x1.fffp1};
  const uint16_t f16[] = {0,      0x3c00, 0xc000, 0x2e66, 0x7bff, 0xfbff, 0x7bff, 0x7bff,
                          0x0001, 0x0002, 0,      0x8200, 0x03ff, 0x0400, 0x4000, 0x4400};
  uint16_t bits[CT_COUNT(reals)];
  gemel__points_store(GEMEL_F16, CT_COUNT(reals), reals, NULL, bits);
  for (size_t i = 0; i < CT_COUNT(reals); i++) {
    ct_context("%a", reals[i]);
    CT_EQ_INT(bits[i], f16[i]);
  }
  const double wide[] = {1, -1.5, 3.140625, 0x1p-133, 1e39, 1.00390625};
  const uint16_t bf16[] = {0x3f80, 0xbfc0, 0x4049, 1, 0x7f7f, 0x3f80};
  gemel__points_store(GEMEL_BF16, CT_COUNT(wide), wide, NULL, bits);
  for (size_t i = 0; i < CT_COUNT(wide); i++) {
    ct_context("%a", wide[i]);
    CT_EQ_INT(bits[i], bf16[i]);
  }
  float single[2];
  gemel__points_store(GEMEL_F32, 2, (const double[]){0.1, -1e300}, NULL, single);
  CT_CHECK(single[0] == 0.1f && single[1] == -FLT_MAX);
  const int64_t integers[] = {-1, 200, 70000};
  int8_t i8[3];
  uint16_t u16[3];
  uint64_t u64[3];
  double f64[3];
  gemel__points_store(GEMEL_I8, 3, NULL, integers, i8);
  CT_CHECK(i8[0] == -1 && i8[1] == -56 && i8[2] == 112);
  gemel__points_store(GEMEL_U16, 3, NULL, integers, u16);
  CT_CHECK(u16[0] == 65535 && u16[1] == 200 && u16[2] == 4464);
  gemel__points_store(GEMEL_U64, 3, NULL, integers, u64);
  CT_CHECK(u64[0] == UINT64_MAX && u64[2] == 70000);
  gemel__points_store(GEMEL_F64, 3, NULL, integers, f64);
  CT_CHECK(f64[0] == -1 && f64[2] == 70000);
}

static int memory_runs_out(void *data) {
  (void)data;
  gemel__points p = {0};
  for (int i = 0; i < 400; i++)
    if (gemel__points_add_constant(&p, i)) {
      gemel__points_clear(&p);
      return GEMEL_NO_MEMORY;
    }
  gemel__points_clear(&p);
  return GEMEL_OK;
}

static void refusals_are_survived(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(memory_runs_out, NULL) > 3);
}

static const ct_test tests[] = {
    CT_TEST("random/known", generator_is_known, NULL),
    CT_TEST("random/streams", streams_differ, NULL),
    CT_TEST("random/even", draws_are_even, NULL),
    CT_TEST("random/permutation", permutations_are_whole, NULL),
    CT_TEST("kinds", kinds_are_drawn, NULL),
    CT_TEST("repeat", points_repeat, NULL),
    CT_TEST("store", storage_is_right, NULL),
    CT_TEST("memory", refusals_are_survived, NULL),
};

void ct_register(void) {
  char text[60];
  ct_suite("points", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(ranges); i++) {
    snprintf(text, sizeof text, "range/%s", range_names[i]);
    CT_ADD("points", text, ranges_are_kept, &ranges[i]);
  }
  for (size_t i = 0; i < CT_COUNT(dtypes); i++) {
    snprintf(text, sizeof text, "integers/%s", gemel_dtype_name(dtypes[i]));
    if (gemel_dtype_kind(dtypes[i]) != GEMEL_KIND_FLOAT)
      CT_ADD("points", text, extremes_are_drawn, &dtypes[i]);
  }
}
