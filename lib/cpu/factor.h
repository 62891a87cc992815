/* SPDX-License-Identifier: MIT
 *
 * Factors of matrices, and what is solved by them: f32 or f64, contiguous and column-major, as
 * LAPACK has them. Through LAPACK and the CBLAS where the build has both, or by loops on the
 * calling thread; the loops do the same in the textbook's order.
 */
#ifndef GEMEL__CPU_FACTOR_H
#define GEMEL__CPU_FACTOR_H

#include <stdint.h>
#include <gemel/dtype.h>

/* Matrices of N rows and columns of DTYPE; N is at most INT_MAX. LIBRARY: through LAPACK. */
typedef struct gemel__factoring {
  gemel_dtype dtype;
  int64_t n;
  int library;
} gemel__factoring;

/* 1 if the build has LAPACK. */
int gemel__factor_has_library(void);

/* A = its factors of Gaussian elimination with partial pivoting: u, and below the diagonal l, whose
 * own is 1. Row k was exchanged with row PIVOTS[k] - 1, in this order. 0 if a pivot is 0, and what
 * stands in A is of no use. */
int gemel__factor_lu(const gemel__factoring *f, void *a, int *pivots);

/* Solves for K columns B, given such factors. */
void gemel__factor_solve(const gemel__factoring *f, int64_t k, const void *lu, const int *pivots,
                         void *b);

/* The lower triangle of A = that of its Cholesky factor. 0 if a pivot isn't positive. */
int gemel__factor_cholesky(const gemel__factoring *f, void *a);

/* Which triangle of a matrix is meant, and whether its diagonal is read or 1. */
typedef struct gemel__triangle {
  int lower, unit;
} gemel__triangle;

/* Solves for K columns B with the triangle of A. */
void gemel__factor_triangular(const gemel__factoring *f, gemel__triangle t, int64_t k,
                              const void *a, void *b);

#endif
