/* SPDX-License-Identifier: MIT
 *
 * Operators that ONNX Runtime's optimiser puts in the place of several (domain com.microsoft): each
 * is made of what it stands for, so that a model and its optimised form meet in the same graph.
 */
#include "onnx/operators.h"
#include "core/value.h"

/* ---- Activations ---- */

static gemel_value number_for(gemel__onnx_call *c, gemel_value x, double number) {
  return gemel_scalar_like_at(x, number, c->where);
}

/* Parameter K of the activation: of the list activation_params, or activation_alpha and _beta;
 * FALLBACK if it is absent. */
static double parameter(const gemel__onnx_call *c, size_t k, double fallback) {
  fallback = gemel__onnx_float(c, k == 0 ? "activation_alpha" : "activation_beta", fallback);
  return gemel__onnx_float_at(c, "activation_params", k, fallback);
}

/* The activation that attribute "activation" names, of X; X if there is none. */
static gemel_value activated(gemel__onnx_call *c, gemel_value x) {
  gemel__wire_span name = gemel__onnx_text(c, "activation");
  if (name.length == 0) {
    return x;
  }
  const gemel__onnx_activation *a = gemel__onnx_activation_find(c, name);
  return a == NULL
             ? gemel__no_value
             : a->build(c, x, parameter(c, 0, a->fallback[0]), parameter(c, 1, a->fallback[1]));
}

/* ---- Products ---- */

/* A convolution, its bias, what input 3 adds, and an activation. */
gemel_value gemel__onnx_fused_conv(gemel__onnx_call *c) {
  gemel_value sum = gemel__onnx_conv(c);
  if (gemel__onnx_given(c, 3)) {
    sum = gemel_add_at(sum, gemel__onnx_input(c, 3), c->where);
  }
  return activated(c, sum);
}

gemel_value gemel__onnx_fused_gemm(gemel__onnx_call *c) {
  return activated(c, gemel__onnx_gemm(c));
}

/* X with its last two axes exchanged. */
static gemel_value transposed(gemel__onnx_call *c, gemel_value x) {
  return gemel__onnx_rank(x) < 2 ? x : gemel_swapaxes_at(x, -1, -2, c->where);
}

gemel_value gemel__onnx_fused_matmul(gemel__onnx_call *c) {
  gemel_value a = gemel__onnx_input(c, 0), b = gemel__onnx_input(c, 1);
  double alpha = gemel__onnx_float(c, "alpha", 1);
  if (gemel__onnx_int(c, "transBatchA", 0) || gemel__onnx_int(c, "transBatchB", 0)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "transBatchA or transBatchB");
  }
  a = gemel__onnx_int(c, "transA", 0) ? transposed(c, a) : a;
  b = gemel__onnx_int(c, "transB", 0) ? transposed(c, b) : b;
  gemel_value product = gemel_matmul_at(a, b, c->where);
  return alpha == 1 ? product : gemel_mul_at(product, number_for(c, product, alpha), c->where);
}

/* ---- Normalisation ---- */

/* LayerNormalization of X along its last axis, times SCALE, plus BIAS unless that is null. */
static gemel_value normalized(gemel__onnx_call *c, gemel_value sum, gemel_value scale,
                              gemel_value bias) {
  int64_t last = -1;
  gemel_sum_options mean = {.axes = {1, &last}, .keepdims = 1};
  gemel_var_options squares = {.size = sizeof squares, .axes = {1, &last}, .keepdims = 1};
  gemel_value x = gemel__onnx_widened(c, sum);
  gemel_value centre = gemel_sub_at(x, gemel_mean_at(x, &mean, c->where), c->where);
  gemel_value variance =
      gemel_add_at(gemel_var_at(x, &squares, c->where),
                   number_for(c, x, gemel__onnx_float(c, "epsilon", (double)1e-12F)), c->where);
  gemel_value normal =
      gemel_cast_at(gemel_div_at(centre, gemel_sqrt_at(variance, c->where), c->where),
                    gemel__onnx_dtype_of(sum), c->where);
  gemel_value y = gemel_mul_at(normal, scale, c->where);
  return gemel_is_null(bias) ? y : gemel_add_at(y, bias, c->where);
}

static gemel_value input_or_null(gemel__onnx_call *c, size_t k) {
  return gemel__onnx_given(c, k) ? gemel__onnx_input(c, k) : gemel__no_value;
}

