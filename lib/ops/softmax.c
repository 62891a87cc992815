/* SPDX-License-Identifier: MIT
 *
 * softmax and cross_entropy along one axis. Kernels subtract the largest element first, so that exp
 * can't overflow, and go lane by lane: a lane is what lies along the axis. Half types are computed
 * in f32; sums of f32 are added up in f64.
 *
 * With s = softmax(x) and L = -sum(t log s): dL/dx = s sum(t) - t and dL/dt = -log s; for an
 * integer target t is its unit vector.
 */
#include <gemel/ops.h>
#include "core/error.h"
#include "core/value.h"
#include "ops/facts.h"
#include "ops/rule.h"
#include "ops/softmax.h"

/* ---- Type rules ---- */

static gemel_status check_logits(const gemel_infer *call, const gemel_attr *attr, int *axis) {
  int rank = gemel_type_rank(call->context, call->inputs[0]);
  if (gemel_dtype_kind(gemel__rule_dtype(call, 0)) != GEMEL_KIND_FLOAT) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "%s is no float dtype",
                            gemel_dtype_name(gemel__rule_dtype(call, 0)));
  }
  *axis = gemel__axis(attr->u.i, rank);
  if (*axis < 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %lld is out of range for rank %d",
                            (long long)attr->u.i, rank);
  }
  return GEMEL_OK;
}

static gemel_status infer_softmax(gemel_infer *call) {
  int rank, axis;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  gemel_status status = check_logits(call, &call->attrs[0], &axis);
  return status != GEMEL_OK ? status
                            : gemel__rule_result(call, gemel__rule_dtype(call, 0), rank, dims);
}

/* Checks the targets' dims against the logits' (DIMS; LEFT_OUT is the axis they lack, or -1). */
static gemel_status check_targets(const gemel_infer *call, int rank, const gemel_dim *dims,
                                  int left_out) {
  int target_rank, j = 0;
  const gemel_dim *targets = gemel__infer_dims(call, 1, &target_rank);
  if (target_rank != rank - (left_out >= 0)) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "targets of dtype %s must have rank %d",
                            gemel_dtype_name(gemel__rule_dtype(call, 1)), rank - (left_out >= 0));
  }
  for (int k = 0; k < rank; k++) {
    if (k == left_out) {
      continue;
    }
    if (gemel__dim_compare(call->context, dims[k], targets[j++]) == GEMEL__DIFFERENT) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "logits and targets differ along axis %d", k);
    }
  }
  return GEMEL_OK;
}

static gemel_status infer_cross_entropy(gemel_infer *call) {
  int rank, axis, count = 0;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  gemel_dim result[GEMEL_MAX_RANK];
  gemel_kind kind = gemel_dtype_kind(gemel__rule_dtype(call, 1));
  GEMEL__TRY(check_logits(call, &call->attrs[0], &axis));
  if (kind == GEMEL_KIND_BOOL) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "targets must be floats or integers");
  }
  if (kind == GEMEL_KIND_FLOAT) {
    GEMEL__TRY(gemel__rule_same_dtype(call, 0, 1));
  }
  GEMEL__TRY(check_targets(call, rank, dims, kind == GEMEL_KIND_FLOAT ? -1 : axis));
  for (int k = 0; k < rank; k++) {
    if (k != axis) {
      result[count++] = dims[k];
    }
  }
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), count, result);
}

/* ---- Derivatives ---- */

static gemel_value sum_along(gemel_value x, int64_t axis, int keepdims, gemel_location where) {
  return gemel_sum_at(x, &(gemel_sum_options){.axes = {1, &axis}, .keepdims = keepdims}, where);
}

/* s (v - sum(s v)): both the gradient and the forward derivative, since the Jacobian is symmetric.
 */
static gemel_value softmax_product(const gemel_derive *call, gemel_value v) {
  int64_t axis = call->attrs[0].u.i;
  gemel_value s = call->outputs[0];
  gemel_value mean = sum_along(gemel_mul_at(s, v, call->where), axis, 1, call->where);
  return gemel_mul_at(s, gemel_sub_at(v, mean, call->where), call->where);
}

