/* SPDX-License-Identifier: MIT
 *
 * Suite cpu: functions on the CPU. Four kinds of cases: matrix products against the libraries' own
 * calls, functions bound by memory against passes that read or copy the same bytes with as many
 * threads, random numbers, and the cost of calls that do next to nothing. Contenders run in turns,
 * by the wall clock.
 */
#include <stdlib.h>
#include <string.h>
#include "blas.h"
#include "call.h"
#include "passes.h"

static double seconds_of(const gemel__bench *b) {
  return 1e-3 * (double)b->time_ms;
}

/* ---- Matrix products ---- */

/* A product by a library's call. */
typedef struct raw_product {
  const gemel__blas *library;
  gemel__gemm product;
} raw_product;

static void run_raw(void *state) {
  const raw_product *raw = state;
  raw->library->run(&raw->product);
}

static const struct {
  const char *name, *text;
  const gemel__blas *libraries;
} products[] = {
    {"dot f32", "graph f(a: f32[S, S], b: f32[S, S]) { c = dot(a, b) return c }", gemel__blas_f32},
    {"dot f64", "graph f(a: f64[S, S], b: f64[S, S]) { c = dot(a, b) return c }", gemel__blas_f64},
    {"affine passed f32",
     "graph f(m: f32[S, S], x: f32[S, S], b: f32[S, S]) { return y = dot(m, x) + b }",
     gemel__blas_f32},
    {"affine shared f32",
     "graph f(state m: f32[S, S], x: f32[S, S], state b: f32[S, S]) { return y = dot(m, x) + b }",
     gemel__blas_f32},
    {"affine update f32",
     "graph f(state m: f32[S, S], state x: f32[S, S], state b: f32[S, S]) { update b = dot(m, x) + "
     "b }",
     gemel__blas_f32}};

static const gemel__bench_target product_target = {GEMEL__BENCH_AT_LEAST, 0.97},
                                 memory_target = {GEMEL__BENCH_AT_LEAST, 0.9},
                                 call_target = {GEMEL__BENCH_AT_MOST, 1e-6},
                                 node_target = {GEMEL__BENCH_AT_MOST, 20e-9};

/* The call and each raw routine have operands and results of their own. */
static int race_product(gemel__bench *b, gemel__call *call, gemel__call *operands, const char *name,
                        const gemel__blas *libraries) {
  gemel__bench_contender race[1 + GEMEL__MAX_BLAS] = {{gemel__call_run, call, 0, 0}};
  raw_product raw[GEMEL__MAX_BLAS];
  int rows = (int)b->matrix;
  double flops = 2.0 * rows * rows * rows * 1e-9;
  size_t n = 1, k;
  for (; libraries[n - 1].name != NULL; n++) {
    raw[n - 1] = (raw_product){&libraries[n - 1],
                               {.m = rows,
                                .n = rows,
                                .k = rows,
                                .a = gemel_tensor_data(operands->inputs[0]),
                                .b = gemel_tensor_data(operands->inputs[1]),
                                .c = gemel_tensor_data(operands->outputs[0])}};
    race[n] = (gemel__bench_contender){run_raw, &raw[n - 1], 0, 0};
  }
  gemel__bench_race(race, n, 2 * seconds_of(b));
  gemel__bench_report(b, name, "gemel", flops / race[0].best, "GF/s", NULL);
  for (k = 1; k < n; k++) {
    gemel__bench_report(b, name, libraries[k - 1].name, flops / race[k].best, "GF/s", NULL);
  }
  if (n > 1) {
    gemel__bench_report(b, name, "of the faster", gemel__bench_fastest(race + 1, n - 1), "ratio",
                        &product_target);
  }
  return gemel__call_check(call, name);
}

