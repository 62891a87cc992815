/* SPDX-License-Identifier: MIT
 *
 * Chains of prime fields. A Cunningham chain is a sequence of primes with p[i] = 2 p[i+1] + 1. Ring
 * i is the field of integers modulo p[i]; ring 0 is the largest. The non-zero squares modulo p[i]
 * are a group of order p[i+1], so the residues of ring i+1 are exactly the exponents of a generator
 * of the squares of ring i. That gives an exponential (from ring i+1 up to ring i) and a logarithm
 * (from ring i down to ring i+1) which are homomorphisms and inverse to each other.
 *
 * The bottom prime is ≡ −1 modulo 8 times the product of given small primes, and so is every prime
 * of the chain. By quadratic reciprocity, 2 and all these primes are squares in every ring. As
 * every p[i] ≡ 3 modulo 4, −1 is no square: exactly one of x and −x is. The principal square root
 * is the one that is itself a square.
 *
 * Residues are kept in Montgomery's form (x stands for x · 2⁶⁴ mod p): a product costs three
 * multiplications and no division. All primes are below 2⁶².
 *
 * Logarithms: for primes up to GEMEL__TABLE_BITS, by tables of the whole group, which also give
 * exp, inverse and character with one look-up. Up to GEMEL__LOG_BITS by index calculus: a third of
 * a millisecond to prepare each prime, then a microsecond each. Above, there are none.
 */
#ifndef GEMEL__DOMAINS_CHAIN_H
#define GEMEL__DOMAINS_CHAIN_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/status.h>
#include "base/random.h"

enum {
  GEMEL__MAX_RINGS = 6,
  GEMEL__TABLE_BITS = 22, /* primes up to this size have complete tables */
  GEMEL__LOG_BITS = 34,   /* primes up to this size have logarithms */
  GEMEL__CHAIN_BITS = 61, /* the largest top prime */
  GEMEL__MAX_CONSTANTS = 32
};

/* A product of two residues. */
__extension__ typedef unsigned __int128 gemel__ring_wide;

/* ---- One ring ---- */

typedef struct gemel__logs gemel__logs; /* tables for powers and logarithms modulo one prime
                                         * (chain-log.c) */

typedef struct gemel__ring {
  uint64_t p;
  uint64_t negative_inverse; /* −1/p mod 2⁶⁴ */
  uint64_t one;              /* 2⁶⁴ mod p: 1 in Montgomery's form */
  uint64_t square;           /* 2¹²⁸ mod p, which takes a residue to Montgomery's form */
  uint64_t order;            /* (p − 1)/2, of the group of squares */
  uint64_t generator;        /* a generator of that group, random for each trial; Montgomery's
                              * form */
  uint64_t power;            /* generator = (canonical generator)^power; a residue modulo the
                              * order */
  uint64_t root;             /* 1/power modulo the order */
  gemel__logs *logs;         /* owned by the source of the chain; may be NULL for the last ring */
} gemel__ring;

/* Sets the members that depend only on the odd prime P < 2⁶²; generator, power, root and logs
 * become zero. */
void gemel__ring_init(gemel__ring *r, uint64_t p);

/* (high, low) / 2⁶⁴ mod p, for a number below p · 2⁶⁴. */
static inline uint64_t gemel__reduce(const gemel__ring *r, uint64_t high, uint64_t low) {
  uint64_t m = low * r->negative_inverse;
  uint64_t t = high + (uint64_t)(((gemel__ring_wide)m * r->p) >> 64) + (low != 0);
  return t >= r->p ? t - r->p : t;
}

/* a b, a + b, a − b, −a: arguments and results are residues in Montgomery's form, below p. */
static inline uint64_t gemel__ring_mul(const gemel__ring *r, uint64_t a, uint64_t b) {
  gemel__ring_wide t = (gemel__ring_wide)a * b;
  return gemel__reduce(r, (uint64_t)(t >> 64), (uint64_t)t);
}
static inline uint64_t gemel__ring_add(const gemel__ring *r, uint64_t a, uint64_t b) {
  uint64_t t = a + b;
  return t >= r->p ? t - r->p : t;
}
static inline uint64_t gemel__ring_sub(const gemel__ring *r, uint64_t a, uint64_t b) {
  return a >= b ? a - b : a + r->p - b;
}
static inline uint64_t gemel__ring_neg(const gemel__ring *r, uint64_t a) {
  return a ? r->p - a : 0;
}

/* To Montgomery's form (X any 64 bits) and back (to [0, p)). */
static inline uint64_t gemel__ring_enter(const gemel__ring *r, uint64_t x) {
  return gemel__ring_mul(r, x % r->p, r->square);
}
static inline uint64_t gemel__ring_leave(const gemel__ring *r, uint64_t a) {
  return gemel__reduce(r, 0, a);
}