static gemel_status grad_softmax(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = gemel_is_null(g) ? gemel__no_value : softmax_product(call, g);
  return gemel__grad_done(call);
}

static gemel_status jvp_softmax(gemel_derive *call) {
  call->d_outputs[0] = softmax_product(call, call->d_inputs[0]);
  return gemel__jvp_done(call);
}

/* X, which lacks AXIS, with that axis of size 1. */
static gemel_value with_axis(gemel_value x, int axis, gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  int rank;
  if (gemel_is_null(x)) {
    return x;
  }
  gemel__value_dims(x, &rank);
  for (int k = 0; k <= rank; k++) {
    order[k] = k == axis ? -1 : k < axis ? k : k - 1;
  }
  return gemel_dimshuffle_at(x, (size_t)rank + 1, order, where);
}

typedef struct loss {
  gemel_value logits, targets;
  int axis, by_index;
  gemel_location where;
} loss;

static loss loss_of(const gemel_derive *call) {
  gemel_dtype dtype = gemel__value_dtype(call->inputs[1]);
  loss l = {call->inputs[0], call->inputs[1], 0, 0, call->where};
  int rank;
  gemel__value_dims(l.logits, &rank);
  l.axis = gemel__axis(call->attrs[0].u.i, rank);
  l.by_index = gemel_dtype_kind(dtype) != GEMEL_KIND_FLOAT;
  return l;
}

/* Unit vectors along the axis, in the logits' dtype, for integer targets. */
static gemel_value unit_vectors(const loss *l) {
  int rank;
  const gemel_dim *dims = gemel__value_dims(l->logits, &rank);
  gemel_dtype dtype = gemel__value_dtype(l->logits);
  int64_t order[GEMEL_MAX_RANK];
  gemel_value index = gemel_arange_at(l->logits.graph, dims[l->axis], NULL, l->where);
  gemel_value target = gemel_cast_at(l->targets, GEMEL_I64, l->where);
  for (int k = 0; k < rank; k++) {
    order[k] = k == l->axis ? 0 : -1;
  }
  index = gemel_dimshuffle_at(index, (size_t)rank, order, l->where);
  target = with_axis(target, l->axis, l->where);
  return gemel_cast_at(gemel_eq_at(target, index, l->where), dtype, l->where);
}

/* dL/dx for a cotangent of ones. */
static gemel_value slope_of_logits(const loss *l) {
  gemel_value s = gemel_softmax_at(l->logits, l->axis, l->where);
  if (l->by_index) {
    return gemel_sub_at(s, unit_vectors(l), l->where);
  }
  s = gemel_mul_at(s, sum_along(l->targets, l->axis, 1, l->where), l->where);
  return gemel_sub_at(s, l->targets, l->where);
}

/* -log softmax(x) = (m - x) + log(sum(exp(x - m))), m the largest. There is none along an empty
 * axis, where there is nothing to compute either. */
static gemel_value slope_of_targets(const loss *l) {
  int rank;
  const gemel_dim *dims = gemel__value_dims(l->logits, &rank);
  int64_t axis = l->axis, size;
  if (gemel_dim_is_constant(gemel_graph_context(l->logits.graph), dims[axis], &size) && size == 0) {
    return gemel__filled_like(l->logits, 0, l->where);
  }
  gemel_value m =
      gemel_max_at(l->logits, &(gemel_max_options){.axes = {1, &axis}, .keepdims = 1}, l->where);
  gemel_value total =
      sum_along(gemel_exp_at(gemel_sub_at(l->logits, m, l->where), l->where), axis, 1, l->where);
  return gemel_add_at(gemel_sub_at(m, l->logits, l->where), gemel_log_at(total, l->where),
                      l->where);
}

