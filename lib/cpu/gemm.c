/* SPDX-License-Identifier: MIT
 *
 * Matrix products through oneDNN and CBLAS; see gemm.h. A matrix goes to a library as it lies if
 * one of its strides is 1 and the other spans it: then it is a row-major matrix or the transpose of
 * one, with a leading dimension. Products with a vector go to the library's matrix-vector routine.
 */
#include "cpu/gemm.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "core/alloc.h"
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef HAVE_CBLAS
#include GEMEL_CBLAS_HEADER
#endif
#ifdef HAVE_DNNL
#include <dnnl.h>
#endif

typedef struct matrix {
  const void *data;
  int64_t rows, columns, ld;
  int transposed; /* the memory holds columns × rows, row-major */
} matrix;

/* Fills in LD and TRANSPOSED; 0 if the matrix doesn't lie as a library needs it. */
static int lies(matrix *x, int64_t row, int64_t column) {
  int64_t most = x->rows > x->columns ? x->rows : x->columns;
  int64_t tall = x->columns > 0 ? x->columns : 1, wide = x->rows > 0 ? x->rows : 1;
  if (x->columns <= 1 || column == 1) {
    x->ld = x->rows <= 1 ? tall : row;
    x->transposed = 0;
    if (x->ld >= tall && x->ld <= INT_MAX && most <= INT_MAX) {
      return 1;
    }
  }
  if (x->rows <= 1 || row == 1) {
    x->ld = x->columns <= 1 ? wide : column;
    x->transposed = 1;
    return x->ld >= wide && x->ld <= INT_MAX && most <= INT_MAX;
  }
  return 0;
}

int gemel__gemm_has_library(gemel_dtype dtype) {
#ifdef HAVE_CBLAS
  return dtype == GEMEL_F32 || dtype == GEMEL_F64;
#elif defined(HAVE_DNNL)
  return dtype == GEMEL_F32;
#else
  (void)dtype;
  return 0;
#endif
}

int gemel__gemm_takes(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  matrix x = {NULL, rows, columns, 0, 0};
  return lies(&x, row_stride, column_stride);
}

/* ---- Threads ---- */

#ifdef HAVE_CBLAS
#pragma weak openblas_get_num_threads
#pragma weak openblas_set_num_threads
extern int openblas_get_num_threads(void);
extern void openblas_set_num_threads(int threads);
#endif

gemel__thread_counts gemel__threads_now(void) {
  gemel__thread_counts now = {0, 0};
#ifdef HAVE_CBLAS
  now.blas = openblas_get_num_threads != NULL ? openblas_get_num_threads() : 0;
#endif
#ifdef _OPENMP
  now.openmp = omp_get_max_threads();
#endif
  return now;
}

void gemel__threads_set(gemel__thread_counts from, gemel__thread_counts to) {
#ifdef HAVE_CBLAS
  if (openblas_set_num_threads != NULL && from.blas != to.blas && to.blas > 0) {
    openblas_set_num_threads(to.blas);
  }
#endif
#ifdef _OPENMP
  if (from.openmp != to.openmp) {
    omp_set_num_threads(to.openmp);
  }
#else
  (void)from, (void)to;
#endif
}

static inline int64_t row_of(const gemel__gemm *p) {
  return p->c_row > 0 ? p->c_row : p->n;
}

#ifdef HAVE_CBLAS

