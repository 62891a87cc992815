/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that normalise: by a mean and a variance, by a norm, to a distribution.
 */
#include "onnx/model.h"
#include "onnx/operators.h"
#include "core/value.h"

/* Axes FROM to TO of a reduction that keeps them, in AXES. */
static gemel_sum_options over(int from, int to, int64_t *axes) {
  for (int k = from; k < to; k++) {
    axes[k - from] = k;
  }
  return (gemel_sum_options){.axes = {to > from ? (size_t)(to - from) : 0, axes}, .keepdims = 1};
}

static gemel_value add_number(gemel__onnx_call *c, gemel_value x, double number) {
  return gemel_add_at(x, gemel_scalar_like_at(x, number, c->where), c->where);
}

/* A value per channel, [C], as [C, 1, ...] for images of RANK axes. */
static gemel_value per_channel(gemel__onnx_call *c, gemel_value v, int rank) {
  int64_t order[GEMEL_MAX_RANK];
  for (int k = 1; k < rank; k++) {
    order[k] = -1;
  }
  order[0] = 0;
  return gemel_dimshuffle_at(v, rank > 1 ? (size_t)rank - 1 : 1, order, c->where);
}

/* (x - mean) / sqrt(variance + epsilon) */
static gemel_value standard(gemel__onnx_call *c, gemel_value x, gemel_value mean,
                            gemel_value variance, double epsilon) {
  gemel_value deviation = gemel_sqrt_at(add_number(c, variance, epsilon), c->where);
  return gemel_div_at(gemel_sub_at(x, mean, c->where), deviation, c->where);
}

static double epsilon_of(const gemel__onnx_call *c) {
  return gemel__onnx_float(c, "epsilon", (double)1e-5F);
}

gemel_value gemel__onnx_widened(gemel__onnx_call *c, gemel_value x) {
  int narrow = gemel_dtype_size(gemel__onnx_dtype_of(x)) < sizeof(float);
  return narrow ? gemel_cast_at(x, GEMEL_F32, c->where) : x;
}

/* ---- By statistics that are given, or of the operand ---- */

/* A running statistic: input K, moved towards OWN [1, C, 1...] of the batch. */
static gemel_value running(gemel__onnx_call *c, size_t k, gemel_value own) {
  static const int64_t channels[1] = {1};
  gemel_value before = gemel__onnx_input(c, k);
  double momentum = gemel__onnx_float(c, "momentum", (double)0.9F);
  gemel_value now = gemel_dimshuffle_at(own, 1, channels, c->where);
  gemel_value sum = gemel_add_at(
      gemel_mul_at(before, gemel_scalar_like_at(before, momentum, c->where), c->where),
      gemel_mul_at(now, gemel_scalar_like_at(now, 1 - momentum, c->where), c->where), c->where);
  return gemel_cast_at(sum, gemel__onnx_dtype_of(before), c->where);
}

/* By the statistics of the batch itself. */
static gemel_value training_batch(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), wide = gemel__onnx_widened(c, x);
  int rank = gemel__onnx_rank(x);
  int64_t axes[GEMEL_MAX_RANK] = {0};
  if (rank < 2) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes [N, C, ...]");
  }
  for (int k = 2; k < rank; k++) {
    axes[k - 1] = k;
  }
  gemel_sum_options all = {.axes = {(size_t)rank - 1, axes}, .keepdims = 1};
  gemel_var_options squares = {.size = sizeof squares, .axes = all.axes, .keepdims = 1};
  gemel_value mean = gemel_mean_at(wide, &all, c->where);
  gemel_value variance = gemel_var_at(wide, &squares, c->where);
  if (c->n_outputs > 1) {
    c->outputs[1] = running(c, 3, mean);
  }
  if (c->n_outputs > 2) {
    c->outputs[2] = running(c, 4, variance);
  }
  gemel_value normal = standard(c, wide, mean, variance, epsilon_of(c));
  gemel_value scaled =
      gemel_mul_at(normal, per_channel(c, gemel__onnx_input(c, 1), rank), c->where);
  return gemel_cast_at(
      gemel_add_at(scaled, per_channel(c, gemel__onnx_input(c, 2), rank), c->where),
      gemel__onnx_dtype_of(x), c->where);
}

