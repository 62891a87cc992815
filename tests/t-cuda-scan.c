/* SPDX-License-Identifier: MIT
 *
 * Loops on the device "cuda", run by the sim: they give there what they give on the host, the same
 * call once more is one launch, moves nothing and allocates nothing, and (on the sim, which can be
 * asked to) refused memory is an error that the next call doesn't feel.
 */
#include <gemel/cuda.h>
#include <gemel/lift.h>
#include "run.h"
#include "support/graph-text.h"
#include "support/near.h"
#include "support/on-gpu.h"
#include "support/watched-memory.h"

enum { CALLS = 6, MOST = 8 };

/* A graph, called g: with its gradient, if it has one, by all inputs that are floats. Results are
 * exact, or need only be near: products add up in another order. */
typedef struct loop_case {
  const char *name, *text;
  int gradient, near;
} loop_case;

static const loop_case cases[] = {
    {"rnn",
     "graph step(h: f32[N, H], x: f32[N, D], w: f32[D, H], u: f32[H, H]) {\n"
     "  return next = maximum(dot(x, w) + dot(h, u), 0)\n"
     "}\n"
     "graph g(x: f32[3, 2, 4], h: f32[2, 3], w: f32[4, 3], u: f32[3, 3]) {\n"
     "  last, all = scan(h, x, w, u, body = step, states = 1, sequences = 1)\n"
     "  return all, last\n"
     "}\n",
     1, 0},
    {"gru",
     "graph step(h: f32[N, H], x: f32[N, H], z: f32[H, H], r: f32[H, H], u: f32[H, H]) {\n"
     "  zt = sigmoid(x + dot(h, z))\n"
     "  rt = sigmoid(x + dot(h, r))\n"
     "  return next = zt * h + (1 - zt) * tanh(x + dot(rt * h, u))\n"
     "}\n"
     "graph g(x: f32[4, 2, 3], h: f32[2, 3], z: f32[3, 3], r: f32[3, 3], u: f32[3, 3]) {\n"
     "  last, all = scan(h, x, z, r, u, body = step, states = 1, sequences = 1, reverse = 1)\n"
     "  return all\n"
     "}\n",
     1, 1},
    {"nested",
     "graph inner(a: f32[], v: f32[], k: f32[]) { return a = a * k + v }\n"
     "graph outer(a: f32[], row: f32[4], k: f32[]) {\n"
     "  last, all = scan(a, row, k, body = inner, states = 1, sequences = 1)\n"
     "  return n = last, all\n"
     "}\n"
     "graph g(a: f32[], x: f32[3, 4], k: f32[]) {\n"
     "  last, all, rows = scan(a, x, k, body = outer, states = 1, sequences = 1)\n"
     "  return last, all, rows\n"
     "}\n",
     1, 0},
    {"no step, and one", /* whose addresses stay the same in the body, too */
     "graph step(s: f32[2], x: f32[2]) { return n = s * x, y = s - x }\n"
     "graph g(s: f32[2], x: f32[0, 2], z: f32[1, 2]) {\n"
     "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
     "  last1, all1, y1 = scan(s, z, body = step, states = 1, sequences = 1)\n"
     "  return last, all, y, last1, all1, y1\n"
     "}\n",
     1, 0},
    {"integers",
     "graph step(i: i64[], s: i32[3], x: i32[3]) {\n"
     "  return i = i + 1, s = x - s * cast(i, dtype = i32), y = arange(n = 3, dtype = i64) + i\n"
     "}\n"
     "graph g(i: i64[], s: i32[3], x: i32[4, 3]) {\n"
     "  i1, s1, ii, ss, y = scan(i, s, x, body = step, states = 2, sequences = 1, reverse = 1)\n"
     "  return i1, s1, ii, ss, y\n"
     "}\n",
     0, 0},
    {"key",
     "graph step(key: u64[2]) { u, next = random_uniform(key, shape = [5]) return next, u }\n"
     "graph g(key: u64[2]) {\n"
     "  last, all, u = scan(key, body = step, states = 1, length = 3)\n"
     "  return last, all, u\n"
     "}\n",
     0, 0},
    {"exchange", /* of two states nobody reads the histories, and two buffers of each take turns */
     "graph step(a: f32[3], b: f32[3]) { return a = b, b = a + b }\n"
     "graph g(a: f32[3], b: f32[3]) {\n"
     "  a5, b5, aa, bb = scan(a, b, body = step, states = 2, length = 5)\n"
     "  a4, b4, cc, dd = scan(b, a, body = step, states = 2, length = 4)\n"
     "  return a5, b5, a4, b4\n"
     "}\n",
     1, 0},
    {"views", /* rows, constants and initial values that aren't dense; constants of the body */
     "graph step(s: f32[2, 3], x: f32[3, 2], k: f32[3]) {\n"
     "  n = s * 2 - dimshuffle(x, order = [1, 0]) + k\n"
     "  return n, y = n * arange(n = 3, dtype = f32)\n"
     "}\n"
     "graph g(s: f32[3, 2], x: f32[3, 2, 4], k: f32[6]) {\n"
     "  last, all, y = scan(dimshuffle(s, order = [1, 0]), dimshuffle(x, order = [2, 0, 1]),\n"
     "                      subtensor(k, start = [5], size = [3], step = [-2]),\n"
     "                      body = step, states = 1, sequences = 1)\n"
     "  return last, all, y\n"
     "}\n",
     1, 0},
};

