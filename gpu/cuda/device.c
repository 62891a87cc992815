/* SPDX-License-Identifier: MIT
 *
 * The record of the device "cuda": how it is opened and closed, and the copies.
 */
#include <gemel/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/cuda.h"
#include "cuda/fuse.h"
#include "sim/extent.h"
#include "sim/sim.h"

/* With NVIDIA's libraries there are none of these. */
extern __typeof__(gemel__sim_reports) gemel__sim_reports __attribute__((weak));
extern __typeof__(gemel__sim_report) gemel__sim_report __attribute__((weak));
extern __typeof__(gemel__sim_forget) gemel__sim_forget __attribute__((weak));

/* ---- Copies ---- */

static gemel_status allocate_staging(void *user, size_t bytes, void **data, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(user, &before, error);
  if (status == GEMEL_OK) {
    status = gemel__cuda_check(error, cudaHostAlloc(data, bytes, cudaHostAllocDefault),
                               "staging memory");
  }
  gemel__cuda_leave(user, before);
  return status;
}

static void release_staging(void *user, void *data, size_t bytes) {
  int before;
  (void)bytes;
  gemel__cuda_enter(user, &before, NULL);
  gemel__cuda_freed(cudaFreeHost(data));
  gemel__cuda_leave(user, before);
}

static gemel_status copy_bytes(gemel_cuda *cuda, void *to, const void *from, size_t bytes,
                               enum cudaMemcpyKind kind, cudaStream_t stream, const char *what,
                               gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  if (status == GEMEL_OK) {
    status = gemel__cuda_check(error, cudaMemcpyAsync(to, from, bytes, kind, stream), what);
  }
  gemel__cuda_leave(cuda, before);
  return status;
}

static gemel_status upload(void *user, void *to, const void *from, size_t bytes,
                           gemel_error *error) {
  gemel_cuda *cuda = user;
  gemel__cuda_count_one(cuda, &cuda->counts.uploads);
  return copy_bytes(cuda, to, from, bytes, cudaMemcpyHostToDevice, gemel__cuda_stream(cuda),
                    "a copy to the GPU", error);
}

static gemel_status download(void *user, void *to, const void *from, size_t bytes,
                             gemel_error *error) {
  gemel_cuda *cuda = user;
  gemel__cuda_count_one(cuda, &cuda->counts.downloads);
  return copy_bytes(cuda, to, from, bytes, cudaMemcpyDeviceToHost, gemel__cuda_stream(cuda),
                    "a copy from the GPU", error);
}

static gemel_status fill(void *user, void *data, int byte, size_t bytes, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(user, &before, error);
  if (status == GEMEL_OK) {
    status = gemel__cuda_check(error, cudaMemsetAsync(data, byte, bytes, gemel__cuda_stream(user)),
                               "a fill");
  }
  gemel__cuda_leave(user, before);
  return status;
}

static gemel_status copy(void *user, const gemel_view *to, const gemel_view *from, int threads,
                         gemel_error *error) {
  (void)threads;
  return gemel__cuda_copy(user, to, from, error);
}

/* The sim, if that is what CUDA is here, is told which bytes are whose. */
static gemel_status note(void *user, void *data, size_t bytes, gemel_error *error) {
  cudaStream_t stream = gemel__cuda_stream(user);
  return gemel__cuda_check(
      error, bytes > 0 ? gemel__extent_begin(data, bytes, stream) : gemel__extent_end(data, stream),
      "a value's memory");
}

static int mistakes(void *user, char *text, size_t bytes) {
  const gemel_cuda *cuda = user;
  gemel__cuda_freed(cudaStreamSynchronize(cuda->stream)); /* the sim's reports say why */
  if (gemel__sim_reports() > 0 && bytes > 0) {
    snprintf(text, bytes, "%s", gemel__sim_report(0));
  }
  return gemel__sim_forget();
}

/* ---- Life ---- */

static const gemel_device record = {.size = sizeof(gemel_device),
                                    .allocate = gemel__cuda_allocate,
                                    .release = gemel__cuda_release,
                                    .allocate_staging = allocate_staging,
                                    .release_staging = release_staging,
                                    .upload = upload,
                                    .download = download,
                                    .fill = fill,
                                    .copy = copy,
                                    .synchronize = gemel__cuda_synchronize,
                                    .kernels = gemel__cuda_kernels,
                                    .clusters = gemel__cuda_clusters,
                                    .longest_row = GEMEL__CUDA_LONGEST_ROW,
                                    .begin = gemel__cuda_begin,
                                    .end = gemel__cuda_end,
                                    .replay = gemel__cuda_replay,
                                    .forget = gemel__cuda_forget};