static int run_products(gemel__bench *b, gemel_context *context) {
  int status = GEMEL__GOOD;
  for (size_t k = 0; k < sizeof products / sizeof *products && status == GEMEL__GOOD; k++) {
    gemel__call call, operands;
    if (!gemel__bench_wanted(b, products[k].name)) {
      continue;
    }
    gemel__progress("gemel bench: cpu, %s", products[k].name);
    status = gemel__call_open(&call, b, context, products[k].name, products[k].text, 1);
    status |= gemel__call_open(&operands, b, context, products[k].name,
                               products[products[k].libraries == gemel__blas_f64].text, 1);
    if (status == GEMEL__GOOD) {
      status = race_product(b, &call, &operands, products[k].name, products[k].libraries);
    }
    gemel__call_clear(&call);
    gemel__call_clear(&operands);
  }
  return status;
}

/* ---- Bound by memory ---- */

typedef enum pass_kind { READ, COPY } pass_kind;

/* X(name, pass it is measured against, 1: has a target, graph text). The chain is of operations
 * that a core does faster than memory brings operands. */
static const struct memory_case {
  const char *name;
  pass_kind pass;
  int judged;
  const char *text;
} memory_cases[] = {
    {"sum f32", READ, 1, "graph f(x: f32[E]) { y = sum(x) return y }"},
    {"chain of 8 f32", COPY, 1,
     "graph f(x: f32[E]) { y = maximum(sqr(abs((0.75 - neg(x * 0.5 + 0.25)) * 1.5)), 0.125) "
     "return y }"},
    {"sum f64", READ, 0, "graph f(x: f64[E]) { y = sum(x) return y }"},
    {"sum rows f32", READ, 0, "graph f(x: f32[R, C]) { y = sum(x, axes = [1]) return y }"},
    {"sum columns f32", READ, 0, "graph f(x: f32[R, C]) { y = sum(x, axes = [0]) return y }"},
    {"max f32", READ, 0, "graph f(x: f32[E]) { y = max(x) return y }"},
    {"argmax f32", READ, 0, "graph f(x: f32[R, C]) { y = argmax(x, axis = 1) return y }"},
    {"argmax columns f32", READ, 0, "graph f(x: f32[R, C]) { y = argmax(x, axis = 0) return y }"},
    {"neg f32", COPY, 0, "graph f(x: f32[E]) { y = neg(x) return y }"},
    {"exp f32", COPY, 0, "graph f(x: f32[E]) { y = exp(x) return y }"},
    {"tanh f32", COPY, 0, "graph f(x: f32[E]) { y = tanh(x) return y }"},
    {"softmax f32", COPY, 0, "graph f(x: f32[R, C]) { y = softmax(x) return y }"},
    {"softmax columns f32", COPY, 0, "graph f(x: f32[R, C]) { y = softmax(x, axis = 0) return y }"},
    {"transposed f32", COPY, 0,
     "graph f(x: f32[R, C]) { y = neg(dimshuffle(x, order = [1, 0])) return y }"},
    {"axes: sum [0]", READ, 0, "graph f(x: f32[T, T, T]) { y = sum(x, axes = [0]) return y }"},
    {"axes: sum [1]", READ, 0, "graph f(x: f32[T, T, T]) { y = sum(x, axes = [1]) return y }"},
    {"axes: sum [2]", READ, 0, "graph f(x: f32[T, T, T]) { y = sum(x, axes = [2]) return y }"},
    {"axes: sum [0, 1]", READ, 0,
     "graph f(x: f32[T, T, T]) { y = sum(x, axes = [0, 1]) return y }"},
    {"axes: sum [0, 2]", READ, 0,
     "graph f(x: f32[T, T, T]) { y = sum(x, axes = [0, 2]) return y }"},
    {"axes: sum [1, 2]", READ, 0,
     "graph f(x: f32[T, T, T]) { y = sum(x, axes = [1, 2]) return y }"},
    {"axes: order [0, 2, 1]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = dimshuffle(x, order = [0, 2, 1]) return y }"},
    {"axes: order [1, 0, 2]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = dimshuffle(x, order = [1, 0, 2]) return y }"},
    {"axes: order [1, 2, 0]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = dimshuffle(x, order = [1, 2, 0]) return y }"},
    {"axes: order [2, 0, 1]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = dimshuffle(x, order = [2, 0, 1]) return y }"},
    {"axes: order [2, 1, 0]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = dimshuffle(x, order = [2, 1, 0]) return y }"},
    {"axes: reverse [0]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = reverse(x, axes = [0]) return y }"},
    {"axes: reverse [1]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = reverse(x, axes = [1]) return y }"},
    {"axes: reverse [2]", COPY, 0,
     "graph f(x: f32[T, T, T]) { y = reverse(x, axes = [2]) return y }"},
    {"axes: halves swapped [0]", COPY, 0,
     "graph f(x: f32[T, T, T]) { a = subtensor(x, start = [0, 0, 0], size = [T // 2, T, T]) "
     "b = subtensor(x, start = [T // 2, 0, 0], size = [T // 2, T, T]) return y = join(b, a, axis = "
     "0) }"},
    {"axes: halves swapped [1]", COPY, 0,
     "graph f(x: f32[T, T, T]) { a = subtensor(x, start = [0, 0, 0], size = [T, T // 2, T]) "
     "b = subtensor(x, start = [0, T // 2, 0], size = [T, T // 2, T]) return y = join(b, a, axis = "
     "1) }"},
    {"axes: halves swapped [2]", COPY, 0,
     "graph f(x: f32[T, T, T]) { a = subtensor(x, start = [0, 0, 0], size = [T, T, T // 2]) "
     "b = subtensor(x, start = [0, 0, T // 2], size = [T, T, T // 2]) return y = join(b, a, axis = "
     "2) }"}};

