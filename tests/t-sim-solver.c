/* SPDX-License-Identifier: MIT
 *
 * Tests of the sim's triangular systems (cuBLAS) and factors (cuSOLVER): what they give, multiplied
 * out, is what they were given, whatever the triangle, and each wrong parameter is seen: when it is
 * given, or when the work runs.
 */
#include <cusolverDn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ct.h"
#include "sim/sim.h"

#define OK(call) CT_EQ_INT((call), 0)

enum { N = 5, COLUMNS = 2, LEADING = 7, ROOM = LEADING * N + 10, MOST_WORK = 100 };

static cublasHandle_t blas;
static cusolverDnHandle_t solver;
static cudaStream_t stream;

static void begin(int seed) {
  gemel__sim_quiet(true);
  gemel__sim_seed((uint64_t)seed);
  if (blas == NULL) {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cublasCreate(&blas));
    OK(cusolverDnCreate(&solver));
  }
  OK(cublasSetStream(blas, stream));
  OK(cusolverDnSetStream(solver, stream));
}

static void *device(const void *from, size_t bytes) {
  void *pointer = NULL;
  OK(cudaMalloc(&pointer, bytes));
  if (from != NULL)
    OK(cudaMemcpyAsync(pointer, from, bytes, cudaMemcpyHostToDevice, stream));
  return pointer;
}

/* Element I, J of what stands by columns. Large elements are far from the diagonal of A. */
#define AT(x, i, j) (x)[(i) + (j)*LEADING]

static void fill(double *a) {
  for (int k = 0; k < ROOM; k++)
    a[k] = k % LEADING < N ? (k * 7 % 11 - 5) / 8.0 : NAN;
  for (int j = 0; j < N; j++)
    AT(a, (j + 2) % N, j) += 4;
}

static void narrow(float *to, const double *from) {
  for (int k = 0; k < ROOM; k++)
    to[k] = (float)from[k];
}

static void widen(double *to, const float *from) {
  for (int k = 0; k < ROOM; k++)
    to[k] = (double)from[k];
}

/* What device memory A holds, of f64 or f32, comes to GOT. */
static void fetch(double *got, const void *a, bool wide) {
  float narrow_got[ROOM];
  OK(cudaMemcpyAsync(wide ? (void *)got : narrow_got, a, wide ? ROOM * 8 : ROOM * 4,
                     cudaMemcpyDeviceToHost, stream));
  if (!wide)
    widen(got, narrow_got);
}

/* ---- Results ---- */

/* Element I, J of op(A), of which TRIANGLE alone counts. */
static double of_triangle(const double *a, int variant, int i, int j) {
  bool upper = variant & 1, trans = variant >> 1 & 1, unit = variant >> 2 & 1;
  int row = trans ? j : i, column = trans ? i : j;
  return row == column                           ? (unit ? 1 : AT(a, row, column))
         : (upper ? row < column : row > column) ? AT(a, row, column)
                                                 : 0;
}

/* All eight triangles of f32 and f64: op(A) X is 3 B. */
static void systems(const void *data) {
  double a[ROOM], b[ROOM], x[ROOM], three = 3;
  float narrow_a[ROOM], narrow_b[ROOM], narrow_three = 3;
  (void)data;
  fill(a);
  fill(b);
  for (int j = 0; j < N; j++)
    AT(a, j, j) = 2;
  narrow(narrow_a, a);
  narrow(narrow_b, b);
  for (int variant = 0; variant < 16; variant++) {
    bool wide = variant >> 3;
    begin(variant);
    void *da = device(wide ? (void *)a : narrow_a, wide ? ROOM * 8 : ROOM * 4);
    void *db = device(wide ? (void *)b : narrow_b, wide ? ROOM * 8 : ROOM * 4);
    cublasFillMode_t uplo = variant & 1 ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    cublasOperation_t trans = variant >> 1 & 1 ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasDiagType_t diagonal = variant >> 2 & 1 ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    OK(wide ? cublasDtrsm(blas, CUBLAS_SIDE_LEFT, uplo, trans, diagonal, N, COLUMNS, &three, da,
                          LEADING, db, LEADING)
            : cublasStrsm(blas, CUBLAS_SIDE_LEFT, uplo, trans, diagonal, N, COLUMNS, &narrow_three,
                          da, LEADING, db, LEADING));
    fetch(x, db, wide);
    for (int j = 0; j < COLUMNS; j++)
      for (int i = 0; i < N; i++) {
        double sum = 0, bound = wide ? 1e-11 : 2e-2;
        for (int k = 0; k < N; k++)
          sum += of_triangle(a, variant, i, k) * AT(x, k, j);
        ct_context("variant %d, %d, %d", variant, i, j);
        CT_CHECK(fabs(sum - 3 * AT(b, i, j)) < bound);
      }
    cudaFree(da), cudaFree(db);
    CT_EQ_INT(gemel__sim_forget(), 0);
  }
}

