/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that work element by element.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "onnx/call.h"
#include "onnx/model.h"
#include "onnx/operators.h"
#include "core/dtype.h"
#include "core/value.h"

/* NUMBER as a scalar to calculate with X. */
static gemel_value number_for(gemel__onnx_call *c, gemel_value x, double number) {
  return gemel_scalar_like_at(x, number, c->where);
}

/* ---- Operators that gemel has by another name ---- */

/* Before opset 7 the axes of y line up with those of x from attribute "axis" on (AXIS if it is
 * absent), not from the last: y with axes of size 1 behind its own. */
static gemel_value lined_up(gemel__onnx_call *c, gemel_value x, gemel_value y, int64_t axis) {
  int64_t order[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(y), first = (int)gemel__onnx_int(c, "axis", axis);
  int wanted = gemel__onnx_rank(x) - (first < 0 ? first + gemel__onnx_rank(x) : first);
  if (c->opset >= 7 || wanted <= rank || rank == 0) {
    return y;
  }
  for (int k = 0; k < wanted; k++) {
    order[k] = k < rank ? k : -1;
  }
  return gemel_dimshuffle_at(y, (size_t)wanted, order, c->where);
}

gemel_value gemel__onnx_same(gemel__onnx_call *c) {
  gemel_value inputs[3];
  for (size_t k = 0; k < c->n_inputs; k++) {
    inputs[k] = gemel__onnx_input(c, k);
  }
  if (c->n_inputs == 2) {
    int64_t last = gemel__onnx_rank(inputs[0]) - gemel__onnx_rank(inputs[1]);
    inputs[1] = lined_up(c, inputs[0], inputs[1], last);
  }
  return gemel_apply_at(c->graph, c->row->as, c->n_inputs, inputs, 0, NULL, c->where);
}

/* One after the other, from the left. */
gemel_value gemel__onnx_variadic(gemel__onnx_call *c) {
  gemel_value all = gemel__onnx_input(c, 0);
  for (size_t k = 1; k < c->n_inputs; k++) {
    gemel_value pair[2] = {all, gemel__onnx_input(c, k)};
    all = gemel_apply_at(c->graph, c->row->as, 2, pair, 0, NULL, c->where);
  }
  return all;
}

gemel_value gemel__onnx_mean_of(gemel__onnx_call *c) {
  gemel_value sum = gemel__onnx_input(c, 0);
  for (size_t k = 1; k < c->n_inputs; k++) {
    sum = gemel_add_at(sum, gemel__onnx_input(c, k), c->where);
  }
  return gemel_div_at(sum, number_for(c, sum, (double)c->n_inputs), c->where);
}

/* What is known of the input is so of the result. */
gemel_value gemel__onnx_identity(gemel__onnx_call *c) {
  if (!gemel__onnx_given(c, 0)) {
    return gemel__onnx_input(c, 0);
  }
  c->first = *c->inputs[0];
  return c->first.value;
}

/* ---- Dtypes ---- */

/* Which integer becomes of NaN, or of a float beyond all integers of DTYPE, ONNX leaves open. */
static gemel_value cast_to(gemel__onnx_call *c, gemel_value x, gemel_dtype dtype) {
  gemel_value y = gemel_cast_at(x, dtype, c->where);
  int opens = !gemel_is_null(x) && gemel__is_float(gemel__onnx_dtype_of(x)) &&
              (gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ||
               gemel_dtype_kind(dtype) == GEMEL_KIND_UNSIGNED);
  return opens ? gemel__onnx_partial(c, y) : y;
}

gemel_value gemel__onnx_cast(gemel__onnx_call *c) {
  gemel_error error;
  gemel_dtype dtype;
  if (gemel__onnx_dtype(gemel__onnx_int(c, "to", 0), &dtype, &error) != GEMEL_OK) {
    return gemel__onnx_refuse(c, error.status, "%s", error.text);
  }
  return cast_to(c, gemel__onnx_input(c, 0), dtype);
}

gemel_value gemel__onnx_bit_cast(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_error error;
  gemel_dtype dtype;
  if (gemel__onnx_dtype(gemel__onnx_int(c, "to", 0), &dtype, &error) != GEMEL_OK) {
    return gemel__onnx_refuse(c, error.status, "%s", error.text);
  }
  return dtype == GEMEL_BOOL && gemel_dtype_size(gemel__onnx_dtype_of(x)) == 1
             ? gemel_cast_at(x, dtype, c->where)
             : gemel_bitcast_at(x, dtype, c->where);
}

gemel_value gemel__onnx_cast_like(gemel__onnx_call *c) {
  return cast_to(c, gemel__onnx_input(c, 0), gemel__onnx_dtype_of(gemel__onnx_input(c, 1)));
}

/* ---- Arithmetic ---- */

gemel_value gemel__onnx_div(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), y = gemel__onnx_input(c, 1);
  y = lined_up(c, x, y, gemel__onnx_rank(x) - gemel__onnx_rank(y));
  return gemel_dtype_kind(gemel__onnx_dtype_of(x)) == GEMEL_KIND_FLOAT
             ? gemel_div_at(x, y, c->where)
             : gemel__onnx_partial(c, gemel_trunc_div_at(x, y, c->where));
}

