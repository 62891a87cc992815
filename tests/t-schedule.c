/*
 * The order of computation. Schedules of random graphs have as many nodes in place as a check of
 * the whole graph allows; and functions that work in place give what plain ones give, in the memory
 * of one buffer where that is enough. What a poisoned function isn't to read is NaN.
 *
 * SPDX-License-Identifier: MIT
 */
#include "run/schedule.h"

#include "run.h"
#include "support/graph-text.h"
#include "support/operation.h"

/* ---- Graphs as matrices ---- */

enum { MOST = 60 };

typedef struct matrix {
  int n;
  unsigned char after[MOST][MOST]; /* 1: an edge from the first to the second */
} matrix;

static int reaches(const matrix *m, int from, int to) {
  unsigned char seen[MOST] = {0};
  int stack[MOST], depth = 0;
  seen[from] = 1;
  stack[depth++] = from;
  while (depth > 0) {
    int at = stack[--depth];
    if (at == to) {
      return 1;
    }
    for (int k = 0; k < m->n; k++) {
      if (m->after[at][k] && !seen[k]) {
        seen[k] = 1;
        stack[depth++] = k;
      }
    }
  }
  return 0;
}

/* ---- Schedules of random graphs ---- */

/* Random computations on vectors of 4, views and writes among them. */
static gemel_graph *random_graph(gemel_context *context, int n) {
  gemel_graph *g = gemel_graph_new(context, NULL);
  gemel_value values[MOST], part = f32_input(g, "part", NULL, 2);
  gemel_dim start = gemel_dim_constant(context, 1);
  int64_t axes[1] = {0};
  values[0] = f32_input(g, "x", NULL, 4);
  for (int k = 1; k < n; k++) {
    gemel_value a = values[pick(k)], b = values[pick(k)];
    switch (pick(6)) {
    case 0:
      values[k] = gemel_add(a, b);
      break;
    case 1:
      values[k] = gemel_reverse(a, 1, axes);
      break;
    case 2:
      values[k] = gemel_add(gemel_dot(a, b), gemel_scalar(g, GEMEL_F32, (double)k));
      values[k] = gemel_mul(values[k], a);
      break;
    default:
      values[k] = gemel_inc_subtensor(a, pick(3) != 0 ? part : gemel_add(part, part), 1, &start);
    }
  }
  for (int k = 0; k < 3; k++) {
    char name[8];
    snprintf(name, sizeof name, "r%d", k);
    gemel_output(values[n - 1 - k < 0 ? 0 : n - 1 - k], name);
  }
  return g;
}

static int is_write(const gemel_graph *g, uint32_t node) {
  return strcmp(gemel__node_op(g, node)->record.name, "inc_subtensor") == 0;
}

static int is_view(const gemel_graph *g, uint32_t node) {
  return gemel__node_op(g, node)->record.view != NULL;
}

/* Whether the nodes that read the memory of NODE can all come before WRITER in M; if so, they do.
 */
static int try_readers(const gemel_graph *g, matrix *m, const unsigned char *live, uint32_t node,
                       uint32_t writer) {
  unsigned char shares[MOST * 4] = {0};
  matrix tried = *m;
  uint32_t count;
  shares[node] = 1;
  for (uint32_t k = node; k < (uint32_t)m->n; k++) { /* views of views have larger ids */
    const gemel__ref *in = gemel__node_inputs(g, k, &count);
    for (uint32_t j = 0; live[k] && j < count; j++) {
      if (!shares[in[j].node]) {
        continue;
      }
      if (k == writer && in[j].node != node) {
        return 0;
      }
      if (k != writer && reaches(&tried, (int)writer, (int)k)) {
        return 0;
      }
      tried.after[k][writer] |= (unsigned char)(k != writer);
      shares[k] |= (unsigned char)(is_view(g, k));
    }
  }
  for (size_t k = 0; k < gemel_graph_output_count(g); k++) {
    if (shares[gemel_graph_output(g, k).node]) {
      return 0;
    }
  }
  *m = tried;
  return 1;
}

static int is_result(const gemel_graph *g, uint32_t node) {
  int found = 0;
  for (size_t k = 0; k < gemel_graph_output_count(g); k++) {
    found |= gemel_graph_output(g, k).node == node;
  }
  return found;
}

