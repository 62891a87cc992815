/* SPDX-License-Identifier: MIT
 *
 * Suite gpu: functions on a device of CUDA's, with operands and results there, against what CUDA
 * itself takes for the least that they could do: a copy of as many bytes, cuBLAS's products, a
 * launch. Both are asked for a number of times and waited for once. Every case counts too what a
 * call asks the device for, once it has been called often enough to be recorded. On the sim, where
 * time says nothing, that is all.
 */
#include "call.h"

#if GEMEL__SIM
#include "gpu-model.h"
#endif
#if GEMEL__SIM || GEMEL__CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <gemel/cuda.h>
#include <stdlib.h>
#include <string.h>

/* ---- Cases ---- */

typedef enum gpu_rival {
  COPY,     /* from the device to itself, of the operand or the result, whichever is larger */
  PRODUCT,  /* square matrices, by cuBLAS */
  CROSSING, /* from pinned memory of the host to the device, and back */
  LAUNCH    /* as little as the device can be asked for: 4 bytes are set */
} gpu_rival;

/* AMOUNT: how often so many bytes are read or written at least (a copy does both), or how many
 * products there are. AT_LEAST: the target of the ratio; KERNELS: at most so many are launched; 0:
 * information. MEASURED: microseconds of a call on an H100 on 26 November 2026. */
typedef struct gpu_case {
  const char *name;
  gpu_rival rival;
  double amount, at_least;
  int kernels;
  double measured;
  int columns; /* of the matrix that is counted: lanes are as long as in the one that is estimated
                */
  const char *text;
} gpu_case;

/* Rows of mean 0 and variance 1. */
#define NORMALISED(dtype)                                                                          \
  "(x: " dtype "[R, C]) {\n  c = x - mean(x, axes = [1], keepdims = 1)\n"                          \
  "  return y = c / sqrt(mean(sqr(c), axes = [1], keepdims = 1) + 1e-5)\n}"

