/* SPDX-License-Identifier: MIT
 *
 * Domain F: exp, log, roots, powers, and decisions. A general power needs no logarithm: for a
 * square x, the residue of the exponent in ring i + 1 is an exponent for ring i, and exp(y log x) =
 * x^y exactly. The last ring has no ring below it, so there the exponent must be a known fraction
 * whose denominator is a power of two (2 is invertible modulo the odd order of the group of
 * squares).
 */
#include "core/dtype.h"
#include "domains/field-element.h"

#include <math.h>

static gemel__field *field(gemel__domain *d) {
  return (gemel__field *)d;
}

static int character(const gemel__field *f, const gemel__residues *a, int i) {
  return gemel__ring_character(&f->chain.ring[i], a->r[i]);
}

/* The degree that a function of A gets, which counts as a new variable. */
static double new_degree(const gemel__residues *a) {
  return fmax(1, a->above + a->below);
}

/* ---- exp and log ---- */

void gemel__field_exp(gemel__domain *d, void *e, const void *a) {
  gemel__field *f = field(d);
  const gemel__residues *x = a;
  gemel__residues z = *x;
  if (gemel__known_is_zero(x->known)) {
    gemel__residues_known(f, e, gemel__known_integer(1));
    return;
  }
  if (x->infinite) {
    if (x->infinite > 0)
      f->domain.set(d, e, a);
    else
      gemel__residues_known(f, e, gemel__known_integer(0));
    return;
  }
  f->report.exponentials++;
  z.known.d = 0;
  if (x->state == GEMEL__DEFINED) {
    z.rings = x->rings >> 1;
    for (int i = 0; i + 1 < f->chain.length; i++)
      z.r[i] = z.rings >> i & 1 ? gemel__chain_exp(&f->chain, i, x->r[i + 1]) : 0;
    z.depends = x->depends >> 8;
    z.above = new_degree(x), z.below = 0;
    z.may = GEMEL__MAY_POSITIVE;
    z.flags |= GEMEL__FIELD_HAS_EXP;
    gemel__residues_settle(f, &z, 0);
  }
  *(gemel__residues *)e = z;
}

/* Finds the logarithm, in ring I + 1, of A's residue in ring I. 1: found; 0: none here; −1: not a
 * square. */
static int lower(gemel__field *f, const gemel__residues *a, int i, uint64_t *x) {
  uint64_t y = a->r[i];
  if (y == 0) {
    f->report.zero_inverses++;
    return -1;
  }
  if (character(f, a, i) < 0) {
    f->report.non_squares++;
    if (!(f->faults & GEMEL__FIELD_WHOLE_GROUP))
      return -1;
    y = gemel__ring_neg(&f->chain.ring[i], y);
  }
  if (gemel__chain_log(&f->chain, i, y, x))
    return 1;
  f->report.no_memory |= gemel__chain_has_log(&f->chain);
  return 0;
}

void gemel__field_log(gemel__domain *d, void *e, const void *a) {
  gemel__field *f = field(d);
  const gemel__residues *x = a;
  gemel__residues z = *x;
  unsigned lost = 0;
  if (x->state == GEMEL__DEFINED && (x->infinite || gemel__residues_all_zero(x))) {
    if (x->infinite < 0)
      gemel__residues_lose(f, e, GEMEL__UNDEFINED);
    else
      gemel__residues_infinity(f, e, x->infinite ? 1 : -1, x->flags);
    return;
  }
  f->report.exponentials++;
  f->report.roots++;
  z.known.d = 0;
  if (x->state == GEMEL__DEFINED &&
      gemel__known_is_zero(gemel__known_add(x->known, gemel__known_integer(-1)))) {
    gemel__residues_known(f, e, gemel__known_integer(0));
    return;
  }
  if (x->state == GEMEL__DEFINED) {
    z.rings = 0;
    for (int i = 0; i + 1 < f->chain.length; i++) {
      int found = x->rings >> i & 1 ? lower(f, x, i, &z.r[i + 1]) : 0;
      z.rings |= (uint8_t)((found > 0) << (i + 1));
      lost |= (unsigned)(found < 0) << i;
    }
    z.depends = x->depends << 8;
    z.above = new_degree(x), z.below = 0;
    z.may = GEMEL__MAY_ANY;
    z.flags |= GEMEL__FIELD_HAS_EXP | GEMEL__FIELD_HAS_ROOT;
    gemel__residues_settle(f, &z, lost);
  }
  *(gemel__residues *)e = z;
}

/* ---- Roots and powers ---- */

