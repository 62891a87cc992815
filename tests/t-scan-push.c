/*
 * Products of a loop's rows go before the loop (pass scan_push_rows), and so does what is the same
 * in each step (scan_hoist): what of it, what stays, and that the values are the same.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <math.h>
#include <stdio.h>
#include "support/near.h"
#include "support/unrolled.h"

enum { MOST_IN = 6, N = 2, D = 3, H = 4, ROWS = 5 };

/* A loop over x: [T, N, D] and w: [D, H], by its step and its options. */
typedef struct pushing {
  const char *step, *options;
  size_t inside, before; /* products that stay, and that go */
  const char *pass;      /* NULL: scan_push_rows */
} pushing;

static const pushing row = {"tanh(dot(x, w) + dot(h, u))", "", 1, 1, NULL};
static const pushing fed = {"tanh(dot(sqr(x) - sum(w), w) + dot(h, u))", "", 1, 1, NULL};
static const pushing twice = {"dot(x, w) * h + dot(x * x, w * 2:f64)", "", 0, 2, NULL};
static const pushing chained = {"h - dot(dot(x, dot(w, dimshuffle(w, order = [1, 0]))), w)", "", 0,
                                3, NULL};
static const pushing right = {
    "h - dimshuffle(dot(w, x, contract_x = [0], contract_y = [1]), order = [1, 0])", "", 0, 1,
    NULL};
static const pushing back = {"tanh(dot(x, w) + dot(h, u))", ", reverse = 1", 1, 1, NULL};
static const pushing truncated = {"tanh(dot(x, w) + dot(h, u))", ", truncate = 2", 1, 1, NULL};
/* What depends on a state stays, and what is of constants alone isn't this pass's. */
static const pushing of_state = {"tanh(dot(x + sum(h), w) + dot(h, u))", "", 2, 0, NULL};
static const pushing of_constants = {"h * sum(x) + sum(dot(w, u))", "", 1, 0, NULL};
/* The body's size H is told by a state alone; outside that is M, and H another size. */
static const pushing told_by_state = {"tanh(h + dot(x, broadcast_to(0.5:f64, shape = [rows, H])))",
                                      "", 0, 1, NULL};
/* Of constants alone, read by what depends on a state or a row; T = 0 too. */
static const pushing same = {"tanh(dot(h, dot(u, u)) + dot(x, w * sum(dot(w, u))))", "", 2, 2,
                             "scan_hoist"};
static const pushing nothing_same = {"tanh(dot(h, u) + dot(x, w))", "", 2, 0, "scan_hoist"};
/* No hook says how a softmax is computed for all rows at once. */
static const pushing unable = {"tanh(dot(softmax(x), w) + dot(h, u))", "", 2, 0, NULL};

static gemel_graph *parse(gemel_context *context, const pushing *p) {
  char text[1000];
  gemel_error error = {0};
  snprintf(text, sizeof text,
           "graph step(h: f64[N, H], x: f64[N, rows], w: f64[rows, H], u: f64[H, H]) {\n"
           "  return next = %s\n"
           "}\n"
           "graph g(h: f64[N, M], x: f64[rows, N, D], w: f64[D, M], u: f64[M, M], o: f64[H]) {\n"
           "  last, all = scan(h, x, w, u, body = step, states = 1, sequences = 1%s)\n"
           "  return all = all, loss = sum(last)\n"
           "}\n",
           p->step, p->options);
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "pushing", NULL, &error);
  CT_EQ_STR(error.text, "");
  return graph;
}

/* Products of GRAPH, and of bodies in INSIDE. */
static size_t count_products(const gemel_graph *graph, size_t *inside) {
  size_t n = 0, unused = 0;
  for (uint32_t node = 0; node < gemel_graph_node_count(graph); node++) {
    gemel_value value = {(gemel_graph *)graph, node, 0};
    n += strcmp(gemel_value_operation(value), "dot") == 0;
    if (strcmp(gemel_value_operation(value), "scan") == 0) {
      *inside += count_products(attr_of(value, "body").u.graph, &unused);
    }
  }
  return n;
}