/* a^n, n ≥ 0 (0^0 = 1). */
uint64_t gemel__ring_pow(const gemel__ring *r, uint64_t a, uint64_t n);
/* 1/a; 0 for a = 0, which the caller must check. */
uint64_t gemel__ring_inverse(const gemel__ring *r, uint64_t a);
/* The quadratic character: 1 for a non-zero square, −1 for a non-square, 0 for 0. */
int gemel__ring_character(const gemel__ring *r, uint64_t a);
/* The principal square root of a square (or 0). p ≡ 3 mod 4. */
uint64_t gemel__ring_sqrt(const gemel__ring *r, uint64_t a);
/* 2^n for any n. */
uint64_t gemel__ring_power_of_two(const gemel__ring *r, int n);

/* ---- Chains ---- */

typedef struct gemel__prime_chain {
  int length;
  gemel__ring ring[GEMEL__MAX_RINGS];
} gemel__prime_chain;

/* generator^x in ring I; X is a residue of ring I + 1 (Montgomery's form). I + 1 < length. */
uint64_t gemel__chain_exp(const gemel__prime_chain *c, int i, uint64_t x);

/* The logarithm of A, a non-zero square of ring I, as a residue of ring I + 1. Returns 1; 0 if the
 * chain has no logarithms (too large) or memory ran out, with *X untouched. I + 1 < length. */
int gemel__chain_log(const gemel__prime_chain *c, int i, uint64_t a, uint64_t *x);

/* 1 if gemel__chain_log is available for this chain. */
int gemel__chain_has_log(const gemel__prime_chain *c);

/* Faults that the tests of the harness plant. */
enum {
  GEMEL__CHAIN_ANY_PRIMES = 1, /* no condition on the bottom prime: 2 may be a non-square */
  GEMEL__CHAIN_GENERATOR_4 = 2 /* always the generator 4 */
};

typedef struct gemel__chain_options {
  int bits;   /* of the top prime, at least; 15 to GEMEL__CHAIN_BITS */
  int length; /* 1 to GEMEL__MAX_RINGS */
  /* Constants of the graphs, which should be squares (so that they are positive). Signs and powers
   * of two don't matter. Small primes in them become a condition on the chain, and are squares in
   * every ring. For what is left of a constant, chains are drawn until it is a square: in ring 1
   * first (in ring 0 if it is the only one), in the others as far as that is affordable. */
  const double *constants;
  size_t n_constants;
  unsigned faults;
} gemel__chain_options;

/* A source of random chains of one kind. It keeps the tables of the latest ones. Below
 * 2^GEMEL__TABLE_BITS all chains of the wanted size are listed (and larger ones, until there are
 * 16). Above, the first 16 draws search, and then one draw in 16; the others take one of the last
 * 16 that were found. Not thread-safe: one source for each thread. */
typedef struct gemel__chains gemel__chains;

/* A new source. Errors: GEMEL_BAD_VALUE (options out of range), GEMEL_UNSUPPORTED (no chain of this
 * kind found), GEMEL_NO_MEMORY; *SOURCE is then NULL. Release with gemel__chains_free. */
gemel_status gemel__chains_new(gemel__chains **source, const gemel__chain_options *options);
void gemel__chains_free(gemel__chains *source);

/* A random chain with random generators, determined by the options and RANDOM (and by how many
 * draws went before, where chains are so rare that the size had to be raised). It points into
 * SOURCE and is valid until the next draw. GEMEL_NO_MEMORY or GEMEL_UNSUPPORTED (no chain found;
 * retry with fewer constants), with *CHAIN untouched. */
gemel_status gemel__chains_draw(gemel__chains *source, gemel__random *random,
                                gemel__prime_chain *chain);

/* How many of the constants (their parts without small primes) may be non-squares even in ring 1.
 * For these the sign by the character may be wrong. */
size_t gemel__chains_unmet(const gemel__chains *source);

/* 1 if N is prime (Miller–Rabin with bases that are known to suffice for 64 bits). */
int gemel__is_prime(uint64_t n);

/* ---- Powers and logarithms of one prime (chain-log.c), used by chain.c alone ---- */

/* Tables for ring R and the canonical generator of its squares (Montgomery's form): complete for a
 * small prime, else made at the first logarithm. FACTORS: where all logs of one source keep their
 * table of smallest prime factors (made when needed, NULL before). NULL: out of memory. */
gemel__logs *gemel__logs_new(const gemel__ring *r, uint64_t canonical, uint8_t **factors);
void gemel__logs_free(gemel__logs *logs);
int gemel__factors_make(uint8_t **factors); /* 0: out of memory */
void gemel__factors_free(uint8_t *factors); /* may be NULL */
uint64_t gemel__logs_prime(const gemel__logs *logs);
size_t gemel__logs_bytes(const gemel__logs *logs);
/* The exponent x below the order with canonical^x = A, a square. 0: the prime is too large, or out
 * of memory. */
int gemel__logs_find(gemel__logs *logs, const gemel__ring *r, uint64_t a, uint64_t *x);
/* canonical^x for x below the order. */
uint64_t gemel__logs_power(const gemel__logs *logs, const gemel__ring *r, uint64_t x);
/* With complete tables: 1 and the character or the inverse of A ≠ 0; else 0. */
int gemel__logs_character(const gemel__logs *logs, uint64_t a, int *character);
int gemel__logs_inverse(const gemel__logs *logs, const gemel__ring *r, uint64_t a, uint64_t *x);

#endif
