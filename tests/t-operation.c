/*
 * Operations that only a program knows, with a reference: by a function that builds a formula, by a
 * graph, by a function over elements. Right kernels and derivatives pass in all five tiers, first
 * and second order; wrong ones (another formula, a misplaced epsilon, a missing mean, a wrong axis,
 * a lost term, a derivative that is off by 1e-6) are refuted. Operations without a reference are an
 * unknown function: pairs of graphs that contain one are decided all the same. What can be wrong
 * with a reference is an ordinary error. All for GEMEL_CORPUS_SEEDS seeds (default 3).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gemel/ops.h>
#include <gemel/verify.h>

static uint64_t seeds(void) {
  const char *text = getenv("GEMEL_CORPUS_SEEDS");
  if (getenv("GEMEL_QUICK") != NULL || getenv("GEMEL_VALGRIND") != NULL ||
      getenv("GEMEL_SANITIZED") != NULL) {
    return 1;
  }
  return text != NULL ? strtoull(text, NULL, 10) : 3;
}

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
  gemel_domain domain;
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

static char *place(const gemel_view *view, int64_t i) {
  char *at = view->data;
  int axis;
  for (axis = view->rank - 1; axis >= 0; axis--) {
    at += i % view->shape[axis] * view->strides[axis];
    i /= view->shape[axis];
  }
  return at;
}

static double load(const gemel_view *view, int64_t i) {
  const void *at = place(view, i);
  return view->dtype == GEMEL_F32 ? (double)*(const float *)at : *(const double *)at;
}

static void store(const gemel_view *view, int64_t i, double x) {
  void *at = place(view, i);
  if (view->dtype == GEMEL_F32) {
    *(float *)at = (float)x;
  } else {
    *(double *)at = x;
  }
}

static int64_t elements(const gemel_view *view) {
  int64_t n = 1;
  int axis;
  for (axis = 0; axis < view->rank; axis++) {
    n *= view->shape[axis];
  }
  return n;
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
    call->in_cotangents[k] = derivative(call, (int)k, call->out_cotangents[0]);
  }
  return gemel_graph_error(call->graph)->status;
}

static gemel_status jvp_own(gemel_derive *call) {
  gemel_value sum = {NULL, 0, 0};
  size_t k;
  for (k = 0; k < call->n_inputs; k++) {
    gemel_value part = derivative(call, (int)k, call->in_cotangents[k]);
    sum = gemel_is_null(sum) ? part : gemel_is_null(part) ? sum : gemel_add(sum, part);
  }
  call->out_cotangents[0] = sum;
  return gemel_graph_error(call->graph)->status;
}

static gemel_status sample_own(gemel_sample *call) {
  const own *o = call->data;
  int64_t shape[2];
  int k, rank = 1 + (int)(call->random(call->state) % 2);
  if (call->dtype != GEMEL_F64 && call->dtype != GEMEL_F32) {
    return GEMEL_DECLINED;
  }
  for (k = 0; k < rank; k++) {
    shape[k] = 1 + (int64_t)(call->random(call->state) % (call->max_elements > 6 ? 6 : 2));
  }
  call->n_inputs = o->operands > 1 ? 2 : 1;
  for (k = 0; k < (int)call->n_inputs; k++) {
    call->inputs[k] = gemel_type_of_shape(call->context, call->dtype, rank, shape);
    call->domains[k] = o->domain;
    if (call->inputs[k] == GEMEL_TYPE_NONE) {
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
  return gemel_div(gemel_sum(x, 1, &last, 1), number(x, (double)size));
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
  return gemel_sum(gemel_mul(weights, column), 1, &last, 0);
}

static const own right[] = {
    {"gelu", 1, gelu, NULL, {gelu_slope}, NULL, gelu_formula, NULL, GEMEL_MODERATE},
    {"swish", 1, swish, NULL, {swish_slope}, NULL, swish_formula, NULL, GEMEL_MODERATE},
    {"hard_swish",
     1,
     hard_swish,
     NULL,
     {hard_swish_slope},
     NULL,
     NULL,
     hard_swish_function,
     GEMEL_ANY},
    {"log_add_exp",
     2,
     log_add_exp,
     NULL,
     {log_add_exp_x, log_add_exp_y},
     NULL,
     NULL,
     log_add_exp_function,
     GEMEL_MODERATE},
    {"layer_norm",
     0,
     NULL,
     layer_norm,
     {NULL},
     layer_norm_pull,
     NULL,
     layer_norm_function,
     GEMEL_ANY},
    {"cumulative", 0, NULL, cumulative, {NULL}, NULL, NULL, cumulative_function, GEMEL_ANY},
    {"attention", 0, NULL, attention, {NULL}, NULL, attention_formula, NULL, GEMEL_MODERATE},
};

/* ---- Wrong kernels and wrong derivatives ---- */