/* fmod: the remainder has the sign of x, else that of y. */
gemel_value gemel__onnx_mod(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), y = gemel__onnx_input(c, 1);
  gemel_value rest =
      gemel__onnx_int(c, "fmod", 0) ? gemel_fmod_at(x, y, c->where) : gemel_mod_at(x, y, c->where);
  return gemel_is_null(rest) || gemel__is_float(gemel__onnx_dtype_of(rest))
             ? rest
             : gemel__onnx_partial(c, rest);
}

gemel_value gemel__onnx_bit_shift(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), y = gemel__onnx_input(c, 1);
  return gemel__onnx_partial(c, gemel__wire_is(gemel__onnx_text(c, "direction"), "LEFT")
                                    ? gemel_shift_left_at(x, y, c->where)
                                    : gemel_shift_right_at(x, y, c->where));
}

/* The result has the dtype of the base. */
gemel_value gemel__onnx_pow(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), y = gemel__onnx_input(c, 1);
  y = lined_up(c, x, y, gemel__onnx_rank(x) - gemel__onnx_rank(y));
  gemel_value power = gemel_pow_at(x, y, c->where);
  return gemel_is_null(power) ? power : cast_to(c, power, gemel__onnx_dtype_of(x));
}

gemel_value gemel__onnx_reciprocal(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  return gemel_div_at(number_for(c, x, 1), x, c->where);
}

/* A bound of Clip. The dtype's largest finite number is one for infinities alone. */
typedef struct clip_bound {
  gemel_value value; /* null: there is none */
  int is_largest;
} clip_bound;

/* NUMBER, which bounds X on the side of SIGN. */
static clip_bound bound_of(gemel__onnx_call *c, gemel_value x, double number, int sign) {
  gemel_dtype dtype = gemel__onnx_dtype_of(x);
  double largest = gemel__is_float(dtype) ? sign * gemel__largest(dtype) : 0;
  int is_largest = gemel__is_float(dtype) && sign * number >= fabs(largest) && isfinite(number);
  return (clip_bound){number_for(c, x, is_largest ? largest : number), is_largest};
}

/* Limits are attributes before opset 11. One of floats that is left out is the largest finite
 * number, one of integers none. */
static clip_bound limit(gemel__onnx_call *c, gemel_value x, size_t k, const char *name, int sign) {
  clip_bound none = {gemel__no_value, 0};
  double number;
  if (c->opset >= 11 && gemel__onnx_given(c, k)) {
    clip_bound given = {gemel__onnx_input(c, k), 0};
    return gemel__onnx_number(c, k, &number) && bound_of(c, x, number, sign).is_largest
               ? bound_of(c, x, number, sign)
               : given;
  }
  if (c->opset < 11 && gemel__onnx_attribute(c, name).bytes != NULL) {
    return bound_of(c, x, gemel__onnx_float(c, name, 0), sign);
  }
  return gemel__is_float(gemel__onnx_dtype_of(x)) ? bound_of(c, x, sign * DBL_MAX, sign) : none;
}