gemel_value gemel__onnx_batch_normalization(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), per[4];
  int rank = gemel__onnx_rank(x);
  if (c->opset >= 14 && gemel__onnx_int(c, "training_mode", 0)) {
    return training_batch(c);
  }
  if ((c->opset < 7 && !gemel__onnx_int(c, "is_test", 0)) || (c->n_outputs > 1 && c->opset >= 14)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "training_mode");
  }
  for (size_t k = 0; k < 4; k++) {
    per[k] = per_channel(c, gemel__onnx_input(c, k + 1), rank);
  }
  /* One factor a channel, which a rule takes into the weights of a convolution before it. */
  gemel_value deviation = gemel_sqrt_at(add_number(c, per[3], epsilon_of(c)), c->where);
  gemel_value factor = gemel_div_at(per[0], deviation, c->where);
  gemel_value scaled = gemel_mul_at(gemel_sub_at(x, per[2], c->where), factor, c->where);
  return gemel_cast_at(gemel_add_at(scaled, per[1], c->where), gemel__onnx_dtype_of(x), c->where);
}

gemel_value gemel__onnx_instance_normalization(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), wide = gemel__onnx_widened(c, x);
  int rank = gemel__onnx_rank(x);
  int64_t axes[GEMEL_MAX_RANK];
  if (rank < 3) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes [N, C, D, ...]");
  }
  gemel_sum_options spatial = over(2, rank, axes);
  gemel_var_options squares = {.size = sizeof squares, .axes = spatial.axes, .keepdims = 1};
  gemel_value normal = standard(c, wide, gemel_mean_at(wide, &spatial, c->where),
                                gemel_var_at(wide, &squares, c->where), epsilon_of(c));
  normal = gemel_cast_at(normal, gemel__onnx_dtype_of(x), c->where);
  gemel_value scale = per_channel(c, gemel__onnx_input(c, 1), rank);
  gemel_value bias = per_channel(c, gemel__onnx_input(c, 2), rank);
  return gemel_add_at(gemel_mul_at(normal, scale, c->where), bias, c->where);
}

/* The axes of X from attribute "axis" on, in AXES: 1, or 0 and the error. */
static int from_axis(gemel__onnx_call *c, gemel_value x, int64_t *axes, gemel_sum_options *last) {
  int rank = gemel__onnx_rank(x), axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", -1), rank);
  if (axis < 0) {
    return 0;
  }
  *last = over(axis, rank, axes);
  return 1;
}

/* 1 and the DTYPE of statistics, which attribute "stash_type" numbers; or 0 and the error. */
static int dtype_of_statistics(gemel__onnx_call *c, gemel_dtype *dtype) {
  int64_t number = gemel__onnx_int(c, "stash_type", 1);
  gemel_error error;
  if (gemel__onnx_dtype(number, dtype, &error) != GEMEL_OK ||
      gemel_dtype_kind(*dtype) != GEMEL_KIND_FLOAT) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "stash_type %lld", (long long)number);
    return 0;
  }
  return 1;
}

/* X in DTYPE. */
static gemel_value as_dtype(gemel__onnx_call *c, gemel_value x, gemel_dtype dtype) {
  return gemel__onnx_dtype_of(x) == dtype ? x : gemel_cast_at(x, dtype, c->where);
}

