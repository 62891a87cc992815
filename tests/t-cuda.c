/* SPDX-License-Identifier: MIT
 *
 * The device "cuda" on the sim: the whole catalogue gives what the host gives, bit for bit on small
 * integers; what a program does with a device works, and each call asks for as few transfers as it
 * needs. The sim reports whatever its kernels and calls do wrong.
 */
#include <cuda_runtime_api.h>
#include <gemel/cuda.h>
#include <gemel/dlpack.h>
#include <gemel/lift.h>
#include <stdlib.h>
#include "core/graph.h"
#include "instances/instance.h"
#include "run.h"
#include "support/graph-text.h"
#include "support/on-device.h"
#include "support/on-gpu.h"

/* Each row of lower.def is a name here; an operation of ops.def that has none isn't there to be
 * named below. */
enum {
#define LOWER(operation, kernels) HAS_ROW_##operation,
#define HOST(operation, why) HAS_ROW_##operation,
#define LOWER_SCALARS(kernels)
#include "lower.def"
#undef LOWER
#undef HOST
#undef LOWER_SCALARS
  ROWS
};
#define OP(name, ...) HAS_ROW_##name,
static const unsigned char operations[] = {
#include "ops/ops.def"
};
#undef OP
_Static_assert(sizeof operations == ROWS, "lower.def has one row for each operation");

static gemel_cuda *cuda;

static gemel_context *context_with_cuda(void) {
  gemel_context *context = gemel_context_new(&error);
  cuda = gemel_cuda_open(0, &error);
  ct_context("%s", error.text);
  CT_CHECK(context != NULL && cuda != NULL);
  CT_EQ_INT(gemel_register_device(context, 1, gemel_cuda_device(cuda), &error), GEMEL_OK);
  return context;
}

/* Nothing may be left behind, and nothing have been done wrong. */
static void leave(gemel_context *context) {
  gemel_context_unref(context);
  gemel_cuda_close(cuda);
  gemel__sim_alive alive = sim_living();
  CT_EQ_INT(sim_reports(), 0);
  CT_EQ_INT(alive.allocations, 0);
  CT_EQ_INT(alive.pinned + alive.streams + alive.events + alive.graphs, 0);
  CT_EQ_INT(alive.libraries + alive.handles + alive.programs, 0);
  sim_forget();
}

/* ---- The catalogue ---- */

static void catalogue(const void *data) {
  static const gemel__fill special[] = {GEMEL__FILL_SPECIAL, GEMEL__FILL_NAN};
  gemel_context *context = context_with_cuda();
  (void)operations;
  const char *name = data;
  const gemel_operation *record = gemel_operation_find(context, name);
  int wrong, compared = compare_operation(context, record, GEMEL__FILL_INTEGERS, 7, &wrong);
  ct_context("%s: %s", name, error.text);
  CT_EQ_INT(wrong, 0);
  CT_CHECK(compared >= 3);
  for (size_t k = 0; k < CT_COUNT(special) && is_exact(record); k++) {
    compared += compare_operation(context, record, special[k], 7, &wrong);
    ct_context("%s of special values: %s", name, error.text);
    CT_EQ_INT(wrong, 0);
  }
  gemel_cuda_counts counts = {.size = sizeof counts};
  CT_EQ_INT(gemel_cuda_counted(cuda, &counts), GEMEL_OK);
  ct_context("%s: %zu graphs of %d instances", name, counts.graphs, compared);
  /* Of three calls two launch a recording, unless there is nothing to do, as without elements. */
  CT_CHECK(counts.graphs > (size_t)compared);
  leave(context);
}

/* ---- Sorts ---- */

/* Lanes that are too long for a block: one, several, and several that lie across, of few different
 * numbers, of special ones, and of one bit or more in each. */
