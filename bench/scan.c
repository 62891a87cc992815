/* SPDX-License-Identifier: MIT
 *
 * Suite scan: loops. What a step costs beside its instructions, whether time and memory grow as the
 * steps do, what many stacks cost the compiler, and recurrent networks beside the products in them.
 */
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "call.h"
#include "memory.h"
#include "recurrent.h"

static const gemel__bench_target overhead_target = {GEMEL__BENCH_AT_MOST, 0.1},
                                 linear_target = {GEMEL__BENCH_AT_MOST, 2},
                                 stacks_target = {GEMEL__BENCH_AT_MOST, 10},
                                 products_target = {GEMEL__BENCH_AT_LEAST, 0.9};

static double seconds_of(const gemel__bench *b) {
  return 1e-3 * (double)b->time_ms;
}

static uint64_t steps_of(const gemel__bench *b) {
  return b->nodes > 0 ? b->nodes : 1000000;
}

/* ---- Growth ---- */

/* By T steps, the gradient of a loop with a state, a row and a constant. */
static char *curve_text(uint64_t steps) {
  return gemel__need_text("graph step(s: f64[], x: f64[], w: f64[]) {\n"
                          "  return next = tanh(w * s + x)\n"
                          "}\n"
                          "graph loop(s: f64[], x: f64[%zu], w: f64[]) {\n"
                          "  last, all = scan(s, x, w, body = step, states = 1, sequences = 1)\n"
                          "  return loss = sum(all * all)\n"
                          "}\n",
                          (size_t)steps);
}

/* The graph in TEXT, whose loss is differentiated by all inputs. */
static gemel_graph *differentiated(gemel_context *context, const char *text, gemel_error *error) {
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "loop", NULL, error);
  gemel_status status = graph != NULL ? GEMEL_OK : error->status;
  if (status == GEMEL_OK) {
    gemel_value loss = gemel_graph_output(graph, 0), wrt[3], gradients[3];
    for (size_t k = 0; k < 3; k++) {
      wrt[k] = gemel_graph_input(graph, k);
    }
    status = gemel_grad(1, &loss, NULL, 3, wrt, gradients, error);
    for (size_t k = 0; k < 3 && status == GEMEL_OK; k++) {
      const char *const names[] = {"ds", "dx", "dw"};
      status = gemel_output(gradients[k], names[k]);
    }
  }
  if (status != GEMEL_OK) {
    gemel_graph_unref(graph);
    return NULL;
  }
  return graph;
}

/* Microseconds and bytes a step of the loop of so many. */
static int measure_growth(gemel__bench *b, uint64_t steps, double *us, double *bytes) {
  gemel__bench_count_start();
  gemel_context *context = gemel__context_need();
  char *text = curve_text(steps);
  gemel_error error = {0};
  gemel_graph *graph = context != NULL ? differentiated(context, text, &error) : NULL;
  gemel__call call;
  gemel__bench_contender alone = {gemel__call_run, &call, 0, 0};
  memset(&call, 0, sizeof call);
  int status = graph != NULL ? gemel__call_open_graph(&call, b, graph, "gradient")
                             : gemel__complain_error("gradient", &error);
  if (status == GEMEL__GOOD) {
    gemel__bench_race(&alone, 1, seconds_of(b) / 3);
    *us = 1e6 * alone.best / (double)steps;
    *bytes = (double)gemel__bench_peak() / (double)steps;
    status = gemel__call_check(&call, "gradient");
  }
  gemel__call_clear(&call);
  gemel_graph_unref(graph);
  free(text);
  gemel_context_unref(context);
  gemel__bench_count_stop();
  return status;
}

static int run_growth(gemel__bench *b) {
  enum { SIZES = 3 };
  double us[SIZES], bytes[SIZES];
  int status = GEMEL__GOOD;
  if (!gemel__bench_wanted(b, "gradient")) {
    return status;
  }
  for (int k = 0; k < SIZES && status == GEMEL__GOOD; k++) {
    const uint64_t parts[SIZES] = {100, 10, 1};
    uint64_t steps = steps_of(b) / parts[k];
    char what[64];
    gemel__progress("gemel bench: scan, gradient of %zu steps", (size_t)steps);
    status = measure_growth(b, steps > 0 ? steps : 1, &us[k], &bytes[k]);
    if (status == GEMEL__GOOD) {
      snprintf(what, sizeof what, "gradient of %zu", (size_t)steps);
      gemel__bench_report(b, what, "a step", us[k], "us", NULL);
      gemel__bench_report(b, what, "peak bytes", bytes[k], "B/step", NULL);
    }
  }
  if (status == GEMEL__GOOD) {
    gemel__bench_report(b, "gradient", "time big/small", us[SIZES - 1] / us[0], "ratio",
                        &linear_target);
    gemel__bench_report(b, "gradient", "bytes big/small", bytes[SIZES - 1] / bytes[0], "ratio",
                        &linear_target);
  }
  return status;
}

/* ---- A step ---- */

enum { CHAIN = 200 };