/* LU with its exchanges undone, or L times its transpose, is A. */
static double multiplied(const double *f, bool cholesky, bool upper, int i, int j) {
  double sum = 0;
  for (int k = 0; k <= i && k <= j; k++)
    sum += !cholesky ? (k == i ? 1 : AT(f, i, k)) * AT(f, k, j)
           : upper   ? AT(f, k, i) * AT(f, k, j)
                     : AT(f, i, k) * AT(f, j, k);
  return sum;
}

static int factor(bool wide, bool cholesky, cublasFillMode_t uplo, void *a, void *pivots,
                  void *info) {
  int length = 0;
  if (cholesky)
    OK(wide ? cusolverDnDpotrf_bufferSize(solver, uplo, N, NULL, LEADING, &length)
            : cusolverDnSpotrf_bufferSize(solver, uplo, N, NULL, LEADING, &length));
  else
    OK(wide ? cusolverDnDgetrf_bufferSize(solver, N, N, NULL, LEADING, &length)
            : cusolverDnSgetrf_bufferSize(solver, N, N, NULL, LEADING, &length));
  void *work = device(NULL, (size_t)length * (wide ? 8 : 4));
  if (cholesky)
    OK(wide ? cusolverDnDpotrf(solver, uplo, N, a, LEADING, work, length, info)
            : cusolverDnSpotrf(solver, uplo, N, a, LEADING, work, length, info));
  else
    OK(wide ? cusolverDnDgetrf(solver, N, N, a, LEADING, work, pivots, info)
            : cusolverDnSgetrf(solver, N, N, a, LEADING, work, pivots, info));
  int got = -1;
  OK(cudaMemcpyAsync(&got, info, sizeof got, cudaMemcpyDeviceToHost, stream));
  cudaFree(work);
  return got;
}

/* FLAW: column 3 is 0, or the pivot of row 3 negative. */
static void make_matrix(double *a, bool cholesky, bool upper, bool flaw) {
  fill(a);
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++)
      AT(a, i, j) = cholesky         ? ((upper ? i > j : j > i) ? NAN
                                        : i == j                ? (flaw && i == 3 ? -1 : 3)
                                                                : 0.5)
                    : flaw && j == 3 ? 0
                                     : AT(a, i, j);
}

static void factors(const void *data) {
  (void)data;
  for (int variant = 0; variant < 16; variant++) {
    bool wide = variant & 1, cholesky = variant >> 1 & 1, upper = cholesky && variant >> 2 & 1;
    bool flaw = variant >> 3;
    double a[ROOM], f[ROOM];
    float narrow_a[ROOM];
    int pivots[N];
    begin(variant);
    make_matrix(a, cholesky, upper, flaw);
    narrow(narrow_a, a);
    void *da = device(wide ? (void *)a : narrow_a, wide ? ROOM * 8 : ROOM * 4);
    void *dp = device(NULL, sizeof pivots), *di = device(NULL, sizeof(int));
    ct_context("variant %d", variant);
    CT_EQ_INT(
        factor(wide, cholesky, upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER, da, dp, di),
        flaw ? 4 : 0);
    fetch(f, da, wide);
    if (!cholesky) {
      OK(cudaMemcpyAsync(pivots, dp, sizeof pivots, cudaMemcpyDeviceToHost, stream));
      for (int k = 0; k < N; k++)
        for (int j = 0; j < N; j++) {
          double kept = AT(a, k, j);
          AT(a, k, j) = AT(a, pivots[k] - 1, j);
          AT(a, pivots[k] - 1, j) = kept;
        }
    }
    for (int j = 0; j < N && !(cholesky && flaw); j++)
      for (int i = 0; i < N; i++)
        CT_CHECK(isnan(AT(a, i, j)) ||
                 fabs(multiplied(f, cholesky, upper, i, j) - AT(a, i, j)) < 1e-5);
    cudaFree(da), cudaFree(dp), cudaFree(di);
    CT_EQ_INT(gemel__sim_forget(), 0);
  }
}