/* ---- Graphs and tensors ---- */

typedef struct bench {
  gemel_context *context;
  gemel_cuda *cuda;
} bench;

static gemel_status open_bench(bench *b) {
  *b = (bench){gemel_context_new(&error), gemel_cuda_open(0, &error)};
  return b->context != NULL && b->cuda != NULL
             ? gemel_register_device(b->context, 1, gemel_cuda_device(b->cuda), &error)
             : error.status;
}

static void close_bench(bench *b) {
  gemel_context_unref(b->context);
  gemel_cuda_close(b->cuda);
}

static void nothing_left(void) {
  gemel__sim_alive a = sim_living();
  CT_EQ_INT(sim_reports(), 0);
  CT_EQ_INT(a.allocations + a.pinned + a.streams + a.events + a.graphs, 0);
  CT_EQ_INT(a.libraries + a.handles + a.programs, 0);
  sim_forget();
}

/* The graph of C, with gradients if it has some. NULL when memory is out. */
static gemel_graph *case_graph(gemel_context *context, const loop_case *c) {
  gemel_graph *graph = gemel_parse(context, c->text, strlen(c->text), "test", NULL, &error);
  gemel_value loss = {NULL, 0, 0};
  if (graph == NULL) {
    return NULL;
  }
  size_t outputs = gemel_graph_output_count(graph);
  for (size_t k = 0; c->gradient && k < outputs; k++) {
    gemel_value y = gemel_graph_output(graph, k), sum = gemel_sum(gemel_mul(y, y));
    loss = k == 0 ? sum : gemel_add(loss, sum);
  }
  for (size_t k = 0; c->gradient && k < gemel_graph_input_count(graph); k++) {
    char name[32];
    snprintf(name, sizeof name, "d%zu", k);
    gemel_output(gemel_gradient(loss, gemel_graph_input(graph, k)), name);
  }
  if (gemel_graph_error(graph)->status != GEMEL_OK) {
    error = *gemel_graph_error(graph);
    gemel_graph_unref(graph);
    return NULL;
  }
  return graph;
}

