/*
 * What a compiled function tells about itself: the listing of a plan.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run.h"

#include <gemel/text.h>
#include "core/alloc.h"
#include "text/write.h"
#include "support/graph-text.h"
#include "support/small-stack.h"

/* TEXT compiled as it is written, for one thread. */
static gemel_function *function_of(gemel_context *context, const char *text) {
  gemel_graph *graph = parse(context, text);
  gemel_function *f = compile(graph, 1, 0);
  gemel_graph_unref(graph);
  return f;
}

/* A call with these inputs; its outputs go. */
static gemel_status call(gemel_function *f, gemel_tensor *const *inputs, size_t n_outputs) {
  gemel_tensor *outputs[4] = {NULL, NULL, NULL, NULL};
  gemel_status status = gemel_call(f, inputs, outputs, &error);
  for (size_t k = 0; k < n_outputs; k++)
    gemel_tensor_unref(outputs[k]);
  return status;
}

static gemel_tensor *matrix(int64_t rows, int64_t columns, float first) {
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, 2, (const int64_t[]){rows, columns}, &error);
  for (int64_t k = 0; k < rows * columns; k++)
    ((float *)gemel_tensor_data(t))[k] = first + 0.125f * (float)k;
  return t;
}

/* ---- Listing ---- */

/* What F's listing is, NUL-terminated. */
static char *listing(const gemel_function *f, gemel__text_memory *memory) {
  memset(memory, 0, sizeof *memory);
  CT_EQ_INT(gemel_function_print(f, gemel__memory_write, memory, &error), GEMEL_OK);
  gemel__memory_write(memory, "", 1);
  return memory->bytes;
}

static const char network[] = "graph f(x: f32[N, 3], w: f32[3, 4]) {\n"
                              "  h = tanh(dot(x, w) * 2:f32 + 1:f32)\n"
                              "  t = dimshuffle(h, order = [1, 0])\n"
                              "  k = dot(t, x)\n"
                              "  return y = exp(k) + k, s = sum(h, axes = [0]), z = x\n"
                              "}\n";

static const char network_listing[] =
    "inputs:\n"
    "       %0 = x: f32[N, 3]\n"
    "       %1 = w: f32[3, 4]\n"
    "constants and views, which need no work:\n"
    "       %3 = 2:f32  # test:2\n"
    "       %5 = 1:f32  # test:2\n"
    "       %8 = dimshuffle(%7): f32[4, N]  # test:3\n"
    "instructions, 256 bytes of intermediate results (384 if none shared a place):\n"
    "   0 kernel plain; declined: library\n"
    "       %2 = dot(%0, %1): f32[5, 4] -> host arena + 0  # test:2\n"
    "   1 loop of 3 over [5, 4], 1 thread\n"
    "       %4 = mul(%2, %3)  # test:2\n"
    "       %6 = add(%4, %5)  # test:2\n"
    "       %7 = tanh(%6): f32[5, 4] -> host arena + 0, in place of %2  # test:2\n"
    "   2 kernel plain; declined: library\n"
    "       %9 = dot(%8, %0): f32[4, 3] -> host arena + 128  # test:4\n"
    "   3 kernel blocks; 64 bytes of scratch\n"
    "       %12 = sum(%7): f32[4] -> output s  # test:5\n"
    "   4 loop of 2 over [4, 3], 1 thread\n"
    "       %10 = exp(%9)  # test:5\n"
    "       %11 = add(%10, %9): f32[4, 3] -> output y  # test:5\n"
    "   5 result of 60 bytes\n"
    "       %0 -> output z\n";

static void lists(const void *data) {
  gemel_context *context = context_new();
  gemel_function *f = function_of(context, network);
  gemel_tensor *in[] = {matrix(5, 3, 0), matrix(3, 4, -1)};
  gemel__text_memory memory = {0};
  (void)data;
  CT_EQ_INT(gemel_function_print(f, gemel__memory_write, &memory, &error), GEMEL_NOT_FOUND);
  CT_EQ_INT(call(f, in, 3), GEMEL_OK);
  CT_EQ_STR(listing(f, &memory), network_listing);
  gemel__free(memory.bytes, memory.capacity);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* A place that served another value before is said. */
static void lists_reuse(const void *data) {
  gemel_context *context = context_new();
  gemel_function *f = function_of(context, "graph f(x: f32[8]) {\n"
                                           "  a = softmax(x)\n"
                                           "  b = softmax(a)\n"
                                           "  c = softmax(b)\n"
                                           "  return y = softmax(c)\n"
                                           "}\n");
  gemel_tensor *in = vector_of(GEMEL_F32, 8, 1);
  gemel__text_memory memory;
  (void)data;
  CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
  const char *text = listing(f, &memory);
  CT_HAS_STR(text, "128 bytes of intermediate results (192 if none shared a place)");
  CT_HAS_STR(text, "%3 = softmax(%2): f32[8] -> host arena + 0, where %1 was  # test:4\n");
  gemel__free(memory.bytes, memory.capacity);
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_context_unref(context);
}

/* What was planned for a size that a call saw stands behind the rest. */
static void lists_sizes(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value n = gemel_declare(g, "n: i64[]"), twice = gemel_add(n, n);
  gemel_output(gemel_arange(g, gemel_dim_of(twice)), "r");
  gemel_function *f = compile(g, 1, 0);
  gemel_tensor *in = gemel_tensor_new(GEMEL_I64, 0, NULL, &error);
  gemel__text_memory memory;
  (void)data;
  for (int64_t size = 3; size < 6; size++) {
    char wanted[80];
    *(int64_t *)gemel_tensor_data(in) = size;
    CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
    snprintf(wanted, sizeof wanted, "planned for %%1 being %d, ", (int)size * 2);
    const char *text = listing(f, &memory);
    CT_HAS_STR(text, wanted);
    snprintf(wanted, sizeof wanted, "arange(%%1): i64[%d] -> output r", (int)size * 2);
    CT_HAS_STR(text, wanted);
    gemel__free(memory.bytes, memory.capacity);
  }
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* Runs on a stack of 256 KiB. */
static void *list_deep(void *data) {
  int n = *(int *)data;
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value x = f32_input(g, "x", NULL, 3), y = x;
  gemel__text_memory memory;
  for (int k = 0; k < n; k++)
    y = k % 2 ? gemel_neg(y) : gemel_reverse(y, 1, (const int64_t[]){0});
  gemel_output(y, "y");
  gemel_function *f = compile(g, 1, 0);
  gemel_tensor *in = vector_of(GEMEL_F32, 3, 1);
  CT_EQ_INT(call(f, &in, 1), GEMEL_OK);
  CT_HAS_STR(listing(f, &memory), " -> output y");
  gemel__free(memory.bytes, memory.capacity);
  gemel_tensor_unref(in);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
  return NULL;
}

static void lists_deep(const void *data) {
  int n = sanitized || valgrind() ? 50000 : 1000000;
  (void)data;
  on_small_stack(list_deep, &n);
}

static const ct_test tests[] = {
    CT_TEST("list", lists, NULL),
    CT_TEST("list/reuse", lists_reuse, NULL),
    CT_TEST("list/sizes", lists_sizes, NULL),
    CT_TEST("list/deep", lists_deep, NULL),
};

void ct_register(void) {
  ct_suite("profile", tests, CT_COUNT(tests));
}
