/*
 * Kernels that a program registers for operations that exist: each is the one that runs, in a
 * function, where a constant is folded, on a device, in the harness; where it declines, gemel's own
 * does; a wrong one is refuted. Every call that a kernel sees says which operation it computes and
 * on which device.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <gemel/gemel.h>
#include <gemel/verify.h>
#include <math.h>
#include <string.h>
#include "support/heard.h"
#include "support/two-devices.h"

/* ---- Kernels ---- */

static int runs, declined, incomplete;
static gemel_dtype only = GEMEL_F64; /* of operands that the kernels take */

static void look(const gemel_kernel_call *call, const char *name) {
  incomplete += call->operation == NULL || strcmp(call->operation->name, name) != 0 ||
                call->device == NULL || call->device->name == NULL || call->error == NULL ||
                call->data != call->operation->data || call->threads < 1;
}

static gemel_status prepare_max(gemel_kernel_call *call) {
  look(call, "maximum");
  declined += call->inputs[0].dtype != only;
  return call->inputs[0].dtype == only ? GEMEL_OK : GEMEL_DECLINED;
}

/* Where VIEW has what belongs to element I of the result; a size of 1 broadcasts. The devices of
 * this test have memory that can be reached from elsewhere. */
static double *at(const gemel_kernel_call *call, const gemel_view *view, int64_t i) {
  const gemel_device *on = call->device;
  const gemel_view *result = &call->outputs[0];
  char *data = on == &second.record ? guarded_reach(on->user, view->data) : view->data;
  for (int k = result->rank - 1, own = view->rank - 1; own >= 0; k--, own--) {
    data += view->shape[own] == 1 ? 0 : i % result->shape[k] * view->strides[own];
    i /= result->shape[k];
  }
  return (double *)(void *)data;
}

static void maxima(const gemel_kernel_call *call, int nans) {
  int64_t n = 1;
  for (int k = 0; k < call->outputs[0].rank; k++) {
    n *= call->outputs[0].shape[k];
  }
  for (int64_t i = 0; i < n; i++) {
    double x = *at(call, &call->inputs[0], i), y = *at(call, &call->inputs[1], i);
    double larger = x > y ? x : y > x ? y : signbit(x) ? y : x;
    *at(call, &call->outputs[0], i) = nans && (x != x || y != y) ? NAN : larger;
  }
}

static gemel_status run_max(const gemel_kernel_call *call) {
  look(call, "maximum");
  __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
  maxima(call, 1);
  return GEMEL_OK;
}

/* Loses a NaN. */
static gemel_status run_fmax(const gemel_kernel_call *call) {
  maxima(call, 0);
  return GEMEL_OK;
}

static gemel_status run_first(const gemel_kernel_call *call) {
  for (int64_t i = 0; i < call->outputs[0].shape[0]; i++) {
    *at(call, &call->outputs[0], i) = *at(call, &call->inputs[0], i);
  }
  return GEMEL_OK;
}

static const gemel_kernel right = {"my_max", prepare_max, run_max},
                          wrong = {"my_fmax", prepare_max, run_fmax},
                          first = {"my_first", prepare_max, run_first};

static void begin(void) {
  runs = declined = incomplete = 0;
}

static gemel_context *with(const gemel_kernel *kernel) {
  gemel_context *context = gemel_context_new(NULL);
  begin();
  CT_EQ_INT(gemel_register_kernel(context, GEMEL_SPACE_HOST, "maximum", kernel, NULL), GEMEL_OK);
  return context;
}

/* ---- In functions ---- */

static gemel_function *compile(gemel_graph *graph, int plain) {
  gemel_options options = {.size = sizeof options, .plain = plain, .as_written = 1};
  gemel_error problem = {0};
  gemel_function *f = gemel_compile(graph, &options, &problem);
  ct_context("%s", problem.text);
  CT_CHECK(f != NULL);
  return f;
}

static gemel_tensor *vector(double a, double b) {
  int64_t n = 2;
  gemel_tensor *t = gemel_tensor_new(GEMEL_F64, 1, &n, NULL);
  ((double *)gemel_tensor_data(t))[0] = a;
  ((double *)gemel_tensor_data(t))[1] = b;
  return t;
}

static void check_call(gemel_function *f, double a, double b) {
  gemel_tensor *in[2] = {vector(1, -7), vector(-2, 5)}, *out = NULL;
  CT_EQ_INT(gemel_call(f, 2, in, 1, &out, NULL), GEMEL_OK);
  if (out != NULL) {
    CT_CHECK(((double *)gemel_tensor_data(out))[0] == a);
    CT_CHECK(((double *)gemel_tensor_data(out))[1] == b);
  }
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_tensor_unref(out);
}

/* (max(x, y) + 1) * 2, which is otherwise one loop. */
static gemel_graph *chain(gemel_context *context) {
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x = gemel_declare(graph, "x: f64[N]"), y = gemel_declare(graph, "y: f64[N]");
  gemel_value z = gemel_add(gemel_maximum(x, y), gemel_scalar(graph, GEMEL_F64, 1));
  gemel_output(gemel_mul(z, gemel_scalar(graph, GEMEL_F64, 2)), "z");
  return graph;
}

