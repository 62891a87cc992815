/*
 * A second device, whose memory the host can't touch (support/guarded-device.h): the whole
 * catalogue runs on it by transfers and kernels of its own and gives what the host gives, bit for
 * bit; what stays on the device isn't moved; constants go there once; views, run-time sizes, shared
 * variables and refused allocations are as on the host; and what is mixed up is an error that names
 * both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/two-devices.h"

#include "core/graph.h"
#include "instances/instance.h"
#include <gemel/verify.h>
#include "run.h"
#include "support/graph-text.h"
#include "support/heard.h"
#include "support/on-device.h"

/* ---- The catalogue ---- */

/* Operations without operands have nothing to lie on a device. */
static void catalogue(const void *data) {
  gemel_context *context = context_with_devices();
  size_t n = gemel_operation_count(context);
  (void)data;
  for (size_t k = 0; k < n; k++) {
    const gemel_operation *record = gemel_operation_at(context, k);
    if (record->max_inputs == 0 || record->min_inputs == 0 || strcmp(record->name, "argmax") == 0) {
      continue; /* argmax has no kernel there, see missing_kernel */
    }
    int wrong, compared = compare_operation(context, record, GEMEL__FILL_FULL, 7, &wrong);
    ct_context("%s: %s", record->name, error.text);
    CT_EQ_INT(wrong, 0);
    CT_CHECK(compared >= 3 || valgrind());
  }
  leave(context);
}

/* ---- The harness ---- */

/* The harness tries the device of space 1: a kernel there that is wrong is refuted, and by that
 * variant. */
static void harness(const void *data) {
  const int *wrong = data;
  gemel_context *context = context_with_devices();
  device.exchanges = *wrong;
  heard h = hear_operations(
      context, "sub", (gemel_verify_options){.ops = "sub", .tiers = 1u << GEMEL_TIER_INTEGER});
  CT_EQ_INT(h.worst, *wrong ? GEMEL_VERDICT_REFUTED : GEMEL_VERDICT_PASSED);
  CT_CHECK(device.clusters > 0);
  leave(context);
}

/* ---- What stays there ---- */

static gemel_tensor *uploaded(int64_t n, double first) {
  gemel_tensor *here = vector_of(GEMEL_F32, n, first);
  gemel_tensor *there = gemel_tensor_transfer(here, &device.record, &error);
  CT_CHECK(there != NULL && gemel_tensor_device(there) == &device.record);
  gemel_tensor_unref(here);
  return there;
}

static void holds(const gemel_tensor *there, int64_t k, double wanted) {
  gemel_tensor *here = gemel_tensor_transfer(there, gemel_host(), &error);
  CT_REQUIRE(here != NULL);
  CT_CHECK((double)float_at(here, k) == wanted);
  gemel_tensor_unref(here);
}

/* Inputs, outputs and what is between lie on the device: nothing moves and, from the second call
 * on, nothing is allocated. */
static void steady(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, "(x: f32[n]@1, y: f32[n]@1) {\n"
                                         "  return z = sqr(x + y) - y, s = sum(x * y)\n"
                                         "}\n");
  gemel_function *f = compile(graph, 1, 0);
  gemel_tensor *in[2] = {uploaded(100, 1), uploaded(100, 2)}, *out[2] = {NULL, NULL};
  (void)data;
  CT_EQ_INT(gemel_call(f, 2, in, 2, out, &error), GEMEL_OK);
  CT_CHECK(gemel_tensor_device(out[0]) == &device.record);
  size_t moved_before = device.uploads + device.downloads, before = device.allocations;
  CT_EQ_INT(gemel_call(f, 2, in, 2, out, &error), GEMEL_OK);
  CT_EQ_UINT(device.uploads + device.downloads, moved_before);
  CT_EQ_UINT(device.allocations, before);
  holds(out[0], 3, (4.0 + 5.0) * (4.0 + 5.0) - 5.0);
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(in[k]);
    gemel_tensor_unref(out[k]);
  }
  gemel_function_free(f);
  gemel_graph_unref(graph);
  leave(context);
}