static void long_lanes(const void *data) {
  static const char *const lanes[][2] = {{"x: %s[2500]", "argsort(x, axis = 0%s)"},
                                         {"x: %s[3, 1100]", "argsort(x, axis = 1%s)"},
                                         {"x: %s[1, 1100, 3]", "argsort(x, axis = 1%s)"}};
  static const gemel__fill fills[] = {GEMEL__FILL_INTEGERS, GEMEL__FILL_SPECIAL, GEMEL__FILL_NAN,
                                      GEMEL__FILL_FULL};
  gemel_context *context = context_with_cuda();
  gemel__random random;
  int compared = 0, wrong = 0;
  gemel__random_seed(&random, 1);
  for (size_t k = 0; k < 2 * CT_COUNT(lanes); k++) {
    char inputs[40], expression[60];
    gemel__instance instance;
    snprintf(inputs, sizeof inputs, lanes[k / 2][0], (const char *)data);
    snprintf(expression, sizeof expression, lanes[k / 2][1], k % 2 ? ", descending = 1" : "");
    gemel_graph *graph = graph_returning(context, inputs, expression);
    CT_EQ_INT(gemel__instance_of_graph(&instance, graph, NULL, &error), GEMEL_OK);
    (void)cudaSetDevice(1000); /* an error that nobody has asked for when CUB is called */
    for (size_t fill = 0; fill < CT_COUNT(fills); fill++) {
      compared += both(context, &instance, fills[fill], &random, &wrong);
      ct_context("%s of %s: %s", expression, inputs, error.text);
      CT_EQ_INT(wrong, 0);
    }
    gemel__instance_clear(&instance);
    gemel_graph_unref(graph);
  }
  CT_EQ_INT(compared, 2 * CT_COUNT(lanes) * CT_COUNT(fills));
  leave(context);
}

#ifndef GEMEL_ON_GPU
/* ---- Convolutions by cuDNN ---- */

/* cuDNN computes those that it can, by engines of its heuristics or, where these know none, of its
 * list of others; where it can't be opened, others compute all. */
static void by_cudnn(const void *data) {
  enum { LEAST = 10, ROUNDS = 30 };
  const char *const how[] = {"yes", "fallback", "no"};
  for (size_t k = 0; k < CT_COUNT(how); k++) {
    int without = strcmp(how[k], "no") == 0;
    setenv("GEMEL_SIM_CUDNN", how[k], 1);
    gemel_context *context = context_with_cuda();
    int wrong = 0;
    gemel__sim_count_from_here();
    for (uint64_t round = 0; round < ROUNDS && wrong == 0; round++) {
      compare_operation(context, gemel_operation_find(context, data), GEMEL__FILL_INTEGERS, round,
                        &wrong);
    }
    long convolutions = gemel__sim_counted().convolutions;
    ct_context("%s, cuDNN: %s; %ld convolutions by it; %s", (const char *)data, how[k],
               convolutions, error.text);
    CT_EQ_INT(wrong, 0);
    CT_CHECK(without ? convolutions == 0 : convolutions >= LEAST);
    leave(context);
  }
  unsetenv("GEMEL_SIM_CUDNN");
}

/* A tensor of small numbers, of four axes. */
static gemel_tensor *small_numbers(const int64_t *shape) {
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, 4, shape, &error);
  for (int64_t k = 0; k < gemel_tensor_elements(t); k++) {
    ((float *)gemel_tensor_data(t))[k] = (float)(k * 5 % 7 - 3);
  }
  return t;
}

/* An operation whose calls are refused memory, and the shapes of its operands. */
typedef struct refusal {
  const char *inputs, *expression;
  int64_t shapes[2][4];
  int least; /* so many calls ask for memory */
} refusal;

/* It with the Nth call of CUDA, cuDNN or CUB that wants memory refused: the call fails for that or
 * is right, and leaves nothing behind. Returns whether there was such a call. */
static int refused_call(const refusal *r, long n) {
  gemel_context *context = context_with_cuda();
  gemel_graph *graph = graph_returning(context, r->inputs, r->expression);
  gemel_graph *there = moved(context, graph);
  gemel_tensor *in[] = {small_numbers(r->shapes[0]), small_numbers(r->shapes[1])};
  gemel_tensor *wanted[1] = {NULL}, *got[1] = {NULL};
  CT_EQ_INT(call(graph, 1, in, wanted), GEMEL_OK);
  gemel__sim_refuse(n);
  gemel_status status = call(there, 0, in, got);
  int was = gemel__sim_refuse(-1);
  ct_context("call %ld refused: %s", n, error.text);
  CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY));
  CT_CHECK(status != GEMEL_OK || different_bits(wanted, got, 1) == 0);
  gemel_tensor_unref(wanted[0]);
  gemel_tensor_unref(got[0]);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_graph_unref(there);
  gemel_graph_unref(graph);
  leave(context);
  return was;
}

