/*
 * A step of training on the device "cuda", run by the sim: a graph with a state, calls of it with
 * operands that are right or wrong, and what the host makes of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_STEP_H
#define GEMEL_TESTS_STEP_H

#include <cuda_runtime_api.h>
#include <gemel/cuda.h>
#include <gemel/lift.h>
#include <stdlib.h>
#include "../run.h"
#include "graph-text.h"
#include "near.h"
#include "sim/sim.h"

/* A step of training, with a product, a cluster, an index that is read at run time and targets. */
static const char *const step_text =
    "graph g(state w: f32[6, 5], x: f32[4, 6], t: i64[4], k: i64[]) {\n"
    "  h = dot(x, w)\n"
    "  e = sum(cross_entropy(h, t, axis = 1))\n"
    "  part = subtensor(h * 3 - h, start = [k, 0], size = [2, 5])\n"
    "  update w = w + minimum(max(part), 2)\n"
    "  return loss = e, part = part\n"
    "}\n";

enum { CALLS = 6, INPUTS = 3, RESULTS = 2, CLASSES = 5, STARTS = 2 };

/* What is wrong with a call's operands. */
typedef enum { RIGHT, INDEX, TARGET } flaw;

/* The graph as a function, with its shared variable, on the host or lifted. */
typedef struct step {
  gemel_function *f;
  gemel_shared *w;
  gemel_tensor *in[INPUTS];
} step;

static gemel_tensor *filled(gemel_dtype dtype, int rank, const int64_t *shape, int64_t below) {
  gemel_tensor *t = gemel_tensor_new(dtype, rank, shape, &error);
  for (int64_t k = 0; t != NULL && k < gemel_tensor_elements(t); k++) {
    if (dtype == GEMEL_F32) {
      ((float *)gemel_tensor_data(t))[k] = (float)(k * 5 % below - below / 2);
    } else {
      ((int64_t *)gemel_tensor_data(t))[k] = k % below;
    }
  }
  return t;
}

static void close_step(step *s) {
  for (int k = 0; k < INPUTS; k++) {
    gemel_tensor_unref(s->in[k]);
  }
  gemel_function_free(s->f);
  gemel_shared_unref(s->w);
}

static gemel_status open_step(step *s, const gemel_graph *graph, int lifted) {
  gemel_lift_options lift = {.size = sizeof lift, .space = 1, .states = 1};
  gemel_options options = {.size = sizeof options,
                           .threads = 1,
                           .lift = lifted ? &lift : NULL,
                           .states = &s->w,
                           .n_states = 1};
  const int64_t w_shape[] = {6, 5}, x_shape[] = {4, 6}, t_shape = 4;
  gemel_tensor *w = filled(GEMEL_F32, 2, w_shape, 7);
  *s = (step){.w = w != NULL ? gemel_shared_new(w, &error) : NULL};
  gemel_tensor_unref(w);
  s->in[0] = filled(GEMEL_F32, 2, x_shape, 5);
  s->in[1] = filled(GEMEL_I64, 1, &t_shape, CLASSES);
  s->in[2] = filled(GEMEL_I64, 0, NULL, 1);
  if (s->w != NULL && s->in[0] != NULL && s->in[1] != NULL && s->in[2] != NULL) {
    s->f = gemel_compile(graph, &options, &error);
  }
  return s->f != NULL ? GEMEL_OK : error.status;
}

/* Call NUMBER of S: each has another index and other targets. */
static gemel_status call_step(step *s, int number, flaw what, gemel_tensor **out) {
  int64_t *targets = gemel_tensor_data(s->in[1]);
  *(int64_t *)gemel_tensor_data(s->in[2]) = what == INDEX ? STARTS + 1 : number % (STARTS + 1);
  for (int k = 0; k < 4; k++) {
    targets[k] = (k + number) % CLASSES;
  }
  targets[2] = what == TARGET ? CLASSES : targets[2];
  return gemel_call(s->f, INPUTS, s->in, RESULTS, out, &error);
}

/* ---- What is right ---- */

static float wanted_w[CALLS + 1][30], wanted_part[CALLS][10], wanted_loss[CALLS];

/* The elements of a tensor, wherever it is; 1 if memory was out. */
static int read_tensor(const gemel_tensor *t, float *data) {
  gemel_tensor *here = gemel_tensor_transfer(t, gemel_host(), &error);
  if (here != NULL) {
    memcpy(data, gemel_tensor_data(here), (size_t)gemel_tensor_elements(here) * sizeof *data);
  }
  gemel_tensor_unref(here);
  return here == NULL;
}

