/*
 * Operations that only a program knows, for the tests of those: elementwise of one or two operands,
 * or along the last axis; with kernels, derivatives, samplers, and a reference that is a formula or
 * a function over elements. Included by the test programs after ct.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_OWN_H
#define GEMEL_TESTS_OWN_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/ops.h>
#include <gemel/verify.h>
#include "support/operation.h"

enum { SEEDS = 1 /* GEMEL_CORPUS_SEEDS asks for others */ };

/* ---- Values ---- */

static gemel_value number(gemel_value like, double x) {
  gemel_dtype dtype = gemel_type_dtype(gemel_graph_context(like.graph), gemel_value_type(like));
  return gemel_scalar(like.graph, dtype, x);
}

static gemel_value times(gemel_value x, double c) {
  return gemel_mul(x, number(x, c));
}

static gemel_value plus(gemel_value x, double c) {
  return gemel_add(x, number(x, c));
}

/* ---- An operation: elementwise of one or two operands, or along the last axis ---- */

typedef struct own own;
struct own {
  const char *name;
  int operands;                                          /* 0: one operand, along the last axis */
  double (*f)(double x, double y);                       /* of an element */
  void (*line)(int64_t n, double *x);                    /* of a line, in place */
  gemel_value (*slope[2])(gemel_value x, gemel_value y); /* by each operand, NULL: no derivative */
  gemel_value (*pull)(gemel_value x, gemel_value g);     /* of a line: J'g, which is J g too */
  gemel_value (*formula)(gemel_value x, gemel_value y);  /* the reference, or */
  gemel_status (*function)(gemel_reference_call *call);
  gemel_range range;
};

static gemel_status infer_first(gemel_infer *call) {
  gemel_dtype dtype = gemel_type_dtype(call->context, call->inputs[0]);
  if (dtype != GEMEL_F32 && dtype != GEMEL_F64) {
    call->error->status = GEMEL_BAD_TYPE;
    snprintf(call->error->text, sizeof call->error->text, "f32 or f64, please");
    return GEMEL_BAD_TYPE;
  }
  call->n_outputs = 1;
  call->outputs[0] = call->inputs[0];
  return GEMEL_OK;
}

static gemel_status run_own(const gemel_kernel_call *call) {
  const own *o = call->data;
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t n = elements(out), width, i, j;
  double line[4096];
  if (o->operands > 0) {
    for (i = 0; i < n; i++) {
      store(out, i, o->f(load(x, i), o->operands > 1 ? load(&call->inputs[1], i) : 0));
    }
    return GEMEL_OK;
  }
  width = out->shape[out->rank - 1];
  for (i = 0; i < n; i += width) {
    for (j = 0; j < width; j++) {
      line[j] = load(x, i + j);
    }
    o->line(width, line);
    for (j = 0; j < width; j++) {
      store(out, i + j, line[j]);
    }
  }
  return GEMEL_OK;
}

static gemel_value derivative(const gemel_derive *call, int k, gemel_value g) {
  const own *o = call->data;
  gemel_value none = {NULL, 0, 0};
  if (gemel_is_null(g)) {
    return none;
  }
  if (o->pull != NULL) {
    return o->pull(call->inputs[0], g);
  }
  return gemel_mul(g, o->slope[k](call->inputs[0], call->inputs[o->operands > 1]));
}

static gemel_status grad_own(gemel_derive *call) {
  size_t k;
  for (k = 0; k < call->n_inputs; k++) {
    call->d_inputs[k] = derivative(call, (int)k, call->d_outputs[0]);
  }
  return gemel_graph_error(call->graph)->status;
}

static gemel_status jvp_own(gemel_derive *call) {
  gemel_value sum = {NULL, 0, 0};
  size_t k;
  for (k = 0; k < call->n_inputs; k++) {
    gemel_value part = derivative(call, (int)k, call->d_inputs[k]);
    sum = gemel_is_null(sum) ? part : gemel_is_null(part) ? sum : gemel_add(sum, part);
  }
  call->d_outputs[0] = sum;
  return gemel_graph_error(call->graph)->status;
}