/* E = √X for an infinite X: +∞, or no value for −∞. */
static void root_of_infinity(gemel__field *f, gemel__residues *e, const gemel__residues *x) {
  if (x->infinite > 0)
    *e = *x;
  else
    gemel__residues_lose(f, e, GEMEL__UNDEFINED);
}

void gemel__field_sqrt(gemel__domain *d, void *e, const void *a) {
  gemel__field *f = field(d);
  const gemel__residues *x = a;
  gemel__residues z = *x;
  gemel__known k = gemel__known_sqrt(x->known);
  unsigned lost = 0;
  if (x->state == GEMEL__DEFINED && k.d) {
    gemel__residues_known(f, e, k);
    return;
  }
  if (x->infinite) {
    root_of_infinity(f, e, x);
    return;
  }
  f->report.roots++;
  z.known.d = 0;
  z.flags |= GEMEL__FIELD_HAS_ROOT;
  z.above *= 2, z.below *= 2;
  z.may = x->may & GEMEL__MAY_ZERO ? GEMEL__MAY_ZERO | GEMEL__MAY_POSITIVE : GEMEL__MAY_POSITIVE;
  for (int i = 0; i < f->chain.length && x->state == GEMEL__DEFINED; i++) {
    if (!(x->rings >> i & 1))
      continue;
    if (character(f, x, i) < 0)
      lost |= 1u << i;
    else
      z.r[i] = gemel__ring_sqrt(&f->chain.ring[i], x->r[i]);
  }
  f->report.non_squares += (unsigned)__builtin_popcount(lost);
  if (x->state == GEMEL__DEFINED) {
    z.rings &= (uint8_t)~lost;
    gemel__residues_settle(f, &z, lost);
  }
  *(gemel__residues *)e = z;
}

/* x^n. A ring where a negative power of 0 is taken drops out. */
static void integer_power(gemel__field *f, gemel__residues *z, const gemel__residues *x,
                          int64_t n) {
  uint64_t magnitude = n < 0 ? -(uint64_t)n : (uint64_t)n;
  gemel__residues a = *x;
  unsigned lost = 0;
  if (n == 0) {
    gemel__residues_known(f, z, gemel__known_integer(1));
    return;
  }
  for (int i = 0; i < f->chain.length; i++) {
    const gemel__ring *r = &f->chain.ring[i];
    if (n < 0 && a.rings >> i & 1 && !a.r[i] && !(f->faults & GEMEL__FIELD_INVERSE_OF_ZERO))
      lost |= 1u << i;
    z->r[i] = gemel__ring_pow(r, n < 0 ? gemel__ring_inverse(r, a.r[i]) : a.r[i], magnitude);
  }
  z->known = gemel__known_pow(a.known, n);
  z->may = z->known.d           ? (uint8_t)(1 << (gemel__known_sign(z->known) + 1))
           : magnitude % 2 != 0 ? a.may
                                : (a.may & GEMEL__MAY_ZERO) | GEMEL__MAY_POSITIVE;
  z->above = (n < 0 ? a.below : a.above) * (double)magnitude;
  z->below = (n < 0 ? a.above : a.below) * (double)magnitude;
  z->depends = a.depends;
  z->flags = a.flags;
  z->rings = a.rings & (uint8_t)~lost;
  z->state = GEMEL__DEFINED;
  f->report.zero_inverses += (unsigned)__builtin_popcount(lost);
  gemel__residues_settle(f, z, lost);
}

/* *N = Y as an exponent in ring I's group of squares. 0: it can't be one. */
static int exponent(const gemel__field *f, const gemel__residues *y, int i, uint64_t *n) {
  if (i + 1 < f->chain.length) {
    *n = gemel__ring_leave(&f->chain.ring[i + 1], y->r[i + 1]);
    return y->rings >> (i + 1) & 1;
  }
  gemel__wide order = (gemel__wide)f->chain.ring[i].order, half = (order + 1) / 2, x;
  if (!y->known.d || y->known.d & (y->known.d - 1))
    return 0;
  x = gemel__known_numerator(y->known) % order;
  x += x < 0 ? order : 0;
  for (int64_t k = y->known.d; k > 1; k /= 2)
    x = x * half % order;
  *n = (uint64_t)x;
  return 1;
}