/* As many additions of scalars as instructions of their own: views of other ranks between them keep
 * them from becoming one. */
static char *chain_text(void) {
  char *text = gemel__need_text("graph chain(s: f64[], x: f64[]) {\n  s0 = s + x\n");
  for (int k = 1; k < CHAIN; k++) {
    char *longer = gemel__need_text("%s  s%d = reshape(s%d, shape = %s) + x\n", text, k, k - 1,
                                    k % 2 ? "[1]" : "[]");
    free(text);
    text = longer;
  }
  char *whole = gemel__need_text("%s  return s%d\n}\n", text, CHAIN - 1);
  free(text);
  return whole;
}

/* A loop of additions, which rewriting would make a sum, beside as many instructions. */
static int run_step(gemel__bench *b, gemel_context *context) {
  uint64_t steps = steps_of(b);
  gemel__call loop, chain;
  gemel__bench_contender race[] = {{gemel__call_run, &loop, 0, 0}, {gemel__call_run, &chain, 0, 0}};
  if (!gemel__bench_wanted(b, "addition")) {
    return GEMEL__GOOD;
  }
  gemel__progress("gemel bench: scan, addition");
  char *text = gemel__need_text("graph step(s: f64[], x: f64[]) { return next = s + x }\n"
                                "graph loop(s: f64[], x: f64[%zu]) {\n"
                                "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
                                "  return last\n}\n",
                                (size_t)steps);
  char *alone = chain_text();
  int status = gemel__call_open(&loop, b, context, "addition", text, 0);
  status |= gemel__call_open(&chain, b, context, "addition", alone, 0);
  if (status == GEMEL__GOOD) {
    chain.repeat = (int)(steps / CHAIN) + 1;
    gemel__bench_race(race, 2, seconds_of(b));
    double step = 1e6 * race[0].best / (double)steps;
    double instruction = 1e6 * race[1].best / ((double)chain.repeat * CHAIN);
    gemel__bench_report(b, "addition", "a step", step, "us", NULL);
    gemel__bench_report(b, "addition", "an instruction", instruction, "us", NULL);
    gemel__bench_report(b, "addition", "overhead", step - instruction, "us", &overhead_target);
    status = gemel__call_check(&loop, "addition") | gemel__call_check(&chain, "addition");
  }
  gemel__call_clear(&loop);
  gemel__call_clear(&chain);
  free(text);
  free(alone);
  return status;
}

/* ---- Stacks ---- */

static char *stacks_text(int stacks) {
  char *body = gemel__need_text("graph step(s: f64[4], x: f64[4]) {\n  n = tanh(s + x)\n");
  char *results = gemel__need_text("n"), *stacked = gemel__need_text("y0");
  for (int k = 0; k < stacks; k++) {
    char *old[] = {body, results, stacked};
    body = gemel__need_text("%s  y%d = n * %d.5\n", body, k, k);
    results = gemel__need_text("%s, y%d", results, k);
    stacked = k > 0 ? gemel__need_text("%s, y%d", stacked, k) : gemel__need_text("y0");
    for (int i = 0; i < 3; i++) {
      free(old[i]);
    }
  }
  char *text = gemel__need_text("%s  return next = %s\n}\n"
                                "graph loop(s: f64[4], x: f64[100, 4]) {\n"
                                "  last, all, %s = scan(s, x, body = step, states = 1, sequences = "
                                "1)\n  return last, %s\n}\n",
                                body, results, stacked, stacked);
  free(body);
  free(results);
  free(stacked);
  return text;
}

/* Compiles a graph and calls it once, from operands on: planning is a part of the first call. */
typedef struct compilation {
  const gemel__bench *bench;
  const gemel_graph *graph;
  int status;
} compilation;

static void compile(void *state) {
  compilation *c = state;
  gemel__call call;
  c->status |= gemel__call_open_graph(&call, c->bench, c->graph, "50 stacks");
  gemel__call_clear(&call);
}

static int run_stacks(gemel__bench *b, gemel_context *context) {
  enum { STACKS = 50 };
  compilation c = {b, NULL, GEMEL__GOOD};
  gemel__bench_contender alone = {compile, &c, 0, 0};
  gemel_error error = {0};
  if (!gemel__bench_wanted(b, "50 stacks")) {
    return GEMEL__GOOD;
  }
  gemel__progress("gemel bench: scan, 50 stacks");
  char *text = stacks_text(STACKS);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "50 stacks", NULL, &error);
  free(text);
  if (graph == NULL) {
    return gemel__complain_error("50 stacks", &error);
  }
  c.graph = graph;
  gemel__bench_race(&alone, 1, seconds_of(b) / 3);
  gemel__bench_report(b, "50 stacks", "compile and call", 1e3 * alone.best, "ms", &stacks_target);
  gemel_graph_unref(graph);
  return c.status;
}

/* ---- Networks ---- */

static const char *const call_names[] = {"forward", "gradient"};