static gemel_status open_blas(gemel_cuda *cuda, gemel_error *error) {
  cublasStatus_t result = cublasCreate(&cuda->blas);
  if (result == CUBLAS_STATUS_SUCCESS) {
    result = cublasSetMathMode(
        cuda->blas,
        (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  }
  gemel_status status = gemel__cuda_check_blas(error, result, "opening cuBLAS");
  /* As cuBLAS's manual recommends. The sim uses none of it, and takes a while for each page of
   * memory, whenever work begins. */
  cuda->blas_bytes = gemel__sim_extent_begin != NULL ? 64 << 10
                     : cuda->architecture >= 90      ? 32 << 20
                                                     : 8 << 20;
  if (status == GEMEL_OK) {
    status = gemel__cuda_check(error, cudaMalloc(&cuda->blas_workspace, cuda->blas_bytes),
                               "memory for cuBLAS");
  }
  return status;
}

static gemel_status open_problem(gemel_cuda *cuda, gemel_error *error) {
  const size_t bytes = sizeof *cuda->problem + GEMEL__CUDA_ARRIVED * sizeof *cuda->arrived;
  cudaError_t result = cudaMalloc((void **)&cuda->problem, bytes);
  if (result == cudaSuccess) {
    result = cudaHostAlloc((void **)&cuda->problem_seen, sizeof *cuda->problem_seen,
                           cudaHostAllocDefault);
  }
  if (result == cudaSuccess) {
    cuda->arrived = (unsigned *)cuda->problem + 1;
    result = cudaMemsetAsync(cuda->problem, 0, bytes, cuda->stream);
  }
  return gemel__cuda_check(error, result, "memory of the GPU");
}

/* What the GPU is. One that says it has no multiprocessor has one. */
static gemel_status read_attributes(gemel_cuda *cuda, gemel_error *error) {
  int major = 0, minor = 0, processors = 0;
  cudaError_t result =
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, cuda->ordinal);
  if (result == cudaSuccess) {
    result = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, cuda->ordinal);
  }
  if (result == cudaSuccess) {
    result = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, cuda->ordinal);
  }
  cuda->architecture = 10 * major + minor;
  cuda->blocks_at_once = 8 * (processors > 1 ? processors : 1);
  return gemel__cuda_check(error, result, "what the GPU is");
}

/* The program's stream is one of this GPU. */
static gemel_status check_lent(gemel_cuda *cuda, gemel_error *error) {
  int device = cuda->ordinal;
  gemel_status status =
      gemel__cuda_check(error, cudaStreamGetDevice(cuda->stream, &device), "the program's stream");
  return status == GEMEL_OK && device != cuda->ordinal
             ? gemel__cuda_fail(error, GEMEL_BAD_ARGUMENT, "the stream is one of GPU %d, not of %d",
                                device, cuda->ordinal)
             : status;
}

static gemel_status open_device(gemel_cuda *cuda, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  status = status == GEMEL_OK && cuda->lent ? check_lent(cuda, error) : status;
  if (status == GEMEL_OK) {
    status = read_attributes(cuda, error);
  }
  if (status == GEMEL_OK && !cuda->lent) {
    status = gemel__cuda_check(
        error, cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking), "a stream");
  }
  if (status == GEMEL_OK) {
    status = open_problem(cuda, error);
  }
  status = status == GEMEL_OK ? open_blas(cuda, error) : status;
  gemel__cuda_leave(cuda, before);
  return status;
}

gemel_cuda *gemel_cuda_open(int ordinal, gemel_error *error) {
  return gemel_cuda_open_on(ordinal, NULL, error);
}

gemel_cuda *gemel_cuda_open_on(int ordinal, void *stream, gemel_error *error) {
  gemel_cuda *cuda = calloc(1, sizeof *cuda);
  if (cuda == NULL) {
    gemel__cuda_fail(error, GEMEL_NO_MEMORY, "out of memory for a device");
    return NULL;
  }
  cuda->record = record;
  cuda->record.user = cuda;
  cuda->record.note = gemel__sim_extent_begin != NULL ? note : NULL;
  cuda->record.gap = gemel__extent_gap();
  cuda->record.name = gemel__sim_forget != NULL ? "sim" : "cuda";
  cuda->record.mistakes = gemel__sim_forget != NULL ? mistakes : NULL;
  cuda->record.dlpack_type = GEMEL_DLPACK_CUDA;
  cuda->record.dlpack_id = ordinal;
  cuda->ordinal = ordinal;
  cuda->stream = stream;
  cuda->lent = stream != NULL;
  pthread_mutex_init(&cuda->blas_lock, NULL);
  pthread_mutex_init(&cuda->cudnn_lock, NULL);
  pthread_mutex_init(&cuda->cusolver_lock, NULL);
  pthread_mutex_init(&cuda->problem_lock, NULL);
  pthread_mutex_init(&cuda->pool_lock, NULL);
  pthread_mutex_init(&cuda->fused_lock, NULL);
  if (open_device(cuda, error) != GEMEL_OK) {
    gemel_cuda_close(cuda);
    return NULL;
  }
  return cuda;
}

