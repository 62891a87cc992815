/* SPDX-License-Identifier: MIT
 *
 * Inverses of scalar operations, see inverse.h. Floats are inverted in f64 and rounded, integers
 * modulo 2^w.
 */
#include "sample/inverse.h"

#include <math.h>
#include "core/dtype.h"
#include "sample/keys.h"
#include "sample/points.h"

enum { MOST_WRAPS = 8 };

/* ---- Numbers of a dtype ---- */

static int bits_of(gemel_dtype dtype) {
  return 8 * (int)gemel_dtype_size(dtype);
}

/* 1 if an integer DTYPE has X, as int64_t bits. */
static int holds(gemel_dtype dtype, int64_t x) {
  int bits = bits_of(dtype);
  if (gemel_dtype_kind(dtype) == GEMEL_KIND_BOOL) {
    return 0;
  }
  if (bits == 64) {
    return 1;
  }
  return gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED
             ? x >= -((int64_t)1 << (bits - 1)) && x < (int64_t)1 << (bits - 1)
             : x >= 0 && x < (int64_t)1 << bits;
}

/* X rounded to a float DTYPE. */
static double rounded(gemel_dtype dtype, double x) {
  unsigned char bytes[8] = {0};
  gemel__points_store(dtype, 1, &x, NULL, bytes);
  return gemel__dtype_load(dtype, bytes);
}

/* ---- Lists ---- */

void gemel__aim_add_real(gemel__aim_list *list, gemel_dtype dtype, double x) {
  size_t k;
  double asked = x;
  x = rounded(dtype, x);
  for (k = 0; k < list->count && list->at[k].real != x; k++) {
  }
  if (isfinite(asked) && fabs(asked) <= 2 * fabs(x) && k == list->count && k < GEMEL__AIM_LIST) {
    list->at[list->count++].real = x;
  }
}

void gemel__aim_add_whole(gemel__aim_list *list, gemel_dtype dtype, int64_t x) {
  size_t k;
  for (k = 0; k < list->count && list->at[k].whole != x; k++) {
  }
  if (holds(dtype, x) && k == list->count && k < GEMEL__AIM_LIST) {
    list->at[list->count++].whole = x;
  }
}

void gemel__aim_add(gemel__aim_list *list, gemel_dtype dtype, const gemel__aim_number *x) {
  if (gemel__is_float(dtype)) {
    gemel__aim_add_real(list, dtype, x->is_float ? x->real : (double)x->whole);
  } else if (!x->is_float) {
    gemel__aim_add_whole(list, dtype, x->whole);
  } else if (fabs(x->real) < 0x1p62) {
    gemel__aim_add_whole(list, dtype, (int64_t)floor(x->real));
    gemel__aim_add_whole(list, dtype, (int64_t)ceil(x->real));
  }
}

static void add_double(gemel__aim_list *list, gemel_dtype dtype, double x) {
  gemel__aim_number n = {1, x, 0};
  gemel__aim_add(list, dtype, &n);
}

/* ---- With one operand ---- */

static double real_of(const gemel__aim_number *n) {
  return n->is_float ? n->real : (double)n->whole;
}

#define INVERSE(name)                                                                              \
  void gemel__invert_##name(gemel__aim_list *list, gemel_dtype dtype, const gemel__aim_number *t,  \
                            const gemel__aim_number *c, int first)

#define ROOT(name, root)                                                                           \
  INVERSE(name) {                                                                                  \
    double x = real_of(t);                                                                         \
    (void)c, (void)first;                                                                          \
    add_double(list, dtype, root);                                                                 \
  }
ROOT(sqrt, x *x)
ROOT(exp, log(x))
ROOT(log, exp(x))
ROOT(log1p, expm1(x))
ROOT(expm1, log1p(x))
ROOT(tanh, atanh(x))
ROOT(sigmoid, log(x / (1 - x)))

INVERSE(sqr) {
  double root = sqrt(fabs(real_of(t)));
  (void)c, (void)first;
  add_double(list, dtype, root);
  add_double(list, dtype, -root);
}

INVERSE(neg) {
  gemel__aim_number minus = {t->is_float, -t->real, (int64_t)(0 - (uint64_t)t->whole)};
  (void)c, (void)first;
  gemel__aim_add(list, dtype, &minus);
}

INVERSE(abs) {
  gemel__aim_add(list, dtype, t);
  gemel__invert_neg(list, dtype, t, c, first);
}

/* Numbers that are rounded or truncated to T. */
INVERSE(cast) {
  static const int lost[] = {8, 16, 32}; /* widths of narrower integers, which wrap */
  (void)c, (void)first;
  gemel__aim_add(list, dtype, t);
  if (gemel__is_float(dtype) && !t->is_float) {
    add_double(list, dtype, (double)t->whole + 0.5);
    add_double(list, dtype, (double)t->whole - 0.5);
  }
  for (size_t k = 0; k < sizeof lost / sizeof *lost && !gemel__is_float(dtype) && !t->is_float;
       k++) {
    if (bits_of(dtype) > lost[k]) {
      gemel__aim_add_whole(list, dtype, (int64_t)((uint64_t)t->whole + (UINT64_C(1) << lost[k])));
    }
  }
}

/* ---- With a constant beside ---- */