static double gelu_erf(double x, double y) { /* another function of this name */
  (void)y;
  return 0.5 * x * (1 + erf(x / sqrt(2)));
}
static double gelu_sigmoid(double x, double y) {
  return gelu(x, y) == gelu(x, y) ? x / (1 + exp(-1.702 * x)) : NAN;
}
static double gelu_square(double x, double y) {
  (void)y;
  return 0.5 * x * (1 + tanh(GELU_C * (x + 0.044715 * x * x)));
}
static double gelu_off(double x, double y) {
  return gelu(x, y) * (1 + 1e-6);
}
static double swish_sign(double x, double y) {
  (void)y;
  return x / (1 + exp(x));
}
static double swish_far(double x, double y) { /* wrong where few look */
  return x < -3 ? 0 : swish(x, y);
}
static double hard_swish_relu(double x, double y) {
  return x < 3 ? hard_swish(x, y) : 3;
}
static double hard_swish_bound(double x, double y) {
  return x > -2.5 ? hard_swish(x, y) : 0;
}
static double log_add_exp_no_correction(double x, double y) {
  return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}
static double log_add_exp_lost_tie(double x, double y) {
  return x == y ? x : log_add_exp(x, y);
}
static double log_add_exp_naive(double x, double y) { /* overflows */
  return log(exp(x) + exp(y));
}
static void norm_outside(int64_t n, double *x) { /* epsilon beside the root */
  layer_norm_of(n, x, 1, 0, EPSILON);
}
static void norm_no_epsilon(int64_t n, double *x) {
  layer_norm_of(n, x, 1, 0, 0);
}
static void norm_no_mean(int64_t n, double *x) {
  layer_norm_of(n, x, 0, EPSILON, 0);
}
static void norm_sample(int64_t n, double *x) { /* n − 1 in the variance */
  double c = n > 1 ? sqrt((double)(n - 1) / (double)n) : 1;
  int64_t i;
  layer_norm_of(n, x, 1, EPSILON * (n > 1 ? (double)(n - 1) / (double)n : 1), 0);
  for (i = 0; i < n; i++) {
    x[i] *= c;
  }
}
static void norm_last(int64_t n, double *x) { /* forgets the last one */
  layer_norm_of(n > 1 ? n - 1 : n, x, 1, EPSILON, 0);
}
static void norm_reversed(int64_t n, double *x) {
  int64_t i;
  layer_norm(n, x);
  for (i = 0; i < n / 2; i++) {
    double t = x[i];
    x[i] = x[n - 1 - i];
    x[n - 1 - i] = t;
  }
}
static void cumulative_from_behind(int64_t n, double *x) {
  for (; n > 1; n--) {
    x[n - 2] += x[n - 1];
  }
}
static void cumulative_exclusive(int64_t n, double *x) {
  double sum = 0;
  int64_t i;
  for (i = 0; i < n; i++) {
    double t = x[i];
    x[i] = sum;
    sum += t;
  }
}
static void attention_causal(int64_t n, double *x) {
  for (; n > 0; n--) {
    double out[8];
    memcpy(out, x, (size_t)n * sizeof *x);
    attention(n, out);
    x[n - 1] = out[n - 1];
  }
}
static void attention_scaled(int64_t n, double *x) {
  int64_t i;
  for (i = 0; i < n; i++) {
    x[i] *= 0.5;
  }
  attention(n, x);
  for (i = 0; i < n; i++) {
    x[i] *= 2;
  }
}

#define WRONG_SLOPE(name, expression)                                                              \
  static gemel_value name(gemel_value x, gemel_value y) {                                          \
    (void)x, (void)y;                                                                              \
    return expression;                                                                             \
  }
