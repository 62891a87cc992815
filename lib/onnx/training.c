/* SPDX-License-Identifier: MIT
 *
 * Steps of optimisers as ONNX has them (domain ai.onnx.preview.training): for N variables at once,
 * with their gradients and what the optimiser remembers of each. Inputs are the rate r, the number
 * of steps t so far, and then all variables, all gradients, all that is remembered.
 */
#include "onnx/operators.h"
#include "core/value.h"

/* One variable, as the step begins. */
typedef struct variable {
  gemel__onnx_call *c;
  gemel_value r, t, x, g, v, h; /* V and H: what is remembered */
} variable;

static gemel_value scaled(const variable *s, gemel_value x, double factor) {
  return gemel_mul_at(x, gemel_scalar_like_at(x, factor, s->c->where), s->c->where);
}

static gemel_value plus(const variable *s, gemel_value x, gemel_value y) {
  return gemel_add_at(x, y, s->c->where);
}

static gemel_value minus(const variable *s, gemel_value x, gemel_value y) {
  return gemel_sub_at(x, y, s->c->where);
}

static gemel_value times(const variable *s, gemel_value x, gemel_value y) {
  return gemel_mul_at(x, y, s->c->where);
}

/* A number of x's dtype. */
static gemel_value number(const variable *s, double n) {
  return gemel_scalar_like_at(s->x, n, s->c->where);
}

/* YES at the steps behind the first, else NO. */
static gemel_value later(const variable *s, gemel_value yes, gemel_value no) {
  gemel_value begun = gemel_gt_at(s->t, gemel_scalar_like_at(s->t, 0, s->c->where), s->c->where);
  return gemel_where_at(begun, yes, no, s->c->where);
}

/* Variable K of N, each with REMEMBERED values, and the gradient of a penalty added to its own. */
static variable variable_of(gemel__onnx_call *c, size_t k, size_t n, size_t remembered) {
  variable s = {.c = c, .v = gemel__no_value, .h = gemel__no_value};
  s.x = gemel__onnx_input(c, 2 + k);
  gemel_dtype dtype = gemel__onnx_dtype_of(s.x);
  s.r = gemel_cast_at(gemel__onnx_scalar(c, gemel__onnx_input(c, 0)), dtype, c->where);
  s.t = gemel_cast_at(gemel__onnx_scalar(c, gemel__onnx_input(c, 1)), dtype, c->where);
  s.g = plus(&s, scaled(&s, s.x, gemel__onnx_float(c, "norm_coefficient", 0)),
             gemel__onnx_input(c, 2 + n + k));
  s.v = gemel__onnx_input(c, 2 + 2 * n + k);
  s.h = remembered > 1 ? gemel__onnx_input(c, 2 + 3 * n + k) : gemel__no_value;
  return s;
}

/* How many variables there are, each with REMEMBERED values: 0, and the graph's error, if inputs
 * and outputs aren't those of as many. */
static size_t count_variables(gemel__onnx_call *c, size_t remembered) {
  size_t n = (c->n_inputs - 2) / (2 + remembered);
  if (n == 0 || c->n_inputs != 2 + n * (2 + remembered) || c->n_outputs != n * (1 + remembered)) {
    gemel__onnx_refuse(c, GEMEL_BAD_FILE, "it has %zu inputs and %zu outputs", c->n_inputs,
                       c->n_outputs);
    return 0;
  }
  return n;
}

/* x - r g / (sqrt(h + g^2) + epsilon) */
gemel_value gemel__onnx_adagrad(gemel__onnx_call *c) {
  size_t n = count_variables(c, 1);
  double decay = gemel__onnx_float(c, "decay_factor", 0);
  for (size_t k = 0; k < n; k++) {
    variable s = variable_of(c, k, n, 1);
    gemel_value r = gemel_div_at(s.r, plus(&s, number(&s, 1), scaled(&s, s.t, decay)), c->where);
    gemel_value h = plus(&s, s.v, gemel_sqr_at(s.g, c->where));
    gemel_value root = plus(&s, gemel_sqrt_at(h, c->where),
                            number(&s, gemel__onnx_float(c, "epsilon", (double)1e-6F)));
    c->outputs[k] = minus(&s, s.x, gemel_div_at(times(&s, r, s.g), root, c->where));
    c->outputs[n + k] = h;
  }
  return c->outputs[0];
}

/* v = alpha v + (1 - alpha) g, h = beta h + (1 - beta) g^2, x - r v / (sqrt(h) + epsilon), with r
 * corrected for v and h that began as 0. */
gemel_value gemel__onnx_adam(gemel__onnx_call *c) {
  size_t n = count_variables(c, 2);
  double alpha = gemel__onnx_float(c, "alpha", (double)0.9F);
  double beta = gemel__onnx_float(c, "beta", (double)0.999F);
  double post = gemel__onnx_float(c, "norm_coefficient_post", 0);
  for (size_t k = 0; k < n; k++) {
    variable s = variable_of(c, k, n, 2);
    gemel_value v = plus(&s, scaled(&s, s.v, alpha), scaled(&s, s.g, 1 - alpha));
    gemel_value h =
        plus(&s, scaled(&s, s.h, beta), scaled(&s, gemel_sqr_at(s.g, c->where), 1 - beta));
    gemel_value root = plus(&s, gemel_sqrt_at(h, c->where),
                            number(&s, gemel__onnx_float(c, "epsilon", (double)1e-6F)));
    gemel_value of_h = minus(&s, number(&s, 1), gemel_pow_at(number(&s, beta), s.t, c->where));
    gemel_value of_v = minus(&s, number(&s, 1), gemel_pow_at(number(&s, alpha), s.t, c->where));
    gemel_value corrected =
        gemel_div_at(times(&s, s.r, gemel_sqrt_at(of_h, c->where)), of_v, c->where);
    gemel_value r = later(&s, corrected, s.r);
    gemel_value x = minus(&s, s.x, times(&s, r, gemel_div_at(v, root, c->where)));
    c->outputs[k] = scaled(&s, x, 1 - post);
    c->outputs[n + k] = v;
    c->outputs[2 * n + k] = h;
  }
  return c->outputs[0];
}

/* v = alpha v + beta g, with beta 1 at the first step; x - r v, or by Nesterov x - r (g + alpha v).
 */
gemel_value gemel__onnx_momentum(gemel__onnx_call *c) {
  size_t n = gemel__onnx_is_one_of(c, "mode", "standard nesterov") ? count_variables(c, 1) : 0;
  double alpha = gemel__onnx_float(c, "alpha", 0), beta = gemel__onnx_float(c, "beta", 0);
  int nesterov = gemel__wire_is(gemel__onnx_text(c, "mode"), "nesterov");
  for (size_t k = 0; k < n; k++) {
    variable s = variable_of(c, k, n, 1);
    gemel_value factor = later(&s, number(&s, beta), number(&s, 1));
    gemel_value v = plus(&s, scaled(&s, s.v, alpha), times(&s, factor, s.g));
    gemel_value step = nesterov ? plus(&s, s.g, scaled(&s, v, alpha)) : v;
    c->outputs[k] = minus(&s, s.x, times(&s, s.r, step));
    c->outputs[n + k] = v;
  }
  return c->outputs[0];
}
