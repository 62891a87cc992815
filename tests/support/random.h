/*
 * Random numbers for tests, the same in each run: the generator xorshift64* (S. Vigna, "An
 * experimental exploration of Marsaglia's xorshift generators, scrambled", 2016). A test that sets
 * STATE begins a sequence of its own, so that it can be run alone. Not for several threads.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_RANDOM_H
#define GEMEL_TESTS_RANDOM_H

#include <stdint.h>

static uint64_t state = 88172645463325252u; /* never 0 */

static inline uint64_t bits64(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1du;
}

/* A number below N. */
static inline uint64_t rnd(uint64_t n) {
  return (bits64() >> 33) % n;
}

#endif
