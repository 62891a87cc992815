/*
 * Linear systems, Cholesky factors and determinants: small ones exactly, and big ones, which go to
 * LAPACK, by what is left over: |a x - b| of a few roundings for each row (backward error, Higham
 * section 7.1), and the same of a less its factors.
 *
 * SPDX-License-Identifier: MIT
 */
#include "optable.h"
#include "support/graph-text.h"

#define A22 "f64[2, 2] 1 2 4 4"
#define LOWER "f32[2, 2] 2 inf 4 1"
#define L33 "f64[3, 3] 4 -9 nan 2 5 inf -2 3 14"

static const op_case cases[] = {
    OK_CASE("solve", "solve(x, y)", "f64[2, 1] 0 2", A22, "f64[2, 1] 4 8"),
    OK_CASE("solve/f32", "solve(x, y)", "f32[2, 2] 2 1 1 0", "f32[2, 2] 0 2 4 0",
            "f32[2, 2] 2 0 8 4"),
    OK_CASE("solve/batch", "solve(x, y)", "f64[2, 1, 2] 2 3 5 7", "f64[2, 1, 1] 2 -1",
            "f64[2, 1, 2] 4 6 -5 -7"),
    OK_CASE("solve/singular", "solve(x, y)", "f64[2, 2, 1] nan nan 1 2",
            "f64[2, 2, 2] 1 2 2 4 1 0 0 1", "f64[2, 2, 1] 1 2 1 2"),
    OK_CASE("solve/infinite", "solve(x, y)", "f64[2, 1] nan nan", "f64[2, 2] inf 0 0 1",
            "f64[2, 1] 1 2"),
    OK_CASE("solve/column", "solve(x, y)", "f64[2, 3] 1 nan nan 1 nan nan", "f64[2, 2] 1 0 0 1",
            "f64[2, 3] 1 inf 1 1 1 nan"),
    OK_CASE("solve/overflow", "solve(x, y)", "f32[2, 2] nan 1 nan 2", "f32[2, 2] 1e-30 0 0 1",
            "f32[2, 2] 1e30 1e-30 1 2"),
    OK_CASE("solve/empty", "solve(x, y)", "f64[0, 3]", "f64[0, 0]", "f64[0, 3]"),
    OK_CASE("solve/no_columns", "solve(x, y)", "f64[2, 0]", A22, "f64[2, 0]"),
    OK_CASE("solve/no_matrices", "solve(x, y)", "f64[0, 2, 1]", "f64[0, 2, 2]", "f64[0, 2, 1]"),
    OK_CASE("solve/symbols", "solve(x, y)", "f64[2, 1] 0 2", "f64[N=2, N=2] 1 2 4 4",
            "f64[N=2, K=1] 4 8"),
    BAD_CASE("solve/square", "solve(x, y)", GEMEL_BAD_SHAPE, "2 rows and 3 columns isn't square",
             "f64[2, 3] 1 2 3 4 5 6", "f64[2, 1] 1 2"),
    BAD_CASE("solve/symbols_differ", "solve(x, y)", GEMEL_BAD_SHAPE, "isn't square",
             "f64[N=1, M=2] 1 2", "f64[N=1, 1] 1"),
    BAD_CASE("solve/vector", "solve(x, y)", GEMEL_BAD_SHAPE, "needs an axis for columns", A22,
             "f64[2] 1 2"),
    BAD_CASE("solve/rows", "solve(x, y)", GEMEL_BAD_SHAPE, "a and b differ along axis 0", A22,
             "f64[3, 1] 1 2 3"),
    BAD_CASE("solve/dtypes", "solve(x, y)", GEMEL_BAD_TYPE, "f64 and f32", A22, "f32[2, 1] 1 2"),
    BAD_CASE("solve/half", "solve(x, x)", GEMEL_BAD_TYPE, "f32 and f64 are supported",
             "f16[1, 1] 1"),
    BAD_CASE("solve/integers", "solve(x, x)", GEMEL_BAD_TYPE, "matrices of i32", "i32[1, 1] 1"),

    OK_CASE("triangular_solve", "triangular_solve(x, y)", "f32[2, 1] -1 3", "f32[2, 2] 2 1 nan 1",
            "f32[2, 1] 1 3"),
    OK_CASE("triangular_solve/lower", "triangular_solve(x, y, lower = 1)", "f32[2, 1] 3 -8", LOWER,
            "f32[2, 1] 6 4"),
    OK_CASE("triangular_solve/trans", "triangular_solve(x, y, lower = 1, trans = 1)",
            "f32[2, 1] -5 4", LOWER, "f32[2, 1] 6 4"),
    OK_CASE("triangular_solve/unit", "triangular_solve(x, y, lower = 1, unit_diagonal = 1)",
            "f32[2, 1] 6 -20", LOWER, "f32[2, 1] 6 4"),
    OK_CASE("triangular_solve/zero", "triangular_solve(x, y)", "f64[2, 2] nan nan nan nan",
            "f64[2, 2] 1 1 0 0", "f64[2, 2] 1 2 1 0"),
    OK_CASE("triangular_solve/unit_zero", "triangular_solve(x, y, unit_diagonal = 1)",
            "f64[2, 1] 0 1", "f64[2, 2] inf 1 nan 0", "f64[2, 1] 1 1"),
    BAD_CASE("triangular_solve/scalar", "triangular_solve(x, y)", GEMEL_BAD_SHAPE, "rank 0",
             "f64[] 1", "f64[] 1"),

    OK_CASE("cholesky", "cholesky(x)", "f64[3, 3] 2 0 0 1 2 0 -1 2 3", L33),
    OK_CASE("cholesky/batch", "cholesky(x)", "f32[2, 1, 1] 2 3", "f32[2, 1, 1] 4 9"),
    OK_CASE("cholesky/indefinite", "cholesky(x)", "f64[2, 2] nan 0 nan nan", "f64[2, 2] 1 2 2 1"),
    OK_CASE("cholesky/zero", "cholesky(x)", "f64[2, 2, 2] nan 0 nan nan 1 0 0 1",
            "f64[2, 2, 2] 1 0 0 0 1 0 0 1"),
    OK_CASE("cholesky/infinite", "cholesky(x)", "f64[2, 2] nan 0 nan nan", "f64[2, 2] inf 0 0 1"),
    OK_CASE("cholesky/empty", "cholesky(x)", "f32[2, 0, 0]", "f32[2, 0, 0]"),

    OK_CASE("det", "det(x)", "f64[] -4", A22),
    OK_CASE("det/batch", "det(x)", "f32[3] 1 -1 0", "f32[3, 2, 2] 1 0 0 1 0 1 1 0 1 1 1 1"),
    OK_CASE("det/empty", "det(x)", "f64[2] 1 1", "f64[2, 0, 0]"),
    OK_CASE("det/no_matrices", "det(x)", "f64[0]", "f64[0, 2, 2]"),
    OK_CASE("det/range", "det(x)", "f64[2] 1 inf", "f64[2, 2, 2] 1e200 0 0 1e-200 1e200 0 0 1e200"),
    OK_CASE("det/nan", "det(x)", "f64[] nan", "f64[2, 2] 0 0 0 inf"),
    OK_CASE("log_abs_det", "log_abs_det(x)", "f64[3] 0 -inf nan",
            "f64[3, 2, 2] 0 1 -1 0 1 1 1 1 1 nan 0 1"),
    OK_CASE("log_abs_det/empty", "log_abs_det(x)", "f64[] 0", "f64[0, 0]"),
};

