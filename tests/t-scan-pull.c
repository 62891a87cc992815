/*
 * What a loop only adds up leaves it: products in loops and outside of them are counted after
 * rewriting, and results compared with those of the graph as it was.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <math.h>
#include <stdio.h>
#include "passes/edit.h"
#include "support/graph-text.h"
#include "support/near.h"
#include "support/random.h"

enum { MOST = 16, N = 2, H = 3 };

typedef struct pull_case {
  const char *text;
  int gradient; /* 1: of the gradient of the first result by all inputs of a float dtype */
  int64_t rows; /* T; 0 is one case */
  size_t inside, outside; /* products */
  size_t loops;
} pull_case;

#define RNN(options)                                                                               \
  "graph step(h: f64[N, H], x: f64[N, H], u: f64[H, H], b: f64[H]) {\n"                            \
  "  return next = tanh(dot(h, u) + x + b)\n"                                                      \
  "}\n"                                                                                            \
  "graph rnn(x: f64[T, N, H], h: f64[N, H], u: f64[H, H], b: f64[H]) {\n"                          \
  "  last, all = scan(h, x, u, b, body = step, states = 1, sequences = 1" options ")\n"            \
  "  return all\n"                                                                                 \
  "}\n"
/* s' = s + TERM of rows x: [N, H] and y: [N, 2]; MORE of the state is read. */
#define SUM(term, more)                                                                            \
  "graph step(s: f64[H, 2], x: f64[N, H], y: f64[N, 2], k: f64[]) {\n"                             \
  "  return next = s + " term "\n"                                                                 \
  "}\n"                                                                                            \
  "graph loop(s: f64[H, 2], x: f64[T, N, H], y: f64[T, N, 2], k: f64[]) {\n"                       \
  "  last, all = scan(s, x, y, k, body = step, states = 1, sequences = 2)\n"                       \
  "  return last" more "\n"                                                                        \
  "}\n"
#define PRODUCT "dot(x, y, contract_x = [0], contract_y = [0])"

static const pull_case rnn = {RNN(""), 1, 4, 2, 1, 2};
static const pull_case rnn_of_no_step = {RNN(""), 1, 0, 2, 1, 2};
static const pull_case rnn_reverse = {RNN(", reverse = 1"), 1, 4, 2, 1, 2};
static const pull_case rnn_truncated = {RNN(", truncate = 2"), 1, 4, 2, 1, 2};
static const pull_case rnn_limited = {
    "graph step(h: f64[N, H], x: f64[N, H], u: f64[H, H]) { return next = tanh(dot(h, u) + x) }\n"
    "graph rnn(n: i64[], x: f64[T, N, H], h: f64[N, H], u: f64[H, H]) {\n"
    "  last, all = scan(n, h, x, u, body = step, states = 1, sequences = 1, limited = 1)\n"
    "  return last\n"
    "}\n",
    1,
    4,
    3,
    0,
    2};
static const pull_case product = {SUM(PRODUCT, ""), 0, 4, 0, 1, 0};
static const pull_case multiple = {SUM("k * (" PRODUCT ")", ""), 0, 4, 0, 1, 0};
static const pull_case view = {
    SUM("dimshuffle(dot(y, x, contract_x = [0], contract_y = [0]), order = [1, 0])", ""),
    0,
    4,
    0,
    1,
    0};
static const pull_case two_terms = {
    SUM("(" PRODUCT " - dot(exp(x), exp(y), contract_x = [0], contract_y = [0]))", ""),
    0,
    4,
    0,
    2,
    1};
static const pull_case history_is_read = {SUM(PRODUCT, ", all"), 0, 4, 1, 0, 1};
/* the factor has 600 elements, a row one */
static const pull_case too_large = {
    "graph step(s: f64[20, 20], x: f64[], a: f64[20, 30]) {\n"
    "  return next = s + dot(a * x, exp(a * x), contract_x = [1], contract_y = [1])\n"
    "}\n"
    "graph loop(s: f64[20, 20], x: f64[T], a: f64[20, 30]) {\n"
    "  last, all = scan(s, x, a, body = step, states = 1, sequences = 1)\n"
    "  return last\n"
    "}\n",
    0,
    4,
    1,
    0,
    1};