/* A tensor for VALUE, whose sizes are constants, of numbers from -2 to 2. */
static gemel_tensor *tensor_for(gemel_value value, uint64_t seed) {
  gemel_context *context = gemel_graph_context(value.graph);
  gemel_type type = gemel_value_type(value);
  int64_t shape[GEMEL_MAX_RANK], sum = 1;
  for (int axis = 0; axis < gemel_type_rank(context, type); axis++) {
    gemel_dim_is_constant(context, gemel_type_dims(context, type)[axis], &shape[axis]);
  }
  gemel_dtype dtype = gemel_type_dtype(context, type);
  gemel_tensor *t = gemel_tensor_new(dtype, gemel_type_rank(context, type), shape, &error);
  state = seed;
  for (int64_t k = 0; t != NULL && k < gemel_tensor_elements(t); k++) {
    void *data = gemel_tensor_data(t);
    sum = pick(5) - 2;
    switch (dtype) {
    case GEMEL_F32:
      ((float *)data)[k] = (float)sum;
      break;
    case GEMEL_I32:
      ((int32_t *)data)[k] = (int32_t)sum;
      break;
    default:
      ((int64_t *)data)[k] = sum;
    }
  }
  return t;
}

/* ---- Functions ---- */

/* A function and its operands and results, on the host or, all of them, on the device. */
typedef struct calls {
  gemel_function *f;
  gemel_shared *state; /* the first input of the graph, if that is a state; else NULL */
  gemel_tensor *in[MOST], *out[2 * MOST];
  size_t inputs, outputs;
} calls;

static void close_calls(calls *c) {
  for (size_t k = 0; k < MOST; k++) {
    gemel_tensor_unref(c->in[k]);
  }
  for (size_t k = 0; k < CT_COUNT(c->out); k++) {
    gemel_tensor_unref(c->out[k]);
  }
  gemel_function_free(c->f);
  gemel_shared_unref(c->state);
}

/* A tensor of numbers for VALUE, on the device if it is to be THERE. */
static gemel_tensor *operand(const bench *b, gemel_value value, int there, uint64_t seed) {
  gemel_tensor *here = tensor_for(value, seed);
  gemel_tensor *moved = here != NULL && there
                            ? gemel_tensor_transfer(here, gemel_cuda_device(b->cuda), &error)
                            : here;
  if (moved != here) {
    gemel_tensor_unref(here);
  }
  return moved;
}

/* REPORT: of the lift, or NULL. */
static gemel_status open_calls(calls *c, const bench *b, const gemel_graph *graph, int lifted,
                               gemel_lift_report *report) {
  gemel_lift_options lift = {.size = sizeof lift,
                             .space = 1,
                             .inputs = "*",
                             .outputs = "*",
                             .states = 1,
                             .report = report};
  gemel_options options = {.size = sizeof options, .threads = 1, .lift = lifted ? &lift : NULL};
  size_t states = (size_t)gemel_is_state(gemel_graph_input(graph, 0));
  options.as_written = states == 0; /* rewriting makes short loops their steps */
  *c = (calls){.inputs = gemel_graph_input_count(graph) - states,
               .outputs = gemel_graph_output_count(graph) - states};
  for (size_t k = 0; k < c->inputs; k++) {
    c->in[k] = operand(b, gemel_graph_input(graph, states + k), lifted, k);
    if (c->in[k] == NULL) {
      return error.status;
    }
  }
  if (states > 0) {
    gemel_tensor *first = tensor_for(gemel_graph_input(graph, 0), MOST);
    c->state = gemel_shared_new(first, &error);
    gemel_tensor_unref(first);
    options.states = &c->state;
    options.n_states = 1;
  }
  c->f = gemel_compile(graph, &options, &error);
  return c->f != NULL ? GEMEL_OK : error.status;
}

/* The first call makes the results that further calls write. */
static gemel_status call(calls *c) {
  return gemel_call(c->f, c->inputs, c->in, c->outputs, c->out, &error);
}

