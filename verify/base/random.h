/* SPDX-License-Identifier: MIT
 *
 * The random numbers of the harness. All of them come from one 64-bit seed, which is printed. The
 * same seed gives the same numbers on every machine: integer arithmetic and exact scaling only, no
 * libm. The generator is xoshiro256**, seeded by splitmix64 (Blackman and Vigna, "Scrambled linear
 * pseudorandom number generators", ACM TOMS 47, 2021; Steele, Lea and Flood, "Fast splittable
 * pseudorandom number generators", OOPSLA 2014). Not for secrets.
 *
 * gemel__random_split makes independent streams. Give each instance, tensor or trial its own, so
 * that drawing one more number in one place doesn't change the numbers elsewhere.
 */
#ifndef GEMEL__BASE_RANDOM_H
#define GEMEL__BASE_RANDOM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gemel__random {
  uint64_t s[4];
} gemel__random;

/* One step of splitmix64: advances *STATE and returns 64 well mixed bits. */
static inline uint64_t gemel__splitmix(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Starts the stream of SEED (any number, 0 too). */
static inline void gemel__random_seed(gemel__random *r, uint64_t seed) {
  for (int i = 0; i < 4; i++)
    r->s[i] = gemel__splitmix(&seed);
}

static inline uint64_t gemel__rotate_left(uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

/* 64 random bits. */
static inline uint64_t gemel__random_bits(gemel__random *r) {
  uint64_t *s = r->s, result = gemel__rotate_left(s[1] * 5, 7) * 9, t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = gemel__rotate_left(s[3], 45);
  return result;
}

/* The same, in the form that samplers and generators take. */
static inline uint64_t gemel__random_source(void *random) {
  return gemel__random_bits(random);
}

/* Starts stream number KEY of SEED: independent of the other streams, and of the order in which
 * they are started. */
static inline void gemel__random_split(gemel__random *r, uint64_t seed, uint64_t key) {
  uint64_t mixed = gemel__splitmix(&key);
  gemel__random_seed(r, seed ^ mixed);
}

/* Uniform in 0 … N − 1 without bias; 0 for N = 0. */
static inline uint64_t gemel__random_below(gemel__random *r, uint64_t n) {
  if (n == 0)
    return 0;
  uint64_t x, limit = UINT64_MAX - UINT64_MAX % n;
  do
    x = gemel__random_bits(r);
  while (x >= limit);
  return x % n;
}

/* Uniform in LOW … HIGH, both included; LOW ≤ HIGH. */
static inline int64_t gemel__random_between(gemel__random *r, int64_t low, int64_t high) {
  uint64_t width = (uint64_t)high - (uint64_t)low;
  uint64_t x = width == UINT64_MAX ? gemel__random_bits(r) : gemel__random_below(r, width + 1);
  return (int64_t)((uint64_t)low + x);
}

/* 1 with probability NUMERATOR ÷ DENOMINATOR, else 0. */
static inline int gemel__random_chance(gemel__random *r, uint64_t numerator, uint64_t denominator) {
  return gemel__random_below(r, denominator) < numerator;
}

/* Uniform in [0, 1), a multiple of 2^-53. */
static inline double gemel__random_unit(gemel__random *r) {
  return (double)(gemel__random_bits(r) >> 11) * 0x1p-53;
}

/* Uniform in [LOW, HIGH], rounded to double. */
static inline double gemel__random_uniform(gemel__random *r, double low, double high) {
  return low + (high - low) * gemel__random_unit(r);
}

/* +1 or −1. */
static inline double gemel__random_sign(gemel__random *r) {
  return gemel__random_bits(r) >> 63 ? -1.0 : 1.0;
}

/* A positive number with a full random significand, 2^LOW ≤ x < 2^(HIGH + 1): its exponent is
 * uniform in LOW … HIGH (within −1022 … 1023). */
static inline double gemel__random_magnitude(gemel__random *r, int low, int high) {
  int exponent = (int)gemel__random_between(r, low, high);
  return ldexp(1.0 + (double)(gemel__random_bits(r) >> 12) * 0x1p-52, exponent);
}

/* Puts the numbers 0 … N − 1 into P in random order. */
static inline void gemel__random_permutation(gemel__random *r, size_t n, size_t *p) {
  for (size_t i = 0; i < n; i++) {
    size_t j = (size_t)gemel__random_below(r, i + 1);
    p[i] = p[j];
    p[j] = i;
  }
}

#endif
