/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX on quantized numbers: an integer q stands for (q - zero point) scale. Scales
 * and zero points are one for all, one for each element of an axis, or one for each block along it.
 * Sums of products are of i32; what becomes an integer again is rounded to the nearest, of two the
 * even one, and limited by the cast.
 */
#include "onnx/model.h"
#include "onnx/operators.h"
#include "core/value.h"

/* ---- Scales and zero points ---- */

/* V, whose axis AXIS is one of blocks, with each element as often as a block is long, so that the
 * axis has the size of X's. */
static gemel_value repeated(gemel__onnx_call *c, gemel_value v, gemel_value x, int axis,
                            int64_t block) {
  gemel_dim apart[GEMEL_MAX_RANK + 1], shape[GEMEL_MAX_RANK], starts[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(v);
  if (rank >= GEMEL_MAX_RANK || block < 1) {
    return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "scales of %d axes and blocks of %lld", rank,
                              (long long)block);
  }
  gemel_dim size = gemel_dim_constant(c->context, block);
  for (int k = 0; k < rank; k++) {
    apart[k + (k > axis)] = shape[k] = gemel__onnx_dims(v)[k];
    starts[k] = gemel_dim_constant(c->context, 0);
  }
  apart[axis + 1] = size;
  shape[axis] = gemel_dim_mul(c->context, shape[axis], size);
  v = gemel_expand_dims_at(v, axis + 1, c->where);
  v = gemel_broadcast_to_at(v, (size_t)rank + 1, apart, c->where);
  v = gemel_reshape_at(v, (size_t)rank, shape, c->where);
  return gemel_subtensor_at(v, (size_t)rank, starts, (size_t)rank, gemel__onnx_dims(x), NULL,
                            c->where);
}

/* Input K, a scale or zero point, as what broadcasts with X. */
static gemel_value beside(gemel__onnx_call *c, size_t k, gemel_value x) {
  gemel_value v = gemel__onnx_input(c, k);
  int rank = gemel__onnx_rank(x), own = gemel__onnx_rank(v);
  int64_t order[GEMEL_MAX_RANK], one, block = gemel__onnx_int(c, "block_size", 0);
  if (own == 0 ||
      (own == 1 && gemel_dim_is_constant(c->context, gemel__onnx_dims(v)[0], &one) && one == 1)) {
    return gemel__onnx_scalar(c, v);
  }
  int axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", 1), rank);
  if (axis < 0 || (own != 1 && own != rank)) {
    return axis < 0 ? gemel__no_value
                    : gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "input %zu has %d axes", k, own);
  }
  if (own == rank && block > 0) {
    return repeated(c, v, x, axis, block);
  }
  for (int i = 0; i < rank; i++) {
    order[i] = i == axis ? 0 : -1;
  }
  return own == 1 ? gemel_dimshuffle_at(v, (size_t)rank, order, c->where) : v;
}

/* X as i32, less ZERO_POINT if that isn't null. */
static gemel_value less(gemel__onnx_call *c, gemel_value x, gemel_value zero_point) {
  gemel_value wide = gemel_cast_at(x, GEMEL_I32, c->where);
  return gemel_is_null(zero_point)
             ? wide
             : gemel_sub_at(wide, gemel_cast_at(zero_point, GEMEL_I32, c->where), c->where);
}

/* QUOTIENT, a float, rounded, with ZERO_POINT (or null), as DTYPE. */
static gemel_value rounded(gemel__onnx_call *c, gemel_value quotient, gemel_value zero_point,
                           gemel_dtype dtype) {
  gemel_value y = gemel_round_at(quotient, c->where);
  if (!gemel_is_null(zero_point)) {
    y = gemel_add_at(y, gemel_cast_at(zero_point, gemel__onnx_dtype_of(y), c->where), c->where);
  }
  return gemel_cast_at(y, dtype, c->where);
}

/* ---- One by one ---- */

/* The dtype that attribute "output_dtype" names, or FALLBACK: 1, or 0 and the graph's error. */
static int wanted_dtype(gemel__onnx_call *c, gemel_dtype fallback, gemel_dtype *dtype) {
  gemel_error error;
  int64_t number = gemel__onnx_int(c, "output_dtype", 0);
  *dtype = fallback;
  if (number != 0 && gemel__onnx_dtype(number, dtype, &error) != GEMEL_OK) {
    gemel__onnx_refuse(c, error.status, "%s", error.text);
    return 0;
  }
  return 1;
}

gemel_value gemel__onnx_quantize(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int has_zero = gemel__onnx_given(c, 2);
  gemel_dtype dtype;
  if (!wanted_dtype(c, has_zero ? gemel__onnx_dtype_of(gemel__onnx_input(c, 2)) : GEMEL_U8,
                    &dtype)) {
    return gemel__no_value;
  }
  gemel_value scale = gemel__onnx_widened(c, beside(c, 1, x));
  gemel_value wide = gemel_cast_at(x, gemel__onnx_dtype_of(scale), c->where);
  return rounded(c, gemel_div_at(wide, scale, c->where),
                 has_zero ? beside(c, 2, x) : gemel__no_value, dtype);
}

gemel_value gemel__onnx_dequantize(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), scale = beside(c, 1, x);
  gemel_dtype dtype;
  if (!wanted_dtype(c, gemel__onnx_dtype_of(scale), &dtype)) {
    return gemel__no_value;
  }
  gemel_value wide = gemel__onnx_widened(c, scale);
  gemel_value q = less(c, x, gemel__onnx_given(c, 2) ? beside(c, 2, x) : gemel__no_value);
  q = gemel_cast_at(q, gemel__onnx_dtype_of(wide), c->where);
  return gemel_cast_at(gemel_mul_at(q, wide, c->where), dtype, c->where);
}

