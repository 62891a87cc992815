/* SPDX-License-Identifier: MIT
 *
 * Powers of a generator and logarithms in the group of squares modulo one prime p, which has order
 * q = (p − 1)/2. Three kinds, by the size of p.
 *
 * Small: one table of powers and one of logarithms of all residues; a non-square x carries the
 * logarithm of −x and a mark, so that the table also answers for characters and inverses.
 *
 * Medium: powers by windows of eight bits. For a logarithm of h, Euclid's algorithm on p and w = h
 * gˢ gives pairs with w ≡ ±u/v and u v of the size of p; for s = 0, 1, … until u and v have small
 * factors only. Then log h = Σ log of the primes of u − Σ of those of v − s, where the logarithm of
 * a prime l is that of whichever of l and −l is a square: signs can be left out, as the product of
 * squares is one. The logarithms of the few small primes are found by baby and giant steps when
 * first needed.
 *
 * Large: powers only.
 */
#include "domains/chain.h"

#include <string.h>

#include "core/alloc.h"

enum {
  WINDOW_BITS = 8,
  WINDOWS = 8,
  SMOOTH = 256,           /* bound on the primes */
  FACTOR_LIMIT = 1 << 18, /* of the table of smallest factors */
  NON_SQUARE = 1u << 31,  /* mark in the table of logarithms */
  NO_LOG = 0xffffffffu
};

struct gemel__logs {
  uint64_t p, order, canonical;
  /* small */
  uint32_t *powers; /* [order] */
  uint32_t *table;  /* [p], by residue in Montgomery's form */
  /* medium and large */
  uint64_t *windows; /* [WINDOWS][1 << WINDOW_BITS] */
  /* medium, made at the first logarithm */
  struct baby *baby; /* [1 << baby_bits], open addressing */
  int baby_bits;
  uint64_t steps;   /* baby steps taken */
  uint64_t stride;  /* canonical^−steps */
  uint8_t *factors; /* [FACTOR_LIMIT]: smallest prime factor below SMOOTH, else 0 */
  uint64_t prime_log[SMOOTH];
  uint8_t known[SMOOTH];
};

/* An element of the baby steps, by the low bits of its residue; x = 0 where empty, else 1 +
 * exponent. */
struct baby {
  uint32_t residue; /* bits 20..51 of it: what a collision gives is checked */
  uint32_t x;
};

static int is_small(const gemel__logs *l) {
  return l->p >> GEMEL__TABLE_BITS == 0;
}

size_t gemel__logs_bytes(const gemel__logs *l) {
  if (is_small(l))
    return (size_t)(l->p + l->order) * sizeof(uint32_t);
  return ((size_t)WINDOWS << WINDOW_BITS) * sizeof(uint64_t) +
         (l->baby ? sizeof(struct baby) << l->baby_bits : 0) + (l->factors ? FACTOR_LIMIT : 0);
}

uint64_t gemel__logs_prime(const gemel__logs *l) {
  return l->p;
}

uint64_t gemel__logs_canonical(const gemel__logs *l) {
  return l->canonical;
}

/* ---- Tables ---- */

static int make_tables(gemel__logs *l, const gemel__ring *r) {
  l->powers = gemel__alloc(l->order * sizeof *l->powers);
  l->table = gemel__alloc(l->p * sizeof *l->table);
  if (!l->powers || !l->table)
    return 0;
  memset(l->table, 0xff, l->p * sizeof *l->table);
  uint64_t a = r->one;
  for (uint64_t i = 0; i < l->order; i++) {
    l->powers[i] = (uint32_t)a;
    l->table[a] = (uint32_t)i;
    l->table[r->p - a] = (uint32_t)i | NON_SQUARE;
    a = gemel__ring_mul(r, a, l->canonical);
  }
  return 1;
}

static int make_windows(gemel__logs *l, const gemel__ring *r) {
  uint64_t base = l->canonical, *w;
  l->windows = gemel__alloc(((size_t)WINDOWS << WINDOW_BITS) * sizeof *l->windows);
  if (!(w = l->windows))
    return 0;
  for (int i = 0; i < WINDOWS; i++) {
    uint64_t a = r->one;
    for (int j = 0; j < 1 << WINDOW_BITS; j++) {
      *w++ = a;
      a = gemel__ring_mul(r, a, base);
    }
    base = a;
  }
  return 1;
}

gemel__logs *gemel__logs_new(const gemel__ring *r, uint64_t canonical) {
  gemel__logs *l = gemel__alloc_zeroed(sizeof *l);
  if (!l)
    return NULL;
  l->p = r->p, l->order = r->order, l->canonical = canonical;
  if (!(is_small(l) ? make_tables(l, r) : make_windows(l, r))) {
    gemel__logs_free(l);
    return NULL;
  }
  return l;
}

void gemel__logs_free(gemel__logs *l) {
  if (!l)
    return;
  gemel__free(l->powers, l->order * sizeof *l->powers);
  gemel__free(l->table, l->p * sizeof *l->table);
  gemel__free(l->windows, ((size_t)WINDOWS << WINDOW_BITS) * sizeof *l->windows);
  gemel__free(l->baby, sizeof *l->baby << l->baby_bits);
  gemel__free(l->factors, FACTOR_LIMIT);
  gemel__free(l, sizeof *l);
}

uint64_t gemel__logs_power(const gemel__logs *l, const gemel__ring *r, uint64_t x) {
  if (l->powers)
    return l->powers[x];
  const uint64_t *w = l->windows;
  uint64_t a = w[x & ((1 << WINDOW_BITS) - 1)];
  while (x >>= WINDOW_BITS) {
    w += 1 << WINDOW_BITS;
    a = gemel__ring_mul(r, a, w[x & ((1 << WINDOW_BITS) - 1)]);
  }
  return a;
}