WRONG_SLOPE(gelu_slope_scaled, times(gelu_slope(x, y), 1 + 1e-6))
WRONG_SLOPE(gelu_slope_constant, gelu_slope_of(x, 0.1341, 1))
WRONG_SLOPE(gelu_slope_lost, gelu_slope_of(x, 0.134145, 0))
WRONG_SLOPE(gelu_slope_sign, gemel_neg(gelu_slope(x, y)))
WRONG_SLOPE(gelu_slope_near, gelu_slope_of(x, 0.134145 + 1e-9, 1))
WRONG_SLOPE(swish_slope_scaled, times(swish_slope(x, y), 1 - 1e-6))
WRONG_SLOPE(swish_slope_lost, gemel_sigmoid(x))
WRONG_SLOPE(hard_swish_slope_kink,
            gemel_where(gemel_lt(x, number(x, 3)), hard_swish_slope(x, y), number(x, 1)))
WRONG_SLOPE(log_add_exp_other, log_add_exp_y(x, y))
static gemel_value norm_pull_no_mean(gemel_value x, gemel_value g) {
  return layer_norm_pull_of(x, g, 0, 1);
}
static gemel_value norm_pull_no_product(gemel_value x, gemel_value g) {
  return layer_norm_pull_of(x, g, 1, 0);
}
static gemel_value norm_pull_scaled(gemel_value x, gemel_value g) {
  return times(layer_norm_pull(x, g), 1 + 1e-6);
}

#define GELU(name, f, slope)                                                                       \
  { name, 1, f, NULL, {slope}, NULL, gelu_formula, NULL, GEMEL_MODERATE }
#define SWISH(name, f, slope)                                                                      \
  { name, 1, f, NULL, {slope}, NULL, swish_formula, NULL, GEMEL_MODERATE }
#define HARD(name, f, slope)                                                                       \
  { name, 1, f, NULL, {slope}, NULL, NULL, hard_swish_function, GEMEL_ANY }
#define LOG_ADD(name, f, x, y)                                                                     \
  { name, 2, f, NULL, {x, y}, NULL, NULL, log_add_exp_function, GEMEL_MODERATE }
#define NORM(name, line, pull)                                                                     \
  { name, 0, NULL, line, {NULL}, pull, NULL, layer_norm_function, GEMEL_ANY }
static const own wrong[] = {
    GELU("gelu/erf", gelu_erf, gelu_slope),
    GELU("gelu/sigmoid", gelu_sigmoid, gelu_slope),
    GELU("gelu/square", gelu_square, gelu_slope),
    GELU("gelu/off", gelu_off, gelu_slope),
    GELU("gelu/slope/scaled", gelu, gelu_slope_scaled),
    GELU("gelu/slope/constant", gelu, gelu_slope_constant),
    GELU("gelu/slope/lost", gelu, gelu_slope_lost),
    GELU("gelu/slope/sign", gelu, gelu_slope_sign),
    GELU("gelu/slope/near", gelu, gelu_slope_near),
    SWISH("swish/sign", swish_sign, swish_slope),
    SWISH("swish/far", swish_far, swish_slope),
    SWISH("swish/slope/scaled", swish, swish_slope_scaled),
    SWISH("swish/slope/lost", swish, swish_slope_lost),
    HARD("hard_swish/relu", hard_swish_relu, hard_swish_slope),
    HARD("hard_swish/bound", hard_swish_bound, hard_swish_slope),
    HARD("hard_swish/slope/kink", hard_swish, hard_swish_slope_kink),
    LOG_ADD("log_add_exp/no_correction", log_add_exp_no_correction, log_add_exp_x, log_add_exp_y),
    LOG_ADD("log_add_exp/lost_tie", log_add_exp_lost_tie, log_add_exp_x, log_add_exp_y),
    LOG_ADD("log_add_exp/naive", log_add_exp_naive, log_add_exp_x, log_add_exp_y),
    LOG_ADD("log_add_exp/slope/other", log_add_exp, log_add_exp_other, log_add_exp_y),
    NORM("layer_norm/outside", norm_outside, layer_norm_pull),
    NORM("layer_norm/no_epsilon", norm_no_epsilon, layer_norm_pull),
    NORM("layer_norm/no_mean", norm_no_mean, layer_norm_pull),
    NORM("layer_norm/sample", norm_sample, layer_norm_pull),
    NORM("layer_norm/last", norm_last, layer_norm_pull),
    NORM("layer_norm/reversed", norm_reversed, layer_norm_pull),
    NORM("layer_norm/pull/no_mean", layer_norm, norm_pull_no_mean),
    NORM("layer_norm/pull/no_product", layer_norm, norm_pull_no_product),
    NORM("layer_norm/pull/scaled", layer_norm, norm_pull_scaled),
    {"cumulative/from_behind",
     0,
     NULL,
     cumulative_from_behind,
     {NULL},
     NULL,
     NULL,
     cumulative_function,
     GEMEL_ANY},
    {"cumulative/exclusive",
     0,
     NULL,
     cumulative_exclusive,
     {NULL},
     NULL,
     NULL,
     cumulative_function,
     GEMEL_ANY},
    {"attention/causal",
     0,
     NULL,
     attention_causal,
     {NULL},
     NULL,
     attention_formula,
     NULL,
     GEMEL_MODERATE},
    {"attention/scaled",
     0,
     NULL,
     attention_scaled,
     {NULL},
     NULL,
     attention_formula,
     NULL,
     GEMEL_MODERATE},
};