/* x^y for x a square. */
static void general_power(gemel__field *f, gemel__residues *z, const gemel__residues *x,
                          const gemel__residues *y) {
  unsigned lost = 0;
  uint64_t n;
  gemel__residues w = *x;
  f->report.roots++;
  f->report.exponentials += !y->known.d;
  w.known.d = 0;
  w.rings = 0;
  for (int i = 0; i < f->chain.length; i++) {
    if (!(x->rings >> i & 1) || !exponent(f, y, i, &n))
      continue;
    if (character(f, x, i) < 1) {
      lost |= 1u << i;
      continue;
    }
    w.r[i] = gemel__ring_pow(&f->chain.ring[i], x->r[i], n);
    w.rings |= (uint8_t)(1u << i);
  }
  f->report.non_squares += (unsigned)__builtin_popcount(lost);
  w.depends |= y->depends >> 8;
  w.flags |= y->flags | GEMEL__FIELD_HAS_ROOT | (y->known.d ? 0 : GEMEL__FIELD_HAS_EXP);
  w.may = GEMEL__MAY_POSITIVE;
  w.above = new_degree(x) + new_degree(y), w.below = 0;
  gemel__residues_settle(f, &w, lost);
  *z = w;
}

/* The sign of |x| − 1, known for known numbers only. */
static int compare_with_one(const gemel__residues *x) {
  gemel__known k = x->known;
  if (x->infinite)
    return 1;
  if (!k.d)
    return GEMEL__UNORDERED;
  k = gemel__known_add(gemel__known_sign(k) < 0 ? gemel__known_neg(k) : k,
                       gemel__known_integer(-1));
  return k.d ? gemel__known_sign(k) : 1;
}

/* x^y where either is infinite, as C's pow has it: an infinite power is even. */
static void infinite_power(gemel__field *f, gemel__residues *z, const gemel__residues *x,
                           const gemel__residues *y) {
  int size = y->infinite ? compare_with_one(x) : 1;
  int power = gemel__residues_sign(y), towards = size * power;
  int odd = y->known.d == 1 && y->known.low & 1;
  unsigned flags = x->flags | y->flags;
  if (size == GEMEL__UNORDERED || power == GEMEL__UNORDERED ||
      (x->infinite < 0 && !y->infinite && !y->known.d))
    gemel__residues_lose(f, z, GEMEL__GAP);
  else if (towards == 0)
    gemel__residues_known(f, z, gemel__known_integer(1));
  else if (towards < 0)
    gemel__residues_known(f, z, gemel__known_integer(0));
  else
    gemel__residues_infinity(f, z, x->infinite < 0 && odd ? -1 : 1, flags);
}

void gemel__field_pow(gemel__domain *d, void *e, const void *a, const void *b) {
  gemel__field *f = field(d);
  const gemel__residues *x = a, *y = b;
  gemel__residues *z = e;
  gemel__state state = gemel__worst(x->state, y->state);
  int64_t n;
  if (state) {
    uint8_t flags = x->flags | y->flags;
    z->flags = flags;
    z->rings = 0;
    z->known.d = 0;
    z->infinite = 0;
    z->state = (uint8_t)state;
  } else if (x->infinite || y->infinite) {
    infinite_power(f, z, x, y);
  } else if (d->to_integer(d, y, &n)) {
    integer_power(f, z, x, n);
  } else if (gemel__residues_all_zero(x) && y->may == GEMEL__MAY_POSITIVE) {
    gemel__residues_known(f, z, gemel__known_integer(0));
  } else {
    general_power(f, z, x, y);
  }
}

/* ---- Decisions ---- */

/* The sign by the quadratic character in one ring: ring 1 if A has a nonzero residue there, else
 * the first. */
static int character_sign(const gemel__field *f, const gemel__residues *a) {
  if (a->rings >> 1 & 1 && a->r[1])
    return character(f, a, 1);
  for (int i = 0; i < f->chain.length; i++)
    if (a->rings >> i & 1 && a->r[i])
      return character(f, a, i);
  return 0;
}

/* Marks the rings in which A's character isn't SIGN as incoherent. */
static void check_coherence(gemel__field *f, const gemel__residues *a, int sign) {
  for (int i = 0; i < f->chain.length; i++)
    if (a->rings >> i & 1 && f->report.coherent >> i & 1 && character(f, a, i) != sign)
      f->report.coherent &= ~(1u << i);
}

static int forced_sign(gemel__field *f, const gemel__residues *a) {
  int64_t entry = gemel__tape_next(f->forced);
  int sign = entry < -1 || entry > 1 || f->forced->failed ? GEMEL__UNORDERED : (int)entry;
  int proven = a->state ? GEMEL__UNORDERED : gemel__residues_sign(a);
  f->report.forced++;
  f->report.ties += !a->state && sign == 0 && !gemel__residues_all_zero(a);
  f->report.contradictions += proven != GEMEL__UNORDERED && proven != sign;
  f->report.keyed_signs += a->flags & GEMEL__FIELD_IS_KEYED;
  if (!a->state && !a->known.d && !a->infinite && sign != GEMEL__UNORDERED)
    check_coherence(f, a, sign);
  return sign;
}