static gemel_value inverse(gemel_graph *graph, const gemel_value *in) {
  (void)graph;
  return gemel_inv(in[0]);
}

static const op_case forms[] = {
    OK_FORM(inverse, "", "f64[2, 2] -1 0.5 1 -0.25", A22),
    OK_FORM(inverse, "symbol", "f32[2, 1, 1] 0.5 4", "f32[2, N=1, N=1] 2 0.25"),
    OK_FORM(inverse, "empty", "f32[0, 0]", "f32[0, 0]"),
    BAD_FORM(inverse, "vector", GEMEL_BAD_SHAPE, "rank 1", "f64[2] 1 2"),
    BAD_FORM(inverse, "integers", GEMEL_BAD_TYPE, "matrices of i64", "i64[1, 1] 1"),
};

static const op_case gradients[] = {
    GRAD("solve", "solve(x, y)", "f64[1, 1] 3", "f64[1, 1] 1", "f64[1, 1] -1.5", "f64[1, 1] 0.5",
         "f64[1, 1] 2", "f64[1, 1] 6"),
    GRAD("triangular_solve", "triangular_solve(x, y, lower = 1, unit_diagonal = 1)",
         "f64[2, 1] 3 5", "f64[2, 1] 0 1", "f64[2, 2] 0 0 -3 0", "f64[2, 1] 0 1",
         "f64[2, 2] 7 7 0 7", "f64[2, 1] 3 5"),
    GRAD("cholesky", "cholesky(x)", "f64[2, 2] 1 0 0 2", "f64[2, 2] 1 9 0 1",
         "f64[2, 2] 0.5 0 0 0.25", NULL, "f64[2, 2] 1 9 0 4"),
    GRAD("det", "det(x)", "f64[] 6", "f64[] 1", "f64[2, 2] 3 0 0 2", NULL, "f64[2, 2] 2 0 0 3"),
    GRAD("log_abs_det", "log_abs_det(x)", "f64[] 0", "f64[] 2", "f64[2, 2] 4 0 0 1", NULL,
         "f64[2, 2] 0.5 0 0 2"),
};