/* GOT, on a device, is W, on the host; ROUNDED: but for rounding. */
static void check_tensor(const gemel_tensor *got, const gemel_tensor *w, int rounded) {
  gemel_tensor *here = gemel_tensor_transfer(got, gemel_host(), &error);
  here = here != NULL ? here : gemel_tensor_transfer(got, gemel_host(), &error);
  size_t bytes = (size_t)gemel_tensor_elements(w) * gemel_dtype_size(gemel_tensor_dtype(w));
  CT_REQUIRE(here != NULL);
  CT_EQ_INT(gemel_tensor_elements(here), gemel_tensor_elements(w));
  for (int64_t i = 0; rounded && i < gemel_tensor_elements(w); i++) {
    double wanted = float_at(w, i);
    CT_CHECK(is_near(float_at(here, i), wanted, 1e-4 * (1 + fabs(wanted))));
  }
  if (!rounded) {
    CT_EQ_MEM(gemel_tensor_data(here), gemel_tensor_data(w), bytes);
  }
  gemel_tensor_unref(here);
}

/* What a call takes. */
typedef struct cost {
  gemel_cuda_counts cuda;
  long blocks; /* of the host's memory */
} cost;

static cost count(const bench *b) {
  cost c = {.cuda = {.size = sizeof c.cuda}};
  gemel_cuda_counted(b->cuda, &c.cuda);
  c.blocks = atomic_load(&watched.asked);
  return c;
}

/* A call that is like the two before it is one launch, of a recording. */
static void check_steady(const cost *before, const cost *after) {
  CT_EQ_INT(after->cuda.graphs - before->cuda.graphs, 1);
  CT_EQ_INT(after->cuda.kernels - before->cuda.kernels, 0);
  CT_EQ_INT(after->cuda.uploads - before->cuda.uploads, 0);
  CT_EQ_INT(after->cuda.downloads - before->cuda.downloads, 0);
  CT_EQ_INT(after->cuda.allocations - before->cuda.allocations, 0);
  CT_EQ_INT(after->blocks - before->blocks, 0);
}

static void compare(const bench *b, const gemel_graph *graph, const loop_case *c) {
  calls here, there;
  gemel_lift_report *report = gemel_lift_report_new();
  CT_EQ_INT(open_calls(&here, b, graph, 0, NULL), GEMEL_OK);
  CT_EQ_INT(open_calls(&there, b, graph, 1, report), GEMEL_OK);
  CT_EQ_UINT(gemel_lift_report_stay_count(report), 0);
  CT_EQ_INT(call(&here), GEMEL_OK);
  for (int k = 0; k < 4; k++) {
    cost before = count(b);
    ct_context("call %d: %s", k, error.text);
    CT_EQ_INT(call(&there), GEMEL_OK);
    cost after = count(b);
    if (k > 1) {
      check_steady(&before, &after);
    }
    for (size_t i = 0; i < here.outputs; i++) {
      check_tensor(there.out[i], here.out[i], c->near);
    }
  }
  close_calls(&here);
  close_calls(&there);
  gemel_lift_report_free(report);
}

static void same_there(const void *data) {
  const loop_case *c = data;
  bench b;
  watch_memory(0);
  CT_EQ_INT(open_bench(&b), GEMEL_OK);
  gemel_graph *graph = case_graph(b.context, c);
  CT_REQUIRE(graph != NULL);
  compare(&b, graph, c);
  gemel_graph_unref(graph);
  close_bench(&b);
  unwatch_memory();
  nothing_left();
}

/* ---- A step of training ---- */

/* A shared variable that a loop reads and whose next value is made of the loop's gradient: a call
 * is one launch, too. The variable and its next value change places, so the third call is the first
 * that finds all addresses as they were. Clusters of the bodies are compiled. */
