/* SPDX-License-Identifier: MIT
 *
 * Numbers of the three models. Integers of w bits wrap in all of them. A float is, by model, a
 * residue in each ring in which it has a value; a rational of two 128-bit integers, and unknown
 * where these don't suffice; or an IEEE double, rounded once more to f32 where that is its dtype
 * (which gives what one rounding would, for + − × ÷ and roots, as 53 ≥ 2 · 24 + 2).
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "recheck.h"

const dtype_facts dtypes[] = {
#define DTYPE_ROW(name, kind, bits) {#name, kind, bits},
    DTYPE_TABLE(DTYPE_ROW)
#undef DTYPE_ROW
        {NULL, 0, 0}};

enum { SMALL_RING = 1 << 22 };

cell number_unknown(void) {
  cell a = {.state = UNKNOWN};
  return a;
}

static cell undefined(void) {
  cell a = {.state = UNDEFINED};
  return a;
}

/* What comes of operands of which one is no good. */
static cell spoiled(const cell *a, const cell *b) {
  return a->state == UNKNOWN || b->state == UNKNOWN ? number_unknown() : undefined();
}

cell number_wrapped(dtype t, wide n) {
  cell a = {.state = GOOD, .d = 1};
  int bits = dtypes[t].bits;
  if (t == DTYPE_bool) {
    a.n = n != 0;
    return a;
  }
  a.n = (wide)((uwide)n & (((uwide)1 << bits) - 1));
  if (dtypes[t].kind == 'i' && a.n >> (bits - 1) & 1) {
    a.n -= (wide)1 << bits;
  }
  return a;
}

/* ---- Residues ---- */

static uint64_t power(uint64_t a, uint64_t n, uint64_t p) {
  uint64_t result = 1 % p;
  for (; n > 0; n >>= 1) {
    if (n & 1) {
      result = (uint64_t)((uwide)result * a % p);
    }
    a = (uint64_t)((uwide)a * a % p);
  }
  return result;
}

static uint64_t residue_of(wide n, uint64_t p) {
  wide r = n % (wide)p;
  return (uint64_t)(r < 0 ? r + (wide)p : r);
}

static int is_square(uint64_t a, uint64_t p) {
  return a == 0 || power(a, (p - 1) / 2, p) == 1;
}

static cell settle(cell a) {
  a.state = a.rings != 0 ? GOOD : UNKNOWN;
  return a;
}

typedef enum ring_operation { RING_ADD, RING_SUB, RING_MUL, RING_DIV } ring_operation;

static cell ring_operate(const world *w, ring_operation what, const cell *a, const cell *b) {
  cell c = {.rings = a->rings & b->rings};
  for (int i = 0; i < w->n_rings; i++) {
    uint64_t p = w->prime[i], y = b->r[i];
    if (!(c.rings >> i & 1)) {
      continue;
    }
    if (what == RING_DIV) {
      c.rings &= y == 0 ? ~(1u << i) : ~0u;
      y = power(y, p - 2, p);
    }
    y = what == RING_SUB && y != 0 ? p - y : y;
    c.r[i] = what <= RING_SUB ? (uint64_t)(((uwide)a->r[i] + y) % p)
                              : (uint64_t)((uwide)a->r[i] * y % p);
  }
  return settle(c);
}

int world_prepare(world *w) {
  for (int i = 0; i + 1 < w->n_rings; i++) {
    uint64_t p = w->prime[i], x = 1;
    if (p != 2 * w->prime[i + 1] + 1 || w->generator[i] % p < 2 || !is_square(w->generator[i], p)) {
      return 0;
    }
    if (p >= SMALL_RING) {
      continue;
    }
    w->logs[i] = pool_take(w->pool, (size_t)p, sizeof *w->logs[i]);
    for (uint32_t k = 0; k < w->prime[i + 1]; k++) {
      w->logs[i][x] = k + 1;
      x = x * w->generator[i] % p;
    }
    if (x != 1) {
      return 0;
    }
  }
  return w->n_rings == 0 || w->prime[w->n_rings - 1] > 2;
}

/* ---- Rationals ---- */

static wide common_divisor(wide a, wide b) {
  a = a < 0 ? -a : a;
  while (b != 0) {
    wide c = a % b;
    a = b;
    b = c;
  }
  return a;
}

