/*
 * The graphs of bench/graphs: each is read, printed and read again, runs, and is differentiated by
 * every input of a float dtype; the results and the gradients are finite at ordinary inputs, for
 * batches of one and of several, and some gradient isn't zero. Inputs are drawn by dtype (see
 * bench/graphs/README.md): floats between -1 and 1, integers 0, 1 or 2, bools both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "graphs.h"
#include "run.h"

enum { MAX_VALUES = 48, MAX_RANK = 8 };

/* ---- Inputs ---- */

/* The size that the dimension DIM of an input has: 1 for all symbols, or a small prime by the
 * symbol's first letter. */
static int64_t size_of(gemel_context *context, gemel_dim dim, int ones) {
  static const int64_t primes[] = {2, 3, 5, 7};
  char text[64];
  int64_t size;
  if (gemel_dim_is_constant(context, dim, &size)) {
    return size;
  }
  gemel_dim_format(context, dim, text, sizeof text);
  return ones ? 1 : primes[text[0] % 4];
}

static void fill_tensor(gemel_tensor *t, int64_t count) {
  gemel_dtype dtype = gemel_tensor_dtype(t);
  void *data = gemel_tensor_data(t);
  int64_t k;
  CT_CHECK(dtype == GEMEL_F32 || dtype == GEMEL_F64 || dtype == GEMEL_I64 || dtype == GEMEL_BOOL);
  for (k = 0; k < count; k++) {
    double real = (double)(2 * pick(1 << 20) + 1) / (1 << 20) - 1;
    if (dtype == GEMEL_F32) {
      ((float *)data)[k] = (float)real;
    } else if (dtype == GEMEL_F64) {
      ((double *)data)[k] = real;
    } else if (dtype == GEMEL_I64) {
      ((int64_t *)data)[k] = pick(3);
    } else if (dtype == GEMEL_BOOL) {
      ((unsigned char *)data)[k] = (unsigned char)pick(2);
    }
  }
}

static gemel_tensor *draw(gemel_context *context, gemel_type type, int ones) {
  const gemel_dim *dims = gemel_type_dims(context, type);
  int64_t shape[MAX_RANK], count = 1;
  int k, rank = gemel_type_rank(context, type);
  gemel_tensor *t;
  for (k = 0; k < rank; k++) {
    shape[k] = size_of(context, dims[k], ones);
    count *= shape[k];
  }
  t = gemel_tensor_new(gemel_type_dtype(context, type), rank, shape, &error);
  if (CT_CHECK(t != NULL)) {
    fill_tensor(t, count);
  }
  return t;
}

/* ---- Results ---- */

static double element(const gemel_tensor *t, int64_t k) {
  const void *data = gemel_tensor_data(t);
  return gemel_tensor_dtype(t) == GEMEL_F32   ? (double)((const float *)data)[k]
         : gemel_tensor_dtype(t) == GEMEL_F64 ? ((const double *)data)[k]
                                              : 0;
}

/* Checks that all is finite; returns the largest absolute value. */
static double largest(const gemel_tensor *t, const char *name) {
  int64_t count = 1, k;
  double most = 0;
  int axis;
  for (axis = 0; axis < gemel_tensor_rank(t); axis++) {
    count *= gemel_tensor_shape(t)[axis];
  }
  for (k = 0; k < count; k++) {
    double x = element(t, k);
    if (!isfinite(x)) {
      CT_FAIL("%s: element %lld is %g", name, (long long)k, x);
      return x;
    }
    most = fabs(x) > most ? fabs(x) : most;
  }
  return most;
}

/* Calls GRAPH at drawn inputs. Returns the largest absolute value among the outputs from FIRST on.
 */
static double call(const gemel_graph *graph, int ones, size_t first) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_tensor *inputs[MAX_VALUES] = {NULL}, *outputs[MAX_VALUES] = {NULL};
  size_t n = gemel_graph_input_count(graph), m = gemel_graph_output_count(graph), k;
  double most = 0;
  state = 1;
  for (k = 0; k < n; k++) {
    inputs[k] = draw(context, gemel_value_type(gemel_graph_input(graph, k)), ones);
  }
  if (!CT_EQ_INT(gemel_evaluate(graph, gemel_graph_input_count(graph), inputs,
                                gemel_graph_output_count(graph), outputs, &error),
                 GEMEL_OK)) {
    CT_FAIL("%s", error.text);
    m = 0;
  }
  for (k = 0; k < m; k++) {
    double one = largest(outputs[k], gemel_graph_output_name(graph, k));
    most = k >= first && one > most ? one : most;
    gemel_tensor_unref(outputs[k]);
  }
  for (k = 0; k < n; k++) {
    gemel_tensor_unref(inputs[k]);
  }
  return most;
}

