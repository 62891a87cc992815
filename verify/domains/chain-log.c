/* SPDX-License-Identifier: MIT
 *
 * Powers and logarithms in the group of squares modulo one prime p, of order q = (p − 1)/2. The
 * method depends on the size of p.
 *
 * Small: a table of powers, and a table of logarithms of all residues. For a non-square x it has
 * the logarithm of −x and a mark, so it also gives characters and inverses.
 *
 * Medium: powers by windows of eight bits, logarithms by index calculus. For a square w, Euclid's
 * algorithm on p and w gives pairs with w ≡ ±u/v and u v about p. If u and v have small primes
 * only, log w = Σ log of the primes of u − Σ of those of v. Signs can be ignored: the logarithm of
 * a prime l is defined as that of l or −l, whichever is a square. For log h, take w = h gˢ, s = 0,
 * 1, …, until u and v are smooth: some seven tries. The logarithms of the first primes solve linear
 * equations modulo q, got from powers gˢ. That of each further prime follows from those before it,
 * like any logarithm.
 *
 * Large: powers only.
 */
#include "domains/chain.h"

#include <string.h>

#include "core/alloc.h"

enum {
  WINDOW_BITS = 8,
  WINDOWS = 8,
  CORE_PRIMES = 18,       /* number of primes below 64, whose logarithms are found by linear
                           * equations */
  SMOOTH = 256,           /* bound on the primes of smooth numbers */
  FACTOR_LIMIT = 1 << 17, /* size of the table of smallest prime factors */
};
static const uint32_t non_square = UINT32_C(1) << 31; /* mark of a non-square in the table of
                                                       * logarithms */

static const uint8_t core_primes[CORE_PRIMES] = {2,  3,  5,  7,  11, 13, 17, 19, 23,
                                                 29, 31, 37, 41, 43, 47, 53, 59, 61};

struct gemel__logs {
  uint64_t p, order, canonical;
  /* small */
  uint32_t *powers; /* [order] */
  uint32_t *table;  /* [p], by residue in Montgomery's form */
  /* medium and large */
  uint64_t *windows; /* [WINDOWS][1 << WINDOW_BITS] */
  /* medium, made at the first logarithm */
  uint8_t **factors;          /* *factors: [FACTOR_LIMIT], the smallest prime factor if below
                               * SMOOTH, else 0 */
  uint64_t prime_log[SMOOTH]; /* below the order */
  int ready;
};

static int is_small(const gemel__logs *l) {
  return l->p >> GEMEL__TABLE_BITS == 0;
}

size_t gemel__logs_bytes(const gemel__logs *l) {
  if (is_small(l))
    return (size_t)(l->p + l->order) * sizeof(uint32_t);
  return ((size_t)WINDOWS << WINDOW_BITS) * sizeof(uint64_t);
}