static cell ratio(wide n, wide d) {
  cell a = {.state = GOOD};
  wide g = common_divisor(n, d < 0 ? -d : d);
  a.n = d < 0 ? -n / g : n / g;
  a.d = (d < 0 ? -d : d) / g;
  return a;
}

static cell exact_sum(const cell *a, const cell *b, int minus) {
  wide g = common_divisor(a->d, b->d), x, y, n, d;
  if (__builtin_mul_overflow(a->n, b->d / g, &x) || __builtin_mul_overflow(b->n, a->d / g, &y) ||
      (minus ? __builtin_sub_overflow(x, y, &n) : __builtin_add_overflow(x, y, &n)) ||
      __builtin_mul_overflow(a->d / g, b->d, &d)) {
    return number_unknown();
  }
  return ratio(n, d);
}

static cell exact_product(const cell *a, const cell *b) {
  wide g = common_divisor(a->n, b->d), h = common_divisor(b->n, a->d), n, d;
  if (__builtin_mul_overflow(a->n / g, b->n / h, &n) ||
      __builtin_mul_overflow(a->d / h, b->d / g, &d)) {
    return number_unknown();
  }
  return ratio(n, d);
}

cell number_floor(const world *w, cell a) {
  (void)w;
  if (a.state != GOOD) {
    return a;
  }
  return ratio(a.n / a.d - (a.n % a.d < 0), 1);
}

/* The integer whose square is N; −1: there is none. */
static wide exact_root(wide n) {
  wide root = (wide)sqrtl((long double)n);
  for (wide k = root > 2 ? root - 2 : 0; k <= root + 2; k++) {
    if (k * k == n) {
      return k;
    }
  }
  return -1;
}

/* ---- In and out ---- */

static double rounded(dtype t, double x) {
  return t == DTYPE_f32 ? (double)(float)x : x;
}

/* X to so many bits of significand, to nearest, ties to even; f16 and bf16 have no subnormals here,
 * as no certificate needs any. */
static double to_bits(double x, int bits) {
  int exponent;
  double m = frexp(x, &exponent);
  return isfinite(x) ? ldexp(nearbyint(ldexp(m, bits)), exponent - bits) : x;
}

static cell of_double(const world *w, double x) {
  cell a = {.state = GOOD, .f = x};
  int exponent;
  if (w->model == MODEL_FLOAT) {
    return a;
  }
  if (!isfinite(x)) {
    return undefined();
  }
  wide n = (wide)ldexp(frexp(x, &exponent), 53);
  exponent -= 53;
  while (n != 0 && n % 2 == 0) {
    n /= 2;
    exponent++;
  }
  exponent = n == 0 ? 0 : exponent;
  if (w->model == MODEL_EXACT) {
    return exponent > 60 || exponent < -110 ? number_unknown()
                                            : ratio(exponent > 0 ? n * ((wide)1 << exponent) : n,
                                                    (wide)1 << (exponent < 0 ? -exponent : 0));
  }
  a.rings = (1u << w->n_rings) - 1;
  for (int i = 0; i < w->n_rings; i++) {
    uint64_t p = w->prime[i], two = power(2, (uint64_t)abs(exponent), p);
    two = exponent < 0 ? power(two, p - 2, p) : two;
    a.r[i] = (uint64_t)((uwide)residue_of(n, p) * two % p);
  }
  return settle(a);
}

cell number_of_double(const world *w, dtype t, double x) {
  (void)t;
  return of_double(w, x);
}

cell number_of_integer(const world *w, dtype t, wide n) {
  if (!is_float(t)) {
    return number_wrapped(t, n);
  }
  if (w->model == MODEL_EXACT) {
    return ratio(n, 1);
  }
  if (w->model == MODEL_FIELD) {
    cell a = {.rings = (1u << w->n_rings) - 1};
    for (int i = 0; i < w->n_rings; i++) {
      a.r[i] = residue_of(n, w->prime[i]);
    }
    return settle(a);
  }
  return of_double(w, rounded(t, t == DTYPE_f32 ? (double)(float)n : (double)n));
}

static const char *skip_space(const char *at) {
  while (isspace((unsigned char)*at)) {
    at++;
  }
  return at;
}

