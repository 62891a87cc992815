/* SPDX-License-Identifier: MIT
 *
 * Chains of prime fields: the longer arithmetic, primality, and the search for chains.
 *
 * A candidate for the bottom prime is b = M n − 1, where M is 8 times the small primes that must be
 * squares. 2ʲ (b + 1) − 1 must be prime for each j below the length. A window of consecutive n is
 * sieved by small primes. Those left are checked for the constants (by a Jacobi symbol each, which
 * is cheap), then by a strong test to base 2 in every ring, then by the full primality test.
 *
 * A constant whose odd part isn't made of small primes is a square in each ring with probability
 * 1/2. As many pairs of constant and ring are made a condition as leave enough chains (estimated by
 * the conjecture of Bateman and Horn, Math. Comp. 16, 1962), ring 1 first: it is the one that
 * decides signs.
 *
 * A source of small chains lists them all when it is made. Tables of the primes drawn lately are
 * kept, up to a total size.
 */
#include "domains/chain.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

enum {
  CACHE_ENTRIES = 64,
  CACHE_BYTES = 96 << 20,
  LIST_AT_LEAST = 16, /* least number of small chains to choose from */
  ENOUGH_BITS = 6,    /* large chains: log2 of how many must be left after all conditions */
  MODULUS_BITS = 9,   /* large chains: log2 of how many must be left before those on constants */
  MOST_CONDITIONS = 12,
  SIEVE_LIMIT = 1000,
  SIEVE_PRIMES = 167, /* number of odd primes below the sieve's limit */
  SMALL_LIMIT = 180,  /* bound on the primes that may go into the modulus */
  WINDOW = 4096
};

enum { FOUND = 16 };

struct gemel__chains {
  gemel__chain_options options;
  uint64_t modulus;                    /* the bottom prime is ≡ −1 modulo this */
  uint64_t rest[GEMEL__MAX_CONSTANTS]; /* the constants, without the primes of the modulus */
  size_t n_rest, n_dropped;
  size_t n_conditions; /* how many pairs of ring and constant must be squares, ring by ring */
  uint16_t primes[SIEVE_PRIMES];
  uint64_t *bottoms; /* small chains: all bottom primes */
  size_t n_bottoms, capacity;
  int top_bits;     /* size of the chains drawn: options.bits, or more if there are too few */
  uint8_t *factors; /* see gemel__logs_new */
  gemel__logs *cache[CACHE_ENTRIES];
  uint64_t used[CACHE_ENTRIES]; /* number of the draw that last used it */
  uint64_t draws;
  uint64_t found[FOUND]; /* large chains: the latest bottom primes found */
  size_t n_found, searches;
};

/* ---- One ring ---- */

void gemel__ring_init(gemel__ring *r, uint64_t p) {
  memset(r, 0, sizeof *r);
  uint64_t inverse = p; /* p · p ≡ 1 modulo 2³; each step doubles the number of right bits */
  for (int i = 0; i < 5; i++)
    inverse *= 2 - p * inverse;
  r->p = p;
  r->negative_inverse = -inverse;
  r->one = -p % p;
  r->square = (uint64_t)((gemel__ring_wide)r->one * r->one % p);
  r->order = (p - 1) / 2;
}

uint64_t gemel__ring_pow(const gemel__ring *r, uint64_t a, uint64_t n) {
  uint64_t result = r->one;
  for (; n; n >>= 1) {
    if (n & 1)
      result = gemel__ring_mul(r, result, a);
    a = gemel__ring_mul(r, a, a);
  }
  return result;
}