/* Counts A (or −A, which is the same) among the numbers whose sign is undecided. It is identified
 * by its residue in its first ring, up to the sign. 0 marks a free slot; A isn't 0. */
static void count_undecided(gemel__field *f, const gemel__residues *a) {
  int i = __builtin_ctz(a->rings);
  const gemel__ring *r = &f->chain.ring[i];
  uint64_t minus = gemel__ring_neg(r, a->r[i]), x = a->r[i] < minus ? a->r[i] : minus;
  for (size_t k = 0; k < GEMEL__FIELD_UNDECIDED && x; k++) {
    size_t at = (size_t)(x + k) % GEMEL__FIELD_UNDECIDED;
    if (f->undecided[at] == x)
      return;
    if (!f->undecided[at]) {
      f->undecided[at] = x;
      break;
    }
  }
  f->report.undecided++;
}

static int free_sign(gemel__field *f, const gemel__residues *a) {
  if (a->state)
    return GEMEL__UNORDERED;
  int sign = gemel__residues_sign(a);
  if (sign != GEMEL__UNORDERED) {
    f->report.proven++;
  } else {
    sign = character_sign(f, a);
    f->report.characters++;
    count_undecided(f, a);
    f->report.keyed_signs += a->flags & GEMEL__FIELD_IS_KEYED;
  }
  if (!a->known.d && !a->infinite)
    check_coherence(f, a, sign);
  return sign;
}

int gemel__field_sign(gemel__domain *d, const void *a) {
  gemel__field *f = field(d);
  int sign = f->forced ? forced_sign(f, a) : free_sign(f, a);
  if (f->record)
    gemel__tape_push(f->record, sign);
  return sign;
}

/* The floor of A: 1 and *FLOOR, or 0. */
static int decide_floor(gemel__field *f, const gemel__residues *a, gemel__wide *floor) {
  int known = !a->state && a->known.d;
  if (known)
    *floor = gemel__known_floor(a->known);
  if (!f->forced)
    return known;
  int64_t entry = gemel__tape_next(f->forced);
  f->report.forced++;
  int infinite = entry == GEMEL__FLOOR_INFINITE || entry == -GEMEL__FLOOR_INFINITE;
  if (a->infinite ? entry != a->infinite * GEMEL__FLOOR_INFINITE : infinite && !known)
    f->report.contradictions++;
  f->report.contradictions += known && *floor != entry && entry != INT64_MIN;
  f->report.keyed_signs += a->flags & GEMEL__FIELD_IS_KEYED;
  if (known || entry == INT64_MIN || infinite || f->forced->failed)
    return known;
  *floor = entry;
  return 1;
}

void gemel__field_floor(gemel__domain *d, void *e, const void *a) {
  gemel__field *f = field(d);
  const gemel__residues *x = a;
  gemel__residues *z = e;
  gemel__state state = x->state;
  gemel__wide floor = 0;
  int decided = decide_floor(f, x, &floor);
  int fits = decided && floor == (int64_t)floor && floor != INT64_MIN;
  if (f->record)
    gemel__tape_push(f->record, x->infinite ? x->infinite * GEMEL__FLOOR_INFINITE
                                : fits      ? (int64_t)floor
                                            : INT64_MIN);
  if (x->infinite) {
    f->domain.set(d, e, a);
    return;
  }
  if (decided && !state) {
    gemel__residues_known(f, z, gemel__known_integer(floor));
    return;
  }
  if (!state && !f->forced) {
    gemel__field_keyed(d, e, "floor", 1, &a);
    return;
  }
  *z = *x;
  gemel__residues_lose(f, z, GEMEL__GAP);
  if (state)
    z->state = (uint8_t)state;
}

/* ---- Storing in a dtype ---- */

void gemel__field_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps) {
  gemel__field *f = field(d);
  gemel__residues *a = e;
  (void)ulps;
  if (a->state || gemel__is_float(dtype))
    return;
  if (dtype == GEMEL_BOOL && a->known.d != 1) {
    gemel__residues_known(f, a, gemel__known_integer(!gemel__residues_all_zero(a)));
    return;
  }
  if (a->known.d != 1) {
    if (a->known.d || a->infinite || f->forced)
      gemel__residues_lose(f, a, GEMEL__GAP);
    else
      gemel__field_keyed(d, e, gemel_dtype_name(dtype), 1, (const void *const[]){e});
    return;
  }
  gemel__wide n = gemel__known_numerator(a->known);
  gemel__wide wrapped = gemel__known_wrap(n, dtype);
  if (wrapped != n)
    gemel__residues_known(f, a, gemel__known_integer(wrapped));
}
