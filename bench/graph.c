/* SPDX-License-Identifier: MIT
 *
 * Suite graph: what is done with big graphs, step by step: build, print, parse, free, save, load,
 * differentiate. Everything runs on one thread with a stack of 256 KiB, so a function that recurses
 * on the depth of a graph ends the program. Times are the processor time of that thread. Each shape
 * is measured at N / 1000 and at N nodes by turns, three times each. Rates are of the best runs.
 * How the times of both sizes compare, which says whether a step is linear, is told turn by turn,
 * median against median: a machine that others use too is fast and slow by turns, and the best of
 * hundreds of small runs is from a better moment than the best of three big ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"
#include "memory.h"
#include "shapes.h"

enum { NODES = 10000000, ROUNDS = 3, SMALL_RUNS = 10, MOST_SAMPLES = 1000, SHRINK = 1000 };

/* One run: what a step makes and the next one takes. */
typedef struct run_state {
  const gemel__shape *shape;
  uint64_t nodes, seed;
  const char *path; /* of a scratch file */
  gemel_context *context;
  gemel_graph *graph, *copy;
  gemel_value x, y;
  char *text;
  uint64_t created;           /* nodes, by the gradient */
  double bytes, peak;         /* a node, after and while building */
  double text_bytes, printed; /* a node */
  gemel_error error;
} run_state;

/* ---- Steps ---- */

static gemel_type vector(gemel_context *context) {
  static const int64_t shape[] = {1000};
  return gemel_type_of_shape(context, GEMEL_F32, 1, shape);
}

static gemel_status copy_error(run_state *r) {
  r->error = *gemel_graph_error(r->graph);
  return r->error.status;
}

static gemel_status step_build(run_state *r) {
  r->graph = gemel_graph_new(r->context, &r->error);
  if (r->graph == NULL) {
    return r->error.status;
  }
  r->x = gemel_input(r->graph, "x", vector(r->context));
  r->y = r->shape->build(r->graph, r->x, r->nodes, r->seed);
  return gemel_output(r->y, "y") == GEMEL_OK ? GEMEL_OK : copy_error(r);
}

static gemel_status step_print(run_state *r) {
  r->text = gemel_print_string(r->graph, "big", &r->error);
  return r->text != NULL ? GEMEL_OK : r->error.status;
}

static gemel_status step_parse(run_state *r) {
  r->copy = gemel_parse(r->context, r->text, strlen(r->text), "big.gmt", NULL, &r->error);
  return r->copy != NULL ? GEMEL_OK : r->error.status;
}

static gemel_status step_free(run_state *r) {
  gemel_graph_unref(r->copy);
  r->copy = NULL;
  return GEMEL_OK;
}

static gemel_status step_save(run_state *r) {
  return gemel_save(r->graph, "big", r->path, &r->error);
}

static gemel_status step_load(run_state *r) {
  r->copy = gemel_load(r->context, r->path, NULL, &r->error);
  return r->copy != NULL ? GEMEL_OK : r->error.status;
}

static gemel_status step_gradient(run_state *r) {
  gemel_value seed = gemel_input(r->graph, "seed", vector(r->context)), gradient;
  return gemel_grad(1, &r->y, &seed, 1, &r->x, &gradient, &r->error);
}

typedef enum step { BUILD, PRINT, PARSE, FREE, SAVE, LOAD, GRADIENT, STEP_COUNT } step;

/* In this order; the copy that `load` makes is freed without being measured. */
static const struct {
  const char *name;
  gemel_status (*run)(run_state *r);
} steps[STEP_COUNT] = {[BUILD] = {"build", step_build},
                       [PRINT] = {"print", step_print},
                       [PARSE] = {"parse", step_parse},
                       [FREE] = {"free", step_free},
                       [SAVE] = {"save", step_save},
                       [LOAD] = {"load", step_load},
                       [GRADIENT] = {"gradient", step_gradient}};

/* ---- Runs ---- */

/* What one size of one shape came to: the best times, the medians of the last turn, and bytes a
 * node. */
typedef struct figures {
  double seconds[STEP_COUNT], typical[STEP_COUNT];
  double bytes, peak, text_bytes, created;
} figures;

