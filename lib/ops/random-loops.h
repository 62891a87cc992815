/* SPDX-License-Identifier: MIT
 *
 * The loops of random-kernels.c for one instruction set. The includer defines ISA, and where the
 * registers hold several products of 32 bits by 32 bits, REGISTER (their bytes) and MULTIPLY, which
 * multiplies the lower halves of lanes of 64 bits. No include guard: included many times.
 */
#define NAME(what) GEMEL__PASTE2(what, ISA)

#ifdef REGISTER
#define word_lanes NAME(word_lanes)
typedef uint64_t word_lanes __attribute__((vector_size(REGISTER)));
enum { NAME(LANES) = REGISTER / 8, NAME(GROUPS) = 2, NAME(STEP) = NAME(LANES) * NAME(GROUPS) };

/* A word of a block is the lower half of a lane; what comes to stand in the upper half is ignored
 * by MULTIPLY, and left out in the end. Two vectors of blocks go through the rounds together, so
 * that one's products are made while the other's are waited for. */
static inline void NAME(rounds)(const uint64_t *key, word_lanes x[4][NAME(GROUPS)]) {
  uint32_t k0 = (uint32_t)key[0], k1 = (uint32_t)(key[0] >> 32);
  for (int round = 0; round < rounds(); round++) {
    for (int g = 0; g < NAME(GROUPS); g++) {
      const word_lanes p = MULTIPLY(x[0][g], (word_lanes){0} + multiplier(0));
      const word_lanes q = MULTIPLY(x[2][g], (word_lanes){0} + multiplier(1));
      x[0][g] = (q >> 32) ^ x[1][g] ^ ((word_lanes){0} + k0);
      x[1][g] = q;
      x[2][g] = (p >> 32) ^ x[3][g] ^ ((word_lanes){0} + k1);
      x[3][g] = p;
    }
    k0 += key_steps[0];
    k1 += key_steps[1];
  }
}

static inline void NAME(store)(word_lanes x[4][NAME(GROUPS)], int g, uint32_t *words) {
  const word_lanes lower = (word_lanes){0} + UINT32_MAX;
  const word_lanes even = (x[0][g] & lower) | x[1][g] << 32;
  const word_lanes odd = (x[2][g] & lower) | x[3][g] << 32;
  uint64_t pairs[2 * NAME(LANES)];
  for (int l = 0; l < NAME(LANES); l++) {
    pairs[2 * l] = even[l];
    pairs[2 * l + 1] = odd[l];
  }
  memcpy(words, pairs, sizeof pairs);
}

static void NAME(blocks)(const uint64_t *key, uint64_t first, size_t n, uint32_t *words) {
  word_lanes number, x[4][NAME(GROUPS)];
  for (int l = 0; l < NAME(LANES); l++) {
    number[l] = (uint64_t)l;
  }
  for (; n >= NAME(STEP); n -= NAME(STEP), first += NAME(STEP)) {
    for (int g = 0; g < NAME(GROUPS); g++) {
      x[0][g] = number + (first + (uint64_t)(g * NAME(LANES)));
      x[1][g] = x[0][g] >> 32;
      x[2][g] = (word_lanes){0} + stream_of(key);
      x[3][g] = x[2][g] >> 32;
    }
    NAME(rounds)(key, x);
    for (int g = 0; g < NAME(GROUPS); g++, words += GEMEL__PHILOX_WORDS * NAME(LANES)) {
      NAME(store)(x, g, words);
    }
  }
  blocks_base(key, first, n, words);
}
#undef word_lanes
#endif

static void NAME(uniform_f32)(size_t n, int bits, const uint32_t *words, void *out) {
  const float unit = 1.0f / (float)(1 << bits);
  float *const r = out;
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    r[k] = (float)(int32_t)(words[k] >> (32 - bits)) * unit;
  }
}

static void NAME(uniform_f64)(size_t n, int bits, const uint32_t *words, void *out) {
  const double unit = 1.0 / (double)(INT64_C(1) << bits);
  double *const r = out;
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    r[k] = f64_of(pair_at(words, k) >> (64 - bits), 0) * unit;
  }
}

/* Two loops, for one would be a long chain of steps, each of which waits for the one before. */
static void NAME(normal_f32)(size_t n, const uint32_t *words, void *out) {
  float *const r = out;
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    r[k] = f32_depth(words[k]);
  }
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    r[k] = f32_normal(words[k], r[k]);
  }
}

static void NAME(normal_f64)(size_t n, const uint32_t *words, void *out) {
  double *const r = out;
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    r[k] = f64_depth(pair_at(words, k));
  }
  GEMEL__INDEPENDENT
  for (size_t k = 0; k < n; k++) {
    r[k] = f64_normal(pair_at(words, k), r[k]);
  }
}

static const gemel__philox NAME(kernels) = {NAME(blocks), NAME(uniform_f32), NAME(uniform_f64),
                                            NAME(normal_f32), NAME(normal_f64)};
#undef NAME