/* ---- Asking ---- */

struct heard {
  size_t records, good, passed, refuted;
  char text[1200];
};

static void take(void *user, const gemel_record *r) {
  struct heard *h = user;
  int good = r->verdict == GEMEL_PASSED || r->verdict == GEMEL_NOT_APPLICABLE;
  h->records++;
  h->good += (size_t)good;
  h->passed += r->verdict == GEMEL_PASSED;
  h->refuted += r->verdict == GEMEL_REFUTED;
  if (!good && h->text[0] == '\0') {
    snprintf(h->text, sizeof h->text, "%s, %s: %s (%s) %s", r->name, gemel_tier_name(r->tier),
             gemel_verdict_name(r->verdict), r->detail,
             r->counterexample != NULL ? r->counterexample : "");
  }
  if (getenv("OPERATION_VERBOSE") != NULL) {
    printf("    %s %s: %s by %s (%s)\n", r->name, gemel_tier_name(r->tier),
           gemel_verdict_name(r->verdict), r->how, r->detail);
  }
}

static struct heard ask(const own *o, uint64_t seed) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_verify_options options = {0};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  struct heard h = {0, 0, 0, 0, ""};
  options.size = sizeof options;
  options.seed = seed;
  options.instances = 24;
  options.ops = "own";
  options.sink = take;
  options.user = &h;
  CT_EQ_INT(register_as(context, o, "own", &error), GEMEL_OK);
  CT_EQ_INT(give_reference(context, o, "own", &error), GEMEL_OK);
  CT_EQ_INT(gemel_verify_operations(context, &options, NULL, &error), GEMEL_OK);
  ct_context("%s, seed %llu: %s %s", o->name, (unsigned long long)seed, h.text, error.text);
  gemel_context_unref(context);
  return h;
}

static void right_one(const void *data) {
  const own *o = data;
  int derivatives = o->slope[0] != NULL || o->pull != NULL;
  uint64_t seed;
  for (seed = 1; seed <= seeds(); seed++) {
    struct heard h = ask(o, seed);
    CT_EQ_UINT(h.records, derivatives ? 2 * GEMEL_TIER_COUNT : GEMEL_TIER_COUNT);
    CT_EQ_UINT(h.good, h.records);
    CT_CHECK(h.passed >= (derivatives ? 5 : 2));
  }
}

static void wrong_one(const void *data) {
  uint64_t seed;
  for (seed = 1; seed <= seeds(); seed++) {
    struct heard h = ask(data, seed);
    CT_CHECK(h.refuted > 0);
  }
}

/* ---- A graph as reference; attributes and signs in a function ---- */

static gemel_graph *parse(gemel_context *context, const char *text) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *graph = gemel_parse(context, text, strlen(text), "test", NULL, &error);
  if (graph == NULL) {
    CT_FAIL("%s", error.text);
  }
  return graph;
}

static gemel_status give_graph(gemel_context *context, const char *name, const char *text,
                               gemel_error *error) {
  gemel_reference reference = {0};
  gemel_graph *graph = parse(context, text);
  gemel_status status;
  reference.size = sizeof reference;
  reference.graph = graph;
  status = gemel_verify_reference(context, name, &reference, error);
  gemel_graph_unref(graph);
  return status;
}