static void training(const void *data) {
  static const loop_case c = {
      "training",
      "graph step(h: f32[2, 3], x: f32[2, 3], u: f32[3, 3]) { return n = tanh(x + dot(h, u)) }\n"
      "graph g(state u: f32[3, 3], x: f32[6, 2, 3], h: f32[2, 3]) {\n"
      "  last, all = scan(h, x, u, body = step, states = 1, sequences = 1)\n"
      "  return loss = sum(last)\n"
      "}\n",
      0, 1};
  bench b;
  (void)data;
  unsetenv("GEMEL_SIM_CXX");
  watch_memory(0);
  CT_EQ_INT(open_bench(&b), GEMEL_OK);
  gemel_graph *graph = case_graph(b.context, &c);
  gemel_value u = gemel_graph_input(graph, 0), loss = gemel_graph_output(graph, 0);
  gemel_update(u, gemel_sub(u, gemel_mul(gemel_gradient(loss, u), gemel_scalar_like(u, 0.25))));
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  calls here, there;
  CT_EQ_INT(open_calls(&here, &b, graph, 0, NULL), GEMEL_OK);
  CT_EQ_INT(open_calls(&there, &b, graph, 1, NULL), GEMEL_OK);
  for (int k = 0; k < CALLS; k++) {
    CT_EQ_INT(call(&here), GEMEL_OK);
    cost before = count(&b);
    CT_EQ_INT(call(&there), GEMEL_OK);
    cost after = count(&b);
    ct_context("call %d: %s", k, error.text);
    if (k > 3) {
      check_steady(&before, &after);
    }
    gemel_tensor *wanted_state = gemel_shared_get(here.state);
    gemel_tensor *got = gemel_shared_get(there.state);
    check_tensor(got, wanted_state, 1);
    gemel_tensor_unref(got);
    gemel_tensor_unref(wanted_state);
  }
  close_calls(&here);
  close_calls(&there);
  gemel_graph_unref(graph);
  close_bench(&b);
  unwatch_memory();
  nothing_left();
  setenv("GEMEL_SIM_CXX", "/nonexistent", 1);
}

/* ---- What isn't recorded ---- */

/* A loop of very many steps is asked for step by step, at each call. */
static void many_steps(const void *data) {
  static const loop_case c = {"many steps",
                              "graph step(s: i32[], x: i32[]) { return n = s + x }\n"
                              "graph g(s: i32[], x: i32[20001]) {\n"
                              "  last, all = scan(s, x, body = step, states = 1, sequences = 1)\n"
                              "  return last\n"
                              "}\n",
                              0, 0};
  bench b;
  calls here, there;
  (void)data;
  CT_EQ_INT(open_bench(&b), GEMEL_OK);
  gemel_graph *graph = case_graph(b.context, &c);
  CT_EQ_INT(open_calls(&here, &b, graph, 0, NULL), GEMEL_OK);
  CT_EQ_INT(open_calls(&there, &b, graph, 1, NULL), GEMEL_OK);
  CT_EQ_INT(call(&here), GEMEL_OK);
  for (int k = 0; k < 2; k++) {
    cost before = count(&b);
    CT_EQ_INT(call(&there), GEMEL_OK);
    cost after = count(&b);
    CT_EQ_INT(after.cuda.graphs - before.cuda.graphs, 0);
    CT_CHECK(after.cuda.kernels - before.cuda.kernels > 20000);
    check_tensor(there.out[0], here.out[0], 0);
  }
  close_calls(&here);
  close_calls(&there);
  gemel_graph_unref(graph);
  close_bench(&b);
  nothing_left();
}

/* ---- Memory that is refused ---- */

#ifndef GEMEL_ON_GPU

/* Memory is refused to what has an initial value, rows, a history, a stack and a constant. */
static const loop_case small = {
    "small",
    "graph step(s: f32[3], x: f32[3], k: f32[3, 3]) {\n"
    "  n = maximum(dot(k, s) + x, -1)\n"
    "  return n, y = n - s\n"
    "}\n"
    "graph g(s: f32[3], x: f32[2, 3], k: f32[3, 3]) {\n"
    "  last, all, y = scan(s, x, k, body = step, states = 1, sequences = 1)\n"
    "  return all, y\n"
    "}\n",
    0, 0};
