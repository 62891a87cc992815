/* SPDX-License-Identifier: MIT
 *
 * cuBLAS by its own names, strict: every parameter is checked as the documentation states it, and
 * when the product runs, which is when its stream gets to it, every byte that a matrix spans: that
 * it is device memory, written where it is read, and waited for. What the documentation leaves to
 * luck, such as results that overlap, is refused.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "sim/gemm.h"
#include "sim/inside.h"

struct cublasContext {
  int device;
  cudaStream_t stream;
  cublasPointerMode_t mode;
  void *workspace;
  cublasHandle_t next;
};

enum { WORKSPACE_ALIGNMENT = 256 };

static cublasHandle_t handles;

/* Statuses. */

#define STATUSES(X)                                                                                \
  X(CUBLAS_STATUS_SUCCESS, "success")                                                              \
  X(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized")                              \
  X(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed")                                  \
  X(CUBLAS_STATUS_INVALID_VALUE, "an unsupported value or parameter was passed to the function")   \
  X(CUBLAS_STATUS_ARCH_MISMATCH,                                                                   \
    "the function requires an architectural feature absent from the device")                       \
  X(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU")                    \
  X(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed")                                  \
  X(CUBLAS_STATUS_NOT_SUPPORTED, "the requested functionality is not supported")

#define NAME_CASE(name, text)                                                                      \
  case name:                                                                                       \
    return #name;
#define TEXT_CASE(name, text)                                                                      \
  case name:                                                                                       \
    return text;

const char *cublasGetStatusName(cublasStatus_t status) {
  switch (status) { STATUSES(NAME_CASE) }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char *cublasGetStatusString(cublasStatus_t status) {
  switch (status) { STATUSES(TEXT_CASE) }
  return "unknown status";
}

static cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess                 ? CUBLAS_STATUS_SUCCESS
         : error == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
                                              : CUBLAS_STATUS_EXECUTION_FAILED;
}

static cublasStatus_t leave(cublasStatus_t status) {
  cudaError_t error = gemel__sim_leave(cudaSuccess);
  return status == CUBLAS_STATUS_SUCCESS ? status_of(error) : status;
}

static cublasStatus_t refuse(cublasStatus_t status, const char *what, long long got) {
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0}, "cuBLAS: %s: %lld", what,
                 got);
  return status;
}

/* Handles. */

static bool exists(cublasHandle_t handle) {
  for (cublasHandle_t h = handles; h != NULL; h = h->next)
    if (h == handle)
      return true;
  return false;
}

/* Locks, and says whether the handle is one, of the current device. */
static cublasStatus_t enter(cublasHandle_t handle, gemel__sim_entry kind) {
  cudaError_t error = gemel__sim_enter(kind);
  if (error != cudaSuccess)
    return status_of(error);
  if (!exists(handle))
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (handle->device == gemel__sim_device)
    return CUBLAS_STATUS_SUCCESS;
  gemel__sim_elsewhere("cuBLAS: the handle", handle->device, gemel__sim_device);
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
  if (handle == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  cublasStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_MAKES));
  cublasHandle_t made = status == CUBLAS_STATUS_SUCCESS ? calloc(1, sizeof *made) : NULL;
  if (status == CUBLAS_STATUS_SUCCESS && made == NULL)
    status = CUBLAS_STATUS_ALLOC_FAILED;
  if (status == CUBLAS_STATUS_SUCCESS) {
    made->device = gemel__sim_device;
    made->next = handles;
    handles = *handle = made;
    gemel__sim_here.handles++;
  }
  return leave(status);
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  cublasStatus_t status = enter(handle, GEMEL__SIM_FREES);
  if (status == CUBLAS_STATUS_SUCCESS) {
    cublasHandle_t *link = &handles;
    while (*link != handle)
      link = &(*link)->next;
    *link = handle->next;
    free(handle);
    gemel__sim_here.handles--;
  }
  return leave(status);
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version) {
  (void)handle; /* it needs none */
  if (version == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  *version = 120800;
  return CUBLAS_STATUS_SUCCESS;
}

/* The workspace that the user gave is for the stream that there was. */
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  cublasStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  if (status == CUBLAS_STATUS_SUCCESS && !gemel__sim_is_here(stream))
    status = refuse(CUBLAS_STATUS_INVALID_VALUE, "not a stream of this device",
                    (long long)(intptr_t)stream);
  if (status == CUBLAS_STATUS_SUCCESS) {
    handle->stream = stream;
    handle->workspace = NULL;
  }
  return leave(status);
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes) {
  cublasStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  if (status == CUBLAS_STATUS_SUCCESS && bytes > 0 && !gemel__sim_is_device(workspace))
    status =
        refuse(CUBLAS_STATUS_INVALID_VALUE, "the workspace is no device memory", (long long)bytes);
  if (status == CUBLAS_STATUS_SUCCESS && (uintptr_t)workspace % WORKSPACE_ALIGNMENT != 0)
    status = refuse(CUBLAS_STATUS_INVALID_VALUE, "the workspace is no multiple of 256",
                    (long long)(intptr_t)workspace);
  if (status == CUBLAS_STATUS_SUCCESS)
    handle->workspace = bytes >= WORKSPACE_ALIGNMENT ? workspace : NULL;
  return leave(status);
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  cublasStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  if (status == CUBLAS_STATUS_SUCCESS && (unsigned)mode > CUBLAS_POINTER_MODE_DEVICE)
    status = refuse(CUBLAS_STATUS_INVALID_VALUE, "pointer mode", mode);
  if (status == CUBLAS_STATUS_SUCCESS)
    handle->mode = mode;
  return leave(status);
}