/* How many writes can be in place, one after another, by a look at the whole graph each time. */
static size_t exhaustive(const gemel_graph *g, const unsigned char *live) {
  static matrix m;
  unsigned char gone[MOST] = {0};
  size_t in_place = 0;
  uint32_t count;
  memset(&m, 0, sizeof m);
  m.n = (int)gemel_graph_node_count(g);
  for (uint32_t k = 0; k < (uint32_t)m.n; k++) {
    const gemel__ref *in = gemel__node_inputs(g, k, &count);
    for (uint32_t j = 0; live[k] && j < count; j++) {
      m.after[in[j].node][k] = 1;
    }
  }
  for (uint32_t k = 0; k < (uint32_t)m.n; k++) {
    const gemel__ref *in = gemel__node_inputs(g, k, &count);
    if (!live[k] || !is_write(g, k) || is_result(g, k) || is_view(g, in[0].node) ||
        (gemel__node_op(g, in[0].node)->record.flags & GEMEL_OP_SOURCE) || gone[in[0].node] ||
        in[1].node == in[0].node) {
      continue;
    }
    if (try_readers(g, &m, live, in[0].node, k)) {
      gone[in[0].node] = 1;
      in_place++;
    }
  }
  return in_place;
}

/* DONE: zeros for all nodes of G. */
static void check_order(const gemel_graph *g, const unsigned char *live, const uint32_t *order,
                        uint32_t n, unsigned char *done) {
  uint32_t count;
  for (uint32_t k = 0; k < n; k++) {
    const gemel__ref *in = gemel__node_inputs(g, order[k], &count);
    CT_CHECK(live[order[k]] && !done[order[k]]);
    for (uint32_t j = 0; j < count; j++) {
      CT_CHECK(done[in[j].node]);
    }
    done[order[k]] = 1;
  }
}

/* The same inputs to G, optimized and plain: the same bits. */
static void compare_runs(gemel_graph *g) {
  gemel_tensor *in[2] = {NULL, NULL}, *out[2][3] = {{NULL}};
  for (size_t k = 0; k < 2; k++) {
    in[k] = strcmp(gemel_graph_input_name(g, k), "x") == 0 ? vector_of(GEMEL_F32, 4, -1)
                                                           : vector_of(GEMEL_F32, 2, 3);
  }
  for (int plain = 0; plain < 2; plain++) {
    gemel_function *f = compile(g, 1, plain);
    CT_EQ_INT(gemel_call(f, 2, in, gemel_graph_output_count(g), out[plain], &error), GEMEL_OK);
    gemel_function_free(f);
  }
  for (int k = 0; k < 3; k++) {
    CT_EQ_MEM(gemel_tensor_data(out[0][k]), gemel_tensor_data(out[1][k]), 4 * sizeof(float));
    gemel_tensor_unref(out[0][k]);
    gemel_tensor_unref(out[1][k]);
  }
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
}

static void random_graphs(const void *data) {
  gemel_context *context = context_new();
  size_t total = 0, graphs = valgrind() ? 20 : 1000;
  (void)data;
  for (uint64_t seed = 1; seed <= graphs; seed++) {
    unsigned char live[MOST] = {0}, done[MOST] = {0};
    uint32_t order[MOST], n = 0;
    size_t in_place = 0;
    state = seed * 977;
    gemel_graph *g = random_graph(context, 6 + (int)pick(10));
    CT_REQUIRE(gemel_graph_node_count(g) <= MOST);
    gemel__graph_live(g, live);
    for (uint32_t k = 0; k < gemel_graph_node_count(g); k++) {
      n += live[k];
    }
    CT_EQ_INT(gemel__schedule(g, live, order, &in_place, &error), GEMEL_OK);
    ct_context("seed %d", (int)seed);
    CT_EQ_UINT(in_place, exhaustive(g, live));
    check_order(g, live, order, n, done);
    compare_runs(g);
    total += in_place;
    gemel_graph_unref(g);
  }
  ct_context("%d", (int)total);
  CT_CHECK(total > graphs / 2);
  gemel_context_unref(context);
}

/* ---- In place ---- */

/* A chain of writes to one vector, whose every stage is read once more by a sum that was built
 * last: one buffer is enough for all stages. */