/* 1/a modulo p by the extended Euclidean algorithm. */
static uint64_t invert(uint64_t p, uint64_t a) {
  uint64_t r0 = p, r1 = a;
  int64_t t0 = 0, t1 = 1;
  while (r1) {
    uint64_t q = r0 / r1, r2 = r0 - q * r1;
    int64_t t2 = t0 - (int64_t)q * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  return t0 < 0 ? p - (uint64_t)-t0 : (uint64_t)t0;
}

uint64_t gemel__ring_inverse(const gemel__ring *r, uint64_t a) {
  uint64_t x;
  if (!a)
    return 0;
  if (r->logs && gemel__logs_inverse(r->logs, r, a, &x))
    return x;
  /* a stands for a · 2⁶⁴, so its inverse has to be multiplied by 2¹²⁸. */
  x = gemel__ring_mul(r, invert(r->p, a), r->square);
  return gemel__ring_mul(r, x, r->square);
}

/* Jacobi's symbol (a / p), p odd, a ≠ 0. */
static int jacobi(uint64_t a, uint64_t p) {
  int sign = 0; /* odd: −1 */
  while (a) {
    int twos = __builtin_ctzll(a);
    a >>= twos;
    sign ^= twos & (int)((p >> 1) ^ (p >> 2)); /* (2/p) = −1 for p ≡ 3, 5 mod 8 */
    if (a < p) {
      sign ^= (int)((a & p) >> 1);
      uint64_t t = a;
      a = p, p = t;
    }
    a -= p;
  }
  return p != 1 ? 0 : sign & 1 ? -1 : 1;
}

int gemel__ring_character(const gemel__ring *r, uint64_t a) {
  int character;
  if (!a)
    return 0;
  if (r->logs && gemel__logs_character(r->logs, a, &character))
    return character;
  return jacobi(a, r->p); /* Montgomery's factor 2⁶⁴ is a square and doesn't matter */
}

uint64_t gemel__ring_sqrt(const gemel__ring *r, uint64_t a) {
  return gemel__ring_pow(r, a, (r->p + 1) / 4);
}

uint64_t gemel__ring_power_of_two(const gemel__ring *r, int n) {
  uint64_t magnitude = n < 0 ? -(uint64_t)(int64_t)n : (uint64_t)n;
  /* Of 1 and 1 + p, one is even; Montgomery's form is halved like the number. */
  uint64_t half = (r->one >> 1) + (r->one % 2 != 0 ? (r->p >> 1) + 1 : 0);
  return gemel__ring_pow(r, n < 0 ? half : gemel__ring_add(r, r->one, r->one), magnitude);
}

/* ---- Chains ---- */

uint64_t gemel__chain_exp(const gemel__prime_chain *c, int i, uint64_t x) {
  const gemel__ring *r = &c->ring[i];
  /* x is in Montgomery's form and power isn't, so the product isn't. */
  return gemel__logs_power(r->logs, r, gemel__ring_mul(&c->ring[i + 1], x, r->power));
}

int gemel__chain_log(const gemel__prime_chain *c, int i, uint64_t a, uint64_t *x) {
  const gemel__ring *r = &c->ring[i], *below = &c->ring[i + 1];
  uint64_t exponent;
  if (!gemel__logs_find(r->logs, r, a, &exponent))
    return 0;
  /* root includes the factor 2¹²⁸, so the product is in Montgomery's form. */
  *x = gemel__ring_mul(below, exponent, r->root);
  return 1;
}

int gemel__chain_has_log(const gemel__prime_chain *c) {
  return c->ring[0].p >> GEMEL__LOG_BITS == 0;
}

/* ---- Primality ---- */

static int strong_test(const gemel__ring *r, uint64_t base) {
  uint64_t odd = r->p - 1, minus_one = r->p - r->one;
  int twos = __builtin_ctzll(odd);
  uint64_t a = gemel__ring_enter(r, base);
  if (!a)
    return 1;
  a = gemel__ring_pow(r, a, odd >> twos);
  if (a == r->one || a == minus_one)
    return 1;
  while (--twos > 0) {
    a = gemel__ring_mul(r, a, a);
    if (a == minus_one)
      return 1;
  }
  return 0;
}

int gemel__is_prime(uint64_t n) {
  static const uint8_t bases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  gemel__ring r;
  if (n < 2 || n >> 62)
    return 0;
  for (size_t i = 0; i < sizeof bases; i++)
    if (n % bases[i] == 0)
      return n == bases[i];
  gemel__ring_init(&r, n);
  for (size_t i = 0; i < sizeof bases; i++)
    if (!strong_test(&r, bases[i]))
      return 0;
  return 1;
}

/* 1 if BOTTOM is the bottom prime of a chain of LENGTH primes. */
static int is_chain(uint64_t bottom, int length) {
  gemel__ring r;
  for (int j = 0; j < length; j++) {
    gemel__ring_init(&r, ((bottom + 1) << j) - 1);
    if (!strong_test(&r, 2))
      return 0;
  }
  for (int j = 0; j < length; j++)
    if (!gemel__is_prime(((bottom + 1) << j) - 1))
      return 0;
  return 1;
}

/* ---- How many chains there are ---- */

/* How many of 1, 2, 4, … 2^(length − 1) differ modulo L. */
static int distinct_powers(unsigned l, int length) {
  unsigned x = 2 % l;
  int n = 1;
  for (; n < length && x != 1; n++)
    x = 2 * x % l;
  return n;
}

/* The binary logarithm of the expected number of chains whose top prime has BITS bits. */
static double log2_count(const gemel__chains *s, int bits, uint64_t modulus) {
  int length = s->options.length;
  double n = bits - log2((double)modulus);
  for (int i = 0; i < SIEVE_PRIMES; i++) {
    double l = s->primes[i];
    double excluded = modulus % s->primes[i] ? distinct_powers(s->primes[i], length) : 0;
    n += log2(1 - excluded / l) - length * log2(1 - 1 / l);
  }
  return n - length * log2((bits - length * 0.5) * log(2));
}

/* ---- Constants ---- */

/* The odd part of a finite double's numerator; 0 for 0 and what is not finite. */
static uint64_t odd_part(double x) {
  int exponent;
  if (!isfinite(x) || x == 0)
    return 0;
  uint64_t m = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53);
  return m >> __builtin_ctzll(m);
}