uint64_t gemel__logs_prime(const gemel__logs *l) {
  return l->p;
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
    l->table[r->p - a] = (uint32_t)i | non_square;
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

gemel__logs *gemel__logs_new(const gemel__ring *r, uint64_t canonical, uint8_t **factors) {
  gemel__logs *l = gemel__alloc_zeroed(sizeof *l);
  if (!l)
    return NULL;
  l->p = r->p, l->order = r->order, l->canonical = canonical;
  l->factors = factors;
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
  *character = l->table[a] & non_square ? -1 : 1;
  return 1;
}

int gemel__logs_inverse(const gemel__logs *l, const gemel__ring *r, uint64_t a, uint64_t *x) {
  if (!l->table)
    return 0;
  uint32_t log = l->table[a], magnitude = log & ~non_square;
  uint64_t inverse = l->powers[magnitude ? l->order - magnitude : 0];
  *x = log & non_square ? r->p - inverse : inverse;
  return 1;
}

/* ---- Smooth numbers ---- */

int gemel__factors_make(uint8_t **factors) {
  uint8_t *t = *factors ? *factors : gemel__alloc_zeroed(FACTOR_LIMIT);
  if (!t || *factors)
    return t != NULL;
  for (unsigned f = 2; f < SMOOTH; f++)
    if (!t[f])
      for (unsigned n = f; n < FACTOR_LIMIT; n += f)
        if (!t[n])
          t[n] = (uint8_t)f;
  *factors = t;
  return 1;
}

void gemel__factors_free(uint8_t *factors) {
  gemel__free(factors, FACTOR_LIMIT);
}

/* 1 if all primes of N are below BOUND ≤ SMOOTH. */
static int is_smooth(const gemel__logs *l, uint32_t n, unsigned bound) {
  const uint8_t *factors = *l->factors;
  while (n > 1) {
    unsigned f = factors[n];
    if (f == 0 || f >= bound)
      return 0;
    n /= f;
  }
  return 1;
}

/* Euclid's algorithm on p and W: finds smooth u and v with w ≡ ±u/v. 0: there are none. */
static int smooth_quotient(const gemel__logs *l, uint64_t w, unsigned bound, uint32_t *u,
                           uint32_t *v) {
  uint64_t r0 = l->p, r1 = w, t0 = 0, t1 = 1;
  while (r1 && t1 < FACTOR_LIMIT) {
    if (r1 < FACTOR_LIMIT && is_smooth(l, (uint32_t)r1, bound) &&
        is_smooth(l, (uint32_t)t1, bound)) {
      *u = (uint32_t)r1, *v = (uint32_t)t1;
      return 1;
    }
    uint64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 + q * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  return 0;
}

/* Multiplies A by g until it is a quotient of smooth u and v. Adds the number of steps to
 * *SHIFT. */
static void next_quotient(const gemel__logs *l, const gemel__ring *r, uint64_t *a, uint64_t *shift,
                          unsigned bound, uint32_t *u, uint32_t *v) {
  while (!smooth_quotient(l, gemel__ring_leave(r, *a), bound, u, v)) {
    *a = gemel__ring_mul(r, *a, l->canonical);
    ++*shift;
  }
}

/* ---- The logarithms of small primes ---- */

/* Linear equations modulo the order: coefficients of the core primes, then the right side, in
 * echelon form. Row i, if have[i], begins in column i with a 1. */
typedef struct equations {
  gemel__ring group; /* arithmetic modulo the order, a prime */
  uint64_t row[CORE_PRIMES][CORE_PRIMES + 1];
  uint8_t have[CORE_PRIMES];
  int rank;
} equations;

/* row −= factor · other, from column FROM on. */
static void subtract(const gemel__ring *q, uint64_t *row, uint64_t factor, const uint64_t *other,
                     int from) {
  for (int j = from; j <= CORE_PRIMES; j++)
    row[j] = gemel__ring_sub(q, row[j], gemel__ring_mul(q, factor, other[j]));
}

/* Reduces ROW by the equations and adds it unless it follows from them. */
static void add_equation(equations *m, uint64_t *row) {
  const gemel__ring *q = &m->group;
  for (int i = 0; i < CORE_PRIMES; i++) {
    if (!row[i])
      continue;
    if (m->have[i]) {
      subtract(q, row, row[i], m->row[i], i);
      continue;
    }
    uint64_t scale = gemel__ring_inverse(q, row[i]);
    for (int j = i; j <= CORE_PRIMES; j++)
      m->row[i][j] = gemel__ring_mul(q, row[j], scale);
    m->have[i] = 1;
    m->rank++;
    return;
  }
}

/* Makes the equation s = Σ logarithms of the primes of U − Σ of those of V. */
static void make_equation(const equations *m, uint64_t *row, uint32_t u, uint32_t v, uint64_t s) {
  const gemel__ring *q = &m->group;
  for (int j = 0; j < CORE_PRIMES; j++) {
    uint64_t n = 0;
    for (; u % core_primes[j] == 0; u /= core_primes[j])
      n = gemel__ring_add(q, n, q->one);
    for (; v % core_primes[j] == 0; v /= core_primes[j])
      n = gemel__ring_sub(q, n, q->one);
    row[j] = n;
  }
  row[CORE_PRIMES] = gemel__ring_enter(q, s);
}

static void solve_core(gemel__logs *l, const gemel__ring *r) {
  equations m = {.rank = 0};
  uint64_t s = 1, a = l->canonical, row[CORE_PRIMES + 1];
  uint32_t u, v;
  gemel__ring_init(&m.group, l->order);
  while (m.rank < CORE_PRIMES) {
    next_quotient(l, r, &a, &s, core_primes[CORE_PRIMES - 1] + 1, &u, &v);
    make_equation(&m, row, u, v, s);
    add_equation(&m, row);
    a = gemel__ring_mul(r, a, l->canonical);
    s++;
  }
  for (int i = CORE_PRIMES - 1; i >= 0; i--) {
    for (int j = i + 1; j < CORE_PRIMES; j++)
      subtract(&m.group, m.row[i], m.row[i][j], m.row[j], j);
    l->prime_log[core_primes[i]] = gemel__ring_leave(&m.group, m.row[i][CORE_PRIMES]);
  }
}

/* Σ of the logarithms of the primes of a smooth N, modulo the order. */
static uint64_t log_of_smooth(const gemel__logs *l, uint32_t n) {
  uint64_t sum = 0;
  while (n > 1) {
    unsigned f = (*l->factors)[n];
    n /= f;
    sum += l->prime_log[f];
    sum -= sum >= l->order ? l->order : 0;
  }
  return sum;
}

/* The logarithm of a square A, from those of the primes below BOUND. */
static uint64_t log_of_square(const gemel__logs *l, const gemel__ring *r, uint64_t a,
                              unsigned bound) {
  uint64_t shift = 0;
  uint32_t u, v;
  next_quotient(l, r, &a, &shift, bound, &u, &v);
  uint64_t up = log_of_smooth(l, u), down = log_of_smooth(l, v) + shift % l->order;
  down -= down >= l->order ? l->order : 0;
  return up >= down ? up - down : up + l->order - down;
}

static int make_ready(gemel__logs *l, const gemel__ring *r) {
  if (!gemel__factors_make(l->factors))
    return 0;
  solve_core(l, r);
  for (unsigned f = core_primes[CORE_PRIMES - 1] + 1; f < SMOOTH; f++) {
    if ((*l->factors)[f] != f)
      continue;
    uint64_t a = gemel__ring_enter(r, f);
    l->prime_log[f] =
        log_of_square(l, r, gemel__ring_character(r, a) < 0 ? gemel__ring_neg(r, a) : a, f);
  }
  return l->ready = 1;
}

int gemel__logs_find(gemel__logs *l, const gemel__ring *r, uint64_t a, uint64_t *x) {
  if (l->table) {
    *x = l->table[a] & ~non_square;
    return 1;
  }
  if (l->p >> GEMEL__LOG_BITS || (!l->ready && !make_ready(l, r)))
    return 0;
  *x = log_of_square(l, r, a, SMOOTH);
  return 1;
}