static struct heard verify_in(gemel_context *context, uint64_t seed, gemel_error *error) {
  gemel_verify_options options = {0};
  struct heard h = {0, 0, 0, 0, ""};
  options.size = sizeof options;
  options.seed = seed;
  options.instances = 24;
  options.ops = "own";
  options.sink = take;
  options.user = &h;
  CT_EQ_INT(gemel_verify_operations(context, &options, NULL, error), GEMEL_OK);
  ct_context("seed %llu: %s %s", (unsigned long long)seed, h.text, error->text);
  return h;
}

/* Graphs for some types: the others are said to be left out. */
static void graphs(const void *data) {
  gemel_context *context = gemel_context_new(NULL);
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  struct heard h;
  (void)data;
  CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
  CT_EQ_INT(
      give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = x * sigmoid(x)\n}\n", &error),
      GEMEL_OK);
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N, M]) {\n  return y = x * sigmoid(x)\n}\n",
                       &error),
            GEMEL_OK);
  h = verify_in(context, 1, &error);
  CT_EQ_UINT(h.records, 2 * GEMEL_TIER_COUNT);
  CT_EQ_UINT(h.good, h.records);
  CT_CHECK(h.passed >= 5);
  gemel_context_unref(context);
  context = gemel_context_new(NULL); /* another formula */
  CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
  CT_EQ_INT(
      give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = x * tanh(x)\n}\n", &error),
      GEMEL_OK);
  CT_CHECK(verify_in(context, 1, &error).refuted > 0);
  gemel_context_unref(context);
}

/* "leaky": x, or SLOPE times x where it is negative. */
static gemel_status leaky_run(const gemel_kernel_call *call) {
  int64_t n = elements(&call->outputs[0]), i;
  for (i = 0; i < n; i++) {
    double x = load(&call->inputs[0], i);
    store(&call->outputs[0], i, x < 0 ? x * call->attrs[0].u.f : x);
  }
  return GEMEL_OK;
}
static gemel_status leaky_sample(gemel_sample *call) {
  int64_t n = 1 + (int64_t)(call->random(call->state) % 5);
  if (call->dtype != GEMEL_F64 && call->dtype != GEMEL_F32) {
    return GEMEL_DECLINED;
  }
  call->n_inputs = 1;
  call->inputs[0] = gemel_type_of_shape(call->context, call->dtype, 1, &n);
  call->attrs[0] = gemel_attr_float("slope", (double)(call->random(call->state) % 4) * 0.25);
  call->n_attrs = 1;
  return GEMEL_OK;
}
static gemel_status leaky_function(gemel_reference_call *call) {
  const gemel_attr *slope = gemel_reference_attr(call, "slope");
  gemel_reference_shape x = gemel_reference_input(call, 0);
  gemel_element *e = gemel_element_new(call), *factor = gemel_element_new(call);
  size_t i;
  CT_CHECK(gemel_reference_attr(call, "none") == NULL);
  CT_EQ_UINT(gemel_reference_input_count(call), 1);
  CT_CHECK(gemel_reference_at(call, 0, x.count) == NULL);
  gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  gemel_reference_work_in(call, x.dtype);
  gemel_element_number(call, factor, slope->u.f + *(const double *)gemel_reference_data(call));
  for (i = 0; i < x.count; i++) {
    const gemel_element *a = gemel_reference_at(call, 0, i);
    int sign = gemel_element_sign(call, a);
    gemel_element_set(call, e, a);
    if (sign < 0) {
      gemel_element_mul(call, e, e, factor);
    }
    CT_CHECK(sign >= -1 && sign <= GEMEL_SIGN_UNKNOWN);
    gemel_reference_store(call, 0, i, e);
  }
  return GEMEL_OK;
}

static void attributes(const void *data) {
  static const gemel_attr_spec schema[] = {{"slope", GEMEL_ATTR_FLOAT, "0.5"}, {NULL, 0, NULL}};
  static const gemel_kernel leaky[] = {{"plain", NULL, leaky_run}, {NULL, NULL, NULL}};
  static const double off[] = {0, 0.25};
  int k;
  (void)data;
  for (k = 0; k < 2; k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    gemel_reference reference = {0};
    gemel_operation op = {0};
    struct heard h;
    op.size = sizeof op;
    op.name = "own";
    op.min_inputs = op.max_inputs = 1;
    op.flags = GEMEL_OP_ELEMENTWISE;
    op.version = 1;
    op.attrs = schema;
    op.infer = infer_first;
    op.sample = leaky_sample;
    op.kernels = leaky;
    reference.size = sizeof reference;
    reference.function = leaky_function;
    reference.data = &off[k];
    CT_EQ_INT(gemel_register_operation(context, &op, &error), GEMEL_OK);
    CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_OK);
    h = verify_in(context, 1, &error);
    CT_EQ_INT(h.refuted > 0, k == 1);
    CT_CHECK(k == 1 || h.good == h.records);
    gemel_context_unref(context);
  }
}