static void add_rest(gemel__chains *s, uint64_t m) {
  for (size_t i = 0; i < s->n_rest; i++)
    if (s->rest[i] == m)
      return;
  if (s->n_rest < GEMEL__MAX_CONSTANTS)
    s->rest[s->n_rest++] = m;
  else
    s->n_dropped++;
}

/* Divides M by its primes that are in the modulus. With MORE, first multiplies the modulus by
 * further small primes of M, while enough chains are left. */
static uint64_t split(gemel__chains *s, uint64_t m, int more) {
  double least = s->options.bits <= GEMEL__TABLE_BITS ? 5 : MODULUS_BITS;
  for (int i = 0; i < SIEVE_PRIMES && s->primes[i] < SMALL_LIMIT; i++) {
    uint64_t l = s->primes[i];
    if (m % l)
      continue;
    if (more && s->modulus % l && log2_count(s, s->options.bits, s->modulus * l) >= least)
      s->modulus *= l;
    while (s->modulus % l == 0 && m % l == 0)
      m /= l;
  }
  return m;
}

static void read_constants(gemel__chains *s) {
  const gemel__chain_options *o = &s->options;
  s->modulus = o->faults & GEMEL__CHAIN_ANY_PRIMES ? 4 : 8;
  if (o->faults & GEMEL__CHAIN_ANY_PRIMES)
    return;
  if (o->length > 1)
    s->modulus *= 3; /* all chains have this factor */
  for (size_t i = 0; i < o->n_constants; i++)
    if (odd_part(o->constants[i]))
      split(s, odd_part(o->constants[i]), 1);
  if (o->bits > 48) /* more primes in the modulus make the search faster */
    split(s, UINT64_C(3) * 5 * 7 * 11 * 13, 1);
  for (size_t i = 0; i < o->n_constants; i++) {
    uint64_t m = odd_part(o->constants[i]);
    if (m && (m = split(s, m, 0)) > 1)
      add_rest(s, m);
  }
}

/* The ring of this RANK in the order 1, 0, 2, 3, … in which constants are made squares. */
static int ring_by_rank(int length, int rank) {
  return length > 1 && rank < 2 ? 1 - rank : rank;
}

/* 1 if condition K holds: one constant is a square in one ring. */
static int is_met(const gemel__chains *s, uint64_t bottom, size_t k) {
  int length = s->options.length, ring = ring_by_rank(length, (int)(k / s->n_rest));
  uint64_t p = ((bottom + 1) << (length - 1 - ring)) - 1, x = s->rest[k % s->n_rest] % p;
  return x == 0 || jacobi(x, p) > 0;
}

