/* SPDX-License-Identifier: MIT
 *
 * Points for domain O: see points.h. Each point has a style, which gives the probability of each
 * kind of value: a point full of ties finds other faults than one of many magnitudes. Values drawn
 * go into a small pool, from which later ones are repeated.
 */
#include "sample/points.h"

#include <math.h>
#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"

/* ---- Constants ---- */

int gemel__points_add_constant(gemel__points *p, double c) {
  if (!isfinite(c))
    return 0;
  for (size_t i = 0; i < p->n_constants; i++)
    if (p->constants[i] == c)
      return 0;
  if (gemel__grow(&p->constants, &p->capacity, p->n_constants + 1, sizeof *p->constants))
    return -1;
  p->constants[p->n_constants++] = c;
  return 0;
}

void gemel__points_clear(gemel__points *p) {
  gemel__free(p->constants, p->capacity * sizeof *p->constants);
  *p = (gemel__points){0};
}

/* ---- Kinds of value ---- */

enum { SMALL, HALF, TIE, CONSTANT, MAGNITUDE, UNIT, ZERO, KINDS };

/* Probability of each kind of value in each style, in sixteenths. */
static const unsigned char styles[][KINDS] = {
    {3, 2, 3, 4, 3, 1, 0},  /* a bit of all */
    {12, 0, 4, 0, 0, 0, 0}, /* small integers: everything stays exact, many ties */
    {3, 2, 11, 0, 0, 0, 0}, /* mostly ties: few different values */
    {1, 1, 2, 11, 1, 0, 0}, /* around the constants */
    {0, 0, 4, 0, 12, 0, 0}, /* all magnitudes */
    {0, 4, 1, 0, 0, 11, 0}, /* ordinary numbers about 1 */
    {2, 2, 0, 0, 0, 5, 7},  /* many zeros: several along one axis */
};

void gemel__points_begin(gemel__points *p, gemel__random *random) {
  p->pooled = 0;
  p->style = (int)gemel__random_below(random, sizeof styles / sizeof styles[0]);
}

static int draw_kind(const gemel__points *p, gemel__random *random) {
  int at = (int)gemel__random_below(random, 16), kind = 0;
  while (at >= styles[p->style][kind])
    at -= styles[p->style][kind++];
  if ((kind == TIE && !p->pooled) || (kind == CONSTANT && !p->n_constants))
    kind = SMALL;
  return kind;
}

static double draw_pooled(const gemel__points *p, gemel__random *random) {
  size_t filled = p->pooled < GEMEL__POINTS_POOL ? p->pooled : GEMEL__POINTS_POOL;
  return p->pool[gemel__random_below(random, filled)];
}

static void remember(gemel__points *p, double x) {
  p->pool[p->pooled++ % GEMEL__POINTS_POOL] = x;
}

static double draw_around_constant(const gemel__points *p, gemel__random *random) {
  double c = p->constants[gemel__random_below(random, p->n_constants)];
  const double around[] = {c, c, -c, 2 * c, c / 2, c + 1, c - 1, c + 0x1p-20, c - 0x1p-20};
  double x = around[gemel__random_below(random, sizeof around / sizeof around[0])];
  return isfinite(x) ? x : c;
}

static double draw_real(const gemel__points *p, gemel__random *random) {
  switch (draw_kind(p, random)) {
  case HALF:
    return (double)gemel__random_between(random, -16, 16) / 2;
  case TIE:
    return draw_pooled(p, random);
  case CONSTANT:
    return draw_around_constant(p, random);
  case MAGNITUDE:
    return gemel__random_sign(random) * gemel__random_magnitude(random, -60, 60);
  case ZERO:
    return 0;
  case UNIT:
    return gemel__random_sign(random) * gemel__random_magnitude(random, -3, 2);
  default:
    return (double)gemel__random_between(random, -8, 8);
  }
}

/* Draws an index. One in six is an end of the range, which uniform draws from thousands would
 * hardly hit. */
static int64_t draw_index(gemel__random *random, int64_t low, int64_t high) {
  uint64_t which = gemel__random_below(random, 12);
  return which == 0 ? low : which == 1 ? high - 1 : gemel__random_between(random, low, high - 1);
}

/* ---- Reals ---- */

/* Moves X into the range, keeping its magnitude if possible. */
static double bring_inside(double x, gemel_range range, gemel__random *random) {
  switch (range) {
  case GEMEL_RANGE_POSITIVE:
    return x == 0 ? 1 : fabs(x);
  case GEMEL_RANGE_NONNEGATIVE:
    return fabs(x);
  case GEMEL_RANGE_NONZERO:
    return x == 0 ? gemel__random_sign(random) : x;
  case GEMEL_RANGE_ABOVE_MINUS_ONE:
    return x > -1 ? x : x < -1 ? -1 / x : 0;
  case GEMEL_RANGE_MODERATE:
    return fabs(x) <= 16 ? x : fmod(x, 16);
  default:
    return x;
  }
}

void gemel__points_draw(gemel__points *p, gemel__random *random, gemel_range range, int64_t low,
                        int64_t high, size_t n, double *values) {
  for (size_t i = 0; i < n; i++) {
    double x;
    if (range == GEMEL_RANGE_INDEX)
      x = (double)draw_index(random, low, high);
    else
      x = bring_inside(draw_real(p, random), range, random) + 0.0;
    remember(p, x);
    values[i] = x;
  }
}

/* ---- Integers ---- */

/* The dtype's least and greatest number, as bits. */
static void range_of(gemel_dtype dtype, uint64_t *least, uint64_t *greatest) {
  unsigned bits = 8 * (unsigned)gemel_dtype_size(dtype);
  uint64_t all = UINT64_MAX >> (64 - bits);
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_SIGNED:
    *greatest = all >> 1;
    *least = ~*greatest;
    break;
  case GEMEL_KIND_UNSIGNED:
    *least = 0;
    *greatest = all;
    break;
  default:
    *least = 0;
    *greatest = 1;
  }
}