/* What a step leaves must be what the next one is said to work on. */
static gemel_status check_copy(run_state *r, const gemel_graph *copy, const char *name) {
  if (copy != NULL && gemel_graph_node_count(copy) != r->nodes + 1) {
    r->error.status = GEMEL_INTERNAL;
    snprintf(r->error.text, sizeof r->error.text, "%s: %zu nodes, not %llu", name,
             gemel_graph_node_count(copy), (unsigned long long)r->nodes + 1);
    return GEMEL_INTERNAL;
  }
  return GEMEL_OK;
}

static void after_step(run_state *r, step which, figures *f, size_t held_before) {
  double nodes = (double)r->nodes;
  if (which == BUILD) {
    f->bytes = (double)gemel_graph_bytes(r->graph) / nodes;
    f->peak = (double)(gemel__bench_peak() - held_before) / nodes;
  } else if (which == PRINT) {
    f->text_bytes = (double)strlen(r->text) / nodes;
  } else if (which == PARSE) {
    gemel_text_free(r->text);
    r->text = NULL;
  } else if (which == LOAD) {
    step_free(r);
  } else if (which == GRADIENT) {
    f->created = ((double)gemel_graph_node_count(r->graph) - nodes - 2) / nodes;
  }
}

/* TOOK: gets the time of each step. */
static gemel_status run_steps(run_state *r, figures *f, double *took) {
  for (int k = 0; k < STEP_COUNT; k++) {
    size_t held = gemel__bench_held();
    double start;
    gemel_status status;
    gemel__bench_forget_peak();
    start = gemel__bench_thread_seconds();
    status = steps[k].run(r);
    took[k] = gemel__bench_thread_seconds() - start;
    if (status == GEMEL_OK && k != GRADIENT) {
      status = check_copy(r, k == PARSE || k == LOAD ? r->copy : r->graph, steps[k].name);
    }
    if (status != GEMEL_OK) {
      return status;
    }
    f->seconds[k] = took[k] < f->seconds[k] ? took[k] : f->seconds[k];
    after_step(r, (step)k, f, held);
  }
  return GEMEL_OK;
}

static gemel_status run_once(run_state *r, figures *f, double *took) {
  r->context = gemel_context_new(&r->error);
  if (r->context == NULL) {
    return r->error.status;
  }
  gemel_status status = run_steps(r, f, took);
  gemel_text_free(r->text);
  gemel_graph_unref(r->copy);
  gemel_graph_unref(r->graph);
  gemel_context_unref(r->context);
  r->text = NULL;
  r->graph = r->copy = NULL;
  return status;
}

/* One turn: at least RUNS runs of NODES nodes, and for SECONDS. */
static int measure(run_state *r, figures *f, uint64_t nodes, int runs, double seconds) {
  int n;
  static double samples[STEP_COUNT][MOST_SAMPLES]; /* the thread's stack is small */
  double start = gemel__now(), took[STEP_COUNT];
  r->nodes = nodes;
  for (n = 0; n < runs || gemel__now() - start < seconds; n++) {
    gemel__progress("gemel bench: graph, %s of %llu nodes, run %d", r->shape->name,
                    (unsigned long long)r->nodes, n + 1);
    if (run_once(r, f, took) != GEMEL_OK) {
      return gemel__complain_error(r->shape->name, &r->error);
    }
    for (int k = 0; k < STEP_COUNT; k++) {
      samples[k][n % MOST_SAMPLES] = took[k];
    }
  }
  for (int k = 0; k < STEP_COUNT; k++) {
    f->typical[k] = gemel__bench_median(samples[k], n < MOST_SAMPLES ? n : MOST_SAMPLES);
  }
  return GEMEL__GOOD;
}

/* ---- Reports ---- */

static const gemel__bench_target rate_target = {GEMEL__BENCH_AT_LEAST, 1e6},
                                 bytes_target = {GEMEL__BENCH_AT_MOST, 100},
                                 ratio_target = {GEMEL__BENCH_AT_MOST, 2};

