/*
 * scan as programs use it: its builder, calls of one function with several sizes, given results,
 * threads, guards, shared variables, many steps and results, deep nesting, refused memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include <gemel/gemel.h>
#include <gemel/rewrite.h>
#include <pthread.h>
#include <time.h>
#include "support/small-stack.h"
#include "support/text-case.h"

/* ---- Values ---- */

/* States and rows of each dtype, of one element and of three, keep their bits. */
static void any_dtype(const void *data) {
  gemel_dtype dtype = *(const gemel_dtype *)data;
  const char *name = gemel_dtype_name(dtype);
  const char *shapes[] = {"", "3"};
  const char *elements[] = {"1", "1 0 1"};
  const char *histories[] = {"[3] 1 0 1", "[3, 3] 1 0 1 0 0 1 1 1 0"};
  const char *rows[] = {"[2] 0 1", "[2, 3] 0 0 1 1 1 0"};
  const char *lasts[] = {"1", "1 1 0"};
  for (int k = 0; k < 2; k++) {
    char text[500], in[2][60], out[3][60];
    snprintf(text, sizeof text,
             "graph g(s: %s[%s], x: %s[%s]) {\n"
             "  last, all, y = scan(s, x, body = graph (s: %s[%s], x: %s[%s]) {\n"
             "    return n = x, y = where(s == x, x, x)\n"
             "  }, states = 1, sequences = 1)\n"
             "  return last, all, y\n"
             "}\n",
             name, shapes[k], name, k == 0 ? "2" : "2, 3", name, shapes[k], name, shapes[k]);
    snprintf(in[0], sizeof in[0], "%s[%s] %s", name, shapes[k], elements[k]);
    snprintf(in[1], sizeof in[1], "%s%s", name, rows[k]);
    snprintf(out[0], sizeof out[0], "%s[%s] %s", name, shapes[k], lasts[k]);
    snprintf(out[1], sizeof out[1], "%s%s", name, histories[k]);
    snprintf(out[2], sizeof out[2], "%s%s", name, rows[k]);
    run_text_case(
        &(text_case){name, text, {in[0], in[1]}, {out[0], out[1], out[2]}, GEMEL_OK, NULL});
  }
}

/* A loop whose state is a key draws what is drawn outside, and other numbers in each step. */
static void keys(const void *data) {
  static const char *const draws[] = {"random_uniform", "random_normal", "random_bits"};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(draws); k++) {
    char text[900];
    const char *d = draws[k];
    snprintf(text, sizeof text,
             "graph step(key: u64[2]) { u, next = %s(key, shape = [3]) return next, u }\n"
             "graph g(key: u64[2]) {\n"
             "  last, all, u = scan(key, body = step, states = 1, length = 3)\n"
             "  a, k1 = %s(key, shape = [3])\n"
             "  b, k2 = %s(k1, shape = [3])\n"
             "  c, k3 = %s(k2, shape = [3])\n"
             "  rows = reshape(join(a, b, c), shape = [3, 3])\n"
             "  return all = subtensor(all, start = [3, 0], size = [1, 2]) == k3,\n"
             "         u = u == rows, others = a != b, more = b != c\n"
             "}\n",
             d, d, d, d);
    run_text_case(&(text_case){
        d,
        text,
        {"u64[2] 7 3"},
        {"bool[1, 2] 1 1", "bool[3, 3] 1 1 1 1 1 1 1 1 1", "bool[3] 1 1 1", "bool[3] 1 1 1"},
        GEMEL_OK,
        NULL});
  }
}

/* T with 99 for each of its elements, which lie as they did. */
static gemel_tensor *scrambled(gemel_tensor *t) {
  gemel_view view = gemel_tensor_view(t);
  for (int64_t i = 0; i < gemel_tensor_elements(t); i++) {
    char *at = view.data;
    int64_t rest = i;
    for (int axis = view.rank - 1; axis >= 0; axis--) {
      at += rest % view.shape[axis] * view.strides[axis];
      rest /= view.shape[axis];
    }
    *(double *)(void *)at = 99;
  }
  return t;
}

/* As compare_all, wherever the results lie. */
static void compare_laid(size_t n, gemel_tensor **out, gemel_tensor *const *wanted) {
  for (size_t k = 0; k < n; k++) {
    gemel_view view = gemel_tensor_view(out[k]);
    gemel_tensor *dense = gemel_tensor_copy(&view, NULL);
    opt_compare(dense, wanted[k]);
    gemel_tensor_unref(dense);
  }
}