/* Solutions of c x = t modulo 2^bits. If 2^k is the largest power of two that divides c, there are
 * 2^k of them. */
static void divide_whole(gemel__aim_list *list, gemel_dtype dtype, int64_t t, int64_t c) {
  int bits = bits_of(dtype), shift = 0;
  uint64_t mask = UINT64_MAX >> (64 - bits), odd = (uint64_t)c & mask, inverse = 1, x;
  if (odd == 0) {
    return;
  }
  while ((odd & 1) == 0) {
    odd >>= 1;
    shift++;
  }
  if (((uint64_t)t & ((UINT64_C(1) << shift) - 1)) != 0) {
    gemel__aim_add_whole(list, dtype, t / c); /* there is no solution: a number near one */
    return;
  }
  for (int k = 0; k < 6; k++) {
    inverse *= 2 - odd * inverse; /* Newton's iteration: each step doubles the number of right
                                   * bits */
  }
  x = (((uint64_t)t & mask) >> shift) * inverse & mask >> shift;
  for (uint64_t k = 0; k < MOST_WRAPS && (shift >= 3 || k < UINT64_C(1) << shift); k++) {
    uint64_t one = (x + (shift > 0 ? k << (bits - shift) : 0)) & mask;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
    gemel__aim_add_whole(list, dtype, is_signed ? (int64_t)((one ^ sign) - sign) : (int64_t)one);
  }
}

static int both_whole(gemel_dtype dtype, const gemel__aim_number *t, const gemel__aim_number *c) {
  return !gemel__is_float(dtype) && !t->is_float && !c->is_float;
}

INVERSE(add) {
  (void)first;
  if (both_whole(dtype, t, c)) {
    gemel__aim_add_whole(list, dtype, (int64_t)((uint64_t)t->whole - (uint64_t)c->whole));
  } else {
    add_double(list, dtype, real_of(t) - real_of(c));
  }
}

INVERSE(sub) {
  if (both_whole(dtype, t, c)) {
    uint64_t a = (uint64_t)t->whole, b = (uint64_t)c->whole;
    gemel__aim_add_whole(list, dtype, (int64_t)(first ? b - a : a + b));
  } else {
    add_double(list, dtype, first ? real_of(c) - real_of(t) : real_of(t) + real_of(c));
  }
}

INVERSE(mul) {
  (void)first;
  if (both_whole(dtype, t, c)) {
    divide_whole(list, dtype, t->whole, c->whole);
  } else {
    add_double(list, dtype, real_of(t) / real_of(c));
  }
}

INVERSE(div) {
  add_double(list, dtype, first ? real_of(c) / real_of(t) : real_of(t) * real_of(c));
}

/* t plus 0, 1, −1 and 7 times the modulus. */
INVERSE(mod) {
  static const int rounds[] = {0, 1, -1, 7};
  for (size_t k = 0; k < sizeof rounds / sizeof *rounds && !first; k++) {
    if (both_whole(dtype, t, c)) {
      uint64_t turn = (uint64_t)c->whole * (uint64_t)(int64_t)rounds[k];
      gemel__aim_add_whole(list, dtype, (int64_t)((uint64_t)t->whole + turn));
    } else {
      add_double(list, dtype, real_of(t) + rounds[k] * real_of(c));
    }
  }
}

INVERSE(pow) {
  double x = real_of(t), e = real_of(c);
  add_double(list, dtype, first ? log(x) / log(e) : pow(fabs(x), 1 / e));
  add_double(list, dtype, first ? log(x) / log(e) : -pow(fabs(x), 1 / e));
}

/* ---- Random numbers ---- */

static void add_keys(gemel__aim_list *list, gemel_dtype dtype, double fraction) {
  uint64_t counts[GEMEL__KEYS];
  size_t n = fraction >= 0 && fraction < 1
                 ? gemel__keys_of((uint32_t)ldexp(fraction, GEMEL__KEY_BITS), counts)
                 : 0;
  for (size_t k = 0; k < n; k++) {
    gemel__aim_add_whole(list, dtype, (int64_t)counts[k]);
  }
}

INVERSE(random_uniform) {
  (void)c, (void)first;
  add_keys(list, dtype, real_of(t));
}

/* Adds the key whose first 32 bits are WORD, if it is known. */
static void add_word(gemel__aim_list *list, gemel_dtype dtype, uint32_t word) {
  uint64_t count;
  if (gemel__key_of_word(word, &count)) {
    gemel__aim_add_whole(list, dtype, (int64_t)count);
  }
}

/* Numbers far from 0 are those at the ends. */
INVERSE(random_normal) {
  double fraction = erfc(-real_of(t) / sqrt(2)) / 2;
  (void)c, (void)first;
  add_keys(list, dtype, fraction);
  if (fmin(fraction, 1 - fraction) < ldexp(1, -GEMEL__KEY_BITS)) {
    add_word(list, dtype, fraction < 0.5 ? 0 : UINT32_MAX);
  }
}

/* Of u32 and u64: of which of them T is isn't told. */
INVERSE(random_bits) {
  (void)c, (void)first;
  if (!t->is_float) {
    add_keys(list, dtype, ldexp((double)(uint64_t)t->whole, -32));
    add_keys(list, dtype, ldexp((double)(uint64_t)t->whole, -64));
    add_word(list, dtype, (uint32_t)t->whole);
  }
}
