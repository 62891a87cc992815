/* SPDX-License-Identifier: MIT
 *
 * cuSOLVER's LU and Cholesky factors by their own names, strict and plain: every parameter is
 * checked as the documentation states it, and when the factoring runs, which is when its stream
 * gets to it, every byte that it reads or writes. The workspace is written all over, and how long
 * it is nobody can guess. Of a Cholesky factor the one triangle is neither read nor written.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cusolverDn.h>
#include "sim/gemm.h"
#include "sim/inside.h"

struct cusolverDnContext {
  int device;
  cudaStream_t stream;
  cusolverDnHandle_t next;
};

/* Element I, J of A lies at I * ROW + J * COLUMN; of an upper triangle of Cholesky's, which is the
 * lower one of the transpose, the other way round. */
typedef struct {
  gemel__sim_task task;
  cudaDataType type;
  int uplo; /* of Cholesky */
  int64_t m, n, row, column, leading, workspace_length;
  void *a, *workspace;
  int *pivots, *info; /* PIVOTS NULL: rows stay where they are */
} factoring;

static cusolverDnHandle_t handles;

/* ---- Statuses and handles ---- */

static cusolverStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess                 ? CUSOLVER_STATUS_SUCCESS
         : error == cudaErrorMemoryAllocation ? CUSOLVER_STATUS_ALLOC_FAILED
                                              : CUSOLVER_STATUS_EXECUTION_FAILED;
}

static cusolverStatus_t leave(cusolverStatus_t status) {
  cudaError_t error = gemel__sim_leave(cudaSuccess);
  return status == CUSOLVER_STATUS_SUCCESS ? status_of(error) : status;
}

static cusolverStatus_t refuse(const char *what, long long got) {
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0}, "cuSOLVER: %s: %lld",
                 what, got);
  return CUSOLVER_STATUS_INVALID_VALUE;
}

/* With GEMEL_SIM_CUSOLVER=no there is none; with "unrecorded" it has no part in captures. */
static bool is_wanted(const char *as) {
  const char *set = getenv("GEMEL_SIM_CUSOLVER");
  return set != NULL && strcmp(set, as) == 0;
}

/* Locks, and says whether the handle is one, of the current device. */
static cusolverStatus_t enter(cusolverDnHandle_t handle, gemel__sim_entry kind) {
  cusolverStatus_t status = status_of(gemel__sim_enter(kind));
  cusolverDnHandle_t h = handles;
  while (h != NULL && h != handle)
    h = h->next;
  if (status != CUSOLVER_STATUS_SUCCESS || (h != NULL && h->device == gemel__sim_device))
    return status;
  if (h != NULL)
    gemel__sim_elsewhere("cuSOLVER: the handle", h->device, gemel__sim_device);
  return h == NULL ? CUSOLVER_STATUS_NOT_INITIALIZED : CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle) {
  if (is_wanted("no"))
    return CUSOLVER_STATUS_NOT_INITIALIZED;
  cusolverStatus_t status = status_of(gemel__sim_enter(GEMEL__SIM_MAKES));
  cusolverDnHandle_t made = status == CUSOLVER_STATUS_SUCCESS ? calloc(1, sizeof *made) : NULL;
  if (status == CUSOLVER_STATUS_SUCCESS && made == NULL)
    status = CUSOLVER_STATUS_ALLOC_FAILED;
  if (made != NULL) {
    made->device = gemel__sim_device;
    made->next = handles;
    handles = *handle = made;
    gemel__sim_here.handles++;
  }
  return leave(status);
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  cusolverStatus_t status = enter(handle, GEMEL__SIM_FREES);
  if (status == CUSOLVER_STATUS_SUCCESS) {
    cusolverDnHandle_t *link = &handles;
    while (*link != handle)
      link = &(*link)->next;
    *link = handle->next;
    free(handle);
    gemel__sim_here.handles--;
  }
  return leave(status);
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  cusolverStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  if (status == CUSOLVER_STATUS_SUCCESS && !gemel__sim_is_here(stream))
    status = refuse("not a stream of this device", (long long)(intptr_t)stream);
  if (status == CUSOLVER_STATUS_SUCCESS)
    handle->stream = stream;
  return leave(status);
}

/* ---- Factors ---- */

static double get(const factoring *f, int64_t i, int64_t j) {
  return gemel__sim_load(f->a, f->type, i * f->row + j * f->column);
}

static void set(const factoring *f, int64_t i, int64_t j, double x) {
  gemel__sim_store(f->a, f->type, i * f->row + j * f->column, x);
}

