/*
 * Facts that gemel__facts claims of elements, held against what the operations compute: every
 * operation it has a rule for, on operands of which more or less is known, in floats and integers,
 * on numbers that are hard: NaN, infinities, zeros of both signs, subnormals, extremes, and what
 * wraps. A claim that one element contradicts is a failure; so is an operation of which nothing is
 * ever claimed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/gemel.h>
#include "core/dtype.h"
#include "rules/facts.h"
#include "text/expr.h"
#include "ct.h"

enum { SIDE = 16, K = SIDE * SIDE, MAX_OUTPUTS = 100 };

/* Rounded to the dtype; what an integer can't hold is left out. */
static const double floats[SIDE] = {NAN, INFINITY, -INFINITY, 0,  -0.0, 5e-324, 0x1p-24, -0x1p-24,
                                    1,   -1,       2.5,       -3, 0.5,  65504,  -65504,  1e30};
static const double integers[SIDE] = {-128, -127, -100, -16, -12, -2,  -1,  0,
                                      1,    2,    3,    12,  16,  100, 126, 127};
static const double naturals[SIDE] = {0,   1,   2,   3,   4,   5,   12,  16,
                                      100, 127, 128, 200, 240, 253, 254, 255};

/* Operands: @ is a or b, T the dtype. */
static const char *const operands[] = {
    "@",
    "abs(@)",
    "relu(@)",
    "maximum(@, 1:T)",
    "sqrt(@)",
    "where(@ == @, 2:T, 3:T)",
    "fill(@, 0:T)",
    "fill(@, -1:T)",
};
enum { N_OPERANDS = sizeof operands / sizeof *operands };

/* Results: x and y are operands. */
static const char *const results[] = {
    "abs(x)",
    "-x",
    "sign(x)",
    "sqr(x)",
    "sqrt(x)",
    "exp(x)",
    "expm1(x)",
    "log(x)",
    "log1p(x)",
    "sigmoid(x)",
    "tanh(x)",
    "relu(x)",
    "x + y",
    "x * y",
    "x * x",
    "x / y",
    "maximum(x, y)",
    "minimum(x, y)",
    "clip(x, y, b)",
    "clip(a, x, y)",
    "pow(x, y)",
    "pow(x, b)",
    "where(a == b, x, y)",
    "cast(x, dtype = i8)",
    "cast(x, dtype = u8)",
    "cast(x, dtype = i64)",
    "cast(x, dtype = f16)",
    "cast(x, dtype = f64)",
    "cast(x, dtype = bool)",
    "sum(reshape(x, shape = [128, 2]), axes = [1])",
    "sum(reshape(x + y, shape = [128, 2]), axes = [1])",
    "prod(reshape(x, shape = [128, 2]), axes = [1])",
    "max(reshape(x, shape = [128, 2]), axes = [1])",
    "argmax(reshape(x, shape = [128, 2]), axis = 1)",
    "softmax(reshape(x, shape = [128, 2]))",
    "join(x, y)",
    "pad(x, 2, low = [1], high = [0])",
    "pad(x, 0, low = [1], high = [0])",
    "set_subtensor(x, y, start = [0])",
    "reverse(x, axes = [0])",
    "dimshuffle(x, order = [0, -1])",
    "broadcast_to(x, shape = [2, 256])",
    "subtensor(x, start = [3], size = [5])",
    "fill(a, subtensor(y, start = [0], size = [1]))",
    "cast(arange(n = 300, dtype = T), dtype = f64)",
    "random_uniform(tensor(u64[2], [1, 2]), shape = [300])",
    "random_normal(tensor(u64[2], [1, 2]), shape = [300])",
    "x == y",
};

/* FROM with WITH in the place of each MARK, to TEXT. */
static void replace(char *text, size_t bytes, const char *from, char mark, const char *with) {
  size_t used = 0;
  text[0] = 0;
  for (; *from && used < bytes; from++) {
    char one[2] = {*from, 0};
    used += (size_t)snprintf(text + used, bytes - used, "%s", *from == mark ? with : one);
  }
}

/* RESULT of operands I and J, in a, b and DTYPE. */
static void compose(char *text, size_t bytes, const char *result, int i, int j, const char *dtype) {
  char x[200], y[200], one[600], two[600], marked[300];
  size_t n = 0;
  replace(x, sizeof x, operands[i], '@', "a");
  replace(y, sizeof y, operands[j], '@', "b");
  /* x and y that stand alone, not those in exp or relu, become marks that no operand has */
  for (const char *p = result; *p && n + 1 < sizeof marked; p++) {
    int alone = (p == result || !((p[-1] >= 'a' && p[-1] <= 'z') || p[-1] == '_')) &&
                !((p[1] >= 'a' && p[1] <= 'z') || p[1] == '_');
    marked[n++] = alone && *p == 'x' ? '\1' : alone && *p == 'y' ? '\2' : *p;
  }
  marked[n] = 0;
  replace(one, sizeof one, marked, '\1', x);
  replace(two, sizeof two, one, '\2', y);
  replace(text, bytes, two, 'T', dtype);
}

static gemel_tensor *numbers(gemel_dtype dtype, int second) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  const double *from = kind == GEMEL_KIND_FLOAT    ? floats
                       : kind == GEMEL_KIND_SIGNED ? integers
                                                   : naturals;
  int64_t shape[1] = {K};
  gemel_tensor *tensor = gemel_tensor_new(dtype, 1, shape, NULL);
  for (int k = 0; k < K; k++) {
    double value = from[second ? k % SIDE : k / SIDE];
    value = dtype == GEMEL_BOOL ? (double)(((second ? k : k / SIDE) & 1) != 0) : value;
    gemel__dtype_store(dtype, value,
                       (char *)gemel_tensor_data(tensor) + (size_t)k * gemel_dtype_size(dtype));
  }
  return tensor;
}