/* Numbers of either sign. */
static gemel_tensor *matrix_of(int64_t rows, int64_t columns) {
  const int64_t shape[2] = {rows, columns};
  gemel_tensor *t = gemel_tensor_new(GEMEL_F32, 2, shape, &error);
  CT_CHECK(t != NULL);
  for (int64_t k = 0; k < rows * columns; k++) {
    ((float *)gemel_tensor_data(t))[k] = (float)((k * 7) % 11) / 3 - 1.5f;
  }
  return t;
}

/* Elementwise nodes of one shape are one kernel there: broadcast, transposed and reversed operands,
 * halves that are rounded at each step, results inside, and memory taken over from operands. */
static void clusters(const void *data) {
  gemel_context *context = context_with_devices();
  const char *body =
      "  a = cast(x * 1.1, dtype = f16) * 3 + cast(y, dtype = f16)\n"
      "  b = where(x > y, exp(reverse(x, axes = [0])), dimshuffle(w, order = [1, 0]))\n"
      "  c = cast(a, dtype = f32) + b * sum(x)\n"
      "  d = tanh(c) - sqr(c)\n";
  char here[500], there[600];
  gemel_tensor *in[3], *out[2][3] = {{NULL}};
  (void)data;
  snprintf(here, sizeof here,
           "(x: f32[4, 3], y: f32[3], w: f32[3, 4]) {\n%s  return a = a, c = c, d = d\n}\n", body);
  snprintf(there, sizeof there,
           "(p: f32[4, 3], q: f32[3], r: f32[3, 4]) {\n  x = transfer(p, space = 1)\n"
           "  y = transfer(q, space = 1)\n  w = transfer(r, space = 1)\n%s"
           "  return a = transfer(a, space = 0), c = transfer(c, space = 0), "
           "d = transfer(d, space = 0)\n}\n",
           body);
  in[0] = matrix_of(4, 3), in[1] = vector_of(GEMEL_F32, 3, 0.7), in[2] = matrix_of(3, 4);
  for (int k = 0; k < 2; k++) {
    gemel_graph *graph = graph_of(context, k == 0 ? here : there);
    CT_EQ_INT(call(graph, 0, in, out[k]), GEMEL_OK);
    gemel_graph_unref(graph);
  }
  CT_EQ_UINT(device.clusters, 2);
  CT_EQ_INT(different_bits(out[0], out[1], 3), 0);
  for (int k = 0; k < 3; k++) {
    gemel_tensor_unref(in[k]);
    gemel_tensor_unref(out[0][k]);
    gemel_tensor_unref(out[1][k]);
  }
  leave(context);
}

/* A constant is uploaded when the plan is made, and not at a call. */
static void constants(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph =
      graph_of(context, "(x: f32[3]@1) {\n"
                        "  return z = x * transfer(tensor(f32[3], [1, 2, 3]), space = 1)\n"
                        "}\n");
  gemel_function *f = compile(graph, 1, 0);
  gemel_tensor *x = uploaded(3, 5), *z = NULL;
  (void)data;
  size_t before = device.uploads;
  for (int k = 0; k < 3; k++) {
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &z, &error), GEMEL_OK);
    CT_EQ_UINT(device.uploads, before + 1);
  }
  holds(z, 2, 21);
  gemel_tensor_unref(x);
  gemel_tensor_unref(z);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  leave(context);
}

/* ---- Views, sizes, two devices ---- */

/* Reversed and transposed views on both sides of a transfer, from one device to another, with a
 * start that is read on the host, and an output that is an input as it is. */