/* the size that is summed over is another one in each step (Theano 5249) */
static const pull_case size_of_a_step = {
    "graph step(s: f64[H, H], x: f64[N, H], k: i64[]) {\n"
    "  a = subtensor(x, start = [0, 0], size = [k, H])\n"
    "  return next = s + dot(a, exp(a), contract_x = [0], contract_y = [0])\n"
    "}\n"
    "graph loop(s: f64[H, H], x: f64[T, N, H], k: i64[T]) {\n"
    "  last, all = scan(s, x, k, body = step, states = 1, sequences = 2)\n"
    "  return last\n"
    "}\n",
    0,
    4,
    1,
    0,
    1};
static const pull_case until = {
    "graph step(h: f64[], s: f64[H, 2], x: f64[N, H], y: f64[N, 2]) {\n"
    "  n = h + 1\n"
    "  return n, next = s + " PRODUCT ", stop = n > 1.5\n"
    "}\n"
    "graph loop(h: f64[], s: f64[H, 2], x: f64[T, N, H], y: f64[T, N, 2]) {\n"
    "  a, b, all, more, steps = scan(h, s, x, y, body = step, states = 2, sequences = 2, until = "
    "1)\n"
    "  return b, steps\n"
    "}\n",
    0,
    4,
    1,
    0,
    1};

/* State h: [N, H], rows x, constants u: [H, H], v: [H, 2]; NEXT and Y of a step, OPTIONS of the
 * loop. */
#define STACK(next, y, options)                                                                    \
  "graph step(h: f64[N, H], x: f64[N, H], u: f64[H, H], v: f64[H, 2]) {\n"                         \
  "  n = " next "\n"                                                                               \
  "  return n, y = " y "\n"                                                                        \
  "}\n"                                                                                            \
  "graph loop(h: f64[N, H], x: f64[T, N, H], u: f64[H, H], v: f64[H, 2]) {\n"                      \
  "  last, all, y = scan(h, x, u, v, body = step, states = 1, sequences = 1" options ")\n"         \
  "  return y\n"                                                                                   \
  "}\n"
#define TANH "tanh(x + h)"

static const pull_case stack = {STACK(TANH, "dot(n, v)", ""), 0, 4, 0, 1, 1};
static const pull_case stack_of_no_step = {STACK(TANH, "dot(n, v)", ""), 0, 0, 0, 1, 1};
static const pull_case stack_before = {
    STACK(TANH, "sum(dot(v, h, contract_x = [0], contract_y = [1]) * 2, axes = [0])",
          ", reverse = 1"),
    0,
    4,
    0,
    1,
    1};
static const pull_case stack_of_two = {
    STACK(TANH, "dot(exp(x - h), v) - exp(dot(dot(exp(x - h), u), v))", ""), 0, 4, 0, 3, 1};
/* the products are needed for the next step, or by what stays in the loop */
static const pull_case stack_fed = {STACK("tanh(dot(h, u) + x)", "dot(h, u)", ""), 0, 4, 1, 0, 1};
static const pull_case stack_read_inside = {
    STACK(TANH, "softmax(dot(n, u), axis = 1)", ""), 0, 4, 1, 0, 1};
static const pull_case stack_truncated = {
    STACK(TANH, "dot(n, v)", ", truncate = 2"), 0, 4, 1, 0, 1};
/* the way back has dx = dot(da, w') for each row */
static const pull_case stack_of_gradient = {
    "graph step(h: f64[N, H], x: f64[N, 2], u: f64[H, H], w: f64[2, H]) {\n"
    "  return next = tanh(dot(h, u) + dot(x, w))\n"
    "}\n"
    "graph rnn(h: f64[N, H], x: f64[T, N, 2], u: f64[H, H], w: f64[2, H]) {\n"
    "  last, all = scan(h, x, u, w, body = step, states = 1, sequences = 1)\n"
    "  return all\n"
    "}\n",
    1,
    4,
    2,
    4,
    2};
/* a step would keep 60 elements of the state for one that is stacked, and a row has one */
static const pull_case stack_too_small = {
    "graph step(h: f64[60], x: f64[], v: f64[60]) {\n"
    "  n = tanh(h + x)\n"
    "  return n, y = dot(n, v)\n"
    "}\n"
    "graph loop(h: f64[60], x: f64[T], v: f64[60]) {\n"
    "  last, all, y = scan(h, x, v, body = step, states = 1, sequences = 1)\n"
    "  return y\n"
    "}\n",
    0,
    4,
    1,
    0,
    1};

