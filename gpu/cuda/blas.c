/* SPDX-License-Identifier: MIT
 *
 * Products and triangular systems by cuBLAS. Numbers are multiplied and added in their own
 * precision, halves in f32, and f32 in less where the call's precision says so. The workspace is
 * the device's own, so that a product that is part of a graph needs nothing from CUDA when it runs;
 * the one stream orders who uses it.
 */
#include "cuda/cuda.h"

static cublasComputeType_t compute_type(const gemel__cuda_product *p) {
  int reduced = p->dtype == CUDA_R_32F ? p->precision : GEMEL_PRECISION_IEEE;
  return p->dtype == CUDA_R_64F            ? CUBLAS_COMPUTE_64F
         : reduced == GEMEL_PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
         : reduced == GEMEL_PRECISION_BF16 ? CUBLAS_COMPUTE_32F_FAST_16BF
                                           : CUBLAS_COMPUTE_32F;
}

/* A new stream takes the workspace away from the handle. */
static cublasStatus_t prepare(const gemel_cuda *cuda) {
  cublasStatus_t result = cublasSetStream(cuda->blas, gemel__cuda_stream(cuda));
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = cublasSetWorkspace(cuda->blas, cuda->blas_workspace, cuda->blas_bytes);
  }
  return result;
}

static cublasStatus_t ask(gemel_cuda *cuda, const gemel__cuda_product *p, const void *a,
                          const void *b, void *c) {
  const float one = 1, kept = p->adds ? 1 : 0;
  const double one_wide = 1, kept_wide = p->adds ? 1 : 0;
  int wide = p->dtype == CUDA_R_64F;
  cublasStatus_t result;
  pthread_mutex_lock(&cuda->blas_lock);
  result = prepare(cuda);
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = cublasGemmStridedBatchedEx(
        cuda->blas, p->operation[0], p->operation[1], p->m, p->n, p->k,
        wide ? (const void *)&one_wide : &one, a, p->dtype, p->leading[0], p->batch[0], b, p->dtype,
        p->leading[1], p->batch[1], wide ? (const void *)&kept_wide : &kept, c, p->dtype,
        p->leading[2], p->batch[2], p->count, compute_type(p), CUBLAS_GEMM_DEFAULT);
  }
  pthread_mutex_unlock(&cuda->blas_lock);
  return result;
}

gemel_status gemel__cuda_multiply(gemel_cuda *cuda, const gemel__cuda_product *p, const void *a,
                                  const void *b, void *c, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  if (status == GEMEL_OK) {
    status = gemel__cuda_check_blas(error, ask(cuda, p, a, b, c), "a product");
  }
  gemel__cuda_leave(cuda, before);
  gemel__cuda_count_one(cuda, &cuda->counts.kernels);
  return status;
}

static cublasStatus_t ask_system(gemel_cuda *cuda, const gemel__cuda_triangle *t, const void *a,
                                 void *b) {
  const float one = 1;
  const double one_wide = 1;
  cublasFillMode_t uplo = t->lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  cublasDiagType_t diagonal = t->unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  cublasStatus_t result;
  pthread_mutex_lock(&cuda->blas_lock);
  result = prepare(cuda);
  if (result == CUBLAS_STATUS_SUCCESS && t->wide) {
    result = cublasDtrsm(cuda->blas, CUBLAS_SIDE_LEFT, uplo, CUBLAS_OP_N, diagonal, t->n,
                         t->columns, &one_wide, a, t->n, b, t->n);
  } else if (result == CUBLAS_STATUS_SUCCESS) {
    result = cublasStrsm(cuda->blas, CUBLAS_SIDE_LEFT, uplo, CUBLAS_OP_N, diagonal, t->n,
                         t->columns, &one, a, t->n, b, t->n);
  }
  pthread_mutex_unlock(&cuda->blas_lock);
  return result;
}

gemel_status gemel__cuda_substitute(gemel_cuda *cuda, const gemel__cuda_triangle *t, const void *a,
                                    void *b, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  if (status == GEMEL_OK) {
    status = gemel__cuda_check_blas(error, ask_system(cuda, t, a, b), "a triangular system");
  }
  gemel__cuda_leave(cuda, before);
  gemel__cuda_count_one(cuda, &cuda->counts.kernels);
  return status;
}