/* ---- Mistakes ---- */

/* A call with one thing changed, and what the sim says to it: at once, with a status, or when the
 * work runs. */
typedef struct mistake {
  const char *name;
  int status;
  gemel__sim_kind kind;
  const char *part; /* of the report; NULL: there is none */
} mistake;

typedef struct memory {
  float *a, *b, *work, *host;
  int *pivots, *info;
} memory;

enum {
  T_RIGHT,
  T_SIDE,
  T_UPLO,
  T_TRANS,
  T_DIAG,
  T_M,
  T_N,
  T_LDA,
  T_LDB,
  T_ALIGN,
  T_ALPHA,
  T_MODE,
  T_STREAM,
  T_HANDLE,
  T_HOST,
  T_PLACE,
  T_UNSET,
  T_NO_WAIT,
  T_COUNT
};
static const mistake systems_wrong[T_COUNT] = {
    [T_RIGHT] = {"right", 0, 0, NULL},
    [T_SIDE] = {"side", 7, GEMEL__SIM_PARAMETER, "a side"},
    [T_UPLO] = {"uplo", 7, GEMEL__SIM_PARAMETER, "a triangle"},
    [T_TRANS] = {"trans", 7, GEMEL__SIM_PARAMETER, "operation"},
    [T_DIAG] = {"diagonal", 7, GEMEL__SIM_PARAMETER, "diagonal"},
    [T_M] = {"rows", 7, GEMEL__SIM_PARAMETER, "negative"},
    [T_N] = {"columns", 7, GEMEL__SIM_PARAMETER, "negative"},
    [T_LDA] = {"lda", 7, GEMEL__SIM_PARAMETER, "lda or ldb"},
    [T_LDB] = {"ldb", 7, GEMEL__SIM_PARAMETER, "lda or ldb"},
    [T_ALIGN] = {"alignment", 7, GEMEL__SIM_PARAMETER, "not aligned"},
    [T_ALPHA] = {"no-alpha", 7, GEMEL__SIM_PARAMETER, "alpha"},
    [T_MODE] = {"alpha-on-device", 7, GEMEL__SIM_PARAMETER, "alpha"},
    [T_STREAM] = {"stream-is-no-more", 13, GEMEL__SIM_PARAMETER, "no more"},
    [T_HANDLE] = {"no-handle", 1, 0, NULL},
    [T_HOST] = {"host-memory", 0, GEMEL__SIM_HOST_MEMORY, "not device memory"},
    [T_PLACE] = {"in-place", 0, GEMEL__SIM_RACE, "which it writes as well"},
    [T_UNSET] = {"nothing-there", 0, GEMEL__SIM_UNINITIALISED, "which nothing has written"},
    [T_NO_WAIT] = {"no-wait", 0, GEMEL__SIM_MISSING_WAIT, "a triangular system"},
};

static int wrong_system(int bug, const memory *m) {
  float one = 1;
  cublasHandle_t none = NULL;
  return (int)cublasStrsm(bug == T_HANDLE ? none : blas,
                          bug == T_SIDE ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT,
                          bug == T_UPLO ? (cublasFillMode_t)3 : CUBLAS_FILL_MODE_LOWER,
                          bug == T_TRANS ? (cublasOperation_t)3 : CUBLAS_OP_N,
                          bug == T_DIAG ? (cublasDiagType_t)2 : CUBLAS_DIAG_NON_UNIT,
                          bug == T_M ? -1 : N, bug == T_N ? -1 : COLUMNS,
                          bug == T_ALPHA  ? NULL
                          : bug == T_MODE ? m->a
                                          : &one,
                          bug == T_ALIGN   ? (float *)((char *)m->a + 2)
                          : bug == T_UNSET ? m->work
                                           : m->a,
                          bug == T_LDA ? N - 1 : LEADING,
                          bug == T_HOST    ? m->host
                          : bug == T_PLACE ? m->a
                                           : m->b,
                          bug == T_LDB ? N - 1 : LEADING);
}