gemel_value gemel__onnx_layer_normalization(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), wide = gemel__onnx_widened(c, x);
  int64_t axes[GEMEL_MAX_RANK];
  gemel_sum_options last;
  gemel_dtype dtype;
  if (!from_axis(c, x, axes, &last) || !dtype_of_statistics(c, &dtype)) {
    return gemel__no_value;
  }
  gemel_var_options squares = {.size = sizeof squares, .axes = last.axes, .keepdims = 1};
  gemel_value mean = gemel_mean_at(wide, &last, c->where);
  gemel_value variance = gemel_var_at(wide, &squares, c->where);
  gemel_value normal = gemel_cast_at(standard(c, wide, mean, variance, epsilon_of(c)),
                                     gemel__onnx_dtype_of(x), c->where);
  gemel_value y = gemel_mul_at(normal, gemel__onnx_input(c, 1), c->where);
  if (c->n_outputs > 1) {
    c->outputs[1] = as_dtype(c, mean, dtype);
  }
  if (c->n_outputs > 2) {
    gemel_value deviation = gemel_sqrt_at(add_number(c, variance, epsilon_of(c)), c->where);
    gemel_value one = gemel_scalar_like_at(deviation, 1, c->where);
    c->outputs[2] = as_dtype(c, gemel_div_at(one, deviation, c->where), dtype);
  }
  return gemel__onnx_given(c, 2) ? gemel_add_at(y, gemel__onnx_input(c, 2), c->where) : y;
}

gemel_value gemel__onnx_rms_normalization(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), wide = gemel__onnx_widened(c, x);
  int64_t axes[GEMEL_MAX_RANK];
  gemel_sum_options last;
  if (!from_axis(c, x, axes, &last)) {
    return gemel__no_value;
  }
  gemel_value mean = gemel_mean_at(gemel_sqr_at(wide, c->where), &last, c->where);
  gemel_value norm = gemel_sqrt_at(add_number(c, mean, epsilon_of(c)), c->where);
  gemel_value normal =
      gemel_cast_at(gemel_div_at(wide, norm, c->where), gemel__onnx_dtype_of(x), c->where);
  return gemel_mul_at(normal, gemel__onnx_input(c, 1), c->where);
}

/* Scale and bias are per group before opset 21, and per channel from there on. */
gemel_value gemel__onnx_group_normalization(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), wide = gemel__onnx_widened(c, x);
  int rank = gemel__onnx_rank(x);
  int64_t groups = gemel__onnx_int(c, "num_groups", 1), axes[GEMEL_MAX_RANK];
  gemel_dim parts[GEMEL_MAX_RANK + 1];
  if (rank < 3 || rank >= GEMEL_MAX_RANK || groups < 1) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes images and groups above 0");
  }
  const gemel_dim *dims = gemel__onnx_dims(x);
  parts[0] = dims[0];
  parts[1] = gemel_dim_constant(c->context, groups);
  parts[2] = gemel_dim_floordiv(c->context, dims[1], parts[1]);
  for (int k = 2; k < rank; k++) {
    parts[k + 1] = dims[k];
  }
  gemel_value grouped = gemel_reshape_at(wide, (size_t)rank + 1, parts, c->where);
  gemel_sum_options within = over(2, rank + 1, axes);
  gemel_var_options squares = {.size = sizeof squares, .axes = within.axes, .keepdims = 1};
  gemel_value normal = standard(c, grouped, gemel_mean_at(grouped, &within, c->where),
                                gemel_var_at(grouped, &squares, c->where), epsilon_of(c));
  int of_groups = c->opset < 21;
  normal = of_groups ? normal : gemel_reshape_at(normal, (size_t)rank, dims, c->where);
  normal = gemel_cast_at(normal, gemel__onnx_dtype_of(x), c->where);
  gemel_value scale = per_channel(c, gemel__onnx_input(c, 1), rank + of_groups);
  gemel_value bias = per_channel(c, gemel__onnx_input(c, 2), rank + of_groups);
  gemel_value y = gemel_add_at(gemel_mul_at(normal, scale, c->where), bias, c->where);
  return of_groups ? gemel_reshape_at(y, (size_t)rank, dims, c->where) : y;
}

gemel_value gemel__onnx_mean_variance(gemel__onnx_call *c) {
  static const int64_t usual[3] = {0, 2, 3};
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__int_list axes;
  int found = gemel__onnx_axes(c, 1, gemel__onnx_rank(x), &axes);
  if (found < 0) {
    return gemel__no_value;
  }
  gemel_ints list = found > 0 ? (gemel_ints){axes.count, axes.values} : (gemel_ints){3, usual};
  gemel_sum_options mean = {.axes = list, .keepdims = 1};
  gemel_value centred = gemel_sub_at(x, gemel_mean_at(x, &mean, c->where), c->where);
  gemel_value variance = gemel_mean_at(gemel_sqr_at(centred, c->where), &mean, c->where);
  return gemel_div_at(centred, add_number(c, gemel_sqrt_at(variance, c->where), 1e-9), c->where);
}