static void views(const void *data) {
  static const char text[] =
      "(x: f32[2, 3], k: i64[]) {\n"
      "  there = transfer(reverse(dimshuffle(x, order = [1, 0]), axes = [0]), space = 1)\n"
      "  part = subtensor(there, start = [k, 0], size = [2, 2])\n"
      "  further = transfer(reverse(part, axes = [1]), space = 2)\n"
      "  return z = transfer(dimshuffle(further, order = [1, 0]), space = 0), y = there, x2 = x\n"
      "}\n";
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, text);
  int64_t shape[2] = {2, 3}, start = 1;
  gemel_tensor *in[2], *out[3] = {NULL, NULL, NULL};
  const int *plain = data;
  CT_REQUIRE(graph != NULL);
  gemel_function *f = compile(graph, 1, *plain);
  CT_REQUIRE(f != NULL);
  in[0] = gemel_tensor_new(GEMEL_F32, 2, shape, &error);
  in[1] = gemel_tensor_wrap(GEMEL_I64, 0, NULL, NULL, &start, NULL, NULL, &error);
  for (int k = 0; k < 6; k++) {
    ((float *)gemel_tensor_data(in[0]))[k] = (float)k;
  }
  for (int round = 0; round < 2; round++) {
    /* there is [[2, 5], [1, 4], [0, 3]], and part of it from row START on */
    static const float wanted[2][4] = {{4, 3, 1, 0}, {5, 4, 2, 1}};
    start = 1 - round;
    CT_EQ_INT(gemel_call(f, 2, in, 3, out, &error), GEMEL_OK);
    CT_EQ_MEM(gemel_tensor_data(out[0]), wanted[round], sizeof wanted[round]);
    CT_CHECK(gemel_tensor_device(out[1]) == &device.record);
    holds(out[1], 1, 5);
    CT_CHECK(float_at(out[2], 5) == 5);
  }
  for (int k = 0; k < 3; k++) {
    gemel_tensor_unref(out[k]);
  }
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  leave(context);
}

/* A shared variable lives on the device, and its updates stay there. */
static void states(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, "(state w: f32[4]@1, x: f32[4]@1) {\n"
                                         "  update w = w + x\n"
                                         "  return before = w\n"
                                         "}\n");
  gemel_tensor *x = uploaded(4, 1), *w = uploaded(4, 0), *out = NULL;
  gemel_shared *shared = gemel_shared_new(w, &error);
  gemel_options options = {.size = sizeof options, .threads = 1, .states = &shared, .n_states = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  (void)data;
  CT_REQUIRE(f != NULL);
  size_t before = device.uploads + device.downloads;
  for (int k = 0; k < 3; k++) {
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &out, &error), GEMEL_OK);
  }
  CT_EQ_UINT(device.uploads + device.downloads, before);
  holds(out, 3, 3 + 2 * 4);
  gemel_tensor_unref(out);
  out = gemel_shared_get(shared);
  holds(out, 3, 3 + 3 * 4);
  gemel_tensor_unref(out);
  gemel_tensor_unref(x);
  gemel_tensor_unref(w);
  gemel_function_free(f);
  gemel_shared_unref(shared);
  gemel_graph_unref(graph);
  leave(context);
}

/* Numbers in text and in derivatives lie where they are needed: a gradient on the device, computed
 * there, is that of the host. */
static void gradients(const void *data) {
  static const char *const bodies[] = {
      "sum(tanh(x) * 2 + 1 / (1 + exp(-x)) - where(x > 0.5, sqr(x), 3))",
      "sum(softmax(x) * prod(x)) + max(x) * 0.5", "sum(pad(x, 1, low = [1], high = [2]) * 3)"};
  gemel_context *context = context_with_devices();
  (void)data;
  for (size_t k = 0; k < CT_COUNT(bodies); k++) {
    gemel_tensor *in = vector_of(GEMEL_F32, 6, 0.25), *out[2] = {NULL, NULL};
    for (int there = 0; there < 2; there++) {
      char text[300];
      snprintf(text, sizeof text, "(x: f32[6]%s) { return y = %s }", there ? "@1" : "", bodies[k]);
      gemel_graph *g = graph_of(context, text);
      gemel_value y = gemel_graph_output(g, 0), x = gemel_graph_input(g, 0), slope;
      CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &slope, &error), GEMEL_OK);
      gemel_output(slope, "slope");
      gemel_function *f = compile(g, 1, 1);
      gemel_tensor *mine = gemel_tensor_transfer(in, there ? &device.record : gemel_host(), NULL);
      gemel_tensor *both[2] = {NULL, NULL};
      ct_context("%s", bodies[k]);
      CT_EQ_INT(gemel_call(f, 1, &mine, 2, both, &error), GEMEL_OK);
      out[there] = gemel_tensor_transfer(both[1], gemel_host(), NULL);
      gemel_tensor_unref(mine);
      gemel_tensor_unref(both[0]);
      gemel_tensor_unref(both[1]);
      gemel_function_free(f);
      gemel_graph_unref(g);
    }
    CT_EQ_MEM(gemel_tensor_data(out[0]), gemel_tensor_data(out[1]), 6 * sizeof(float));
    gemel_tensor_unref(in);
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  leave(context);
}

