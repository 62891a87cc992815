/* SPDX-License-Identifier: MIT
 *
 * Products of matrices by the libraries' own calls, which suites compare with.
 */
#ifndef GEMEL__BENCH_BLAS_H
#define GEMEL__BENCH_BLAS_H

#include "bench.h"

/* C = op(A) op(B) for matrices without gaps, row by row: op(A) has M rows of K, op(B) K rows of N,
 * and is the transpose of what is given where A_T, B_T is 1. */
typedef struct gemel__gemm {
  int a_t, b_t, m, n, k;
  const void *a, *b;
  void *c;
} gemel__gemm;

/* A library's call that computes it. */
typedef struct gemel__blas {
  const char *name;
  void (*run)(const gemel__gemm *product);
} gemel__blas;

enum { GEMEL__MAX_BLAS = 2 };

/* The calls that this build has for a dtype; the last has a NULL name. */
extern const gemel__blas gemel__blas_f32[], gemel__blas_f64[];

/* What the settings say of OpenMP's threads, for a CBLAS that has threads of its own. */
void gemel__blas_set_threads(const gemel__bench *b);

#endif