/* Makes operands, which are in [0.5, 1), those of a network that isn't driven to its limits. */
static void centre(const gemel__call *call, int units) {
  double least = 1;
  while (least * least * units > 1) {
    least /= 2;
  }
  for (size_t k = 0; k < call->n_inputs; k++) {
    float *x = gemel_tensor_data(call->inputs[k]);
    for (int64_t i = 0; i < gemel_tensor_elements(call->inputs[k]); i++) {
      x[i] = (float)((x[i] - 0.75) * 4 * least);
    }
  }
}

/* The call beside each library's products. */
static void race_network(gemel__bench *b, gemel__call *call, const gemel__network *network,
                         const gemel__recurrent_sizes *sizes, int gradient, const char *what) {
  gemel__products products[GEMEL__MAX_BLAS];
  gemel__bench_contender race[1 + GEMEL__MAX_BLAS] = {{gemel__call_run, call, 0, 0}};
  char metric[64];
  size_t n = 1;
  for (; gemel__blas_f32[n - 1].name != NULL; n++) {
    gemel__products_open(&products[n - 1], network, sizes, gradient);
    products[n - 1].library = &gemel__blas_f32[n - 1];
    race[n] = (gemel__bench_contender){gemel__products_run, &products[n - 1], 0, 0};
  }
  gemel__bench_race(race, n, seconds_of(b) / 3);
  gemel__bench_report(b, what, call_names[gradient], 1e3 * race[0].best, "ms", NULL);
  for (size_t k = 1; k < n; k++) {
    snprintf(metric, sizeof metric, "%s, %s", call_names[gradient], gemel__blas_f32[k - 1].name);
    gemel__bench_report(b, what, metric, 1e3 * race[k].best, "ms", NULL);
    free(products[k - 1].memory);
  }
  if (n > 1) {
    snprintf(metric, sizeof metric, "%s of products", call_names[gradient]);
    gemel__bench_report(b, what, metric, gemel__bench_fastest(race + 1, n - 1), "ratio",
                        sizes->batch >= 64 ? &products_target : NULL);
  }
}

static int write_graph(const gemel__bench *b, const gemel_graph *graph, const char *what,
                       int gradient) {
  char *path = gemel__need_text("%s/%s %s.gmt", b->graphs, what, call_names[gradient]);
  int status = gemel__graph_write(graph, "network", path);
  free(path);
  return status;
}

static int run_network(gemel__bench *b, gemel_context *context, const gemel__network *network,
                       const gemel__recurrent_sizes *sizes, int gradient, const char *what) {
  gemel__call call;
  memset(&call, 0, sizeof call);
  gemel_graph *graph = gemel__network_graph(context, network, sizes, gradient, &call.error);
  int status = graph != NULL ? GEMEL__GOOD : gemel__complain_error(what, &call.error);
  if (status == GEMEL__GOOD && b->graphs != NULL) {
    status = write_graph(b, graph, what, gradient);
  }
  if (status == GEMEL__GOOD) {
    status = gemel__call_open_graph(&call, b, graph, what);
  }
  if (status == GEMEL__GOOD) {
    centre(&call, sizes->units);
    race_network(b, &call, network, sizes, gradient, what);
    status = gemel__call_check(&call, what);
  }
  gemel__call_clear(&call);
  gemel_graph_unref(graph);
  return status;
}

static int run_networks(gemel__bench *b, gemel_context *context,
                        const gemel__recurrent_sizes *sizes) {
  int status = GEMEL__GOOD;
  for (const gemel__network *n = gemel__networks; n->name != NULL && status == GEMEL__GOOD; n++) {
    char what[64];
    snprintf(what, sizeof what, "%s %dx%dx%d", n->name, sizes->steps, sizes->batch, sizes->units);
    if (!gemel__bench_wanted(b, n->name)) {
      continue;
    }
    for (int gradient = 0; gradient < 2 && status == GEMEL__GOOD; gradient++) {
      gemel__progress("gemel bench: scan, %s, %s", what, call_names[gradient]);
      status = run_network(b, context, n, sizes, gradient, what);
    }
  }
  return status;
}

/* The network of many units by three batches, then a long one of few. */
static int run_all_networks(gemel__bench *b, gemel_context *context) {
  int units = (int)b->matrix;
  const gemel__recurrent_sizes sizes[] = {
      {50, 64, units}, {50, 8, units}, {50, 1, units}, {1000, 1, 32}};
  int status = GEMEL__GOOD;
  if (b->graphs != NULL) {
    status = gemel__folder_make(b->graphs);
  }
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes && status == GEMEL__GOOD; k++) {
    status = run_networks(b, context, &sizes[k]);
  }
  return status;
}

int gemel__bench_scan(gemel__bench *b) {
  int status = run_growth(b); /* first: memory is counted while there is no context yet */
  gemel_context *context = gemel__context_need();
  status = context != NULL ? status : GEMEL__BAD;
  gemel__blas_set_threads(b);
  status = status == GEMEL__GOOD ? run_step(b, context) : status;
  status = status == GEMEL__GOOD ? run_stacks(b, context) : status;
  status = status == GEMEL__GOOD ? run_all_networks(b, context) : status;
  gemel_context_unref(context);
  return status;
}