/* ---- Counts ---- */

static size_t products_in(const gemel_graph *graph, size_t *inside, size_t *loops) {
  size_t n = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value value = {(gemel_graph *)graph, k, 0};
    const char *name = gemel_value_operation(value);
    gemel_attr body;
    n += strcmp(name, "dot") == 0 || strcmp(name, "dot_add") == 0;
    if (strcmp(name, "scan") == 0 && gemel_value_attr(value, "body", &body) == GEMEL_OK) {
      size_t deeper = 0, none = 0;
      *loops += 1;
      *inside += products_in(body.u.graph, &deeper, &none);
    }
  }
  return n;
}

/* ---- Values ---- */

static int64_t size_of(gemel_context *context, gemel_dim dim, int64_t rows) {
  char name[8];
  int64_t number;
  if (gemel_dim_is_constant(context, dim, &number)) {
    return number;
  }
  gemel_dim_format(context, dim, name, sizeof name);
  return strcmp(name, "T + 1") == 0 ? rows + 1
         : strcmp(name, "T") == 0   ? rows
         : strcmp(name, "N") == 0   ? N
                                    : H;
}

/* Halves from -1 to 1; of integers 1 or 2. */
static gemel_tensor *operand(gemel_value input, int64_t rows) {
  gemel_context *context = gemel_graph_context(input.graph);
  gemel_type type = gemel_value_type(input);
  int64_t shape[4];
  for (int axis = 0; axis < gemel_type_rank(context, type); axis++) {
    shape[axis] = size_of(context, gemel_type_dims(context, type)[axis], rows);
  }
  gemel_tensor *tensor = gemel_tensor_new(gemel_type_dtype(context, type),
                                          gemel_type_rank(context, type), shape, NULL);
  for (int64_t k = 0; k < gemel_tensor_elements(tensor); k++) {
    if (gemel_tensor_dtype(tensor) == GEMEL_F64) {
      ((double *)gemel_tensor_data(tensor))[k] = 0.5 * (double)rnd(5) - 1;
    } else {
      ((int64_t *)gemel_tensor_data(tensor))[k] = 1 + (int64_t)rnd(2);
    }
  }
  return tensor;
}

static void same_numbers(const gemel_tensor *a, const gemel_tensor *b) {
  CT_EQ_INT(gemel_tensor_elements(a), gemel_tensor_elements(b));
  for (int64_t k = 0; k < gemel_tensor_elements(a) && gemel_tensor_dtype(a) == GEMEL_F64; k++) {
    double x = ((const double *)gemel_tensor_data(a))[k];
    double y = ((const double *)gemel_tensor_data(b))[k];
    CT_CHECK(is_near(x, y, 1e-13 * (1 + fabs(x))));
  }
}

