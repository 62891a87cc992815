/*
 * Derivatives of graphs that have loops, as tables of text. Each case is differentiated by each of
 * its operands alone and by all together, in reverse and forward, and twice in all four orders of
 * these; so is the graph without loops (unrolled.h).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_SLOPES_H
#define GEMEL_TESTS_SLOPES_H

#include <math.h>
#include "near.h"
#include "text-case.h"
#include "unrolled.h"

/* For `steps`: there is no comparison with the unrolled graph. */
enum { ALONE = -1 };

/* A graph whose one result is a scalar, operands, and the derivative by each of them: exactly this;
 * "?": what the unrolled graph says; NULL: not asked. */
typedef struct grad_case {
  const char *name;
  const char *text;
  const char *inputs[CASE_OPERANDS];
  const char *slopes[CASE_OPERANDS];
  int64_t steps, limit; /* of loops that may end early, are limited */
} grad_case;

#define SLOPES(name, text, inputs, ...)                                                            \
  { (name), text, inputs, {__VA_ARGS__}, 0, 0 }
#define SLOPES_OF(name, text, steps, limit, inputs, ...)                                           \
  { (name), text, inputs, {__VA_ARGS__}, (steps), (limit) }

/* ---- Differentiating ---- */

enum { MOST = 64 };

static inline int is_asked(const grad_case *c, size_t k) {
  return c->slopes[k] != NULL;
}

static inline void leave(const char *group, size_t n, const gemel_value *values) {
  for (size_t k = 0; k < n; k++) {
    char name[40];
    snprintf(name, sizeof name, "%s%zu", group, k);
    CT_EQ_INT(gemel_output(values[k], name), GEMEL_OK);
  }
}