static const gpu_case cases[] = {
    {"dot f32", PRODUCT, 1, 0.97, 1, 0, 0, "(a: f32[S, S], b: f32[S, S]) { return y = dot(a, b) }"},
    {"dot f64", PRODUCT, 1, 0.97, 1, 0, 0, "(a: f64[S, S], b: f64[S, S]) { return y = dot(a, b) }"},
    {"dot f16", PRODUCT, 1, 0.97, 1, 0, 0, "(a: f16[S, S], b: f16[S, S]) { return y = dot(a, b) }"},
    {"dot bf16", PRODUCT, 1, 0.97, 1, 0, 0,
     "(a: bf16[S, S], b: bf16[S, S]) { return y = dot(a, b) }"},
    {"affine f32", PRODUCT, 1, 0, 0, 0, 0,
     "(m: f32[S, S], x: f32[S, S], b: f32[S, S]) { return y = dot(m, x) + b }"},
    {"affine update f32", PRODUCT, 1, 0, 0, 0, 0,
     "(state m: f32[S, S], state x: f32[S, S], state b: f32[S, S]) { update b = dot(m, x) + b }"},
    {"training step f32", PRODUCT, 2, 0, 0, 0, 0,
     "(state m: f32[S, S], state b: f32[S, S], x: f32[S, S], t: f32[S, S]) {\n"
     "  e = dot(m, x) + b - t\n"
     "  g = dot(e, x, contract_x = [1], contract_y = [1])\n"
     "  update m = m - 1e-9:f32 * g\n  update b = b - 1e-9:f32 * e\n  return l = sum(e * e)\n}"},
    {"neg f32", COPY, 2, 0.9, 1, 96.1, 4096, "(x: f32[E]) { return y = neg(x) }"},
    {"add f32", COPY, 3, 0, 1, 106.5, 4096, "(x: f32[E], y: f32[E]) { return z = x + y }"},
    {"chain of 8 f32", COPY, 2, 0.9, 1, 60.1, 4096,
     "(x: f32[E]) { return y = maximum(sqr(abs((0.75 - neg(x * 0.5 + 0.25)) * 1.5)), 0.125) }"},
    {"tanh f32", COPY, 2, 0, 1, 121.8, 4096, "(x: f32[E]) { return y = tanh(x) }"},
    {"normal f32", COPY, 1, 0, 0, 89.6, 4096,
     "(k: u64[2], x: f32[E]) { y, n = random_normal(k, shape = [E], dtype = f32) return y }"},
    {"sum f32", COPY, 1, 0.9, 0, 85.7, 4096, "(x: f32[E]) { return y = sum(x) }"},
    {"sum rows f32", COPY, 1, 0, 0, 81.8, 4096, "(x: f32[R, C]) { return y = sum(x, axes = [1]) }"},
    {"sum columns f32", COPY, 1, 0, 0, 123.6, 64,
     "(x: f32[R, C]) { return y = sum(x, axes = [0]) }"},
    {"sum bf16", COPY, 1, 0, 0, 0, 4096, "(x: bf16[E]) { return y = sum(x) }"},
    {"sum rows bf16", COPY, 1, 0, 0, 0, 4096, "(x: bf16[R, C]) { return y = sum(x, axes = [1]) }"},
    {"sum columns bf16", COPY, 1, 0, 0, 0, 64, "(x: bf16[R, C]) { return y = sum(x, axes = [0]) }"},
    {"sum [0]", COPY, 1, 0, 0, 233.9, 4096, "(x: f32[T, T, T]) { return y = sum(x, axes = [0]) }"},
    {"sum [1]", COPY, 1, 0, 0, 260.4, 4096, "(x: f32[T, T, T]) { return y = sum(x, axes = [1]) }"},
    {"sum [2]", COPY, 1, 0, 0, 220.1, 4096, "(x: f32[T, T, T]) { return y = sum(x, axes = [2]) }"},
    {"sum [0, 2]", COPY, 1, 0, 0, 109.7, 4096,
     "(x: f32[T, T, T]) { return y = sum(x, axes = [0, 2]) }"},
    {"argmax rows f32", COPY, 1, 0, 0, 105.7, 4096,
     "(x: f32[R, C]) { return y = argmax(x, axis = 1) }"},
    {"argmax columns f32", COPY, 1, 0, 0, 139.1, 64,
     "(x: f32[R, C]) { return y = argmax(x, axis = 0) }"},
    {"argmax rows bf16", COPY, 1, 0, 0, 0, 4096,
     "(x: bf16[R, C]) { return y = argmax(x, axis = 1) }"},
    {"argmax columns bf16", COPY, 1, 0, 0, 0, 64,
     "(x: bf16[R, C]) { return y = argmax(x, axis = 0) }"},
    {"softmax f32", COPY, 2, 0, 0, 123.6, 4096, "(x: f32[R, C]) { return y = softmax(x) }"},
    {"softmax columns f32", COPY, 2, 0, 0, 611.2, 64,
     "(x: f32[R, C]) { return y = softmax(x, axis = 0) }"},
    {"softmax bf16", COPY, 2, 0, 0, 0, 4096, "(x: bf16[R, C]) { return y = softmax(x) }"},
    {"softmax columns bf16", COPY, 2, 0, 0, 0, 64,
     "(x: bf16[R, C]) { return y = softmax(x, axis = 0) }"},
    {"normalised f32", COPY, 2, 0, 2, 0, 4096, NORMALISED("f32")},
    {"normalised bf16", COPY, 2, 0, 2, 0, 4096, NORMALISED("bf16")},
    {"log of softmax f32", COPY, 2, 0, 1, 0, 4096,
     "(x: f32[R, C]) {\n  c = x - max(x, axes = [1], keepdims = 1)\n"
     "  return y = c - log(sum(exp(c), axes = [1], keepdims = 1))\n}"},
    {"cross_entropy f32", COPY, 1, 0, 0, 0, 4096,
     "(x: f32[R, C], t: i64[R]) { return y = cross_entropy(x, cast(t % 8, dtype = i64)) }"},
    {"cross_entropy of rows f32", COPY, 2, 0, 0, 0, 4096,
     "(x: f32[R, C], t: f32[R, C]) { return y = cross_entropy(x, t) }"},
    {"transposed f32", COPY, 2, 0, 0, 146.7, 4096,
     "(x: f32[R, C]) { return y = dimshuffle(x, order = [1, 0]) }"},
    {"order [1, 2, 0]", COPY, 2, 0, 0, 134.6, 4096,
     "(x: f32[T, T, T]) { return y = dimshuffle(x, order = [1, 2, 0]) }"},
    {"reversed f32", COPY, 2, 0, 0, 100.5, 4096,
     "(x: f32[R, C]) { return y = reverse(x, axes = [1]) }"},
    {"every other row", COPY, 1, 0, 0, 53.0, 4096,
     "(x: f32[R, C]) { return y = subtensor(x, start = [0, 0], size = [R // 2, C], step = [2, 1]) "
     "}"},
    {"every other column", COPY, 1, 0, 0, 46.2, 4096,
     "(x: f32[R, C]) { return y = subtensor(x, start = [0, 0], size = [R, C // 2], step = [1, 2]) "
     "}"},
    {"halves swapped f32", COPY, 2, 0, 0, 105.7, 4096,
     "(x: f32[R, C]) {\n"
     "  a = subtensor(x, start = [0, 0], size = [R, C // 2])\n"
     "  b = subtensor(x, start = [0, C // 2], size = [R, C // 2])\n"
     "  return y = join(b, a, axis = 1)\n}"},
    {"normal bf16", COPY, 1, 0, 0, 0, 4096,
     "(k: u64[2], x: bf16[E]) { y, n = random_normal(k, shape = [E], dtype = bf16) return y }"},
    {"rows taken f32", COPY, 2, 0, 0, 0, 1024,
     "(x: f32[R, C]) { i = arange(n = R) * 7919 % size(value = R) return y = take(x, i) }"},
    {"rows taken bf16", COPY, 2, 0, 0, 0, 1024,
     "(x: bf16[R, C]) { i = arange(n = R) * 7919 % size(value = R) return y = take(x, i) }"},
    {"rows put, adding f32", COPY, 3, 0, 0, 0, 1024,
     "(state x: f32[R, C], y: f32[R, C]) {\n"
     "  update x = put(x, arange(n = R) * 7919 % size(value = R), y, mode = \"add\")\n}"},
    {"order f32", COPY, 1.5, 0, 0, 0, 4096, "(x: f32[E]) { return y = argsort(x, axis = 0) }"},
    {"cumsum f32", COPY, 2, 0, 0, 0, 4096, "(x: f32[E]) { return y = cumsum(x, axis = 0) }"},
    {"cumsum rows f32", COPY, 2, 0, 0, 0, 4096,
     "(x: f32[R, C]) { return y = cumsum(x, axis = 1) }"},
    {"cumsum rows bf16", COPY, 2, 0, 0, 0, 4096,
     "(x: bf16[R, C]) { return y = cumsum(x, axis = 1) }"},
    {"cumsum columns f32", COPY, 2, 0, 0, 0, 64,
     "(x: f32[R, C]) { return y = cumsum(x, axis = 0) }"},
    {"transposed bf16", COPY, 2, 0, 0, 0, 4096,
     "(x: bf16[R, C]) { return y = dimshuffle(x, order = [1, 0]) }"},
    {"reversed bf16", COPY, 2, 0, 0, 0, 4096,
     "(x: bf16[R, C]) { return y = reverse(x, axes = [1]) }"},
    {"there and back f32", CROSSING, 1, 0, 1, 0, 0, "(x: f32[E]) { return y = neg(x) }"},
    {"call: 1 node", LAUNCH, 0, 0, 1, 0, 0, "(x: f32[1]) { return y = neg(x) }"},
    {"call: 8 sums", LAUNCH, 0, 0, 8, 0, 0,
     "(x: f32[2, 2, 2, 2, 2, 2, 2, 2]) {\n"
     "  a = sum(x, axes = [0])\n  b = sum(a, axes = [0])\n  c = sum(b, axes = [0])\n"
     "  d = sum(c, axes = [0])\n  e = sum(d, axes = [0])\n  f = sum(e, axes = [0])\n"
     "  g = sum(f, axes = [0])\n  return y = sum(g)\n}"}};
