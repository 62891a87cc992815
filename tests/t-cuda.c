/* SPDX-License-Identifier: MIT
 *
 * The device "cuda" on the sim: the whole catalogue gives what the host gives, bit for bit on small
 * integers; what a program does with a device works, and each call asks for as few transfers as it
 * needs. The sim reports whatever its kernels and calls do wrong.
 */
#include <gemel/cuda.h>
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

/* The convolution with the Nth call of CUDA or cuDNN that wants memory refused: the call fails for
 * that or is right, and leaves nothing behind. Returns whether there was such a call. */
static int refused_call(long n) {
  gemel_context *context = context_with_cuda();
  gemel_graph *graph =
      graph_returning(context, "x: f32[2, 4, 6, 5], w: f32[6, 2, 3, 2]", "corr(x, w, groups = 2)");
  gemel_graph *there = moved(context, graph);
  const int64_t x[] = {2, 4, 6, 5}, w[] = {6, 2, 3, 2};
  gemel_tensor *in[] = {small_numbers(x), small_numbers(w)};
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

static void refused_memory(const void *data) {
  long n = 0;
  (void)data;
  while (refused_call(n)) {
    n++;
  }
  printf("  each of %ld calls refused\n", n);
  CT_CHECK(n > 100);
}
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
#ifndef GEMEL_ON_GPU
  tests[n++] = (ct_test)CT_TEST("cudnn/corr", by_cudnn, "corr");
  tests[n++] = (ct_test)CT_TEST("cudnn/corr_grad_weights", by_cudnn, "corr_grad_weights");
  tests[n++] = (ct_test)CT_TEST("cudnn/corr_grad_inputs", by_cudnn, "corr_grad_inputs");
  tests[n++] = (ct_test)CT_TEST("cudnn/refused", refused_memory, NULL);
  tests[n++] = (ct_test)CT_TEST("precisions", precisions, NULL);
#endif
  ct_suite("cuda", tests, n);
}