/* All modes give the same here: sums are never taken in less than f32. */
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  cublasStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  unsigned kind = (unsigned)mode & 15u, rest = (unsigned)mode & ~15u;
  if (status == CUBLAS_STATUS_SUCCESS &&
      (kind == 1 || kind > CUBLAS_TF32_TENSOR_OP_MATH ||
       (rest & ~(unsigned)CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) != 0))
    status = refuse(CUBLAS_STATUS_INVALID_VALUE, "math mode", mode);
  return leave(status);
}

/* Products. */

typedef struct {
  gemel__sim_task task;
  gemel__sim_product product;
  cudaDataType scale;
  const void *alpha, *beta; /* on the device, or NULL */
  void *workspace;
} product_task;

/* Column by column: what lies between two is nobody's. */
static bool check_matrix(const gemel__sim_matrix *m, int count, bool write) {
  size_t size = gemel__sim_size_of(m->type);
  for (int batch = 0; batch < count; batch++) {
    if (batch > 0 && m->stride == 0)
      break; /* the same matrix again */
    for (int64_t column = 0; column < m->columns; column++) {
      int64_t offset = (batch * m->stride + column * m->leading) * (int64_t)size;
      if (!gemel__sim_check_range((char *)m->at + offset, (size_t)m->rows * size, write))
        return false;
    }
  }
  return true;
}

/* C is read first, and written before A and B are read: so these may not overlap it. */
static bool check_memory(const product_task *t) {
  const gemel__sim_product *p = &t->product;
  if (t->workspace != NULL && !gemel__sim_check_range(t->workspace, WORKSPACE_ALIGNMENT, true))
    return false;
  if (p->beta != 0 && !check_matrix(&p->c, p->count, false))
    return false;
  if (!check_matrix(&p->c, p->count, true))
    return false;
  return p->k == 0 || p->alpha == 0 ||
         (check_matrix(&p->a, p->count, false) && check_matrix(&p->b, p->count, false));
}

static void run_product(gemel__sim_task *task) {
  product_task *t = (product_task *)task;
  size_t size = gemel__sim_size_of(t->scale);
  if (gemel__sim_broken != cudaSuccess)
    return;
  gemel__sim_count.products++;
  gemel__sim_open();
  if (t->alpha != NULL) {
    if (!gemel__sim_check_range(t->alpha, size, false) ||
        !gemel__sim_check_range(t->beta, size, false))
      return;
    t->product.alpha = gemel__sim_load(t->alpha, t->scale, 0);
    t->product.beta = gemel__sim_load(t->beta, t->scale, 0);
  }
  if (check_memory(t))
    gemel__sim_multiply(&t->product);
}

