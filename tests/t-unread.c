/*
 * Results that nobody reads: of an operation whose record says that its kernels spare them they
 * have no memory, whatever watches the function; of any other they have. The operation here makes
 * three results of one operand: x + 1, x * 2, and NaNs. The harness leaves out results of such an
 * operation, and refutes one that is right only where all are read.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include <gemel/verify.h>
#include "ct.h"
#include "support/graph-text.h"
#include "support/heard.h"
#include "support/listing.h"
#include "support/operation.h"

enum { N = 4096, PARTS = 3 };

static unsigned prepared, ran; /* bits of results without memory, as the kernel found them */

static gemel_status infer(gemel_infer *call) {
  call->n_outputs = PARTS;
  for (int k = 0; k < PARTS; k++) {
    call->outputs[k] = call->inputs[0];
  }
  return GEMEL_OK;
}

static gemel_status prepare(gemel_kernel_call *call) {
  prepared = 0;
  for (int k = 0; k < PARTS && call->unread != NULL; k++) {
    prepared |= (unsigned)call->unread[k] << k;
  }
  return GEMEL_OK;
}

static gemel_status run(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  ran = 0;
  for (int k = 0; k < PARTS; k++) {
    char *out = call->outputs[k].data;
    CT_CHECK((out == NULL) == (call->unread != NULL && call->unread[k]));
    ran |= (unsigned)(out == NULL) << k;
    for (int64_t i = 0; i < x->shape[0] && out != NULL; i++) {
      float from = *(const float *)((const char *)x->data + i * x->strides[0]);
      *(float *)(out + i * call->outputs[k].strides[0]) = k == 0   ? from + 1
                                                          : k == 1 ? from * 2
                                                                   : NAN;
    }
  }
  return GEMEL_OK;
}

static gemel_status register_parts(gemel_context *context, unsigned flags, gemel_error *error) {
  static const gemel_kernel kernels[] = {
      {"first", prepare, run}, {"plain", prepare, run}, {NULL, NULL, NULL}};
  gemel_operation op = {.size = sizeof op,
                        .name = "parts",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .version = 1,
                        .flags = flags,
                        .infer = infer,
                        .kernels = kernels};
  return gemel_register_operation(context, &op, error);
}

static gemel_context *context_with(unsigned flags) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  CT_EQ_INT(register_parts(context, flags, &error), GEMEL_OK);
  return context;
}

/* What is read of the three, and which bits of them are left; the result at x = 3. */
typedef struct reading {
  const char *name, *reads;
  unsigned left;
  float result;
} reading;

static const reading readings[] = {
    {"first", "-a", 6, -4},          {"second", "-b", 5, -6},
    {"two", "a - b", 4, -2},         {"all", "a - b * 0:f32 + where(c < a, c, a)", 0, 8},
    {"result", "b", 5, 6},           {"into_view", "reverse(b, axes = [0])", 5, 6},
    {"as_input", "-(b + x)", 5, -9},
};

typedef struct way {
  const char *name;
  gemel_options options;
} way;

static const way ways[] = {
    {"plainly", {.plain = 1}},
    {"poisoned", {.poison = 1}},
    {"guarded", {.guard = GEMEL_GUARD_NAN, .poison = 1}},
    {"profiled", {.profile = GEMEL_PROFILE_TIMES}},
    {"tuned", {.autotune = 1}},
    {"as_is", {0}},
};

/* Calls the function of GRAPH compiled by OPTIONS; how many bytes it has then. */
static size_t call(const gemel_graph *graph, const gemel_options *options, float result,
                   const char **listing) {
  static float data[N];
  gemel_error error = {0};
  gemel_function *f = gemel_compile(graph, options, &error);
  gemel_tensor *out = NULL, *x;
  size_t bytes = 0;
  for (int k = 0; k < N; k++) {
    data[k] = 3;
  }
  x = gemel_tensor_wrap(GEMEL_F32, 1, (int64_t[]){N}, NULL, data, NULL, NULL, &error);
  for (int again = 0; again < 2 && f != NULL; again++) {
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &out, &error), GEMEL_OK);
    CT_EQ_STR(error.text, "");
    CT_CHECK(out != NULL && ((const float *)gemel_tensor_data(out))[N - 1] == result);
    bytes = gemel_function_bytes(f);
  }
  *listing = f != NULL ? listing_of(f) : NULL;
  gemel_tensor_unref(x);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  return bytes;
}

/* How many bytes the reading R takes in the way W, of an operation with FLAGS. */
static size_t read_so(const reading *r, const way *w, unsigned flags) {
  gemel_context *context = context_with(flags);
  gemel_options options = w->options;
  char text[200], file[200];
  const char *listing;
  unsigned left = flags != 0 ? r->left : 0;
  snprintf(text, sizeof text, "(x: f32[N]) { a, b, c = parts(x) return r = %s }", r->reads);
  gemel_graph *graph = graph_of(context, text);
  snprintf(file, sizeof file, "%s/tuned", ct_scratch());
  options.size = sizeof options;
  options.as_written = 1;
  options.threads = 1;
  options.autotune_file = file;
  ct_context("%s, %s, flags %u", r->name, w->name, flags);
  size_t bytes = call(graph, &options, r->result, &listing);
  CT_EQ_UINT(prepared, left);
  CT_EQ_UINT(ran, left);
  CT_EQ_INT(times_in(listing, "which nobody reads and has no memory"), __builtin_popcount(left));
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return bytes;
}