static gemel_status grad_cross_entropy(gemel_derive *call) {
  loss l = loss_of(call);
  gemel_value g = with_axis(call->d_outputs[0], l.axis, call->where);
  call->d_inputs[0] = call->d_inputs[1] = gemel__no_value;
  if (!gemel_is_null(g) && call->wanted[0]) {
    call->d_inputs[0] = gemel_mul_at(g, slope_of_logits(&l), call->where);
  }
  if (!gemel_is_null(g) && call->wanted[1] && !l.by_index) {
    call->d_inputs[1] = gemel_mul_at(g, slope_of_targets(&l), call->where);
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_cross_entropy(gemel_derive *call) {
  loss l = loss_of(call);
  gemel_value x = call->d_inputs[0], t = call->d_inputs[1], result = gemel__no_value;
  if (!gemel_is_null(x)) {
    x = gemel_mul_at(x, slope_of_logits(&l), call->where);
    result = sum_along(x, l.axis, 0, call->where);
  }
  if (!gemel_is_null(t) && !l.by_index) {
    t = gemel_mul_at(t, slope_of_targets(&l), call->where);
    result = gemel__add_or(result, sum_along(t, l.axis, 0, call->where), call->where);
  }
  call->d_outputs[0] = result;
  return gemel__jvp_done(call);
}

/* ---- Kernels ---- */

static gemel_status run_softmax(const gemel_kernel_call *call) {
  int axis = gemel__axis(call->attrs[0].u.i, call->inputs[0].rank);
  gemel__softmax_run(&call->inputs[0], &call->outputs[0], axis, call->threads);
  return GEMEL_OK;
}

static gemel_status run_cross_entropy(const gemel_kernel_call *call) {
  const gemel_view *logits = &call->inputs[0], *targets = &call->inputs[1];
  int axis = gemel__axis(call->attrs[0].u.i, logits->rank);
  int64_t lane, target;
  if (gemel_dtype_kind(targets->dtype) == GEMEL_KIND_FLOAT) {
    gemel__softmax_loss(logits, targets, &call->outputs[0], axis, call->threads);
    return GEMEL_OK;
  }
  if (!gemel__targets_fit(targets, logits->shape[axis], &lane, &target)) {
    return gemel__fail(call->error, GEMEL_BAD_VALUE,
                       "target %lld (element %lld) is outside 0..%lld", (long long)target,
                       (long long)lane, (long long)logits->shape[axis] - 1);
  }
  gemel__softmax_index_loss(logits, targets, &call->outputs[0], axis, call->threads);
  return GEMEL_OK;
}

/* An exp counts as ten. */
static void cost_lanes(const gemel_kernel_call *call, double *flops, double *bytes) {
  double elements = (double)gemel__view_elements(&call->inputs[0]);
  *flops = 14 * elements;
  *bytes = 0;
  for (size_t k = 0; k < call->n_inputs; k++) {
    *bytes +=
        (double)gemel__view_elements(&call->inputs[k]) * (double)gemel__view_item(&call->inputs[k]);
  }
  *bytes +=
      (double)gemel__view_elements(&call->outputs[0]) * (double)gemel__view_item(&call->outputs[0]);
}

static const gemel_kernel softmax_kernels[] = {{"plain", NULL, run_softmax}, {NULL, NULL, NULL}};
static const gemel_kernel loss_kernels[] = {{"plain", NULL, run_cross_entropy}, {NULL, NULL, NULL}};

static gemel_status normalize_axis(gemel_normalize *call) {
  gemel__normal_axis(call, 0);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_softmax = {.infer = infer_softmax,
                                           .grad = grad_softmax,
                                           .jvp = jvp_softmax,
                                           .kernels = softmax_kernels,
                                           .cost = cost_lanes,
                                           .normalize = normalize_axis,
                                           .facts = gemel__facts_nonnegative};
const gemel__hooks gemel__hooks_cross_entropy = {.infer = infer_cross_entropy,
                                                 .grad = grad_cross_entropy,
                                                 .jvp = jvp_cross_entropy,
                                                 .kernels = loss_kernels,
                                                 .cost = cost_lanes,
                                                 .normalize = normalize_axis};
