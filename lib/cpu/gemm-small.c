/* SPDX-License-Identifier: MIT
 *
 * Small matrix products, for f32 and f64, compiled for three instruction sets: calling a library
 * takes longer than such a product. With N = 1 it is the other matrix that is multiplied by a row.
 */
#define GEMEL__KERNELS
#include <stddef.h>
#include <stdint.h>
#include "cpu/gemm.h"
#include "core/isa.h"

enum { VECTOR_BYTES = 32 };

typedef void (*small_function)(const gemel__gemm *p, const void *a, const void *b, const void *from,
                               void *c);

/* Elements of two vectors, those of the second numbered behind those of the first. */
#ifdef __clang__
#define SHUFFLE_8(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define SHUFFLE_4 SHUFFLE_8
#else
typedef int32_t index_8 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t index_4 __attribute__((vector_size(VECTOR_BYTES)));
#define SHUFFLE_8(a, b, ...) __builtin_shuffle(a, b, (index_8){__VA_ARGS__})
#define SHUFFLE_4(a, b, ...) __builtin_shuffle(a, b, (index_4){__VA_ARGS__})
#endif

/* p[0] = the sums of the elements of each of the vectors in P. */
#define ADD_UP_8(p)                                                                                \
  for (int j = 0; j < 4; j++) {                                                                    \
    p[j] = SHUFFLE_8(p[2 * j], p[2 * j + 1], 0, 8, 2, 10, 4, 12, 6, 14) +                          \
           SHUFFLE_8(p[2 * j], p[2 * j + 1], 1, 9, 3, 11, 5, 13, 7, 15);                           \
  }                                                                                                \
  for (int j = 0; j < 2; j++) {                                                                    \
    p[j] = SHUFFLE_8(p[2 * j], p[2 * j + 1], 0, 1, 8, 9, 4, 5, 12, 13) +                           \
           SHUFFLE_8(p[2 * j], p[2 * j + 1], 2, 3, 10, 11, 6, 7, 14, 15);                          \
  }                                                                                                \
  p[0] = SHUFFLE_8(p[0], p[1], 0, 1, 2, 3, 8, 9, 10, 11) +                                         \
         SHUFFLE_8(p[0], p[1], 4, 5, 6, 7, 12, 13, 14, 15);

#define ADD_UP_4(p)                                                                                \
  for (int j = 0; j < 2; j++) {                                                                    \
    p[j] = SHUFFLE_4(p[2 * j], p[2 * j + 1], 0, 4, 2, 6) +                                         \
           SHUFFLE_4(p[2 * j], p[2 * j + 1], 1, 5, 3, 7);                                          \
  }                                                                                                \
  p[0] = SHUFFLE_4(p[0], p[1], 0, 1, 4, 5) + SHUFFLE_4(p[0], p[1], 2, 3, 6, 7);

#define SMALL_F32(n) GEMEL__PASTE3(n, f32, ISA)
#define SMALL_F64(n) GEMEL__PASTE3(n, f64, ISA)

#define ISA base
#define T float
#define ADD_UP ADD_UP_8
#define NAME SMALL_F32
#include "cpu/gemm-small.h"
#define T double
#define ADD_UP ADD_UP_4
#define NAME SMALL_F64
#include "cpu/gemm-small.h"
#undef ISA

#if GEMEL__X86
GEMEL__BEGIN_AVX2
#define ISA avx2
#define T float
#define ADD_UP ADD_UP_8
#define NAME SMALL_F32
#include "cpu/gemm-small.h"
#define T double
#define ADD_UP ADD_UP_4
#define NAME SMALL_F64
#include "cpu/gemm-small.h"
#undef ISA
GEMEL__END_VARIANT

GEMEL__BEGIN_AVX512
#define ISA avx512
#define T float
#define ADD_UP ADD_UP_8
#define NAME SMALL_F32
#include "cpu/gemm-small.h"
#define T double
#define ADD_UP ADD_UP_4
#define NAME SMALL_F64
#include "cpu/gemm-small.h"
#undef ISA
GEMEL__END_VARIANT
#endif

/* Products of so few multiplications, with so few rows or terms, are faster here than by a library:
 * twice as fast at 32 units, as fast at 4 rows and 100 units. */
enum { MOST = 1 << 15, FEW = 8 };

/* *P, whose other matrix is A, as a product of a row if it is one of a column; 1 if it is so. */
static int turned(gemel__gemm *p) {
  if (p->n != 1) {
    return 0;
  }
  *p = (gemel__gemm){.dtype = p->dtype,
                     .m = 1,
                     .n = p->m,
                     .k = p->k,
                     .a_col = p->b_row,
                     .b_row = p->a_col,
                     .b_col = p->a_row};
  return 1;
}

int gemel__gemm_small_takes(const gemel__gemm *given) {
  gemel__gemm p = *given;
  turned(&p);
  return (p.dtype == GEMEL_F32 || p.dtype == GEMEL_F64) &&
         (p.b_col == 1 || (p.b_row == 1 && p.a_col == 1));
}

int gemel__gemm_is_small(const gemel__gemm *p) {
  return (p->m <= FEW || p->n == 1 || p->k <= FEW) &&
         (double)p->m * (double)p->n * (double)p->k <= MOST;
}

void gemel__gemm_small(const gemel__gemm *given, const void *a, const void *b, const void *from,
                       void *c) {
  static const small_function functions[GEMEL__ISA_COUNT][2] = {
    [GEMEL__ISA_BASE] = {product_f32_base, product_f64_base},
#if GEMEL__X86
    [GEMEL__ISA_AVX2] = {product_f32_avx2, product_f64_avx2},
    [GEMEL__ISA_AVX512] = {product_f32_avx512, product_f64_avx512},
#endif
  };
  gemel__gemm p = *given;
  int other = turned(&p);
  functions[gemel__isa_best()][p.dtype == GEMEL_F64](&p, other ? b : a, other ? a : b, from, c);
}