/* One function for several numbers of rows and widths of rows, which lie now so, now so. */
static void several_sizes(const void *data) {
  static const char *const calls[][4] = {
      {"f64[2] 1 2", "f64[3, 2] 1 2 3 4 5 6", "f64[2] 10 14", "f64[4, 2] 1 2 2 4 5 8 10 14"},
      {"f64[1] 5", "f64[1, 1] 2", "f64[1] 7", "f64[2, 1] 5 7"},
      {"f64[2] 8 9", "f64[0, 2]", "f64[2] 8 9", "f64[1, 2] 8 9"},
      {"f64[1] 5", "f64[4, 1] 1 1 1 1", "f64[1] 9", "f64[5, 1] 5 6 7 8 9"},
      {"f64[0]", "f64[2, 0]", "f64[0]", "f64[3, 0]"},
  };
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = parse(context, "graph step(s: f64[N], x: f64[N]) { return n = s + x }\n"
                                      "graph g(s: f64[N], x: f64[T, N]) {\n"
                                      "  last, all = scan(s, x, body = step, states = 1,\n"
                                      "                   sequences = 1)\n"
                                      "  return last, all\n"
                                      "}\n");
  gemel_function *f = gemel_compile(graph, NULL, &error);
  (void)data;
  for (size_t k = 0; k < 3 * CT_COUNT(calls) && f != NULL; k++) {
    const char *const *call = calls[k * 7 % CT_COUNT(calls)];
    gemel_tensor *all[4], *lying[2], *out[2] = {NULL};
    ct_context("call %zu", k);
    for (int j = 0; j < 4; j++) {
      all[j] = opt_read(call[j]).tensor;
    }
    for (int j = 0; j < 2; j++) {
      lying[j] = opt_lay(all[j], (int)(k / 2 % OPT_LAYOUTS));
      out[j] = k % 3 == 0 ? opt_lay(all[2 + j], (int)(k % OPT_LAYOUTS)) : NULL;
      if (out[j] != NULL) { /* a result's place that holds something else */
        out[j] = scrambled(out[j]);
      }
    }
    CT_EQ_INT(gemel_call(f, 2, lying, 2, out, &error), GEMEL_OK);
    CT_EQ_STR(error.text, "");
    compare_laid(2, out, all + 2);
    drop_tensors(2, out);
    drop_tensors(2, lying);
    drop_tensors(4, all);
  }
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* An input of this name and type. */
static gemel_value input_of(gemel_graph *graph, const char *name, size_t rank,
                            const int64_t *shape) {
  gemel_context *context = gemel_graph_context(graph);
  return gemel_input(graph, name, gemel_type_of_shape(context, GEMEL_F64, (int)rank, shape));
}

/* The body n = s * x + c, y = s. */
static gemel_graph *product_body(gemel_context *context) {
  gemel_graph *body = gemel_graph_new(context, NULL);
  gemel_value s = input_of(body, "s", 0, NULL), x = input_of(body, "x", 0, NULL);
  gemel_value c = input_of(body, "c", 0, NULL);
  gemel_output(gemel_add(gemel_mul(s, x), c), "n");
  gemel_output(s, "y");
  return body;
}

static void call_and_compare(gemel_graph *graph, const char *const *in, const char *const *out) {
  gemel_tensor *operands[CASE_OPERANDS], *got[CASE_OPERANDS] = {NULL}, *wanted[CASE_OPERANDS];
  gemel_error error = {0};
  size_t n = read_tensors(in, operands), n_wanted = read_tensors(out, wanted);
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  CT_EQ_INT(gemel_evaluate(graph, n, operands, n_wanted, got, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  if (error.status == GEMEL_OK) {
    compare_all(gemel_graph_output_count(graph), got, n_wanted, wanted);
  }
  drop_tensors(n_wanted, got);
  drop_tensors(n_wanted, wanted);
  drop_tensors(n, operands);
}

static size_t count_loops(const gemel_graph *graph) {
  size_t count = 0;
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    gemel_value value = {(gemel_graph *)graph, k, 0};
    count += strcmp(gemel_value_operation(value), "scan") == 0;
  }
  return count;
}

/* The builder. Equal loops are one node; those that differ in what means nothing are one when the
 * graph is rewritten. */
static void builder(const void *data) {
  static const char *const in[] = {"f64[] 1", "f64[3] 1 2 3", "f64[] 10", NULL};
  static const char *const out[] = {"f64[] 46", "f64[4] 46 36 13 1", "f64[3] 36 13 1", "f64[] 46",
                                    NULL};
  const int64_t three = 3;
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL), *body = product_body(context);
  gemel_value s = input_of(graph, "s", 0, NULL), x = input_of(graph, "x", 1, &three);
  gemel_value c = input_of(graph, "c", 0, NULL);
  (void)data;
  gemel_value loop = gemel_scan_with(GEMEL_LIST(gemel_value, s, x, c), body, .states = 1,
                                     .sequences = 1, .reverse = 1);
  gemel_value same = gemel_scan_with(GEMEL_LIST(gemel_value, s, x, c), body, .states = 1,
                                     .sequences = 1, .reverse = 1);
  gemel_value again =
      gemel_scan_with(GEMEL_LIST(gemel_value, s, x, c), body, .states = 1, .sequences = 1,
                      .reverse = 2, .length = gemel_dim_constant(context, 3));
  for (uint32_t k = 0; k < 3; k++) {
    gemel_output(gemel_value_output(loop, k), k == 0 ? "last" : k == 1 ? "all" : "y");
  }
  gemel_output(again, "again");
  CT_EQ_STR(gemel_value_operation(loop), "scan");
  CT_EQ_UINT(loop.node, same.node);
  CT_CHECK(gemel_is_null(gemel_value_output(loop, 3)));
  call_and_compare(graph, in, out);
  gemel_rewrite_options options = {.size = sizeof options, .exclude = "scan_unroll"};
  gemel_graph *rewritten = gemel_rewrite(graph, &options, NULL);
  CT_EQ_UINT(count_loops(graph), 2);
  CT_EQ_UINT(count_loops(rewritten), 1);
  gemel_graph_unref(rewritten);
  gemel_graph_unref(body);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A state that a step gives a size which may be another has the size that it began with. */
static void type_of_last(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph =
      parse(context, "graph step(s: f64[N], c: f64[M]) { return n = c + 0 * sum(s) }\n"
                     "graph g(s: f64[N], c: f64[M]) {\n"
                     "  last, all = scan(s, c, body = step, states = 1, length = 2)\n"
                     "  return last, all\n"
                     "}\n");
  gemel_value last = gemel_graph_output(graph, 0), s = gemel_graph_input(graph, 0);
  char text[64];
  (void)data;
  CT_CHECK(gemel_type_equal(gemel_value_type(last), gemel_value_type(s)));
  gemel_type_format(context, gemel_value_type(gemel_graph_output(graph, 1)), text, sizeof text);
  CT_EQ_STR(text, "f64[3, N]");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A size that a value holds, as a length. */
static void length_of_value(const void *data) {
  static const char *const in[] = {"f64[] 1", "f64[] 2", "f64[] 3", "i64[] 3", NULL};
  static const char *const out[] = {"f64[] 29", "f64[4] 1 5 13 29", "f64[3] 1 5 13", NULL};
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL), *body = product_body(context);
  gemel_value s[3] = {input_of(graph, "s", 0, NULL), input_of(graph, "x", 0, NULL),
                      input_of(graph, "c", 0, NULL)};
  gemel_value n = gemel_input(graph, "n", gemel_type_of_shape(context, GEMEL_I64, 0, NULL));
  (void)data;
  gemel_value loop = gemel_scan_with(3, s, body, .states = 1, .length = gemel_dim_of(n));
  for (uint32_t k = 0; k < 3; k++) {
    gemel_output(gemel_value_output(loop, k), k == 0 ? "last" : k == 1 ? "all" : "y");
  }
  call_and_compare(graph, in, out);
  gemel_graph_unref(body);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A null value among the operands, or a null body, is an error and nothing else. */
static void null_operands(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_graph *graph = gemel_graph_new(context, NULL), *body = product_body(context);
  gemel_value in[3] = {input_of(graph, "s", 0, NULL), {NULL, 0, 0}, {NULL, 0, 0}};
  (void)data;
  CT_CHECK(gemel_is_null(gemel_scan_with(3, in, body, .states = 3)));
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_BAD_ARGUMENT);
  gemel_graph_clear_error(graph);
  CT_CHECK(gemel_is_null(gemel_scan_with(1, in, NULL, .states = 1)));
  CT_EQ_INT(gemel_graph_error(graph)->status, GEMEL_BAD_ARGUMENT);
  gemel_graph_unref(body);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static const char running_sum[] =
    "graph step(s: f64[], x: f64[]) { return n = s + x, y = s * x }\n"
    "graph g(s: f64[], x: f64[T]) {\n"
    "  last, all, y = scan(s, x, body = step, states = 1, sequences = 1)\n"
    "  return last, all, y\n"
    "}\n";

/* Results are filled where they are given, also over operands; a second call starts anew. */
static void given_results(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = parse(context, running_sum);
  gemel_function *f = gemel_compile(graph, NULL, &error);
  gemel_tensor *in[2] = {opt_read("f64[] 10").tensor, opt_read("f64[4] 1 2 3 4").tensor};
  gemel_tensor *out[3] = {in[0], opt_read("f64[5] 9 9 9 9 9").tensor, in[1]};
  gemel_tensor *once[3], *twice[3];
  static const char *const first[] = {"f64[] 20", "f64[5] 10 11 13 16 20", "f64[4] 10 22 39 64",
                                      NULL};
  static const char *const second[] = {"f64[] 155", "f64[5] 20 30 52 91 155",
                                       "f64[4] 200 660 2028 5824", NULL};
  (void)data;
  read_tensors(first, once);
  read_tensors(second, twice);
  CT_EQ_INT(gemel_call(f, 2, in, 3, out, &error), GEMEL_OK);
  compare_all(3, out, 3, once);
  CT_EQ_INT(gemel_call(f, 2, in, 3, out, &error), GEMEL_OK);
  compare_all(3, out, 3, twice);
  drop_tensors(3, once);
  drop_tensors(3, twice);
  gemel_tensor_unref(out[1]);
  drop_tensors(2, in);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Many steps, many results ---- */

static int slowed_down(void) {
#ifdef GEMEL_SANITIZED
  return 1;
#else
  return getenv("GEMEL_VALGRIND") != NULL;
#endif
}

static double processor_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A hundred thousand steps, whose rows are stacked and read: linear in time and memory. */
static void many_steps(const void *data) {
  const int64_t steps = getenv("GEMEL_VALGRIND") ? 1000 : 100000;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph =
      parse(context, "graph g(n: i64[]) {\n"
                     "  last, all, y = scan(0:i64, arange(n = n), body = \n"
                     "    graph (s: i64[], x: i64[]) { return n = s + x, y = s - x },\n"
                     "    states = 1, sequences = 1)\n"
                     "  return last, all, y\n"
                     "}\n");
  gemel_tensor *in = gemel_tensor_new(GEMEL_I64, 0, NULL, NULL), *out[3] = {NULL};
  (void)data;
  *(int64_t *)gemel_tensor_data(in) = steps;
  CT_EQ_INT(gemel_evaluate(graph, 1, &in, 3, out, &error), GEMEL_OK);
  if (out[0] != NULL) {
    const int64_t *all = gemel_tensor_data(out[1]), *y = gemel_tensor_data(out[2]);
    int64_t wrong = 0;
    for (int64_t k = 0; k < steps; k++) {
      wrong += all[k] != k * (k - 1) / 2 || y[k] != all[k] - k;
    }
    CT_EQ_INT(wrong, 0);
    CT_EQ_INT(*(int64_t *)gemel_tensor_data(out[0]), steps * (steps - 1) / 2);
  }
  drop_tensors(3, out);
  gemel_tensor_unref(in);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Processor time of the fastest of five calls of the gradient of a loop of STEPS steps. */
static double gradient_seconds(gemel_function *f, int64_t steps) {
  gemel_tensor *in[2] = {opt_read("f64[] 3").tensor, gemel_tensor_new(GEMEL_F64, 1, &steps, NULL)};
  double best = 1e30;
  for (int64_t i = 0; i < steps; i++) {
    ((double *)gemel_tensor_data(in[1]))[i] = (double)(i % 5);
  }
  for (int k = 0; k < 5; k++) {
    gemel_tensor *out[2] = {NULL};
    gemel_error error = {0};
    double begin = processor_seconds(), took;
    CT_EQ_INT(gemel_call(f, 2, in, 2, out, &error), GEMEL_OK);
    took = processor_seconds() - begin;
    best = took < best ? took : best;
    for (int64_t i = 0; i < steps && out[1] != NULL; i += 1 + steps / 20) {
      CT_CHECK(((const double *)gemel_tensor_data(out[1]))[i] == (double)(3 + steps - i));
    }
    drop_tensors(2, out);
  }
  drop_tensors(2, in);
  return best;
}

/* Ten times as many steps take ten times as long, not a hundred times. */
static void linear_gradient(const void *data) {
  const int64_t steps = getenv("GEMEL_VALGRIND") ? 100 : 3000;
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph =
      parse(context, "graph step(s: f64[], x: f64[], c: f64[]) { n = s + x return n, y = x * c }\n"
                     "graph g(c: f64[], x: f64[T]) {\n"
                     "  last, all, y = scan(0:f64, x, c, body = step, states = 1, sequences = 1)\n"
                     "  return loss = sum(all) + sum(y)\n"
                     "}\n");
  gemel_value wrt[2] = {gemel_graph_input(graph, 0), gemel_graph_input(graph, 1)}, d[2];
  gemel_value loss = gemel_graph_output(graph, 0);
  (void)data;
  CT_EQ_INT(gemel_grad(1, &loss, NULL, 2, wrt, d, &error), GEMEL_OK);
  gemel_output(d[1], "dx");
  gemel_function *f = gemel_compile(graph, NULL, &error);
  double few = gradient_seconds(f, steps), many = gradient_seconds(f, 10 * steps);
  ct_property("nanoseconds_a_step", (long long)(1e8 * many / (double)steps));
  CT_LE_DOUBLE(many, 40 * few);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

enum { RESULTS = 50 };

/* Bytes of intermediate memory of a call over ROWS rows that asks for RESULT alone, and its value.
 */
static size_t bytes_for(const char *result, int64_t rows, double *value) {
  char text[400];
  gemel_error error = {0};
  gemel_options options = {.size = sizeof options, .as_written = 1};
  gemel_context *context = gemel_context_new(&error);
  gemel_tensor *in[2] = {gemel_tensor_new(GEMEL_F32, 0, NULL, &error),
                         gemel_tensor_new(GEMEL_F32, 1, &rows, &error)};
  gemel_tensor *out = NULL;
  snprintf(text, sizeof text,
           "graph g(s: f32[], x: f32[N]) {\n"
           "  last, all, y = scan(s, x, body = graph (s: f32[], x: f32[]) {\n"
           "    return n = s + x, y = s * x\n  }, states = 1, sequences = 1)\n"
           "  return r = %s\n}\n",
           result);
  gemel_graph *graph = parse(context, text);
  gemel_function *function = gemel_compile(graph, &options, &error);
  for (int64_t k = 0; k < rows; k++) {
    ((float *)gemel_tensor_data(in[1]))[k] = 1;
  }
  CT_EQ_INT(gemel_call(function, 2, in, 1, &out, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  *value = ((float *)gemel_tensor_data(out))[0];
  size_t bytes = gemel_function_bytes(function);
  gemel_function_free(function);
  gemel_graph_unref(graph);
  for (int k = 0; k < 2; k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_tensor_unref(out);
  gemel_context_unref(context);
  return bytes;
}

/* Histories and stacks that nobody reads take no memory. */
static void unread_results(const void *data) {
  double value;
  (void)data;
  size_t last = bytes_for("last", 2000, &value);
  CT_CHECK(value == 2000 && last < 600);
  CT_EQ_UINT(bytes_for("last", 20, &value), last);
  CT_CHECK(value == 20);
  size_t history = bytes_for("sum(all)", 2000, &value);
  CT_CHECK(value == 2000 * 2001 / 2 && history >= 8000 && history < 8600);
  size_t stack = bytes_for("sum(y)", 2000, &value);
  CT_CHECK(value == 1999 * 2000 / 2 && stack >= 8000 && stack < 8600);
}

/* Fifty states, of which each is made from its neighbour: compiled and called in ten milliseconds.
 */
static void many_results(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = gemel_graph_new(context, NULL), *body = gemel_graph_new(context, NULL);
  gemel_value in[RESULTS], s[RESULTS];
  gemel_tensor *out[2 * RESULTS] = {NULL};
  (void)data;
  for (int k = 0; k < RESULTS; k++) {
    char name[20];
    snprintf(name, sizeof name, "s%d", k);
    s[k] = input_of(body, name, 0, NULL);
    in[k] = gemel_scalar(graph, GEMEL_F64, k);
  }
  for (int k = 0; k < RESULTS; k++) {
    char name[20];
    snprintf(name, sizeof name, "n%d", k);
    gemel_output(gemel_add(s[k], s[(k + 1) % RESULTS]), name);
  }
  gemel_value loop = gemel_scan_with(RESULTS, in, body, .states = RESULTS,
                                     .length = gemel_dim_constant(context, 2));
  for (uint32_t k = 0; k < 2 * RESULTS; k++) {
    char name[20];
    snprintf(name, sizeof name, "r%u", (unsigned)k);
    gemel_output(gemel_value_output(loop, k), name);
  }
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  double best = 1;
  for (int k = 0; k < 3; k++) {
    double begin = processor_seconds(), took;
    gemel_function *f = gemel_compile(graph, NULL, &error);
    drop_tensors(2 * RESULTS, out);
    CT_EQ_INT(gemel_call(f, 0, NULL, 2 * RESULTS, out, &error), GEMEL_OK);
    took = processor_seconds() - begin;
    best = took < best ? took : best;
    gemel_function_free(f);
  }
  ct_property("microseconds", (long long)(1e6 * best));
  CT_CHECK(best <= 0.01 || slowed_down());
  for (int k = 0; k < RESULTS && out[0] != NULL; k++) {
    double wanted = k + 2 * ((k + 1) % RESULTS) + (k + 2) % RESULTS;
    const double *history = gemel_tensor_data(out[RESULTS + k]);
    ct_context("state %d", k);
    CT_CHECK(*(double *)gemel_tensor_data(out[k]) == wanted);
    CT_CHECK(history[0] == k && history[1] == k + (k + 1) % RESULTS && history[2] == wanted);
  }
  drop_tensors(2 * RESULTS, out);
  gemel_graph_unref(body);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Memory ---- */

static gemel_status run_loops(gemel_graph *graph, gemel_error *error) {
  gemel_tensor *in[2] = {gemel_tensor_new(GEMEL_F64, 0, NULL, error), NULL}, *out[4] = {NULL};
  int64_t two = 2;
  in[1] = in[0] != NULL ? gemel_tensor_new(GEMEL_F64, 1, &two, error) : NULL;
  gemel_status status = error->status;
  if (in[1] != NULL) {
    *(double *)gemel_tensor_data(in[0]) = 7;
    ((double *)gemel_tensor_data(in[1]))[0] = 2;
    ((double *)gemel_tensor_data(in[1]))[1] = 3;
    status = gemel_evaluate(graph, 2, in, 4, out, error);
  }
  if (status == GEMEL_OK) { /* the last state is s x0 x1, and the history's rows are added to it */
    CT_CHECK(*(double *)gemel_tensor_data(out[0]) == 7 + 14 + 42 + 42);
    CT_CHECK(*(double *)gemel_tensor_data(out[1]) == 1 + 2 + 6 + 6);
    CT_CHECK(((double *)gemel_tensor_data(out[2]))[0] == 7 + 21 + 21);
    CT_CHECK(((double *)gemel_tensor_data(out[2]))[1] == 14 + 14);
    CT_CHECK(*(double *)gemel_tensor_data(out[3]) == 7 * 15);
  }
  drop_tensors(4, out);
  drop_tensors(2, in);
  return status;
}

/* Builds a loop from text, differentiates it both ways and runs all. The gradient saves tanh(x). */
static gemel_status build_loops(gemel_context *context, gemel_error *error) {
  static const char text[] =
      "graph step(s: f64[], x: f64[]) { n = s * x + (tanh(x) - tanh(x)) return n, stop = n > 40 }\n"
      "graph g(s: f64[], x: f64[T]) {\n"
      "  last, all, count = scan(s, x, body = step, states = 1, sequences = 1, until = 1)\n"
      "  return loss = last + sum(all)\n"
      "}\n";
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "test", NULL, error);
  gemel_status status = graph == NULL ? error->status : GEMEL_OK;
  if (status == GEMEL_OK) {
    gemel_value wrt[2] = {gemel_graph_input(graph, 0), gemel_graph_input(graph, 1)}, d[3];
    gemel_value loss = gemel_graph_output(graph, 0);
    status = gemel_grad(1, &loss, NULL, 2, wrt, d, error);
    if (status == GEMEL_OK) {
      status = gemel_jvp(1, &loss, 1, wrt, wrt, d + 2, error);
    }
    for (int k = 0; k < 3 && status == GEMEL_OK; k++) {
      status = gemel_output(d[k], k == 0 ? "ds" : k == 1 ? "dx" : "t");
    }
  }
  if (status == GEMEL_OK) {
    status = run_loops(graph, error);
  }
  gemel_graph_unref(graph);
  return status;
}

static int out_of_memory(void *data) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_status status = context != NULL ? build_loops(context, &error) : error.status;
  (void)data;
  gemel_context_unref(context);
  return status;
}

static void memory(const void *data) {
  (void)data;
  CT_CHECK(ct_oom(out_of_memory, NULL) > 100);
}

/* ---- Threads, guards, shared variables ---- */

enum { CALLERS = 4, CALLS = 50 };

typedef struct caller {
  pthread_t thread;
  gemel_function *function;
  int number, wrong;
} caller;

/* Each thread has loops of other lengths, which end in other steps. */
static void *call_often(void *data) {
  caller *c = data;
  for (int k = 0; k < CALLS; k++) {
    gemel_error error = {0};
    int64_t rows = 1 + (c->number * 7 + k) % 9, last = 1 + (c->number + k) % 4;
    gemel_tensor *in[2] = {gemel_tensor_new(GEMEL_I64, 0, NULL, NULL),
                           gemel_tensor_new(GEMEL_I64, 1, &rows, NULL)};
    gemel_tensor *out[3] = {NULL};
    *(int64_t *)gemel_tensor_data(in[0]) = last;
    for (int64_t i = 0; i < rows; i++) {
      ((int64_t *)gemel_tensor_data(in[1]))[i] = i + 1;
    }
    c->wrong += gemel_call(c->function, 2, in, 3, out, &error) != GEMEL_OK;
    if (out[2] != NULL) {
      int64_t steps = last < rows ? last : rows;
      const int64_t *all = gemel_tensor_data(out[1]);
      for (int64_t i = 0; i <= rows; i++) {
        c->wrong += all[i] != (i <= steps ? i * (i + 1) / 2 : 0);
      }
      c->wrong += *(const int64_t *)gemel_tensor_data(out[0]) != steps * (steps + 1) / 2;
      c->wrong += *(const int64_t *)gemel_tensor_data(out[2]) != steps;
    }
    drop_tensors(3, out);
    drop_tensors(2, in);
  }
  return NULL;
}

static void several_threads(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph =
      parse(context, "graph step(s: i64[], x: i64[], b: i64[]) {\n"
                     "  return n = s + x, stop = x >= b\n"
                     "}\n"
                     "graph g(b: i64[], x: i64[T]) {\n"
                     "  last, all, count = scan(0:i64, x, b, body = step, states = 1,\n"
                     "                          sequences = 1, until = 1)\n"
                     "  return last, all, count\n"
                     "}\n");
  gemel_function *f = gemel_compile(graph, NULL, &error);
  caller callers[CALLERS];
  (void)data;
  for (int k = 0; k < CALLERS; k++) {
    callers[k] = (caller){.function = f, .number = k};
    CT_REQUIRE(pthread_create(&callers[k].thread, NULL, call_often, &callers[k]) == 0);
  }
  for (int k = 0; k < CALLERS; k++) {
    pthread_join(callers[k].thread, NULL);
    CT_EQ_INT(callers[k].wrong, 0);
  }
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static gemel_status run_42(const gemel_kernel_call *call) {
  *(double *)call->outputs[0].data = 42;
  return GEMEL_OK;
}

/* A plain function is plain in bodies, too: it doesn't take the kernel that a program registered.
 */
static void plain_bodies(const void *data) {
  static const gemel_kernel kernel = {"forty-two", NULL, run_42};
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = parse(context, "graph step(s: f64[]) { return n = exp(s) }\n"
                                      "graph g(s: f64[]) {\n"
                                      "  last, all = scan(s, body = step, states = 1, length = 1)\n"
                                      "  return last\n"
                                      "}\n");
  (void)data;
  CT_EQ_INT(gemel_register_kernel(context, 0, "exp", &kernel, &error), GEMEL_OK);
  for (int plain = 0; plain < 2; plain++) {
    gemel_options options = {.size = sizeof options, .plain = plain, .as_written = 1};
    gemel_function *f = gemel_compile(graph, &options, &error);
    gemel_tensor *in = opt_read("f64[] 0").tensor, *out = NULL;
    CT_EQ_INT(gemel_call(f, 1, &in, 1, &out, &error), GEMEL_OK);
    CT_CHECK(out != NULL && *(double *)gemel_tensor_data(out) == (plain ? 1 : 42));
    gemel_tensor_unref(in);
    gemel_tensor_unref(out);
    gemel_function_free(f);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* The guard looks into bodies, and says in which step. */
static void guarded(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = parse(context, "graph step(s: f64[], x: f64[]) {\n"
                                      "  d = s - x\n"
                                      "  return n = sqrt(d)\n"
                                      "}\n"
                                      "graph g(s: f64[], x: f64[T]) {\n"
                                      "  last, all = scan(s, x, body = step, states = 1,\n"
                                      "                   sequences = 1)\n"
                                      "  return last\n"
                                      "}\n");
  gemel_options options = {.size = sizeof options, .guard = GEMEL_GUARD_NAN};
  gemel_function *f = gemel_compile(graph, &options, &error);
  gemel_tensor *in[2] = {opt_read("f64[] 16").tensor, opt_read("f64[4] 0 0 3 0").tensor};
  gemel_tensor *out = NULL;
  (void)data;
  CT_EQ_INT(gemel_call(f, 2, in, 1, &out, &error), GEMEL_BAD_VALUE);
  CT_HAS_STR(error.text, "test:6: scan(f64[], f64[T]): step 3 of 4: test:3: sqrt(f64[])");
  CT_HAS_STR(error.text, "has a NaN at []");
  drop_tensors(2, in);
  gemel_function_free(f);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A loop ends where its condition says so or, if there is a limit, behind that many steps. */
static void limited_steps(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph =
      parse(context, "graph step(s: i64[]) { return n = s + 1, stop = s + 1 >= 5 }\n"
                     "graph g(s: i64[]) {\n"
                     "  last, count = scan(s, body = step, states = 1, until = 1)\n"
                     "  return last\n"
                     "}\n");
  (void)data;
  for (int64_t most = 4; most <= 5; most++) {
    gemel_options options = {.size = sizeof options, .most_steps = most};
    gemel_function *f = gemel_compile(graph, &options, &error);
    gemel_tensor *in = opt_read("i64[] 0").tensor, *out = NULL;
    CT_EQ_INT(gemel_call(f, 1, &in, 1, &out, &error), most == 4 ? GEMEL_TOO_LONG : GEMEL_OK);
    CT_EQ_INT(out != NULL ? *(int64_t *)gemel_tensor_data(out) : 5, 5);
    CT_CHECK(most == 5 || strstr(error.text, "a loop takes more than 4 steps") != NULL);
    gemel_tensor_unref(in);
    gemel_tensor_unref(out);
    gemel_function_free(f);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* A shared variable goes into a loop and becomes what comes out of it; a call that fails leaves it.
 */
static void shared_variable(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {0};
  gemel_graph *graph = parse(context, "graph step(w: f64[2], k: i64[], c: f64[3]) {\n"
                                      "  return n = w + subtensor(c, start = [k], size = [2])\n"
                                      "}\n"
                                      "graph g(state w: f64[2], k: i64[T], c: f64[3]) {\n"
                                      "  last, all = scan(w, k, c, body = step, states = 1,\n"
                                      "                   sequences = 1)\n"
                                      "  update w = last\n"
                                      "  return total = sum(all)\n"
                                      "}\n");
  gemel_tensor *w = opt_read("f64[2] 1 2").tensor, *c = opt_read("f64[3] 10 20 30").tensor;
  gemel_shared *shared = gemel_shared_new(w, &error);
  gemel_options options = {.size = sizeof options, .states = &shared, .n_states = 1};
  gemel_function *f = gemel_compile(graph, &options, &error);
  static const char *const rows[] = {"i64[2] 0 1", "i64[3] 0 1 2", "i64[0]", "i64[1] 1"};
  static const double after[] = {31, 52, 31, 52, 31, 52, 51, 82};
  (void)data;
  CT_EQ_STR(error.text, "");
  for (int k = 0; k < 4; k++) {
    gemel_tensor *in[2] = {opt_read(rows[k]).tensor, c}, *out = NULL;
    CT_EQ_INT(gemel_call(f, 2, in, 1, &out, &error), k == 1 ? GEMEL_BAD_VALUE : GEMEL_OK);
    gemel_tensor *now = gemel_shared_get(shared);
    ct_context("call %d", k);
    CT_CHECK(((double *)gemel_tensor_data(now))[0] == after[2 * k]);
    CT_CHECK(((double *)gemel_tensor_data(now))[1] == after[2 * k + 1]);
    gemel_tensor_unref(now);
    gemel_tensor_unref(out);
    gemel_tensor_unref(in[0]);
  }
  gemel_function_free(f);
  gemel_shared_unref(shared);
  gemel_tensor_unref(w);
  gemel_tensor_unref(c);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* ---- Deep nesting ---- */

/* N loops in one another, of one step each: x to the power of two. */
static gemel_graph *nest(gemel_context *context, int n) {
  char *text = malloc((size_t)n * 150 + 300), *p = text;
  p += sprintf(p, "graph b0(x: f32[]) { return y = x * x }\n");
  for (int k = 1; k <= n; k++) {
    p += sprintf(p,
                 "graph b%d(x: f32[]) {\n"
                 "  last, all = scan(x, body = b%d, states = 1, length = 1)\n"
                 "  return last\n"
                 "}\n",
                 k, k - 1);
  }
  gemel_graph *graph = parse(context, text);
  free(text);
  return graph;
}

static void *nestings(void *data) {
  const int levels[] = {1, GEMEL_MAX_NESTING, GEMEL_MAX_NESTING + 1};
  (void)data;
  for (size_t k = 0; k < CT_COUNT(levels); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_graph *graph = nest(context, levels[k]);
    gemel_value x = gemel_graph_input(graph, 0), y = gemel_graph_output(graph, 0), d = {0};
    gemel_error error = {0};
    gemel_tensor *in = opt_read("f32[] 3").tensor, *out[2] = {NULL};
    int deep = levels[k] > GEMEL_MAX_NESTING;
    ct_context("%d loops", levels[k]);
    CT_EQ_INT(gemel_evaluate(graph, 1, &in, 1, out, &error), deep ? GEMEL_UNSUPPORTED : GEMEL_OK);
    CT_EQ_INT(gemel_grad(1, &y, NULL, 1, &x, &d, &error), deep ? GEMEL_UNSUPPORTED : GEMEL_OK);
    if (deep) {
      CT_HAS_STR(error.text, "and no more than 32 can be differentiated or run");
    } else {
      gemel_output(d, "d");
      drop_tensors(1, out);
      CT_EQ_INT(gemel_evaluate(graph, 1, &in, 2, out, &error), GEMEL_OK);
      CT_CHECK(out[1] != NULL && *(float *)gemel_tensor_data(out[0]) == 9);
      CT_CHECK(out[1] != NULL && *(float *)gemel_tensor_data(out[1]) == 6);
    }
    drop_tensors(2, out);
    gemel_tensor_unref(in);
    gemel_graph_unref(graph);
    gemel_context_unref(context);
  }
  return NULL;
}

static void nesting(const void *data) {
  on_small_stack(nestings, data);
}

static const ct_test tests[] = {
    CT_TEST("random_key", keys, NULL),
    CT_TEST("sizes/several", several_sizes, NULL),
    CT_TEST("builder", builder, NULL),
    CT_TEST("builder/length_of_value", length_of_value, NULL),
    CT_TEST("type_of_last", type_of_last, NULL),
    CT_TEST("builder/null", null_operands, NULL),
    CT_TEST("given_results", given_results, NULL),
    CT_TEST("jax-40101/many_steps", many_steps, NULL),
    CT_TEST("jax-15906/linear_gradient", linear_gradient, NULL),
    CT_TEST("theano-1804/unread_results", unread_results, NULL),
    CT_TEST("theano-3056/many_results", many_results, NULL),
    CT_TEST("threads", several_threads, NULL),
    CT_TEST("plain", plain_bodies, NULL),
    CT_TEST("guard", guarded, NULL),
    CT_TEST("limited", limited_steps, NULL),
    CT_TEST("shared_variable", shared_variable, NULL),
    CT_TEST("nesting", nesting, NULL),
    CT_TEST("out_of_memory", memory, NULL),
};

void ct_register(void) {
  static gemel_dtype dtypes[GEMEL_DTYPE_COUNT];
  ct_suite("scan_calls", tests, CT_COUNT(tests));
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    dtypes[k] = (gemel_dtype)k;
    CT_ADD_TO("scan_calls", "dtype", gemel_dtype_name(dtypes[k]), any_dtype, &dtypes[k]);
  }
}