/* X between two bounds. A largest one is applied alone, so that who ignores infinities can leave it
 * out. */
static gemel_value bounded(gemel__onnx_call *c, gemel_value x, clip_bound low, clip_bound high) {
  if (!gemel_is_null(low.value) && !gemel_is_null(high.value) && !low.is_largest &&
      !high.is_largest) {
    return gemel_clip_at(x, low.value, high.value, c->where);
  }
  x = gemel_is_null(low.value) ? x : gemel_maximum_at(x, low.value, c->where);
  return gemel_is_null(high.value) ? x : gemel_minimum_at(x, high.value, c->where);
}

gemel_value gemel__onnx_clip(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  if (gemel_is_null(x)) {
    return x;
  }
  clip_bound low = limit(c, x, 1, "min", -1);
  return bounded(c, x, low, limit(c, x, 2, "max", 1));
}

/* ---- Tests ---- */

gemel_value gemel__onnx_is_nan(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  return gemel_ne_at(x, x, c->where);
}

gemel_value gemel__onnx_is_inf(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int64_t below = gemel__onnx_int(c, "detect_negative", 1);
  int64_t above = gemel__onnx_int(c, "detect_positive", 1);
  if (below && above) {
    return gemel_eq_at(gemel_abs_at(x, c->where), number_for(c, x, INFINITY), c->where);
  }
  if (!below && !above) {
    return gemel_cast_at(gemel_zeros_like(x), GEMEL_BOOL, c->where);
  }
  return gemel_eq_at(x, number_for(c, x, above ? INFINITY : -INFINITY), c->where);
}

/* ---- Activations ---- */

/* x where it is above 0 (or NaN), else BELOW. */
static gemel_value above_zero(gemel__onnx_call *c, gemel_value x, gemel_value below) {
  return gemel_where_at(gemel_lt_at(x, number_for(c, x, 0), c->where), below, x, c->where);
}

static gemel_value leaky(gemel__onnx_call *c, gemel_value x, double alpha, double unused) {
  (void)unused;
  return above_zero(c, x, gemel_mul_at(x, number_for(c, x, alpha), c->where));
}

gemel_value gemel__onnx_leaky_relu(gemel__onnx_call *c) {
  return leaky(c, gemel__onnx_input(c, 0), gemel__onnx_float(c, "alpha", (double)0.01F), 0);
}

gemel_value gemel__onnx_prelu(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_value slope = lined_up(c, x, gemel__onnx_input(c, 1), 1);
  return above_zero(c, x, gemel_mul_at(x, slope, c->where));
}

/* ALPHA (exp(x / SCALE) - 1), with x no greater than 0, so that nothing overflows there. */
static gemel_value exponential(gemel__onnx_call *c, gemel_value x, double alpha, double scale) {
  gemel_value low = gemel_minimum_at(x, number_for(c, x, 0), c->where);
  low = scale == 1 ? low : gemel_div_at(low, number_for(c, x, scale), c->where);
  gemel_value e = gemel_expm1_at(low, c->where);
  return alpha == 1 ? e : gemel_mul_at(e, number_for(c, x, alpha), c->where);
}

static gemel_value elu(gemel__onnx_call *c, gemel_value x, double alpha, double unused) {
  (void)unused;
  return above_zero(c, x, exponential(c, x, alpha, 1));
}

gemel_value gemel__onnx_elu(gemel__onnx_call *c) {
  return elu(c, gemel__onnx_input(c, 0), gemel__onnx_float(c, "alpha", 1), 0);
}

gemel_value gemel__onnx_celu(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  double alpha = gemel__onnx_float(c, "alpha", 1);
  return above_zero(c, x, exponential(c, x, alpha, alpha));
}

gemel_value gemel__onnx_selu(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  double alpha = gemel__onnx_float(c, "alpha", (double)1.67326319217681884765625F);
  double gamma = gemel__onnx_float(c, "gamma", (double)1.05070102214813232421875F);
  return gemel_mul_at(above_zero(c, x, exponential(c, x, alpha, 1)), number_for(c, x, gamma),
                      c->where);
}

