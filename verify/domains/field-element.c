/* SPDX-License-Identifier: MIT
 *
 * Elements of domain F: known rational numbers, facts about signs, and making elements from them. A
 * known number is kept beside the residues while it fits: numerators in 127 bits (so that sums and
 * products of 64-bit integers fit before they wrap), denominators in 63. Beyond that the number is
 * no longer known; the residues remain.
 */
#include "domains/field-element.h"

#include <math.h>
#include <string.h>

static const gemel__known unknown;

/* ---- Known numbers ---- */

/* Most B are powers of two, as the denominators of floats are. */
static gemel__wide gcd(gemel__wide a, gemel__wide b) {
  if (b != 0 && (b & (b - 1)) == 0) {
    gemel__wide twos = a & -a;
    return twos == 0 || twos > b ? b : twos;
  }
  while (b) {
    if (a >> 63 == 0 && b >> 63 == 0) {
      uint64_t x = (uint64_t)a, y = (uint64_t)b;
      while (y) {
        uint64_t t = x % y;
        x = y, y = t;
      }
      return x;
    }
    gemel__wide t = a % b;
    a = b, b = t;
  }
  return a;
}

/* Magnitudes from 2^126 on don't count as known: then negating, and halving a sum, can't overflow.
 */
static int fits(gemel__wide n) {
  return n >> 126 == 0 || n >> 126 == -1;
}

gemel__known gemel__known_make(gemel__wide n, gemel__wide d) {
  if (d < 0)
    n = -n, d = -d;
  if (d != 1) {
    gemel__wide g = d ? gcd(n < 0 ? -n : n, d) : 0;
    if (!g)
      return unknown;
    n /= g, d /= g;
  }
  if (!fits(n) || d > INT64_MAX)
    return unknown;
  gemel__known k = gemel__known_integer(n);
  k.d = (int64_t)d;
  return k;
}

/* n1 d2 + n2 d1 over d1 d2; d1 d2 fits in 126 bits. */
gemel__known gemel__known_add(gemel__known a, gemel__known b) {
  gemel__wide x, y, n;
  if (!a.d || !b.d)
    return unknown;
  if (__builtin_mul_overflow(gemel__known_numerator(a), (gemel__wide)b.d, &x) ||
      __builtin_mul_overflow(gemel__known_numerator(b), (gemel__wide)a.d, &y) ||
      __builtin_add_overflow(x, y, &n) || !fits(n))
    return unknown;
  return gemel__known_make(n, (gemel__wide)a.d * b.d);
}

gemel__known gemel__known_neg(gemel__known a) {
  gemel__known k = gemel__known_integer(-gemel__known_numerator(a));
  k.d = a.d;
  return k;
}

gemel__known gemel__known_mul(gemel__known a, gemel__known b) {
  gemel__wide n;
  if (!a.d || !b.d ||
      __builtin_mul_overflow(gemel__known_numerator(a), gemel__known_numerator(b), &n) || !fits(n))
    return unknown;
  return gemel__known_make(n, (gemel__wide)a.d * b.d);
}

gemel__known gemel__known_div(gemel__known a, gemel__known b) {
  gemel__wide n, d;
  if (!a.d || !b.d || __builtin_mul_overflow(gemel__known_numerator(a), (gemel__wide)b.d, &n) ||
      __builtin_mul_overflow(gemel__known_numerator(b), (gemel__wide)a.d, &d) || !fits(n) ||
      !fits(d))
    return unknown;
  return gemel__known_make(n, d);
}

gemel__known gemel__known_pow(gemel__known a, int64_t n) {
  gemel__known result = gemel__known_integer(1);
  if (!a.d)
    return n ? unknown : result;
  if (n < 0)
    a = gemel__known_div(result, a);
  for (uint64_t k = n < 0 ? -(uint64_t)n : (uint64_t)n; k && result.d; k >>= 1) {
    if (k & 1)
      result = gemel__known_mul(result, a);
    if (k > 1)
      a = gemel__known_mul(a, a);
  }
  return result;
}

static int64_t root_of_square(int64_t n) {
  int64_t x = n < 0 ? -1 : (int64_t)sqrt((double)n);
  for (int64_t y = x - 1; n >= 0 && y <= x + 1; y++)
    if (y >= 0 && y <= 3037000499 && y * y == n)
      return y;
  return -1;
}

gemel__known gemel__known_sqrt(gemel__known a) {
  gemel__wide n = gemel__known_numerator(a);
  if (!a.d || n < 0 || n > INT64_MAX)
    return unknown;
  int64_t x = root_of_square((int64_t)n), y = root_of_square(a.d);
  return x < 0 || y < 0 ? unknown : gemel__known_make(x, y);
}

gemel__wide gemel__known_floor(gemel__known a) {
  gemel__wide n = gemel__known_numerator(a), q = n / a.d;
  return q - (n % a.d < 0);
}

int gemel__known_sign(gemel__known a) {
  return a.high < 0 ? -1 : (a.high | a.low) != 0;
}

int gemel__known_is_zero(gemel__known a) {
  return a.d && !a.high && !a.low;
}

