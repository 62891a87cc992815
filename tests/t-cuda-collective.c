/*
 * Collective operations (<gemel/collective.h>) on GPUs of the sim: sums, parts and joins of random
 * numbers of several shapes beside plain loops, and their gradients; what they refuse; and the
 * example that trains on several GPUs, whose losses must be those of one GPU.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include "ct.h"
#include "support/on-gpu.h"

int example_main(int argc, char **argv);
#define main example_main
#include "../examples/parallel.c"
#undef main

enum { GPUS = 4, ROOM = 64, STEPS = 12 };

static gemel_cuda *gpus[GPUS];

static gemel_context *open_context(void) {
  gemel_error error = {0};
  gemel_context *context = gemel_context_new(&error);
  CT_CHECK(context != NULL);
  CT_EQ_INT(open_gpus(context, GPUS, gpus, &error), GEMEL_OK);
  return context;
}

static void close_context(gemel_context *context) {
  gemel_context_unref(context);
  for (int k = 0; k < GPUS; k++) {
    gemel_cuda_close(gpus[k]);
  }
  CT_EQ_INT(sim_reports(), 0);
}

/* Number J of input K. */
static double number(int k, int j) {
  return sin(1 + 7 * k + 3 * j);
}

typedef gemel_status collective_op(gemel_graph *g, int n, gemel_value *values);

static gemel_status all_reduce(gemel_graph *g, int n, gemel_value *values) {
  (void)g;
  return gemel_all_reduce((size_t)n, values, values);
}

static gemel_status reduce_scatter(gemel_graph *g, int n, gemel_value *values) {
  (void)g;
  return gemel_reduce_scatter((size_t)n, values, -2, values);
}

static gemel_status all_gather(gemel_graph *g, int n, gemel_value *values) {
  (void)g;
  return gemel_all_gather((size_t)n, values, 1, values);
}

/* Inputs x0.. of TYPE on the host, taken to N GPUs, OP, and back: outputs y0.., and dk, the
 * gradient by xk of y0 weighted by 1 and y1 by 2 and so on. */
static gemel_graph *graph_of(gemel_context *context, collective_op *op, int n, const char *type) {
  gemel_error error = {0};
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value x[GPUS], y[GPUS], cost = {0}, d[GPUS];
  char text[64];
  for (int k = 0; k < n; k++) {
    snprintf(text, sizeof text, "x%d: %s", k, type);
    x[k] = gemel_declare(g, text);
    y[k] = gemel_transfer(x[k], k + 1);
  }
  CT_EQ_INT(op(g, n, y), GEMEL_OK);
  for (int k = 0; k < n; k++) {
    CT_EQ_INT(gemel_type_space(context, gemel_value_type(y[k])), k + 1);
    y[k] = gemel_transfer(y[k], 0);
    snprintf(text, sizeof text, "y%d", k);
    gemel_output(y[k], text);
    gemel_value term = gemel_mul(gemel_sum(y[k]), gemel_scalar_like(y[k], k + 1));
    cost = k == 0 ? term : gemel_add(cost, term);
  }
  CT_EQ_INT(gemel_grad(1, &cost, NULL, (size_t)n, x, d, &error), GEMEL_OK);
  for (int k = 0; k < n; k++) {
    snprintf(text, sizeof text, "d%d", k);
    gemel_output(d[k], text);
  }
  ct_context("%s", gemel_graph_error(g)->text);
  CT_EQ_INT(gemel_graph_error(g)->status, GEMEL_OK);
  return g;
}