/* ---- Errors ---- */

static int says(const char *one, const char *other) {
  ct_context("%s", error.text);
  return CT_CHECK(strstr(error.text, one) != NULL && strstr(error.text, other) != NULL);
}

static void mixed(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, "(x: f32[4]@1) { return z = -x }");
  gemel_function *f = compile(graph, 1, 0);
  gemel_tensor *here = vector_of(GEMEL_F32, 4, 0), *there = uploaded(4, 0), *out = NULL;
  gemel_value on_host, on_device = gemel_graph_input(graph, 0), sum;
  (void)data;
  CT_EQ_INT(gemel_call(f, 1, &here, 1, &out, &error), GEMEL_BAD_TYPE);
  says("input x lies on the device guarded", "on host");
  out = here;
  CT_EQ_INT(gemel_call(f, 1, &there, 1, &out, &error), GEMEL_BAD_TYPE);
  says("output z lies on the device guarded", "on host");
  on_host = gemel_scalar(graph, GEMEL_F32, 1);
  sum = gemel_add(on_device, on_host);
  CT_CHECK(gemel_is_null(sum));
  CT_CHECK(strstr(gemel_graph_error(graph)->text, "memory space 1") != NULL);
  gemel_graph_clear_error(graph);
  CT_CHECK(gemel_is_null(gemel_constant(graph, there)));
  CT_CHECK(strstr(gemel_graph_error(graph)->text, "isn't on the host") != NULL);
  gemel_tensor_unref(here);
  gemel_tensor_unref(there);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  leave(context);
}

/* What the device has no kernel for, and a space that has no device. */
static void missing_kernel(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, "(x: f32[4]@1) { return z = argmax(x, axis = 0) }");
  gemel_graph *nowhere = graph_of(context, "(x: f32[4]@3) { return z = -x }");
  gemel_function *f = compile(graph, 1, 0);
  gemel_tensor *there = uploaded(4, 0), *out = NULL;
  (void)data;
  CT_EQ_INT(gemel_call(f, 1, &there, 1, &out, &error), GEMEL_UNSUPPORTED);
  says("argmax(f32[4]@1)", "the device guarded has no kernel");
  CT_CHECK(gemel_compile(nowhere, NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_UNSUPPORTED);
  says("memory space 3", "no device");
  gemel_tensor_unref(there);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_graph_unref(nowhere);
  leave(context);
}

