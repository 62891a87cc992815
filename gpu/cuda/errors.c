/* SPDX-License-Identifier: MIT
 *
 * What CUDA and its libraries say, as errors of gemel; and whose turn it is: CUDA has a current GPU
 * for each thread, to which allocations, launches, new streams and handles belong, and which is the
 * application's to choose. Whatever calls CUDA for a device makes the device's GPU the current one
 * and then puts back what was.
 */
#include <stdarg.h>
#include <stdio.h>
#include "cuda/cuda.h"

/* ---- Errors ---- */

gemel_status gemel__cuda_fail(gemel_error *error, gemel_status status, const char *format, ...) {
  va_list arguments;
  if (error != NULL) {
    error->status = status;
    error->line = error->column = 0;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
  }
  return status;
}

/* CUDA keeps the last error of a thread for whoever asks next, who is the application: it shall
 * find its own there. An error that ends all work stays whatever is done. */
void gemel__cuda_forget_error(void) {
  (void)cudaGetLastError();
}

/* What ends all work on the GPU: whatever this process asks of CUDA from then on fails alike. */
static const char *consequence_of(cudaError_t result) {
  int final = result == cudaErrorIllegalAddress || result == cudaErrorMisalignedAddress ||
              result == cudaErrorAssert || result == cudaErrorLaunchFailure;
  return final ? "; after that CUDA does nothing more on this GPU until the process ends" : "";
}

gemel_status gemel__cuda_check(gemel_error *error, cudaError_t result, const char *what) {
  gemel_status status = result == cudaErrorMemoryAllocation ? GEMEL_NO_MEMORY
                        : result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver ||
                                result == cudaErrorInvalidDevice
                            ? GEMEL_UNSUPPORTED
                            : GEMEL_DEVICE;
  if (result == cudaSuccess) {
    return GEMEL_OK;
  }
  gemel__cuda_forget_error();
  return gemel__cuda_fail(error, status, "%s: CUDA says %s (%d)%s", what,
                          cudaGetErrorString(result), (int)result, consequence_of(result));
}

void gemel__cuda_freed(cudaError_t result) {
  gemel__cuda_check(NULL, result, "giving back");
}

gemel_status gemel__cuda_check_blas(gemel_error *error, cublasStatus_t result, const char *what) {
  if (result == CUBLAS_STATUS_SUCCESS) {
    return GEMEL_OK;
  }
  gemel__cuda_forget_error();
  return gemel__cuda_fail(
      error, result == CUBLAS_STATUS_ALLOC_FAILED ? GEMEL_NO_MEMORY : GEMEL_DEVICE,
      "%s: cuBLAS says %s (%d)", what, cublasGetStatusString(result), (int)result);
}

/* ---- The current GPU ---- */

gemel_status gemel__cuda_enter(const gemel_cuda *cuda, int *before, gemel_error *error) {
  cudaError_t result = cudaGetDevice(before);
  if (result != cudaSuccess) {
    *before = cuda->ordinal; /* nothing is put back */
  } else if (*before != cuda->ordinal) {
    result = cudaSetDevice(cuda->ordinal);
  }
  return gemel__cuda_check(error, result, "choosing the GPU");
}

/* It has been current, so this fails only where everything does. */
void gemel__cuda_leave(const gemel_cuda *cuda, int before) {
  if (before != cuda->ordinal) {
    gemel__cuda_check(NULL, cudaSetDevice(before), "the application's GPU");
  }
}