/* The product of X and 1 with PRECISION, as the function's option or the device's own. */
static double multiplied(float x, gemel_precision precision, int by_device) {
  gemel_context *context = context_with_cuda();
  gemel_graph *graph = graph_returning(context, "x: f32[1, 1], y: f32[1, 1]", "dot(x, y)");
  gemel_graph *there = moved(context, graph);
  const int64_t shape[] = {1, 1};
  gemel_tensor *in[2], *out[1] = {NULL};
  for (int k = 0; k < 2; k++) {
    in[k] = gemel_tensor_new(GEMEL_F32, 2, shape, &error);
    *(float *)gemel_tensor_data(in[k]) = k == 0 ? x : 1;
  }
  gemel_options options = {.size = sizeof options,
                           .as_written = 1,
                           .matmul_precision = by_device ? GEMEL_PRECISION_IEEE : precision};
  CT_EQ_INT(gemel_cuda_set_precision(cuda, by_device ? precision : GEMEL_PRECISION_IEEE), GEMEL_OK);
  gemel_function *f = gemel_compile(there, &options, &error);
  CT_EQ_INT(gemel_call(f, 2, in, 1, out, &error), GEMEL_OK);
  double product = *(float *)gemel_tensor_data(out[0]);
  gemel_function_free(f);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_graph_unref(there);
  gemel_graph_unref(graph);
  leave(context);
  return product;
}

/* Of 1 + 2^-10 a bf16 has 1, and of 1 + 2^-13 a TF32. */
static void precisions(const void *data) {
  (void)data;
  for (int by_device = 0; by_device < 2; by_device++) {
    CT_CHECK(multiplied(1 + 0x1p-13f, GEMEL_PRECISION_IEEE, by_device) == 1 + 0x1p-13);
    CT_CHECK(multiplied(1 + 0x1p-13f, GEMEL_PRECISION_TF32, by_device) == 1);
    CT_CHECK(multiplied(1 + 0x1p-10f, GEMEL_PRECISION_TF32, by_device) == 1 + 0x1p-10);
    CT_CHECK(multiplied(1 + 0x1p-10f, GEMEL_PRECISION_BF16, by_device) == 1);
  }
  CT_EQ_INT(gemel_cuda_set_precision(NULL, GEMEL_PRECISION_TF32), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(gemel_precision_name(GEMEL_PRECISION_BF16), "bf16");
  CT_CHECK(gemel_precision_name(GEMEL_PRECISION_COUNT) == NULL);
}

enum { ELEMENTS = 1000 };

/* A tensor of ones on the device. */
static gemel_tensor *ones_there(void) {
  const int64_t shape[] = {ELEMENTS};
  gemel_tensor *here = gemel_tensor_new(GEMEL_F32, 1, shape, &error);
  for (int k = 0; k < ELEMENTS; k++) {
    ((float *)gemel_tensor_data(here))[k] = 1;
  }
  gemel_tensor *there = gemel_tensor_transfer(here, gemel_cuda_device(cuda), &error);
  gemel_tensor_unref(here);
  return there;
}

/* Whether STREAM copies ELEMENTS elements that are WANTED from DATA. */
static int copies(cudaStream_t stream, const void *data, float wanted) {
  float *here = NULL;
  CT_EQ_INT(cudaHostAlloc((void **)&here, ELEMENTS * sizeof *here, cudaHostAllocDefault), 0);
  cudaMemcpyAsync(here, data, ELEMENTS * sizeof *here, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  int right = here[0] == wanted && here[ELEMENTS - 1] == wanted;
  cudaFreeHost(here);
  return right;
}

/* The device works in the program's stream, so what the program asks of that is in order with a
 * call's work, which nobody has waited for; another stream isn't. */
static void streams(const void *data) {
  cudaStream_t stream = NULL, other = NULL;
  (void)data;
  CT_EQ_INT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), 0);
  CT_EQ_INT(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), 0);
  gemel_context *context = gemel_context_new(&error);
  cuda = gemel_cuda_open_on(0, stream, &error);
  CT_EQ_INT(gemel_register_device(context, 1, gemel_cuda_device(cuda), &error), GEMEL_OK);
  gemel_graph *graph = graph_returning(context, "x: f32[1000]@1", "x + x");
  gemel_function *f = gemel_compile(graph, NULL, &error);
  gemel_tensor *in = ones_there(), *out = NULL;
  CT_EQ_INT(gemel_call(f, 1, &in, 1, &out, &error), GEMEL_OK);
  CT_CHECK(copies(stream, gemel_tensor_data(out), 2));
  CT_EQ_INT(sim_reports(), 0);
  CT_EQ_INT(gemel_call(f, 1, &in, 1, &out, &error), GEMEL_OK);
  copies(other, gemel_tensor_data(out), 2);
  CT_CHECK(gemel__sim_reports_of(GEMEL__SIM_MISSING_WAIT) > 0);
  gemel__sim_forget();
  gemel_tensor_unref(in);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  gemel_cuda_close(cuda);
  CT_EQ_INT(cudaStreamDestroy(stream), 0); /* it is still there */
  CT_EQ_INT(cudaStreamDestroy(other), 0);
  CT_EQ_INT(sim_reports(), 0);
}