/* ---- What can be wrong with a reference ---- */

static gemel_status two_outputs(gemel_reference_call *call) {
  gemel_reference_shape x = gemel_reference_input(call, 0);
  gemel_reference_output(call, 0, x.dtype, x.rank, x.sizes);
  return gemel_reference_output(call, 1, x.dtype, x.rank, x.sizes);
}
static gemel_status other_shape(gemel_reference_call *call) {
  return gemel_reference_output(call, 0, gemel_reference_input(call, 0).dtype, 0, NULL);
}
static gemel_status no_output(gemel_reference_call *call) {
  (void)call;
  return GEMEL_OK;
}
static gemel_status no_such_operation(gemel_reference_call *call) {
  gemel_element *e = gemel_element_new(call);
  const gemel_element *operands[1];
  operands[0] = e;
  gemel_element_apply(call, e, "gelu", 1, operands);
  return GEMEL_OK;
}
static gemel_status null_element(gemel_reference_call *call) {
  gemel_element *e = gemel_element_new(call);
  gemel_element_add(call, e, e, NULL);
  return GEMEL_OK;
}
static gemel_status fails(gemel_reference_call *call) {
  (void)call;
  return GEMEL_UNSUPPORTED;
}
static gemel_status build_nothing(gemel_reference_build *call) {
  (void)call;
  return GEMEL_OK;
}
static gemel_status build_itself(gemel_reference_build *call) {
  call->outputs[0] = gemel_apply(call->graph, "own", 1, call->inputs, 0, NULL);
  return GEMEL_OK;
}
static gemel_status build_other(gemel_reference_build *call) {
  call->outputs[0] = gemel_apply(call->graph, "other", 1, call->inputs, 0, NULL);
  return GEMEL_OK;
}

/* References that can be given, and whose evaluation fails with STATUS, or is refuted (GEMEL_OK).
 */
static void faulty(const void *data) {
  static const struct {
    gemel_status (*function)(gemel_reference_call *call);
    gemel_status (*build)(gemel_reference_build *call);
    gemel_status status;
    const char *says;
  } cases[] = {{two_outputs, NULL, GEMEL_OK, "more outputs"},
               {other_shape, NULL, GEMEL_OK, "the graph says"},
               {no_output, NULL, GEMEL_OK, "gives 0 outputs"},
               {no_such_operation, NULL, GEMEL_BAD_ARGUMENT, "no scalar operation gelu"},
               {null_element, NULL, GEMEL_BAD_ARGUMENT, "null element"},
               {fails, NULL, GEMEL_UNSUPPORTED, "the reference of own failed"},
               {NULL, build_nothing, GEMEL_BAD_ARGUMENT, "no value"},
               {NULL, build_itself, GEMEL_BAD_ARGUMENT, "defined through itself"},
               {NULL, build_other, GEMEL_BAD_ARGUMENT, "defined through itself"}};
  size_t k;
  (void)data;
  for (k = 0; k < CT_COUNT(cases); k++) {
    gemel_context *context = gemel_context_new(NULL);
    gemel_reference reference = {0};
    gemel_verify_options options = {0};
    gemel_error error = {GEMEL_OK, 0, 0, ""};
    struct heard h = {0, 0, 0, 0, ""};
    reference.size = sizeof reference;
    reference.function = cases[k].function;
    reference.build = cases[k].build;
    options.size = sizeof options;
    options.ops = "own";
    options.instances = 4;
    options.sink = take;
    options.user = &h;
    CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
    CT_EQ_INT(register_as(context, &right[1], "other", &error), GEMEL_OK);
    CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_OK);
    reference.function = NULL;
    reference.build = build_itself;
    CT_EQ_INT(gemel_verify_reference(context, "other", &reference, &error), GEMEL_OK);
    CT_EQ_INT(gemel_verify_operations(context, &options, NULL, &error), cases[k].status);
    ct_context("case %zu: %s %s", k, h.text, error.text);
    CT_EQ_INT(h.refuted > 0, cases[k].status == GEMEL_OK);
    CT_HAS_STR(cases[k].status == GEMEL_OK ? h.text : error.text, cases[k].says);
    gemel_context_unref(context);
  }
}

