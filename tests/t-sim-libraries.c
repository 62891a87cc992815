/*
 * Tests of the sim's cuBLAS and NVRTC (gpu/sim): products of all types against plain loops, each
 * wrong parameter; texts that are compiled, loaded, run and checked at run time.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nvrtc.h>
#include "ct.h"
#include "sim/sim.h"
#include "sim/real-nvrtc.h"

enum { SEEDS = 20 };

#define OK(call) CT_EQ_INT((call), cudaSuccess)

/* Under Valgrind a seed takes a hundred times as long. */
static int seeds(int usual) {
  return getenv("GEMEL_VALGRIND") != NULL ? 2 : usual;
}

static cublasHandle_t blas;
static cudaStream_t stream;

static void begin(int seed) {
  gemel__sim_quiet(true);
  gemel__sim_seed((uint64_t)seed);
  if (blas == NULL) {
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cublasCreate(&blas));
    OK(cublasSetStream(blas, stream));
  }
}

static void *device(const void *from, size_t bytes) {
  void *pointer = NULL;
  OK(cudaMalloc(&pointer, bytes));
  OK(cudaMemcpyAsync(pointer, from, bytes, cudaMemcpyHostToDevice, stream));
  return pointer;
}

/* Half types, by their definitions. */

static double value_of(cudaDataType type, const void *at, size_t index) {
  uint16_t bits;
  if (type == CUDA_R_64F)
    return ((const double *)at)[index];
  if (type == CUDA_R_32F)
    return ((const float *)at)[index];
  bits = ((const uint16_t *)at)[index];
  int exponents = type == CUDA_R_16F ? 5 : 8, fractions = 15 - exponents;
  int exponent = bits >> fractions & ((1 << exponents) - 1), bias = (1 << (exponents - 1)) - 1;
  double fraction = (double)(bits & ((1 << fractions) - 1)) / (1 << fractions);
  double size = exponent == (1 << exponents) - 1 ? (fraction != 0 ? NAN : INFINITY)
                : exponent == 0                  ? ldexp(fraction, 1 - bias)
                                                 : ldexp(1 + fraction, exponent - bias);
  return bits >> 15 ? -size : size;
}

