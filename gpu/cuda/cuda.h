/* SPDX-License-Identifier: MIT
 *
 * Inside the device "cuda". All of its work goes to one stream, so what is asked for is done in
 * that order, whatever the thread; a thread that records has a stream of its own meanwhile. Each
 * call of CUDA is made while the device's GPU is the thread's current one, and no longer. The
 * pool keeps what was allocated; kernels live in gpu/kernels, and gpu/lower.def says which
 * operation has which.
 */
#ifndef GEMEL__CUDA_CUDA_H
#define GEMEL__CUDA_CUDA_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <gemel/cuda.h>
#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { GEMEL__CUDA_CLASSES = 200, GEMEL__CUDA_ARRIVED = 1024 };

typedef struct gemel__cuda_idle gemel__cuda_idle;
typedef struct gemel__cuda_fused gemel__cuda_fused;

/* X(name, text): what a kernel may find wrong with a value, and what the error then says. */
#define GEMEL__CUDA_PROBLEM_TABLE(X)                                                               \
  X(TARGET, "a target of cross_entropy is outside its classes")                                    \
  X(INDEX, "an index of take or put is outside its axis")

enum {
  GEMEL__CUDA_NO_PROBLEM,
#define GEMEL__CUDA_PROBLEM(name, text) GEMEL__CUDA_BAD_##name,
  GEMEL__CUDA_PROBLEM_TABLE(GEMEL__CUDA_PROBLEM)
#undef GEMEL__CUDA_PROBLEM
};

struct gemel_cuda {
  gemel_device record;
  int ordinal;
  int architecture;   /* 80: compute capability 8.0 */
  int blocks_at_once; /* that fill the GPU */
  cudaStream_t stream;
  int lent; /* the stream is the program's */
  cublasHandle_t blas;
  void *blas_workspace;
  size_t blas_bytes; /* of the workspace */
  void *cudnn;       /* its handle; NULL: none was wanted yet */
  int no_cudnn;      /* it can't be opened */
  void *cusolver;    /* the same of cuSOLVER */
  int no_cusolver;
  int *problem;      /* on the GPU: kernels set it to GEMEL__CUDA_BAD_… */
  unsigned *arrived; /* behind it: counts of blocks, GEMEL__CUDA_ARRIVED; 0 between kernels */
  int *problem_seen; /* on the host, to read it */
  int may_fail;      /* atomic: such a kernel was asked for since it was read */
  size_t problems;   /* atomic: how many were read */
  int last_problem;  /* of these */
  pthread_mutex_t blas_lock;  /* of the handle: each call sets its stream */
  pthread_mutex_t cudnn_lock; /* the same */
  pthread_mutex_t cusolver_lock;
  pthread_mutex_t problem_lock;
  pthread_mutex_t pool_lock;
  gemel__cuda_idle *idle[GEMEL__CUDA_CLASSES]; /* memory that nobody uses, by class of size */
  pthread_mutex_t fused_lock;
  gemel__cuda_fused *fused; /* kernels that were made at run time */
  gemel_cuda_counts counts; /* changed atomically */
};

/* ---- The current GPU and errors (errors.c) ---- */

/* What calls CUDA begins and ends with these: they make CUDA's GPU the thread's current one, and
 * then *BEFORE again, the application's, also where the first has failed. They nest. */
gemel_status gemel__cuda_enter(const gemel_cuda *cuda, int *before, gemel_error *error);
void gemel__cuda_leave(const gemel_cuda *cuda, int before);

/* GEMEL_OK if RESULT is success; else GEMEL_NO_MEMORY, GEMEL_UNSUPPORTED or GEMEL_DEVICE, and
 * ERROR says what CUDA says of WHAT. */
gemel_status gemel__cuda_check(gemel_error *error, cudaError_t result, const char *what);
gemel_status gemel__cuda_check_blas(gemel_error *error, cublasStatus_t result, const char *what);

/* For calls that give something back: these say what went wrong before, which is no error of
 * theirs, and whoever waits for the GPU is told again. */
void gemel__cuda_freed(cudaError_t result);

/* What failed within CUDA isn't left for the application to find. The three above do this; so does
 * whoever looks at a library's result itself. */
void gemel__cuda_forget_error(void);