enum { CASES = sizeof cases / sizeof *cases };

static gemel_cuda *cuda_of(const gemel__bench *b) {
  return gemel_device_of_space(b->context, b->space)->user;
}

/* ---- What a call asks for ---- */

enum { WARM_UP = 4, CALLS = 4 };

static const gemel__bench_target one = {GEMEL__BENCH_AT_MOST, 1}, none = {GEMEL__BENCH_AT_MOST, 0};

static gemel_cuda_counts count(const gemel__bench *b) {
  gemel_cuda_counts counts = {.size = sizeof counts};
  gemel_cuda_counted(cuda_of(b), &counts);
  return counts;
}

static void report_counts(gemel__bench *b, const gpu_case *c, gemel__call *call, size_t kernels) {
  const gemel__bench_target most = {GEMEL__BENCH_AT_MOST, c->kernels},
                            crossings = {GEMEL__BENCH_AT_MOST, c->rival == CROSSING ? 2 : 0};
  call->repeat = WARM_UP;
  gemel__call_run(call);
  gemel_cuda_counts before = count(b), after;
  call->repeat = CALLS;
  gemel__call_run(call);
  after = count(b);
  double launches = (double)(after.kernels + after.graphs - before.kernels - before.graphs) / CALLS;
  double transfers =
      (double)(after.uploads + after.downloads - before.uploads - before.downloads) / CALLS;
  double allocations = (double)after.allocations - (double)before.allocations;
  gemel__bench_report(b, c->name, "kernels", (double)kernels, "a call",
                      c->kernels > 0 ? &most : NULL);
  gemel__bench_report(b, c->name, "launches", launches, "a call", &one);
  gemel__bench_report(b, c->name, "transfers", transfers, "a call", &crossings);
  gemel__bench_report(b, c->name, "allocations", allocations / CALLS, "a call", &none);
  gemel__bench_report(b, c->name, "intermediate", (double)gemel_function_bytes(call->function), "B",
                      NULL);
}

