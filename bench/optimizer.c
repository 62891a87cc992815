/* SPDX-License-Identifier: MIT
 *
 * Suite optimizer: from the graph of a training step to a function. Training graphs of four sizes
 * are built, differentiated, rewritten and compiled on one thread with a stack of 256 KiB; times
 * are the processor time of that thread, the best of several runs, each in a context of its own
 * whose rules have been loaded before. The ratio of the times a node at the largest and the
 * smallest size says whether a step is linear. What was rewritten is also lifted, by each strategy,
 * to a device that can do everything: the host's own record in another memory space.
 */
#include <stdlib.h>
#include <string.h>
#include <gemel/device.h>
#include <gemel/lift.h>
#include <gemel/rewrite.h>
#include "bench.h"
#include "training.h"
#ifdef HAVE_VERIFY
#include <gemel/verify.h>
#endif

enum { NODES = 1000000, SIZES = 4, BIG_RUNS = 5, SMALL_RUNS = 10 };

typedef enum step { BUILD, GRADIENT, REWRITE, COMPILE, CALLABLE, PLAN, STEP_COUNT } step;

/* CALLABLE is the sum of the two before it; PLAN what the first call takes longer than the second:
 * its schedule and memory plan. TARGET: microseconds a node at the largest size. */
static const struct {
  const char *name;
  gemel__bench_target target;
} steps[STEP_COUNT] = {[BUILD] = {"build", {GEMEL__BENCH_FREE, 0}},
                       [GRADIENT] = {"gradient", {GEMEL__BENCH_FREE, 0}},
                       [REWRITE] = {"rewrite", {GEMEL__BENCH_FREE, 0}},
                       [COMPILE] = {"compile", {GEMEL__BENCH_FREE, 0}},
                       [CALLABLE] = {"callable", {GEMEL__BENCH_AT_MOST, 6}},
                       [PLAN] = {"plan", {GEMEL__BENCH_FREE, 0}}};
static const gemel__bench_target ratio_target = {GEMEL__BENCH_AT_MOST, 2};
/* Rewriting with `certify` against without, from so many nodes on: below, tables weigh. */
static const gemel__bench_target certified_target = {GEMEL__BENCH_AT_MOST, 2};
enum { CERTIFIED_NODES = 100000 };
/* Milliseconds to rewrite and lift what has at most so many nodes: the size of a graph with which
 * Theano's GraphToGPU was measured, at 20 s. */
static const gemel__bench_target lifted_target = {GEMEL__BENCH_AT_MOST, 150};
enum { LIFTED_NODES = 24938 };

/* One run: a model of SIZE units, and what a step makes and the next one takes. */
typedef struct run_state {
  const gemel__training *model;
  uint64_t size;
  gemel_context *context;
  gemel_graph *graph, *rewritten;
  gemel_function *function;
  gemel__parameters parameters;
  gemel_value loss;
  gemel_error error;
} run_state;

/* ---- Steps ---- */

static gemel_status step_build(run_state *r) {
  r->graph = gemel_graph_new(r->context, &r->error);
  if (r->graph == NULL) {
    return r->error.status;
  }
  r->loss = r->model->loss(r->graph, r->size, &r->parameters);
  r->error = *gemel_graph_error(r->graph);
  return r->error.status;
}

static gemel_status step_gradient(run_state *r) {
  gemel_status status = gemel__training_gradient(r->loss, &r->parameters, &r->error);
  return status == GEMEL_OK ? gemel__training_outputs(r->loss, &r->parameters, &r->error) : status;
}

static gemel_status step_rewrite(run_state *r) {
  r->rewritten = gemel_rewrite(r->graph, NULL, &r->error);
  return r->rewritten != NULL ? GEMEL_OK : r->error.status;
}

static gemel_status step_compile(run_state *r) {
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = 1};
  r->function = gemel_compile(r->rewritten, &options, &r->error);
  return r->function != NULL ? GEMEL_OK : r->error.status;
}