static int read_w(const step *s, float *data) {
  gemel_tensor *w = gemel_shared_get(s->w);
  int failed = read_tensor(w, data);
  gemel_tensor_unref(w);
  return failed;
}

/* What the host makes of all calls. */
static void find_wanted(const gemel_graph *graph) {
  step s;
  CT_EQ_INT(open_step(&s, graph, 0), GEMEL_OK);
  CT_EQ_INT(read_w(&s, wanted_w[0]), 0);
  for (int k = 0; k < CALLS; k++) {
    gemel_tensor *out[RESULTS] = {NULL};
    CT_EQ_INT(call_step(&s, k, RIGHT, out), GEMEL_OK);
    read_tensor(out[0], &wanted_loss[k]);
    read_tensor(out[1], wanted_part[k]);
    read_w(&s, wanted_w[k + 1]);
    gemel_tensor_unref(out[0]);
    gemel_tensor_unref(out[1]);
  }
  close_step(&s);
}

/* The state behind call NUMBER - 1. Reading it may be refused, too, once. */
static void check_state(const step *s, int number) {
  float w[30] = {0};
  if (read_w(s, w) != 0) {
    CT_EQ_INT(error.status, GEMEL_NO_MEMORY);
    CT_EQ_INT(read_w(s, w), 0);
  }
  CT_EQ_MEM(w, wanted_w[number], sizeof w);
}

static void check_call(const step *s, int number, gemel_tensor **out) {
  CT_EQ_MEM(gemel_tensor_data(out[1]), wanted_part[number], sizeof wanted_part[number]);
  CT_CHECK(is_near(float_at(out[0], 0), wanted_loss[number], 1e-4 * (1 + wanted_loss[number])));
  check_state(s, number + 1);
}

/* ---- The device ---- */

typedef struct bench {
  gemel_context *context;
  gemel_cuda *cuda;
  gemel_graph *graph;
} bench;

static void close_bench(bench *b) {
  gemel_graph_unref(b->graph);
  gemel_context_unref(b->context);
  gemel_cuda_close(b->cuda);
}

/* On GPU ORDINAL. */
static gemel_status open_bench(bench *b, int ordinal) {
  gemel_status status;
  *b = (bench){gemel_context_new(&error), gemel_cuda_open(ordinal, &error), NULL};
  status = b->context != NULL && b->cuda != NULL
               ? gemel_register_device(b->context, 1, gemel_cuda_device(b->cuda), &error)
               : error.status;
  if (status == GEMEL_OK) {
    b->graph = gemel_parse(b->context, step_text, strlen(step_text), "test", NULL, &error);
  }
  return status != GEMEL_OK ? status : b->graph != NULL ? GEMEL_OK : error.status;
}

/* Before all others: what the host makes of the calls. */
static void prepare(const void *data) {
  bench b;
  (void)data;
  CT_EQ_INT(open_bench(&b, 0), GEMEL_OK);
  find_wanted(b.graph);
  close_bench(&b);
}

static void nothing_left(void) {
  gemel__sim_alive a = gemel__sim_living();
  if (gemel__sim_reports() > 0) {
    CT_FAIL("%s", gemel__sim_report(0));
  }
  CT_EQ_INT(a.allocations + a.pinned + a.streams + a.events + a.graphs, 0);
  CT_EQ_INT(a.libraries + a.handles + a.programs, 0);
  gemel__sim_forget();
}

/* What RUN does with each of its calls of CUDA refused in turn: no memory, and nothing is left. */
static inline void each_call_refused(gemel_status (*run)(void)) {
  long refused = 0;
  CT_EQ_INT(run(), GEMEL_OK);
  for (int was = 1; was; refused += was) {
    gemel__sim_seed((uint64_t)refused);
    gemel__sim_refuse(refused);
    gemel_status status = run();
    was = gemel__sim_refuse(-1);
    ct_context("call %ld of CUDA is refused: %s", refused, error.text);
    CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY));
    CT_EQ_INT(cudaSetDevice(0), cudaSuccess);
    nothing_left();
  }
  printf("  each of %ld calls of CUDA refused\n", refused);
  CT_CHECK(refused > 100);
}

#endif