/* ALPHA x + BETA */
static gemel_value affine(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  return gemel_add_at(gemel_mul_at(x, number_for(c, x, alpha), c->where), number_for(c, x, beta),
                      c->where);
}

/* max(0, min(1, ALPHA x + BETA)) */
static gemel_value hard(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  gemel_value line = affine(c, x, alpha, beta);
  return gemel_clip_at(line, number_for(c, x, 0), number_for(c, x, 1), c->where);
}

gemel_value gemel__onnx_hard_sigmoid(gemel__onnx_call *c) {
  return hard(c, gemel__onnx_input(c, 0), gemel__onnx_float(c, "alpha", (double)0.2F),
              gemel__onnx_float(c, "beta", 0.5));
}

gemel_value gemel__onnx_hard_swish(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  return gemel_mul_at(x, hard(c, x, 1.0 / 6, 0.5), c->where);
}

/* x sigmoid(alpha x) */
gemel_value gemel__onnx_swish(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  double alpha = gemel__onnx_float(c, "alpha", 1);
  gemel_value scaled = alpha == 1 ? x : gemel_mul_at(x, number_for(c, x, alpha), c->where);
  return gemel_mul_at(x, gemel_sigmoid_at(scaled, c->where), c->where);
}

gemel_value gemel__onnx_swiglu(gemel__onnx_call *c) {
  return gemel_mul_at(gemel__onnx_swish(c), gemel__onnx_input(c, 1), c->where);
}

/* log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), which doesn't overflow. */
static gemel_value softplus(gemel__onnx_call *c, gemel_value x) {
  gemel_value tail = gemel_exp_at(gemel_neg_at(gemel_abs_at(x, c->where), c->where), c->where);
  return gemel_add_at(gemel_relu_at(x, c->where), gemel_log1p_at(tail, c->where), c->where);
}

gemel_value gemel__onnx_softplus(gemel__onnx_call *c) {
  return softplus(c, gemel__onnx_input(c, 0));
}

gemel_value gemel__onnx_mish(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  return gemel_mul_at(x, gemel_tanh_at(softplus(c, x), c->where), c->where);
}

static gemel_value softsign(gemel__onnx_call *c, gemel_value x) {
  return gemel_div_at(x, gemel_add_at(number_for(c, x, 1), gemel_abs_at(x, c->where), c->where),
                      c->where);
}

gemel_value gemel__onnx_softsign(gemel__onnx_call *c) {
  return softsign(c, gemel__onnx_input(c, 0));
}

static gemel_value thresholded(gemel__onnx_call *c, gemel_value x, double alpha, double unused) {
  (void)unused;
  gemel_value above = gemel_gt_at(x, number_for(c, x, alpha), c->where);
  return gemel_where_at(above, x, number_for(c, x, 0), c->where);
}

gemel_value gemel__onnx_thresholded_relu(gemel__onnx_call *c) {
  return thresholded(c, gemel__onnx_input(c, 0), gemel__onnx_float(c, "alpha", 1), 0);
}

gemel_value gemel__onnx_shrink(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  double lambda = gemel__onnx_float(c, "lambd", 0.5);
  gemel_value bias = number_for(c, x, gemel__onnx_float(c, "bias", 0));
  gemel_value below = gemel_lt_at(x, number_for(c, x, -lambda), c->where);
  gemel_value above = gemel_gt_at(x, number_for(c, x, lambda), c->where);
  gemel_value inner =
      gemel_where_at(above, gemel_sub_at(x, bias, c->where), number_for(c, x, 0), c->where);
  return gemel_where_at(below, gemel_add_at(x, bias, c->where), inner, c->where);
}

/* x (1 + erf(x / sqrt(2))) / 2, in the order in which exporters write it, or with
 * tanh(sqrt(2 / pi) (x + 0.044715 x^3)) in the place of erf. */
