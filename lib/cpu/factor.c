/* SPDX-License-Identifier: MIT
 *
 * Factors through LAPACK, and the choice between it and loops; see factor.h. LAPACK has no header
 * that every distribution has, but everywhere the same names and arguments: those of Fortran, by
 * address, with the lengths of strings behind them.
 */
#include "cpu/factor.h"

#include <math.h>
#ifdef HAVE_LAPACK
#include GEMEL_CBLAS_HEADER
#endif

#define T float
#define F(name) name##_f32
#define M(name) name##f
#include "cpu/factor-loops.h"
#undef T
#undef F
#undef M
#define T double
#define F(name) name##_f64
#define M(name) name
#include "cpu/factor-loops.h"
#undef T
#undef F
#undef M

#ifdef HAVE_LAPACK

#define DECLARE(letter, T)                                                                         \
  extern void letter##getrf_(const int *m, const int *n, T *a, const int *lda, int *pivots,        \
                             int *info);                                                           \
  extern void letter##getrs_(const char *trans, const int *n, const int *k, const T *a,            \
                             const int *lda, const int *pivots, T *b, const int *ldb, int *info,   \
                             size_t trans_length);                                                 \
  extern void letter##potrf_(const char *triangle, const int *n, T *a, const int *lda, int *info,  \
                             size_t triangle_length);
DECLARE(s, float)
DECLARE(d, double)

static int library_lu(const gemel__factoring *f, void *a, int *pivots) {
  int n = (int)f->n, info = 0;
  if (f->dtype == GEMEL_F32) {
    sgetrf_(&n, &n, a, &n, pivots, &info);
  } else {
    dgetrf_(&n, &n, a, &n, pivots, &info);
  }
  return info == 0;
}

static void library_solve(const gemel__factoring *f, int64_t columns, const void *lu,
                          const int *pivots, void *b) {
  int n = (int)f->n, k = (int)columns, info = 0;
  if (f->dtype == GEMEL_F32) {
    sgetrs_("N", &n, &k, lu, &n, pivots, b, &n, &info, 1);
  } else {
    dgetrs_("N", &n, &k, lu, &n, pivots, b, &n, &info, 1);
  }
}

static int library_cholesky(const gemel__factoring *f, void *a) {
  int n = (int)f->n, info = 0;
  if (f->dtype == GEMEL_F32) {
    spotrf_("L", &n, a, &n, &info, 1);
  } else {
    dpotrf_("L", &n, a, &n, &info, 1);
  }
  return info == 0;
}

static void library_triangular(const gemel__factoring *f, gemel__triangle t, int64_t columns,
                               const void *a, void *b) {
  enum CBLAS_UPLO uplo = t.lower ? CblasLower : CblasUpper;
  enum CBLAS_DIAG diag = t.unit ? CblasUnit : CblasNonUnit;
  int n = (int)f->n, k = (int)columns;
  if (f->dtype == GEMEL_F32) {
    cblas_strsm(CblasColMajor, CblasLeft, uplo, CblasNoTrans, diag, n, k, 1, a, n, b, n);
  } else {
    cblas_dtrsm(CblasColMajor, CblasLeft, uplo, CblasNoTrans, diag, n, k, 1, a, n, b, n);
  }
}

#else

static int library_lu(const gemel__factoring *f, void *a, int *pivots) {
  (void)f, (void)a, (void)pivots;
  return 0;
}

static void library_solve(const gemel__factoring *f, int64_t columns, const void *lu,
                          const int *pivots, void *b) {
  (void)f, (void)columns, (void)lu, (void)pivots, (void)b;
}

static int library_cholesky(const gemel__factoring *f, void *a) {
  (void)f, (void)a;
  return 0;
}

static void library_triangular(const gemel__factoring *f, gemel__triangle t, int64_t columns,
                               const void *a, void *b) {
  (void)f, (void)t, (void)columns, (void)a, (void)b;
}

#endif

int gemel__factor_has_library(void) {
#ifdef HAVE_LAPACK
  return 1;
#else
  return 0;
#endif
}

int gemel__factor_lu(const gemel__factoring *f, void *a, int *pivots) {
  return f->library              ? library_lu(f, a, pivots)
         : f->dtype == GEMEL_F32 ? lu_f32(f->n, a, pivots)
                                 : lu_f64(f->n, a, pivots);
}

void gemel__factor_solve(const gemel__factoring *f, int64_t columns, const void *lu,
                         const int *pivots, void *b) {
  if (f->library) {
    library_solve(f, columns, lu, pivots, b);
  } else if (f->dtype == GEMEL_F32) {
    solve_f32(f->n, columns, lu, pivots, b);
  } else {
    solve_f64(f->n, columns, lu, pivots, b);
  }
}

int gemel__factor_cholesky(const gemel__factoring *f, void *a) {
  return f->library              ? library_cholesky(f, a)
         : f->dtype == GEMEL_F32 ? cholesky_f32(f->n, a)
                                 : cholesky_f64(f->n, a);
}

void gemel__factor_triangular(const gemel__factoring *f, gemel__triangle t, int64_t columns,
                              const void *a, void *b) {
  if (f->library) {
    library_triangular(f, t, columns, a, b);
  } else if (f->dtype == GEMEL_F32) {
    triangular_f32(f->n, t, columns, a, b);
  } else {
    triangular_f64(f->n, t, columns, a, b);
  }
}