static gemel_status (*const run_step[CALLABLE])(run_state *r) = {[BUILD] = step_build,
                                                                 [GRADIENT] = step_gradient,
                                                                 [REWRITE] = step_rewrite,
                                                                 [COMPILE] = step_compile};

static void forget(run_state *r) {
  gemel_function_free(r->function);
  gemel_graph_unref(r->rewritten);
  gemel_graph_unref(r->graph);
  gemel__parameters_free(&r->parameters);
  r->function = NULL;
  r->rewritten = r->graph = NULL;
}

/* ---- Calls ---- */

/* A tensor of zeros for input K. */
static gemel_tensor *zeros(run_state *r, size_t k) {
  gemel_value input = gemel_graph_input(r->rewritten, k);
  gemel_type type = gemel_value_type(input);
  const gemel_dim *dims = gemel_type_dims(r->context, type);
  int64_t shape[8];
  int axis, rank = gemel_type_rank(r->context, type);
  for (axis = 0; axis < rank; axis++) {
    gemel_dim_is_constant(r->context, dims[axis], &shape[axis]);
  }
  return gemel_tensor_new(gemel_type_dtype(r->context, type), rank, shape, &r->error);
}

/* Calls the function twice. */
static gemel_status call_twice(run_state *r, gemel_tensor **inputs, gemel_tensor **outputs,
                               double *seconds) {
  double start = gemel__bench_thread_seconds(), between;
  gemel_status status = gemel_call(r->function, gemel_function_input_count(r->function), inputs,
                                   gemel_function_output_count(r->function), outputs, &r->error);
  between = gemel__bench_thread_seconds();
  if (status == GEMEL_OK) {
    status = gemel_call(r->function, gemel_function_input_count(r->function), inputs,
                        gemel_function_output_count(r->function), outputs, &r->error);
  }
  *seconds = 2 * between - start - gemel__bench_thread_seconds();
  return status;
}

static void unref_all(gemel_tensor **tensors, size_t n) {
  while (n-- > 0) {
    gemel_tensor_unref(tensors[n]);
  }
  free(tensors);
}

static gemel_tensor **room_for(size_t n) {
  gemel_tensor **tensors = gemel__need(NULL, (n + 1) * sizeof *tensors);
  memset(tensors, 0, (n + 1) * sizeof *tensors);
  return tensors;
}

static gemel_status time_plan(run_state *r, double *seconds, size_t *kernels) {
  size_t n = gemel_graph_input_count(r->rewritten), m = gemel_graph_output_count(r->rewritten), k;
  gemel_tensor **inputs = room_for(n), **outputs = room_for(m);
  gemel_status status = GEMEL_OK;
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    inputs[k] = zeros(r, k);
    status = inputs[k] != NULL ? GEMEL_OK : r->error.status;
  }
  if (status == GEMEL_OK) {
    status = call_twice(r, inputs, outputs, seconds);
  }
  *kernels = gemel_function_kernels(r->function);
  unref_all(inputs, n);
  unref_all(outputs, m);
  return status;
}

/* ---- Runs ---- */

/* What one size of one model came to: the best times, and the work before and after. */
typedef struct figures {
  double seconds[STEP_COUNT];
  double certified; /* rewriting with every application checked */
  size_t kernels;   /* that a call runs */
  double lift_seconds[GEMEL_LIFT_STRATEGY_COUNT];
  gemel_lift_counts lifts[GEMEL_LIFT_STRATEGY_COUNT];
  gemel__work before, after;
} figures;

static void keep_best(figures *f, int which, double seconds) {
  f->seconds[which] = seconds < f->seconds[which] ? seconds : f->seconds[which];
}

