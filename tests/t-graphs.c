/*
 * The graphs of bench/graphs: each is read, printed and read again, runs, and is differentiated by
 * every input of a float dtype. At ordinary inputs, for batches of one and of several, results and
 * gradients are finite, rewritten and fused as well as with plain kernels, and the same but for
 * rounding; some gradient isn't zero; and along one direction, forward and reverse mode find the
 * same slope, by rules that are different ones for most tensor operations. Inputs are drawn by
 * dtype (see bench/graphs/README.md): floats between -1 and 1, integers 0, 1 or 2, bools both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "graphs.h"
#include "run.h"
#include "support/near.h"

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
  switch (gemel_tensor_dtype(t)) {
  case GEMEL_F32:
    return (double)((const float *)data)[k];
  case GEMEL_F64:
    return ((const double *)data)[k];
  case GEMEL_I64:
    return (double)((const int64_t *)data)[k];
  case GEMEL_BOOL:
    return ((const unsigned char *)data)[k];
  default:
    CT_FAIL("no test knows dtype %d", (int)gemel_tensor_dtype(t));
    return NAN;
  }
}

/* Checks that all is finite; returns the largest absolute value. */
static double largest(const gemel_tensor *t, const char *name) {
  double most = 0;
  for (int64_t k = 0; k < gemel_tensor_elements(t); k++) {
    double x = element(t, k);
    if (!isfinite(x)) {
      CT_FAIL("%s: element %lld is %g", name, (long long)k, x);
      return x;
    }
    most = fabs(x) > most ? fabs(x) : most;
  }
  return most;
}

/* Elements of A and B are the same but for what rounding in f32 does to the largest, or to what
 * cancelled out, which is about 1; integers and truths are equal. */
static void agree(const gemel_tensor *a, const gemel_tensor *b, const char *name) {
  int floats = gemel_dtype_kind(gemel_tensor_dtype(b)) == GEMEL_KIND_FLOAT;
  double bound = floats ? 1e-4 * largest(b, name) + 1e-6 : 0;
  CT_EQ_INT(gemel_tensor_elements(a), gemel_tensor_elements(b));
  for (int64_t k = 0; k < gemel_tensor_elements(b); k++) {
    if (!is_near(element(a, k), element(b, k), bound)) {
      CT_FAIL("%s: element %lld is %.9g, and %.9g by plain kernels", name, (long long)k,
              element(a, k), element(b, k));
      return;
    }
  }
}

static void call_once(const gemel_graph *graph, int plain, gemel_tensor *const *inputs,
                      gemel_tensor **outputs) {
  gemel_options options = {.size = sizeof options, .plain = plain};
  gemel_function *f = gemel_compile(graph, &options, &error);
  CT_REQUIRE(f != NULL);
  CT_REQUIRE(CT_EQ_INT(gemel_call(f, gemel_function_input_count(f), inputs,
                                  gemel_function_output_count(f), outputs, &error),
                       GEMEL_OK));
  gemel_function_free(f);
}

/* Calls GRAPH at drawn inputs, in two ways, which agree. The results are the caller's: OUTPUTS has
 * room for MAX_VALUES. */
static void call(const gemel_graph *graph, int ones, gemel_tensor **outputs) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_tensor *inputs[MAX_VALUES] = {NULL}, *plain[MAX_VALUES] = {NULL};
  size_t n = gemel_graph_input_count(graph), m = gemel_graph_output_count(graph), k;
  CT_REQUIRE(n <= MAX_VALUES && m <= MAX_VALUES);
  state = 1;
  for (k = 0; k < n; k++) {
    inputs[k] = draw(context, gemel_value_type(gemel_graph_input(graph, k)), ones);
  }
  call_once(graph, 0, inputs, outputs);
  call_once(graph, 1, inputs, plain);
  for (k = 0; k < m; k++) {
    largest(outputs[k], gemel_graph_output_name(graph, k));
    agree(outputs[k], plain[k], gemel_graph_output_name(graph, k));
    gemel_tensor_unref(plain[k]);
  }
  for (k = 0; k < n; k++) {
    gemel_tensor_unref(inputs[k]);
  }
}

static void release(const gemel_graph *graph, gemel_tensor **outputs) {
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    gemel_tensor_unref(outputs[k]);
  }
}

/* ---- Tests ---- */