/* Fills in ERROR as printf does, and returns STATUS. */
gemel_status gemel__cuda_fail(gemel_error *error, gemel_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- The queue (queue.c) ---- */

/* The stream that this thread's work goes to. */
cudaStream_t gemel__cuda_stream(const gemel_cuda *cuda);

/* Counts one more of *COUNT, which is in CUDA's counts; what is recorded counts when it is
 * replayed. */
void gemel__cuda_count_one(gemel_cuda *cuda, size_t *count);

/* Says that what is asked for next may set CUDA's problem. */
void gemel__cuda_may_fail(gemel_cuda *cuda);

/* Waits for all that was asked for; GEMEL_BAD_VALUE if a kernel set the problem. */
gemel_status gemel__cuda_synchronize(void *user, gemel_error *error);

gemel_status gemel__cuda_begin(void *user, gemel_error *error);
gemel_status gemel__cuda_end(void *user, void **recording, gemel_error *error);
gemel_status gemel__cuda_replay(void *user, void *recording, gemel_error *error);
void gemel__cuda_forget(void *user, void *recording);

/* ---- The pool (pool.c) ---- */

gemel_status gemel__cuda_allocate(void *user, size_t bytes, void **data, gemel_error *error);
void gemel__cuda_release(void *user, void *data, size_t bytes);

/* Gives back to CUDA all that nobody uses. */
void gemel__cuda_pool_clear(gemel_cuda *cuda);

/* ---- Kernels ---- */

/* The device of a call. */
static inline gemel_cuda *gemel__cuda_of(const gemel_kernel_call *call) {
  return (gemel_cuda *)call->device->user;
}

/* Asks for KERNEL, what gemel__kernel_<id>() gives, on BLOCKS blocks of THREADS threads with
 * DYNAMIC bytes of shared memory; ARGUMENTS point at its arguments. */
gemel_status gemel__cuda_launch(gemel_cuda *cuda, const void *kernel, size_t blocks,
                                unsigned threads, size_t dynamic, void **arguments,
                                gemel_error *error);

/* The kernels of OPERATION (lower.def); NULL: it has none. */
const gemel_kernel *gemel__cuda_kernels(void *user, const gemel_operation *operation);

/* Elements of one shape from one layout to another (kernels/shape.cu). */
gemel_status gemel__cuda_copy(gemel_cuda *cuda, const gemel_view *to, const gemel_view *from,
                              gemel_error *error);

/* COUNT products of matrices stored by columns: c = op(a) op(b), of M × K and K × N, or c += that.
 * LEADING and BATCH, of a, b and c, count elements. */
typedef struct gemel__cuda_product {
  cudaDataType dtype;
  cublasOperation_t operation[2];
  int m, n, k;
  int leading[3];
  long long batch[3];
  int count, adds;
  int precision; /* of f32: gemel_precision */
} gemel__cuda_product;

gemel_status gemel__cuda_multiply(gemel_cuda *cuda, const gemel__cuda_product *product,
                                  const void *a, const void *b, void *c, gemel_error *error);

/* B = A⁻¹ B, of COLUMNS columns, with the lower or upper triangle of A, N × N; its diagonal counts
 * as ones if UNIT. Both are f32 or, if WIDE, f64, stored by columns without gaps. */
typedef struct gemel__cuda_triangle {
  int wide, lower, unit, n, columns;
} gemel__cuda_triangle;

gemel_status gemel__cuda_substitute(gemel_cuda *cuda, const gemel__cuda_triangle *triangle,
                                    const void *a, void *b, gemel_error *error);

/* ---- Factors by cuSOLVER (solver.c) ---- */

/* What is made of N × N matrices, f32 or f64, stored by columns: their LU factors, or the lower
 * triangle of Cholesky's, for which the upper one isn't looked at. WORKSPACE counts elements. */
typedef struct gemel__cuda_factors {
  int wide, cholesky, n, workspace;
} gemel__cuda_factors;

/* Memory of the GPU: the matrix, which its factors replace; N numbers of rows, from 1, with which
 * each in turn was exchanged, of LU alone; 0, or from 1 the first pivot that is 0 or not positive.
 */
typedef struct gemel__cuda_factored {
  void *a, *workspace;
  int *pivots, *info;
} gemel__cuda_factored;

/* Fills in the workspace; GEMEL_DECLINED if there is no cuSOLVER for it. */
gemel_status gemel__cuda_factor_prepare(gemel_cuda *cuda, gemel__cuda_factors *factors,
                                        gemel_error *error);
gemel_status gemel__cuda_factor(gemel_cuda *cuda, const gemel__cuda_factors *factors,
                                const gemel__cuda_factored *at, gemel_error *error);
/* Closes cuSOLVER if a matrix has opened it. */
void gemel__cuda_cusolver_close(gemel_cuda *cuda);

/* Closes cuDNN if a convolution has opened it (conv-cudnn.c). */
void gemel__cuda_cudnn_close(gemel_cuda *cuda);

/* What stands in for divisions of numbers below 2^31 by SIZE on a GPU, as gpu/kernels/several.h
 * says; a SIZE above them divides them to 0 (fuse.c). */
void gemel__cuda_divisor(int64_t size, unsigned *magic, unsigned *shift);

/* Kernels for clusters (fuse.c), and what frees those that were made. */
extern const gemel_kernel gemel__cuda_clusters[];
void gemel__cuda_fused_clear(gemel_cuda *cuda);

/* ---- Scalar operations (kernels/elementwise.cu, steps.c) ---- */

/* The number of the row of scalar.def that OPERATION is; -1: it is none. */
int gemel__cuda_row_of(const gemel_operation *operation);

/* Has OUT be that row of the N operands IN, which all have its shape. */
gemel_status gemel__cuda_run_row(gemel_cuda *cuda, int row, const gemel_view *out,
                                 const gemel_view *const *in, int n, gemel_error *error);

/* IN as SHAPE broadcasts it; STRIDES has room for its strides. */
gemel_view gemel__cuda_broadcast(const gemel_view *in, const gemel_view *shape, int64_t *strides);

#ifdef __cplusplus
}
#endif
#endif
