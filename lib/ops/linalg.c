/* SPDX-License-Identifier: MIT
 *
 * dot: sums of products over contracted axes for each index of the batch axes. The axes of each
 * operand fall into three groups, batch, free and contracted; the result's are batch, free of x,
 * free of y. Its gradients are dots again, with the axes put back in order. dot_add is the same
 * with a third operand, of the product's type, added. How both are computed is in linalg-kernel.c.
 */
#include "ops/linalg.h"

#include <string.h>
#include "core/error.h"
#include "core/value.h"
#include <gemel/ops.h>
#include "ops/batch.h"
#include "ops/rule.h"

enum { CONTRACT_X, CONTRACT_Y, BATCH_X, BATCH_Y };

/* ---- Axes ---- */

static int explicit_axes(const gemel_attr *attrs) {
  for (int k = 0; k < 4; k++) {
    if (attrs[k].kind != GEMEL_ATTR_NONE) {
      return 1;
    }
  }
  return 0;
}

static int list_axes(const gemel_attr *attr, int rank, int *axes) {
  int count = (int)gemel__attr_count(attr);
  for (int k = 0; k < count; k++) {
    axes[k] = gemel__axis(attr->u.ints[k], rank);
  }
  return count;
}

/* The matrix product: the last axis of x against the last but one of y (the only one of a vector),
 * all before them batch axes. */
static void matmul_axes(gemel__dot_axes *axes, const int *rank) {
  axes->n_batch = rank[0] > 2 ? rank[0] - 2 : 0;
  axes->n_contract = 1;
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < axes->n_batch; k++) {
      axes->batch[side][k] = k;
    }
  }
  axes->contract[0][0] = rank[0] - 1;
  axes->contract[1][0] = rank[1] == 1 ? 0 : rank[1] - 2;
}

void gemel__dot_axes_of(const gemel_attr *attrs, int x_rank, int y_rank, gemel__dot_axes *axes) {
  int rank[2] = {x_rank, y_rank};
  if (explicit_axes(attrs)) {
    axes->n_contract = list_axes(&attrs[CONTRACT_X], x_rank, axes->contract[0]);
    list_axes(&attrs[CONTRACT_Y], y_rank, axes->contract[1]);
    axes->n_batch = list_axes(&attrs[BATCH_X], x_rank, axes->batch[0]);
    list_axes(&attrs[BATCH_Y], y_rank, axes->batch[1]);
  } else {
    matmul_axes(axes, rank);
  }
  for (int side = 0; side < 2; side++) {
    unsigned char used[GEMEL_MAX_RANK] = {0};
    for (int k = 0; k < axes->n_batch; k++) {
      used[axes->batch[side][k]] = 1;
    }
    for (int k = 0; k < axes->n_contract; k++) {
      used[axes->contract[side][k]] = 1;
    }
    axes->n_free[side] = 0;
    for (int k = 0; k < rank[side]; k++) {
      if (!used[k]) {
        axes->free[side][axes->n_free[side]++] = k;
      }
    }
  }
}

/* ---- Type rule ---- */

static gemel_status check_lists(const gemel_infer *call, const int *rank) {
  unsigned char used[2][GEMEL_MAX_RANK] = {{0}};
  int scratch[GEMEL_MAX_RANK];
  for (int k = 0; k < 4; k++) {
    gemel_status status =
        gemel__rule_axes(call, &call->attrs[k], rank[k % 2], scratch, used[k % 2]);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  for (int k = 0; k < 4; k += 2) {
    size_t x = gemel__attr_count(&call->attrs[k]), y = gemel__attr_count(&call->attrs[k + 1]);
    if (x != y) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s has %zu axes and %s %zu",
                              call->attrs[k].name, x, call->attrs[k + 1].name, y);
    }
  }
  return GEMEL_OK;
}

/* 1 where the matrix product isn't defined. */
static int ambiguous(int x_rank, int y_rank) {
  return x_rank == 0 || y_rank == 0 || ((x_rank > 2 || y_rank > 2) && x_rank != y_rank);
}

static gemel_status check_matmul(const gemel_infer *call, const int *rank) {
  if (rank[0] == 0 || rank[1] == 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "a scalar has no axis to sum over");
  }
  if (ambiguous(rank[0], rank[1])) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "the matrix product of ranks %d and %d is ambiguous: give contract_x "
                            "and contract_y",
                            rank[0], rank[1]);
  }
  return GEMEL_OK;
}