enum {
  F_RIGHT,
  F_M,
  F_N,
  F_LDA,
  F_ALIGN,
  F_HOST_A,
  F_HOST_WORK,
  F_HOST_PIVOTS,
  F_HOST_INFO,
  F_STREAM,
  F_HANDLE,
  F_SHORT,
  F_UNSET,
  F_NO_WAIT,
  F_MEASURED,
  F_LENGTH,
  C_RIGHT,
  C_UPLO,
  C_N,
  C_LDA,
  C_LENGTH,
  C_MEASURED,
  F_COUNT
};
static const mistake factors_wrong[F_COUNT] = {
    [F_RIGHT] = {"right", 0, 0, NULL},
    [F_M] = {"rows", 3, GEMEL__SIM_PARAMETER, "negative: -1"},
    [F_N] = {"columns", 3, GEMEL__SIM_PARAMETER, "negative: -2"},
    [F_LDA] = {"lda", 3, GEMEL__SIM_PARAMETER, "lda"},
    [F_ALIGN] = {"alignment", 3, GEMEL__SIM_PARAMETER, "not aligned"},
    [F_HOST_A] = {"matrix-on-host", 3, GEMEL__SIM_PARAMETER, "no device memory"},
    [F_HOST_WORK] = {"workspace-on-host", 3, GEMEL__SIM_PARAMETER, "no device memory"},
    [F_HOST_PIVOTS] = {"pivots-on-host", 3, GEMEL__SIM_PARAMETER, "no device memory"},
    [F_HOST_INFO] = {"info-on-host", 3, GEMEL__SIM_PARAMETER, "no device memory"},
    [F_STREAM] = {"stream-is-no-more", 6, GEMEL__SIM_PARAMETER, "no more"},
    [F_HANDLE] = {"no-handle", 1, 0, NULL},
    [F_SHORT] = {"short-workspace", 0, GEMEL__SIM_BOUNDS, "writes"},
    [F_UNSET] = {"nothing-there", 0, GEMEL__SIM_UNINITIALISED, "which nothing has written"},
    [F_NO_WAIT] = {"no-wait", 0, GEMEL__SIM_MISSING_WAIT, "LU of cuSOLVER"},
    [F_MEASURED] = {"measured-lda", 3, GEMEL__SIM_PARAMETER, "lda"},
    [F_LENGTH] = {"no-length", 3, GEMEL__SIM_PARAMETER, "Lwork is NULL"},
    [C_RIGHT] = {"cholesky-right", 0, 0, NULL},
    [C_UPLO] = {"cholesky-uplo", 3, GEMEL__SIM_PARAMETER, "no triangle"},
    [C_N] = {"cholesky-rows", 3, GEMEL__SIM_PARAMETER, "negative"},
    [C_LDA] = {"cholesky-lda", 3, GEMEL__SIM_PARAMETER, "lda"},
    [C_LENGTH] = {"cholesky-length", 3, GEMEL__SIM_PARAMETER, "too small"},
    [C_MEASURED] = {"cholesky-measured-uplo", 3, GEMEL__SIM_PARAMETER, "no triangle"},
};

static int wrong_factors(int bug, const memory *m) {
  cublasFillMode_t no_triangle = (cublasFillMode_t)2, lower = CUBLAS_FILL_MODE_LOWER;
  cusolverDnHandle_t none = NULL;
  int length = 0;
  int *host = (int *)m->host;
  if (bug == F_MEASURED || bug == F_LENGTH)
    return (int)cusolverDnSgetrf_bufferSize(solver, N, N, NULL, bug == F_MEASURED ? N - 1 : N,
                                            bug == F_LENGTH ? NULL : &length);
  if (bug == C_MEASURED)
    return (int)cusolverDnSpotrf_bufferSize(solver, no_triangle, N, NULL, N, &length);
  if (bug >= C_RIGHT) {
    OK(cusolverDnSpotrf_bufferSize(solver, lower, N, NULL, LEADING, &length));
    return (int)cusolverDnSpotrf(solver, bug == C_UPLO ? no_triangle : lower, bug == C_N ? -1 : N,
                                 m->a, bug == C_LDA ? N - 1 : LEADING, m->work,
                                 length - (bug == C_LENGTH), m->info);
  }
  return (int)cusolverDnSgetrf(
      bug == F_HANDLE ? none : solver, bug == F_M ? -1 : N, bug == F_N ? -2 : N,
      bug == F_ALIGN    ? (float *)((char *)m->a + 2)
      : bug == F_HOST_A ? m->host
      : bug == F_UNSET  ? m->work
                        : m->a,
      bug == F_LDA ? N - 1 : LEADING,
      bug == F_HOST_WORK ? m->host
      : bug == F_SHORT   ? (float *)m->info
      : bug == F_UNSET   ? m->b

                       : m->work,
      bug == F_HOST_PIVOTS ? host : m->pivots, bug == F_HOST_INFO ? host : m->info);
}