static bool types_fit(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
  if (a != b || gemel__sim_size_of(a) == 0 || gemel__sim_size_of(c) == 0)
    return false;
  switch (compute) {
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
    return a == CUDA_R_64F && c == CUDA_R_64F;
  case CUBLAS_COMPUTE_32F_FAST_TF32:
  case CUBLAS_COMPUTE_32F_FAST_16BF:
    return a == CUDA_R_32F && c == CUDA_R_32F;
  case CUBLAS_COMPUTE_32F:
  case CUBLAS_COMPUTE_32F_PEDANTIC:
    return a != CUDA_R_64F && (c == CUDA_R_32F || c == a);
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    return a == CUDA_R_16F && c == CUDA_R_16F;
  }
  return false;
}

/* Digits of the operands; 0: all that they have. */
static int digits_of(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_32F_FAST_TF32   ? 11
         : compute == CUBLAS_COMPUTE_32F_FAST_16BF ? 8
                                                   : 0;
}

static cudaDataType scale_of(cublasComputeType_t compute) {
  switch (compute) {
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
    return CUDA_R_64F;
  case CUBLAS_COMPUTE_16F:
  case CUBLAS_COMPUTE_16F_PEDANTIC:
    return CUDA_R_16F;
  default:
    return CUDA_R_32F;
  }
}

static cublasStatus_t check_leading(const gemel__sim_matrix *m, const char *what) {
  if (m->leading < 1 || m->leading < m->rows)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, what, m->leading);
  if ((uintptr_t)m->at % gemel__sim_size_of(m->type) != 0)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a matrix that is not aligned to its elements",
                  (long long)(uintptr_t)m->at);
  return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t check_shapes(const gemel__sim_product *p) {
  cublasStatus_t status = check_leading(&p->a, "lda is less than the rows of A");
  if (status == CUBLAS_STATUS_SUCCESS)
    status = check_leading(&p->b, "ldb is less than the rows of B");
  if (status == CUBLAS_STATUS_SUCCESS)
    status = check_leading(&p->c, "ldc is less than the rows of C");
  if (status == CUBLAS_STATUS_SUCCESS && p->count > 1 && p->c.columns > 0 &&
      p->c.stride < p->c.leading * (p->c.columns - 1) + p->c.rows)
    status =
        refuse(CUBLAS_STATUS_INVALID_VALUE, "results overlap, the stride of C is", p->c.stride);
  return status;
}

static cublasStatus_t read_scalars(cublasHandle_t handle, product_task *t, const void *alpha,
                                   const void *beta) {
  bool device = handle->mode == CUBLAS_POINTER_MODE_DEVICE;
  if (alpha == NULL || beta == NULL)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "alpha or beta is NULL", 0);
  if (gemel__sim_is_device(alpha) != device || gemel__sim_is_device(beta) != device)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "alpha or beta is not where the pointer mode says",
                  handle->mode);
  if (device) {
    t->alpha = alpha;
    t->beta = beta;
  } else {
    t->product.alpha = gemel__sim_load(alpha, t->scale, 0);
    t->product.beta = gemel__sim_load(beta, t->scale, 0);
  }
  return CUBLAS_STATUS_SUCCESS;
}

/* Queues a copy of TASK, of BYTES bytes, unless there is nothing to do. */
static cublasStatus_t queue(cublasHandle_t handle, const void *task, size_t bytes, bool nothing) {
  cudaStream_t stream = gemel__sim_stream(handle->stream);
  if (stream == NULL)
    return refuse(CUBLAS_STATUS_EXECUTION_FAILED, "the stream of the handle is no more", 0);
  if (nothing)
    return CUBLAS_STATUS_SUCCESS;
  gemel__sim_task *made = malloc(bytes);
  if (made == NULL)
    return CUBLAS_STATUS_ALLOC_FAILED;
  memcpy(made, task, bytes);
  cudaError_t error = gemel__sim_queue(stream, made, NULL);
  gemel__sim_drift();
  return status_of(error);
}