/* ---- Tests ---- */

/* What is printed reads back and prints the same; the graph is called as its file. */
static void is_text(const void *data) {
  const char *name = data;
  gemel_context *context = context_new();
  char *graph_name = NULL, *first = NULL, *second = NULL;
  gemel_graph *graph = load_graph(context, name, &graph_name), *again = NULL;
  if (graph != NULL) {
    CT_EQ_INT(gemel_graph_check(graph, &error), GEMEL_OK);
    CT_CHECK(strncmp(graph_name, name, strlen(graph_name)) == 0 &&
             strcmp(name + strlen(graph_name), ".gmt") == 0);
    first = gemel_print_string(graph, graph_name, &error);
  }
  if (first != NULL) {
    again = gemel_parse(context, first, strlen(first), "again", NULL, &error);
    second = again != NULL ? gemel_print_string(again, graph_name, &error) : NULL;
  }
  CT_CHECK(first != NULL && second != NULL && strcmp(first, second) == 0);
  gemel_text_free(first);
  gemel_text_free(second);
  gemel_text_free(graph_name);
  gemel_graph_unref(graph);
  gemel_graph_unref(again);
  gemel_context_unref(context);
}

static void runs(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = load_graph(context, data, NULL);
  if (graph != NULL) {
    call(graph, 0, 0);
    call(graph, 1, 0);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

/* Adds d_x for each input x of a float dtype: the gradient of the output "loss", which comes first.
 */
static gemel_status differentiate(gemel_graph *graph) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_value loss = gemel_graph_output(graph, 0), wrt[MAX_VALUES], gradients[MAX_VALUES];
  size_t n = 0, k;
  CT_CHECK(strcmp(gemel_graph_output_name(graph, 0), "loss") == 0);
  for (k = 0; k < gemel_graph_input_count(graph) && n < MAX_VALUES / 2; k++) {
    gemel_value input = gemel_graph_input(graph, k);
    if (gemel_dtype_kind(gemel_type_dtype(context, gemel_value_type(input))) == GEMEL_KIND_FLOAT) {
      wrt[n++] = input;
    }
  }
  if (gemel_grad(1, &loss, NULL, n, wrt, gradients, &error) != GEMEL_OK) {
    return error.status;
  }
  for (k = 0; k < n; k++) {
    char name[16];
    snprintf(name, sizeof name, "d_%zu", k);
    gemel_output(gradients[k], name);
  }
  return gemel_graph_error(graph)->status;
}

static void has_gradient(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = load_graph(context, data, NULL);
  if (graph != NULL) {
    size_t first = gemel_graph_output_count(graph);
    if (!CT_EQ_INT(differentiate(graph), GEMEL_OK)) {
      CT_FAIL("%s", error.text);
    } else {
      CT_CHECK(call(graph, 0, first) > 0);
      call(graph, 1, first);
    }
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void there_are_twelve(const void *data) {
  (void)data;
  CT_CHECK(n_graph_files >= 12);
}

void ct_register(void) {
  char name[80];
  size_t k;
  find_graphs();
  CT_ADD("graphs", "count", there_are_twelve, NULL);
  for (k = 0; k < n_graph_files; k++) {
    int length = (int)strcspn(graph_files[k], ".");
    snprintf(name, sizeof name, "text/%.*s", length, graph_files[k]);
    CT_ADD("graphs", name, is_text, graph_files[k]);
    snprintf(name, sizeof name, "run/%.*s", length, graph_files[k]);
    CT_ADD("graphs", name, runs, graph_files[k]);
    snprintf(name, sizeof name, "gradient/%.*s", length, graph_files[k]);
    CT_ADD("graphs", name, has_gradient, graph_files[k]);
  }
}