/* ---- Estimates ---- */

#if GEMEL__SIM
/* Elements of the call that is counted, and of the one that is estimated, which is as large as what
 * was measured. L1: what each of eight blocks has of the smallest, of 128 KiB. L2 is as much
 * smaller than the smallest, of 40 MiB, as the call is; so many instructions are counted of a
 * launch. */
enum { COUNTED = 1 << 18, ESTIMATED = 1 << 24, L1 = 128 << 10, L2 = 40 << 20, STEPS = 4000 };

static size_t most_bytes(const gemel__call *call);

/* Nothing that was asked for BEFORE may be left to do, when counting begins. */
static int estimate_case(gemel__bench *b, const gpu_case *c, const char *text,
                         gemel__call *before) {
  gemel__bench at = *b;
  gemel__call call;
  const double scale = (double)ESTIMATED / COUNTED;
  at.elements = COUNTED;
  at.columns = (uint64_t)c->columns;
  before->repeat = 0;
  gemel__call_complete(before);
  gemel__sim_count_costs(&(gemel__sim_watch){L1 / 8, L2 / (ESTIMATED / COUNTED), STEPS});
  int status = gemel__call_open(&call, &at, b->context, c->name, text, 0);
  call.repeat = 0;
  if (status == GEMEL__GOOD) {
    gemel__call_complete(&call);
  }
  gemel__sim_count_costs(NULL);
  if (status == GEMEL__GOOD) {
    gemel__seen seen = {.scale = scale,
                        .least = c->amount * (double)most_bytes(&call) * scale,
                        .measured = 1e-6 * c->measured};
    seen.costs = gemel__sim_costs(&seen.count);
    gemel__report_estimates(b, c->name, &seen);
    status = gemel__call_check(&call, c->name);
  }
  gemel__call_clear(&call);
  return status;
}
#endif