static int conditions_are_met(const gemel__chains *s, uint64_t bottom) {
  for (size_t k = 0; k < s->n_conditions; k++)
    if (!is_met(s, bottom, k))
      return 0;
  return 1;
}

/* ---- Small chains: a list ---- */

static gemel_status list_bits(gemel__chains *s, int bits) {
  uint64_t low = (UINT64_C(1) << bits) >> s->options.length;
  uint64_t b = low / s->modulus * s->modulus + s->modulus - 1;
  for (; b < 2 * low; b += s->modulus) {
    if (!is_chain(b, s->options.length))
      continue;
    if (gemel__grow(&s->bottoms, &s->capacity, s->n_bottoms + 1, sizeof *s->bottoms))
      return GEMEL_NO_MEMORY;
    s->bottoms[s->n_bottoms++] = b;
  }
  return GEMEL_OK;
}

/* Keeps only the chains that meet condition K, if there are enough of them. 1: done. */
static int filter(gemel__chains *s, size_t k) {
  size_t met = 0, kept = 0;
  for (size_t i = 0; i < s->n_bottoms; i++)
    met += (size_t)is_met(s, s->bottoms[i], k);
  if (met < LIST_AT_LEAST / 2)
    return 0;
  for (size_t i = 0; i < s->n_bottoms; i++)
    if (is_met(s, s->bottoms[i], k))
      s->bottoms[kept++] = s->bottoms[i];
  s->n_bottoms = kept;
  return 1;
}

/* Lists chains of the wanted size, and of larger ones until there are enough. */
static gemel_status list_chains(gemel__chains *s) {
  size_t enough = LIST_AT_LEAST << (s->n_rest < 3 ? s->n_rest : 3);
  for (int bits = s->options.bits; bits <= GEMEL__TABLE_BITS; bits++) {
    gemel_status status = list_bits(s, bits);
    if (status)
      return status;
    if (s->n_bottoms >= (bits < s->options.bits + 2 ? enough : LIST_AT_LEAST))
      break;
  }
  if (!s->n_bottoms)
    return GEMEL_UNSUPPORTED;
  while (s->n_conditions < s->n_rest * (size_t)s->options.length && filter(s, s->n_conditions))
    s->n_conditions++;
  return GEMEL_OK;
}

/* ---- Larger chains: a search ---- */

/* Chooses as many conditions on constants as leave enough chains and can be afforded. */
static void choose_conditions(gemel__chains *s) {
  double bits = log2_count(s, s->options.bits, s->modulus) - ENOUGH_BITS;
  size_t most = s->n_rest * (size_t)s->options.length;
  size_t can = bits < 0 ? 0 : bits > MOST_CONDITIONS ? MOST_CONDITIONS : (size_t)bits;
  s->n_conditions = most < can ? most : can;
}

/* The inverse of A modulo the small prime L. */
static unsigned small_inverse(unsigned a, unsigned l) {
  unsigned x = 1;
  for (unsigned n = l - 2; n; n >>= 1) {
    x = n & 1 ? x * a % l : x;
    a = a * a % l;
  }
  return x;
}

/* Marks the n in [start, start + WINDOW) for which a small prime divides a number of the chain: M n
 * 2ʲ ≡ 1. */
static void sieve(const gemel__chains *s, uint64_t start, uint8_t *marked) {
  memset(marked, 0, WINDOW);
  for (int i = 0; i < SIEVE_PRIMES; i++) {
    unsigned l = s->primes[i], half = (l + 1) / 2;
    unsigned m = (unsigned)(s->modulus % l), at = (unsigned)(start % l);
    if (m == 0)
      continue;
    unsigned n = small_inverse(m, l);
    for (int j = distinct_powers(l, s->options.length); j > 0; j--) {
      for (unsigned k = (n + l - at) % l; k < WINDOW; k += l)
        marked[k] = 1;
      n = n * half % l;
    }
  }
}

/* Searches a random chain whose top prime has BITS bits, in WINDOWS random windows. 0: none
 * found. */