/* BUG of WRONG, with which the handles may have a stream that doesn't wait, or is no more. */
static void check_mistake(const mistake *e, int (*wrong)(int bug, const memory *m), int bug,
                          bool other_stream, bool no_stream) {
  double a[ROOM];
  float narrow_a[ROOM], host[ROOM];
  fill(a);
  narrow(narrow_a, a);
  for (int seed = 0; seed < 4; seed++) {
    cudaStream_t other = NULL;
    begin(seed);
    memory m = {device(narrow_a, sizeof narrow_a), device(narrow_a, sizeof narrow_a),
                device(NULL, MOST_WORK * 4),       host,
                device(NULL, N * sizeof(int)),     device(NULL, sizeof(int))};
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    if (other_stream || no_stream) {
      OK(cublasSetStream(blas, other));
      OK(cusolverDnSetStream(solver, other));
    }
    if (no_stream)
      cudaStreamDestroy(other);
    ct_context("%s, seed %d", e->name, seed);
    CT_EQ_INT(wrong(bug, &m), e->status);
    cudaDeviceSynchronize();
    ct_context("%s, seed %d, reported: %s", e->name, seed,
               gemel__sim_reports() > 0 ? gemel__sim_report(0) : "nothing");
    if (e->part != NULL)
      CT_CHECK(gemel__sim_reported(e->kind, e->part));
    else
      CT_EQ_INT(gemel__sim_reports(), 0);
    gemel__sim_forget();
    if (!no_stream)
      cudaStreamDestroy(other);
    cudaFree(m.a), cudaFree(m.b), cudaFree(m.work), cudaFree(m.pivots), cudaFree(m.info);
    gemel__sim_forget();
  }
}

static void system_mistakes(const void *data) {
  int bug = (int)((const mistake *)data - systems_wrong);
  check_mistake(data, wrong_system, bug, bug == T_NO_WAIT, bug == T_STREAM);
}

static void factor_mistakes(const void *data) {
  int bug = (int)((const mistake *)data - factors_wrong);
  check_mistake(data, wrong_factors, bug, bug == F_NO_WAIT, bug == F_STREAM);
}

static void handles(const void *data) {
  cusolverDnHandle_t h = NULL;
  (void)data;
  begin(1);
  setenv("GEMEL_SIM_CUSOLVER", "no", 1);
  CT_EQ_INT(cusolverDnCreate(&h), CUSOLVER_STATUS_NOT_INITIALIZED);
  unsetenv("GEMEL_SIM_CUSOLVER");
  CT_EQ_INT(cusolverDnSetStream(h, stream), CUSOLVER_STATUS_NOT_INITIALIZED);
  OK(cusolverDnCreate(&h));
  cudaSetDevice(1);
  CT_EQ_INT(cusolverDnSetStream(h, stream), CUSOLVER_STATUS_INVALID_VALUE);
  CT_CHECK(gemel__sim_reported(GEMEL__SIM_PARAMETER, "cuSOLVER: the handle"));
  cudaSetDevice(0);
  gemel__sim_forget();
  CT_EQ_INT(cusolverDnSetStream(h, (cudaStream_t)&h), CUSOLVER_STATUS_INVALID_VALUE);
  CT_CHECK(gemel__sim_reported(GEMEL__SIM_PARAMETER, "not a stream"));
  OK(cusolverDnDestroy(h));
  CT_EQ_INT(cusolverDnDestroy(h), CUSOLVER_STATUS_NOT_INITIALIZED);
  gemel__sim_forget();
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("systems", systems, NULL),
                                  CT_TEST("factors", factors, NULL),
                                  CT_TEST("handles", handles, NULL)};
  gemel__sim_devices(2);
  ct_suite("sim_solver", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(systems_wrong); k++)
    CT_ADD_TO("sim_solver", "system", systems_wrong[k].name, system_mistakes, &systems_wrong[k]);
  for (size_t k = 0; k < CT_COUNT(factors_wrong); k++)
    CT_ADD_TO("sim_solver", "factors", factors_wrong[k].name, factor_mistakes, &factors_wrong[k]);
}