gemel_value gemel__onnx_lp_normalization(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", -1), gemel__onnx_rank(x));
  int64_t along = axis, p = gemel__onnx_int(c, "p", 2);
  if (axis < 0 || (p != 1 && p != 2)) {
    return axis < 0 ? gemel__no_value : gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "p must be 1 or 2");
  }
  gemel_sum_options sum = {.axes = {1, &along}, .keepdims = 1};
  gemel_value powers = p == 1 ? gemel_abs_at(x, c->where) : gemel_sqr_at(x, c->where);
  gemel_value norm = gemel_sum_at(powers, &sum, c->where);
  norm = p == 1 ? norm : gemel_sqrt_at(norm, c->where);
  gemel_value zero = gemel_scalar_like_at(x, 0, c->where);
  return gemel_where_at(gemel_eq_at(norm, zero, c->where), zero, gemel_div_at(x, norm, c->where),
                        c->where);
}

/* ---- To a distribution ---- */

/* 1 at the first largest element along AXIS, else 0. */
static gemel_value one_at_largest(gemel__onnx_call *c, gemel_value x, int axis) {
  int64_t order[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(x);
  gemel_value at = gemel_expand_dims_at(gemel_argmax_at(x, axis, c->where), axis, c->where);
  gemel_value places = gemel_arange_at(c->graph, gemel__onnx_dims(x)[axis], NULL, c->where);
  for (int k = 0; k < rank; k++) {
    order[k] = k == axis ? 0 : -1;
  }
  places = gemel_dimshuffle_at(places, (size_t)rank, order, c->where);
  return gemel_cast_at(gemel_eq_at(places, at, c->where), gemel__onnx_dtype_of(x), c->where);
}

/* log softmax: x - max - log(sum(exp(x - max))) */
gemel_value gemel__onnx_log_softmax(gemel__onnx_call *c, gemel_value x, int axis) {
  int64_t along = axis;
  gemel_max_options largest = {.axes = {1, &along}, .keepdims = 1};
  gemel_sum_options sum = {.axes = {1, &along}, .keepdims = 1};
  gemel_value shifted = gemel_sub_at(x, gemel_max_at(x, &largest, c->where), c->where);
  gemel_value total = gemel_sum_at(gemel_exp_at(shifted, c->where), &sum, c->where);
  return gemel_sub_at(shifted, gemel_log_at(total, c->where), c->where);
}

static gemel_value along_axis(gemel__onnx_call *c, gemel_value x, int axis) {
  return c->row->as[0] == 'l'   ? gemel__onnx_log_softmax(c, x, axis)
         : c->row->as[0] == 'h' ? one_at_largest(c, x, axis)
                                : gemel_softmax_at(x, axis, c->where);
}

/* Before opset 13 the axes from AXIS on are one. */
gemel_value gemel__onnx_softmax(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int rank = gemel__onnx_rank(x);
  int axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", c->opset < 13 ? 1 : -1), rank);
  if (axis < 0) {
    return gemel__no_value;
  }
  if (c->opset >= 13 || axis == rank - 1) {
    return along_axis(c, x, axis);
  }
  gemel_dim shape[2] = {gemel_dim_constant(c->context, 1), gemel_dim_constant(c->context, 1)};
  for (int k = 0; k < rank; k++) {
    gemel_dim *size = &shape[k >= axis];
    *size = gemel_dim_mul(c->context, *size, gemel__onnx_dims(x)[k]);
  }
  gemel_value flat = along_axis(c, gemel_reshape_at(x, 2, shape, c->where), 1);
  return gemel_reshape_at(flat, (size_t)rank, gemel__onnx_dims(x), c->where);
}