/* Calls it, some times so that it is recorded and replayed: N inputs of ROWS x COLUMNS. */
static void call_graph(gemel_graph *g, int n, int rows, int columns, gemel_tensor **out) {
  static double data[GPUS][ROOM];
  const int64_t shape[2] = {rows, columns};
  gemel_error error = {0};
  gemel_tensor *in[GPUS];
  gemel_function *f = gemel_compile_with(g, &error, .threads = 1);
  CT_REQUIRE(f != NULL && rows * columns <= ROOM);
  for (int k = 0; k < n; k++) {
    for (int j = 0; j < rows * columns; j++) {
      data[k][j] = number(k, j);
    }
    in[k] = gemel_tensor_wrap(GEMEL_F64, 2, shape, NULL, data[k], NULL, NULL, &error);
  }
  for (int call = 0; call < 3; call++) {
    for (int k = 0; call > 0 && k < 2 * n; k++) {
      gemel_tensor_unref(out[k]);
      out[k] = NULL;
    }
    CT_EQ_INT(gemel_call(f, (size_t)n, in, 2 * (size_t)n, out, &error), GEMEL_OK);
  }
  for (int k = 0; k < n; k++) {
    gemel_tensor_unref(in[k]);
  }
  gemel_function_free(f);
}

/* The sum of element J of N inputs, in their order. */
static double sum_of(int n, int j) {
  double sum = number(0, j);
  for (int k = 1; k < n; k++) {
    sum += number(k, j);
  }
  return sum;
}

static void check_elements(const gemel_tensor *tensor, int elements, const double *wanted) {
  CT_EQ_INT(gemel_tensor_elements(tensor), elements);
  const double *found = gemel_tensor_data(tensor);
  for (int j = 0; j < elements && j < ROOM * GPUS; j++) {
    CT_CHECK(found[j] == wanted[j]);
  }
}

/* Element I, J of result K and of the gradient by input K: what they must be. */
typedef struct expected {
  int rows, columns;
  double elements[ROOM * GPUS];
} expected;

static void fill_gradient(expected *e, int rows, int columns, double value) {
  for (int j = 0; j < rows * columns; j++) {
    e->elements[j] = value;
  }
}

static void check_all_reduce(int n, int rows, int columns, gemel_tensor **out) {
  expected e;
  for (int k = 0; k < n; k++) {
    for (int j = 0; j < rows * columns; j++) {
      e.elements[j] = sum_of(n, j);
    }
    check_elements(out[k], rows * columns, e.elements);
    fill_gradient(&e, rows, columns, n * (n + 1) / 2.0);
    check_elements(out[n + k], rows * columns, e.elements);
  }
}

/* Parts of rows. */
static void check_reduce_scatter(int n, int rows, int columns, gemel_tensor **out) {
  expected all;
  int at = 0;
  for (int k = 0; k < n; k++) {
    int length = rows / n + (k < rows % n);
    expected e;
    for (int j = 0; j < length * columns; j++) {
      e.elements[j] = sum_of(n, at + j);
      all.elements[at + j] = k + 1;
    }
    check_elements(out[k], length * columns, e.elements);
    at += length * columns;
  }
  for (int k = 0; k < n; k++) {
    check_elements(out[n + k], rows * columns, all.elements);
  }
}

/* Columns side by side. */
static void check_all_gather(int n, int rows, int columns, gemel_tensor **out) {
  expected e;
  for (int i = 0; i < rows; i++) {
    for (int j = 0; j < n * columns; j++) {
      e.elements[i * n * columns + j] = number(j / columns, i * columns + j % columns);
    }
  }
  for (int k = 0; k < n; k++) {
    check_elements(out[k], rows * columns * n, e.elements);
  }
  fill_gradient(&e, rows, columns, n * (n + 1) / 2.0);
  for (int k = 0; k < n; k++) {
    check_elements(out[n + k], rows * columns, e.elements);
  }
}

typedef struct collective_case {
  collective_op *op;
  void (*check)(int n, int rows, int columns, gemel_tensor **out);
  const char *type;
  int rows, columns;
} collective_case;

static const collective_case cases[] = {
    {all_reduce, check_all_reduce, "f64[5, 7]", 5, 7},
    {all_reduce, check_all_reduce, "f64[1, 2]", 1, 2},
    {all_reduce, check_all_reduce, "f64[0, 3]", 0, 3},
    {all_reduce, check_all_reduce, "f64[N, 3]", 6, 3},
    {reduce_scatter, check_reduce_scatter, "f64[8, 3]", 8, 3},
    {reduce_scatter, check_reduce_scatter, "f64[7, M]", 7, 2},
    {reduce_scatter, check_reduce_scatter, "f64[2, 3]", 2, 3},
    {all_gather, check_all_gather, "f64[3, 5]", 3, 5},
    {all_gather, check_all_gather, "f64[N, 2]", 4, 2},
};