static int64_t find_pivot(const factoring *f, int64_t k) {
  int64_t found = k;
  for (int64_t i = k + 1; i < f->m && f->pivots != NULL; i++)
    if (fabs(get(f, i, k)) > fabs(get(f, found, k)))
      found = i;
  return found;
}

static void exchange(const factoring *f, int64_t k, int64_t p) {
  for (int64_t j = 0; j < f->n && p != k; j++) {
    double kept = get(f, k, j);
    set(f, k, j, get(f, p, j));
    set(f, p, j, kept);
  }
}

/* Goes on behind a pivot that is 0, the first of which is what INFO counts. */
static int make_lu(const factoring *f) {
  int info = 0;
  for (int64_t k = 0; k < f->m && k < f->n; k++) {
    int64_t p = find_pivot(f, k);
    exchange(f, k, p);
    if (f->pivots != NULL)
      f->pivots[k] = (int)p + 1;
    if (get(f, k, k) == 0) {
      info = info == 0 ? (int)k + 1 : info;
      continue;
    }
    for (int64_t i = k + 1; i < f->m; i++)
      set(f, i, k, get(f, i, k) / get(f, k, k));
    for (int64_t j = k + 1; j < f->n; j++)
      for (int64_t i = k + 1; i < f->m; i++)
        set(f, i, j, get(f, i, j) - get(f, i, k) * get(f, k, j));
  }
  return info;
}

static int make_cholesky(const factoring *f) {
  for (int64_t j = 0; j < f->n; j++) {
    for (int64_t i = j; i < f->n; i++) {
      double sum = get(f, i, j);
      for (int64_t k = 0; k < j; k++)
        sum -= get(f, i, k) * get(f, j, k);
      if (i == j && !(sum > 0))
        return (int)j + 1;
      set(f, i, j, i == j ? sqrt(sum) : sum / get(f, j, j));
    }
  }
  return 0;
}

/* ---- Running ---- */

/* Column by column: of a triangle only what is its own. */
static bool check_matrix(const factoring *f, bool cholesky) {
  int64_t size = (int64_t)gemel__sim_size_of(f->type);
  for (int64_t j = 0; j < f->n; j++) {
    int64_t from = cholesky && f->uplo == CUBLAS_FILL_MODE_LOWER ? j : 0;
    int64_t to = cholesky && f->uplo == CUBLAS_FILL_MODE_UPPER ? j + 1 : f->m;
    for (int write = 0; write < 2; write++)
      if (!gemel__sim_check_range((char *)f->a + (from + j * f->leading) * size,
                                  (size_t)((to - from) * size), write))
        return false;
  }
  return true;
}

static void run(const factoring *f, bool cholesky) {
  size_t bytes = (size_t)f->workspace_length * gemel__sim_size_of(f->type);
  size_t pivots = (size_t)(f->m < f->n ? f->m : f->n) * sizeof(int);
  if (gemel__sim_broken != cudaSuccess)
    return;
  gemel__sim_count.factors++;
  gemel__sim_open();
  if (!gemel__sim_check_range(f->workspace, bytes, true) || !check_matrix(f, cholesky) ||
      (f->pivots != NULL && !gemel__sim_check_range(f->pivots, pivots, true)) ||
      !gemel__sim_check_range(f->info, sizeof *f->info, true))
    return;
  memset(f->workspace, 0xff, bytes);
  *f->info = cholesky ? make_cholesky(f) : make_lu(f);
}

static void run_lu(gemel__sim_task *task) {
  run((factoring *)task, false);
}

static void run_cholesky(gemel__sim_task *task) {
  run((factoring *)task, true);
}

/* ---- What is asked for ---- */

/* Elements of workspace. */
static int workspace_of(const factoring *f) {
  return (int)(f->task.run == run_lu ? 3 * f->m + f->n : 2 * f->n) + 17;
}

