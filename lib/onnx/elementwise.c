/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that work element by element, on any number of inputs, or otherwise for inputs
 * that are known.
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

/* ---- Of many operands ---- */

/* Input K, which has the dtype of input 0. */
static gemel_value input_alike(gemel__onnx_call *c, size_t k) {
  gemel_value first = gemel__onnx_input(c, 0), x = gemel__onnx_input(c, k);
  return gemel_is_null(first) || gemel_is_null(x) ||
                 gemel__onnx_dtype_of(first) == gemel__onnx_dtype_of(x)
             ? x
             : gemel__onnx_refuse(c, GEMEL_BAD_TYPE, "operands of two dtypes");
}

/* One after the other, from the left. */
gemel_value gemel__onnx_variadic(gemel__onnx_call *c) {
  gemel_value all = gemel__onnx_input(c, 0);
  for (size_t k = 1; k < c->n_inputs; k++) {
    gemel_value pair[2] = {all, input_alike(c, k)};
    all = gemel_apply_at(c->graph, c->row->as, 2, pair, 0, NULL, c->where);
  }
  return all;
}

gemel_value gemel__onnx_mean_of(gemel__onnx_call *c) {
  gemel_value sum = gemel__onnx_input(c, 0);
  for (size_t k = 1; k < c->n_inputs; k++) {
    sum = gemel_add_at(sum, input_alike(c, k), c->where);
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

/* ---- Clip ---- */

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

/* Input K, which is to be one number. */
static gemel_value scalar_input(gemel__onnx_call *c, size_t k) {
  gemel_value value = gemel__onnx_input(c, k);
  int64_t size = 1;
  int rank = gemel_is_null(value) ? 0 : gemel__onnx_rank(value);
  if (rank > 1 ||
      (rank == 1 &&
       (!gemel_dim_is_constant(c->context, gemel__onnx_dims(value)[0], &size) || size != 1))) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "input %zu is no scalar", k + 1);
  }
  return rank == 1 ? gemel_reshape_at(value, 0, NULL, c->where) : value;
}

/* Limits are attributes before opset 11. One of floats that is left out is the largest finite
 * number, one of integers none. */
static clip_bound limit(gemel__onnx_call *c, gemel_value x, size_t k, const char *name, int sign) {
  clip_bound none = {gemel__no_value, 0};
  double number;
  if (c->opset >= 11 && gemel__onnx_given(c, k)) {
    clip_bound given = {scalar_input(c, k), 0};
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

gemel_value gemel__onnx_clip_to(gemel__onnx_call *c, gemel_value x, double low, double high) {
  return bounded(c, x, bound_of(c, x, low, -1), bound_of(c, x, high, 1));
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