/* Rewrites once more, certified. */
static gemel_status time_certified(run_state *r, figures *f) {
#ifdef HAVE_VERIFY
  gemel_rewrite_options options = {.size = sizeof options, .certify = 1};
  gemel_status status = gemel_certify_enable(r->context, 1, &r->error);
  double start = gemel__bench_thread_seconds(), seconds;
  gemel_graph *result = status == GEMEL_OK ? gemel_rewrite(r->graph, &options, &r->error) : NULL;
  seconds = gemel__bench_thread_seconds() - start;
  f->certified = seconds < f->certified ? seconds : f->certified;
  gemel_graph_unref(result);
  return result != NULL ? GEMEL_OK : r->error.status;
#else
  (void)r;
  (void)f;
  return GEMEL_OK;
#endif
}

/* Lifts what was rewritten. Parameters lie on the device, data, loss and gradients on the host. */
static gemel_status time_lift(run_state *r, gemel_lift_strategy strategy, figures *f) {
  gemel_lift_report *report = gemel_lift_report_new();
  gemel_lift_options options = {
      .size = sizeof options, .space = 1, .strategy = strategy, .inputs = "*[0-9]"};
  double start = gemel__bench_thread_seconds(), seconds;
  gemel_graph *lifted = gemel_lift(r->rewritten, &options, &r->error);
  seconds = gemel__bench_thread_seconds() - start;
  f->lift_seconds[strategy] =
      seconds < f->lift_seconds[strategy] ? seconds : f->lift_seconds[strategy];
  gemel_graph_unref(lifted);
  options.report = report;
  lifted = lifted != NULL && report != NULL ? gemel_lift(r->rewritten, &options, &r->error) : NULL;
  f->lifts[strategy] = report != NULL ? *gemel_lift_report_counts(report) : f->lifts[strategy];
  gemel_lift_report_free(report);
  gemel_graph_unref(lifted);
  return lifted != NULL ? GEMEL_OK : r->error.status;
}

static gemel_status time_lifts(run_state *r, figures *f) {
  static gemel_device stand_in;
  gemel_status status = GEMEL_OK;
  if (gemel_device_of_space(r->context, 1) == NULL) {
    stand_in = *gemel_host();
    stand_in.name = "stand-in";
    status = gemel_register_device(r->context, 1, &stand_in, &r->error);
  }
  for (int k = 0; k < GEMEL_LIFT_STRATEGY_COUNT && status == GEMEL_OK; k++) {
    status = time_lift(r, (gemel_lift_strategy)k, f);
  }
  return status;
}

static gemel_status run_steps(run_state *r, figures *f) {
  double callable = 0, plan = 0;
  gemel_status status;
  for (int k = 0; k < CALLABLE; k++) {
    double start = gemel__bench_thread_seconds(), seconds;
    status = run_step[k](r);
    seconds = gemel__bench_thread_seconds() - start;
    if (status != GEMEL_OK) {
      return status;
    }
    keep_best(f, k, seconds);
    callable += k >= REWRITE ? seconds : 0;
  }
  keep_best(f, CALLABLE, callable);
  f->before = gemel__work_of(r->graph);
  f->after = gemel__work_of(r->rewritten);
  status = time_certified(r, f);
  status = status == GEMEL_OK ? time_lifts(r, f) : status;
  status = status == GEMEL_OK ? time_plan(r, &plan, &f->kernels) : status;
  if (status == GEMEL_OK) {
    keep_best(f, PLAN, plan);
  }
  return status;
}

/* A run in a new context, in which a model of one unit goes first: rules are loaded, tables are
 * made. */
static gemel_status run_once(run_state *r, figures *f, figures *first) {
  uint64_t size = r->size;
  r->context = gemel_context_new(&r->error);
  if (r->context == NULL) {
    return r->error.status;
  }
  r->size = 1;
  gemel_status status = run_steps(r, first);
  forget(r);
  r->size = size;
  if (status == GEMEL_OK) {
    status = run_steps(r, f);
    forget(r);
  }
  gemel_context_unref(r->context);
  return status;
}

static figures no_figures(void) {
  figures f;
  memset(&f, 0, sizeof f);
  f.certified = 1e30;
  for (int k = 0; k < STEP_COUNT; k++) {
    f.seconds[k] = 1e30;
  }
  for (int k = 0; k < GEMEL_LIFT_STRATEGY_COUNT; k++) {
    f.lift_seconds[k] = 1e30;
  }
  return f;
}