static gemel__sim_matrix stored(const void *at, cudaDataType type, cublasOperation_t operation,
                                int rows, int columns, int leading, long long stride) {
  bool transposed = operation != CUBLAS_OP_N;
  return (gemel__sim_matrix){.at = (void *)(uintptr_t)at,
                             .type = type,
                             .transposed = transposed,
                             .rows = transposed ? columns : rows,
                             .columns = transposed ? rows : columns,
                             .leading = leading,
                             .stride = stride};
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void *alpha, const void *A, cudaDataType Atype,
                                          int lda, long long strideA, const void *B,
                                          cudaDataType Btype, int ldb, long long strideB,
                                          const void *beta, void *C, cudaDataType Ctype, int ldc,
                                          long long strideC, int batch, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm) {
  cublasStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  product_task t = {.task = {.references = 1, .what = "a product of cuBLAS", .run = run_product},
                    .scale = scale_of(compute)};
  if (status != CUBLAS_STATUS_SUCCESS)
    return leave(status);
  if (gemel__sim_broken != cudaSuccess)
    return leave(CUBLAS_STATUS_EXECUTION_FAILED);
  if (m < 0 || n < 0 || k < 0 || batch < 0)
    return leave(refuse(CUBLAS_STATUS_INVALID_VALUE, "a size is negative", -1));
  if ((unsigned)transa > CUBLAS_OP_C || (unsigned)transb > CUBLAS_OP_C)
    return leave(refuse(CUBLAS_STATUS_INVALID_VALUE, "an operation", transa));
  if (algorithm != CUBLAS_GEMM_DEFAULT)
    return leave(refuse(CUBLAS_STATUS_NOT_SUPPORTED, "an algorithm", algorithm));
  if (!types_fit(compute, Atype, Btype, Ctype))
    return leave(refuse(CUBLAS_STATUS_NOT_SUPPORTED, "these types with compute type", compute));
  t.product = (gemel__sim_product){.a = stored(A, Atype, transa, m, k, lda, strideA),
                                   .b = stored(B, Btype, transb, k, n, ldb, strideB),
                                   .c = stored(C, Ctype, CUBLAS_OP_N, m, n, ldc, strideC),
                                   .k = k,
                                   .count = batch,
                                   .digits = digits_of(compute)};
  t.workspace = handle->workspace;
  status = check_shapes(&t.product);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = read_scalars(handle, &t, alpha, beta);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = queue(handle, &t, sizeof t, m == 0 || n == 0 || batch == 0);
  return leave(status);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void *alpha,
                            const void *A, cudaDataType Atype, int lda, const void *B,
                            cudaDataType Btype, int ldb, const void *beta, void *C,
                            cudaDataType Ctype, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, 0, B,
                                    Btype, ldb, 0, beta, C, Ctype, ldc, 0, 1, compute, algorithm);
}

/* Triangular systems. */

typedef struct {
  gemel__sim_task task;
  cudaDataType type;
  bool lower, transposed, unit;
  int64_t n, columns, lda, ldb;
  double alpha;
  const void *a;
  void *b;
} triangle_task;

/* The result is written before the triangle is read, so this may not overlap it. */
static bool check_triangle(const triangle_task *t) {
  int64_t size = (int64_t)gemel__sim_size_of(t->type);
  for (int write = 0; write < 2; write++)
    for (int64_t j = 0; j < t->columns; j++)
      if ((write || t->alpha != 0) &&
          !gemel__sim_check_range((char *)t->b + j * t->ldb * size, (size_t)(t->n * size), write))
        return false;
  for (int64_t j = 0; j < t->n && t->alpha != 0; j++) {
    int64_t from = t->lower ? j + t->unit : 0, to = t->lower ? t->n : j + !t->unit;
    if (to > from && !gemel__sim_check_range((const char *)t->a + (from + j * t->lda) * size,
                                             (size_t)((to - from) * size), false))
      return false;
  }
  return true;
}

