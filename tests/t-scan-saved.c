/*
 * The loop of a gradient computes nothing of the loop forward once more that is expensive:
 * products, reductions, functions, random numbers, loops. Counted by a walk over all bodies: what
 * depends on a cotangent is the gradient's own work, what depends on constants alone is the same in
 * each step, and the rest of what is expensive should have been read as a row.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <stdio.h>
#include "sample/sampling.h"
#include "support/random.h"
#include "support/unrolled.h"

enum { BACKWARD = 1, VARIES = 2, MOST = 64 };

typedef struct counts {
  size_t repeated; /* expensive nodes of the step forward in loops back */
  size_t products; /* in loops back */
  size_t loops;    /* that depend on a cotangent */
} counts;

static int is_expensive(const char *name) {
  static const char *const expensive[] = {
      "dot",           "sum",  "prod",    "max",   "argmax", "corr",        "softmax",
      "exp",           "log",  "sigmoid", "tanh",  "sin",    "pow",         "random_uniform",
      "random_normal", "scan", "cos",     "expm1", "erf",    "random_bits", "log1p"};
  for (size_t k = 0; k < sizeof expensive / sizeof *expensive; k++) {
    if (strcmp(name, expensive[k]) == 0) {
      return 1;
    }
  }
  return 0;
}

static void walk(const gemel_graph *graph, unsigned char *marks, int inside, counts *c);

/* Walks through the body of LOOP, some of whose operands are BACKWARD. States are walked through
 * again until what they depend on is found. */
static void walk_body(gemel_value loop, const unsigned char *outer, counts *c) {
  gemel_graph *body = attr_of(loop, "body").u.graph;
  size_t n = gemel_graph_node_count(body), states = (size_t)attr_of(loop, "states").u.i;
  size_t rows = states + (size_t)attr_of(loop, "sequences").u.i;
  size_t first = attr_of(loop, "limited").u.i != 0, again = states + 1;
  unsigned char *marks = calloc(n, 1), given[MOST] = {0};
  for (size_t k = 0; k < gemel_graph_input_count(body); k++) {
    given[k] = outer[gemel_value_input(loop, first + k).node] | (k < rows ? VARIES : 0);
  }
  for (counts found = *c; again-- > 0; found = *c) {
    memset(marks, 0, n);
    for (size_t k = 0; k < gemel_graph_input_count(body); k++) {
      marks[gemel_graph_input(body, k).node] = given[k];
    }
    walk(body, marks, 1, &found);
    for (size_t k = 0; k < states; k++) {
      given[k] |= marks[gemel_graph_output(body, k).node];
    }
    if (again == 0) {
      *c = found;
    }
  }
  free(marks);
}

/* Marks the nodes of GRAPH, whose inputs are marked. */
static void walk(const gemel_graph *graph, unsigned char *marks, int inside, counts *c) {
  for (uint32_t node = 0; node < gemel_graph_node_count(graph); node++) {
    gemel_value value = {(gemel_graph *)graph, node, 0};
    const char *name = gemel_value_operation(value);
    for (size_t k = 0; k < gemel_value_input_count(value); k++) {
      marks[node] |= marks[gemel_value_input(value, k).node];
    }
    c->repeated += (size_t)(inside && is_expensive(name) && marks[node] == VARIES);
    c->products += (size_t)(inside && strcmp(name, "dot") == 0);
    if (strcmp(name, "scan") == 0 && marks[node] & BACKWARD) {
      c->loops++;
      walk_body(value, marks, c);
    }
  }
}

static int is_float(gemel_value value) {
  gemel_dtype dtype = gemel_type_dtype(gemel_graph_context(value.graph), gemel_value_type(value));
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
}

/* Adds the gradients of all results of GRAPH, weighted by inputs, by all its inputs of a float
 * dtype, and counts what their loops do. */