static void function(const void *data) {
  gemel_context *context = with(&right);
  gemel_graph *graph = chain(context);
  gemel_function *f = compile(graph, 0), *plain = compile(graph, 1);
  (void)data;
  check_call(f, 4, 12);
  CT_EQ_INT(runs, 1);
  check_call(plain, 4, 12); /* by gemel's plain kernels */
  CT_EQ_INT(runs, 1);
  CT_EQ_INT(incomplete, 0);
  gemel_function_free(f);
  only = GEMEL_F32;
  f = compile(graph, 0);
  check_call(f, 4, 12);
  CT_EQ_INT(runs, 1);
  CT_CHECK(declined > 0);
  only = GEMEL_F64;
  CT_EQ_INT(gemel_register_kernel(context, GEMEL_SPACE_HOST, "maximum", &first, NULL), GEMEL_OK);
  gemel_function_free(f);
  f = compile(graph, 0);
  check_call(f, 4, -12); /* the last one that was registered comes first */
  gemel_function_free(f);
  gemel_function_free(plain);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Operands that are constants: the kernel computes them when the graph is rewritten. */
static void constants(const void *data) {
  gemel_context *context = with(&right);
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_tensor *a = vector(1, -7), *b = vector(-2, 5), *out = NULL;
  gemel_value z = gemel_maximum(gemel_constant(graph, a), gemel_constant(graph, b));
  gemel_options options = {.size = sizeof options};
  (void)data;
  gemel_output(z, "z");
  gemel_function *f = gemel_compile(graph, &options, NULL);
  CT_CHECK(f != NULL);
  CT_EQ_INT(runs, 1);
  CT_EQ_INT(incomplete, 0);
  CT_EQ_INT(gemel_call(f, 0, NULL, 1, &out, NULL), GEMEL_OK);
  CT_EQ_INT(runs, 1);
  CT_CHECK(out != NULL && ((double *)gemel_tensor_data(out))[1] == 5);
  gemel_tensor_unref(a);
  gemel_tensor_unref(b);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A device computes by a kernel that was registered for its memory space, and the host doesn't. */
static void on_device(const void *data) {
  gemel_context *context = context_with_devices();
  (void)data;
  begin();
  CT_EQ_INT(gemel_register_kernel(context, 2, "maximum", &right, NULL), GEMEL_OK);
  gemel_graph *graph = chain(context), *lifted = LIFT(graph, .space = 2);
  gemel_function *f = compile(graph, 0), *there = compile(lifted, 0);
  check_call(f, 4, 12);
  CT_EQ_INT(runs, 0);
  check_call(there, 4, 12);
  CT_EQ_INT(runs, 1);
  CT_EQ_INT(incomplete, 0);
  gemel_function_free(f);
  gemel_function_free(there);
  gemel_graph_unref(graph);
  gemel_graph_unref(lifted);
  leave(context);
}

/* ---- Packed operands ---- */

static int gaps; /* operands that weren't packed */

static int is_packed(const gemel_view *view) {
  int64_t step = 8;
  for (int k = view->rank; k-- > 0; step *= view->shape[k]) {
    if (view->strides[k] != step) {
      return 0;
    }
  }
  return 1;
}

/* Ignores strides, and asks for scratch memory that it fills. */
static gemel_status prepare_packed(gemel_kernel_call *call) {
  gemel_status status = prepare_max(call);
  call->scratch_bytes = 24;
  return status == GEMEL_OK ? gemel_prepare_packed(call) : status;
}

static double *all_of(const gemel_kernel_call *call, void *data) {
  return call->device == &second.record ? guarded_reach(second.record.user, data) : data;
}

static gemel_status run_packed(const gemel_kernel_call *call) {
  const double *x = all_of(call, call->inputs[0].data), *y = all_of(call, call->inputs[1].data);
  double *z = all_of(call, call->outputs[0].data);
  gaps +=
      !is_packed(&call->inputs[0]) + !is_packed(&call->inputs[1]) + !is_packed(&call->outputs[0]);
  memset(all_of(call, call->scratch), 0xff, 24);
  for (int64_t i = 0; i < 6; i++) {
    z[i] = x[i] >= y[i] ? x[i] : y[i];
  }
  __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
  return GEMEL_OK;
}

static const gemel_kernel packed_kernel = {"my_packed", prepare_packed, run_packed};

static gemel_tensor *matrix(int64_t rows, int64_t columns, double step) {
  int64_t shape[] = {rows, columns};
  gemel_tensor *t = gemel_tensor_new(GEMEL_F64, 2, shape, NULL);
  for (int64_t i = 0; i < rows * columns; i++) {
    ((double *)gemel_tensor_data(t))[i] = step * (double)i;
  }
  return t;
}

/* max(xT, y) of x: 0 1 2 / 3 4 5 and y: 0 2 / 4 6 / 8 10, negated; GRAPH is freed. */
static void check_transposed(gemel_graph *graph) {
  static const double expected[] = {0, 3, 1, 4, 2, 5};
  gemel_function *f = compile(graph, 0);
  gemel_tensor *in[2] = {matrix(2, 3, 1), matrix(3, 2, -2)}, *out = NULL;
  CT_EQ_INT(gemel_call(f, 2, in, 1, &out, NULL), GEMEL_OK);
  CT_CHECK(out != NULL && memcmp(gemel_tensor_data(out), expected, sizeof expected) == 0);
  CT_EQ_INT(runs, 1);
  CT_EQ_INT(gaps, 0);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  gemel_graph_unref(graph);
}

static gemel_graph *transposed(gemel_context *context) {
  gemel_graph *graph = gemel_graph_new(context, NULL);
  gemel_value x = gemel_declare(graph, "x: f64[2, 3]"), y = gemel_declare(graph, "y: f64[3, 2]");
  int64_t order[] = {1, 0};
  gemel_output(gemel_maximum(gemel_dimshuffle(x, 2, order), y), "z");
  return graph;
}

/* A kernel that says so gets packed operands: on the host, and on a device, whose copies they are.
 */
static void packed(const void *data) {
  gemel_context *context = with(&packed_kernel), *devices = context_with_devices();
  (void)data;
  gaps = 0;
  check_transposed(transposed(context));
  begin();
  CT_EQ_INT(gemel_register_kernel(devices, 2, "maximum", &packed_kernel, NULL), GEMEL_OK);
  gemel_graph *graph = transposed(devices);
  check_transposed(LIFT(graph, .space = 2));
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  leave(devices);
}

/* ---- In the harness ---- */

static size_t refuted(gemel_context *context, uint64_t seed) {
  return hear_operations(context, "maximum",
                         (gemel_verify_options){.seed = seed, .instances = 96, .ops = "maximum"})
      .refuted;
}

static void verified(const void *data) {
  gemel_context *good = with(&right), *bad = gemel_context_new(NULL);
  (void)data;
  CT_EQ_UINT(refuted(good, 1), 0);
  CT_CHECK(runs > 100);
  CT_EQ_INT(incomplete, 0);
  CT_EQ_INT(gemel_register_kernel(bad, GEMEL_SPACE_HOST, "maximum", &wrong, NULL), GEMEL_OK);
  for (uint64_t seed = 1; seed <= 5; seed++) {
    CT_CHECK(refuted(bad, seed) > 0);
  }
  gemel_context_unref(good);
  gemel_context_unref(bad);
}

/* What a kernel is shown when it is judged is complete too; and the one that was judged is the one
 * that runs once it is installed. */
static void judged(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  (void)data;
  begin();
  heard h = hear_kernel(context, "judged", "maximum", &right,
                        (gemel_verify_options){.instances = 12, .in_process = 1});
  CT_EQ_UINT(h.refuted, 0);
  CT_CHECK(runs > 0);
  CT_EQ_INT(incomplete, 0);
  CT_EQ_INT(gemel_register_kernel(context, GEMEL_SPACE_HOST, "maximum", &right, NULL), GEMEL_OK);
  gemel_graph *graph = chain(context);
  gemel_function *f = compile(graph, 0);
  begin();
  check_call(f, 4, 12);
  CT_EQ_INT(runs, 1);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Errors ---- */

static void refused(const void *data) {
  static const gemel_kernel nameless = {NULL, NULL, run_max}, idle = {"idle", NULL, NULL};
  gemel_context *context = with(&right);
  gemel_error e = {0};
  (void)data;
  CT_EQ_INT(gemel_register_kernel(NULL, 0, "maximum", &right, &e), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_kernel(context, 0, NULL, &right, &e), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_kernel(context, 0, "maximum", NULL, &e), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_kernel(context, 0, "maximum", &nameless, &e), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_kernel(context, 0, "maximum", &idle, &e), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_kernel(context, 0, "maximum", &right, &e), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(e.text, "maximum has a kernel called my_max already");
  CT_EQ_INT(gemel_register_kernel(context, 0, "input", &right, &e), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_kernel(context, 0, "maxim", &right, &e), GEMEL_NOT_FOUND);
  CT_HAS_STR(e.text, "maxim");
  CT_EQ_INT(gemel_register_kernel(context, 7, "maximum", &right, &e), GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_register_kernel(context, -1, "maximum", &right, &e), GEMEL_NOT_FOUND);
  gemel_context_unref(context);
}

static int register_one(void *data) {
  gemel_error e = {0};
  gemel_context *context = gemel_context_new(&e);
  gemel_status status = GEMEL_NO_MEMORY;
  (void)data;
  if (context != NULL) {
    status = gemel_register_kernel(context, 0, "maximum", &right, &e);
  }
  gemel_context_unref(context);
  return status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(register_one, NULL) > 0);
}

static const ct_test tests[] = {
    CT_TEST("function", function, NULL), CT_TEST("constants", constants, NULL),
    CT_TEST("packed", packed, NULL),     CT_TEST("device", on_device, NULL),
    CT_TEST("verified", verified, NULL), CT_TEST("judged", judged, NULL),
    CT_TEST("refused", refused, NULL),   CT_TEST("memory", memory, NULL),
};

void ct_register(void) {
  ct_suite("installed", tests, CT_COUNT(tests));
}