/* Holds the claims FACTS against the elements of TENSOR. */
static void hold(const char *text, unsigned facts, const gemel_tensor *tensor) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  const char *data = gemel_tensor_data(tensor);
  for (int64_t k = 0; k < gemel_tensor_elements(tensor); k++) {
    double v = gemel__dtype_load(dtype, data + (size_t)k * gemel_dtype_size(dtype));
    ct_context("%s: element %d is %g", text, (int)k, v);
    if (!CT_CHECK(!((facts & GEMEL__NONNEGATIVE) && v < 0)) ||
        !CT_CHECK(!((facts & GEMEL__NONZERO) && v == 0)) ||
        !CT_CHECK(!((facts & GEMEL__NOT_NAN) && v != v)) ||
        !CT_CHECK(!((facts & GEMEL__FINITE) && !isfinite(v)))) {
      return;
    }
  }
}

/* What the dtype says by itself is no merit of a rule. */
static unsigned free_facts(gemel_dtype dtype) {
  gemel_kind kind = gemel_dtype_kind(dtype);
  return (kind != GEMEL_KIND_FLOAT ? GEMEL__NOT_NAN | GEMEL__FINITE : 0u) |
         (kind == GEMEL_KIND_BOOL || kind == GEMEL_KIND_UNSIGNED ? GEMEL__NONNEGATIVE : 0u);
}

typedef struct bench {
  gemel_context *context;
  gemel_graph *graph;
  gemel_value in[2];
  char texts[MAX_OUTPUTS][700];
  unsigned facts[MAX_OUTPUTS];
  size_t count;
} bench;

/* Adds an expression as an output, if its types fit; returns how much is claimed of it. */
static int add_output(bench *w, const char *text) {
  static const char *const names[2] = {"a", "b"};
  gemel_error error = {0};
  gemel__expr *expr = gemel__expr_compile(w->context, text, 2, names, &error);
  gemel_value value = {0};
  char name[16];
  gemel__ref ref;
  gemel_dtype dtype;
  ct_context("%s", text);
  if (expr != NULL) {
    value = gemel__expr_build(expr, w->graph, w->in, GEMEL_HERE);
  }
  gemel__expr_free(expr);
  gemel_graph_clear_error(w->graph);
  if (gemel_is_null(value)) {
    return 0;
  }
  ref.node = value.node;
  ref.output = value.output;
  dtype = gemel_type_dtype(w->context, gemel_value_type(value));
  snprintf(name, sizeof name, "o%zu", w->count);
  CT_EQ_INT(gemel_output(value, name), GEMEL_OK);
  snprintf(w->texts[w->count], sizeof w->texts[0], "%s", text);
  w->facts[w->count] = gemel__facts(w->graph, ref);
  return (w->facts[w->count++] & ~free_facts(dtype)) != 0;
}

/* One result in one dtype, for all pairs of operands; how many claims there were. */
static int check_result(gemel_context *context, const char *result, gemel_dtype dtype) {
  static bench w;
  gemel_tensor *in[2] = {numbers(dtype, 0), numbers(dtype, 1)}, *out[MAX_OUTPUTS] = {NULL};
  gemel_dim size = gemel_dim_constant(context, K);
  gemel_type type = gemel_type_new(context, dtype, 1, &size, GEMEL_SPACE_HOST);
  gemel_error error = {0};
  int claims = 0;
  memset(&w, 0, sizeof w);
  w.context = context;
  w.graph = gemel_graph_new(context, NULL);
  w.in[0] = gemel_input(w.graph, "a", type);
  w.in[1] = gemel_input(w.graph, "b", type);
  for (int i = 0; i < N_OPERANDS; i++) {
    for (int j = 0; j < N_OPERANDS; j++) {
      char text[700];
      compose(text, sizeof text, result, i, j, gemel_dtype_name(dtype));
      claims += add_output(&w, text);
    }
  }
  if (w.count > 0) {
    ct_context("%s in %s", result, gemel_dtype_name(dtype));
    CT_EQ_INT(gemel_evaluate(w.graph, 2, in, gemel_graph_output_count(w.graph), out, &error),
              GEMEL_OK);
    CT_EQ_STR(error.text, "");
  }
  for (size_t k = 0; k < w.count && out[k] != NULL; k++) {
    hold(w.texts[k], w.facts[k], out[k]);
  }
  for (size_t k = 0; k < w.count; k++) {
    gemel_tensor_unref(out[k]);
  }
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_graph_unref(w.graph);
  return claims;
}

static void facts_hold(const void *data) {
  static const gemel_dtype dtypes[] = {GEMEL_F32, GEMEL_F16, GEMEL_F64,
                                       GEMEL_I8,  GEMEL_U8,  GEMEL_BOOL};
  const char *result = *(const char *const *)data;
  gemel_context *context = gemel_context_new(NULL);
  int claims = 0;
  for (size_t k = 0; k < CT_COUNT(dtypes); k++) {
    claims += check_result(context, result, dtypes[k]);
  }
  ct_property("claims", claims);
  ct_context("%s: something is claimed", result);
  CT_CHECK(claims > 0 || strcmp(result, "x == y") == 0);
  gemel_context_unref(context);
}

void ct_register(void) {
  for (size_t k = 0; k < CT_COUNT(results); k++) {
    char title[100];
    snprintf(title, sizeof title, "%.80s", results[k]);
    CT_ADD("facts", title, facts_hold, &results[k]);
  }
}
