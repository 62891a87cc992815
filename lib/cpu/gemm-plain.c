/* SPDX-License-Identifier: MIT
 *
 * Matrix products by our own loops, for every dtype, compiled for three instruction sets. Rows are
 * shared out among threads in blocks of fixed size; each sum is one thread's.
 */
#define GEMEL__KERNELS
#include "core/dtype.h"
#include "cpu/gemm.h"
#include "core/isa.h"

enum { PANEL = 16, STRIP = 256, BLOCK_ROWS = 32, WORTH_THREADS = 1 << 18 };

typedef void (*tile_function)(const gemel__gemm *p, const void *a, const void *b, void *c,
                              int64_t row, int64_t row_end);

#define ISA base
#include "cpu/gemm-types.h"
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#include "cpu/gemm-types.h"
#undef ISA
GEMEL__END_VARIANT

GEMEL__BEGIN_AVX512
#define ISA avx512
#include "cpu/gemm-types.h"
#undef ISA
GEMEL__END_VARIANT
#endif

static tile_function tile_for(gemel_dtype dtype) {
#if GEMEL__X86
  switch (gemel__isa_best()) {
  case GEMEL__ISA_AVX512:
    return tiles_avx512[dtype];
  case GEMEL__ISA_AVX2:
    return tiles_avx2[dtype];
  default:
    break;
  }
#endif
  return tiles_base[dtype];
}

/* Products of a few elements: no accumulators to set up. */
#define TINY(E, T)                                                                                 \
  case E:                                                                                          \
    for (int64_t i = 0; i < p->m; i++) {                                                           \
      for (int64_t j = 0; j < p->n; j++) {                                                         \
        const T *x = (const T *)a + i * p->a_row, *y = (const T *)b + j * p->b_col;                \
        T sum = p->accumulate ? ((T *)c)[i * p->n + j] : 0;                                        \
        for (int64_t q = 0; q < p->k; q++) {                                                       \
          sum += x[q * p->a_col] * y[q * p->b_row];                                                \
        }                                                                                          \
        ((T *)c)[i * p->n + j] = sum;                                                              \
      }                                                                                            \
    }                                                                                              \
    return 1;

enum { FEW = 512 };

static int tiny(const gemel__gemm *p, const void *a, const void *b, void *c) {
  if (p->m > FEW || p->n > FEW || p->k > FEW || p->m * p->n * p->k > FEW) {
    return 0;
  }
  switch (p->dtype) {
    TINY(GEMEL_F32, float)
    TINY(GEMEL_F64, double)
  default:
    return 0;
  }
}

void gemel__gemm_plain(const gemel__gemm *p, const void *a, const void *b, void *c) {
  tile_function tile = NULL;
  int64_t blocks = (p->m + BLOCK_ROWS - 1) / BLOCK_ROWS;
  if (tiny(p, a, b, c)) {
    return;
  }
  tile = tile_for(p->dtype);
  if (p->threads > 1 && blocks > 1 && (double)p->m * (double)p->n * (double)p->k > WORTH_THREADS) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(p->threads) schedule(dynamic)
#endif
    for (int64_t block = 0; block < blocks; block++) {
      int64_t end = (block + 1) * BLOCK_ROWS;
      tile(p, a, b, c, block * BLOCK_ROWS, end < p->m ? end : p->m);
    }
  } else {
    tile(p, a, b, c, 0, p->m);
  }
}