static gemel_tensor *filled(int rank, const int64_t *shape, double phase) {
  gemel_tensor *t = gemel_tensor_new(GEMEL_F64, rank, shape, NULL);
  for (int64_t i = 0; i < gemel_tensor_elements(t); i++) {
    ((double *)gemel_tensor_data(t))[i] = sin(phase + (double)i) / 2;
  }
  return t;
}

/* The two results, and four gradients, of GRAPH with ROWS rows. */
static void run(const gemel_graph *graph, int as_written, int64_t rows, gemel_tensor **out) {
  gemel_options options = {.size = sizeof options, .threads = 1, .as_written = as_written};
  const int64_t h[] = {N, H}, x[] = {rows, N, D}, w[] = {D, H}, u[] = {H, H}, o[] = {H + 3};
  gemel_tensor *in[] = {filled(2, h, 1), filled(3, x, 2), filled(2, w, 3), filled(2, u, 4),
                        filled(1, o, 5)};
  gemel_error error = {0};
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_EQ_STR(error.text, "");
  CT_EQ_INT(gemel_call(f, 5, in, gemel_graph_output_count(graph), out, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  gemel_function_free(f);
  for (int k = 0; k < 5; k++) {
    gemel_tensor_unref(in[k]);
  }
}

static void same_values(const gemel_graph *graph, int64_t rows) {
  gemel_tensor *a[MOST_IN] = {NULL}, *b[MOST_IN] = {NULL};
  run(graph, 0, rows, a);
  run(graph, 1, rows, b);
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    const double *p = gemel_tensor_data(a[k]), *q = gemel_tensor_data(b[k]);
    CT_EQ_INT(gemel_tensor_elements(a[k]), gemel_tensor_elements(b[k]));
    for (int64_t i = 0; i < gemel_tensor_elements(a[k]); i++) {
      CT_CHECK(is_near(p[i], q[i], 1e-13 * (1 + fabs(q[i]))));
    }
    gemel_tensor_unref(a[k]);
    gemel_tensor_unref(b[k]);
  }
}

static void pushed(const void *data) {
  const pushing *p = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, p);
  gemel_rewrite_options options = {.size = sizeof options,
                                   .include = p->pass != NULL ? p->pass : "scan_push_rows"};
  gemel_value wrt[4], d[4], loss = gemel_graph_output(graph, 1);
  size_t inside = 0;
  options.has_allow = 1;
  options.allow = GEMEL_FASTMATH_ALL;
  gemel_graph *rewritten = gemel_rewrite(graph, &options, NULL);
  CT_EQ_UINT(count_products(rewritten, &inside), p->before);
  CT_EQ_UINT(inside, p->inside);
  gemel_graph_unref(rewritten);
  for (size_t k = 0; k < 4; k++) {
    wrt[k] = gemel_graph_input(graph, k);
  }
  CT_EQ_INT(gemel_grad(1, &loss, NULL, 4, wrt, d, NULL), GEMEL_OK);
  for (size_t k = 0; k < 4; k++) {
    char name[8];
    snprintf(name, sizeof name, "d%zu", k);
    gemel_output(d[k], name);
  }
  same_values(graph, ROWS);
  same_values(graph, 0);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static const ct_test tests[] = {
    CT_TEST("row", pushed, &row),
    CT_TEST("fed", pushed, &fed),
    CT_TEST("twice", pushed, &twice),
    CT_TEST("chained", pushed, &chained),
    CT_TEST("right", pushed, &right),
    CT_TEST("back", pushed, &back),
    CT_TEST("truncated", pushed, &truncated),
    CT_TEST("of_state", pushed, &of_state),
    CT_TEST("of_constants", pushed, &of_constants),
    CT_TEST("unable", pushed, &unable),
    CT_TEST("same", pushed, &same),
    CT_TEST("nothing_same", pushed, &nothing_same),
    CT_TEST("told_by_state", pushed, &told_by_state),
};

void ct_register(void) {
  ct_suite("scan_push", tests, CT_COUNT(tests));
}