/* Checks that axis A of x and B of y have one size, as far as that can be told. */
static gemel_status check_pair(const gemel_infer *call, const char *what, int a, int b) {
  int rank;
  gemel_dim x = gemel__infer_dims(call, 0, &rank)[a], y = gemel__infer_dims(call, 1, &rank)[b];
  char x_text[128], y_text[128];
  if (gemel__dim_compare(call->context, x, y) != GEMEL__DIFFERENT) {
    return GEMEL_OK;
  }
  gemel_dim_format(call->context, x, x_text, sizeof x_text);
  gemel_dim_format(call->context, y, y_text, sizeof y_text);
  return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s axis %d of x has size %s, axis %d of y has %s",
                          what, a, x_text, b, y_text);
}

static gemel_status check_sizes(const gemel_infer *call, const gemel__dot_axes *axes) {
  for (int k = 0; k < axes->n_batch; k++) {
    GEMEL__TRY(check_pair(call, "batch", axes->batch[0][k], axes->batch[1][k]));
  }
  for (int k = 0; k < axes->n_contract; k++) {
    GEMEL__TRY(check_pair(call, "contracted", axes->contract[0][k], axes->contract[1][k]));
  }
  return GEMEL_OK;
}

/* The shape of the product: COUNT dims in RESULT, room for 2 * GEMEL_MAX_RANK. */
static gemel_status infer_product(gemel_infer *call, int *count, gemel_dim *result) {
  int rank[2];
  const gemel_dim *dims[2] = {gemel__infer_dims(call, 0, &rank[0]),
                              gemel__infer_dims(call, 1, &rank[1])};
  gemel__dot_axes axes;
  *count = 0;
  GEMEL__TRY(gemel__rule_same_dtype(call, 0, 1));
  GEMEL__TRY(explicit_axes(call->attrs) ? check_lists(call, rank) : check_matmul(call, rank));
  gemel__dot_axes_of(call->attrs, rank[0], rank[1], &axes);
  GEMEL__TRY(check_sizes(call, &axes));
  for (int k = 0; k < axes.n_batch; k++) {
    result[(*count)++] = dims[0][axes.batch[0][k]];
  }
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < axes.n_free[side]; k++) {
      result[(*count)++] = dims[side][axes.free[side][k]];
    }
  }
  return GEMEL_OK;
}

static gemel_status infer_dot(gemel_infer *call) {
  gemel_dim result[2 * GEMEL_MAX_RANK];
  int count;
  GEMEL__TRY(infer_product(call, &count, result));
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), count, result);
}

static gemel_status infer_dot_add(gemel_infer *call) {
  gemel_dim result[2 * GEMEL_MAX_RANK];
  int count, rank;
  const gemel_dim *z = gemel__infer_dims(call, 2, &rank);
  GEMEL__TRY(infer_product(call, &count, result));
  GEMEL__TRY(gemel__rule_same_dtype(call, 0, 2));
  if (rank != count) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "the product has rank %d, and z has rank %d",
                            count, rank);
  }
  for (int k = 0; k < count; k++) {
    if (gemel__dim_compare(call->context, z[k], result[k]) == GEMEL__DIFFERENT) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                              "axis %d of z has another size than the product's", k);
    }
  }
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), count, result);
}

/* ---- Derivatives ---- */

typedef struct axis_list {
  size_t count;
  int64_t axes[GEMEL_MAX_RANK];
} axis_list;

static axis_list list_of(int count, const int *axes) {
  axis_list list = {(size_t)count, {0}};
  for (int k = 0; k < count; k++) {
    list.axes[k] = axes[k];
  }
  return list;
}

static axis_list range(int from, int count) {
  axis_list list = {(size_t)count, {0}};
  for (int k = 0; k < count; k++) {
    list.axes[k] = from + k;
  }
  return list;
}

static gemel_value dot_over(gemel_value x, gemel_value y, axis_list contract_x,
                            axis_list contract_y, axis_list batch_x, axis_list batch_y,
                            gemel_location where) {
  return gemel_dot_at(x, y,
                      &(gemel_dot_options){.contract_x = {contract_x.count, contract_x.axes},
                                           .contract_y = {contract_y.count, contract_y.axes},
                                           .batch_x = {batch_x.count, batch_x.axes},
                                           .batch_y = {batch_y.count, batch_y.axes}},
                      where);
}

