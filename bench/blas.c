/* SPDX-License-Identifier: MIT
 *
 * oneDNN's and a CBLAS's product; see blas.h.
 */
#include "blas.h"

#ifdef HAVE_CBLAS
#include GEMEL_CBLAS_HEADER
#pragma weak openblas_set_num_threads
extern void openblas_set_num_threads(int threads);
#endif
#ifdef HAVE_DNNL
#include <dnnl.h>
#endif

#ifdef HAVE_DNNL
static void by_dnnl_sgemm(const gemel__gemm *p) {
  dnnl_sgemm(p->a_t ? 'T' : 'N', p->b_t ? 'T' : 'N', p->m, p->n, p->k, 1, p->a,
             p->a_t ? p->m : p->k, p->b, p->b_t ? p->k : p->n, 0, p->c, p->n);
}
#endif

#ifdef HAVE_CBLAS
static void by_cblas_sgemm(const gemel__gemm *p) {
  cblas_sgemm(CblasRowMajor, p->a_t ? CblasTrans : CblasNoTrans, p->b_t ? CblasTrans : CblasNoTrans,
              p->m, p->n, p->k, 1, p->a, p->a_t ? p->m : p->k, p->b, p->b_t ? p->k : p->n, 0, p->c,
              p->n);
}

static void by_cblas_dgemm(const gemel__gemm *p) {
  cblas_dgemm(CblasRowMajor, p->a_t ? CblasTrans : CblasNoTrans, p->b_t ? CblasTrans : CblasNoTrans,
              p->m, p->n, p->k, 1, p->a, p->a_t ? p->m : p->k, p->b, p->b_t ? p->k : p->n, 0, p->c,
              p->n);
}
#endif

const gemel__blas gemel__blas_f32[] = {
#ifdef HAVE_DNNL
    {"dnnl_sgemm", by_dnnl_sgemm},
#endif
#ifdef HAVE_CBLAS
    {"cblas_sgemm", by_cblas_sgemm},
#endif
    {NULL, NULL}};

const gemel__blas gemel__blas_f64[] = {
#ifdef HAVE_CBLAS
    {"cblas_dgemm", by_cblas_dgemm},
#endif
    {NULL, NULL}};

void gemel__blas_set_threads(const gemel__bench *b) {
#ifdef HAVE_CBLAS
  if (openblas_set_num_threads != NULL) {
    openblas_set_num_threads(b->threads);
  }
#endif
  (void)b;
}