gemel_value gemel__onnx_gelu_of(gemel__onnx_call *c, gemel_value x, int by_tanh) {
  gemel_value turn;
  if (by_tanh) {
    gemel_value cube = gemel_mul_at(x, gemel_sqr_at(x, c->where), c->where);
    gemel_value sum =
        gemel_add_at(x, gemel_mul_at(cube, number_for(c, x, 0.044715), c->where), c->where);
    turn = gemel_tanh_at(gemel_mul_at(sum, number_for(c, x, 0.79788456080286535588), c->where),
                         c->where);
  } else {
    turn =
        gemel_erf_at(gemel_div_at(x, number_for(c, x, 1.41421356237309504880), c->where), c->where);
  }
  gemel_value gate = gemel_add_at(turn, number_for(c, x, 1), c->where);
  return gemel_mul_at(gemel_mul_at(x, gate, c->where), number_for(c, x, 0.5), c->where);
}

gemel_value gemel__onnx_gelu(gemel__onnx_call *c) {
  if (!gemel__onnx_is_one_of(c, "approximate", "none tanh")) {
    return (gemel_value){NULL, 0, 0};
  }
  return gemel__onnx_gelu_of(c, gemel__onnx_input(c, 0),
                             gemel__wire_is(gemel__onnx_text(c, "approximate"), "tanh"));
}

/* ---- Activations by name ---- */

static gemel_value relu_(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return gemel_relu_at(x, c->where);
}

static gemel_value sigmoid_(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return gemel_sigmoid_at(x, c->where);
}

static gemel_value tanh_(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return gemel_tanh_at(x, c->where);
}

static gemel_value softplus_(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return softplus(c, x);
}

static gemel_value softsign_(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  (void)alpha, (void)beta;
  return softsign(c, x);
}

/* ALPHA tanh(BETA x) */
static gemel_value scaled_tanh(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  gemel_value t = gemel_tanh_at(gemel_mul_at(x, number_for(c, x, beta), c->where), c->where);
  return gemel_mul_at(t, number_for(c, x, alpha), c->where);
}

static gemel_value clipped(gemel__onnx_call *c, gemel_value x, double alpha, double beta) {
  return bounded(c, x, bound_of(c, x, alpha, -1), bound_of(c, x, beta, 1));
}

static const gemel__onnx_activation activations[] = {
    {"Affine", 2, {1, 0}, affine},
    {"Clip", 2, {0, 0}, clipped},
    {"Elu", 1, {1, 0}, elu},
    {"HardSigmoid", 2, {(double)0.2F, 0.5}, hard},
    {"LeakyRelu", 1, {(double)0.01F, 0}, leaky},
    {"Relu", 0, {0, 0}, relu_},
    {"ScaledTanh", 2, {1, 1}, scaled_tanh},
    {"Sigmoid", 0, {0, 0}, sigmoid_},
    {"Softplus", 0, {0, 0}, softplus_},
    {"Softsign", 0, {0, 0}, softsign_},
    {"Tanh", 0, {0, 0}, tanh_},
    {"ThresholdedRelu", 1, {1, 0}, thresholded},
};

const gemel__onnx_activation *gemel__onnx_activation_find(gemel__onnx_call *c,
                                                          gemel__wire_span name) {
  for (size_t k = 0; k < sizeof activations / sizeof *activations; k++) {
    if (gemel__wire_is(name, activations[k].name)) {
      return &activations[k];
    }
  }
  gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "the activation %.*s", (int)name.length,
                     (const char *)name.bytes);
  return NULL;
}

/* ---- Training only ---- */

/* What is run is a model that has been trained: nothing is dropped. */
gemel_value gemel__onnx_dropout(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  if (gemel__onnx_given(c, 2)) {
    gemel_tensor *training = gemel__onnx_known(c, 2);
    int on = training == NULL || *(const uint8_t *)gemel_tensor_data(training) != 0;
    gemel_tensor_unref(training);
    double ratio = 0.5;
    if (on && !(gemel__onnx_number(c, 1, &ratio) && ratio == 0)) {
      return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                                "training_mode, or one that isn't known, with a ratio above 0");
    }
  }
  if (c->n_outputs > 1) {
    gemel_value mask = gemel_ones_like(x); /* of x's dtype before opset 10 */
    c->outputs[1] = c->opset < 10 ? mask : gemel_cast_at(mask, GEMEL_BOOL, c->where);
  }
  return x;
}