/* The low bits of X as a number of the dtype. */
static int64_t fold(uint64_t x, gemel_dtype dtype) {
  unsigned unused = 64 - 8 * (unsigned)gemel_dtype_size(dtype);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED) {
    uint64_t sign = (uint64_t)1 << (63 - unused);
    x &= UINT64_MAX >> unused;
    return (int64_t)((x ^ sign) - sign);
  }
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_BOOL)
    return x & 1;
  return (int64_t)(x & UINT64_MAX >> unused);
}

static uint64_t draw_extreme(gemel_dtype dtype, gemel__random *random) {
  uint64_t least, greatest, k = gemel__random_below(random, 3);
  unsigned bits = 8 * (unsigned)gemel_dtype_size(dtype);
  range_of(dtype, &least, &greatest);
  switch (gemel__random_below(random, 4)) {
  case 0:
    return least + k;
  case 1:
    return greatest - k;
  case 2:
    return ((uint64_t)1 << gemel__random_below(random, bits)) + k - 1;
  default:
    return gemel__random_bits(random);
  }
}

/* Draws a real by the point's style and rounds it down to an integer (0 if it is too large for
 * one). */
static uint64_t draw_whole(const gemel__points *p, gemel__random *random) {
  double x = floor(draw_real(p, random));
  return fabs(x) < 0x1p62 ? (uint64_t)(int64_t)x : 0;
}

static int64_t bring_integer_inside(int64_t x, gemel_dtype dtype, gemel_range range) {
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  uint64_t least, greatest;
  range_of(dtype, &least, &greatest);
  switch (range) {
  case GEMEL_RANGE_POSITIVE:
  case GEMEL_RANGE_NONNEGATIVE:
    if (is_signed && x < 0)
      x = (uint64_t)x == least ? (int64_t)greatest : -x;
    return x == 0 && range == GEMEL_RANGE_POSITIVE ? 1 : x;
  case GEMEL_RANGE_NONZERO:
    return x == 0 ? 1 : x;
  case GEMEL_RANGE_ABOVE_MINUS_ONE:
    return is_signed && x < 0 ? ~x : x;
  case GEMEL_RANGE_MODERATE:
    return is_signed ? x % 17 : (int64_t)((uint64_t)x % 17);
  default:
    return x;
  }
}

/* Draws a key of random numbers (a seed and a count) whose first u32 has 0, 1 or all ones in its
 * upper 24 bits. Then random_uniform begins with 0, 2^-24 or 1 - 2^-24 in f32, and with an end of
 * its range in f16 and bf16. */
static void draw_extreme_key(gemel__random *random, int64_t *values) {
  static const int64_t counts[] = {270842, 32609405, 9077817};
  values[0] = 1;
  values[1] = counts[gemel__random_below(random, sizeof counts / sizeof *counts)];
}

void gemel__points_draw_integers(gemel__points *p, gemel__random *random, gemel_dtype dtype,
                                 gemel_range range, int64_t low, int64_t high, size_t n,
                                 int64_t *values) {
  if (dtype == GEMEL_U64 && n == 2 && range == GEMEL_RANGE_ANY &&
      gemel__random_chance(random, 1, 4)) {
    draw_extreme_key(random, values);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    if (range == GEMEL_RANGE_INDEX) {
      values[i] = draw_index(random, low, high);
      continue;
    }
    if (i && gemel__random_chance(random, 1, 8)) {
      values[i] = values[gemel__random_below(random, i)];
      continue;
    }
    int extreme = gemel__random_chance(random, 1, 3);
    uint64_t bits = extreme ? draw_extreme(dtype, random) : draw_whole(p, random);
    values[i] = bring_integer_inside(fold(bits, dtype), dtype, range);
    remember(p, (double)values[i]);
  }
}

int64_t gemel__points_end(gemel_dtype dtype, gemel_range range, int64_t low, int64_t high,
                          int is_greatest) {
  uint64_t least, greatest;
  if (range == GEMEL_RANGE_INDEX)
    return is_greatest ? high - 1 : low;
  range_of(dtype, &least, &greatest);
  return bring_integer_inside(fold(is_greatest ? greatest : least, dtype), dtype, range);
}

/* ---- Storage ---- */

/* Stores X, limited to the largest finite number. */
static void store_real(gemel_dtype dtype, double x, char *to) {
  double most = gemel__largest(dtype);
  gemel__dtype_store(dtype, fabs(x) > most ? copysign(most, x) : x, to);
}

void gemel__points_store(gemel_dtype dtype, size_t n, const double *reals, const int64_t *integers,
                         void *data) {
  size_t bytes = gemel_dtype_size(dtype);
  char *to = data;
  for (size_t i = 0; i < n; i++, to += bytes) {
    if (gemel__is_float(dtype)) {
      store_real(dtype, reals ? reals[i] : (double)integers[i], to);
      continue;
    }
    uint64_t x = integers ? (uint64_t)integers[i] : (uint64_t)(int64_t)reals[i];
    uint8_t u8 = (uint8_t)x;
    uint16_t u16 = (uint16_t)x;
    uint32_t u32 = (uint32_t)x;
    const void *const by_size[] = {&u8, &u16, NULL, &u32, NULL, NULL, NULL, &x};
    memcpy(to, by_size[bytes - 1], bytes);
  }
}

void gemel__store_real(gemel_dtype dtype, double x, void *data) {
  if (isfinite(x)) {
    store_real(dtype, x, data);
  } else {
    gemel__dtype_store(dtype, x, data);
  }
}