static uint64_t search(const gemel__chains *s, gemel__random *random, int bits, int windows) {
  uint8_t marked[WINDOW];
  uint64_t low = (UINT64_C(1) << (bits - s->options.length)) / s->modulus + 1;
  uint64_t high = (UINT64_C(2) << (bits - s->options.length)) / s->modulus;
  while (high > low && windows--) {
    uint64_t start = low + gemel__random_below(random, high - low);
    sieve(s, start, marked);
    for (unsigned k = 0; k < WINDOW && start + k < high; k++) {
      uint64_t bottom = s->modulus * (start + k) - 1;
      if (!marked[k] && conditions_are_met(s, bottom) && is_chain(bottom, s->options.length))
        return bottom;
    }
  }
  return 0;
}

/* Searches at the size that worked last. If nothing is found, drops the last condition or adds a
 * bit to the size. */
static uint64_t search_any(gemel__chains *s, gemel__random *random) {
  int most = s->options.bits <= GEMEL__LOG_BITS ? GEMEL__LOG_BITS : GEMEL__CHAIN_BITS;
  uint64_t b;
  while (!(b = search(s, random, s->top_bits, 8192))) {
    if (s->n_conditions)
      s->n_conditions--;
    else if (s->top_bits < most)
      s->top_bits++;
    else
      return 0;
  }
  return b;
}

/* ---- Sources ---- */

static int options_are_bad(const gemel__chain_options *o) {
  return o->bits < 15 || o->bits > GEMEL__CHAIN_BITS || o->length < 1 ||
         o->length > GEMEL__MAX_RINGS || (o->n_constants && !o->constants);
}

static void list_primes(gemel__chains *s) {
  int n = 0;
  for (unsigned l = 3; l < SIEVE_LIMIT; l += 2) {
    unsigned f = 3;
    while (f * f <= l && l % f)
      f += 2;
    if (f * f > l)
      s->primes[n++] = (uint16_t)l;
  }
}

gemel_status gemel__chains_new(gemel__chains **source, const gemel__chain_options *options) {
  *source = NULL;
  if (options_are_bad(options))
    return GEMEL_BAD_VALUE;
  gemel__chains *s = gemel__alloc_zeroed(sizeof *s);
  if (!s)
    return GEMEL_NO_MEMORY;
  s->options = *options;
  s->top_bits = options->bits;
  list_primes(s);
  read_constants(s);
  s->options.constants = NULL;
  gemel_status status = GEMEL_OK;
  if (options->bits <= GEMEL__TABLE_BITS)
    status = list_chains(s);
  else
    choose_conditions(s);
  if (status) {
    gemel__chains_free(s);
    return status;
  }
  *source = s;
  return GEMEL_OK;
}

void gemel__chains_free(gemel__chains *s) {
  if (!s)
    return;
  for (int i = 0; i < CACHE_ENTRIES; i++)
    gemel__logs_free(s->cache[i]);
  gemel__factors_free(s->factors);
  gemel__free(s->bottoms, s->capacity * sizeof *s->bottoms);
  gemel__free(s, sizeof *s);
}

size_t gemel__chains_unmet(const gemel__chains *s) {
  return s->n_dropped + (s->n_conditions < s->n_rest ? s->n_rest - s->n_conditions : 0);
}

/* ---- The cache of tables ---- */

static void drop(gemel__chains *s, int i) {
  gemel__logs_free(s->cache[i]);
  s->cache[i] = NULL;
}

/* Frees the tables used longest ago until there is room for one more chain. */
static void trim(gemel__chains *s) {
  for (;;) {
    size_t bytes = 0;
    int oldest = -1, empty = 0;
    for (int i = 0; i < CACHE_ENTRIES; i++) {
      bytes += s->cache[i] ? gemel__logs_bytes(s->cache[i]) : 0;
      empty += !s->cache[i];
      if (s->cache[i] && (oldest < 0 || s->used[i] < s->used[oldest]))
        oldest = i;
    }
    if (oldest < 0 || (bytes <= CACHE_BYTES && empty >= GEMEL__MAX_RINGS))
      return;
    drop(s, oldest);
  }
}