static void chain(const void *data) {
  enum { N = 1 << 14, STAGES = 40 };
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, NULL);
  gemel_value x = f32_input(g, "x", NULL, N), part = f32_input(g, "part", NULL, 2);
  gemel_value stages[STAGES], total = gemel_scalar(g, GEMEL_F32, 0);
  gemel_tensor *in[2] = {vector_of(GEMEL_F32, N, 0), vector_of(GEMEL_F32, 2, 1)}, *out = NULL;
  float *numbers = gemel_tensor_data(in[0]);
  (void)data;
  memset(numbers, 0, N * sizeof *numbers);
  stages[0] = gemel_abs(x);
  for (int k = 1; k < STAGES; k++) {
    gemel_dim start = gemel_dim_constant(context, k);
    stages[k] = gemel_inc_subtensor(stages[k - 1], part, 1, &start);
  }
  for (int k = STAGES - 1; k >= 0; k--) {
    total = gemel_add(total, gemel_sum(stages[k]));
  }
  gemel_output(total, "total");
  gemel_function *f = compile(g, 1, 0);
  CT_EQ_INT(gemel_call(f, 2, in, 1, &out, &error), GEMEL_OK);
  CT_CHECK(float_at(out, 0) == 3 * (STAGES - 1) * STAGES / 2);
  CT_LE_DOUBLE((double)gemel_function_bytes(f), N * sizeof(float) + 16384);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* Each stage of a chain of writes is read by a sum that was built behind all of them, in the other
 * direction, so each write would have to move the rest of the chain. Where that takes too long the
 * writes that are left copy, and the order stays one. */