static void results(const void *data) {
  const collective_case *c = data;
  for (int n = 1; n <= GPUS; n++) {
    gemel_context *context = open_context();
    gemel_tensor *out[2 * GPUS] = {NULL};
    ct_context("%s, %d GPUs", c->type, n);
    gemel_graph *g = graph_of(context, c->op, n, c->type);
    call_graph(g, n, c->rows, c->columns, out);
    c->check(n, c->rows, c->columns, out);
    for (int k = 0; k < 2 * n; k++) {
      gemel_tensor_unref(out[k]);
    }
    gemel_graph_unref(g);
    close_context(context);
  }
}

/* What OP says to two values of these types on GPUs 1 and 2. */
static gemel_status said(collective_op *op, const char *first, const char *other) {
  gemel_context *context = open_context();
  gemel_error error = {0};
  gemel_graph *g = gemel_graph_new(context, &error);
  gemel_value values[2] = {gemel_declare(g, first), gemel_declare(g, other)};
  gemel_status status = op(g, 2, values);
  CT_CHECK(status == GEMEL_OK || (gemel_is_null(values[0]) && gemel_is_null(values[1])));
  CT_EQ_INT(gemel_graph_error(g)->status, status);
  gemel_graph_unref(g);
  close_context(context);
  return status;
}

static void refusals(const void *data) {
  (void)data;
  CT_EQ_INT(said(all_reduce, "a: f32[2, 3]@1", "b: f64[2, 3]@2"), GEMEL_BAD_TYPE);
  CT_EQ_INT(said(all_reduce, "a: f32[2, 3]@1", "b: f32[1, 3]@2"), GEMEL_BAD_SHAPE);
  CT_EQ_INT(said(all_reduce, "a: f32[2, 3]@1", "b: f32[3]@2"), GEMEL_BAD_SHAPE);
  CT_EQ_INT(said(reduce_scatter, "a: f32[N, 3]@1", "b: f32[N, 3]@2"), GEMEL_BAD_SHAPE);
  CT_EQ_INT(said(reduce_scatter, "a: f32[3]@1", "b: f32[3]@2"), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(said(all_gather, "a: f32[2, 3]@1", "b: f32[3, 3]@2"), GEMEL_BAD_SHAPE);
  CT_EQ_INT(said(all_gather, "a: f32[2, 3]@1", "b: f32[2, 5]@2"), GEMEL_OK);
  CT_EQ_INT(gemel_all_reduce(0, NULL, NULL), GEMEL_BAD_ARGUMENT);
}

/* The losses of training on 1, 2 and 4 GPUs. */
static void training(const void *data) {
  double losses[3][STEPS];
  gemel_error error = {0};
  (void)data;
  for (int k = 0; k < 3; k++) {
    gemel_context *context = open_context();
    CT_EQ_INT(train(context, 1 << k, STEPS, losses[k], &error), GEMEL_OK);
    close_context(context);
  }
  CT_CHECK(losses[0][STEPS - 1] < 0.9 * losses[0][0]);
  for (int k = 0; k < STEPS; k++) {
    CT_CHECK(fabs(losses[1][k] - losses[0][k]) <= 1e-13 * losses[0][k]);
    CT_CHECK(fabs(losses[2][k] - losses[0][k]) <= 1e-13 * losses[0][k]);
  }
}

void ct_register(void) {
  static const ct_test tests[] = {CT_TEST("refusals", refusals, NULL),
                                  CT_TEST("training", training, NULL)};
  static ct_test of_cases[CT_COUNT(cases)];
  for (size_t k = 0; k < CT_COUNT(cases); k++) {
    of_cases[k] = (ct_test)CT_TEST(cases[k].type, results, &cases[k]);
  }
  gemel__sim_devices(GPUS);
  need_gpu();
  ct_suite("results", of_cases, CT_COUNT(of_cases));
  ct_suite("collective", tests, CT_COUNT(tests));
}