/* At least RUNS runs, and for SECONDS. */
static int measure(run_state *r, figures *f, figures *first, int runs, double seconds) {
  double start = gemel__now();
  for (int k = 0; k < runs || gemel__now() - start < seconds; k++) {
    gemel__progress("gemel bench: optimizer, %s of %llu %s, run %d", r->model->name,
                    (unsigned long long)r->size, r->model->unit, k + 1);
    if (run_once(r, f, first) != GEMEL_OK) {
      forget(r);
      return gemel__complain_error(r->model->name, &r->error);
    }
  }
  return GEMEL__GOOD;
}

/* ---- Sizes ---- */

/* The nodes of a training graph of so many units. */
static int count_nodes(run_state *r, uint64_t size, double *nodes) {
  r->size = size;
  r->context = gemel_context_new(&r->error);
  gemel_status status = r->context != NULL ? step_build(r) : r->error.status;
  status = status == GEMEL_OK ? step_gradient(r) : status;
  if (status == GEMEL_OK) {
    *nodes = (double)gemel__work_of(r->graph).nodes;
  }
  forget(r);
  gemel_context_unref(r->context);
  return status == GEMEL_OK ? GEMEL__GOOD : gemel__complain_error(r->model->name, &r->error);
}

/* The model grows by as many nodes with each unit. */
typedef struct growth {
  double fixed, each;
} growth;

static int find_growth(run_state *r, growth *g) {
  double few = 0, more = 0;
  if (count_nodes(r, 4, &few) != GEMEL__GOOD || count_nodes(r, 8, &more) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  g->each = (more - few) / 4;
  g->fixed = few - 4 * g->each;
  return GEMEL__GOOD;
}

/* How many units come nearest to NODES nodes. */
static uint64_t units(const growth *g, double nodes) {
  double count = (nodes - g->fixed) / g->each + 0.5;
  return count > 1 ? (uint64_t)count : 1;
}

/* ---- Reports ---- */

static void report_work(gemel__bench *b, const char *name, const char *when,
                        const gemel__work *work) {
  char metric[32];
  snprintf(metric, sizeof metric, "nodes%s", when);
  gemel__bench_report(b, name, metric, (double)work->nodes, "nodes", NULL);
  snprintf(metric, sizeof metric, "operations%s", when);
  gemel__bench_report(b, name, metric, (double)work->operations, "nodes", NULL);
  snprintf(metric, sizeof metric, "views%s", when);
  gemel__bench_report(b, name, metric, (double)work->views, "nodes", NULL);
  snprintf(metric, sizeof metric, "convolutions%s", when);
  gemel__bench_report(b, name, metric, (double)work->convolutions, "nodes", NULL);
  snprintf(metric, sizeof metric, "flops%s", when);
  gemel__bench_report(b, name, metric, work->flops, "flops", NULL);
}

/* What lifting came to, of a graph of about WANTED nodes. */
static void report_lifts(gemel__bench *b, const char *name, uint64_t wanted, const figures *f) {
  for (int k = 0; k < GEMEL_LIFT_STRATEGY_COUNT; k++) {
    const char *strategy = gemel_lift_strategy_name((gemel_lift_strategy)k);
    const gemel_lift_counts *counts = &f->lifts[k];
    const struct {
      const char *what;
      double value;
    } rows[] = {{"lifted", (double)counts->lifted},
                {"stayed", (double)counts->stayed},
                {"uploads", (double)counts->uploads},
                {"downloads", (double)counts->downloads},
                {"once", (double)counts->once}};
    char metric[48];
    for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
      snprintf(metric, sizeof metric, "%s %s", strategy, rows[j].what);
      gemel__bench_report(b, name, metric, rows[j].value, "nodes", NULL);
    }
    snprintf(metric, sizeof metric, "%s lift", strategy);
    gemel__bench_report(b, name, metric, 1e6 * f->lift_seconds[k] / (double)f->before.nodes,
                        "us/node", NULL);
    snprintf(metric, sizeof metric, "rewrite and %s lift", strategy);
    gemel__bench_report(b, name, metric, 1e3 * (f->seconds[REWRITE] + f->lift_seconds[k]), "ms",
                        wanted <= LIFTED_NODES ? &lifted_target : NULL);
  }
}