/* To u8, by the range of x, which is to have 0 in it. */
gemel_value gemel__onnx_dynamic_quantize(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), zero = gemel_scalar_like_at(x, 0, c->where);
  gemel_value least = gemel_minimum_at(gemel_min_at(x, NULL, c->where), zero, c->where);
  gemel_value largest = gemel_maximum_at(gemel_max_at(x, NULL, c->where), zero, c->where);
  gemel_value range = gemel_sub_at(largest, least, c->where);
  gemel_value scale = gemel_div_at(range, gemel_scalar_like_at(x, 255, c->where), c->where);
  gemel_value point = rounded(c, gemel_div_at(gemel_neg_at(least, c->where), scale, c->where),
                              gemel__no_value, GEMEL_U8);
  if (c->n_outputs > 1) {
    c->outputs[1] = scale;
  }
  if (c->n_outputs > 2) {
    c->outputs[2] = point;
  }
  return rounded(c, gemel_div_at(x, scale, c->where), point, GEMEL_U8);
}

/* ---- Products ---- */

/* Input K, if it is given, one for all or, behind the axes that are summed over, for each row of a
 * matrix (ROWS) or for each column. */
static gemel_value of_matrix(gemel__onnx_call *c, size_t k, int rows) {
  gemel_value v = gemel__onnx_given(c, k) ? gemel__onnx_input(c, k) : gemel__no_value;
  int64_t one;
  if (gemel__onnx_rank(v) == 1 && gemel_dim_is_constant(c->context, gemel__onnx_dims(v)[0], &one) &&
      one == 1) {
    return gemel__onnx_scalar(c, v);
  }
  return rows && gemel__onnx_rank(v) == 1 ? gemel_expand_dims_at(v, 1, c->where) : v;
}

/* Input K, if it is given, one for all or for each filter, before AXES more axes. */
static gemel_value of_filters(gemel__onnx_call *c, size_t k, int axes) {
  int64_t order[GEMEL_MAX_RANK] = {0};
  gemel_value v = of_matrix(c, k, 0);
  for (int i = 1; i <= axes && i < GEMEL_MAX_RANK; i++) {
    order[i] = -1;
  }
  return gemel__onnx_rank(v) == 1 ? gemel_dimshuffle_at(v, (size_t)axes + 1, order, c->where) : v;
}

gemel_value gemel__onnx_matmul_integer(gemel__onnx_call *c) {
  gemel_value a = less(c, gemel__onnx_input(c, 0), of_matrix(c, 2, 1));
  return gemel_matmul_at(a, less(c, gemel__onnx_input(c, 1), of_matrix(c, 3, 0)), c->where);
}

gemel_value gemel__onnx_conv_integer(gemel__onnx_call *c) {
  gemel_value x = less(c, gemel__onnx_input(c, 0), of_matrix(c, 2, 0));
  gemel_value w = gemel__onnx_input(c, 1);
  return gemel__onnx_correlate(c, x, less(c, w, of_filters(c, 3, gemel__onnx_rank(w) - 1)));
}

/* SUM, of i32, in units of input Y: times FACTOR over the scale there, and with the zero point that
 * is the input behind it. */
static gemel_value requantized(gemel__onnx_call *c, gemel_value sum, gemel_value factor, size_t y) {
  gemel_value scale = gemel__onnx_widened(c, of_matrix(c, y, 0));
  gemel_value point = of_matrix(c, y + 1, 0);
  factor = gemel_div_at(factor, scale, c->where);
  sum = gemel_cast_at(sum, gemel__onnx_dtype_of(factor), c->where);
  return rounded(c, gemel_mul_at(sum, factor, c->where), point, gemel__onnx_dtype_of(point));
}

/* Inputs a, its scale and zero point, b, its own, and those of the result. */
gemel_value gemel__onnx_qlinear_matmul(gemel__onnx_call *c) {
  gemel_value a = less(c, gemel__onnx_input(c, 0), of_matrix(c, 2, 1));
  gemel_value b = less(c, gemel__onnx_input(c, 3), of_matrix(c, 5, 0));
  gemel_value factor = gemel_mul_at(gemel__onnx_widened(c, of_matrix(c, 1, 1)),
                                    gemel__onnx_widened(c, of_matrix(c, 4, 0)), c->where);
  return requantized(c, gemel_matmul_at(a, b, c->where), factor, 6);
}

/* As for the product; input 8 is a bias, of i32. */
gemel_value gemel__onnx_qlinear_conv(gemel__onnx_call *c) {
  gemel_value w = gemel__onnx_input(c, 3);
  int rank = gemel__onnx_rank(w);
  gemel_value x = less(c, gemel__onnx_input(c, 0), of_matrix(c, 2, 0));
  gemel_value sum = gemel__onnx_correlate(c, x, less(c, w, of_filters(c, 5, rank - 1)));
  gemel_value factor = gemel_mul_at(of_matrix(c, 1, 0), of_filters(c, 4, rank - 2), c->where);
  if (gemel__onnx_given(c, 8)) {
    sum = gemel_add_at(sum, of_filters(c, 8, rank - 2), c->where);
  }
  return requantized(c, sum, factor, 6);
}