gemel__known gemel__known_double(double x) {
  int exponent;
  double m = frexp(x, &exponent);
  gemel__wide n = (int64_t)ldexp(m, 53);
  if (n == 0)
    return gemel__known_integer(0);
  for (exponent -= 53; exponent < 0 && n % 2 == 0; exponent++)
    n /= 2;
  if (exponent > 72 || exponent < -62)
    return unknown;
  return exponent >= 0 ? gemel__known_make(n * ((gemel__wide)1 << exponent), 1)
                       : gemel__known_make(n, (gemel__wide)1 << -exponent);
}

gemel__wide gemel__known_wrap(gemel__wide n, gemel_dtype dtype) {
  switch (dtype) {
  case GEMEL_BOOL:
    return n != 0;
  case GEMEL_I8:
    return (int8_t)(uint8_t)n;
  case GEMEL_I16:
    return (int16_t)(uint16_t)n;
  case GEMEL_I32:
    return (int32_t)(uint32_t)n;
  case GEMEL_I64:
    return (int64_t)(uint64_t)n;
  case GEMEL_U8:
    return (uint8_t)n;
  case GEMEL_U16:
    return (uint16_t)n;
  case GEMEL_U32:
    return (uint32_t)n;
  case GEMEL_U64:
    return (uint64_t)n;
  default:
    return n;
  }
}

/* ---- Facts about signs ---- */

uint8_t gemel__may_add(uint8_t a, uint8_t b) {
  uint8_t opposite = a & gemel__may_neg(b) & ~GEMEL__MAY_ZERO;
  uint8_t zero = opposite ? GEMEL__MAY_ZERO : a & b & GEMEL__MAY_ZERO;
  return (uint8_t)(((a | b) & ~GEMEL__MAY_ZERO) | zero);
}

uint8_t gemel__may_mul(uint8_t a, uint8_t b) {
  uint8_t same = a & b & ~GEMEL__MAY_ZERO, opposite = a & gemel__may_neg(b) & ~GEMEL__MAY_ZERO;
  return (uint8_t)(((a | b) & GEMEL__MAY_ZERO) | (same ? GEMEL__MAY_POSITIVE : 0) |
                   (opposite ? GEMEL__MAY_NEGATIVE : 0));
}

uint8_t gemel__may_neg(uint8_t a) {
  return (uint8_t)((a & 2) | (a & 1) << 2 | a >> 2);
}

/* ---- Elements ---- */

static uint64_t enter(const gemel__ring *r, gemel__wide n) {
  gemel__ring_wide magnitude = n < 0 ? -(gemel__ring_wide)n : (gemel__ring_wide)n;
  uint64_t x = (uint64_t)(magnitude >> 64 ? magnitude % r->p : (uint64_t)magnitude % r->p);
  x = gemel__ring_mul(r, x, r->square);
  return n < 0 ? gemel__ring_neg(r, x) : x;
}

void gemel__residues_known(const gemel__field *f, gemel__residues *e, gemel__known k) {
  int sign = gemel__known_sign(k);
  memset(e, 0, sizeof *e);
  e->known = k;
  e->may = (uint8_t)(1 << (sign + 1));
  for (int i = 0; i < f->chain.length; i++) {
    const gemel__ring *r = &f->chain.ring[i];
    e->r[i] = enter(r, gemel__known_numerator(k));
    if (k.d != 1) /* most denominators are powers of two, as those of floats are */
      e->r[i] = gemel__ring_mul(r, e->r[i],
                                (k.d & (k.d - 1)) == 0
                                    ? gemel__ring_power_of_two(r, -__builtin_ctzll((uint64_t)k.d))
                                    : gemel__ring_inverse(r, enter(r, k.d)));
  }
  e->rings = (uint8_t)((1u << f->chain.length) - 1);
  e->state = GEMEL__DEFINED;
}

void gemel__residues_infinity(const gemel__field *f, gemel__residues *e, int sign, unsigned flags) {
  memset(e, 0, sizeof *e);
  e->infinite = (int8_t)sign;
  e->may = sign > 0 ? GEMEL__MAY_POSITIVE : GEMEL__MAY_NEGATIVE;
  e->rings = (uint8_t)((1u << f->chain.length) - 1);
  e->flags = (uint8_t)flags;
}

int gemel__residues_sign(const gemel__residues *e) {
  if (e->infinite)
    return e->infinite;
  if (e->known.d)
    return gemel__known_sign(e->known);
  if (gemel__residues_all_zero(e))
    return 0;
  int may = e->may & ~GEMEL__MAY_ZERO;
  return may == GEMEL__MAY_POSITIVE ? 1 : may == GEMEL__MAY_NEGATIVE ? -1 : GEMEL__UNORDERED;
}

void gemel__residues_lose(gemel__field *f, gemel__residues *e, gemel__state state) {
  if (state == GEMEL__GAP)
    f->report.gaps++;
  else if (state == GEMEL__UNDEFINED)
    f->report.undefined++;
  e->state = (uint8_t)state;
  e->rings = 0;
  e->known = unknown;
  e->may = GEMEL__MAY_ANY;
  e->infinite = 0;
}

void gemel__residues_settle(gemel__field *f, gemel__residues *e, unsigned lost) {
  if (!e->rings)
    gemel__residues_lose(f, e, lost ? GEMEL__UNDEFINED : GEMEL__GAP);
}

int gemel__residues_all_zero(const gemel__residues *e) {
  if (e->infinite)
    return 0;
  for (int i = 0; i < GEMEL__MAX_RINGS; i++)
    if (e->rings >> i & 1 && e->r[i])
      return 0;
  return 1;
}