/* A row is reduced by those before it, which are taken forwards or backwards. */
static void substitute(const triangle_task *t, int64_t column) {
  bool up = t->lower == t->transposed;
  bool backwards = gemel__sim_choice((uint64_t)t->n << 20 ^ (uint64_t)t->columns);
  for (int64_t done = 0; done < t->n; done++) {
    int64_t i = up ? t->n - 1 - done : done, at = i + column * t->ldb;
    double x = t->alpha == 0 ? 0 : t->alpha * gemel__sim_load(t->b, t->type, at);
    for (int64_t e = 0; e < done && t->alpha != 0; e++) {
      int64_t before = backwards ? done - 1 - e : e, k = up ? t->n - 1 - before : before;
      double factor =
          gemel__sim_load(t->a, t->type, t->transposed ? k + i * t->lda : i + k * t->lda);
      x -= factor * gemel__sim_load(t->b, t->type, k + column * t->ldb);
      x = t->type == CUDA_R_32F ? (float)x : x;
    }
    if (!t->unit && t->alpha != 0)
      x /= gemel__sim_load(t->a, t->type, i + i * t->lda);
    gemel__sim_store(t->b, t->type, at, x);
  }
}

static void run_triangle(gemel__sim_task *task) {
  triangle_task *t = (triangle_task *)task;
  if (gemel__sim_broken != cudaSuccess)
    return;
  gemel__sim_count.products++;
  gemel__sim_open();
  for (int64_t column = check_triangle(t) ? 0 : t->columns; column < t->columns; column++)
    substitute(t, column);
}

static cublasStatus_t check_system(cublasHandle_t handle, const triangle_task *t,
                                   const void *alpha) {
  if (t->n < 0 || t->columns < 0)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a size is negative", -1);
  if (t->lda < 1 || t->lda < t->n || t->ldb < 1 || t->ldb < t->n)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "lda or ldb is less than the rows", t->lda);
  if (((uintptr_t)t->a | (uintptr_t)t->b) % gemel__sim_size_of(t->type) != 0)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a matrix that is not aligned to its elements",
                  (long long)(uintptr_t)t->a);
  if (alpha == NULL || gemel__sim_is_device(alpha) || handle->mode != CUBLAS_POINTER_MODE_HOST)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "alpha is not on the host", handle->mode);
  return CUBLAS_STATUS_SUCCESS;
}

/* A on the left of X alone, which is how gemel asks. */
static cublasStatus_t ask(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                          cublasOperation_t trans, cublasDiagType_t diag, const void *alpha,
                          triangle_task *t) {
  cublasStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  if (status == CUBLAS_STATUS_SUCCESS && gemel__sim_broken != cudaSuccess)
    status = CUBLAS_STATUS_EXECUTION_FAILED;
  if (status == CUBLAS_STATUS_SUCCESS && side != CUBLAS_SIDE_LEFT)
    status = refuse(CUBLAS_STATUS_INVALID_VALUE, "a side", side);
  if (status == CUBLAS_STATUS_SUCCESS &&
      ((unsigned)uplo > CUBLAS_FILL_MODE_UPPER || (unsigned)trans > CUBLAS_OP_C ||
       (unsigned)diag > CUBLAS_DIAG_UNIT))
    status = refuse(CUBLAS_STATUS_INVALID_VALUE, "a triangle, operation or diagonal", uplo);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = check_system(handle, t, alpha);
  if (status == CUBLAS_STATUS_SUCCESS) {
    t->task = (gemel__sim_task){1, "a triangular system of cuBLAS", NULL, run_triangle, NULL};
    t->lower = uplo == CUBLAS_FILL_MODE_LOWER;
    t->transposed = trans != CUBLAS_OP_N;
    t->unit = diag == CUBLAS_DIAG_UNIT;
    t->alpha = gemel__sim_load(alpha, t->type, 0);
    status = queue(handle, t, sizeof *t, t->n == 0 || t->columns == 0);
  }
  return leave(status);
}

#define TRIANGULAR(letter, T, TYPE)                                                                \
  cublasStatus_t cublas##letter##trsm(cublasHandle_t handle, cublasSideMode_t side,                \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, int m, int n, const T *alpha,         \
                                      const T *A, int lda, T *B, int ldb) {                        \
    triangle_task t = {                                                                            \
        .type = TYPE, .n = m, .columns = n, .lda = lda, .ldb = ldb, .a = A, .b = B};               \
    return ask(handle, side, uplo, trans, diag, alpha, &t);                                        \
  }
TRIANGULAR(S, float, CUDA_R_32F)
TRIANGULAR(D, double, CUDA_R_64F)