static void long_chain(const void *data) {
  enum { STAGES = 1500, NODES = 3 * STAGES + 20 };
  static unsigned char live[NODES], done[NODES];
  static uint32_t order[NODES];
  static gemel_value stages[STAGES];
  gemel_context *context = context_new();
  gemel_graph *g = gemel_graph_new(context, NULL);
  gemel_value part = f32_input(g, "part", NULL, 2), total = gemel_scalar(g, GEMEL_F32, 0);
  gemel_dim start = gemel_dim_constant(context, 1);
  size_t in_place = 0;
  (void)data;
  stages[0] = gemel_abs(f32_input(g, "x", NULL, 4));
  for (int k = 1; k < STAGES; k++) {
    stages[k] = gemel_inc_subtensor(stages[k - 1], part, 1, &start);
  }
  for (int k = STAGES - 1; k >= 0; k--) {
    total = gemel_add(total, gemel_sum(stages[k]));
  }
  gemel_output(total, "total");
  CT_REQUIRE(gemel_graph_node_count(g) <= NODES);
  memset(live, 1, sizeof live);
  CT_EQ_INT(gemel__schedule(g, live, order, &in_place, &error), GEMEL_OK);
  CT_CHECK(in_place > 20 && in_place < STAGES / 2);
  check_order(g, live, order, (uint32_t)gemel_graph_node_count(g), done);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* A loop that reads the vector is closed before the write: one buffer is enough here, too. */
static void behind_loops(const void *data) {
  enum { N = 1 << 14 };
  gemel_context *context = context_new();
  gemel_graph *g = graph_of(context, "(x: f32[16384], p: f32[2]) {\n"
                                     "  y = abs(x)\n"
                                     "  before = sum(y)\n"
                                     "  z = inc_subtensor(y, p, start = [5])\n"
                                     "  return a = before - y, s = sum(z)\n"
                                     "}\n");
  gemel_tensor *in[2] = {vector_of(GEMEL_F32, N, 0), vector_of(GEMEL_F32, 2, 1)};
  gemel_tensor *out[2] = {NULL, NULL};
  (void)data;
  gemel_function *f = compile(g, 1, 0);
  CT_EQ_INT(gemel_call(f, 2, in, 2, out, &error), GEMEL_OK);
  CT_CHECK(float_at(out[0], 0) - float_at(out[0], 8192) == 8192);
  CT_LE_DOUBLE((double)gemel_function_bytes(f), N * sizeof(float) + 16384);
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(in[k]);
    gemel_tensor_unref(out[k]);
  }
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* What must not be overwritten: an input, a result, what a view of is read later, and the operand
 * that is written too. */
static void kept(const void *data) {
  static const char text[] =
      "(x: f32[4], p: f32[2]) {\n"
      "  a = exp(x)\n"
      "  b = inc_subtensor(x, p, start = [0])\n"
      "  c = inc_subtensor(a, subtensor(a, start = [1], size = [2]), start = [0])\n"
      "  d = inc_subtensor(a, p, start = [1])\n"
      "  e = reverse(d, axes = [0]) + inc_subtensor(d, p, start = [2])\n"
      "  return a2 = a, b2 = b, c2 = c, e2 = e, s = sum(x)\n"
      "}\n";
  gemel_context *context = context_new();
  gemel_graph *g = graph_of(context, text);
  gemel_tensor *in[2] = {vector_of(GEMEL_F32, 4, 0), vector_of(GEMEL_F32, 2, 1)},
               *out[2][5] = {{NULL}};
  (void)data;
  for (int plain = 0; plain < 2; plain++) {
    gemel_function *f = compile(g, 1, plain);
    CT_EQ_INT(gemel_call(f, 2, in, gemel_graph_output_count(g), out[plain], &error), GEMEL_OK);
    gemel_function_free(f);
  }
  for (int k = 0; k < 5; k++) {
    CT_EQ_MEM(gemel_tensor_data(out[0][k]), gemel_tensor_data(out[1][k]),
              (size_t)gemel_tensor_elements(out[0][k]) * sizeof(float));
    gemel_tensor_unref(out[0][k]);
    gemel_tensor_unref(out[1][k]);
  }
  CT_CHECK(float_at(in[0], 3) == 3);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_graph_unref(g);
  gemel_context_unref(context);
}

/* ---- Poison ---- */

static const float *second; /* operand of the second of three kernels, dead when the third is run */
static int calls, unwritten, dead;

static gemel_status run_looks(const gemel_kernel_call *call) {
  const float *x = call->inputs[0].data;
  float *y = call->outputs[0].data;
  calls++;
  second = calls % 3 == 2 ? x : second;
  unwritten += isnan(y[0]) != 0;
  dead += calls % 3 == 0 && isnan(second[0]);
  y[0] = x[0] + 1;
  return GEMEL_OK;
}

/* Three kernels: alone, and as the body of two loops within one another that take two steps each.
 */
static const char alone[] = "graph f(x: f32[1]) { return y = looks(looks(looks(x))) }";
static const char looped[] =
    "graph inner(x: f32[N]) { return y = looks(looks(looks(x))) }\n"
    "graph outer(x: f32[N]) {\n"
    "  y, all = scan(x, body = inner, states = 1, length = 2) return y = y\n"
    "}\n"
    "graph f(x: f32[1]) { y, all = scan(x, body = outer, states = 1, length = 2) return y = y }";

/* Results are NaN before they are written, and operands that nothing reads any more, in each step
 * of a loop too. */
static void poison(const void *data) {
  int steps = data == looped ? 4 : 1;
  static const gemel_kernel kernels[] = {{"looks", NULL, run_looks}, {NULL, NULL, NULL}};
  gemel_operation record = {.size = sizeof record,
                            .name = "looks",
                            .min_inputs = 1,
                            .max_inputs = 1,
                            .version = 1,
                            .infer = same_type,
                            .kernels = kernels};
  gemel_options options = {.size = sizeof options, .as_written = 1, .poison = 1};
  gemel_context *c = context_new();
  gemel_tensor *in = vector_of(GEMEL_F32, 1, 1), *out = NULL;
  CT_EQ_INT(gemel_register_operation(c, &record, &error), GEMEL_OK);
  gemel_graph *g = parse(c, data);
  gemel_function *f = gemel_compile(g, &options, &error);
  CT_REQUIRE(f != NULL);
  for (int k = 0; k < 2; k++) {
    calls = unwritten = dead = 0;
    CT_EQ_INT(gemel_call(f, 1, &in, 1, &out, &error), GEMEL_OK);
    CT_CHECK(float_at(out, 0) == 1 + 3 * (float)steps);
    CT_EQ_INT(unwritten, 3 * steps);
    CT_EQ_INT(dead, steps);
    CT_EQ_UINT(gemel_function_kernels(f), data == looped ? 1 : 3);
  }
  gemel_tensor_unref(in);
  gemel_tensor_unref(out);
  gemel_function_free(f);
  gemel_graph_unref(g);
  gemel_context_unref(c);
}

void ct_register(void) {
  static const ct_test tests[] = {
      CT_TEST("random_graphs", random_graphs, NULL),
      CT_TEST("chain", chain, NULL),
      CT_TEST("long_chain", long_chain, NULL),
      CT_TEST("behind_loops", behind_loops, NULL),
      CT_TEST("kept", kept, NULL),
      CT_TEST("poison", poison, alone),
      CT_TEST("poison/loops", poison, looped),
  };
  ct_suite("schedule", tests, CT_COUNT(tests));
}