static int read_integer(const char **text, wide *n) {
  const char *at = skip_space(*text);
  int minus = *at == '-';
  at += minus;
  if (!isdigit((unsigned char)*at)) {
    return 0;
  }
  for (*n = 0; isdigit((unsigned char)*at); at++) {
    if (__builtin_mul_overflow(*n, 10, n) || __builtin_add_overflow(*n, *at - '0', n)) {
      return 0;
    }
  }
  *n = minus ? -*n : *n;
  *text = at;
  return 1;
}

/* "5:-:17": a residue for each ring, or a dash. */
static int read_residues(const world *w, const char **text, cell *a) {
  const char *at = *text;
  for (int i = 0; i < w->n_rings; i++) {
    wide n;
    at += i > 0 && *at == ':';
    if (*at == '-') {
      at++;
    } else if (read_integer(&at, &n) && n >= 0 && n < (wide)w->prime[i]) {
      a->rings |= 1u << i;
      a->r[i] = (uint64_t)n;
    } else {
      return 0;
    }
  }
  *a = settle(*a);
  *text = at;
  return 1;
}

static int read_word(const char **text, const char *word) {
  size_t length = strlen(word);
  int there = strncmp(*text, word, length) == 0 && !isalnum((unsigned char)(*text)[length]);
  *text += there ? length : 0;
  return there;
}

int number_read(const world *w, dtype t, const char **text, cell *a) {
  char *end;
  wide n, d = 1;
  memset(a, 0, sizeof *a);
  *text = skip_space(*text);
  if (read_word(text, "?") || read_word(text, "undefined")) {
    *a = (*text)[-1] == '?' ? number_unknown() : undefined();
    return 1;
  }
  if (is_float(t) && w->model == MODEL_FIELD) {
    return read_residues(w, text, a);
  }
  if (is_float(t) && (w->model == MODEL_FLOAT || strchr(*text, 'x') != NULL)) {
    double x = strtod(*text, &end);
    int read = end != *text && (*end == '\0' || isspace((unsigned char)*end));
    *text = read ? end : *text;
    if (read) {
      *a = of_double(w, x);
      return 1;
    }
  }
  if (!read_integer(text, &n)) {
    return 0;
  }
  if (**text == '/') {
    ++*text;
    if (!read_integer(text, &d) || d <= 0) {
      return 0;
    }
  }
  *a = is_float(t) ? ratio(n, d) : number_wrapped(t, n);
  return is_float(t) || (d == 1 && a->n == n);
}

int literal_read(const world *w, dtype t, const char **text, cell *a) {
  char *end;
  wide n;
  *text = skip_space(*text);
  if (read_word(text, "true") || read_word(text, "false")) {
    *a = number_of_integer(w, t, (*text)[-2] == 'u');
    return 1;
  }
  if (!is_float(t)) {
    int read = read_integer(text, &n);
    *a = number_wrapped(t, n);
    return read;
  }
  double x = t == DTYPE_f32 ? (double)strtof(*text, &end) : strtod(*text, &end);
  if (end == *text) {
    return 0;
  }
  *text = end;
  *a = of_double(w, t == DTYPE_f16 || t == DTYPE_bf16 ? to_bits(x, dtypes[t].bits) : x);
  return 1;
}

/* ---- Comparing ---- */

int number_compare(const world *w, dtype t, const cell *a, const cell *b, int *sign) {
  if (a->state != GOOD || b->state != GOOD) {
    return 0;
  }
  if (!is_float(t)) {
    *sign = a->n > b->n ? 1 : a->n < b->n ? -1 : 0;
    return 1;
  }
  if (w->model == MODEL_FLOAT) {
    *sign = a->f > b->f ? 1 : a->f < b->f ? -1 : 0;
    return !isnan(a->f) && !isnan(b->f);
  }
  if (w->model == MODEL_EXACT) {
    cell c = exact_sum(a, b, 1);
    *sign = c.n > 0 ? 1 : c.n < 0 ? -1 : 0;
    return c.state == GOOD;
  }
  return 0;
}

int number_sign(const world *w, dtype t, const cell *a, int *sign) {
  cell zero = number_of_integer(w, t, 0);
  return number_compare(w, t, a, &zero, sign);
}