static cusolverStatus_t check_shape(const factoring *f) {
  if (f->m < 0 || f->n < 0)
    return refuse("a size is negative", f->m < 0 ? f->m : f->n);
  if (f->leading < 1 || f->leading < f->m)
    return refuse("lda is less than the rows of A", f->leading);
  if (f->task.run == run_cholesky && (unsigned)f->uplo > CUBLAS_FILL_MODE_UPPER)
    return refuse("no triangle", f->uplo);
  return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t check_pointers(const factoring *f) {
  if ((uintptr_t)f->a % gemel__sim_size_of(f->type) != 0)
    return refuse("a matrix that is not aligned to its elements", (long long)(uintptr_t)f->a);
  if (!gemel__sim_is_device(f->a) || !gemel__sim_is_device(f->workspace) ||
      !gemel__sim_is_device(f->info) || (f->pivots != NULL && !gemel__sim_is_device(f->pivots)))
    return refuse("what is no device memory", (long long)(uintptr_t)f->a);
  if (f->workspace_length < workspace_of(f))
    return refuse("the workspace is too small", f->workspace_length);
  return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t measure(cusolverDnHandle_t handle, factoring f, int *length) {
  cusolverStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  if (status == CUSOLVER_STATUS_SUCCESS)
    status = length == NULL ? refuse("Lwork is NULL", 0) : check_shape(&f);
  if (status == CUSOLVER_STATUS_SUCCESS)
    *length = workspace_of(&f);
  return leave(status);
}

static cusolverStatus_t queue(cusolverDnHandle_t handle, const factoring *f) {
  cudaStream_t stream = gemel__sim_stream(handle->stream);
  if (stream == NULL) {
    refuse("the stream of the handle is no more", 0);
    return CUSOLVER_STATUS_EXECUTION_FAILED;
  }
  if (is_wanted("unrecorded") && gemel__sim_unsafe())
    return CUSOLVER_STATUS_INTERNAL_ERROR;
  factoring *made = malloc(sizeof *made);
  if (made == NULL)
    return CUSOLVER_STATUS_ALLOC_FAILED;
  *made = *f;
  cudaError_t error = gemel__sim_queue(stream, &made->task, NULL);
  gemel__sim_drift();
  return status_of(error);
}

/* LENGTH of the workspace, where the function is told. */
static cusolverStatus_t ask(cusolverDnHandle_t handle, factoring f, void *workspace,
                            const int *length, int *pivots, int *info) {
  cusolverStatus_t status = enter(handle, GEMEL__SIM_ASKS);
  f.workspace = workspace;
  f.workspace_length = length != NULL ? *length : workspace_of(&f);
  f.pivots = pivots;
  f.info = info;
  if (status == CUSOLVER_STATUS_SUCCESS && gemel__sim_broken != cudaSuccess)
    status = CUSOLVER_STATUS_EXECUTION_FAILED;
  if (status == CUSOLVER_STATUS_SUCCESS)
    status = check_shape(&f);
  if (status == CUSOLVER_STATUS_SUCCESS)
    status = check_pointers(&f);
  if (status == CUSOLVER_STATUS_SUCCESS)
    status = queue(handle, &f);
  return leave(status);
}

static factoring lu(cudaDataType type, int m, int n, void *a, int lda) {
  return (factoring){.task = {1, "LU of cuSOLVER", NULL, run_lu, NULL},
                     .type = type,
                     .m = m,
                     .n = n,
                     .row = 1,
                     .column = lda,
                     .leading = lda,
                     .a = a};
}

static factoring cholesky(cudaDataType type, cublasFillMode_t uplo, int n, void *a, int lda) {
  factoring f = lu(type, n, n, a, lda);
  f.task = (gemel__sim_task){1, "Cholesky of cuSOLVER", NULL, run_cholesky, NULL};
  f.uplo = (int)uplo;
  f.row = uplo == CUBLAS_FILL_MODE_LOWER ? 1 : lda;
  f.column = uplo == CUBLAS_FILL_MODE_LOWER ? lda : 1;
  return f;
}

#define FUNCTIONS(letter, T, TYPE)                                                                 \
  cusolverStatus_t cusolverDn##letter##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n,   \
                                                        T *A, int lda, int *Lwork) {               \
    return measure(handle, lu(TYPE, m, n, A, lda), Lwork);                                         \
  }                                                                                                \
  cusolverStatus_t cusolverDn##letter##getrf(cusolverDnHandle_t handle, int m, int n, T *A,        \
                                             int lda, T *Workspace, int *devIpiv, int *devInfo) {  \
    return ask(handle, lu(TYPE, m, n, A, lda), Workspace, NULL, devIpiv, devInfo);                 \
  }                                                                                                \
  cusolverStatus_t cusolverDn##letter##potrf_bufferSize(                                           \
      cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T *A, int lda, int *Lwork) {        \
    return measure(handle, cholesky(TYPE, uplo, n, A, lda), Lwork);                                \
  }                                                                                                \
  cusolverStatus_t cusolverDn##letter##potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo,     \
                                             int n, T *A, int lda, T *Workspace, int Lwork,        \
                                             int *devInfo) {                                       \
    return ask(handle, cholesky(TYPE, uplo, n, A, lda), Workspace, &Lwork, NULL, devInfo);         \
  }
FUNCTIONS(S, float, CUDA_R_32F)
FUNCTIONS(D, double, CUDA_R_64F)