int gemel__logs_character(const gemel__logs *l, uint64_t a, int *character) {
  if (!l->table)
    return 0;
  *character = l->table[a] & NON_SQUARE ? -1 : 1;
  return 1;
}

int gemel__logs_inverse(const gemel__logs *l, const gemel__ring *r, uint64_t a, uint64_t *x) {
  if (!l->table)
    return 0;
  uint32_t log = l->table[a], magnitude = log & ~(uint32_t)NON_SQUARE;
  uint64_t inverse = l->powers[magnitude ? l->order - magnitude : 0];
  *x = log & NON_SQUARE ? r->p - inverse : inverse;
  return 1;
}

/* ---- Baby and giant steps ---- */

static size_t slot(const gemel__logs *l, uint64_t a) {
  return (size_t)(a * 0x9e3779b97f4a7c15u >> (64 - l->baby_bits));
}

static int make_baby_steps(gemel__logs *l, const gemel__ring *r) {
  int order_bits = 64 - __builtin_clzll(l->order);
  l->baby_bits = (order_bits + 1) / 2 + 1;
  l->baby = gemel__alloc_array((size_t)1 << l->baby_bits, sizeof *l->baby);
  if (!l->baby)
    return 0;
  l->steps = UINT64_C(1) << (l->baby_bits - 1);
  uint64_t a = r->one;
  for (uint64_t x = 0; x < l->steps; x++) {
    size_t i = slot(l, a);
    while (l->baby[i].x)
      i = (i + 1) & (((size_t)1 << l->baby_bits) - 1);
    l->baby[i] = (struct baby){(uint32_t)a, (uint32_t)x + 1};
    a = gemel__ring_mul(r, a, l->canonical);
  }
  l->stride = gemel__ring_inverse(r, a);
  return 1;
}

/* The exponent of a square A, by giant steps. Residues are told apart by 32 of their bits, so a
 * match is checked. */
static uint64_t giant_steps(const gemel__logs *l, const gemel__ring *r, uint64_t a) {
  size_t mask = ((size_t)1 << l->baby_bits) - 1;
  uint64_t target = a;
  for (uint64_t giant = 0;; giant += l->steps) {
    for (size_t i = slot(l, a); l->baby[i].x; i = (i + 1) & mask) {
      uint64_t x = giant + l->baby[i].x - 1;
      if (l->baby[i].residue == (uint32_t)a && x < l->order && gemel__logs_power(l, r, x) == target)
        return x;
    }
    a = gemel__ring_mul(r, a, l->stride);
  }
}

/* ---- Logarithms by smooth quotients ---- */

static int make_factors(gemel__logs *l) {
  l->factors = gemel__alloc_zeroed(FACTOR_LIMIT);
  if (!l->factors)
    return 0;
  for (unsigned f = 2; f < SMOOTH; f++)
    if (!l->factors[f])
      for (unsigned n = f; n < FACTOR_LIMIT; n += f)
        if (!l->factors[n])
          l->factors[n] = (uint8_t)f;
  return 1;
}

/* 1 if N has small primes only. */
static int is_smooth(const gemel__logs *l, uint64_t n) {
  if (n >= FACTOR_LIMIT)
    return 0;
  while (n > 1) {
    if (!l->factors[n])
      return 0;
    n /= l->factors[n];
  }
  return 1;
}

static uint64_t log_of_prime(gemel__logs *l, const gemel__ring *r, unsigned f) {
  if (!l->known[f]) {
    uint64_t a = gemel__ring_enter(r, f);
    if (gemel__ring_character(r, a) < 0)
      a = gemel__ring_neg(r, a);
    l->prime_log[f] = giant_steps(l, r, a);
    l->known[f] = 1;
  }
  return l->prime_log[f];
}

/* Σ of the logarithms of the primes of a smooth N, modulo the order. */
static uint64_t log_of_smooth(gemel__logs *l, const gemel__ring *r, uint64_t n) {
  uint64_t sum = 0;
  while (n > 1) {
    unsigned f = l->factors[n];
    n /= f;
    sum += log_of_prime(l, r, f);
    sum -= sum >= l->order ? l->order : 0;
  }
  return sum;
}

/* Euclid on p and W: u and v, both smooth, with w ≡ ±u/v. 0 if there is no such pair. */
static int smooth_quotient(const gemel__logs *l, uint64_t w, uint64_t *u, uint64_t *v) {
  uint64_t r0 = l->p, r1 = w, t0 = 0, t1 = 1;
  while (r1 && t1 < FACTOR_LIMIT) {
    if (r1 < FACTOR_LIMIT && is_smooth(l, r1) && is_smooth(l, t1)) {
      *u = r1, *v = t1;
      return 1;
    }
    uint64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 + q * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  return 0;
}

int gemel__logs_find(gemel__logs *l, const gemel__ring *r, uint64_t a, uint64_t *x) {
  uint64_t u, v, shift = 0;
  if (l->table) {
    *x = l->table[a] & ~(uint32_t)NON_SQUARE;
    return 1;
  }
  if (l->p >> GEMEL__LOG_BITS || (!l->factors && !make_factors(l)) ||
      (!l->baby && !make_baby_steps(l, r)))
    return 0;
  while (!smooth_quotient(l, gemel__ring_leave(r, a), &u, &v)) {
    a = gemel__ring_mul(r, a, l->canonical);
    shift++;
  }
  uint64_t up = log_of_smooth(l, r, u), down = log_of_smooth(l, r, v) + shift % l->order;
  down -= down >= l->order ? l->order : 0;
  *x = up >= down ? up - down : up + l->order - down;
  return 1;
}