static void reads(const void *data) {
  const reading *r = data;
  for (size_t k = 0; k < CT_COUNT(ways); k++) {
    /* a guarded function of which all is computed has NaNs that nobody reads */
    int guarded = ways[k].options.guard != 0;
    size_t spared = guarded && r->left < 4 ? 0 : read_so(r, &ways[k], GEMEL_OP_SPARES_UNREAD);
    size_t all = guarded ? 0 : read_so(r, &ways[k], 0);
    if (!guarded) {
      CT_EQ_UINT(all - spared, N * sizeof(float) * (unsigned)__builtin_popcount(r->left));
    }
  }
}

/* What is guarded against is found in results that somebody reads. */
static void guards(const void *data) {
  gemel_context *context = context_with(GEMEL_OP_SPARES_UNREAD);
  gemel_graph *graph = graph_of(context, "(x: f32[N]) { a, b, c = parts(x) return r = a, s = c }");
  gemel_options options = {.size = sizeof options, .as_written = 1, .guard = GEMEL_GUARD_NAN};
  gemel_error error = {0};
  gemel_function *f = gemel_compile(graph, &options, &error);
  gemel_tensor *x = gemel_tensor_new(GEMEL_F32, 1, (int64_t[]){2}, &error);
  gemel_tensor *out[2] = {NULL, NULL};
  (void)data;
  memset(gemel_tensor_data(x), 0, 2 * sizeof(float));
  CT_EQ_INT(gemel_call(f, 1, &x, 2, out, &error), GEMEL_BAD_VALUE);
  CT_HAS_STR(error.text, "%3, f32[2], has a NaN at [0]");
  gemel_tensor_unref(x);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- In the harness ---- */

/* x + 1 and x * x; the record's data: 1 if the second is wrong where the first isn't read. */
static gemel_status run_two(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int wrong = *(const int *)call->data && call->unread != NULL && call->unread[0];
  for (int k = 0; k < 2; k++) {
    const gemel_view *out = &call->outputs[k];
    for (int64_t i = 0; i < x->shape[0] && out->data != NULL; i++) {
      double from = *(const double *)((const char *)x->data + i * x->strides[0]);
      *(double *)((char *)out->data + i * out->strides[0]) =
          k == 0 ? from + 1 : from * from + wrong;
    }
  }
  return GEMEL_OK;
}

static gemel_status sample_two(gemel_sample *call) {
  int64_t n = 1 + (int64_t)(call->random(call->user) % 3);
  if (call->dtype != GEMEL_F64) {
    return GEMEL_DECLINED;
  }
  call->n_inputs = 1;
  call->inputs[0] = gemel_type_of_shape(call->context, GEMEL_F64, 1, &n);
  call->ranges[0] = GEMEL_RANGE_ANY;
  return gemel_type_is_none(call->inputs[0]) ? GEMEL_NO_MEMORY : GEMEL_OK;
}

static gemel_status build_two(gemel_reference_build *call) {
  gemel_value x = call->inputs[0];
  call->outputs[0] = gemel_add(x, gemel_scalar(x.graph, GEMEL_F64, 1));
  call->outputs[1] = gemel_mul(x, x);
  return GEMEL_OK;
}

static void verified(const void *data) {
  static const gemel_kernel kernels[] = {{"plain", NULL, run_two}, {NULL, NULL, NULL}};
  const int *wrong = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_operation op = {.size = sizeof op,
                        .name = "two",
                        .min_inputs = 1,
                        .max_inputs = 1,
                        .version = 1,
                        .flags = GEMEL_OP_SPARES_UNREAD,
                        .infer = same_type_twice,
                        .sample = sample_two,
                        .kernels = kernels,
                        .data = wrong};
  gemel_reference reference = {.size = sizeof reference, .build = build_two};
  const unsigned tiers =
      1u << GEMEL_TIER_INTEGER | 1u << GEMEL_TIER_FLOAT | 1u << GEMEL_TIER_SPECIAL;
  CT_EQ_INT(gemel_register_operation(context, &op, &error), GEMEL_OK);
  CT_EQ_INT(gemel_verify_reference(context, "two", &reference, &error), GEMEL_OK);
  heard h = hear_operations(
      context, "two",
      (gemel_verify_options){.seed = 1, .instances = 8, .ops = "two", .tiers = tiers});
  CT_CHECK(*wrong ? h.refuted > 0 : h.refuted == 0 && h.passed >= 2);
  CT_CHECK((strstr(h.bad, "some results") != NULL) == (*wrong != 0));
  gemel_context_unref(context);
}

/* ---- Memory ---- */

static int in_little_memory(void *data) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_graph *graph = NULL;
  (void)data;
  if (context != NULL && register_parts(context, GEMEL_OP_SPARES_UNREAD, &error) == GEMEL_OK) {
    static const char text[] = "graph g(x: f32[2]) { a, b, c = parts(x) return r = -b }";
    graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  }
  gemel_tensor *x = graph != NULL ? gemel_tensor_new(GEMEL_F32, 1, (int64_t[]){2}, &error) : NULL;
  gemel_tensor *out = NULL;
  if (x != NULL) {
    memset(gemel_tensor_data(x), 0, 2 * sizeof(float));
    gemel_evaluate(graph, 1, &x, 1, &out, &error);
  }
  gemel_tensor_unref(out);
  gemel_tensor_unref(x);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return error.status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(in_little_memory, NULL) > 50);
}

static const int right = 0, wrong = 1;

static const ct_test tests[] = {
    CT_TEST("verified/right", verified, &right),
    CT_TEST("verified/wrong", verified, &wrong),
    CT_TEST("guards", guards, NULL),
    CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  ct_suite("unread", tests, CT_COUNT(tests));
  for (size_t k = 0; k < CT_COUNT(readings); k++) {
    CT_ADD_TO("unread", "reads", readings[k].name, reads, &readings[k]);
  }
}