static void evaluate(const gemel_graph *graph, gemel_tensor **in, gemel_tensor **out) {
  gemel_error error = {0};
  gemel_options options = {.size = sizeof options, .as_written = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_REQUIRE(f != NULL);
  CT_EQ_INT(gemel_call(f, gemel_graph_input_count(graph), in, gemel_graph_output_count(graph), out,
                       &error),
            GEMEL_OK);
  CT_EQ_STR(error.text, "");
  gemel_function_free(f);
}

static void compare(const gemel_graph *before, const gemel_graph *after, int64_t rows) {
  gemel_tensor *in[MOST], *x[MOST] = {NULL}, *y[MOST] = {NULL};
  for (size_t k = 0; k < gemel_graph_input_count(before); k++) {
    in[k] = operand(gemel_graph_input(before, k), rows);
  }
  evaluate(before, in, x);
  evaluate(after, in, y);
  for (size_t k = 0; k < gemel_graph_output_count(before); k++) {
    same_numbers(x[k], y[k]);
    gemel_tensor_unref(x[k]);
    gemel_tensor_unref(y[k]);
  }
  for (size_t k = 0; k < gemel_graph_input_count(before); k++) {
    gemel_tensor_unref(in[k]);
  }
}

/* ---- The cases ---- */

static void add_gradient(gemel_graph *graph) {
  gemel_value y = gemel_graph_output(graph, 0), wrt[MOST], d[MOST];
  gemel_value u = gemel_input(graph, "dy", gemel_value_type(y));
  gemel_context *context = gemel_graph_context(graph);
  gemel_error error = {0};
  size_t n = 0;
  for (size_t k = 0; k + 1 < gemel_graph_input_count(graph); k++) {
    wrt[n] = gemel_graph_input(graph, k);
    n += gemel_type_dtype(context, gemel_value_type(wrt[n])) == GEMEL_F64;
  }
  CT_EQ_INT(gemel_grad(1, &y, &u, n, wrt, d, &error), GEMEL_OK);
  for (size_t k = 0; k < n; k++) {
    char name[20];
    snprintf(name, sizeof name, "d%zu", k);
    gemel_output(d[k], name);
  }
}

static void pulled(const void *data) {
  const pull_case *c = data;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = parse(context, c->text);
  gemel_error error = {0};
  size_t inside = 0, loops = 0;
  if (c->gradient) {
    add_gradient(graph);
  }
  gemel_graph *after = gemel_rewrite(graph, NULL, &error);
  CT_REQUIRE(after != NULL);
  CT_EQ_UINT(products_in(after, &inside, &loops), c->outside);
  CT_EQ_UINT(inside, c->inside);
  CT_EQ_UINT(loops, c->loops);
  compare(graph, after, c->rows);
  gemel_graph_unref(after);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A pass, and a case in which it fires once. */
typedef struct one_pass {
  const char *name;
  const pull_case *on;
} one_pass;

static const one_pass sums = {"scan_pull_sums", &two_terms},
                      stacks = {"scan_pull_rows", &stack_of_two};

static const gemel_pass *the_pass(gemel_context *context, const char *name) {
  const gemel_pass *pass = gemel_pass_at(context, 0);
  for (size_t k = 0; pass != NULL && strcmp(pass->name, name) != 0; k++) {
    pass = gemel_pass_at(context, k);
  }
  return pass;
}

/* The pass alone, without rules, which would be read anew each time. */
static int pull_once(void *data) {
  const one_pass *one = data;
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&problem);
  gemel_graph *graph = NULL;
  gemel__pass_run run = {NULL, NULL, 0, 0};
  if (context != NULL) {
    graph = gemel_parse(context, one->on->text, strlen(one->on->text), "g", NULL, &problem);
  }
  if (graph != NULL &&
      gemel__pass_apply(the_pass(context, one->name), &graph, &run, &problem) == GEMEL_OK) {
    CT_EQ_UINT(run.applied, 1);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  return problem.status;
}

static void memory_runs_out(const void *data) {
  CT_CHECK(ct_oom(pull_once, (void *)data) > 50);
}

static const ct_test tests[] = {
    CT_TEST("rnn", pulled, &rnn),
    CT_TEST("rnn_of_no_step", pulled, &rnn_of_no_step),
    CT_TEST("rnn_reverse", pulled, &rnn_reverse),
    CT_TEST("theano-4652/rnn_truncated", pulled, &rnn_truncated),
    CT_TEST("rnn_limited", pulled, &rnn_limited),
    CT_TEST("product", pulled, &product),
    CT_TEST("multiple", pulled, &multiple),
    CT_TEST("view", pulled, &view),
    CT_TEST("two_terms", pulled, &two_terms),
    CT_TEST("until", pulled, &until),
    CT_TEST("history_is_read", pulled, &history_is_read),
    CT_TEST("too_large", pulled, &too_large),
    CT_TEST("theano-5249/size_of_a_step", pulled, &size_of_a_step),
    CT_TEST("stack", pulled, &stack),
    CT_TEST("stack_of_no_step", pulled, &stack_of_no_step),
    CT_TEST("stack_before", pulled, &stack_before),
    CT_TEST("stack_of_two", pulled, &stack_of_two),
    CT_TEST("stack_fed", pulled, &stack_fed),
    CT_TEST("stack_read_inside", pulled, &stack_read_inside),
    CT_TEST("stack_truncated", pulled, &stack_truncated),
    CT_TEST("stack_of_gradient", pulled, &stack_of_gradient),
    CT_TEST("stack_too_small", pulled, &stack_too_small),
    CT_TEST("memory_runs_out", memory_runs_out, &sums),
    CT_TEST("stack_memory_runs_out", memory_runs_out, &stacks),
};

void ct_register(void) {
  ct_suite("scan_pull", tests, CT_COUNT(tests));
}
