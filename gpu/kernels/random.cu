/* SPDX-License-Identifier: MIT
 *
 * random_bits, random_uniform and random_normal: Philox4x32-10 (J. Salmon et al., "Parallel Random
 * Numbers: As Easy as 1, 2, 3", SC 2011). A thread makes one block of 16 bytes of the stream, and
 * the numbers that come of it; numbers and bits are those of the host.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"
#include "ops/random-function.h"

/* ---- Device ---- */

enum { ROUNDS = 10, BLOCK_BYTES = 16 };

/* Block NUMBER of the stream that KEY names. */
static __device__ void philox(const uint64_t *key, uint64_t number, uint32_t *c) {
  uint32_t k0 = (uint32_t)key[0], k1 = (uint32_t)(key[0] >> 32);
  c[0] = (uint32_t)number;
  c[1] = (uint32_t)(number >> 32);
  c[2] = (uint32_t)key[1];
  c[3] = (uint32_t)(key[1] >> 32);
  for (int round = 0; round < ROUNDS; round++) {
    const uint32_t p = 0xD2511F53u, q = 0xCD9E8D57u, first = c[0], third = c[2];
    c[0] = __umulhi(q, third) ^ c[1] ^ k0;
    c[1] = q * third;
    c[2] = __umulhi(p, first) ^ c[3] ^ k1;
    c[3] = p * first;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

static __device__ uint64_t word_of(const uint32_t *words, int k, int bytes) {
  return bytes == 8   ? words[2 * k] | (uint64_t)words[2 * k + 1] << 32
         : bytes == 4 ? words[k]
         : bytes == 2 ? words[k / 2] >> (k % 2 * 16) & 0xffff
                      : words[k / 4] >> (k % 4 * 8) & 0xff;
}

/* The next key: one more in the second word. */
static __device__ void write_next_key(const uint64_t *key, uint64_t *next) {
  if (first_element() == 0) {
    next[0] = key[0];
    next[1] = key[1] + 1;
  }
}

/* N numbers, BYTES bytes of the stream for each; PUT is what WORD becomes. Numbers of one block are
 * written together where OUT lies so, and all of them are wanted. */
#define RANDOM_KERNEL(name, Stored, BYTES, PUT)                                                    \
  static __global__ void name(long long n, Stored *out, uint64_t *next, const char *key_data,      \
                              long long key_stride) {                                              \
    const uint64_t key[2] = {*(const uint64_t *)key_data,                                          \
                             *(const uint64_t *)(key_data + key_stride)};                          \
    enum { NUMBERS = BLOCK_BYTES / BYTES };                                                        \
    typedef group<Stored, NUMBERS> several;                                                        \
    const bool aligned = (uintptr_t)out % sizeof(several) == 0;                                    \
    for (long long block = first_element(); block * NUMBERS < n; block += element_step()) {        \
      uint32_t words[4];                                                                           \
      several made;                                                                                \
      philox(key, (uint64_t)block, words);                                                         \
      for (int k = 0; k < NUMBERS; k++) {                                                          \
        const uint64_t word = word_of(words, k, BYTES);                                            \
        made.at[k] = PUT;                                                                          \
      }                                                                                            \
      if (aligned && (block + 1) * NUMBERS <= n) {                                                 \
        ((several *)out)[block] = made;                                                            \
      } else {                                                                                     \
        for (int k = 0; k < NUMBERS && (block * NUMBERS + k < n); k++) {                           \
          out[block * NUMBERS + k] = made.at[k];                                                   \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    write_next_key(key, next);                                                                     \
  }                                                                                                \
  GEMEL_KERNEL(name, name)

RANDOM_KERNEL(random_bits_1, uint8_t, 1, (uint8_t)word)
RANDOM_KERNEL(random_bits_2, uint16_t, 2, (uint16_t)word)
RANDOM_KERNEL(random_bits_4, uint32_t, 4, (uint32_t)word)
RANDOM_KERNEL(random_bits_8, uint64_t, 8, word)

/* The upper bits of a word, as many as the significand has. */
#define UNIFORM(bits) ((float)(word >> (32 - bits)) * (1.0f / (1 << bits)))
RANDOM_KERNEL(random_uniform_f16, uint16_t, 4, narrow_f16(UNIFORM(11)))
RANDOM_KERNEL(random_uniform_bf16, uint16_t, 4, narrow_bf16(UNIFORM(8)))
RANDOM_KERNEL(random_uniform_f32, float, 4, UNIFORM(24))
RANDOM_KERNEL(random_uniform_f64, double, 8, (double)(word >> 11) * 0x1p-53)

DEVICE float normal_of(uint32_t word) {
  return f32_normal(word, f32_depth(word));
}
RANDOM_KERNEL(random_normal_f16, uint16_t, 4, narrow_f16(round_f16(normal_of((uint32_t)word))))
RANDOM_KERNEL(random_normal_bf16, uint16_t, 4, narrow_bf16(round_bf16(normal_of((uint32_t)word))))
RANDOM_KERNEL(random_normal_f32, float, 4, normal_of((uint32_t)word))
RANDOM_KERNEL(random_normal_f64, double, 8, f64_normal(word, f64_depth(word)))

/* ---- Host ---- */

static gemel_status run_kernel(const gemel_kernel_call *call, const void *kernel, int bytes) {
  const gemel_view *key = &call->inputs[0], *out = &call->outputs[0];
  long long n = 1, stride = key->strides[0], numbers = BLOCK_BYTES / bytes;
  for (int axis = 0; axis < out->rank; axis++) {
    n *= out->shape[axis];
  }
  void *data = out->data, *next = call->outputs[1].data, *from = key->data;
  void *arguments[] = {&n, &data, &next, &from, &stride};
  long long blocks = (n + numbers - 1) / numbers;
  return launch_over(gemel__cuda_of(call), kernel, blocks > 0 ? blocks : 1, arguments, call->error);
}

static gemel_status run_bits(const gemel_kernel_call *call) {
  int bytes = (int)gemel_dtype_size(call->outputs[0].dtype);
  const void *kernel = bytes == 1   ? gemel__kernel_random_bits_1()
                       : bytes == 2 ? gemel__kernel_random_bits_2()
                       : bytes == 4 ? gemel__kernel_random_bits_4()
                                    : gemel__kernel_random_bits_8();
  return run_kernel(call, kernel, bytes);
}

static gemel_status run_uniform(const gemel_kernel_call *call) {
  gemel_dtype dtype = call->outputs[0].dtype;
  return run_kernel(call, BY_FLOAT(random_uniform, dtype), dtype == GEMEL_F64 ? 8 : 4);
}

static gemel_status run_normal(const gemel_kernel_call *call) {
  gemel_dtype dtype = call->outputs[0].dtype;
  return run_kernel(call, BY_FLOAT(random_normal, dtype), dtype == GEMEL_F64 ? 8 : 4);
}

extern "C" const gemel_kernel gemel__cuda_random_bits[] = {{"blocks", NULL, run_bits},
                                                           {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_random_uniform[] = {{"blocks", NULL, run_uniform},
                                                              {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_random_normal[] = {{"blocks", NULL, run_normal},
                                                             {NULL, NULL, NULL}};