/* JUDGED: the figures have targets. */
static void report_size(gemel__bench *b, const run_state *r, uint64_t wanted, const figures *f,
                        int judged) {
  char name[64];
  double nodes = (double)f->before.nodes;
  int k;
  snprintf(name, sizeof name, "%s of %llu", r->model->name, (unsigned long long)wanted);
  gemel__bench_report(b, name, r->model->unit, (double)r->size, r->model->unit, NULL);
  report_work(b, name, "", &f->before);
  report_work(b, name, " left", &f->after);
  gemel__bench_report(b, name, "kernels", (double)f->kernels, "kernels", NULL);
  for (k = 0; k < STEP_COUNT; k++) {
    gemel__bench_report(b, name, steps[k].name, 1e6 * f->seconds[k] / nodes, "us/node",
                        judged ? &steps[k].target : NULL);
  }
  report_lifts(b, name, wanted, f);
  if (f->certified < 1e30) {
    gemel__bench_report(b, name, "certified / plain", f->certified / f->seconds[REWRITE], "ratio",
                        wanted >= CERTIFIED_NODES ? &certified_target : NULL);
  }
}

static void report_growth(gemel__bench *b, const run_state *r, const figures *small,
                          const figures *big) {
  double ratio = (double)small->before.nodes / (double)big->before.nodes;
  char metric[32];
  int k;
  for (k = 0; k < STEP_COUNT; k++) {
    snprintf(metric, sizeof metric, "%s big/small", steps[k].name);
    gemel__bench_report(b, r->model->name, metric, big->seconds[k] / small->seconds[k] * ratio,
                        "ratio", steps[k].target.sense != GEMEL__BENCH_FREE ? &ratio_target : NULL);
  }
}

static int run_model(gemel__bench *b, const gemel__training *model) {
  static const double shares[SIZES] = {0.001, 0.024938, 0.1, 1};
  run_state r;
  growth g;
  double nodes = b->nodes > 0 ? (double)b->nodes : NODES;
  figures all[SIZES], first = no_figures();
  memset(&r, 0, sizeof r);
  r.model = model;
  if (find_growth(&r, &g) != GEMEL__GOOD) {
    return GEMEL__BAD;
  }
  for (int k = 0; k < SIZES; k++) {
    uint64_t wanted = (uint64_t)(shares[k] * nodes + 0.5);
    int is_big = k == SIZES - 1;
    all[k] = no_figures();
    r.size = units(&g, (double)wanted);
    if (measure(&r, &all[k], &first, is_big ? BIG_RUNS : SMALL_RUNS,
                is_big ? 0 : 1e-3 * (double)b->time_ms) != GEMEL__GOOD) {
      return GEMEL__BAD;
    }
    report_size(b, &r, wanted, &all[k], is_big);
  }
  gemel__bench_report(b, model->name, "first rewrite", first.seconds[REWRITE], "s", NULL);
  report_growth(b, &r, &all[0], &all[SIZES - 1]);
  return GEMEL__GOOD;
}

typedef struct thread_state {
  gemel__bench *b;
  int status;
} thread_state;

static void *run_thread(void *state) {
  thread_state *t = state;
  const gemel__training *model;
  for (model = gemel__trainings; model->name != NULL && t->status == GEMEL__GOOD; model++) {
    if (gemel__bench_wanted(t->b, model->name)) {
      t->status = run_model(t->b, model);
    }
  }
  return NULL;
}

int gemel__bench_optimizer(gemel__bench *b) {
  thread_state t = {b, GEMEL__GOOD};
  int status = gemel__bench_on_small_stack(run_thread, &t);
  return status == GEMEL__GOOD ? t.status : status;
}