/* What is printed reads back and prints the same; the graph is called as its file. */
static void is_text(const void *data) {
  const corpus_file *file = data;
  gemel_context *context = context_new();
  char *graph_name = NULL, *first = NULL, *second = NULL;
  gemel_graph *graph = load_graph(context, file, &graph_name), *again = NULL;
  if (graph != NULL) {
    CT_EQ_INT(gemel_graph_check(graph, &error), GEMEL_OK);
    CT_EQ_STR(graph_name, file->name);
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
  for (int ones = 0; ones < 2 && graph != NULL; ones++) {
    gemel_tensor *outputs[MAX_VALUES] = {NULL};
    call(graph, ones, outputs);
    release(graph, outputs);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static gemel_value as_f64(gemel_value x) {
  return gemel_cast(x, GEMEL_F64);
}

/* Adds the gradient d_k of the output "loss", which comes first, by each input x_k of a float
 * dtype; then the derivative along x itself, by forward mode, and as the sum of x_k d_k; and that
 * sum of absolute values, which says how far rounding reaches. */
static gemel_status differentiate(gemel_graph *graph) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_value loss = gemel_graph_output(graph, 0), wrt[MAX_VALUES], gradients[MAX_VALUES], slope;
  gemel_value sum = gemel_scalar(graph, GEMEL_F64, 0), size = sum;
  size_t n = 0, k;
  CT_CHECK(strcmp(gemel_graph_output_name(graph, 0), "loss") == 0);
  for (k = 0; k < gemel_graph_input_count(graph) && n < MAX_VALUES / 2; k++) {
    gemel_value input = gemel_graph_input(graph, k);
    if (gemel_dtype_kind(gemel_type_dtype(context, gemel_value_type(input))) == GEMEL_KIND_FLOAT) {
      wrt[n++] = input;
    }
  }
  if (gemel_grad(1, &loss, NULL, n, wrt, gradients, &error) != GEMEL_OK ||
      gemel_jvp(1, &loss, n, wrt, wrt, &slope, &error) != GEMEL_OK) {
    return error.status;
  }
  for (k = 0; k < n; k++) {
    char name[16];
    gemel_value along = as_f64(gemel_mul(gradients[k], wrt[k]));
    snprintf(name, sizeof name, "d_%zu", k);
    gemel_output(gradients[k], name);
    sum = gemel_add(sum, gemel_sum(along));
    size = gemel_add(size, gemel_sum(gemel_abs(along)));
  }
  gemel_output(as_f64(slope), "forward");
  gemel_output(sum, "reverse");
  gemel_output(size, "size");
  return gemel_graph_error(graph)->status;
}

/* How far sums may be off that are added up in different orders, as a part of their absolute
 * values: in f32, or where GRAPH has narrower values, in those. */
static double rounding_of(const gemel_graph *graph) {
  double most = 1e-5;
  for (uint32_t node = 0; node < gemel_graph_node_count(graph); node++) {
    gemel_value v = {(gemel_graph *)graph, node, 0};
    gemel_dtype dtype = gemel_type_dtype(gemel_graph_context(graph), gemel_value_type(v));
    most = dtype == GEMEL_F16 || dtype == GEMEL_BF16 ? 2e-3 : most;
  }
  return most;
}

static void has_gradient(const void *data) {
  gemel_context *context = context_new();
  gemel_graph *graph = load_graph(context, data, NULL);
  if (graph != NULL && !CT_EQ_INT(differentiate(graph), GEMEL_OK)) {
    CT_FAIL("%s", error.text);
  }
  for (int ones = 0; ones < 2 && graph != NULL; ones++) {
    gemel_tensor *outputs[MAX_VALUES] = {NULL};
    size_t m = gemel_graph_output_count(graph);
    call(graph, ones, outputs);
    double forward = element(outputs[m - 3], 0), reverse = element(outputs[m - 2], 0);
    double size = element(outputs[m - 1], 0);
    ct_context("forward %.9g, reverse %.9g, of %.9g", forward, reverse, size);
    CT_CHECK(ones || size > 0);
    CT_CHECK(is_near(forward, reverse, rounding_of(graph) * size));
    release(graph, outputs);
  }
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

void ct_register(void) {
  corpus_read(&graph_files, "graphs");
  for (size_t k = 0; k < graph_files.count; k++) {
    const corpus_file *file = &graph_files.files[k];
    CT_ADD_TO("graphs", "text", file->name, is_text, file);
    CT_ADD_TO("graphs", "run", file->name, runs, file);
    CT_ADD_TO("graphs", "gradient", file->name, has_gradient, file);
  }
}
