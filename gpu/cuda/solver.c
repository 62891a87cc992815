/* SPDX-License-Identifier: MIT
 *
 * Factors of matrices by cuSOLVER, in the caller's memory. It gives the same bits whenever it is
 * asked: what its deterministic mode is about are other functions. Its documentation doesn't say
 * whether a CUDA graph can have its work, so whoever plans a factoring has it recorded once, and
 * what can't be recorded is declined; so is everything where cuSOLVER isn't there.
 */
#include "cuda/cuda.h"

#ifndef GEMEL__CUSOLVER

gemel_status gemel__cuda_factor_prepare(gemel_cuda *cuda, gemel__cuda_factors *f,
                                        gemel_error *error) {
  (void)cuda, (void)f, (void)error;
  return GEMEL_DECLINED;
}
gemel_status gemel__cuda_factor(gemel_cuda *cuda, const gemel__cuda_factors *f,
                                const gemel__cuda_factored *at, gemel_error *error) {
  (void)cuda, (void)f, (void)at, (void)error;
  return GEMEL_DECLINED;
}
void gemel__cuda_cusolver_close(gemel_cuda *cuda) {
  (void)cuda;
}

#else

#include <cusolverDn.h>

static gemel_status check(gemel_error *error, cusolverStatus_t result) {
  if (result == CUSOLVER_STATUS_SUCCESS) {
    return GEMEL_OK;
  }
  gemel__cuda_forget_error();
  return gemel__cuda_fail(error,
                          result == CUSOLVER_STATUS_ALLOC_FAILED ? GEMEL_NO_MEMORY : GEMEL_DEVICE,
                          "factors of a matrix: cuSOLVER's status is %d", (int)result);
}

/* For want of memory planning fails; all else means that other kernels must do it. */
static gemel_status or_declined(gemel_status status) {
  return status == GEMEL_DEVICE ? GEMEL_DECLINED : status;
}

/* The device's handle, made when it is first wanted: cuSOLVER takes long to load. */
static gemel_status open_handle(gemel_cuda *cuda, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  pthread_mutex_lock(&cuda->cusolver_lock);
  if (cuda->cusolver == NULL && !cuda->no_cusolver) {
    cusolverDnHandle_t handle = NULL;
    status = or_declined(check(error, cusolverDnCreate(&handle)));
    cuda->cusolver = handle;
    cuda->no_cusolver = status == GEMEL_DECLINED;
  }
  status = cuda->no_cusolver ? GEMEL_DECLINED : status;
  pthread_mutex_unlock(&cuda->cusolver_lock);
  return status;
}

void gemel__cuda_cusolver_close(gemel_cuda *cuda) {
  if (cuda->cusolver != NULL) {
    check(NULL, cusolverDnDestroy(cuda->cusolver));
  }
}

static cusolverStatus_t measure(cusolverDnHandle_t handle, gemel__cuda_factors *f) {
  const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
  int n = f->n, *length = &f->workspace;
  return f->wide ? f->cholesky ? cusolverDnDpotrf_bufferSize(handle, lower, n, NULL, n, length)
                               : cusolverDnDgetrf_bufferSize(handle, n, n, NULL, n, length)
         : f->cholesky ? cusolverDnSpotrf_bufferSize(handle, lower, n, NULL, n, length)
                       : cusolverDnSgetrf_bufferSize(handle, n, n, NULL, n, length);
}

static cusolverStatus_t ask_here(cusolverDnHandle_t handle, const gemel__cuda_factors *f,
                                 const gemel__cuda_factored *at) {
  const cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
  void *a = at->a, *work = at->workspace;
  int n = f->n;
  return f->wide       ? f->cholesky
                             ? cusolverDnDpotrf(handle, lower, n, a, n, work, f->workspace, at->info)
                             : cusolverDnDgetrf(handle, n, n, a, n, work, at->pivots, at->info)
               : f->cholesky ? cusolverDnSpotrf(handle, lower, n, a, n, work, f->workspace, at->info)
                       : cusolverDnSgetrf(handle, n, n, a, n, work, at->pivots, at->info);
}

static cusolverStatus_t ask(gemel_cuda *cuda, cudaStream_t stream, const gemel__cuda_factors *f,
                            const gemel__cuda_factored *at) {
  pthread_mutex_lock(&cuda->cusolver_lock);
  cusolverStatus_t result = cusolverDnSetStream(cuda->cusolver, stream);
  if (result == CUSOLVER_STATUS_SUCCESS) {
    result = ask_here(cuda->cusolver, f, at);
  }
  pthread_mutex_unlock(&cuda->cusolver_lock);
  return result;
}

/* Nothing that is recorded here runs, so any memory will do. */
static gemel_status record(gemel_cuda *cuda, const gemel__cuda_factors *f, cudaStream_t stream,
                           gemel_error *error) {
  void *any = cuda->blas_workspace;
  const gemel__cuda_factored at = {any, any, any, any};
  cudaGraph_t graph = NULL;
  cudaError_t result = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  gemel_status status = gemel__cuda_check(error, result, "a recording");
  if (status == GEMEL_OK) {
    status = check(error, ask(cuda, stream, f, &at));
    result = cudaStreamEndCapture(stream, &graph);
    status = status == GEMEL_OK ? gemel__cuda_check(error, result, "a recording") : status;
    gemel__cuda_forget_error();
  }
  if (graph != NULL) {
    gemel__cuda_freed(cudaGraphDestroy(graph));
  }
  return status;
}

static gemel_status try_to_record(gemel_cuda *cuda, const gemel__cuda_factors *f,
                                  gemel_error *error) {
  cudaStream_t stream = NULL;
  gemel_status status = gemel__cuda_check(
      error, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  if (status == GEMEL_OK) {
    status = record(cuda, f, stream, error);
    gemel__cuda_freed(cudaStreamDestroy(stream));
  }
  return status;
}

gemel_status gemel__cuda_factor_prepare(gemel_cuda *cuda, gemel__cuda_factors *f,
                                        gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  status = status == GEMEL_OK ? open_handle(cuda, error) : status;
  if (status == GEMEL_OK) {
    pthread_mutex_lock(&cuda->cusolver_lock);
    status = or_declined(check(error, measure(cuda->cusolver, f)));
    pthread_mutex_unlock(&cuda->cusolver_lock);
  }
  status = status == GEMEL_OK ? or_declined(try_to_record(cuda, f, error)) : status;
  gemel__cuda_leave(cuda, before);
  return status;
}

gemel_status gemel__cuda_factor(gemel_cuda *cuda, const gemel__cuda_factors *f,
                                const gemel__cuda_factored *at, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  gemel__cuda_count_one(cuda, &cuda->counts.kernels);
  if (status == GEMEL_OK) {
    status = check(error, ask(cuda, gemel__cuda_stream(cuda), f, at));
  }
  gemel__cuda_leave(cuda, before);
  return status;
}

#endif