static enum CBLAS_TRANSPOSE cblas_trans(int transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

/* y = X v, or y += X v if ADD, where X is taken transposed if TRANS. Some versions of the routine
 * scale y by 0 instead of ignoring it, which keeps a NaN: so y is zeroed first. */
static void cblas_vector(gemel_dtype dtype, const matrix *x, int trans, const void *v, int step,
                         int add, void *y) {
  int rows = (int)(x->transposed ? x->columns : x->rows);
  int columns = (int)(x->transposed ? x->rows : x->columns);
  enum CBLAS_TRANSPOSE t = cblas_trans(trans != x->transposed);
  int64_t n = trans ? x->columns : x->rows;
  if (!add) {
    memset(y, 0, (size_t)n * gemel_dtype_size(dtype));
  }
  if (dtype == GEMEL_F32) {
    cblas_sgemv(CblasRowMajor, t, rows, columns, 1, x->data, (int)x->ld, v, step, (float)add, y, 1);
  } else {
    cblas_dgemv(CblasRowMajor, t, rows, columns, 1, x->data, (int)x->ld, v, step, add, y, 1);
  }
}

static int step_of(const matrix *v) {
  return v->rows * v->columns <= 1 ? 1
         : v->rows == 1            ? (int)(v->transposed ? v->ld : 1)
                                   : (int)(v->transposed ? 1 : v->ld);
}

static void cblas_product(const gemel__gemm *p, const matrix *a, const matrix *b, void *c) {
  gemel_dtype dtype = p->dtype;
  int m = (int)a->rows, n = (int)b->columns, k = (int)a->columns, ldc = (int)row_of(p);
  if (m == 1 && n == 1 && dtype == GEMEL_F32) {
    *(float *)c =
        (p->accumulate ? *(float *)c : 0) + cblas_sdot(k, a->data, step_of(a), b->data, step_of(b));
  } else if (m == 1 && n == 1) {
    *(double *)c = (p->accumulate ? *(double *)c : 0) +
                   cblas_ddot(k, a->data, step_of(a), b->data, step_of(b));
  } else if (n == 1 && ldc == 1) {
    cblas_vector(dtype, a, 0, b->data, step_of(b), p->accumulate, c);
  } else if (m == 1) {
    cblas_vector(dtype, b, 1, a->data, step_of(a), p->accumulate, c);
  } else if (dtype == GEMEL_F32) {
    cblas_sgemm(CblasRowMajor, cblas_trans(a->transposed), cblas_trans(b->transposed), m, n, k, 1,
                a->data, (int)a->ld, b->data, (int)b->ld, (float)p->accumulate, c, ldc);
  } else {
    cblas_dgemm(CblasRowMajor, cblas_trans(a->transposed), cblas_trans(b->transposed), m, n, k, 1,
                a->data, (int)a->ld, b->data, (int)b->ld, p->accumulate, c, ldc);
  }
}
#endif

#ifdef HAVE_DNNL
static void dnnl_product(const matrix *a, const matrix *b, int add, void *c, int64_t ldc) {
  dnnl_sgemm(a->transposed ? 'T' : 'N', b->transposed ? 'T' : 'N', a->rows, b->columns, a->columns,
             1, a->data, a->ld, b->data, b->ld, (float)add, c, ldc);
}
#endif

/* ---- Choosing between the two ---- */

enum { UNDECIDED, ONEDNN, CBLAS, DECIDING };

/* Below SMALL multiplications CBLAS's lower overhead decides; from BIG on a trial is worth while.
 */
enum { SMALL = 24 * 24 * 24, BIG = 160 * 160 * 160, TRIAL = 1024, ROUNDS = 5 };

/* Below this, some 40 us of work, oneDNN loses more than it gains by sharing a product among
 * threads, which are to be woken first; OpenBLAS has such a threshold of its own. */
enum { WORTH_THREADS = 128 * 128 * 128 };

#if defined(HAVE_CBLAS) && defined(HAVE_DNNL)

/* One choice for each doubling of the side: up to 256, 512, 1024 and above; for few rows or columns
 * and for many, where one library may take twice the other's time; and for one thread and for
 * several, since the libraries share work in different ways. */
enum { CLASSES = 4, FEW_ROWS = 32 };

static atomic_int choices[CLASSES][2][2];

static atomic_int *choice_of(const gemel__gemm *p, double work) {
  int size = 0, narrow = p->m < FEW_ROWS || p->n < FEW_ROWS;
  for (double most = 256.0 * 256 * 256; size < CLASSES - 1 && work >= most; most *= 8) {
    size++;
  }
  return &choices[size][narrow][p->threads > 1];
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double time_one(int which, const matrix *a, const matrix *b, float *c, int64_t n) {
  double start = seconds();
  if (which == ONEDNN) {
    dnnl_product(a, b, 0, c, n);
  } else {
    cblas_sgemm(CblasRowMajor, cblas_trans(a->transposed), cblas_trans(b->transposed), (int)a->rows,
                (int)b->columns, (int)a->columns, 1, a->data, (int)a->ld, b->data, (int)b->ld, 0, c,
                (int)n);
  }
  return seconds() - start;
}

/* Races both on a corner of the product, at most TRIAL a side, in memory of its own; who is faster
 * in most rounds wins, for a machine that others use is slow at times. The first round, in which
 * kernels are compiled and threads started, doesn't count. UNDECIDED when memory is out. */
static int faster(matrix a, matrix b) {
  int won = 0;
  a.rows = a.rows < TRIAL ? a.rows : TRIAL;
  b.columns = b.columns < TRIAL ? b.columns : TRIAL;
  a.columns = b.rows = a.columns < TRIAL ? a.columns : TRIAL;
  int64_t n = b.columns;
  size_t bytes = (size_t)(a.rows * n) * sizeof(float);
  float *c = gemel__alloc(bytes);
  if (c == NULL) {
    return UNDECIDED;
  }
  for (int round = 0; round <= ROUNDS; round++) {
    double onednn = time_one(ONEDNN, &a, &b, c, n), cblas = time_one(CBLAS, &a, &b, c, n);
    won += round > 0 && onednn < cblas;
  }
  gemel__free(c, bytes);
  return won > ROUNDS / 2 ? ONEDNN : CBLAS;
}

static int choose(const gemel__gemm *p, const matrix *a, const matrix *b) {
  double work = (double)p->m * (double)p->n * (double)p->k;
  int now = UNDECIDED;
  if (p->deterministic || p->m == 1 || p->n == 1 || work < SMALL) {
    return CBLAS;
  }
  atomic_int *choice = choice_of(p, work);
  if (work >= BIG && atomic_compare_exchange_strong(choice, &now, DECIDING)) {
    atomic_store(choice, faster(*a, *b));
  }
  now = atomic_load(choice);
  return now == CBLAS ? CBLAS : ONEDNN;
}

#else

static int choose(const gemel__gemm *p, const matrix *a, const matrix *b) {
  (void)p, (void)a, (void)b;
  return gemel__gemm_has_library(GEMEL_F64) ? CBLAS : ONEDNN;
}

#endif

static void compute(const gemel__gemm *p, const matrix *a, const matrix *b, void *c) {
  int which = p->dtype == GEMEL_F32 ? choose(p, a, b) : CBLAS;
#ifdef HAVE_DNNL
  if (which == ONEDNN) {
    dnnl_product(a, b, p->accumulate, c, row_of(p));
    return;
  }
#endif
#ifdef HAVE_CBLAS
  cblas_product(p, a, b, c);
#endif
  (void)which, (void)c;
}

void gemel__gemm_library(const gemel__gemm *p, const void *a, const void *b, void *c) {
  matrix x = {a, p->m, p->k, 0, 0}, y = {b, p->k, p->n, 0, 0};
  double work = (double)p->m * (double)p->n * (double)p->k;
  int threads = p->deterministic || p->threads < 1 ? 1 : p->threads;
  gemel__thread_counts before = gemel__threads_now(),
                       wanted = {threads, work < WORTH_THREADS ? 1 : threads};
  lies(&x, p->a_row, p->a_col);
  lies(&y, p->b_row, p->b_col);
  gemel__threads_set(before, wanted);
  compute(p, &x, &y, c);
  gemel__threads_set(wanted, before);
}
