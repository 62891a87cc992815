/* SPDX-License-Identifier: MIT
 *
 * Losses of ONNX by class numbers, and one-hot rows. A class is picked by comparing all class
 * numbers with the target and adding up what is left, so that a gradient passes as it should, and a
 * target outside of the classes picks nothing.
 */
#include "onnx/operators.h"
#include "core/value.h"

/* The numbers 0, 1, ... of X's axis AXIS, along that axis of RANK. */
static gemel_value class_numbers(gemel__onnx_call *c, gemel_dim n, int axis, int rank) {
  int64_t order[GEMEL_MAX_RANK];
  for (int k = 0; k < rank; k++) {
    order[k] = k == axis ? 0 : -1;
  }
  return gemel_dimshuffle_at(gemel_arange_at(c->graph, n, NULL, c->where), (size_t)rank, order,
                             c->where);
}

/* Of each place the element of X (or of its axis 1 alone, [C]) whose class TARGET names. */
static gemel_value pick(gemel__onnx_call *c, gemel_value x, gemel_value target, gemel_value like) {
  int64_t axis = 1, order[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(like);
  gemel_sum_options over = {.axes = {1, &axis}};
  gemel_value numbers = class_numbers(c, gemel__onnx_dims(like)[1], 1, rank);
  gemel_value is_it = gemel_eq_at(numbers, gemel_expand_dims_at(target, 1, c->where), c->where);
  for (int k = 0; k < rank; k++) {
    order[k] = k == 1 ? 0 : -1;
  }
  gemel_value all =
      gemel__onnx_rank(x) == 1 ? gemel_dimshuffle_at(x, (size_t)rank, order, c->where) : x;
  gemel_value chosen = gemel_where_at(is_it, all, gemel_scalar_like_at(x, 0, c->where), c->where);
  return gemel_sum_at(chosen, &over, c->where);
}

/* What each place counts: its class' weight (input 2), 1 without weights, 0 where it is ignored;
 * null if all count 1. */
static gemel_value weights_of(gemel__onnx_call *c, gemel_value x, gemel_value target) {
  gemel_value weights =
      gemel__onnx_given(c, 2) ? pick(c, gemel__onnx_input(c, 2), target, x) : gemel__no_value;
  if (gemel__onnx_attribute(c, "ignore_index").bytes == NULL) {
    return weights;
  }
  gemel_value ignored =
      gemel_scalar_like_at(target, (double)gemel__onnx_int(c, "ignore_index", 0), c->where);
  gemel_value is_ignored = gemel_eq_at(target, ignored, c->where);
  return gemel_where_at(is_ignored, gemel_scalar_like_at(x, 0, c->where),
                        gemel_is_null(weights) ? gemel_scalar_like_at(x, 1, c->where) : weights,
                        c->where);
}

/* The loss of LOG_PROBABILITIES [N, C, ...] at TARGET [N, ...], reduced as the attribute says. */
static gemel_value likelihood_loss(gemel__onnx_call *c, gemel_value log_probabilities,
                                   gemel_value target) {
  gemel__wire_span reduction = gemel__onnx_text(c, "reduction");
  if (!gemel__onnx_is_one_of(c, "reduction", "none mean sum")) {
    return gemel__no_value;
  }
  if (gemel__onnx_rank(log_probabilities) < 2 ||
      gemel__onnx_rank(log_probabilities) != gemel__onnx_rank(target) + 1) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                              "it takes [N, C, ...] and class numbers [N, ...]");
  }
  gemel_value loss = gemel_neg_at(pick(c, log_probabilities, target, log_probabilities), c->where);
  gemel_value weights = weights_of(c, log_probabilities, target);
  gemel_value zero = gemel_scalar_like_at(log_probabilities, 0, c->where);
  if (!gemel_is_null(weights)) {
    gemel_value counts = gemel_eq_at(weights, zero, c->where);
    loss = gemel_where_at(counts, zero, gemel_mul_at(loss, weights, c->where), c->where);
  }
  if (gemel__wire_is(reduction, "none")) {
    return loss;
  }
  gemel_value sum = gemel_sum_at(loss, NULL, c->where);
  if (gemel__wire_is(reduction, "sum")) {
    return sum;
  }
  return gemel_is_null(weights)
             ? gemel_mean_at(loss, NULL, c->where)
             : gemel_div_at(sum, gemel_sum_at(weights, NULL, c->where), c->where);
}

gemel_value gemel__onnx_likelihood_loss(gemel__onnx_call *c) {
  return likelihood_loss(c, gemel__onnx_input(c, 0), gemel__onnx_input(c, 1));
}

gemel_value gemel__onnx_cross_entropy_loss(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  if (gemel__onnx_rank(x) < 2) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes scores [N, C, ...]");
  }
  gemel_value log_probabilities = gemel__onnx_log_softmax(c, x, 1);
  if (c->n_outputs > 1) {
    c->outputs[1] = log_probabilities;
  }
  return likelihood_loss(c, log_probabilities, gemel__onnx_input(c, 1));
}

/* Input 1, the number of classes, which may be a float; GEMEL_DIM_NONE if it isn't known. */
static gemel_dim depth_of(gemel__onnx_call *c) {
  const gemel__sizes *sizes = gemel__onnx_sizes(c, 1);
  gemel_dim depth = sizes != NULL && sizes->count == 1 ? sizes->dims[0] : GEMEL_DIM_NONE;
  double n;
  if (sizes == NULL && gemel__onnx_number(c, 1, &n) && n >= 0 && n <= INT32_MAX) {
    depth = gemel_dim_constant(c->context, (int64_t)n);
  }
  return depth;
}

/* VALUES[1] where the number of a class is the index, VALUES[0] elsewhere; indices below 0 count
 * from the end. */
gemel_value gemel__onnx_one_hot(gemel__onnx_call *c) {
  gemel_value indices = gemel__onnx_input(c, 0), values = gemel__onnx_input(c, 2);
  gemel_dim depth = depth_of(c);
  int rank = gemel__onnx_rank(indices) + 1;
  int axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", -1), rank);
  if (axis < 0) {
    return gemel__no_value;
  }
  if (gemel_dim_is_none(depth) || rank > GEMEL_MAX_RANK) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a depth that isn't known");
  }
  gemel_value whole = gemel_cast_at(indices, GEMEL_I64, c->where);
  gemel_value n = gemel_size_at(c->graph, depth, c->where);
  gemel_value below = gemel_lt_at(whole, gemel_scalar_like_at(whole, 0, c->where), c->where);
  whole = gemel_where_at(below, gemel_add_at(whole, n, c->where), whole, c->where);
  gemel_value is_it = gemel_eq_at(class_numbers(c, depth, axis, rank),
                                  gemel_expand_dims_at(whole, axis, c->where), c->where);
  return gemel_where_at(is_it, gemel_index_at(values, 0, 1, c->where),
                        gemel_index_at(values, 0, 0, c->where), c->where);
}