/* LayerNormalization of the sum of inputs 0, 1 and 4 along the last axis; output 3 is that sum. */
gemel_value gemel__onnx_skip_layer_normalization(gemel__onnx_call *c) {
  gemel_value sum = gemel_add_at(gemel__onnx_input(c, 0), gemel__onnx_input(c, 1), c->where);
  sum = gemel__onnx_given(c, 4) ? gemel_add_at(sum, gemel__onnx_input(c, 4), c->where) : sum;
  if (c->n_outputs > 3) {
    c->outputs[3] = sum;
  }
  return normalized(c, sum, gemel__onnx_input(c, 2), input_or_null(c, 3));
}

/* The sum of inputs 0, 1 and 3 over its root mean square along the last axis; output 3 is that sum.
 */
gemel_value gemel__onnx_skip_rms_normalization(gemel__onnx_call *c) {
  int64_t last = -1;
  gemel_sum_options along = {.axes = {1, &last}, .keepdims = 1};
  gemel_value sum = gemel_add_at(gemel__onnx_input(c, 0), gemel__onnx_input(c, 1), c->where);
  sum = gemel__onnx_given(c, 3) ? gemel_add_at(sum, gemel__onnx_input(c, 3), c->where) : sum;
  if (c->n_outputs > 3) {
    c->outputs[3] = sum;
  }
  gemel_value x = gemel__onnx_widened(c, sum);
  gemel_value square =
      gemel_add_at(gemel_mean_at(gemel_sqr_at(x, c->where), &along, c->where),
                   number_for(c, x, gemel__onnx_float(c, "epsilon", (double)1e-12F)), c->where);
  gemel_value normal = gemel_div_at(x, gemel_sqrt_at(square, c->where), c->where);
  return gemel_mul_at(gemel_cast_at(normal, gemel__onnx_dtype_of(sum), c->where),
                      gemel__onnx_input(c, 2), c->where);
}

/* How many tokens of each row the mask, input 7, has; 0 without one. */
static gemel_value token_counts(gemel__onnx_call *c, gemel_value tokens) {
  int64_t last = -1;
  gemel_sum_options along = {.axes = {1, &last}};
  gemel_value mask =
      gemel__onnx_given(c, 7) ? gemel__onnx_input(c, 7) : gemel_full_like_at(tokens, 0, c->where);
  return gemel_cast_at(gemel_sum_at(mask, &along, c->where), GEMEL_I32, c->where);
}

/* The sum of the embeddings of tokens (input 0), places (8, or as they come) and segments (1),
 * normalised; output 1 has the lengths of the rows, output 2 is the sum. */
gemel_value gemel__onnx_embed_layer_normalization(gemel__onnx_call *c) {
  gemel_value tokens = gemel__onnx_input(c, 0);
  if (gemel__onnx_rank(tokens) != 2) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes tokens [batch, length]");
  }
  gemel_value places = gemel__onnx_given(c, 8)
                           ? gemel__onnx_input(c, 8)
                           : gemel_arange_at(c->graph, gemel__onnx_dims(tokens)[1], NULL, c->where);
  gemel_value sum =
      gemel_add_at(gemel_take_at(gemel__onnx_input(c, 2), tokens, NULL, c->where),
                   gemel_take_at(gemel__onnx_input(c, 3), places, NULL, c->where), c->where);
  if (gemel__onnx_given(c, 1) && gemel__onnx_given(c, 4)) {
    sum = gemel_add_at(
        sum, gemel_take_at(gemel__onnx_input(c, 4), gemel__onnx_input(c, 1), NULL, c->where),
        c->where);
  }
  if (c->n_outputs > 1) {
    c->outputs[1] = token_counts(c, tokens);
  }
  if (c->n_outputs > 2) {
    c->outputs[2] = sum;
  }
  return normalized(c, sum, gemel__onnx_input(c, 5), gemel__onnx_input(c, 6));
}

/* GELU of x, or of the sum of x and a bias; by tanh if the row says so. */
gemel_value gemel__onnx_bias_gelu(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  x = gemel__onnx_given(c, 1) ? gemel_add_at(x, gemel__onnx_input(c, 1), c->where) : x;
  return gemel__onnx_gelu_of(c, x, c->row->as[0] != '\0');
}

/* x sigmoid(alpha x) */
gemel_value gemel__onnx_quick_gelu(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  double alpha = gemel__onnx_float(c, "alpha", (double)1.702F);
  gemel_value gate = gemel_sigmoid_at(gemel_mul_at(x, number_for(c, x, alpha), c->where), c->where);
  return gemel_mul_at(x, gate, c->where);
}
