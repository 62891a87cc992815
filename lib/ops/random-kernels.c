/* SPDX-License-Identifier: MIT
 *
 * Philox4x32-10, a counter-based generator: a keyed bijection of 128 bits, so that any block of a
 * stream is computed from its number alone (Salmon, Moraes, Dror and Shaw, "Parallel Random
 * Numbers: As Easy as 1, 2, 3", SC 2011, section 3). A round multiplies two words of the counter by
 * constants; high halves are mixed with the other two words and the round's key, low halves take
 * their places. gemel's key is two u64: the first is Philox's key, the second the upper half of the
 * counter, the number of a stream; the lower half is the number of a block.
 */
#define GEMEL__KERNELS
#include "core/isa.h" /* first: what follows is inlined into loops */
#include <stdint.h>
#include <string.h>
#if GEMEL__X86
#include <immintrin.h>
#endif
#include "ops/elementwise-math.h"
#include "ops/random-function.h"
#include "ops/random.h"

enum { ROUNDS = 10 };
static const uint32_t multipliers[2] = {0xD2511F53, 0xCD9E8D57};
static const uint32_t key_steps[2] = {0x9E3779B9, 0xBB67AE85};

static inline int rounds(void) {
  return ROUNDS;
}

static inline uint32_t multiplier(int k) {
  return multipliers[k];
}

/* The part of the stream's number that a fault forgets. */
static inline uint64_t stream_of(const uint64_t *key) {
  return key[1];
}

static inline void one_block(const uint64_t *key, uint64_t block, uint32_t *words) {
  uint64_t stream = stream_of(key);
  uint32_t c[] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                  (uint32_t)(stream >> 32)};
  uint32_t k[] = {(uint32_t)key[0], (uint32_t)(key[0] >> 32)};
  for (int round = 0; round < rounds(); round++) {
    uint64_t p = (uint64_t)multiplier(0) * c[0], q = (uint64_t)multiplier(1) * c[2];
    c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k[0];
    c[1] = (uint32_t)q;
    c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k[1];
    c[3] = (uint32_t)p;
    k[0] += key_steps[0];
    k[1] += key_steps[1];
  }
  memcpy(words, c, sizeof c);
}

static void blocks_base(const uint64_t *key, uint64_t first, size_t n, uint32_t *words) {
  for (size_t b = 0; b < n; b++) {
    one_block(key, first + b, words + GEMEL__PHILOX_WORDS * b);
  }
}

static inline uint64_t pair_at(const uint32_t *words, size_t k) {
  uint64_t pair;
  memcpy(&pair, words + 2 * k, sizeof pair); /* little-endian, as all that gemel runs on */
  return pair;
}

/* ---- Three times ---- */

#define ISA base
#include "ops/random-loops.h"
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define REGISTER 32
#define MULTIPLY(x, y) (word_lanes) _mm256_mul_epu32((__m256i)(x), (__m256i)(y))
#include "ops/random-loops.h"
#undef MULTIPLY
#undef REGISTER
#undef ISA
GEMEL__END_VARIANT
GEMEL__BEGIN_AVX512
#define ISA avx512
#define REGISTER 64
#define MULTIPLY(x, y) (word_lanes) _mm512_mul_epu32((__m512i)(x), (__m512i)(y))
#include "ops/random-loops.h"
#undef MULTIPLY
#undef REGISTER
#undef ISA
GEMEL__END_VARIANT
#else
#define kernels_avx2 kernels_base
#define kernels_avx512 kernels_base
#endif

const gemel__philox *gemel__philox_for(gemel__isa isa) {
  static const gemel__philox *const all[GEMEL__ISA_COUNT] = {&kernels_base, &kernels_avx2,
                                                             &kernels_avx512};
  return all[isa];
}