static calls wanted;

/* Tensors for results like those that are wanted. */
static gemel_status make_results(const bench *b, calls *c) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < wanted.outputs && status == GEMEL_OK; k++) {
    c->out[k] = gemel_tensor_transfer(wanted.out[k], gemel_cuda_device(b->cuda), &error);
    status = c->out[k] != NULL ? GEMEL_OK : error.status;
  }
  return status;
}

/* Three calls that write the same tensors, the second of which records; each once more if memory is
 * refused to it. */
static gemel_status some_calls(const bench *b) {
  calls there = {0};
  gemel_graph *graph = case_graph(b->context, &small);
  gemel_status status = graph != NULL ? open_calls(&there, b, graph, 1, NULL) : error.status;
  status = status == GEMEL_OK ? make_results(b, &there) : status;
  for (int k = 0; k < 3 && status == GEMEL_OK; k++) {
    status = call(&there);
    status = status == GEMEL_NO_MEMORY ? call(&there) : status;
    for (size_t i = 0; CT_EQ_INT(status, GEMEL_OK) && i < wanted.outputs; i++) {
      check_tensor(there.out[i], wanted.out[i], 0);
    }
  }
  close_calls(&there);
  gemel_graph_unref(graph);
  return status;
}

static gemel_status whole_program(void) {
  bench b;
  gemel_status status = open_bench(&b);
  status = status == GEMEL_OK ? some_calls(&b) : status;
  close_bench(&b);
  return status;
}

/* Each call of CUDA that needs memory is refused it, and one in three of the host's allocations. */
static void refused(const void *data) {
  enum { STEP = 3 };
  long cuda = 0, host = 0;
  bench b;
  (void)data;
  unsetenv("GEMEL_SIM_CXX");
  CT_EQ_INT(open_bench(&b), GEMEL_OK);
  gemel_graph *graph = case_graph(b.context, &small);
  CT_EQ_INT(open_calls(&wanted, &b, graph, 0, NULL), GEMEL_OK);
  CT_EQ_INT(call(&wanted), GEMEL_OK);
  CT_EQ_INT(whole_program(), GEMEL_OK); /* kernels are compiled */
  gemel_graph_unref(graph);
  for (int was = 1; was; cuda += was) {
    gemel__sim_refuse(cuda);
    gemel_status status = whole_program();
    was = gemel__sim_refuse(-1);
    ct_context("call %ld of CUDA is refused: %s", cuda, error.text);
    CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY));
  }
  for (int was = 1; was; host += was) {
    watch_memory(1 + STEP * host);
    gemel_status status = whole_program();
    was = unwatch_memory();
    ct_context("allocation %ld of the host is refused: %s", 1 + STEP * host, error.text);
    CT_CHECK(status == GEMEL_OK || (was && status == GEMEL_NO_MEMORY));
  }
  printf("  %ld calls of CUDA and %ld allocations refused\n", cuda, host);
  CT_CHECK(cuda > 50 && host > 50);
  close_calls(&wanted);
  close_bench(&b);
  nothing_left();
  setenv("GEMEL_SIM_CXX", "/nonexistent", 1);
}
#endif

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("training", training, NULL),
      CT_TEST("many_steps", many_steps, NULL),
#ifndef GEMEL_ON_GPU
      CT_TEST("refused", refused, NULL),
#endif
  };
  need_gpu();
  setenv("GEMEL_CACHE", ct_scratch(), 1);
  setenv("GEMEL_SIM_CXX", "/nonexistent", 1); /* compiling kernels would take a minute */
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    CT_ADD_TO("cuda_scan", "same", cases[k].name, same_there, &cases[k]);
  }
  ct_suite("cuda_scan", tests, CT_COUNT(tests));
}