/* References that can't be given. */
static void refused(const void *data) {
  gemel_context *context = gemel_context_new(NULL), *elsewhere = gemel_context_new(NULL);
  gemel_reference reference = {0};
  gemel_graph *graph = parse(elsewhere, "graph f(x: f64[N]) {\n  return y = x * x\n}\n");
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  (void)data;
  CT_EQ_INT(register_as(context, &right[1], "own", &error), GEMEL_OK);
  reference.size = sizeof reference;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  reference.function = fails;
  CT_EQ_INT(gemel_verify_reference(NULL, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_verify_reference(context, NULL, &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_verify_reference(context, "own", NULL, &error), GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(gemel_verify_reference(context, "nobody", &reference, &error), GEMEL_NOT_FOUND);
  CT_EQ_INT(gemel_verify_reference(context, "tanh", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "gemel's own");
  reference.graph = graph;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  reference.function = NULL;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "another context");
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = sum(x)\n}\n", &error),
            GEMEL_BAD_TYPE);
  CT_HAS_STR(error.text, "f64[]");
  CT_EQ_INT(give_graph(context, "own", "graph f(x: i32[N]) {\n  return x\n}\n", &error),
            GEMEL_BAD_TYPE);
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N], y: f64[N]) {\n  return x\n}\n", &error),
            GEMEL_BAD_ARGUMENT);
  CT_EQ_INT(give_graph(context, "own", "graph f(x: f64[N]) {\n  return y = own(x)\n}\n", &error),
            GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "itself");
  CT_EQ_INT(
      give_graph(context, "own", "graph f(x: f64[N]) {\n  return a = x, b = x * x\n}\n", &error),
      GEMEL_BAD_TYPE);
  reference.graph = NULL;
  reference.function = fails;
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_OK);
  CT_EQ_INT(gemel_verify_reference(context, "own", &reference, &error), GEMEL_BAD_ARGUMENT);
  CT_HAS_STR(error.text, "already");
  gemel_graph_unref(graph);
  gemel_context_unref(context);
  gemel_context_unref(elsewhere);
}

/* Allocation after allocation refused: while a reference is given, and while it is evaluated. */
static int give_and_verify(void *data) {
  const own *o = data;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_context *context = gemel_context_new(&error);
  gemel_verify_options options = {0};
  gemel_status status = context != NULL ? register_as(context, o, "own", &error) : GEMEL_NO_MEMORY;
  options.size = sizeof options;
  options.instances = 1;
  options.tiers = 1u << GEMEL_TIER_SPECIAL;
  options.ops = "own";
  if (status == GEMEL_OK) {
    status = give_reference(context, o, "own", &error);
  }
  if (status == GEMEL_OK) {
    status = gemel_verify_operations(context, &options, NULL, &error);
  }
  gemel_context_unref(context);
  return status;
}

static void memory(const void *data) {
  own o = right[2];
  (void)data;
  o.slope[0] = NULL;
  CT_CHECK(ct_oom(give_and_verify, &o) > 0);
  o = right[1];
  o.slope[0] = NULL;
  CT_CHECK(ct_oom(give_and_verify, &o) > 0);
}

static const ct_test tests[] = {CT_TEST("graphs", graphs, NULL),
                                CT_TEST("attributes", attributes, NULL),
                                CT_TEST("faulty", faulty, NULL), CT_TEST("refused", refused, NULL),
                                CT_TEST("memory", memory, NULL)};

void ct_register(void) {
  size_t k;
  ct_suite("operation", tests, CT_COUNT(tests));
  for (k = 0; k < CT_COUNT(wrong); k++) {
    CT_ADD_TO("operation", "wrong", wrong[k].name, wrong_one, &wrong[k]);
  }
  for (k = 0; k < CT_COUNT(right); k++) {
    CT_ADD_TO("operation", "right", right[k].name, right_one, &right[k]);
  }
}