static gemel_status sample_own(gemel_sample *call) {
  const own *o = call->data;
  int64_t shape[2];
  int k, rank = 1 + (int)(call->random(call->user) % 2);
  if (call->dtype != GEMEL_F64 && call->dtype != GEMEL_F32) {
    return GEMEL_DECLINED;
  }
  for (k = 0; k < rank; k++) {
    shape[k] = 1 + (int64_t)(call->random(call->user) % (call->max_elements > 6 ? 6 : 2));
  }
  call->n_inputs = o->operands > 1 ? 2 : 1;
  for (k = 0; k < (int)call->n_inputs; k++) {
    call->inputs[k] = gemel_type_of_shape(call->context, call->dtype, rank, shape);
    call->ranges[k] = o->range;
    if (gemel_type_is_none(call->inputs[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  return GEMEL_OK;
}

static gemel_status build_own(gemel_reference_build *call) {
  const own *o = call->data;
  call->outputs[0] = o->formula(call->inputs[0], call->inputs[call->n_inputs - 1]);
  return GEMEL_OK;
}

static const gemel_kernel kernels[] = {{"plain", NULL, run_own}, {NULL, NULL, NULL}};

static gemel_status register_as(gemel_context *context, const own *o, const char *name,
                                gemel_error *error) {
  gemel_operation op = {0};
  op.size = sizeof op;
  op.name = name;
  op.min_inputs = op.max_inputs = o->operands > 1 ? 2 : 1;
  op.flags = o->operands > 0 ? GEMEL_OP_ELEMENTWISE : 0;
  op.version = 1;
  op.infer = infer_first;
  op.grad = o->slope[0] != NULL || o->pull != NULL ? grad_own : NULL;
  op.jvp = op.grad != NULL ? jvp_own : NULL;
  op.sample = sample_own;
  op.kernels = kernels;
  op.data = o;
  return gemel_register_operation(context, &op, error);
}

static gemel_status give_reference(gemel_context *context, const own *o, const char *name,
                                   gemel_error *error) {
  gemel_reference reference = {0};
  reference.size = sizeof reference;
  reference.data = o;
  if (o->function != NULL) {
    reference.function = o->function;
  } else {
    reference.build = build_own;
  }
  return gemel_verify_reference(context, name, &reference, error);
}

/* ---- gelu, as most networks have it ---- */

#define GELU_C 0.7978845608028654
static double gelu(double x, double y) {
  (void)y;
  return x == -INFINITY ? NAN : 0.5 * x * (1 + tanh(GELU_C * (x + 0.044715 * x * x * x)));
}
static gemel_value gelu_inner(gemel_value x) {
  return times(gemel_add(x, times(gemel_mul(x, gemel_mul(x, x)), 0.044715)), GELU_C);
}
static gemel_value gelu_formula(gemel_value x, gemel_value y) {
  (void)y;
  return gemel_mul(times(x, 0.5), plus(gemel_tanh(gelu_inner(x)), 1));
}
static gemel_value gelu_slope_of(gemel_value x, double cubed, double lost) {
  gemel_value t = gemel_tanh(gelu_inner(x));
  gemel_value bell = gemel_sub(number(x, 1), gemel_mul(t, t));
  gemel_value inner = plus(times(gemel_mul(x, x), cubed), 1);
  gemel_value second = times(gemel_mul(gemel_mul(x, bell), inner), 0.5 * GELU_C * lost);
  return gemel_add(times(plus(t, 1), 0.5), second);
}
/* 3 · 0.044715 is no double: the derivative has it rounded. */
static gemel_value gelu_slope(gemel_value x, gemel_value y) {
  (void)y;
  return gelu_slope_of(x, 0.134145, 1);
}

/* ---- swish, hard swish, logaddexp ---- */

static double swish(double x, double y) {
  (void)y;
  return x / (1 + exp(-x));
}
static gemel_value swish_formula(gemel_value x, gemel_value y) {
  (void)y;
  return gemel_mul(x, gemel_sigmoid(x));
}
static gemel_value swish_slope(gemel_value x, gemel_value y) {
  gemel_value s = gemel_sigmoid(x);
  (void)y;
  return gemel_add(s, gemel_mul(gemel_mul(x, s), gemel_sub(number(x, 1), s)));
}

static double leaky(double x, double y) {
  (void)y;
  return x > 0 ? x : 0.125 * x;
}
static gemel_value leaky_formula(gemel_value x, gemel_value y) {
  (void)y;
  return gemel_where(gemel_gt(x, number(x, 0)), x, times(x, 0.125));
}
static gemel_value leaky_slope(gemel_value x, gemel_value y) {
  (void)y;
  return gemel_where(gemel_gt(x, number(x, 0)), number(x, 1), number(x, 0.125));
}

static double hard_swish(double x, double y) {
  double gate = x + 3;
  (void)y;
  gate = gate < 0 ? 0 : gate > 6 ? 6 : gate;
  return x * gate / 6;
}
static gemel_status hard_swish_function(gemel_reference_call *call) {
  gemel_reference_shape x = gemel_reference_input(call, 0);
  gemel_element *e = gemel_element_new(call), *zero = gemel_element_new(call);
  gemel_element *three = gemel_element_new(call), *six = gemel_element_new(call);
  const gemel_element *clip[3];
  size_t i;
  if (gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes) != GEMEL_OK) {
    return GEMEL_BAD_TYPE;
  }
  gemel_element_integer(call, zero, 0);
  gemel_element_integer(call, three, 3);
  gemel_element_number(call, six, 6.0);
  clip[0] = e;
  clip[1] = zero;
  clip[2] = six;
  for (i = 0; i < x.count; i++) {
    gemel_element_add(call, e, gemel_reference_at(call, 0, i), three);
    gemel_element_apply(call, e, "clip", 3, clip);
    gemel_element_mul(call, e, e, gemel_reference_at(call, 0, i));
    gemel_element_div(call, e, e, six);
    gemel_reference_store(call, 0, i, e);
  }
  return GEMEL_OK;
}
static gemel_value hard_swish_slope(gemel_value x, gemel_value y) {
  gemel_value gate = gemel_clip(plus(x, 3), number(x, 0), number(x, 6)), inside;
  (void)y;
  inside = gemel_logical_and(gemel_ge(x, number(x, -3)), gemel_le(x, number(x, 3)));
  return gemel_div(gemel_add(gate, gemel_where(inside, x, number(x, 0))), number(x, 6));
}

static double log_add_exp(double x, double y) {
  double most = x > y ? x : y, least = x > y ? y : x;
  return isnan(x) || isnan(y) ? NAN : x == y ? x + log(2) : most + log1p(exp(least - most));
}
/* max(x, y) + log1p(exp(−|x − y|)), where infinities of one sign are equal */
static gemel_status log_add_exp_function(gemel_reference_call *call) {
  gemel_reference_shape shape = gemel_reference_input(call, 0);
  gemel_element *most = gemel_element_new(call), *e = gemel_element_new(call);
  gemel_element *zero = gemel_element_new(call), *same = gemel_element_new(call);
  const gemel_element *both[2], *choice[3];
  size_t i;
  if (gemel_reference_output(call, 0, shape.dtype, shape.rank, shape.sizes) != GEMEL_OK) {
    return GEMEL_BAD_TYPE;
  }
  choice[0] = same;
  choice[1] = zero;
  choice[2] = e;
  for (i = 0; i < shape.count; i++) {
    both[0] = gemel_reference_at(call, 0, i);
    both[1] = gemel_reference_at(call, 1, i);
    gemel_element_apply(call, most, "maximum", 2, both);
    gemel_element_apply(call, same, "eq", 2, both);
    gemel_element_sub(call, e, both[0], both[1]);
    gemel_element_apply(call, e, "abs", 1, &choice[2]);
    gemel_element_sub(call, e, zero, e);
    gemel_element_apply(call, e, "where", 3, choice);
    gemel_element_apply(call, e, "exp", 1, &choice[2]);
    gemel_element_apply(call, e, "log1p", 1, &choice[2]);
    gemel_element_add(call, e, most, e);
    gemel_reference_store(call, 0, i, e);
  }
  return GEMEL_OK;
}
static gemel_value log_add_exp_x(gemel_value x, gemel_value y) {
  return gemel_sigmoid(gemel_sub(x, y));
}
static gemel_value log_add_exp_y(gemel_value x, gemel_value y) {
  return gemel_sigmoid(gemel_sub(y, x));
}

/* ---- Layer normalisation along the last axis, without scale and shift ---- */

#define EPSILON 0.0009765625
static void layer_norm_of(int64_t n, double *x, double mean, double inside, double outside) {
  double sum = 0, square = 0;
  int64_t i;
  for (i = 0; i < n; i++) {
    sum += x[i];
  }
  sum /= (double)n;
  for (i = 0; i < n; i++) {
    x[i] -= mean * sum;
    square += x[i] * x[i];
  }
  square /= (double)n;
  for (i = 0; i < n; i++) {
    x[i] /= sqrt(square + inside) + outside;
  }
}
static void layer_norm(int64_t n, double *x) {
  layer_norm_of(n, x, 1, EPSILON, 0);
}

/* e = the mean of N elements. */
static void mean_of(gemel_reference_call *call, gemel_element *e, size_t n,
                    const gemel_element *const *terms) {
  gemel_element *count = gemel_element_new(call);
  gemel_element_sum(call, e, n, terms);
  gemel_element_integer(call, count, (int64_t)n);
  gemel_element_div(call, e, e, count);
}

static gemel_status layer_norm_function(gemel_reference_call *call) {
  gemel_reference_shape x = gemel_reference_input(call, 0);
  size_t n = x.rank > 0 ? (size_t)x.sizes[x.rank - 1] : 1, at, i;
  const gemel_element *terms[8];
  gemel_element *centred[8], *squares[8], *e, *epsilon;
  gemel_status status = gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  if (status != GEMEL_OK || n > 8) {
    return status != GEMEL_OK ? status : GEMEL_UNSUPPORTED;
  }
  e = gemel_element_new(call);
  epsilon = gemel_element_new(call);
  gemel_element_number(call, epsilon, EPSILON);
  for (i = 0; i < n; i++) {
    centred[i] = gemel_element_new(call);
    squares[i] = gemel_element_new(call);
  }
  for (at = 0; at < x.count; at += n) {
    for (i = 0; i < n; i++) {
      terms[i] = gemel_reference_at(call, 0, at + i);
    }
    mean_of(call, e, n, terms);
    for (i = 0; i < n; i++) {
      gemel_element_sub(call, centred[i], terms[i], e);
      gemel_element_mul(call, squares[i], centred[i], centred[i]);
    }
    mean_of(call, e, n, (const gemel_element *const *)squares);
    gemel_element_add(call, e, e, epsilon);
    terms[0] = e;
    gemel_element_apply(call, e, "sqrt", 1, terms);
    for (i = 0; i < n; i++) {
      gemel_element_div(call, centred[i], centred[i], e);
      gemel_reference_store(call, 0, at + i, centred[i]);
    }
  }
  return GEMEL_OK;
}

static gemel_value last_mean(gemel_value x) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_type type = gemel_value_type(x);
  int64_t last = gemel_type_rank(context, type) - 1, size = 1;
  gemel_dim_is_constant(context, gemel_type_dims(context, type)[last], &size);
  return gemel_div(gemel_sum_with(x, .axes = {1, &last}, .keepdims = 1), number(x, (double)size));
}

static gemel_value layer_norm_pull_of(gemel_value x, gemel_value g, double mean, double product) {
  gemel_value centred = gemel_sub(x, last_mean(x));
  gemel_value deviation = gemel_sqrt(plus(last_mean(gemel_mul(centred, centred)), EPSILON));
  gemel_value y = gemel_div(centred, deviation);
  gemel_value inner = gemel_sub(g, times(last_mean(g), mean));
  inner = gemel_sub(inner, times(gemel_mul(y, last_mean(gemel_mul(g, y))), product));
  return gemel_div(inner, deviation);
}
static gemel_value layer_norm_pull(gemel_value x, gemel_value g) {
  return layer_norm_pull_of(x, g, 1, 1);
}

/* ---- A cumulative sum, weights of attention ---- */

static void cumulative(int64_t n, double *x) {
  int64_t i;
  for (i = 1; i < n; i++) {
    x[i] += x[i - 1];
  }
}
static gemel_status cumulative_function(gemel_reference_call *call) {
  gemel_reference_shape x = gemel_reference_input(call, 0);
  size_t n = x.rank > 0 ? (size_t)x.sizes[x.rank - 1] : 1, at, i;
  const gemel_element *terms[8];
  gemel_element *e = gemel_element_new(call);
  gemel_status status = gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  for (at = 0; at < x.count && status == GEMEL_OK; at += n) {
    for (i = 0; i < n && i < 8; i++) {
      terms[i] = gemel_reference_at(call, 0, at + i);
      gemel_element_sum(call, e, i + 1, terms);
      gemel_reference_store(call, 0, at + i, e);
    }
  }
  return status;
}

/* softmax(x ⊗ x) x along the last axis: attention of a sequence of numbers to itself */
static void attention(int64_t n, double *x) {
  double out[8];
  int64_t i, j;
  for (i = 0; i < n; i++) {
    double most = -INFINITY, total = 0;
    out[i] = 0;
    for (j = 0; j < n; j++) {
      most = fmax(most, x[i] * x[j]);
    }
    for (j = 0; j < n; j++) {
      double weight = exp(x[i] * x[j] - most);
      total += weight;
      out[i] += weight * x[j];
    }
    out[i] /= total;
  }
  for (i = 0; i < n; i++) {
    x[i] = out[i];
  }
}
static gemel_value attention_formula(gemel_value x, gemel_value y) {
  gemel_context *context = gemel_graph_context(x.graph);
  int64_t rank = gemel_type_rank(context, gemel_value_type(x)), last = rank;
  const int64_t rows[2][3] = {{0, -1, 0}, {0, 1, -1}}, columns[2][3] = {{-1, 0, 0}, {0, -1, 1}};
  gemel_value row = gemel_dimshuffle(x, (size_t)rank + 1, rows[rank - 1]);
  gemel_value column = gemel_dimshuffle(x, (size_t)rank + 1, columns[rank - 1]);
  gemel_value weights = gemel_softmax(gemel_mul(row, column), -1);
  (void)y;
  return gemel_sum_with(gemel_mul(weights, column), .axes = {1, &last});
}

static const own right[] = {
    {"gelu", 1, gelu, NULL, {gelu_slope}, NULL, gelu_formula, NULL, GEMEL_RANGE_MODERATE},
    {"swish", 1, swish, NULL, {swish_slope}, NULL, swish_formula, NULL, GEMEL_RANGE_MODERATE},
    {"hard_swish",
     1,
     hard_swish,
     NULL,
     {hard_swish_slope},
     NULL,
     NULL,
     hard_swish_function,
     GEMEL_RANGE_ANY},
    {"log_add_exp",
     2,
     log_add_exp,
     NULL,
     {log_add_exp_x, log_add_exp_y},
     NULL,
     NULL,
     log_add_exp_function,
     GEMEL_RANGE_MODERATE},
    {"layer_norm",
     0,
     NULL,
     layer_norm,
     {NULL},
     layer_norm_pull,
     NULL,
     layer_norm_function,
     GEMEL_RANGE_ANY},
    {"cumulative", 0, NULL, cumulative, {NULL}, NULL, NULL, cumulative_function, GEMEL_RANGE_ANY},
    {"attention", 0, NULL, attention, {NULL}, NULL, attention_formula, NULL, GEMEL_RANGE_MODERATE},
    {"leaky", 1, leaky, NULL, {leaky_slope}, NULL, leaky_formula, NULL, GEMEL_RANGE_ANY},
};

#endif