/* New tensors there are zeros, also of shapes without elements; a bad shape is an error. */
static void tensors(const void *data) {
  gemel_context *context = context_with_devices();
  int64_t shape[2] = {2, 3}, none[2] = {0, 3}, bad = -1;
  gemel_tensor *x = gemel_tensor_new_on(&device.record, GEMEL_F32, 2, shape, &error);
  gemel_tensor *empty = gemel_tensor_new_on(&device.record, GEMEL_F32, 2, none, &error), *there;
  (void)data;
  CT_CHECK(x != NULL && gemel_tensor_device(x) == &device.record);
  holds(x, 5, 0);
  there = gemel_tensor_transfer(empty, &second.record, &error);
  CT_CHECK(there != NULL && gemel_tensor_device(there) == &second.record);
  CT_CHECK(gemel_tensor_new_on(&device.record, GEMEL_F32, 1, &bad, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_SHAPE);
  gemel_tensor_unref(x);
  gemel_tensor_unref(empty);
  gemel_tensor_unref(there);
  leave(context);
}

static void registering(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_device incomplete = device.record;
  (void)data;
  incomplete.copy = NULL;
  CT_EQ_INT(gemel_register_device(context, 3, &incomplete, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_device(context, 0, &device.record, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_device(context, 256, &device.record, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_register_device(context, 1, &second.record, &error), GEMEL_BAD_ARGUMENT);
  says("memory space 1", "guarded");
  CT_CHECK(gemel_device_of_space(context, 1) == &device.record);
  CT_CHECK(gemel_device_of_space(context, 3) == NULL);
  CT_CHECK(gemel_device_of_space(context, 0) == gemel_host());
  leave(context);
}

/* Each allocation of the device fails once: the call says so, and the next one is right. */
static void refused(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph =
      graph_of(context, "(x: f32[50]) {\n"
                        "  there = transfer(x, space = 1)\n"
                        "  return z = transfer(sum(exp(there) * there), space = 0)\n"
                        "}\n");
  gemel_tensor *x = vector_of(GEMEL_F32, 50, -50), *out = NULL;
  (void)data;
  for (size_t refuse = 1;; refuse++) {
    gemel_function *f = compile(graph, 1, 0);
    device.allocations = 0;
    device.refuse = refuse;
    gemel_status status = gemel_call(f, 1, &x, 1, &out, &error);
    device.refuse = 0;
    if (status == GEMEL_OK) {
      CT_CHECK(refuse > 1);
      gemel_function_free(f);
      break;
    }
    CT_EQ_INT(status, GEMEL_NO_MEMORY);
    CT_CHECK(out == NULL);
    CT_EQ_INT(gemel_call(f, 1, &x, 1, &out, &error), GEMEL_OK);
    gemel_tensor_unref(out);
    out = NULL;
    gemel_function_free(f);
    CT_EQ_UINT(device.live, 0);
  }
  gemel_tensor_unref(x);
  gemel_tensor_unref(out);
  gemel_graph_unref(graph);
  leave(context);
}

/* A device that fails without a word. */
static gemel_status gives_nothing(void *user, size_t bytes, void **data, gemel_error *e) {
  (void)user, (void)bytes, (void)data, (void)e;
  return *(gemel_status *)user;
}

static void silent(const void *data) {
  static gemel_status answers[] = {GEMEL_NO_MEMORY, GEMEL_DECLINED, GEMEL_DEVICE, GEMEL_OK};
  const int64_t size = 2;
  gemel_device bad = device.record, unfinished = {0};
  gemel_error before = {GEMEL_OK, 0, 0, ""};
  (void)data;
  CT_CHECK(gemel_tensor_new_on(&unfinished, GEMEL_F32, 1, &size, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  for (size_t k = 0; k < CT_COUNT(answers); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_tensor *x = vector_of(GEMEL_F32, 2, 1), *out = NULL;
    bad.allocate = gives_nothing;
    bad.user = &answers[k];
    CT_EQ_INT(gemel_register_device(context, 1, &bad, &error), GEMEL_OK);
    gemel_graph *graph = graph_of(context, "(x: f32[2]) {\n"
                                           "  there = transfer(x, space = 1)\n"
                                           "  return z = transfer(exp(there), space = 0)\n"
                                           "}\n");
    gemel_function *f = compile(graph, 1, 0);
    error = before;
    gemel_status status = gemel_call(f, 1, &x, 1, &out, &error);
    ct_context("%d: %d, %s", (int)answers[k], (int)status, error.text);
    CT_CHECK(status != GEMEL_OK && error.status == status && error.text[0] != '\0');
    error = before;
    CT_CHECK(gemel_tensor_new_on(&bad, GEMEL_F32, 1, &size, &error) == NULL);
    CT_CHECK(error.status != GEMEL_OK && error.text[0] != '\0');
    gemel_function_free(f);
    gemel_graph_unref(graph);
    gemel_tensor_unref(x);
    gemel_context_unref(context);
  }
}

static const int plain = 1, optimized = 0, right = 0, wrong = 1;

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("catalogue", catalogue, NULL),
      CT_TEST("harness", harness, &right),
      CT_TEST("harness/wrong", harness, &wrong),
      CT_TEST("steady", steady, NULL),
      CT_TEST("clusters", clusters, NULL),
      CT_TEST("constants", constants, NULL),
      CT_TEST("views/optimized", views, &optimized),
      CT_TEST("views/plain", views, &plain),
      CT_TEST("states", states, NULL),
      CT_TEST("gradients", gradients, NULL),
      CT_TEST("mixed", mixed, NULL),
      CT_TEST("missing_kernel", missing_kernel, NULL),
      CT_TEST("tensors", tensors, NULL),
      CT_TEST("registering", registering, NULL),
      CT_TEST("refused", refused, NULL),
      CT_TEST("silent", silent, NULL),
  };
  ct_suite("device", tests, CT_COUNT(tests));
}