/* Null values if that fails. */
static inline void gradient(gemel_value loss, size_t n, const gemel_value *wrt, gemel_value *d) {
  gemel_error error = {0};
  memset(d, 0, n * sizeof *d);
  CT_EQ_INT(gemel_grad(1, &loss, NULL, n, wrt, d, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
}

static inline void tangents(size_t n_out, const gemel_value *out, size_t n, const gemel_value *wrt,
                            const gemel_value *along, gemel_value *d) {
  gemel_error error = {0};
  memset(d, 0, n_out * sizeof *d);
  CT_EQ_INT(gemel_jvp(n_out, out, n, wrt, along, d, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
}

/* The sum of all products of elements, as f64. */
static inline gemel_value inner_product(size_t n, const gemel_value *a, const gemel_value *b) {
  gemel_value sum = gemel_scalar(a[0].graph, GEMEL_F64, 0);
  for (size_t k = 0; k < n; k++) {
    sum = gemel_add(sum, gemel_cast(gemel_sum(gemel_mul(a[k], b[k])), GEMEL_F64));
  }
  return sum;
}

/* Adds to GRAPH what it is differentiated to by the N values WRT: gradients by all together and by
 * each alone, then what should be equal: three gradients of <d, v>; the tangent along v, and <d,
 * v>; that of <d, v>, and <<d, v>', v>. */
static inline void differentiate(gemel_graph *graph, size_t n, const gemel_value *wrt) {
  gemel_value along[CASE_OPERANDS], d[CASE_OPERANDS], alone[CASE_OPERANDS];
  gemel_value twice[3][CASE_OPERANDS], pair[4], loss = gemel_graph_output(graph, 0);
  for (size_t k = 0; k < n; k++) {
    char name[20];
    snprintf(name, sizeof name, "v%zu", k);
    along[k] = gemel_input(graph, name, gemel_value_type(wrt[k]));
  }
  gradient(loss, n, wrt, d);
  for (size_t k = 0; k < n; k++) {
    gradient(loss, 1, &wrt[k], &alone[k]);
  }
  tangents(1, &loss, n, wrt, along, &pair[0]);
  pair[0] = gemel_cast(pair[0], GEMEL_F64);
  pair[1] = inner_product(n, d, along);
  gradient(pair[1], n, wrt, twice[0]);
  gradient(pair[0], n, wrt, twice[1]);
  tangents(n, d, n, wrt, along, twice[2]);
  tangents(1, &pair[0], n, wrt, along, &pair[2]);
  pair[3] = inner_product(n, twice[0], along);
  leave("d", n, d);
  leave("alone", n, alone);
  leave("rr", n, twice[0]);
  leave("rf", n, twice[1]);
  leave("fr", n, twice[2]);
  leave("p", 4, pair);
}

/* ---- Comparing ---- */

/* No further from one another than 1e-12 of the sum of the absolute values of all elements, and 1.
 * NaN and infinity are wrong. */
static inline void close_together(const gemel_tensor *a, const gemel_tensor *b) {
  gemel_dtype dtype = gemel_tensor_dtype(a);
  size_t item = gemel_dtype_size(dtype);
  const char *x = gemel_tensor_data(a), *y = gemel_tensor_data(b);
  double sum = 1;
  CT_REQUIRE(dtype == gemel_tensor_dtype(b));
  CT_REQUIRE(gemel_tensor_elements(a) == gemel_tensor_elements(b));
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(a); i++) {
    sum += fabs(gemel__dtype_load(dtype, y + i * item));
  }
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(a); i++) {
    double p = gemel__dtype_load(dtype, x + i * item), q = gemel__dtype_load(dtype, y + i * item);
    if (!is_near(p, q, 1e-12 * sum)) {
      CT_FAIL("element %zu is %.17g, wanted %.17g", i, p, q);
    }
  }
}

/* OUT: the loss, then what `differentiate` leaves for N values. */
static inline void check_consistent(size_t n, gemel_tensor *const *out) {
  gemel_tensor *const *twice = out + 1 + 2 * n, *const *pairs = twice + 3 * n;
  for (size_t k = 0; k < n; k++) {
    ct_context("second derivative by operand %zu", k);
    close_together(twice[n + k], twice[k]);
    close_together(twice[2 * n + k], twice[k]);
  }
  ct_context("tangent");
  close_together(pairs[0], pairs[1]);
  close_together(pairs[2], pairs[3]);
}

static inline void check_slopes(const grad_case *c, gemel_tensor *const *out) {
  size_t n = 0, next = 1;
  for (size_t k = 0; k < CASE_OPERANDS; k++) {
    n += (size_t)is_asked(c, k);
  }
  for (size_t k = 0; k < CASE_OPERANDS; k++) {
    ct_context("slope by operand %zu", k);
    if (is_asked(c, k) && strcmp(c->slopes[k], "?") != 0) {
      gemel_tensor *wanted = opt_read(c->slopes[k]).tensor;
      opt_compare(out[next], wanted);
      opt_compare(out[n + next], wanted);
      gemel_tensor_unref(wanted);
    }
    next += (size_t)is_asked(c, k);
  }
}

/* A direction: small integers. */
static inline gemel_tensor *direction(const gemel_tensor *like, size_t number) {
  gemel_view view = gemel_tensor_view(like);
  gemel_tensor *t = gemel_tensor_new(view.dtype, view.rank, view.shape, NULL);
  size_t item = gemel_dtype_size(view.dtype);
  for (size_t i = 0; i < (size_t)gemel_tensor_elements(t); i++) {
    double value = (double)((i * 5 + number * 3 + 1) % 7) - 2;
    gemel__dtype_store(view.dtype, value, (char *)gemel_tensor_data(t) + i * item);
  }
  return t;
}

/* Differentiates GRAPH and computes all of it. */
static inline size_t run_differentiated(const grad_case *c, gemel_graph *graph, int way,
                                        gemel_tensor **out) {
  gemel_tensor *in[2 * CASE_OPERANDS] = {NULL};
  gemel_value wrt[CASE_OPERANDS];
  gemel_error error = {0};
  size_t n = read_tensors(c->inputs, in), n_wrt = 0;
  for (size_t k = 0; k < n; k++) {
    if (is_asked(c, k)) {
      in[n + n_wrt] = direction(in[k], n_wrt);
      wrt[n_wrt++] = gemel_graph_input(graph, k);
    }
  }
  differentiate(graph, n_wrt, wrt);
  CT_EQ_STR(gemel_graph_error(graph)->text, "");
  CT_EQ_INT(gemel_graph_check(graph, &error), GEMEL_OK);
  CT_EQ_INT(call_graph(graph, way, in, out, &error), GEMEL_OK);
  CT_EQ_STR(error.text, "");
  drop_tensors(n + n_wrt, in);
  return n_wrt;
}

/* C as a loop, called in one of the ways; WANTED: what the unrolled graph gives, or NULL. */
static inline void run_grad_way(const grad_case *c, gemel_context *context, int way,
                                gemel_tensor *const *wanted) {
  gemel_tensor *out[MOST] = {NULL};
  gemel_graph *graph = parse(context, c->text);
  size_t n = run_differentiated(c, graph, way, out);
  if (out[0] != NULL) {
    check_slopes(c, out);
    check_consistent(n, out);
  }
  for (size_t j = 0; j < MOST && out[j] != NULL && wanted != NULL && wanted[j] != NULL; j++) {
    ct_context("result %s, way %d", gemel_graph_output_name(graph, j), way);
    close_together(out[j], wanted[j]);
  }
  drop_tensors(MOST, out);
  gemel_graph_unref(graph);
}

static inline void run_grad_case(const void *data) {
  const grad_case *c = data;
  static const int ways[] = {0, 2, 4}; /* as written, poisoned, rewritten */
  gemel_context *context = gemel_context_new(NULL);
  gemel_tensor *wanted[MOST] = {NULL};
  if (c->steps != ALONE) {
    gemel_graph *graph = parse(context, c->text), *unrolled = unroll(graph, c->steps, c->limit);
    run_differentiated(c, unrolled, 0, wanted);
    check_slopes(c, wanted);
    gemel_graph_unref(unrolled);
    gemel_graph_unref(graph);
  }
  for (size_t k = 0; k < CT_COUNT(ways); k++) {
    run_grad_way(c, context, ways[k], c->steps != ALONE ? wanted : NULL);
  }
  drop_tensors(MOST, wanted);
  gemel_context_unref(context);
}

#endif