static size_t size_of(cudaDataType type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

/* A small integer as an element of the type. */
static void set_value(cudaDataType type, void *at, size_t index, int value) {
  if (type == CUDA_R_64F)
    ((double *)at)[index] = value;
  else if (type == CUDA_R_32F)
    ((float *)at)[index] = (float)value;
  else
    for (int bits = 0; bits < 65536; bits += 8) { /* small integers end in zeros */
      uint16_t word = (uint16_t)bits;
      if (value_of(type, &word, 0) == value) {
        ((uint16_t *)at)[index] = word;
        break;
      }
    }
}

/* Products. Numbers are small integers, so that all sums are exact, in any order. */

typedef struct {
  const char *name;
  cudaDataType in, out;
  cublasComputeType_t compute;
} type_case;

static const type_case type_cases[] = {
    {"f64", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
    {"f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {"f32-pedantic", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC},
    {"f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F},
    {"f16-to-f32", CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F},
    {"bf16-to-f32", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {"f16-in-f16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F},
};

enum { M = 5, N = 4, K = 3, BATCH = 2, PAD = 2, ROOM = 200 };

typedef struct {
  const type_case *types;
  int trans_a, trans_b, beta;
  _Alignas(double) char a[ROOM * 8];
  _Alignas(double) char b[ROOM * 8];
  _Alignas(double) char c[ROOM * 8];
  _Alignas(double) char got[ROOM * 8];
} product;

static int lead_a(const product *p) {
  return (p->trans_a ? K : M) + PAD;
}

static int lead_b(const product *p) {
  return (p->trans_b ? N : K) + PAD;
}

static double wanted(const product *p, int batch, int i, int j) {
  double sum = 0;
  for (int l = 0; l < K; l++) {
    int a = p->trans_a ? l + i * lead_a(p) : i + l * lead_a(p);
    int b = p->trans_b ? j + l * lead_b(p) : l + j * lead_b(p);
    sum += value_of(p->types->in, p->a, (size_t)(batch * 60 + a)) *
           value_of(p->types->in, p->b, (size_t)b); /* B is the same for all */
  }
  int c = batch * 50 + i + j * (M + PAD);
  return 2 * sum + p->beta * value_of(p->types->out, p->c, (size_t)c);
}

static void scalars(const type_case *types, void *alpha, void *beta, int value) {
  cudaDataType scale = types->compute == CUBLAS_COMPUTE_64F   ? CUDA_R_64F
                       : types->compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F
                                                              : CUDA_R_32F;
  set_value(scale, alpha, 0, 2);
  set_value(scale, beta, 0, value);
}

static void one_product(product *p) {
  const type_case *t = p->types;
  double alpha, beta;
  void *a = device(p->a, ROOM * size_of(t->in)), *b = device(p->b, ROOM * size_of(t->in));
  void *c = device(p->c, ROOM * size_of(t->out));
  scalars(t, &alpha, &beta, p->beta);
  CT_EQ_INT(cublasGemmStridedBatchedEx(blas, p->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                                       p->trans_b ? CUBLAS_OP_C : CUBLAS_OP_N, M, N, K, &alpha, a,
                                       t->in, lead_a(p), 60, b, t->in, lead_b(p), 0, &beta, c,
                                       t->out, M + PAD, 50, BATCH, t->compute, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  OK(cudaMemcpyAsync(p->got, c, ROOM * size_of(t->out), cudaMemcpyDeviceToHost, stream));
  OK(cudaFree(a));
  OK(cudaFree(b));
  OK(cudaFree(c));
}

static void products(const void *data) {
  product p = {.types = data};
  for (int variant = 0; variant < 8; variant++) {
    begin(variant);
    p.trans_a = variant & 1, p.trans_b = variant >> 1 & 1, p.beta = variant >> 2;
    for (size_t i = 0; i < ROOM; i++) {
      set_value(p.types->in, p.a, i, (int)(i * 7 % 5) - 2);
      set_value(p.types->in, p.b, i, (int)(i * 5 % 7) - 3);
      set_value(p.types->out, p.c, i, (int)(i % 9) - 4);
    }
    one_product(&p);
    for (int batch = 0; batch < BATCH; batch++)
      for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++)
          set_value(p.types->out, p.c, (size_t)(batch * 50 + i + j * (M + PAD)),
                    (int)wanted(&p, batch, i, j)); /* each element of C is wanted once */
    CT_EQ_MEM(p.got, p.c, ROOM * size_of(p.types->out));
    CT_EQ_INT(gemel__sim_forget(), 0);
  }
}

/* Rounding to a half type: no neighbour is nearer, and of two as near the even one is taken. */
static void check_rounding(cudaDataType type, double exact, uint16_t got) {
  double value = value_of(type, &got, 0), distance = fabs(exact - value);
  if (isnan(exact) || isinf(exact)) {
    CT_CHECK(isnan(exact) ? isnan(value) : value == exact);
    return;
  }
  for (int step = -1; step <= 1; step += 2) {
    uint16_t next = (uint16_t)(got + step);
    double other = value_of(type, &next, 0);
    if ((got & 0x7fff) == 0 && step < 0)
      continue;       /* below zero of the same sign there is nothing */
    if (isinf(other)) /* rounds as if the exponent went on */
      other = copysign(ldexp(1, type == CUDA_R_16F ? 16 : 128), other);
    if (isinf(value)) {
      CT_CHECK(fabs(exact) >= (type == CUDA_R_16F ? 65520 : ldexp(511, 119)));
      return;
    }
    CT_CHECK(distance < fabs(exact - other) || (distance == fabs(exact - other) && (got & 1) == 0));
  }
}

static void rounding(const void *data) {
  cudaDataType type = *(const cudaDataType *)data;
  enum { COUNT = 8000 };
  static uint16_t x[COUNT], got[COUNT];
  uint16_t y[] = {0x3c01, 0x3f81, 0x0401, 0x8123};
  float one = 1, zero = 0;
  begin(1);
  for (int i = 0; i < COUNT; i++)
    x[i] = (uint16_t)(i * 40503u >> 3);
  void *dx = device(x, sizeof x), *dc = device(got, sizeof got);
  for (size_t which = 0; which < (size_t)seeds(4); which++) {
    void *dy = device(&y[which], 2);
    CT_EQ_INT(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, COUNT, 1, 1, &one, dx, type, COUNT, dy,
                           type, 1, &zero, dc, type, COUNT, CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_SUCCESS);
    OK(cudaMemcpyAsync(got, dc, sizeof got, cudaMemcpyDeviceToHost, stream));
    for (int i = 0; i < COUNT; i++) {
      float exact = (float)value_of(type, x, (size_t)i) * (float)value_of(type, &y[which], 0);
      ct_context("%04x times %04x is %04x", x[i], y[which], got[i]);
      check_rounding(type, exact, got[i]);
    }
    OK(cudaFree(dy));
  }
  ct_context(NULL);
  OK(cudaFree(dx));
  OK(cudaFree(dc));
  CT_EQ_INT(gemel__sim_forget(), 0);
}

/* A product as gemel writes it, row-major by exchange of the operands, and with one mistake each.
 */

typedef enum {
  RIGHT,
  SIZES,
  LEADING_B,
  STRIDE_B,
  LEADING_A,
  STRIDE_C,
  BETA,
  OPERANDS,
  HALF_C,
  COMPUTE,
  POINTER_MODE,
  HOST_C,
  IN_PLACE,
  NO_WAIT,
  NULL_ALPHA,
  NEGATIVE,
  WORKSPACE,
  BLAS_BUGS
} blas_bug;

typedef struct {
  const char *name;
  cublasStatus_t status;
  gemel__sim_kind kind; /* of the report; "parameter" without a text: none */
  const char *part;     /* of it; NULL: the result is wrong instead */
} blas_case;

static const blas_case blas_cases[BLAS_BUGS] = {
    [RIGHT] = {"right", 0, 0, NULL},
    [SIZES] = {"sizes-not-exchanged", 7, GEMEL__SIM_PARAMETER, "results overlap"},
    [LEADING_B] = {"leading-dimension", 7, GEMEL__SIM_PARAMETER, "lda is less than"},
    [STRIDE_B] = {"stride-of-b", 0, GEMEL__SIM_BOUNDS, "reads 28 bytes at"},
    [LEADING_A] = {"leading-too-large", 0, GEMEL__SIM_BOUNDS, "reads 12 bytes at"},
    [STRIDE_C] = {"stride-of-c", 7, GEMEL__SIM_PARAMETER, "results overlap"},
    [BETA] = {"beta", 0, GEMEL__SIM_UNINITIALISED, "which nothing has written"},
    [OPERANDS] = {"operands-not-exchanged", 7, GEMEL__SIM_PARAMETER, "is less than"},
    [HALF_C] = {"half-result", 15, GEMEL__SIM_PARAMETER, "these types"},
    [COMPUTE] = {"compute-type", 15, GEMEL__SIM_PARAMETER, "these types"},
    [POINTER_MODE] = {"pointer-mode", 7, GEMEL__SIM_PARAMETER, "pointer mode"},
    [HOST_C] = {"result-on-host", 0, GEMEL__SIM_HOST_MEMORY, "not device memory"},
    [IN_PLACE] = {"in-place", 0, GEMEL__SIM_RACE, "which it writes as well"},
    [NO_WAIT] = {"no-wait", 0, GEMEL__SIM_MISSING_WAIT, "a product of cuBLAS"},
    [NULL_ALPHA] = {"no-alpha", 7, GEMEL__SIM_PARAMETER, "NULL"},
    [NEGATIVE] = {"negative-size", 7, GEMEL__SIM_PARAMETER, "negative"},
    [WORKSPACE] = {"workspace-freed", 0, GEMEL__SIM_BOUNDS, "of the freed allocation"},
};

enum { RM = 5, RN = 7, RK = 3, RB = 2 };

static cublasStatus_t row_major(blas_bug bug, float *a, float *b, float *c) {
  float alpha = 1, beta = bug == BETA ? 1 : 0;
  int m = RN, n = RM, k = RK, ldb = RN, lda = RK, ldc = RN;
  long long sa = RM * RK, sb = RK * RN, sc = RM * RN;
  if (bug == SIZES)
    m = RM, n = RN;
  if (bug == LEADING_B)
    ldb = RK;
  if (bug == STRIDE_B)
    sb = RK * RN + 1;
  if (bug == LEADING_A)
    lda = RN;
  if (bug == STRIDE_C)
    sc = 1;
  if (bug == NEGATIVE)
    n = -1;
  cublasSetPointerMode(blas,
                       bug == POINTER_MODE ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
  return cublasGemmStridedBatchedEx(
      blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, bug == NULL_ALPHA ? NULL : &alpha,
      bug == OPERANDS ? a : b, CUDA_R_32F, bug == OPERANDS ? lda : ldb, bug == OPERANDS ? sa : sb,
      bug == OPERANDS ? b : a, CUDA_R_32F, bug == OPERANDS ? ldb : lda, bug == OPERANDS ? sb : sa,
      &beta,
      bug == HOST_C     ? &beta
      : bug == IN_PLACE ? b
                        : c,
      bug == HALF_C ? CUDA_R_16F : CUDA_R_32F, ldc, bug == IN_PLACE ? sb : sc,
      bug == IN_PLACE || bug == HOST_C ? 1 : RB,
      bug == COMPUTE ? CUBLAS_COMPUTE_16F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static int wrong_results(const float *a, const float *b, const float *got) {
  int wrong = 0;
  for (int q = 0; q < RB; q++)
    for (int i = 0; i < RM; i++)
      for (int j = 0; j < RN; j++) {
        float sum = 0;
        for (int l = 0; l < RK; l++)
          sum += a[q * RM * RK + i * RK + l] * b[q * RK * RN + l * RN + j];
        wrong += got[q * RM * RN + i * RN + j] != sum;
      }
  return wrong;
}

static void blas_parameters(const void *data) {
  const blas_case *e = data;
  blas_bug bug = (blas_bug)(e - blas_cases);
  float a[RB * RM * RK], b[RB * RK * RN], got[RB * RM * RN] = {0};
  for (int i = 0; i < RB * RM * RK; i++)
    a[i] = (float)(i % 5 - 2);
  for (int i = 0; i < RB * RK * RN; i++)
    b[i] = (float)(i % 7 - 3);
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    void *c = NULL, *workspace = NULL;
    cudaStream_t other;
    begin(seed);
    float *da = device(a, sizeof a), *db = device(b, sizeof b);
    OK(cudaMalloc(&c, sizeof got));
    OK(cudaMalloc(&workspace, 1 << 16));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    cublasSetStream(blas, bug == NO_WAIT ? other : stream);
    CT_EQ_INT(cublasSetWorkspace(blas, workspace, 1 << 16), CUBLAS_STATUS_SUCCESS);
    if (bug == WORKSPACE)
      OK(cudaFree(workspace));
    ct_context("seed %d", seed);
    CT_EQ_INT(row_major(bug, da, db, c), e->status);
    cudaMemcpyAsync(got, c, sizeof got, cudaMemcpyDeviceToHost, bug == NO_WAIT ? other : stream);
    cudaDeviceSynchronize();
    ct_context("seed %d, reported: %s", seed,
               gemel__sim_reports() > 0 ? gemel__sim_report(0) : "nothing");
    if (e->part != NULL)
      CT_CHECK(gemel__sim_reported(e->kind, e->part));
    else {
      CT_EQ_INT(gemel__sim_reports(), 0);
      CT_EQ_INT(wrong_results(a, b, got), 0);
    }
    gemel__sim_forget();
    cublasSetStream(blas, stream);
    cudaStreamDestroy(other);
    cudaFree(da);
    cudaFree(db);
    cudaFree(c);
    if (bug != WORKSPACE)
      cudaFree(workspace);
    gemel__sim_forget();
  }
  ct_context(NULL);
}

/* alpha and beta on the device, read when the product runs. */
static void device_scalars(const void *data) {
  float one = 1, three = 3, x = 5, got = 0;
  (void)data;
  begin(3);
  void *alpha = device(&three, 4), *beta = device(&one, 4), *a = device(&x, 4), *c = device(&x, 4);
  CT_EQ_INT(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  CT_EQ_INT(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, alpha, a, CUDA_R_32F, 1, a,
                         CUDA_R_32F, 1, beta, c, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  CT_EQ_INT(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_SUCCESS);
  OK(cudaMemcpyAsync(&got, c, 4, cudaMemcpyDeviceToHost, stream));
  CT_CHECK(got == 80);
  cudaFree(alpha), cudaFree(beta), cudaFree(a), cudaFree(c);
  CT_EQ_INT(gemel__sim_forget(), 0);
}

static void handles(const void *data) {
  cublasHandle_t h = NULL;
  (void)data;
  begin(1);
  CT_EQ_INT(cublasSetMathMode(h, CUBLAS_DEFAULT_MATH), CUBLAS_STATUS_NOT_INITIALIZED);
  CT_EQ_INT(cublasCreate(&h), CUBLAS_STATUS_SUCCESS);
  CT_EQ_INT(cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH), CUBLAS_STATUS_SUCCESS);
  CT_EQ_INT(cublasSetMathMode(h, (cublasMath_t)99), CUBLAS_STATUS_INVALID_VALUE);
  CT_EQ_INT(cublasSetWorkspace(h, &h, 4096), CUBLAS_STATUS_INVALID_VALUE);
  CT_EQ_INT(cublasDestroy(h), CUBLAS_STATUS_SUCCESS);
  CT_EQ_INT(cublasDestroy(h), CUBLAS_STATUS_NOT_INITIALIZED);
  CT_EQ_STR(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE");
  gemel__sim_forget();
}

/* Texts. */

static const char *const fused = "#include \"folder/square.h\"\n"
                                 "extern \"C\" __global__ void __launch_bounds__(128)\n"
                                 "fused(const float *x, const float *y, float *z, long n) {\n"
                                 "  __shared__ float last[128];\n"
                                 "  for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < "
                                 "n; i += gridDim.x * blockDim.x)\n"
                                 "    z[i] = square(x[i]) * y[i] + ADDED;\n"
                                 "  last[threadIdx.x] = 1;\n"
                                 "%s"
                                 "  if (last[threadIdx.x ^ 1] != 1)\n"
                                 "    z[0] = 0;\n"
                                 "}\n";
static const char *const square = "static __device__ float square(float x) { return x * x; }\n";

static nvrtcResult compile(const char *middle, const char *architecture, const char *added,
                           nvrtcProgram *program) {
  char text[2000];
  const char *name = "folder/square.h",
             *options[] = {architecture, "-std=c++17", "-fmad=false", added};
  snprintf(text, sizeof text, fused, middle);
  CT_EQ_INT(nvrtcCreateProgram(program, text, "fused.cu", 1, &square, &name), NVRTC_SUCCESS);
  return nvrtcCompileProgram(*program, 4, options);
}

static cudaError_t load(nvrtcProgram program, bool portable, cudaLibrary_t *library) {
  size_t bytes = 0;
  nvrtcResult result =
      portable ? nvrtcGetPTXSize(program, &bytes) : nvrtcGetCUBINSize(program, &bytes);
  CT_EQ_INT(result, NVRTC_SUCCESS);
  char *code = malloc(bytes);
  result = portable ? nvrtcGetPTX(program, code) : nvrtcGetCUBIN(program, code);
  CT_EQ_INT(result, NVRTC_SUCCESS);
  cudaError_t error = cudaLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0);
  free(code);
  return error;
}

static void run_fused(cudaLibrary_t library, float *got, size_t count) {
  float x[100];
  long n = 100;
  cudaKernel_t kernel = NULL;
  for (int i = 0; i < 100; i++)
    x[i] = (float)i;
  float *dx = device(x, sizeof x), *dz = device(x, sizeof x);
  OK(cudaLibraryGetKernel(&kernel, library, "fused"));
  OK(cudaLaunchKernel((const void *)kernel, (dim3){2, 1, 1}, (dim3){64, 1, 1},
                      (void *[]){&dx, &dx, &dz, &n}, 0, stream));
  cudaMemcpyAsync(got, dz, count * sizeof *got, cudaMemcpyDeviceToHost, stream);
  cudaFree(dx);
  cudaFree(dz);
}

/* Words that make no kernel. */
static const char *const mentions =
    "  __syncthreads(); // as __global__ void f(int *x) \\\n or GEMEL_KERNEL(f, f)\n"
    "  /* \" __global__ void g(int *x) */\n"
    "  const char *texts[] = {\"\\\"__global__ void h()\", R\"x(\" )\" __global__ void i())x\"};\n"
    "  int my__global__ = 1'000, quote = '\"';\n"
    "  (void)texts, (void)my__global__, (void)quote;\n";

/* The same kernel in two libraries, of machine code and of PTX, that differ in a constant. */
static void texts_run(const void *data) {
  nvrtcProgram one = NULL, two = NULL;
  cudaLibrary_t first = NULL, second = NULL;
  cudaKernel_t kernel = NULL;
  float got[100] = {0};
  (void)data;
  begin(1);
  CT_REQUIRE(CT_EQ_INT(compile("  __syncthreads();\n", "-arch=sm_80", "-DADDED=1", &one), 0));
  CT_REQUIRE(CT_EQ_INT(compile(mentions, "--gpu-architecture=compute_75", "-DADDED=2", &two), 0));
  OK(load(one, false, &first));
  OK(load(two, true, &second));
  run_fused(first, got, 100);
  CT_CHECK(got[9] == 730);
  run_fused(second, got, 100);
  CT_CHECK(got[9] == 731);
  CT_EQ_INT(cudaLibraryGetKernel(&kernel, first, "absent"), cudaErrorSymbolNotFound);
  OK(cudaLibraryUnload(first));
  run_fused(second, got, 100);
  CT_CHECK(got[99] == 99 * 99 * 99 + 2);
  OK(cudaLibraryUnload(second));
  CT_EQ_INT(cudaLibraryUnload(second), cudaErrorInvalidResourceHandle);
  CT_EQ_INT(nvrtcDestroyProgram(&one), NVRTC_SUCCESS);
  CT_EQ_INT(nvrtcDestroyProgram(&two), NVRTC_SUCCESS);
  CT_EQ_INT(nvrtcDestroyProgram(&two), NVRTC_ERROR_INVALID_PROGRAM);
  CT_EQ_INT(gemel__sim_forget(), 0);
  CT_EQ_INT(gemel__sim_living().libraries + gemel__sim_living().programs, 0);
}

/* What is compiled at run time is checked as everything else is. */
static void texts_checked(const void *data) {
  nvrtcProgram program = NULL;
  cudaLibrary_t library = NULL;
  (void)data;
  begin(1);
  CT_REQUIRE(CT_EQ_INT(compile("", "-arch=sm_80", "-DADDED=1", &program), 0));
  OK(load(program, false, &library));
  for (int seed = 0; seed < seeds(SEEDS); seed++) {
    float got[100];
    begin(seed);
    run_fused(library, got, 100);
    ct_context("%s", gemel__sim_reports() > 0 ? gemel__sim_report(0) : "nothing");
    CT_CHECK(gemel__sim_reported(GEMEL__SIM_RACE, "fused.cu:"));
    CT_CHECK(gemel__sim_reported(GEMEL__SIM_RACE, "of last, which thread"));
    gemel__sim_forget();
  }
  ct_context(NULL);
  OK(cudaLibraryUnload(library));
  nvrtcDestroyProgram(&program);
}

typedef struct {
  const char *name, *middle, *architecture, *option;
  nvrtcResult result;
  const char *log;
  bool needs_nvidia;
} refusal;

static const refusal refusals[] = {
    {"syntax", "  nonsense(;\n", "-arch=sm_80", "-DADDED=1", NVRTC_ERROR_COMPILATION, "fused.cu",
     false},
    {"option", "", "-arch=sm_80", "--frobnicate", NVRTC_ERROR_INVALID_OPTION, "--frobnicate",
     false},
    {"architecture", "", "-arch=sm_12", "-DADDED=1", NVRTC_ERROR_INVALID_OPTION, "sm_12", false},
    {"atomic", "  atomicMax(z, 1.0f);\n", "-arch=sm_80", "-DADDED=1", NVRTC_ERROR_COMPILATION,
     "atomicMax", false},
    {"host-code", "  throw 1;\n", "-arch=sm_80", "-DADDED=1", NVRTC_ERROR_COMPILATION, "fused.cu",
     true},
};

static void texts_refused(const void *data) {
  const refusal *r = data;
  nvrtcProgram program = NULL;
  char log[20000] = "";
  size_t bytes = 0;
  if (r->needs_nvidia && !gemel__sim_has_nvrtc())
    CT_SKIP("NVIDIA's NVRTC is not here, and the sim's would take this text");
  CT_EQ_INT(compile(r->middle, r->architecture, r->option, &program), r->result);
  CT_EQ_INT(nvrtcGetProgramLogSize(program, &bytes), NVRTC_SUCCESS);
  if (CT_CHECK(bytes < sizeof log))
    CT_EQ_INT(nvrtcGetProgramLog(program, log), NVRTC_SUCCESS);
  CT_HAS_STR(log, r->log);
  CT_EQ_INT(nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
  CT_EQ_UINT(bytes, 0);
  CT_EQ_INT(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
}

static void images_refused(const void *data) {
  nvrtcProgram program = NULL;
  cudaLibrary_t library = NULL;
  char nothing[100] = "no image";
  (void)data;
  begin(1);
  CT_EQ_INT(cudaLibraryLoadData(&library, nothing, NULL, NULL, 0, NULL, NULL, 0),
            cudaErrorInvalidKernelImage);
  CT_REQUIRE(CT_EQ_INT(compile("  __syncthreads();\n", "-arch=sm_90", "-DADDED=1", &program), 0));
  CT_EQ_INT(load(program, false, &library), cudaErrorNoKernelImageForDevice);
  CT_EQ_INT(load(program, true, &library), cudaErrorNoKernelImageForDevice);
  CT_EQ_INT(nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
  gemel__sim_forget();
}

/* What NVIDIA's libraries say without a GPU, where they are: names and texts of errors, and all of
   NVRTC. The runtime itself says of everything else, building graphs too, that there is no driver.
 */

#if defined GEMEL__CUDA_HOME && !defined GEMEL_SANITIZED
static void *find(const char *library, const char *function) {
  static const char *const folders[] = {"lib64", "lib", "lib/x86_64-linux-gnu"};
  char path[500];
  void *found = NULL;
  for (size_t i = 0; found == NULL && i < CT_COUNT(folders); i++) {
    snprintf(path, sizeof path, GEMEL__CUDA_HOME "/%s/%s", folders[i], library);
    found = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  }
  return found == NULL ? NULL : dlsym(found, function);
}

/* Calls FUNCTION as both of its texts are called: they take an enumeration. */
static const char *say(void *function, int code) {
  const char *(*call)(int);
  memcpy(&call, &function, sizeof call);
  return call(code);
}

static void errors_alike(const void *data) {
  void *name = find("libcudart.so", "cudaGetErrorName");
  void *text = find("libcudart.so", "cudaGetErrorString");
  void *blas_name = find("libcublas.so", "cublasGetStatusName");
  void *blas_text = find("libcublas.so", "cublasGetStatusString");
  void *nvrtc_text = find("libnvrtc.so", "nvrtcGetErrorString");
  int compared = 0;
  (void)data;
  if (name == NULL || text == NULL || blas_name == NULL || blas_text == NULL || nvrtc_text == NULL)
    CT_SKIP("NVIDIA's libraries are not all in " GEMEL__CUDA_HOME);
  for (int code = 0; code < 1000; code++) {
    if (strncmp(cudaGetErrorName((cudaError_t)code), "cuda", 4) == 0) {
      CT_EQ_STR(cudaGetErrorName((cudaError_t)code), say(name, code));
      CT_EQ_STR(cudaGetErrorString((cudaError_t)code), say(text, code));
      compared++;
    }
    if (strcmp(cublasGetStatusName((cublasStatus_t)code), "CUBLAS_STATUS_UNKNOWN") != 0) {
      CT_EQ_STR(cublasGetStatusName((cublasStatus_t)code), say(blas_name, code));
      CT_EQ_STR(cublasGetStatusString((cublasStatus_t)code), say(blas_text, code));
      compared++;
    }
    if (strchr(nvrtcGetErrorString((nvrtcResult)code), ' ') == NULL) {
      CT_EQ_STR(nvrtcGetErrorString((nvrtcResult)code), say(nvrtc_text, code));
      compared++;
    }
  }
  CT_CHECK(compared > 40);
}

/* What functions say to missing parameters, in the sim and in NVIDIA's libraries. */
static void missing_alike(const void *data) {
  int version;
  const struct {
    const char *library, *name;
    void *own;
    void *first, *second;
  } calls[] = {
      {"libcublas.so", "cublasCreate_v2", (void *)cublasCreate, NULL, NULL},
      {"libcublas.so", "cublasDestroy_v2", (void *)cublasDestroy, NULL, NULL},
      {"libcublas.so", "cublasGetVersion_v2", (void *)cublasGetVersion, NULL, &version},
      {"libcublas.so", "cublasGetVersion_v2", (void *)cublasGetVersion, NULL, NULL},
      {"libcublas.so", "cublasSetStream_v2", (void *)cublasSetStream, NULL, NULL},
      {"libcublas.so", "cublasSetWorkspace_v2", (void *)cublasSetWorkspace, NULL, NULL},
      {"libcublas.so", "cublasSetPointerMode_v2", (void *)cublasSetPointerMode, NULL, NULL},
      {"libcublas.so", "cublasSetMathMode", (void *)cublasSetMathMode, NULL, NULL},
      {"libcudart.so", "cudaRuntimeGetVersion", (void *)cudaRuntimeGetVersion, NULL, NULL},
      {"libcudart.so", "cudaDriverGetVersion", (void *)cudaDriverGetVersion, NULL, NULL}};
  (void)data;
  for (size_t i = 0; i < CT_COUNT(calls); i++) {
    int (*own)(void *, void *, size_t), (*real)(void *, void *, size_t);
    void *found = find(calls[i].library, calls[i].name);
    if (found == NULL)
      CT_SKIP("NVIDIA's libraries are not all in " GEMEL__CUDA_HOME);
    memcpy(&own, &calls[i].own, sizeof own);
    memcpy(&real, &found, sizeof real);
    ct_context("%s", calls[i].name);
    CT_EQ_INT(own(calls[i].first, calls[i].second, 0), real(calls[i].first, calls[i].second, 0));
  }
}

/* NVRTC's functions, the sim's or NVIDIA's. */
typedef struct {
  nvrtcResult (*version)(int *major, int *minor);
  nvrtcResult (*create)(nvrtcProgram *program, const char *source, const char *name, int headers,
                        const char *const *header_texts, const char *const *header_names);
  nvrtcResult (*destroy)(nvrtcProgram *program);
  nvrtcResult (*compile)(nvrtcProgram program, int options, const char *const *texts);
  nvrtcResult (*sizes[3])(nvrtcProgram program, size_t *bytes); /* PTX, CUBIN, log */
  nvrtcResult (*contents[3])(nvrtcProgram program, char *to);
} compiler;

static const compiler sims = {nvrtcVersion,
                              nvrtcCreateProgram,
                              nvrtcDestroyProgram,
                              nvrtcCompileProgram,
                              {nvrtcGetPTXSize, nvrtcGetCUBINSize, nvrtcGetProgramLogSize},
                              {nvrtcGetPTX, nvrtcGetCUBIN, nvrtcGetProgramLog}};

/* In the order of the structure. */
static bool find_compiler(compiler *c) {
  static const char *const names[] = {
      "nvrtcVersion",    "nvrtcCreateProgram", "nvrtcDestroyProgram",    "nvrtcCompileProgram",
      "nvrtcGetPTXSize", "nvrtcGetCUBINSize",  "nvrtcGetProgramLogSize", "nvrtcGetPTX",
      "nvrtcGetCUBIN",   "nvrtcGetProgramLog"};
  void *found[CT_COUNT(names)];
  for (size_t i = 0; i < CT_COUNT(names); i++)
    if ((found[i] = find("libnvrtc.so", names[i])) == NULL)
      return false;
  _Static_assert(sizeof found == sizeof *c, "a function for each name");
  memcpy(c, found, sizeof found);
  return true;
}

/* Some calls on one program, drawn by SEED: each parameter may be left out. What the calls return
   and whether sizes are 0 goes to TEXT. */
static void call_at_random(const compiler *c, unsigned seed, char *text) {
  static const char *const sources[] = {"extern \"C\" __global__ void f(int *x) { *x = 1; }",
                                        "nonsense", NULL};
  static const char *const options[] = {"-arch=sm_80", "-arch=compute_80", "-arch=sm_13",
                                        "-std=c++17",  "-fmad=false",      "-nonsense"};
  static char room[1 << 20];
  const char *lists[] = {"#define X 1", "x.h"};
  unsigned state = seed;
#define DRAW(n) ((state = state * 1664525u + 1013904223u) >> 16) % (n)
#define NOTE(...) text += sprintf(text, __VA_ARGS__)
  nvrtcProgram program = NULL;
  int major, minor, headers = (int)(DRAW(3)) - 1;
  size_t bytes = 0;
  bool lost = DRAW(6) == 0, no_texts = DRAW(3) == 0, no_names = DRAW(3) == 0;
  unsigned source = DRAW(5);
  NOTE("version %d", c->version(DRAW(3) == 0 ? NULL : &major, &minor));
  NOTE(" create %d", c->create(lost ? NULL : &program, sources[source > 2 ? 0 : source], NULL,
                               headers, no_texts ? NULL : &lists[0], no_names ? NULL : &lists[1]));
  for (int k = 0; k < 6; k++) {
    unsigned call = DRAW(8), part = DRAW(3), first = DRAW(CT_COUNT(options));
    bool null = DRAW(4) == 0;
    if (call == 0 && DRAW(2) == 0)
      NOTE(" compile %d", c->compile(program, -1, NULL));
    else if (call < 2)
      NOTE(" compile %d", c->compile(program, (int)(DRAW(2)), null ? NULL : &options[first]));
    else if (call < 5)
      NOTE(" size %d", c->sizes[part](program, null ? NULL : &bytes));
    else
      NOTE(" get %d", c->contents[part](program, null ? NULL : room));
    NOTE(" of part %u %d", part, part < 2 && call >= 2 && call < 5 && bytes == 0);
    bytes = 0;
  }
  NOTE(" destroy %d %d", c->destroy(&program), c->destroy(DRAW(2) == 0 ? NULL : &program));
#undef DRAW
#undef NOTE
}

static void nvrtc_alike(const void *data) {
  enum { PROGRAMS = 200 };
  compiler real;
  char own[1000], other[1000];
  (void)data;
  if (!find_compiler(&real))
    CT_SKIP("NVIDIA's NVRTC is not in " GEMEL__CUDA_HOME);
  for (unsigned seed = 0; seed < PROGRAMS; seed++) {
    call_at_random(&sims, seed, own);
    call_at_random(&real, seed, other);
    ct_context("seed %u", seed);
    CT_EQ_STR(own, other);
  }
}
#else
static void missing_alike(const void *data) {
  (void)data;
  CT_SKIP("NVIDIA's libraries are not here, or sanitizers are");
}
static void nvrtc_alike(const void *data) {
  (void)data;
  CT_SKIP("NVIDIA's libraries are not here, or sanitizers are");
}
static void errors_alike(const void *data) {
  (void)data;
  CT_SKIP("NVIDIA's libraries are not here, or sanitizers are");
}
#endif

static const cudaDataType f16 = CUDA_R_16F, bf16 = CUDA_R_16BF;
static const ct_test tests[] = {
    CT_TEST("rounding/f16", rounding, &f16),         CT_TEST("rounding/bf16", rounding, &bf16),
    CT_TEST("device-scalars", device_scalars, NULL), CT_TEST("handles", handles, NULL),
    CT_TEST("nvrtc-alike", nvrtc_alike, NULL),       CT_TEST("missing-alike", missing_alike, NULL),
    CT_TEST("errors-alike", errors_alike, NULL),     CT_TEST("texts/run", texts_run, NULL),
    CT_TEST("texts/checked", texts_checked, NULL),   CT_TEST("texts/images", images_refused, NULL),
};

void ct_register(void) {
  ct_suite("sim-libraries", tests, CT_COUNT(tests));
  for (size_t i = 0; i < CT_COUNT(type_cases); i++)
    CT_ADD_TO("sim-libraries", "product", type_cases[i].name, products, &type_cases[i]);
  for (int i = 0; i < BLAS_BUGS; i++)
    CT_ADD_TO("sim-libraries", "blas", blas_cases[i].name, blas_parameters, &blas_cases[i]);
  for (size_t i = 0; i < CT_COUNT(refusals); i++)
    CT_ADD_TO("sim-libraries", "refused", refusals[i].name, texts_refused, &refusals[i]);
}