int number_equal(const world *w, dtype t, const cell *a, const cell *b) {
  if (a->state == UNKNOWN || b->state == UNKNOWN) {
    return -1;
  }
  if (a->state != b->state) {
    return 0;
  }
  if (a->state == UNDEFINED || !is_float(t) || w->model == MODEL_EXACT) {
    return a->state == UNDEFINED || (a->n == b->n && (!is_float(t) || a->d == b->d));
  }
  if (w->model == MODEL_FLOAT) {
    return (isnan(a->f) && isnan(b->f)) ||
           (a->f == b->f && !signbit(a->f) == !signbit(b->f)); /* zeros have signs */
  }
  if ((a->rings & b->rings) == 0) {
    return -1;
  }
  for (int i = 0; i < w->n_rings; i++) {
    if ((a->rings & b->rings) >> i & 1 && a->r[i] != b->r[i]) {
      return 0;
    }
  }
  return 1;
}

/* ---- Arithmetic ---- */

static cell of_rounded(dtype t, double x) {
  cell a = {.state = GOOD, .f = rounded(t, x)};
  return t == DTYPE_f16 || t == DTYPE_bf16 ? number_unknown() : a;
}

cell number_add(const world *w, dtype t, cell a, cell b) {
  if (a.state != GOOD || b.state != GOOD) {
    return spoiled(&a, &b);
  }
  if (!is_float(t)) {
    return number_wrapped(t, t == DTYPE_bool ? (a.n | b.n) : a.n + b.n);
  }
  return w->model == MODEL_FIELD   ? ring_operate(w, RING_ADD, &a, &b)
         : w->model == MODEL_EXACT ? exact_sum(&a, &b, 0)
                                   : of_rounded(t, a.f + b.f);
}

cell number_sub(const world *w, dtype t, cell a, cell b) {
  if (a.state != GOOD || b.state != GOOD) {
    return spoiled(&a, &b);
  }
  if (!is_float(t)) {
    return number_wrapped(t, a.n - b.n);
  }
  return w->model == MODEL_FIELD   ? ring_operate(w, RING_SUB, &a, &b)
         : w->model == MODEL_EXACT ? exact_sum(&a, &b, 1)
                                   : of_rounded(t, a.f - b.f);
}

cell number_mul(const world *w, dtype t, cell a, cell b) {
  if (a.state != GOOD || b.state != GOOD) {
    return spoiled(&a, &b);
  }
  if (!is_float(t)) { /* modulo 2^64 is enough, and can't overflow */
    return number_wrapped(t, (wide)((uwide)(uint64_t)a.n * (uint64_t)b.n));
  }
  return w->model == MODEL_FIELD   ? ring_operate(w, RING_MUL, &a, &b)
         : w->model == MODEL_EXACT ? exact_product(&a, &b)
                                   : of_rounded(t, a.f * b.f);
}

cell number_div(const world *w, dtype t, cell a, cell b) {
  if (a.state != GOOD || b.state != GOOD) {
    return spoiled(&a, &b);
  }
  if (!is_float(t)) {
    return number_unknown();
  }
  if (w->model == MODEL_EXACT) {
    cell inverse = {.state = GOOD, .n = b.n < 0 ? -b.d : b.d, .d = b.n < 0 ? -b.n : b.n};
    return b.n == 0 ? undefined() : exact_product(&a, &inverse);
  }
  return w->model == MODEL_FIELD ? ring_operate(w, RING_DIV, &a, &b) : of_rounded(t, a.f / b.f);
}

cell number_neg(const world *w, dtype t, cell a) {
  if (is_float(t) && w->model == MODEL_FLOAT) {
    a.f = -a.f;
    return a;
  }
  return number_sub(w, t, number_of_integer(w, t, 0), a);
}

cell number_sqrt(const world *w, dtype t, cell a) {
  cell c = {.rings = a.rings};
  if (a.state != GOOD || !is_float(t)) {
    return a.state != GOOD ? a : number_unknown();
  }
  if (w->model == MODEL_FLOAT) {
    return of_rounded(t, sqrt(a.f));
  }
  if (w->model == MODEL_EXACT) {
    wide n = a.n < 0 ? -1 : exact_root(a.n), d = exact_root(a.d);
    return a.n < 0 ? undefined() : n < 0 || d < 0 ? number_unknown() : ratio(n, d);
  }
  for (int i = 0; i < w->n_rings; i++) {
    uint64_t p = w->prime[i];
    c.r[i] = power(a.r[i], (p + 1) / 4, p);
    c.rings &= is_square(a.r[i], p) && p % 4 == 3 ? ~0u : ~(1u << i);
  }
  return settle(c);
}