const gemel_device *gemel_cuda_device(const gemel_cuda *cuda) {
  return cuda != NULL ? &cuda->record : NULL;
}

gemel_status gemel_cuda_set_precision(gemel_cuda *cuda, gemel_precision precision) {
  if (cuda == NULL || (int)precision < 0 || precision >= GEMEL_PRECISION_COUNT) {
    return GEMEL_BAD_ARGUMENT;
  }
  cuda->record.matmul_precision = (int)precision;
  return GEMEL_OK;
}

static void close_device(gemel_cuda *cuda) {
  int before;
  if (gemel__cuda_enter(cuda, &before, NULL) != GEMEL_OK) { /* for what an earlier call left, say */
    gemel__cuda_leave(cuda, before);
    gemel__cuda_enter(cuda, &before, NULL);
  }
  if (cuda->stream != NULL) {
    gemel__cuda_freed(cudaStreamSynchronize(cuda->stream));
  }
  gemel__cuda_fused_clear(cuda);
  gemel__cuda_pool_clear(cuda);
  gemel__cuda_cudnn_close(cuda);
  gemel__cuda_cusolver_close(cuda);
  if (cuda->blas != NULL) {
    gemel__cuda_check_blas(NULL, cublasDestroy(cuda->blas), "closing cuBLAS");
  }
  gemel__cuda_freed(cudaFree(cuda->blas_workspace));
  gemel__cuda_freed(cudaFree(cuda->problem));
  gemel__cuda_freed(cudaFreeHost(cuda->problem_seen));
  if (cuda->stream != NULL && !cuda->lent) {
    gemel__cuda_freed(cudaStreamDestroy(cuda->stream));
  }
  gemel__cuda_leave(cuda, before);
}

void gemel_cuda_close(gemel_cuda *cuda) {
  if (cuda == NULL) {
    return;
  }
  close_device(cuda);
  pthread_mutex_destroy(&cuda->blas_lock);
  pthread_mutex_destroy(&cuda->cudnn_lock);
  pthread_mutex_destroy(&cuda->cusolver_lock);
  pthread_mutex_destroy(&cuda->problem_lock);
  pthread_mutex_destroy(&cuda->pool_lock);
  pthread_mutex_destroy(&cuda->fused_lock);
  free(cuda);
}

gemel_status gemel_cuda_counted(gemel_cuda *cuda, gemel_cuda_counts *counts) {
  if (cuda == NULL || counts == NULL || counts->size < sizeof counts->size) {
    return GEMEL_BAD_ARGUMENT;
  }
  gemel_cuda_counts now = {
      .size = counts->size,
      .uploads = __atomic_load_n(&cuda->counts.uploads, __ATOMIC_RELAXED),
      .downloads = __atomic_load_n(&cuda->counts.downloads, __ATOMIC_RELAXED),
      .kernels = __atomic_load_n(&cuda->counts.kernels, __ATOMIC_RELAXED),
      .graphs = __atomic_load_n(&cuda->counts.graphs, __ATOMIC_RELAXED),
      .allocations = __atomic_load_n(&cuda->counts.allocations, __ATOMIC_RELAXED),
      .bytes = __atomic_load_n(&cuda->counts.bytes, __ATOMIC_RELAXED),
  };
  memcpy(counts, &now, counts->size < sizeof now ? counts->size : sizeof now);
  return GEMEL_OK;
}

/* ---- Launching ---- */

enum { MOST_BLOCKS = 1 << 30 };

gemel_status gemel__cuda_launch(gemel_cuda *cuda, const void *kernel, size_t blocks,
                                unsigned threads, size_t dynamic, void **arguments,
                                gemel_error *error) {
  dim3 grid = {(unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), 1, 1};
  dim3 block = {threads, 1, 1};
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  gemel__cuda_count_one(cuda, &cuda->counts.kernels);
  if (status == GEMEL_OK) {
    status = gemel__cuda_check(
        error, cudaLaunchKernel(kernel, grid, block, arguments, dynamic, gemel__cuda_stream(cuda)),
        "a kernel");
  }
  gemel__cuda_leave(cuda, before);
  return status;
}
