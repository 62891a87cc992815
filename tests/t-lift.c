/*
 * The lift: where nodes go and why, what crosses, constants, run-time sizes, where inputs, outputs
 * and shared variables lie, several devices, a program's own operations, errors, refused memory.
 * What lifted graphs compute is for t-lifted.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "support/two-devices.h"

#include "run.h"

#include <time.h>
#include <unistd.h>
#include <gemel/onnx.h>
#include "support/graph-text.h"
#include "support/small-stack.h"
#include "support/operation.h"

/* How many nodes of OPERATION GRAPH has whose result lies in SPACE. */
static size_t count_in(const gemel_graph *graph, const char *operation, int space) {
  size_t n = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value v = {(gemel_graph *)graph, k, 0};
    n += strcmp(gemel_value_operation(v), operation) == 0 &&
         gemel_type_space(gemel_graph_context(graph), gemel_value_type(v)) == space;
  }
  return n;
}

static double seconds_of_thread(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The rows of mul, add, exp and sub, the slowest first: each a node, with transfers of operands
 * that came with two of them. All took some of the AROUND seconds of this thread's processor time.
 */
static void has_rows(const gemel_lift_report *report, double around) {
  static const char *const names[] = {"mul", "add", "exp", "sub"};
  size_t n = gemel_lift_report_row_count(report), created = 0, found = 0;
  double total = 0, before = around;
  CT_EQ_UINT(n, CT_COUNT(names));
  for (size_t k = 0; k < n; k++) {
    const gemel_lift_row *row = gemel_lift_report_row_at(report, k);
    for (size_t j = 0; j < CT_COUNT(names); j++) {
      found += strcmp(row->operation, names[j]) == 0;
    }
    CT_EQ_UINT(row->applied, 1);
    CT_CHECK(row->seconds > 0 && row->seconds <= before);
    before = row->seconds;
    total += row->seconds;
    created += row->created;
  }
  CT_EQ_UINT(found, CT_COUNT(names));
  CT_EQ_UINT(created, 4 + 2);
  CT_CHECK(total <= around);
}

static void becomes(const gemel_graph *lifted, const char *text) {
  gemel_graph *wanted = graph_of(gemel_graph_context(lifted), text);
  same_text(lifted, wanted);
  gemel_graph_unref(wanted);
}

/* ---- Where things go ---- */

/* A value that is read twice there is transferred once; what has no kernel there stays, and says
 * so with its line; constants are transferred as such. */
static void crossing(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, "(x: f32[4], w: f32[4]) {\n"
                                         "  a = x * w + 2\n"
                                         "  return k = argmax(a, axis = 0), z = exp(a) - x\n"
                                         "}\n");
  gemel_lift_report *report = gemel_lift_report_new();
  double began = seconds_of_thread();
  gemel_graph *lifted = LIFT(graph, .report = report);
  double around = seconds_of_thread() - began;
  (void)data;
  becomes(lifted, "(x: f32[4], w: f32[4]) {\n"
                  "  x1 = transfer(x, space = 1)\n"
                  "  a = x1 * transfer(w, space = 1) + transfer(2:f32, space = 1)\n"
                  "  return k = argmax(transfer(a, space = 0), axis = 0), "
                  "z = transfer(exp(a) - x1, space = 0)\n"
                  "}\n");
  const gemel_lift_counts *counts = gemel_lift_report_counts(report);
  CT_EQ_UINT(counts->lifted, 4);
  CT_EQ_UINT(counts->stayed, 1);
  CT_EQ_UINT(counts->uploads, 2);
  CT_EQ_UINT(counts->downloads, 2);
  CT_EQ_UINT(counts->once, 1);
  CT_EQ_UINT(gemel_lift_report_stay_count(report), 1);
  const gemel_lift_stay *stay = gemel_lift_report_stay_at(report, 0);
  CT_EQ_STR(stay->operation, "argmax");
  CT_EQ_INT(stay->reason, GEMEL_LIFT_NO_KERNEL);
  CT_EQ_STR(gemel_lift_reason_meaning(stay->reason), "the device has no kernel for it");
  CT_EQ_INT(stay->where.line, 3);
  CT_CHECK(gemel_lift_report_stay_at(report, 1) == NULL);
  has_rows(report, around);
  gemel_graph *again = LIFT(lifted, .report = report);
  same_text(again, lifted);
  gemel_lift_report_free(report);
  gemel_graph_unref(again);
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* Transfers that the program wrote cancel with those of the lift; what it put on the device stays
 * there, on another device too. */
static void cancelled(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph =
      graph_of(context, "(x: f32[4], y: f32[4]@2) {\n"
                        "  a = transfer(transfer(exp(x), space = 1), space = 0)\n"
                        "  b = sqr(transfer(a, space = 1))\n"
                        "  c = y + transfer(b, space = 2)\n"
                        "  return z = transfer(b, space = 0) + transfer(c, space = 0), c = c\n"
                        "}\n");
  gemel_graph *lifted = LIFT(graph, .space = 1);
  (void)data;
  becomes(lifted,
          "(x: f32[4], y: f32[4]@2) {\n"
          "  b = sqr(exp(transfer(x, space = 1)))\n"
          "  c = y + transfer(b, space = 2)\n"
          "  return z = transfer(b + transfer(transfer(c, space = 0), space = 1), space = 0),"
          " c = c\n"
          "}\n");
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* Constants, ranges and views of them are made where they're read, on both sides if need be. */
static void both_sides(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(
      context,
      "(x: f32[3, 4]) {\n"
      "  ones = broadcast_to(1:f32, shape = [3, 4])\n"
      "  return z = x + ones, k = argmax(ones, axis = 1), r = x * arange(n = 4, dtype = f32)\n"
      "}\n");
  gemel_lift_report *report = gemel_lift_report_new();
  gemel_graph *lifted = LIFT(graph, .report = report);
  (void)data;
  CT_EQ_UINT(count_in(lifted, "broadcast_to", 0), 1);
  CT_EQ_UINT(count_in(lifted, "broadcast_to", 1), 1);
  CT_EQ_UINT(gemel_lift_report_counts(report)->uploads, 1);
  CT_EQ_UINT(gemel_lift_report_counts(report)->once, 2);
  CT_EQ_UINT(gemel_lift_report_counts(report)->downloads, 2);
  gemel_lift_report_free(report);
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* What is read on both sides in several ways crosses once, and as it was before it was broadcast.
 */
static void views(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph =
      graph_of(context, "(x: f32[2, 3], s: f32[]) {\n"
                        "  a = exp(x)\n"
                        "  t = dimshuffle(a, order = [1, 0])\n"
                        "  return t = t, k = argmax(reshape(a, shape = [6]), axis = 0),\n"
                        "    d = dot(a, t) + broadcast_to(s, shape = [2, 2])\n"
                        "}\n");
  gemel_graph *lifted = LIFT(graph, .space = 1);
  (void)data;
  becomes(lifted, "(x: f32[2, 3], s: f32[]) {\n"
                  "  x1 = transfer(x, space = 1)\n"
                  "  s1 = transfer(s, space = 1)\n"
                  "  a = exp(x1)\n"
                  "  here = transfer(a, space = 0)\n"
                  "  t = dimshuffle(here, order = [1, 0])\n"
                  "  there = dimshuffle(a, order = [1, 0])\n"
                  "  k = argmax(reshape(here, shape = [6]), axis = 0)\n"
                  "  d = dot(a, there) + broadcast_to(s1, shape = [2, 2])\n"
                  "  return t = t, k = k, d = transfer(d, space = 0)\n"
                  "}\n");
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

static int stays_for(const gemel_lift_report *report, const char *operation,
                     gemel_lift_reason reason) {
  int found = 0;
  for (size_t k = 0; k < gemel_lift_report_stay_count(report); k++) {
    const gemel_lift_stay *stay = gemel_lift_report_stay_at(report, k);
    found |= strcmp(stay->operation, operation) == 0 && stay->reason == reason;
  }
  return found;
}

/* Sizes are read on the host: scalars that only sizes are made of stay there, a count of what lies
 * on the device crosses. */
static void sizes(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(
      context, "(x: f32[n], mask: bool[n], k: i64[]) {\n"
               "  j = k * k\n"
               "  part = subtensor(x * 2, start = [j], size = [2])\n"
               "  count = sum(mask)\n"
               "  head = subtensor(x, start = [0], size = [count])\n"
               "  steps = arange(n = count, dtype = f32)\n"
               "  return z = exp(part), h = head * head + steps, f = broadcast_to(k, shape = [k])\n"
               "}\n");
  gemel_lift_report *report = gemel_lift_report_new();
  gemel_graph *lifted = LIFT(graph, .report = report);
  (void)data;
  CT_REQUIRE(lifted != NULL);
  CT_CHECK(stays_for(report, "mul", GEMEL_LIFT_MAKES_SIZE));
  CT_CHECK(stays_for(report, "arange", GEMEL_LIFT_READS_SIZE));
  CT_CHECK(stays_for(report, "broadcast_to", GEMEL_LIFT_READS_SIZE));
  CT_EQ_UINT(gemel_lift_report_stay_count(report), 3);
  CT_EQ_UINT(count_in(lifted, "sum", 1), 1);
  CT_EQ_UINT(count_in(lifted, "subtensor", 1), 2);
  gemel_lift_report_free(report);
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* All of those, but of the program's own operation none. */
static const gemel_kernel *all_but_own(void *guarded, const gemel_operation *operation) {
  return strcmp(operation->name, "own") == 0 ? NULL : guarded_kernels(guarded, operation);
}

static void reasons(const void *data) {
  static const gemel_kernel kernels[] = {{"own", NULL, run_nothing}, {NULL, NULL, NULL}};
  gemel_operation own = {.size = sizeof own,
                         .name = "own",
                         .summary = "",
                         .min_inputs = 1,
                         .max_inputs = 1,
                         .version = 1,
                         .infer = same_type,
                         .kernels = kernels};
  gemel_context *context = context_with_devices();
  device.record.kernels = all_but_own;
  CT_EQ_INT(gemel_register_operation(context, &own, &error), GEMEL_OK);
  gemel_graph *body = graph_of(context, "(a: f32[4]) { return b = a * a }");
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = gemel_declare(graph, "x: f32[4]");
  gemel_attr attr = gemel_attr_graph("body", body);
  gemel_value y = gemel_apply(graph, "own", 1, &x, 0, NULL);
  y = gemel_apply(graph, "invoke", 1, &y, 1, &attr);
  gemel_output(gemel_exp(y), "y");
  (void)data;
  for (int k = 0; k < GEMEL_LIFT_STRATEGY_COUNT; k++) {
    gemel_lift_report *report = gemel_lift_report_new();
    gemel_graph *lifted = LIFT(graph, .report = report, .strategy = (gemel_lift_strategy)k);
    CT_CHECK(stays_for(report, "own", GEMEL_LIFT_OWN));
    CT_CHECK(stays_for(report, "invoke", GEMEL_LIFT_BODY));
    gemel_lift_report_free(report);
    gemel_graph_unref(lifted);
  }
  gemel_graph_unref(graph);
  gemel_graph_unref(body);
  leave(context);
}

/* ---- Loops ---- */

/* A loop over x: f32[4], k: i64[], with what its body and its attributes are, and whether it stays.
 */
typedef struct loop_case {
  const char *body, *attributes;
  int stays;
} loop_case;

static const loop_case loops[] = {
    {"return n = exp(s) * x + 2", "", 0},
    {"return n = exp(s) * x + 2", ", reverse = 1", 0},
    {"n, all = scan(s, x, body = graph (s: f32[], x: f32[]) { return n = s - x }, states = 1, "
     "length = 3) return n",
     "", 0},
    {"return n = s + cast(argmax(reshape(x, shape = [1]), axis = 0), dtype = f32)", "", 1},
    {"n, all = scan(s, x, body = graph (s: f32[], x: f32[]) {\n"
     "  return n = s + cast(argmax(reshape(x, shape = [1]), axis = 0), dtype = f32)\n"
     "}, states = 1, length = 3) return n",
     "", 1},
    {"return n = transfer(transfer(s, space = 2), space = 0) + x", "", 1},
    {"i = cast(x, dtype = i64)\n"
     "return n = reshape(subtensor(arange(n = 5, dtype = f32), start = [i], size = [1]), shape = "
     "[])",
     "", 1},
    {"return n = invoke(s, x, body = graph (s: f32[], x: f32[]) { return n = s - x })", "", 1},
    {"return n = s + x, stop = s > 3", ", until = 1", 1},
    {"return n = s + x", ", limited = 1", 1},
};

static gemel_graph *loop_graph(gemel_context *context, const loop_case *c) {
  char text[1000];
  int limited = strstr(c->attributes, "limited") != NULL;
  snprintf(text, sizeof text,
           "(x: f32[4], k: i64[1]) {\n"
           "  i = reshape(k, shape = [])\n"
           "  last, all%s = scan(%s1:f32, x, body = graph (s: f32[], x: f32[]) {\n"
           "    %s\n"
           "  }, states = 1, sequences = 1%s)\n"
           "  return last, all\n"
           "}\n",
           strstr(c->attributes, "until") != NULL ? ", count" : "", limited ? "i, " : "", c->body,
           c->attributes);
  return graph_of(context, text);
}

/* Makes the derivative of the first result by x a result of GRAPH, lifted or not. */
static void add_slope(gemel_graph *graph) {
  gemel_value y = gemel_graph_output(graph, 0), x = gemel_graph_input(graph, 0);
  CT_EQ_INT(gemel_output(gemel_gradient(y, x), "slope"), GEMEL_OK);
}

/* A loop goes to the device if nothing in it is the host's, and it and its derivative, taken there,
 * give what they give here. */
static void loops_whole(const void *data) {
  (void)data;
  for (size_t k = 0; k < CT_COUNT(loops); k++) {
    gemel_context *context = context_with_devices();
    gemel_graph *graph = loop_graph(context, &loops[k]);
    gemel_lift_report *report = gemel_lift_report_new();
    gemel_graph *lifted = LIFT(graph, .report = report);
    ct_context("loop %zu: %s%s", k, loops[k].body, loops[k].attributes);
    CT_EQ_UINT(count_in(lifted, "scan", !loops[k].stays), 1);
    add_slope(graph);
    add_slope(lifted);
    CT_CHECK(!loops[k].stays || stays_for(report, "scan", GEMEL_LIFT_BODY));
    gemel_function *f[2] = {compile(graph, 1, 0), compile(lifted, 1, 0)};
    gemel_tensor *in[2] = {vector_of(GEMEL_F32, 4, 0), vector_of(GEMEL_I64, 1, 2)};
    gemel_tensor *out[2][3] = {{NULL}};
    for (int there = 0; there < 2; there++) {
      CT_EQ_INT(gemel_call(f[there], 2, in, 3, out[there], &error), GEMEL_OK);
    }
    CT_EQ_MEM(gemel_tensor_data(out[0][0]), gemel_tensor_data(out[1][0]), sizeof(float));
    CT_EQ_MEM(gemel_tensor_data(out[0][1]), gemel_tensor_data(out[1][1]), 5 * sizeof(float));
    CT_EQ_MEM(gemel_tensor_data(out[0][2]), gemel_tensor_data(out[1][2]), 4 * sizeof(float));
    for (int j = 0; j < 3; j++) {
      gemel_tensor_unref(out[0][j]);
      gemel_tensor_unref(out[1][j]);
    }
    for (int j = 0; j < 2; j++) {
      gemel_tensor_unref(in[j]);
      gemel_function_free(f[j]);
    }
    gemel_lift_report_free(report);
    gemel_graph_unref(lifted);
    gemel_graph_unref(graph);
    leave(context);
  }
}

/* By the model a loop of a large product pays on the device, and one of small work doesn't. */
static void loops_cheapest(const void *data) {
  static const char *const sizes[] = {"8", "2000"};
  (void)data;
  for (int large = 0; large < 2; large++) {
    gemel_context *context = context_with_devices();
    const char *n = sizes[large];
    char text[400];
    snprintf(text, sizeof text,
             "(h: f32[%s, %s], u: f32[%s, %s]) {\n"
             "  last, all = scan(h, u, body = graph (h: f32[%s, %s], u: f32[%s, %s]) {\n"
             "    return n = dot(h, u)\n"
             "  }, states = 1, length = 500)\n"
             "  return last\n"
             "}\n",
             n, n, n, n, n, n, n, n);
    gemel_graph *graph = graph_of(context, text);
    gemel_graph *lifted = LIFT(graph, .strategy = GEMEL_LIFT_CHEAPEST);
    ct_context("size %s", n);
    CT_EQ_UINT(count_in(lifted, "scan", large), 1);
    gemel_graph_unref(lifted);
    gemel_graph_unref(graph);
    leave(context);
  }
}

/* What a loop on a device can't do there is an error, as is a body that is elsewhere. */
static void loops_misplaced(const void *data) {
  static const char *const wrong[][2] = {
      {"(x: f32[4]@1, s: f32[]@1) {\n"
       "  last, all, count = scan(s, x, body = graph (s: f32[], x: f32[]) {\n"
       "    return n = s + x, stop = s > 3\n"
       "  }, states = 1, sequences = 1, until = 1)\n"
       "  return last\n"
       "}\n",
       "can't work on the device guarded"},
      {"(x: f32[4]@1, s: f32[]@1) {\n"
       "  last, all = scan(s, x, body = graph (s: f32[], x: f32[]) {\n"
       "    return n = s + cast(argmax(reshape(x, shape = [1]), axis = 0), dtype = f32)\n"
       "  }, states = 1, sequences = 1)\n"
       "  return last\n"
       "}\n",
       "not all of its body can be computed on the device guarded"},
  };
  gemel_context *context = context_with_devices();
  (void)data;
  for (size_t k = 0; k < CT_COUNT(wrong); k++) {
    gemel_graph *graph = graph_of(context, wrong[k][0]);
    gemel_function *f = compile(graph, 1, 0);
    gemel_tensor *in[2] = {vector_of(GEMEL_F32, 4, 0), gemel_tensor_new(GEMEL_F32, 0, NULL, NULL)};
    gemel_tensor *there[2], *out = NULL;
    for (int j = 0; j < 2; j++) {
      there[j] = gemel_tensor_transfer(in[j], &device.record, &error);
      gemel_tensor_unref(in[j]);
    }
    CT_EQ_INT(gemel_call(f, 2, there, 1, &out, &error), GEMEL_UNSUPPORTED);
    CT_HAS_STR(error.text, wrong[k][1]);
    gemel_tensor_unref(there[0]);
    gemel_tensor_unref(there[1]);
    gemel_function_free(f);
    gemel_graph_unref(graph);
  }
  gemel_graph *body = graph_of(context, "(s: f32[]@1) { return n = s * s }");
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value s = gemel_declare(graph, "s: f32[]");
  CT_CHECK(gemel_is_null(gemel_scan_with(GEMEL_LIST(gemel_value, s), body, .states = 1,
                                         .length = gemel_dim_constant(context, 2))));
  CT_HAS_STR(gemel_graph_error(graph)->text,
             "the body's input s lies in memory space 1, and operands in 0");
  gemel_graph_unref(graph);
  gemel_graph_unref(body);
  leave(context);
}

static void errors(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, "(x: f32[4]) { return y = exp(x) }");
  gemel_lift_options options = {.size = sizeof options, .space = 3};
  (void)data;
  CT_CHECK(gemel_lift(graph, &options, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  options.space = 0;
  CT_CHECK(gemel_lift(graph, &options, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  options.space = 1;
  options.strategy = GEMEL_LIFT_STRATEGY_COUNT;
  CT_CHECK(gemel_lift(graph, &options, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  CT_CHECK(gemel_lift(graph, NULL, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  options.strategy = GEMEL_LIFT_AGGRESSIVE;
  options.inputs = "x, nobody*";
  CT_CHECK(gemel_lift(graph, &options, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_NOT_FOUND);
  CT_CHECK(strstr(error.text, "nobody") != NULL);
  CT_EQ_STR(gemel_lift_strategy_name(GEMEL_LIFT_CHEAPEST), "cheapest");
  CT_CHECK(gemel_lift_strategy_name(GEMEL_LIFT_STRATEGY_COUNT) == NULL);
  CT_CHECK(gemel_lift_reason_meaning(GEMEL_LIFT_REASON_COUNT) == NULL);
  gemel_graph_unref(graph);
  leave(context);
}

/* ---- Inputs, outputs ---- */

/* What lies there at both ends isn't moved by a call. */
static void ports(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, "(x: f32[4], w: f32[4]) {\n"
                                         "  return y = x * w, z = x + 1, x2 = x\n"
                                         "}\n");
  gemel_graph *lifted = LIFT(graph, .inputs = "x,w", .outputs = "[yz]");
  (void)data;
  becomes(lifted, "(x: f32[4]@1, w: f32[4]@1) {\n"
                  "  x2 = transfer(x, space = 0)\n"
                  "  return y = x * w, z = x + transfer(1:f32, space = 1), x2 = x2\n"
                  "}\n");
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* Constants, ranges and sizes go to the device when a call is planned, and not by each call. */
static void once(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph =
      graph_of(context, "(x: f32[n]) {\n"
                        "  k = arange(n = n, dtype = f32)\n"
                        "  return y = x * k + cast(size(value = n), dtype = f32) + 0.5,\n"
                        "    z = x - arange(n = n + 0 * n, dtype = f32)\n"
                        "}\n");
  gemel_graph *lifted = LIFT(graph, .space = 1);
  gemel_function *f = compile(lifted, 1, 0);
  gemel_tensor *x = vector_of(GEMEL_F32, 5, 1), *out[2] = {NULL, NULL};
  (void)data;
  for (int k = 0; k < 3; k++) {
    size_t before = device.uploads;
    CT_EQ_INT(gemel_call(f, 1, &x, 2, out, &error), GEMEL_OK);
    CT_EQ_UINT(device.uploads - before, k == 0 ? 1 + 3 : 1);
    CT_CHECK(float_at(out[0], 4) == 5.0f * 4 + 5 + 0.5f && float_at(out[1], 3) == 1);
  }
  gemel_tensor_unref(x);
  gemel_tensor_unref(out[0]);
  gemel_tensor_unref(out[1]);
  gemel_function_free(f);
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* ---- States ---- */

static const char counting[] = "(state w: f32[4], x: f32[4]) {\n"
                               "  update w = w + x\n"
                               "  return before = w * 1\n"
                               "}\n";

static gemel_function *bound(const gemel_graph *graph, gemel_shared **shared) {
  gemel_options options = {
      .size = sizeof options, .threads = 1, .as_written = 1, .states = shared, .n_states = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_CHECK(f != NULL);
  return f;
}

static float element_of(const gemel_shared *shared) {
  gemel_tensor *value = gemel_shared_get(shared);
  gemel_tensor *here = gemel_tensor_transfer(value, gemel_host(), &error);
  float element = float_at(here, 3);
  gemel_tensor_unref(here);
  gemel_tensor_unref(value);
  return element;
}

/* A lifted state and its update live on the device: the variable goes there with the first call,
 * and comes back for a function of the host's. */
static void states(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, counting), *lifted = LIFT(graph, .states = 1);
  gemel_tensor *x = vector_of(GEMEL_F32, 4, 0), *out = NULL;
  gemel_shared *shared = gemel_shared_new(x, &error);
  gemel_function *there = bound(lifted, &shared), *here = bound(graph, &shared);
  (void)data;
  becomes(lifted, "(state w: f32[4]@1, x: f32[4]) {\n"
                  "  x1 = transfer(x, space = 1)\n"
                  "  update w = w + x1\n"
                  "  return before = transfer(w * transfer(1:f32, space = 1), space = 0)\n"
                  "}\n");
  CT_EQ_INT(gemel_call(there, 1, &x, 1, &out, &error), GEMEL_OK);
  CT_CHECK(element_of(shared) == 6 && float_at(out, 3) == 3);
  size_t up = device.uploads, down = device.downloads;
  for (int k = 0; k < 3; k++) {
    CT_EQ_INT(gemel_call(there, 1, &x, 1, &out, &error), GEMEL_OK);
  }
  CT_EQ_UINT(device.uploads - up, 3);
  CT_EQ_UINT(device.downloads - down, 3);
  gemel_tensor *value = gemel_shared_get(shared);
  CT_CHECK(gemel_tensor_device(value) == &device.record && element_of(shared) == 15);
  gemel_tensor_unref(value);
  for (int k = 0; k < 4; k++) {
    CT_EQ_INT(gemel_call(k % 2 == 0 ? here : there, 1, &x, 1, &out, &error), GEMEL_OK);
    CT_CHECK(float_at(out, 3) == (float)(15 + 3 * k));
  }
  device.allocations = 0;
  device.refuse = 1;
  CT_EQ_INT(gemel_call(here, 1, &x, 1, &out, &error),
            GEMEL_OK); /* the host asks for nothing there */
  CT_EQ_INT(gemel_call(there, 1, &x, 1, &out, &error), GEMEL_NO_MEMORY);
  device.refuse = 0;
  CT_CHECK(element_of(shared) == 30);
  CT_EQ_INT(gemel_call(there, 1, &x, 1, &out, &error), GEMEL_OK);
  CT_CHECK(element_of(shared) == 33);
  gemel_tensor_unref(out);
  gemel_tensor_unref(x);
  gemel_function_free(there);
  gemel_function_free(here);
  gemel_shared_unref(shared);
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* gemel_compile lifts what it has rewritten; an error of the lift is its own. */
static void compiled(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, counting);
  gemel_tensor *x = vector_of(GEMEL_F32, 4, 0), *out = NULL;
  gemel_shared *shared = gemel_shared_new(x, &error);
  gemel_lift_report *report = gemel_lift_report_new();
  gemel_lift_options lift = {.size = sizeof lift, .space = 2, .states = 1, .report = report};
  gemel_options options = {.size = sizeof options,
                           .threads = 1,
                           .states = &shared,
                           .n_states = 1,
                           .profile = GEMEL_PROFILE_TIMES,
                           .lift = &lift};
  gemel_function *f = gemel_compile(graph, &options, &error);
  (void)data;
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(gemel_call(f, 1, &x, 1, &out, &error), GEMEL_OK);
  CT_CHECK(float_at(out, 3) == 3 && element_of(shared) == 6);
  gemel_tensor *value = gemel_shared_get(shared);
  CT_CHECK(gemel_tensor_device(value) == &second.record);
  CT_EQ_UINT(gemel_lift_report_counts(report)->lifted, 1); /* w * 1 is w */
  gemel_call_profile *profile = gemel_function_profile(f, &error);
  CT_CHECK(gemel_call_profile_summary(profile)->lifting > 0);
  lift.space = 3;
  CT_CHECK(gemel_compile(graph, &options, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_BAD_ARGUMENT);
  gemel_call_profile_free(profile);
  gemel_tensor_unref(value);
  gemel_tensor_unref(out);
  gemel_tensor_unref(x);
  gemel_function_free(f);
  gemel_shared_unref(shared);
  gemel_lift_report_free(report);
  gemel_graph_unref(graph);
  leave(context);
}

enum { TURNS = 200 };

static void *take_turns(void *function) {
  gemel_tensor *x = vector_of(GEMEL_F32, 4, 0), *out = NULL;
  intptr_t failed = 0;
  for (int k = 0; k < TURNS; k++) {
    failed += gemel_call(function, 1, &x, 1, &out, NULL) != GEMEL_OK;
  }
  gemel_tensor_unref(x);
  gemel_tensor_unref(out);
  return (void *)failed;
}

/* Two threads call functions that want a variable in different places: no call is lost. */
static void turns(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = graph_of(context, counting), *lifted = LIFT(graph, .states = 1);
  gemel_tensor *zero = gemel_tensor_new(GEMEL_F32, 1, (int64_t[]){4}, &error);
  gemel_shared *shared = gemel_shared_new(zero, &error);
  gemel_function *f[2] = {bound(lifted, &shared), bound(graph, &shared)};
  pthread_t thread;
  void *failed = NULL;
  (void)data;
  CT_EQ_INT(pthread_create(&thread, NULL, take_turns, f[0]), 0);
  CT_CHECK(take_turns(f[1]) == NULL);
  pthread_join(thread, &failed);
  CT_CHECK(failed == NULL);
  CT_CHECK(element_of(shared) == 2 * 3 * TURNS);
  for (int k = 0; k < 2; k++) {
    gemel_function_free(f[k]);
  }
  gemel_tensor_unref(zero);
  gemel_shared_unref(shared);
  gemel_graph_unref(lifted);
  gemel_graph_unref(graph);
  leave(context);
}

/* ---- Saved ---- */

/* What isn't on the host isn't saved, and no file is left. */
static void not_saved(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_tensor *x = vector_of(GEMEL_F32, 4, 0.5);
  gemel_tensor *there = gemel_tensor_transfer(x, &device.record, &error), *both[2] = {x, there};
  static const char *const names[] = {"here", "there"};
  char path[400];
  (void)data;
  snprintf(path, sizeof path, "%s/there", ct_scratch());
  CT_EQ_INT(gemel_npz_save(2, names, both, path, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "tensor 'there' to save is not on the host");
  CT_EQ_INT(gemel_safetensors_save(2, names, both, path, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "tensor 'there' to save is not on the host");
  CT_EQ_INT(gemel_onnx_tensor_save(there, "there", path, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_STR(error.text, "the tensor to save is not on the host");
  CT_CHECK(access(path, F_OK) != 0);
  gemel_tensor_unref(there);
  gemel_tensor_unref(x);
  leave(context);
}

/* ---- Dumped ---- */

/* A lifted call in a folder says how it was lifted: done again, it gives the same bits. Without its
 * device it can't be done. */
static void dumped(const void *data) {
  gemel_context *context = context_with_devices(), *poor = gemel_context_new(&error);
  gemel_graph *graph = graph_of(context, "(state w: f32[4], x: f32[4], v: f32[4]) {\n"
                                         "  update w = w + x * v\n"
                                         "  return y = exp(w) - v, k = argmax(w, axis = 0)\n"
                                         "}\n");
  gemel_lift_options lift = {.size = sizeof lift,
                             .space = 2,
                             .strategy = GEMEL_LIFT_CHEAPEST,
                             .inputs = "v",
                             .outputs = "y",
                             .states = 1};
  gemel_options options = {.size = sizeof options, .threads = 1, .lift = &lift};
  gemel_tensor *x = vector_of(GEMEL_F32, 4, 0.5), *out[3] = {NULL, NULL, NULL};
  gemel_tensor *again[3] = {NULL, NULL, NULL};
  gemel_tensor *there = gemel_tensor_transfer(x, &second.record, &error);
  gemel_tensor *in[3] = {there, x, there};
  gemel_function *f = gemel_compile(graph, &options, &error);
  char folder[400];
  (void)data;
  snprintf(folder, sizeof folder, "%s/lifted", ct_scratch());
  CT_EQ_INT(gemel_call(f, 3, in, 3, out, &error), GEMEL_OK);
  CT_EQ_INT(gemel_dump(graph, &options, 3, in, 3, out, folder, &error), GEMEL_OK);
  gemel_dumped *d = gemel_dump_load(context, folder, &error);
  CT_REQUIRE(d != NULL);
  CT_CHECK(d->options.lift == &d->lift && d->lift.space == 2 && d->lift.states == 1);
  CT_EQ_INT(d->lift.strategy, GEMEL_LIFT_CHEAPEST);
  CT_EQ_STR(d->lift.inputs, "v");
  CT_EQ_STR(d->lift.outputs, "y");
  gemel_function *g = gemel_compile(d->graph, &d->options, &error);
  CT_EQ_INT(gemel_call(g, d->n_inputs, d->inputs, 3, again, &error), GEMEL_OK);
  for (int k = 0; k < 3; k++) {
    gemel_tensor *a = gemel_tensor_transfer(out[k], gemel_host(), &error);
    gemel_tensor *b = gemel_tensor_transfer(again[k], gemel_host(), &error);
    CT_CHECK(gemel_tensor_device(out[k]) == gemel_tensor_device(again[k]));
    CT_EQ_MEM(gemel_tensor_data(b), gemel_tensor_data(a), k == 2 ? 8 : 16);
    gemel_tensor_unref(a);
    gemel_tensor_unref(b);
    gemel_tensor_unref(out[k]);
    gemel_tensor_unref(again[k]);
  }
  CT_CHECK(gemel_dump_load(poor, folder, &error) == NULL);
  CT_EQ_INT(error.status, GEMEL_UNSUPPORTED);
  CT_CHECK(strstr(error.text, "memory space 2") != NULL);
  gemel_dump_free(d);
  gemel_function_free(f);
  gemel_function_free(g);
  gemel_tensor_unref(x);
  gemel_tensor_unref(there);
  gemel_graph_unref(graph);
  gemel_context_unref(poor);
  leave(context);
}

/* ---- Big graphs ---- */

enum { DEEP = 100000, JOINED = 20000 };

/* A chain, a value that all of it reads, as many outputs, and one node with all of them as
 * operands, on a stack of 256 KiB. */
static gemel_graph *big_graph(gemel_context *context) {
  gemel_graph *graph = gemel_graph_new(context, &error);
  gemel_value x = f32_input(graph, "x", NULL, 1000), y = x;
  gemel_value *all = malloc(DEEP * sizeof *all);
  char name[24];
  for (int k = 0; k < DEEP; k++) {
    y = all[k] = gemel_add(gemel_exp(y), x);
    if (k % 3 == 0) {
      snprintf(name, sizeof name, "y%d", k);
      gemel_output(y, name);
    }
  }
  gemel_output(gemel_join(JOINED, all), "all");
  free(all);
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_OK);
  return graph;
}

static void *lift_big(void *graph) {
  gemel_lift_report *report = gemel_lift_report_new();
  for (int s = 0; s < GEMEL_LIFT_STRATEGY_COUNT; s++) {
    gemel_graph *lifted = LIFT(graph, .strategy = (gemel_lift_strategy)s, .report = report);
    const gemel_lift_counts *counts = gemel_lift_report_counts(report);
    CT_EQ_UINT(counts->lifted + counts->stayed, 2 * DEEP + 1);
    CT_EQ_INT(gemel_graph_check(lifted, &error), GEMEL_OK);
    gemel_graph_unref(lifted);
  }
  gemel_lift_report_free(report);
  return NULL;
}

static void big(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph = big_graph(context);
  (void)data;
  on_small_stack(lift_big, graph);
  gemel_graph_unref(graph);
  leave(context);
}

/* ---- Refused memory ---- */

static int lift_refused(void *data) {
  static const char *const lists[][2] = {{NULL, NULL}, {"x", "z"}};
  const gemel_graph *graph = data;
  gemel_lift_report *report = gemel_lift_report_new();
  gemel_status status = report != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  for (int s = 0; s < GEMEL_LIFT_STRATEGY_COUNT; s++) {
    for (size_t k = 0; k < CT_COUNT(lists) && status == GEMEL_OK; k++) {
      gemel_lift_options options = {.size = sizeof options,
                                    .space = 1,
                                    .strategy = (gemel_lift_strategy)s,
                                    .inputs = lists[k][0],
                                    .outputs = lists[k][1],
                                    .states = 1,
                                    .report = report};
      gemel_graph *lifted = gemel_lift(graph, &options, &error);
      status = lifted != NULL ? GEMEL_OK : error.status;
      gemel_graph_unref(lifted);
    }
  }
  gemel_lift_report_free(report);
  return status;
}

static void refused(const void *data) {
  gemel_context *context = context_with_devices();
  gemel_graph *graph =
      graph_of(context, "(x: f32[4], state w: f32[4]) {\n"
                        "  update w = w + x * 2\n"
                        "  return z = argmax(exp(x) + w, axis = 0), s = sum(x * w)\n"
                        "}\n");
  (void)data;
  CT_EQ_INT(lift_refused(graph), GEMEL_OK); /* the context has the types of the device then */
  CT_CHECK(ct_oom(lift_refused, graph) > 50);
  gemel_graph_unref(graph);
  leave(context);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("crossing", crossing, NULL),
      CT_TEST("cancelled", cancelled, NULL),
      CT_TEST("both_sides", both_sides, NULL),
      CT_TEST("views", views, NULL),
      CT_TEST("sizes", sizes, NULL),
      CT_TEST("reasons", reasons, NULL),
      CT_TEST("loops/whole", loops_whole, NULL),
      CT_TEST("loops/cheapest", loops_cheapest, NULL),
      CT_TEST("loops/misplaced", loops_misplaced, NULL),
      CT_TEST("errors", errors, NULL),
      CT_TEST("ports", ports, NULL),
      CT_TEST("once", once, NULL),
      CT_TEST("states", states, NULL),
      CT_TEST("turns", turns, NULL),
      CT_TEST("compiled", compiled, NULL),
      CT_TEST("refused", refused, NULL),
      CT_TEST("big", big, NULL),
      CT_TEST("not_saved", not_saved, NULL),
      CT_TEST("dumped", dumped, NULL),
  };
  ct_suite("lift", tests, CT_COUNT(tests));
}