/* How many of the contracted axes of SIDE come before AXIS. */
static int contracted_before(const gemel__dot_axes *axes, int side, int axis) {
  int count = 0;
  for (int k = 0; k < axes->n_contract; k++) {
    count += axes->contract[side][k] < axis;
  }
  return count;
}

/* Puts the axes of VALUE in the order of operand SIDE. Place FREE_AT holds the first of its free
 * axes, CONTRACT_AT that of its contracted ones, which stand in the order that they have in the
 * other operand. */
static gemel_value in_order(const gemel__dot_axes *axes, int side, gemel_value value, int free_at,
                            int contract_at, gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  int rank = axes->n_batch + axes->n_contract + axes->n_free[side], moved = 0;
  for (int k = 0; k < axes->n_batch; k++) {
    order[axes->batch[side][k]] = k;
  }
  for (int k = 0; k < axes->n_free[side]; k++) {
    order[axes->free[side][k]] = free_at + k;
  }
  for (int k = 0; k < axes->n_contract; k++) {
    order[axes->contract[side][k]] =
        contract_at + contracted_before(axes, !side, axes->contract[!side][k]);
  }
  for (int k = 0; k < rank; k++) {
    moved |= order[k] != k;
  }
  return moved && !gemel_is_null(value) ? gemel_dimshuffle_at(value, (size_t)rank, order, where)
                                        : value;
}

static gemel_status grad_dot(gemel_derive *call) {
  gemel__dot_axes axes;
  gemel_value g = call->d_outputs[0], x = call->inputs[0], y = call->inputs[1];
  int x_rank, y_rank, n_batch, free_x, free_y;
  gemel__value_dims(x, &x_rank);
  gemel__value_dims(y, &y_rank);
  gemel__dot_axes_of(call->attrs, x_rank, y_rank, &axes);
  n_batch = axes.n_batch, free_x = axes.n_free[0], free_y = axes.n_free[1];
  call->d_inputs[0] = call->d_inputs[1] = gemel__no_value;
  if (gemel_is_null(g)) {
    return GEMEL_OK;
  }
  if (call->wanted[0]) { /* axes: batch, free of x, contracted of y */
    gemel_value back =
        dot_over(g, y, range(n_batch + free_x, free_y), list_of(free_y, axes.free[1]),
                 range(0, n_batch), list_of(n_batch, axes.batch[1]), call->where);
    call->d_inputs[0] = in_order(&axes, 0, back, n_batch, n_batch + free_x, call->where);
  }
  if (call->wanted[1]) { /* axes: batch, contracted of x, free of y */
    gemel_value back = dot_over(x, g, list_of(free_x, axes.free[0]), range(n_batch, free_x),
                                list_of(n_batch, axes.batch[0]), range(0, n_batch), call->where);
    call->d_inputs[1] = in_order(&axes, 1, back, n_batch + axes.n_contract, n_batch, call->where);
  }
  return gemel__grad_done(call);
}

static gemel_status grad_dot_add(gemel_derive *call) {
  gemel_status status = grad_dot(call);
  call->d_inputs[2] = call->wanted[2] ? call->d_outputs[0] : gemel__no_value;
  return status;
}

static gemel_value same_dot(const gemel_derive *call, gemel_value x, gemel_value y) {
  gemel_value inputs[2] = {x, y};
  gemel_attr given[4];
  size_t count = 0;
  for (int k = 0; k < 4; k++) {
    if (call->attrs[k].kind != GEMEL_ATTR_NONE) {
      given[count++] = call->attrs[k];
    }
  }
  if (gemel_is_null(x) || gemel_is_null(y)) {
    return gemel__no_value;
  }
  return gemel_apply_at(call->graph, "dot", 2, inputs, count, given, call->where);
}

static gemel_status jvp_dot(gemel_derive *call) {
  gemel_value left = same_dot(call, call->d_inputs[0], call->inputs[1]);
  gemel_value right = same_dot(call, call->inputs[0], call->d_inputs[1]);
  call->d_outputs[0] = gemel__add_or(left, right, call->where);
  return gemel__jvp_done(call);
}