/* ---- Big ones ---- */

/* What is left over of x = 2 + sin(…) ÷ N, N × N, its rows turned round where that needs pivots. */
static const struct {
  const char *name, *left;
} bigs[] = {
    {"solve", "dot(turned, solve(turned, y)) - y"},
    {"solve/transposed", "dot(dimshuffle(turned, order = [1, 0]), "
                         "solve(dimshuffle(turned, order = [1, 0]), y)) - y"},
    {"triangular_solve", "dot(upper, triangular_solve(x, y)) - y"},
    {"triangular_solve/trans", "dot(dimshuffle(upper, order = [1, 0]), "
                               "triangular_solve(x, y, trans = 1)) - y"},
    {"triangular_solve/lower",
     "dot(x - upper + one, triangular_solve(x, y, lower = 1, unit_diagonal = 1)) - y"},
    {"cholesky", "dot(cholesky(s), dimshuffle(cholesky(s), order = [1, 0])) - s"},
    {"det", "sqr(det(turned) / det(x)) - 1"},
    {"log_abs_det", "(log_abs_det(turned) - log(abs(det(x)))) / 100"},
};

static gemel_tensor *big_tensor(gemel_dtype dtype, int64_t n, int64_t columns) {
  int64_t shape[2] = {n, columns};
  gemel_tensor *t = gemel_tensor_new(dtype, 2, shape, NULL);
  for (int64_t k = 0; k < n * columns; k++) {
    double x = sin((double)(k * k)) / (double)n + (n == columns && k % (n + 1) == 0 ? 2 : 0);
    gemel__dtype_store(dtype, x,
                       (char *)gemel_tensor_data(t) + k * (int64_t)gemel_dtype_size(dtype));
  }
  return t;
}

static void big_left_over(const char *left, gemel_dtype dtype, int64_t n, int plain) {
  const char *d = gemel_dtype_name(dtype);
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  gemel_tensor *in[2] = {big_tensor(dtype, n, n), big_tensor(dtype, n, 3)}, *out = NULL;
  gemel_options options = {.size = sizeof options, .threads = 2, .plain = plain, .as_written = 1};
  char text[1000];
  snprintf(text, sizeof text,
           "(x: %s[N, N], y: %s[N, 3]) {\n"
           "  k = arange(n = N)\n"
           "  one = cast(eq(dimshuffle(k, order = [0, -1]), k), dtype = %s)\n"
           "  upper = where(le(dimshuffle(k, order = [0, -1]), k), x, 0)\n"
           "  turned = reverse(x, axes = [0])\n"
           "  s = dot(x, dimshuffle(x, order = [1, 0]))\n"
           "  return left = max(abs(%s))\n}",
           d, d, d, left);
  gemel_graph *graph = graph_of(context, text);
  gemel_function *function = gemel_compile(graph, &options, &error);
  CT_REQUIRE(function != NULL);
  CT_EQ_INT(gemel_call(function, 2, in, 1, &out, &error), GEMEL_OK);
  double most = out == NULL ? NAN : gemel__dtype_load(dtype, gemel_tensor_data(out));
  double unit = ldexp(1, dtype == GEMEL_F32 ? -23 : -52);
  ct_context("%s[%lld], plain %d: %g units", d, (long long)n, plain, most / unit);
  CT_CHECK(most < unit * (double)n);
  gemel_tensor_unref(out);
  gemel_tensor_unref(in[0]);
  gemel_tensor_unref(in[1]);
  gemel_function_free(function);
  gemel_graph_unref(graph);
  gemel_context_unref(context);
}

static void left_over(const void *data) {
  for (int plain = 0; plain < 2; plain++) {
    big_left_over(data, GEMEL_F32, 70, plain);
    big_left_over(data, GEMEL_F64, 9, plain);
    big_left_over(data, GEMEL_F64, 200, plain);
  }
}

void ct_register(void) {
  OPT_SUITE("solve", cases);
  OPT_SUITE("solve_forms", forms);
  OPT_SUITE("solve_gradient", gradients);
  for (size_t k = 0; k < CT_COUNT(bigs); k++) {
    CT_ADD("solve", bigs[k].name, left_over, bigs[k].left);
  }
}
