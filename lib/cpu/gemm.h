/* SPDX-License-Identifier: MIT
 *
 * Matrix products: C = A B or C += A B with A of m × k and B of k × n elements of any strides, C
 * row-major. Three ways: through a library (oneDNN or CBLAS for f32, CBLAS for f64), our own loops
 * for small products of f32 and f64, and our own plain loops, which take every dtype and stride.
 *
 * Which library is faster differs by machine (a factor of two either way), by size and by the
 * number of threads, so for f32, where both are there, the process's first big product of each
 * class of sizes, or a corner of it, is tried on both, and the winner kept. With `deterministic` it
 * is always CBLAS (oneDNN if there is none) on one thread: then a result depends neither on the
 * number of threads nor on a race. The plain loops add up each element of C in the order of k
 * whatever the number of threads.
 */
#ifndef GEMEL__CPU_GEMM_H
#define GEMEL__CPU_GEMM_H

#include <stdint.h>
#include <gemel/dtype.h>

typedef struct gemel__gemm {
  gemel_dtype dtype;
  int threads;
  int deterministic;
  int64_t m, n, k;
  int64_t a_row, a_col; /* strides in elements */
  int64_t b_row, b_col;
  int accumulate; /* 1: the product is added to what C holds; 0: that is not read */
  int64_t c_row;  /* elements from row to row of C; 0: n. By libraries only */
} gemel__gemm;

/* 1 if a library takes elements of this dtype / a matrix of these strides as it lies. */
int gemel__gemm_has_library(gemel_dtype dtype);
int gemel__gemm_takes(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride);

/* The product by a library that takes dtype and both matrices; m, n, k > 0. Thread-safe; but an
 * OpenBLAS has one number of threads for the whole process, so calls that ask for different numbers
 * at one time may get each other's. */
void gemel__gemm_library(const gemel__gemm *p, const void *a, const void *b, void *c);

/* How many threads libraries take: OpenBLAS by the process's number, oneDNN by that of the calling
 * thread's OpenMP. 0: there is no such thing. */
typedef struct gemel__thread_counts {
  int blas, openmp;
} gemel__thread_counts;

gemel__thread_counts gemel__threads_now(void);
void gemel__threads_set(gemel__thread_counts from, gemel__thread_counts to);

/* 1 if the loops for small products take the dtype and strides / are the fastest, as far as is
 * known.
 */
int gemel__gemm_small_takes(const gemel__gemm *p);
int gemel__gemm_is_small(const gemel__gemm *p);

/* C = FROM + A B, or A B where FROM is NULL, by these loops on one thread; FROM is row-major, and
 * may be C. Each element is added up in one order, whatever the machine. */
void gemel__gemm_small(const gemel__gemm *p, const void *a, const void *b, const void *from,
                       void *c);

/* The product by loops: any dtype, any strides, m, n > 0, k >= 0. Fast if b_col is 1. */
void gemel__gemm_plain(const gemel__gemm *p, const void *a, const void *b, void *c);

#endif