/* Memory of the device goes to DLPack and comes back, to the device that it lies on alone. */
static void lent(const void *data) {
  gemel_context *context = context_with_cuda();
  gemel_cuda *second = gemel_cuda_open(1, &error);
  (void)data;
  gemel_tensor *x = ones_there();
  const void *elements = gemel_tensor_data(x);
  gemel_dlpack *lent = gemel_tensor_to_dlpack(x, 0, &error);
  gemel_tensor_unref(x);
  CT_EQ_INT(lent->tensor.device_type, GEMEL_DLPACK_CUDA);
  CT_EQ_INT(lent->tensor.device_id, 0);
  CT_CHECK(lent->tensor.data == elements);
  CT_CHECK(gemel_tensor_from_dlpack(lent, &error) == NULL && error.status == GEMEL_UNSUPPORTED);
  CT_CHECK(gemel_tensor_from_dlpack_on(gemel_cuda_device(second), lent, &error) == NULL &&
           error.status == GEMEL_UNSUPPORTED);
  CT_CHECK(gemel_tensor_from_dlpack_on(NULL, lent, &error) == NULL &&
           error.status == GEMEL_BAD_ARGUMENT);
  gemel_tensor *taken = gemel_tensor_from_dlpack_on(gemel_cuda_device(cuda), lent, &error);
  gemel_tensor *back = gemel_tensor_transfer(taken, gemel_host(), &error);
  CT_CHECK(gemel_tensor_device(taken) == gemel_cuda_device(cuda));
  CT_CHECK(((float *)gemel_tensor_data(back))[ELEMENTS - 1] == 1);
  gemel_tensor_unref(back);
  gemel_tensor_unref(taken);
  gemel_cuda_close(second);
  leave(context);
}

static void refused_memory(const void *data) {
  const refusal *r = data;
  long n = 0;
  while (refused_call(r, n)) {
    n++;
  }
  printf("  each of %ld calls refused\n", n);
  CT_CHECK(n >= r->least);
}

static const refusal of_corr = {"x: f32[2, 4, 6, 5], w: f32[6, 2, 3, 2]",
                                "corr(x, w, groups = 2)",
                                {{2, 4, 6, 5}, {6, 2, 3, 2}},
                                100};
static const refusal of_argsort = {
    "x: f32[1, 2, 1, 1100]", "argsort(x, axis = 3)", {{1, 2, 1, 1100}, {1, 1, 1, 1}}, 10};
#endif

/* Holds the operations' names until the end. */
static gemel_context *names;

static void release_names(void) {
  gemel_context_unref(names);
}

void ct_register(void) {
  static ct_test tests[200];
  static char titles[200][60];
  size_t n = 0;
  need_gpu();
  names = gemel_context_new(&error);
  atexit(release_names);
  for (size_t k = 0; k < gemel_operation_count(names); k++) {
    const gemel_operation *record = gemel_operation_at(names, k);
    if (record->max_inputs != 0 && record->min_inputs != 0 && strcmp(record->name, "invoke") != 0) {
      snprintf(titles[n], sizeof titles[n], "catalogue/%s", record->name);
      tests[n] = (ct_test)CT_TEST(titles[n], catalogue, record->name);
      n++;
    }
  }
  for (int dtype = 0; dtype < GEMEL_DTYPE_COUNT; dtype++) {
    const char *name = gemel_dtype_name((gemel_dtype)dtype);
    snprintf(titles[n], sizeof titles[n], "sorts/%s", name);
    tests[n] = (ct_test)CT_TEST(titles[n], long_lanes, name);
    n++;
  }
#ifndef GEMEL_ON_GPU
  tests[n++] = (ct_test)CT_TEST("cudnn/corr", by_cudnn, "corr");
  tests[n++] = (ct_test)CT_TEST("cudnn/corr_grad_weights", by_cudnn, "corr_grad_weights");
  tests[n++] = (ct_test)CT_TEST("cudnn/corr_grad_inputs", by_cudnn, "corr_grad_inputs");
  tests[n++] = (ct_test)CT_TEST("cudnn/refused", refused_memory, &of_corr);
  tests[n++] = (ct_test)CT_TEST("sorts/refused", refused_memory, &of_argsort);
  tests[n++] = (ct_test)CT_TEST("precisions", precisions, NULL);
  tests[n++] = (ct_test)CT_TEST("streams", streams, NULL);
  tests[n++] = (ct_test)CT_TEST("lent", lent, NULL);
#endif
  ct_suite("cuda", tests, n);
}