/* A generator of the squares of R: the first small square whose order isn't a proper divisor of the
 * group's. That is 4 if the group's order is prime, which it need not be in the bottom ring. */
static uint64_t canonical_generator(const gemel__ring *r) {
  for (uint64_t k = 2;; k++) {
    uint64_t x = gemel__ring_enter(r, k), g = gemel__ring_mul(r, x, x), n = r->order;
    int whole = g != 0 && g != r->one;
    for (uint64_t f = 3; whole && f * f <= n; f += 2)
      if (n % f == 0) {
        whole = gemel__ring_pow(r, g, r->order / f) != r->one;
        while (n % f == 0)
          n /= f;
      }
    if (whole && (n == 1 || n == r->order || gemel__ring_pow(r, g, r->order / n) != r->one))
      return g;
  }
}

/* The tables for R, from the cache or new; NULL: out of memory. */
static gemel__logs *find_logs(gemel__chains *s, const gemel__ring *r, int prime_order) {
  int empty = -1;
  for (int i = 0; i < CACHE_ENTRIES; i++) {
    if (s->cache[i] && gemel__logs_prime(s->cache[i]) == r->p) {
      s->used[i] = s->draws;
      return s->cache[i];
    }
    if (!s->cache[i])
      empty = i;
  }
  uint64_t canonical = prime_order ? gemel__ring_enter(r, 4) : canonical_generator(r);
  s->cache[empty] = gemel__logs_new(r, canonical, &s->factors);
  s->used[empty] = s->draws;
  return s->cache[empty];
}

/* Gives ring I of C a random generator. */
static void choose_generator(gemel__prime_chain *c, int i, gemel__random *random, unsigned faults) {
  gemel__ring *r = &c->ring[i], *below = &c->ring[i + 1];
  r->power = faults & GEMEL__CHAIN_GENERATOR_4 ? 1 : 1 + gemel__random_below(random, r->order - 1);
  r->generator = gemel__logs_power(r->logs, r, r->power);
  uint64_t inverse = gemel__ring_inverse(below, gemel__ring_enter(below, r->power));
  r->root = gemel__ring_mul(below, inverse, below->square);
}

static gemel_status build(gemel__chains *s, uint64_t bottom, gemel__random *random,
                          gemel__prime_chain *c) {
  int tables = s->options.bits <= GEMEL__TABLE_BITS;
  c->length = s->options.length;
  for (int i = 0; i < c->length; i++)
    gemel__ring_init(&c->ring[i], ((bottom + 1) << (c->length - 1 - i)) - 1);
  for (int i = 0; i < c->length; i++) {
    int last = i + 1 == c->length;
    if (last && !tables)
      break;
    if (!(c->ring[i].logs = find_logs(s, &c->ring[i], !last)))
      return GEMEL_NO_MEMORY;
  }
  for (int i = 0; i + 1 < c->length; i++)
    choose_generator(c, i, random, s->options.faults);
  return GEMEL_OK;
}

/* The bottom prime of the next chain; 0: there is none. Preparing logarithms of a large one takes a
 * millisecond, so after the first searches most draws reuse what was found. */
static uint64_t next_bottom(gemel__chains *s, gemel__random *random) {
  enum { SEARCHED = 16 }; /* the first so many draws search, then one in so many */
  if (s->n_bottoms)
    return s->bottoms[gemel__random_below(random, s->n_bottoms)];
  if (s->n_found == FOUND && gemel__random_below(random, SEARCHED))
    return s->found[gemel__random_below(random, FOUND)];
  uint64_t bottom = search_any(s, random);
  if (bottom)
    s->found[s->searches++ % FOUND] = bottom;
  s->n_found += bottom && s->n_found < FOUND;
  return bottom;
}

gemel_status gemel__chains_draw(gemel__chains *s, gemel__random *random,
                                gemel__prime_chain *chain) {
  uint64_t bottom = next_bottom(s, random);
  gemel__prime_chain c = {0};
  if (!bottom)
    return GEMEL_UNSUPPORTED;
  s->draws++;
  trim(s);
  gemel_status status = build(s, bottom, random, &c);
  if (status == GEMEL_OK)
    *chain = c;
  return status;
}