/* JUDGED: the figures have targets. */
static void report_size(gemel__bench *b, const run_state *r, const figures *f, int judged) {
  char name[64];
  double nodes = (double)r->nodes;
  snprintf(name, sizeof name, "%s of %llu", r->shape->name, (unsigned long long)r->nodes);
  for (int k = 0; k < STEP_COUNT; k++) {
    gemel__bench_report(b, name, steps[k].name, nodes / f->seconds[k], "nodes/s",
                        judged ? &rate_target : NULL);
  }
  gemel__bench_report(b, name, "gradient's own", nodes * f->created / f->seconds[GRADIENT],
                      "nodes/s", NULL);
  gemel__bench_report(b, name, "gradient's nodes", f->created, "per node", NULL);
  gemel__bench_report(b, name, "graph bytes", f->bytes, "B/node", judged ? &bytes_target : NULL);
  gemel__bench_report(b, name, "peak bytes", f->peak, "B/node", judged ? &bytes_target : NULL);
  gemel__bench_report(b, name, "text bytes", f->text_bytes, "B/node", NULL);
}

static void no_figures(figures *f) {
  memset(f, 0, sizeof *f);
  for (int k = 0; k < STEP_COUNT; k++) {
    f->seconds[k] = 1e30;
  }
}

static int run_shape(gemel__bench *b, run_state *r, const gemel__shape *shape) {
  figures small, big;
  uint64_t nodes = b->nodes > 0 ? b->nodes : NODES;
  uint64_t few = nodes / SHRINK > 10 ? nodes / SHRINK : 10;
  double ratios[STEP_COUNT][ROUNDS], per_node = (double)few / (double)nodes;
  char metric[32];
  r->shape = shape;
  no_figures(&small);
  no_figures(&big);
  for (int round = 0; round < ROUNDS; round++) {
    if (measure(r, &small, few, SMALL_RUNS, 1e-3 * (double)b->time_ms) != GEMEL__GOOD ||
        measure(r, &big, nodes, 1, 0) != GEMEL__GOOD) {
      return GEMEL__BAD;
    }
    for (int k = 0; k < STEP_COUNT; k++) {
      ratios[k][round] = big.typical[k] / small.typical[k] * per_node;
    }
  }
  r->nodes = few;
  report_size(b, r, &small, 0);
  r->nodes = nodes;
  report_size(b, r, &big, 1);
  for (int k = 0; k < STEP_COUNT; k++) {
    snprintf(metric, sizeof metric, "%s big/small", steps[k].name);
    gemel__bench_report(b, shape->name, metric, gemel__bench_median(ratios[k], ROUNDS), "ratio",
                        k == FREE ? NULL : &ratio_target); /* a small graph's takes no time */
  }
  return GEMEL__GOOD;
}

/* ---- The thread with the small stack ---- */

typedef struct thread_state {
  gemel__bench *b;
  const char *path;
  int status;
} thread_state;

static void *run_thread(void *state) {
  thread_state *t = state;
  run_state *r = gemel__need(NULL, sizeof *r);
  const gemel__shape *shape;
  memset(r, 0, sizeof *r);
  r->seed = t->b->seed;
  r->path = t->path;
  for (shape = gemel__shapes; shape->name != NULL && t->status == GEMEL__GOOD; shape++) {
    if (gemel__bench_wanted(t->b, shape->name)) {
      t->status = run_shape(t->b, r, shape);
    }
  }
  free(r);
  return NULL;
}

int gemel__bench_graph(gemel__bench *b) {
  const char *base = getenv("TMPDIR");
  char *folder = gemel__need_text("%s/gemel-bench.XXXXXX", base != NULL ? base : "/tmp"), *path;
  thread_state t = {b, NULL, GEMEL__GOOD};
  if (mkdtemp(folder) == NULL) {
    gemel__complain("%s: %s", folder, strerror(errno));
    free(folder);
    return GEMEL__BAD;
  }
  t.path = path = gemel__need_text("%s/big.gemel", folder);
  gemel__bench_count_start();
  int status = gemel__bench_on_small_stack(run_thread, &t);
  gemel__bench_count_stop();
  unlink(path);
  rmdir(folder);
  free(path);
  free(folder);
  return status == GEMEL__GOOD ? t.status : status;
}