static size_t bytes_of(const gemel_tensor *tensor) {
  return (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(gemel_tensor_dtype(tensor));
}

/* TO is as big as the input, or NULL if the pass reads only. */
static int race_memory(gemel__bench *b, gemel__call *call, const char *name, int judged,
                       gemel_tensor *to) {
  gemel__bench_contender race[1 + GEMEL__MAX_PASSES] = {{gemel__call_run, call, 0, 0}};
  gemel__pass pass = {gemel_tensor_data(call->inputs[0]), to != NULL ? gemel_tensor_data(to) : NULL,
                      bytes_of(call->inputs[0]) / 64 * 64, b->threads};
  size_t n =
      to != NULL ? gemel__pass_copiers(&pass, race + 1) : gemel__pass_readers(&pass, race + 1);
  double moved = 1e-9 * (double)pass.bytes * (to != NULL ? 2 : 1), fastest = 1e30;
  size_t k;
  gemel__bench_race(race, 1 + n, seconds_of(b));
  for (k = 1; k <= n; k++) {
    fastest = race[k].best < fastest ? race[k].best : fastest;
  }
  gemel__bench_report(b, name, "gemel", moved / race[0].best, "GB/s", NULL);
  gemel__bench_report(b, name, to != NULL ? "fastest copy" : "fastest read", moved / fastest,
                      "GB/s", NULL);
  gemel__bench_report(b, name, to != NULL ? "of a copy" : "of a read",
                      gemel__bench_fastest(race + 1, n), "ratio", judged ? &memory_target : NULL);
  return gemel__call_check(call, name);
}

static int run_memory_case(gemel__bench *b, gemel_context *context, const struct memory_case *c) {
  gemel__call call;
  gemel_tensor *to = NULL;
  int status = gemel__call_open(&call, b, context, c->name, c->text, 0);
  if (status == GEMEL__GOOD && c->pass == COPY) {
    gemel_view view = gemel_tensor_view(call.inputs[0]);
    to = gemel_tensor_copy(&view, &call.error);
    status = to != NULL ? GEMEL__GOOD : gemel__complain_error(c->name, &call.error);
  }
  if (status == GEMEL__GOOD) {
    status = race_memory(b, &call, c->name, c->judged, to);
  }
  gemel_tensor_unref(to);
  gemel__call_clear(&call);
  return status;
}

static int run_memory(gemel__bench *b, gemel_context *context) {
  int status = GEMEL__GOOD;
  for (size_t k = 0; k < sizeof memory_cases / sizeof *memory_cases && status == GEMEL__GOOD; k++) {
    gemel__progress("gemel bench: cpu, %s", memory_cases[k].name);
    if (gemel__bench_wanted(b, memory_cases[k].name)) {
      status = run_memory_case(b, context, &memory_cases[k]);
    }
  }
  return status;
}

/* ---- Random numbers ---- */

/* An operation and a dtype. */
static const char *const random_cases[][2] = {{"random_bits", "u32"},    {"random_bits", "u64"},
                                              {"random_uniform", "f32"}, {"random_uniform", "f64"},
                                              {"random_normal", "f32"},  {"random_normal", "f64"}};

static int run_random_case(gemel__bench *b, gemel_context *context, const char *name,
                           const char *const *c) {
  gemel__call call;
  gemel__bench_contender alone = {gemel__call_run, &call, 0, 0};
  char text[160];
  snprintf(text, sizeof text,
           "graph f(key: u64[2]) { y, next = %s(key, shape = [%zu], dtype = %s) return y }", c[0],
           (size_t)b->elements, c[1]);
  int status = gemel__call_open(&call, b, context, name, text, 0);
  if (status == GEMEL__GOOD) {
    gemel__bench_race(&alone, 1, seconds_of(b));
    gemel__bench_report(b, name, "a number", 1e9 * alone.best / (double)b->elements, "ns", NULL);
    status = gemel__call_check(&call, name);
  }
  gemel__call_clear(&call);
  return status;
}

static int run_random(gemel__bench *b, gemel_context *context) {
  size_t k;
  int status = GEMEL__GOOD;
  for (k = 0; k < sizeof random_cases / sizeof *random_cases && status == GEMEL__GOOD; k++) {
    char name[40];
    snprintf(name, sizeof name, "%s %s", random_cases[k][0], random_cases[k][1]);
    gemel__progress("gemel bench: cpu, %s", name);
    if (gemel__bench_wanted(b, name)) {
      status = run_random_case(b, context, name, random_cases[k]);
    }
  }
  return status;
}

/* ---- Calls ---- */

enum { LENGTHS = 9, CALLS = 200, TEMPLATES = 8 };

/* Chains of operations on one element, the result of each the operand of the next: these in turn,
 * %1$s being that operand. */
static const struct chain_case {
  const char *name;
  int judged;
  const char *templates[TEMPLATES];
} chain_cases[] = {
    {"call: elementwise",
     1,
     {"neg(%s)", "%s + x", "abs(%s)", "%s * x", "maximum(%s, x)", "x - %s", "sqr(%s)", NULL}},
    {"call: views", 1, {"reshape(%s, shape = [1])", "reverse(%s, axes = [0])", NULL}},
    {"call: mixed",
     1,
     {"neg(%s)", "reverse(%s, axes = [0])", "sum(%s, axes = [0], keepdims = 1)", "%s + x",
      "dimshuffle(%s, order = [0])", "max(%s, axes = [0], keepdims = 1)", "%s * x", NULL}},
    {"call: functions", 0, {"tanh(%s)", "exp(%s)", "sigmoid(%s)", "log1p(%s)", NULL}},
    {"call: sum", 0, {"sum(%s, axes = [0], keepdims = 1)", NULL}},
    {"call: softmax", 0, {"softmax(%s)", NULL}},
    {"call: dot", 0, {"dot(%s, x)", NULL}}};

static char *chain_text(const struct chain_case *c, int length) {
  size_t room = 128 + 64 * (size_t)length, used;
  char *text = gemel__need(NULL, room), value[16] = "x";
  const char *type = strcmp(c->name, "call: dot") == 0 ? "f32[1, 1]" : "f32[1]";
  int k, step = 0;
  used = (size_t)snprintf(text, room, "graph f(x: %s) {\n", type);
  for (k = 0; k < length; k++) {
    used += (size_t)snprintf(text + used, room - used, "h%d = ", k);
    used += (size_t)snprintf(text + used, room - used, c->templates[step], value);
    used += (size_t)snprintf(text + used, room - used, "\n");
    step = step + 1 < TEMPLATES && c->templates[step + 1] != NULL ? step + 1 : 0;
    snprintf(value, sizeof value, "h%d", k);
  }
  snprintf(text + used, room - used, "return %s\n}\n", value);
  return text;
}

/* The slope of the least squares line through N points. */
static double slope_of(const double *x, const double *y, int n) {
  double mx = 0, my = 0, xy = 0, xx = 0;
  for (int k = 0; k < n; k++) {
    mx += x[k] / n;
    my += y[k] / n;
  }
  for (int k = 0; k < n; k++) {
    xy += (x[k] - mx) * (y[k] - my);
    xx += (x[k] - mx) * (x[k] - mx);
  }
  return xy / xx;
}

static void report_chain(gemel__bench *b, const struct chain_case *c,
                         const gemel__bench_contender *race) {
  double nodes[LENGTHS], seconds[LENGTHS];
  int k;
  for (k = 0; k < LENGTHS; k++) {
    nodes[k] = 1 << k;
    seconds[k] = race[k].best / CALLS;
  }
  gemel__bench_report(b, c->name, "1 node", seconds[0], "s", c->judged ? &call_target : NULL);
  gemel__bench_report(b, c->name, "256 nodes", seconds[LENGTHS - 1], "s", NULL);
  gemel__bench_report(b, c->name, "each further node", slope_of(nodes, seconds, LENGTHS), "s",
                      c->judged ? &node_target : NULL);
}

static int run_chain(gemel__bench *b, gemel_context *context, const struct chain_case *c) {
  gemel__call calls[LENGTHS];
  gemel__bench_contender race[LENGTHS];
  int status = GEMEL__GOOD, n = 0, k;
  gemel__progress("gemel bench: cpu, %s", c->name);
  for (; n < LENGTHS && status == GEMEL__GOOD; n++) {
    char *text = chain_text(c, 1 << n);
    gemel__bench_contender contender = {gemel__call_run, &calls[n], 0, 0};
    status = gemel__call_open(&calls[n], b, context, c->name, text, 0);
    calls[n].repeat = CALLS;
    race[n] = contender;
    free(text);
  }
  if (status == GEMEL__GOOD) {
    gemel__bench_race(race, LENGTHS, seconds_of(b));
    report_chain(b, c, race);
  }
  for (k = 0; k < n; k++) {
    status = status == GEMEL__GOOD ? gemel__call_check(&calls[k], c->name) : status;
    gemel__call_clear(&calls[k]);
  }
  return status;
}

static int run_chains(gemel__bench *b, gemel_context *context) {
  int status = GEMEL__GOOD;
  for (size_t k = 0; k < sizeof chain_cases / sizeof *chain_cases && status == GEMEL__GOOD; k++) {
    if (gemel__bench_wanted(b, chain_cases[k].name)) {
      status = run_chain(b, context, &chain_cases[k]);
    }
  }
  return status;
}

int gemel__bench_cpu(gemel__bench *b) {
  gemel_context *context = gemel__context_need();
  int status = context != NULL ? GEMEL__GOOD : GEMEL__BAD;
  gemel__blas_set_threads(b);
  status = status == GEMEL__GOOD ? run_products(b, context) : status;
  status = status == GEMEL__GOOD ? run_memory(b, context) : status;
  status = status == GEMEL__GOOD ? run_random(b, context) : status;
  status = status == GEMEL__GOOD ? run_chains(b, context) : status;
  gemel_context_unref(context);
  return status;
}