/* ---- Rivals ---- */

typedef struct rival {
  gpu_rival kind;
  int repeat, products, n;
  cudaDataType dtype;
  cublasHandle_t blas;
  const void *a, *b;
  void *c, *pinned;
  size_t bytes;
  cudaError_t error;
  cublasStatus_t blas_error;
} rival;

static cublasStatus_t multiply(const rival *r) {
  const float one_f32 = 1, none_f32 = 0;
  const double one_f64 = 1, none_f64 = 0;
  int wide = r->dtype == CUDA_R_64F;
  return cublasGemmEx(r->blas, CUBLAS_OP_N, CUBLAS_OP_N, r->n, r->n, r->n,
                      wide ? (const void *)&one_f64 : &one_f32, r->a, r->dtype, r->n, r->b,
                      r->dtype, r->n, wide ? (const void *)&none_f64 : &none_f32, r->c, r->dtype,
                      r->n, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

static void run_once(rival *r) {
  cudaError_t error = cudaSuccess;
  if (r->kind == PRODUCT) {
    for (int k = 0; k < r->products && r->blas_error == CUBLAS_STATUS_SUCCESS; k++) {
      r->blas_error = multiply(r);
    }
  } else if (r->kind == COPY) {
    error = cudaMemcpyAsync(r->c, r->a, r->bytes, cudaMemcpyDeviceToDevice, NULL);
  } else if (r->kind == LAUNCH) {
    error = cudaMemsetAsync(r->c, 0, r->bytes, NULL);
  } else {
    error = cudaMemcpyAsync(r->c, r->pinned, r->bytes, cudaMemcpyHostToDevice, NULL);
    error = error == cudaSuccess
                ? cudaMemcpyAsync(r->pinned, r->c, r->bytes, cudaMemcpyDeviceToHost, NULL)
                : error;
  }
  r->error = r->error == cudaSuccess ? error : r->error;
}

static void run_rival(void *state) {
  rival *r = state;
  for (int k = 0; k < r->repeat; k++) {
    run_once(r);
  }
  cudaError_t error = cudaStreamSynchronize(NULL);
  r->error = r->error == cudaSuccess ? error : r->error;
}

static int check_rival(const rival *r, const char *name) {
  return r->error != cudaSuccess
             ? gemel__complain("bench: %s: CUDA says %s", name, cudaGetErrorString(r->error))
         : r->blas_error != CUBLAS_STATUS_SUCCESS
             ? gemel__complain("bench: %s: cuBLAS says %s", name,
                               cublasGetStatusString(r->blas_error))
             : GEMEL__GOOD;
}

static size_t bytes_of(const gemel_tensor *tensor) {
  return tensor != NULL
             ? (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(gemel_tensor_dtype(tensor))
             : 0;
}

/* The largest of CALL's operands and its result. */
static size_t most_bytes(const gemel__call *call) {
  size_t most = bytes_of(call->outputs[0]);
  for (size_t k = 0; k < call->n_inputs; k++) {
    size_t bytes = bytes_of(call->inputs[k]);
    most = bytes > most ? bytes : most;
  }
  return most;
}

static cudaDataType type_of(gemel_dtype dtype) {
  return dtype == GEMEL_F64    ? CUDA_R_64F
         : dtype == GEMEL_F16  ? CUDA_R_16F
         : dtype == GEMEL_BF16 ? CUDA_R_16BF
                               : CUDA_R_32F;
}

/* OPERANDS is a call of a plain product, of which the rival takes the matrices. */
static void open_product(rival *r, const gpu_case *c, const gemel__bench *b,
                         const gemel__call *operands) {
  r->products = (int)c->amount;
  r->n = (int)b->matrix;
  r->dtype = type_of(gemel_tensor_dtype(operands->outputs[0]));
  r->a = gemel_tensor_data(operands->inputs[0]);
  r->b = gemel_tensor_data(operands->inputs[1]);
  r->c = gemel_tensor_data(operands->outputs[0]);
  r->blas_error = cublasCreate(&r->blas);
}

static void open_memory(rival *r, const gemel__call *call) {
  void *a = NULL;
  r->bytes = r->kind == LAUNCH ? 4 : most_bytes(call);
  r->error = cudaMalloc(&r->c, r->bytes);
  if (r->error == cudaSuccess && r->kind == COPY) {
    r->error = cudaMalloc(&a, r->bytes);
    r->error = r->error == cudaSuccess ? cudaMemset(a, 0, r->bytes) : r->error;
  }
  if (r->error == cudaSuccess && r->kind == CROSSING) {
    r->error = cudaHostAlloc(&r->pinned, r->bytes, cudaHostAllocDefault);
    if (r->error == cudaSuccess) {
      memset(r->pinned, 0, r->bytes);
    }
  }
  r->a = a;
}

static void close_rival(rival *r) {
  if (r->blas != NULL) {
    cublasDestroy(r->blas);
  } else if (r->kind != PRODUCT) {
    cudaFree((void *)(uintptr_t)r->a);
    cudaFree(r->c);
    cudaFreeHost(r->pinned);
  }
}

/* ---- Races ---- */

/* How often to do what takes SECONDS once, so that waiting in the end is lost in it. */
static int repeats(double seconds) {
  enum { MOST = 1000 };
  double n = 2e-3 / seconds;
  return n < 1 ? 1 : n > MOST ? MOST : (int)n;
}

static void race(gemel__bench *b, gemel__call *call, rival *r, int repeat,
                 gemel__bench_contender *both) {
  both[0] = (gemel__bench_contender){gemel__call_complete, call, 0, 0};
  both[1] = (gemel__bench_contender){run_rival, r, 0, 0};
  call->repeat = r->repeat = repeat;
  gemel__bench_race(both, 2, 1e-3 * (double)b->time_ms);
}

/* A rate of UNITS for gemel, RIVAL's of RIVAL_UNITS, and what share of it the first is. */
static void report_rates(gemel__bench *b, const gpu_case *c, const gemel__bench_contender *both,
                         int repeat, double units, double rival_units) {
  static const char *const names[][3] = {{"copy", "of a copy", "GB/s"},
                                         {"cuBLAS", "of bare cuBLAS", "GF/s"},
                                         {"bare copies", "of bare copies", "GB/s"}};
  const char *const *name = names[c->rival];
  const gemel__bench_target target = {GEMEL__BENCH_AT_LEAST, c->at_least};
  double calls = repeat;
  gemel__bench_report(b, c->name, "call", both[0].best / calls, "s", NULL);
  gemel__bench_report(b, c->name, "gemel", 1e-9 * units * calls / both[0].best, name[2], NULL);
  gemel__bench_report(b, c->name, name[0], 1e-9 * rival_units * calls / both[1].best, name[2],
                      NULL);
  gemel__bench_report(b, c->name, name[1], both[1].relative * units / rival_units, "ratio",
                      c->at_least > 0 ? &target : NULL);
}

/* What calls cost that do next to nothing: asked for in a row, and waited for one by one. */
static void report_launches(gemel__bench *b, const gpu_case *c, gemel__call *call, rival *r,
                            gemel__bench_contender *both, int repeat) {
  gemel__bench_report(b, c->name, "call", both[0].best / repeat, "s", NULL);
  gemel__bench_report(b, c->name, "bare launch", both[1].best / repeat, "s", NULL);
  gemel__bench_report(b, c->name, "of bare launches", both[1].relative, "ratio", NULL);
  race(b, call, r, 1, both);
  gemel__bench_report(b, c->name, "call and wait", both[0].best, "s", NULL);
  gemel__bench_report(b, c->name, "launch and wait", both[1].best, "s", NULL);
}

static void race_case(gemel__bench *b, const gpu_case *c, gemel__call *call, rival *r) {
  gemel__bench_contender both[2];
  call->repeat = 1;
  double start = gemel__now();
  gemel__call_complete(call);
  int repeat = repeats(gemel__now() - start);
  double n = r->n, bytes = (double)r->bytes;
  race(b, call, r, repeat, both);
  if (c->rival == LAUNCH) {
    report_launches(b, c, call, r, both, repeat);
  } else if (c->rival == PRODUCT) {
    report_rates(b, c, both, repeat, 2 * n * n * n * c->amount, 2 * n * n * n * c->amount);
  } else {
    report_rates(b, c, both, repeat, bytes * (c->rival == COPY ? c->amount : 2), 2 * bytes);
  }
}

/* The call beside its rival; OPERANDS are open if that is a product. */
static int time_case(gemel__bench *b, const gpu_case *c, gemel__call *call,
                     const gemel__call *operands) {
  rival r = {.kind = c->rival};
  if (c->rival == PRODUCT) {
    open_product(&r, c, b, operands);
  } else {
    open_memory(&r, call);
  }
  int status = check_rival(&r, c->name);
  if (status == GEMEL__GOOD) {
    race_case(b, c, call, &r);
    status = check_rival(&r, c->name);
  }
  close_rival(&r);
  return status == GEMEL__GOOD ? gemel__call_check(call, c->name) : status;
}

/* ---- The suite ---- */

/* A plain product of C's dtype, which is the last word of its name. */
static int open_operands(gemel__call *operands, const gemel__bench *b, const gpu_case *c) {
  const char *dtype = strrchr(c->name, ' ') + 1;
  char text[100];
  snprintf(text, sizeof text, "graph f(a: %s[S, S], b: %s[S, S]) { return c = dot(a, b) }", dtype,
           dtype);
  return gemel__call_open(operands, b, b->context, c->name, text, 0);
}

static int run_case(gemel__bench *b, const gpu_case *c) {
  int only_counts = gemel_device_of_space(b->context, b->space)->mistakes != NULL;
  gemel__call call, operands = {.status = GEMEL_OK};
  char *text = gemel__need_text("graph f%s", c->text);
  size_t kernels = count(b).kernels;
  b->on_host = c->rival == CROSSING;
  int status = gemel__call_open(&call, b, b->context, c->name, text, c->rival == PRODUCT);
  kernels = count(b).kernels - kernels;
  if (status == GEMEL__GOOD) {
    report_counts(b, c, &call, kernels);
    status = gemel__call_check(&call, c->name);
  }
#if GEMEL__SIM
  if (status == GEMEL__GOOD && only_counts && c->rival == COPY) {
    status = estimate_case(b, c, text, &call);
  }
#endif
  if (status == GEMEL__GOOD && !only_counts) {
    status = c->rival == PRODUCT ? open_operands(&operands, b, c) : status;
    status = status == GEMEL__GOOD ? time_case(b, c, &call, &operands) : status;
  }
  gemel__call_clear(&operands);
  gemel__call_clear(&call);
  free(text);
  return status;
}

int gemel__bench_gpu(gemel__bench *b) {
  int status = GEMEL__GOOD;
  for (size_t k = 0; k < CASES && status == GEMEL__GOOD; k++) {
    gemel__progress("gemel bench: gpu, %s", cases[k].name);
    if (gemel__bench_wanted(b, cases[k].name)) {
      status = run_case(b, &cases[k]);
    }
  }
  return status;
}
#else
int gemel__bench_gpu(gemel__bench *b) {
  return gemel__complain("bench: this program knows no %s", b->suite);
}
#endif