static counts count_gradient(gemel_graph *graph) {
  gemel_value y[MOST], u[MOST], wrt[MOST], d[MOST];
  size_t n = 0, n_y = 0;
  counts c = {0, 0, 0};
  gemel_error error = {0};
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    wrt[n] = gemel_graph_input(graph, k);
    n += (size_t)(is_float(wrt[n]));
  }
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    y[n_y] = gemel_graph_output(graph, k);
    n_y += (size_t)(is_float(y[n_y]));
  }
  for (size_t k = 0; k < n_y; k++) {
    char name[20];
    snprintf(name, sizeof name, "u%zu", k);
    u[k] = gemel_input(graph, name, gemel_value_type(y[k]));
  }
  if (n == 0 || n_y == 0) {
    return c;
  }
  CT_EQ_INT(gemel_grad(n_y, y, u, n, wrt, d, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  unsigned char *marks = calloc(gemel_graph_node_count(graph), 1);
  for (size_t k = 0; k < n_y; k++) {
    marks[u[k].node] = BACKWARD;
  }
  walk(graph, marks, 0, &c);
  free(marks);
  return c;
}

/* ---- Networks ---- */

typedef struct network {
  const char *text;
  size_t products; /* of a step back: two for each product of a step forward */
} network;

static const network rnn = {
    "graph step(h: f32[N, H], x: f32[N, H], u: f32[H, H], b: f32[H]) {\n"
    "  return next = tanh(dot(h, u) + x + b)\n"
    "}\n"
    "graph rnn(xs: f32[T, N, H], h: f32[N, H], u: f32[H, H], b: f32[H]) {\n"
    "  last, all = scan(h, xs, u, b, body = step, states = 1, sequences = 1)\n"
    "  return all = all\n"
    "}\n",
    2};

/* The recurrent part of an LSTM, its four gates joined. */
static const network lstm = {
    "graph step(h: f64[N, 8], c: f64[N, 8], x: f64[N, 32], u: f64[8, 32]) {\n"
    "  g = x + dot(h, u)\n"
    "  i, f, o, s = split(g, sizes = [8, 8, 8, 8], axis = 1)\n"
    "  next_c = sigmoid(f) * c + sigmoid(i) * tanh(s)\n"
    "  return next_h = sigmoid(o) * tanh(next_c), next_c = next_c\n"
    "}\n"
    "graph lstm(xs: f64[T, N, 32], h: f64[N, 8], c: f64[N, 8], u: f64[8, 32]) {\n"
    "  h_last, c_last, hs, cs = scan(h, c, xs, u, body = step, states = 2, sequences = 1)\n"
    "  return hs = hs\n"
    "}\n",
    2};

static const network gru = {
    "graph step(h: f32[N, H], xz: f32[N, H], xr: f32[N, H], xc: f32[N, H],\n"
    "           uz: f32[H, H], ur: f32[H, H], uc: f32[H, H]) {\n"
    "  z = sigmoid(xz + dot(h, uz))\n"
    "  r = sigmoid(xr + dot(h, ur))\n"
    "  c = tanh(xc + dot(r * h, uc))\n"
    "  return next = (1:f32 - z) * h + z * c\n"
    "}\n"
    "graph gru(xz: f32[T, N, H], xr: f32[T, N, H], xc: f32[T, N, H], h: f32[N, H],\n"
    "          uz: f32[H, H], ur: f32[H, H], uc: f32[H, H]) {\n"
    "  last, all = scan(h, xz, xr, xc, uz, ur, uc, body = step, states = 1, sequences = 3)\n"
    "  return last = last\n"
    "}\n",
    6};

static void counted(const void *data) {
  const network *n = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = gemel_parse(context, n->text, strlen(n->text), "network", NULL, &error);
  CT_EQ_STR(error.text, "");
  counts c = count_gradient(graph);
  CT_EQ_UINT(c.loops, 1);
  CT_EQ_UINT(c.repeated, 0);
  CT_EQ_UINT(c.products, n->products);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* With `recompute` the three products of the step forward are there, and their functions. */
static void recomputed(const void *data) {
  static const char attr[] = "sequences = 3";
  char text[2000];
  gemel_context *context = gemel_context_new(NULL);
  const char *at = strstr(gru.text, attr) + sizeof attr - 1;
  (void)data;
  snprintf(text, sizeof text, "%.*s, recompute = 1%s", (int)(at - gru.text), gru.text, at);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "network", NULL, NULL);
  counts c = count_gradient(graph);
  CT_EQ_UINT(c.repeated, 6);
  CT_EQ_UINT(c.products, 9);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Random loops ---- */

static uint64_t random_bits64(void *unused) {
  (void)unused;
  return bits64();
}

/* A random loop with its results, in a graph of its own; NULL where the sampler declines, or has
 * drawn one that computes once more because it was asked to. */
static gemel_graph *draw(gemel_context *context) {
  gemel_sample s = {.size = sizeof s,
                    .context = context,
                    .random = random_bits64,
                    .dtype = GEMEL_F64,
                    .max_elements = 30,
                    .data = gemel_operation_find(context, "scan")->data};
  gemel_value in[GEMEL_SAMPLE_MAX_INPUTS];
  if (gemel__sampler_scan(&s) != GEMEL_OK) {
    return NULL;
  }
  gemel_graph *graph = gemel_graph_new(context, NULL);
  for (size_t k = 0; k < s.n_inputs; k++) {
    char name[20];
    snprintf(name, sizeof name, "x%zu", k);
    in[k] = gemel_input(graph, name, s.inputs[k]);
  }
  gemel_value loop = gemel_apply(graph, "scan", s.n_inputs, in, s.n_attrs, s.attrs), value = loop;
  for (uint32_t k = 0; !gemel_is_null(value); value = gemel_value_output(loop, ++k)) {
    char name[20];
    snprintf(name, sizeof name, "r%u", (unsigned)k);
    gemel_output(value, name);
  }
  if (attr_of(loop, "recompute").u.i != 0) {
    gemel_graph_unref(graph);
    return NULL;
  }
  return graph;
}

static void random_loops(const void *data) {
  enum { LOOPS = 200 };
  gemel_context *context = gemel_context_new(NULL);
  size_t loops = 0, back = 0;
  (void)data;
  state = 1;
  while (loops < LOOPS) {
    gemel_graph *graph = draw(context);
    if (graph != NULL) {
      char *text = gemel_print_string(graph, "g", NULL);
      ct_context("%s", text);
      counts c = count_gradient(graph);
      CT_EQ_UINT(c.repeated, 0);
      back += c.loops;
      loops++;
      gemel_text_free(text);
      gemel_graph_unref(graph);
    }
  }
  CT_CHECK(back > LOOPS / 2);
  gemel_context_unref(context);
}

static const ct_test tests[] = {
    CT_TEST("rnn", counted, &rnn),         CT_TEST("lstm", counted, &lstm),
    CT_TEST("gru", counted, &gru),         CT_TEST("recomputed", recomputed, NULL),
    CT_TEST("random", random_loops, NULL),
};

void ct_register(void) {
  ct_suite("scan_saved", tests, CT_COUNT(tests));
}