static gemel_status jvp_dot_add(gemel_derive *call) {
  gemel_status status = jvp_dot(call);
  call->d_outputs[0] = gemel__add_or(call->d_outputs[0], call->d_inputs[2], call->where);
  return status == GEMEL_OK ? gemel__jvp_done(call) : status;
}

/* ---- Normal form ---- */

static void spell_out(gemel_normalize *call, size_t k, int count, const int *axes) {
  int64_t *list = gemel__normal_ints(call, k, (size_t)count);
  for (int i = 0; list != NULL && i < count; i++) {
    list[i] = axes[i];
  }
}

/* All four lists, counted from the front. The order of contracted pairs stays: it is that in which
 * products are added up; that of batch axes is the result's. */
static gemel_status normalize_dot(gemel_normalize *call) {
  int x_rank = gemel_type_rank(call->context, call->inputs[0]);
  int y_rank = gemel_type_rank(call->context, call->inputs[1]);
  gemel__dot_axes axes;
  if (explicit_axes(call->attrs)) {
    for (size_t k = 0; k < 4; k++) {
      gemel__normal_axes(call, k, k % 2, 0);
      if (call->attrs[k].kind == GEMEL_ATTR_NONE) {
        spell_out(call, k, 0, NULL);
      }
    }
  } else if (!ambiguous(x_rank, y_rank)) {
    gemel__dot_axes_of(call->attrs, x_rank, y_rank, &axes);
    spell_out(call, CONTRACT_X, axes.n_contract, axes.contract[0]);
    spell_out(call, CONTRACT_Y, axes.n_contract, axes.contract[1]);
    spell_out(call, BATCH_X, axes.n_batch, axes.batch[0]);
    spell_out(call, BATCH_Y, axes.n_batch, axes.batch[1]);
  }
  return GEMEL_OK;
}

/* ---- All rows at once ---- */

/* AXES of an operand moved behind that of the rows, which comes before them if PAIRED. */
static size_t shift_axes(const int *axes, int count, int by, int paired, int64_t *shifted) {
  size_t n = 0;
  if (paired) {
    shifted[n++] = 0;
  }
  for (int k = 0; k < count; k++) {
    shifted[n++] = axes[k] + by;
  }
  return n;
}

/* The axis of the rows is a batch axis where both operands have it, and a free one of that which
 * has it else: there it is the first one. */
static gemel_status batch_dot(gemel__batch *call) {
  gemel__dot_axes axes;
  int64_t contract[2][GEMEL_MAX_RANK], batch[2][GEMEL_MAX_RANK];
  int both = call->has_rows[0] && call->has_rows[1];
  size_t n_batch = 0;
  gemel__dot_axes_of(call->values, gemel__batch_rank(call, 0), gemel__batch_rank(call, 1), &axes);
  for (int side = 0; side < 2; side++) {
    int by = call->has_rows[side];
    shift_axes(axes.contract[side], axes.n_contract, by, 0, contract[side]);
    n_batch = shift_axes(axes.batch[side], axes.n_batch, by, both, batch[side]);
  }
  size_t n = (size_t)axes.n_contract;
  gemel_dot_options options = {
      {n, contract[0]}, {n, contract[1]}, {n_batch, batch[0]}, {n_batch, batch[1]}};
  gemel_value product = gemel_dot_at(call->inputs[0], call->inputs[1], &options, call->where);
  int at = both ? 0 : axes.n_batch + (call->has_rows[1] ? axes.n_free[0] : 0);
  call->output = gemel_is_null(product) ? product : gemel__batch_first(product, at, call->where);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_dot = {.infer = infer_dot,
                                       .grad = grad_dot,
                                       .jvp = jvp_dot,
                                       .kernels = gemel__dot_kernels,
                                       .cost = gemel__dot_cost,
                                       .batch = batch_dot,
                                       .normalize = normalize_dot};
const gemel__hooks gemel__hooks_dot_add = {.infer = infer_dot_add,
                                           .grad = grad_dot_add,
                                           .jvp = jvp_dot_add,
                                           .kernels = gemel__dot_kernels,
                                           .overwrites = 3,
                                           .cost = gemel__dot_cost,
                                           .normalize = normalize_dot};