cell number_exp(const world *w, dtype t, cell a) {
  cell c = {.rings = a.rings >> 1};
  if (a.state != GOOD) {
    return a;
  }
  if (w->model == MODEL_EXACT && a.n == 0) {
    return ratio(1, 1);
  }
  if (w->model != MODEL_FIELD || !is_float(t)) {
    return number_unknown();
  }
  for (int i = 0; i + 1 < w->n_rings; i++) {
    c.r[i] = power(w->generator[i], a.r[i + 1], w->prime[i]);
  }
  return settle(c);
}

cell number_log(const world *w, dtype t, cell a) {
  cell c = {.rings = 0};
  if (a.state != GOOD) {
    return a;
  }
  if (w->model == MODEL_EXACT && (a.n <= 0 || (a.n == 1 && a.d == 1))) {
    return a.n <= 0 ? undefined() : ratio(0, 1);
  }
  if (w->model != MODEL_FIELD || !is_float(t)) {
    return number_unknown();
  }
  for (int i = 0; i + 1 < w->n_rings; i++) {
    uint32_t found = w->logs[i] != NULL && a.rings >> i & 1 ? w->logs[i][a.r[i]] : 0;
    c.rings |= found > 0 ? 1u << (i + 1) : 0;
    c.r[i + 1] = found > 0 ? found - 1 : 0;
  }
  return settle(c);
}

/* ---- Casts ---- */

/* 1 if the rational has no more than so many bits, so that no cast rounds it. */
static int fits(const cell *a, int bits) {
  wide n = a->n < 0 ? -a->n : a->n;
  while (n != 0 && n % 2 == 0) {
    n /= 2;
  }
  return (a->d & (a->d - 1)) == 0 && n < (wide)1 << bits && a->d < (wide)1 << 14 &&
         a->n / a->d < 1 << 15 && a->n / a->d > -(1 << 15);
}

static cell to_integer(const world *w, dtype to, const cell *a) {
  wide high = ((wide)1 << (dtypes[to].bits - (dtypes[to].kind == 'i'))) - 1;
  wide low = dtypes[to].kind == 'i' ? -high - 1 : 0, n;
  if (w->model == MODEL_FIELD) {
    return number_unknown();
  }
  if (w->model == MODEL_EXACT) {
    n = a->n / a->d;
    return n < low || n > high ? number_unknown() : number_wrapped(to, n);
  }
  if (isnan(a->f)) {
    return number_wrapped(to, 0);
  }
  n = a->f >= (double)high ? high : a->f <= (double)low ? low : (wide)a->f;
  return number_wrapped(to, n);
}

static cell to_truth(const world *w, dtype from, const cell *a) {
  int sign;
  if (is_float(from) && w->model == MODEL_FLOAT) {
    return number_wrapped(DTYPE_bool, !(a->f == 0));
  }
  return number_sign(w, from, a, &sign) ? number_wrapped(DTYPE_bool, sign) : number_unknown();
}

cell number_cast(const world *w, dtype from, dtype to, cell a) {
  if (a.state != GOOD || from == to) {
    return a;
  }
  if (to == DTYPE_bool) {
    return to_truth(w, from, &a);
  }
  if (!is_float(to)) {
    return is_float(from) ? to_integer(w, to, &a) : number_wrapped(to, a.n);
  }
  if (!is_float(from)) {
    cell exact = {.n = a.n, .d = 1};
    return w->model == MODEL_FLOAT || fits(&exact, dtypes[to].bits)
               ? (to == DTYPE_f16 || to == DTYPE_bf16) && w->model == MODEL_FLOAT
                     ? number_unknown()
                     : number_of_integer(w, to, a.n)
               : number_unknown();
  }
  if (w->model == MODEL_FLOAT) {
    return of_rounded(to, a.f);
  }
  return w->model == MODEL_FIELD || fits(&a, dtypes[to].bits) ? a : number_unknown();
}
