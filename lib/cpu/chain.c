/* SPDX-License-Identifier: MIT
 *
 * Chains of arithmetic on f32 and f64, for three instruction sets. A tile is done in blocks of
 * eight registers; what is left at the end is copied into a block of its own and done the same way,
 * so every element goes through the same instructions wherever it stands.
 */
#define GEMEL__KERNELS
#include "cpu/chain.h"

#include <string.h>
#include "core/isa.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#if defined(__GNUC__)

/* What there is for one dtype and instruction set. */
typedef struct gemel__chain_family {
  const gemel__chain_function (*links)[GEMEL__CHAIN_SIDES];
  gemel__chain_function load, store, stream;
  size_t (*blocks)(const gemel__link *link, size_t bytes);
} family;

#if GEMEL__X86
#include <immintrin.h>
#define MM _mm
#define STREAM(p, a) _mm_stream_si128((__m128i *)(p), (__m128i)(a))
#else
#define STREAM(p, a) (*(p) = (a))
#endif
#define ISA base
#define WIDTH 16
#define T float
#define TAG f32
#define BITS int32_t
#define SUFFIX ps
#include "cpu/chain-loops.h"
#define T double
#define TAG f64
#define BITS int64_t
#define SUFFIX pd
#include "cpu/chain-loops.h"
#undef ISA
#undef WIDTH
#undef STREAM
#undef MM

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define MM _mm256
#define STREAM(p, a) _mm256_stream_si256((__m256i *)(p), (__m256i)(a))
#define ISA avx2
#define WIDTH 32
#define T float
#define TAG f32
#define BITS int32_t
#define SUFFIX ps
#include "cpu/chain-loops.h"
#define T double
#define TAG f64
#define BITS int64_t
#define SUFFIX pd
#include "cpu/chain-loops.h"
#undef ISA
#undef WIDTH
#undef STREAM
#undef MM
GEMEL__END_VARIANT

GEMEL__BEGIN_AVX512
#define MM _mm512
#define STREAM(p, a) _mm512_stream_si512((void *)(p), (__m512i)(a))
#define ISA avx512
#define WIDTH 64
#define T float
#define TAG f32
#define BITS int32_t
#define SUFFIX ps
#include "cpu/chain-loops.h"
#define T double
#define TAG f64
#define BITS int64_t
#define SUFFIX pd
#include "cpu/chain-loops.h"
#undef ISA
#undef WIDTH
GEMEL__END_VARIANT
#else
#define family_f32_avx2 family_f32_base
#define family_f64_avx2 family_f64_base
#define family_f32_avx512 family_f32_base
#define family_f64_avx512 family_f64_base
#endif

/* NULL if chains of DTYPE don't exist. */
static const family *family_of(gemel_dtype dtype) {
  static const family *const all[GEMEL__ISA_COUNT][2] = {{&family_f32_base, &family_f64_base},
                                                         {&family_f32_avx2, &family_f64_avx2},
                                                         {&family_f32_avx512, &family_f64_avx512}};
  return dtype == GEMEL_F32 || dtype == GEMEL_F64 ? all[gemel__isa_best()][dtype == GEMEL_F64]
                                                  : NULL;
}

gemel__chain_function gemel__chain_step(const gemel__scalar_row *row, gemel_dtype dtype,
                                        gemel__chain_side side) {
  const family *f = family_of(dtype);
  return f != NULL ? f->links[row->index][side] : NULL;
}

void gemel__chain_append(gemel__chain *chain, gemel__chain_function step, uint16_t slot,
                         int fixed) {
  chain->functions[chain->n_links] = step;
  chain->fixed[chain->n_links] = (uint8_t)(fixed != 0);
  chain->slots[chain->n_links++] = slot;
}

void gemel__chain_begin(gemel__chain *chain, gemel_dtype dtype, uint16_t slot) {
  memset(chain, 0, sizeof *chain);
  chain->dtype = dtype;
  chain->family = family_of(dtype);
  gemel__chain_append(chain, chain->family->load, slot, 0);
}

void gemel__chain_end(gemel__chain *chain, uint16_t slot) {
  gemel__chain_append(chain, chain->family->store, slot, 0);
}

enum { LINE = 64, BLOCK = 8 * LINE };
_Static_assert(BLOCK <= (int)GEMEL__CHAIN_FIXED, "the block at the end fits into what is filled");

/* The last BYTES < BLOCK bytes, from AT on. */
static void run_rest(const gemel__chain *chain, const gemel__link *links, size_t at, size_t bytes) {
  _Alignas(64) char blocks[GEMEL__CHAIN_LINKS + 2][BLOCK];
  gemel__link rest[GEMEL__CHAIN_LINKS + 2];
  uint32_t k, n = chain->n_links;
  for (k = 0; k < n; k++) {
    rest[k].run = links[k].run;
    rest[k].operand = chain->fixed[k] ? links[k].operand : blocks[k];
    if (k + 1 < n && !chain->fixed[k]) {
      memset(blocks[k], 0, BLOCK);
      memcpy(blocks[k], links[k].operand + at, bytes);
    }
  }
  chain->family->blocks(rest, BLOCK);
  memcpy(links[n - 1].operand + at, blocks[n - 1], bytes);
}

void gemel__chain_run(const gemel__chain *chain, size_t n, void *const *slots) {
  const family *f = chain->family;
  size_t bytes = n * (chain->dtype == GEMEL_F32 ? sizeof(float) : sizeof(double)), done;
  gemel__link links[GEMEL__CHAIN_LINKS + 2];
  for (uint32_t k = 0; k < chain->n_links; k++) {
    links[k].run = chain->functions[k];
    links[k].operand = slots[chain->slots[k]];
  }
  if (chain->streamed && (uintptr_t)links[chain->n_links - 1].operand % LINE == 0) {
    links[chain->n_links - 1].run = f->stream;
  }
  done = f->blocks(links, bytes);
  if (done < bytes) {
    links[chain->n_links - 1].run = f->store;
    run_rest(chain, links, done, bytes - done);
  }
}

#else

gemel__chain_function gemel__chain_step(const gemel__scalar_row *row, gemel_dtype dtype,
                                        gemel__chain_side side) {
  (void)row, (void)dtype, (void)side;
  return NULL;
}

void gemel__chain_begin(gemel__chain *chain, gemel_dtype dtype, uint16_t slot) {
  (void)chain, (void)dtype, (void)slot;
}

void gemel__chain_append(gemel__chain *chain, gemel__chain_function step, uint16_t slot,
                         int fixed) {
  (void)chain, (void)step, (void)slot, (void)fixed;
}

void gemel__chain_end(gemel__chain *chain, uint16_t slot) {
  (void)chain, (void)slot;
}

void gemel__chain_run(const gemel__chain *chain, size_t n, void *const *slots) {
  (void)chain, (void)n, (void)slots;
}

#endif
