/* SPDX-License-Identifier: MIT
 *
 * Broadcasting and its opposite, for every operation that needs them, and two shorthands for type
 * rules. Sizes may be symbols: only a literal 1 broadcasts, and two sizes that can't be proved
 * equal or different count as equal here. At run time the same rule is applied to constants, which
 * then refuses what is not.
 */
#include <stdio.h>
#include <string.h>
#include "ops/ops.h"

/* Notes that axis AXIS has the sizes A and B. */
static gemel_status refuse(gemel_context *context, size_t n, const gemel_type *types, int axis,
                           gemel_dim a, gemel_dim b, gemel_error *error) {
  char all[512], first[128], second[128];
  gemel__format_types(context, n, types, all, sizeof all);
  gemel_dim_format(context, a, first, sizeof first);
  gemel_dim_format(context, b, second, sizeof second);
  return gemel__fail(error, GEMEL_BAD_SHAPE,
                     "operands %s don't broadcast: sizes %s and %s along axis %d of the result",
                     all, first, second, axis);
}

/* Joins size NEXT into *SIZE, the size so far (a literal 1 or what operands agreed on). */
static int join_size(gemel_context *context, gemel_dim one, gemel_dim *size, gemel_dim next) {
  int64_t value;
  if (gemel_dim_equal(next, *size) || gemel_dim_equal(next, one)) {
    return 0;
  }
  if (gemel_dim_equal(*size, one)) {
    *size = next;
    return 0;
  }
  gemel__relation relation = gemel__dim_compare(context, *size, next);
  if (relation == GEMEL__DIFFERENT) {
    return -1;
  }
  if (relation == GEMEL__UNKNOWN && gemel_dim_is_constant(context, next, &value)) {
    *size = next;
  }
  return 0;
}

static gemel_status join_operand(gemel_context *context, size_t n, const gemel_type *types,
                                 size_t k, gemel_dim one, int rank, gemel_dim *dims,
                                 gemel_error *error) {
  const struct gemel__type *type = gemel__type_at(context, types[k]);
  int offset = rank - type->rank, axis;
  for (axis = 0; axis < type->rank; axis++) {
    if (join_size(context, one, &dims[offset + axis], type->dims[axis]) != 0) {
      return refuse(context, n, types, offset + axis, dims[offset + axis], type->dims[axis], error);
    }
  }
  return GEMEL_OK;
}

static int all_alike(size_t n, const gemel_type *types) {
  for (size_t k = 1; k < n; k++) {
    if (!gemel_type_equal(types[k], types[0])) {
      return 0;
    }
  }
  return 1;
}

gemel_status gemel__broadcast(gemel_context *context, size_t n, const gemel_type *types, int *rank,
                              gemel_dim *dims, gemel_error *error) {
  const struct gemel__type *type;
  gemel_status status = GEMEL_OK;
  gemel_dim one;
  size_t k;
  int axis;
  *rank = 0;
  for (k = 0; k < n; k++) {
    type = gemel__type_at(context, types[k]);
    *rank = type->rank > *rank ? type->rank : *rank;
  }
  if (n > 0 && all_alike(n, types)) {
    memcpy(dims, gemel__type_at(context, types[0])->dims, (size_t)*rank * sizeof *dims);
    return GEMEL_OK;
  }
  one = gemel_dim_constant(context, 1);
  if (gemel_dim_is_none(one)) {
    return gemel__no_memory(error, "a size");
  }
  for (axis = 0; axis < *rank; axis++) {
    dims[axis] = one;
  }
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    status = join_operand(context, n, types, k, one, *rank, dims, error);
  }
  return status;
}

/* ---- Back again ---- */

/* Inserts axes of size 1 where KEPT of VALUE's axes of a higher rank are missing. */
static gemel_value restore_axes(gemel_value value, int rank, const unsigned char *summed,
                                gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  gemel_attr attr;
  int axis, next = 0;
  for (axis = 0; axis < rank; axis++) {
    order[axis] = summed[axis] ? -1 : next++;
  }
  attr = gemel_attr_ints("order", (size_t)rank, order);
  return gemel_apply_at(value.graph, "dimshuffle", 1, &value, 1, &attr, where);
}

/* Sums away the leading axes that LIKE doesn't have and those where it has a literal 1. */
static gemel_value sum_back(gemel_value value, gemel_value like, gemel_location where) {
  gemel_context *context = value.graph->context;
  const struct gemel__type *from = gemel__type_at(context, gemel_value_type(value));
  const struct gemel__type *to = gemel__type_at(context, gemel_value_type(like));
  gemel_dim one = gemel_dim_constant(context, 1);
  unsigned char summed[GEMEL_MAX_RANK] = {0};
  int64_t axes[GEMEL_MAX_RANK];
  gemel_attr attrs[2];
  int lead = from->rank - to->rank, rank = to->rank, axis, any = 0;
  size_t n = 0;
  for (axis = 0; axis < from->rank; axis++) {
    int thin = axis >= lead && gemel_dim_equal(to->dims[axis - lead], one) &&
               !gemel_dim_equal(from->dims[axis], one);
    if (axis < lead || thin) {
      axes[n++] = axis;
    }
    if (thin) {
      summed[axis - lead] = 1;
      any = 1;
    }
  }
  if (n == 0) {
    return value;
  }
  attrs[0] = gemel_attr_ints("axes", n, axes);
  attrs[1] = gemel_attr_int("keepdims", lead == 0);
  value = gemel_apply_at(value.graph, "sum", 1, &value, 2, attrs, where);
  return gemel_is_null(value) || lead == 0 || !any ? value
                                                   : restore_axes(value, rank, summed, where);
}

/* A derivative text may leave an operand's shape alone (that of where(x, g, 0) may be smaller than
 * the operand's if g is), and sizes may be equal without proof: fill takes care of both. */
gemel_value gemel__unbroadcast(gemel_value cotangent, gemel_value like, gemel_location where) {
  gemel_value inputs[2];
  gemel_type wanted = gemel_value_type(like);
  if (gemel_is_null(cotangent) || gemel_type_equal(gemel_value_type(cotangent), wanted)) {
    return cotangent;
  }
  cotangent = sum_back(cotangent, like, where);
  if (gemel_is_null(cotangent) || gemel_type_equal(gemel_value_type(cotangent), wanted)) {
    return cotangent;
  }
  inputs[0] = like;
  inputs[1] = cotangent;
  return gemel_apply_at(cotangent.graph, "fill", 2, inputs, 0, NULL, where);
}

/* ---- Shorthands ---- */

const gemel_dim *gemel__infer_dims(const gemel_infer *call, size_t k, int *rank) {
  const struct gemel__type *type = gemel__type_at(call->context, call->inputs[k]);
  *rank = type->rank;
  return type->dims;
}

/* The result lies where the inputs do. */
gemel_status gemel__infer_result(gemel_infer *call, gemel_dtype dtype, int rank,
                                 const gemel_dim *dims) {
  int space = call->n_inputs > 0 ? gemel__type_at(call->context, call->inputs[0])->space : 0;
  gemel_type type = gemel_type_new(call->context, dtype, rank, dims, space);
  if (gemel_type_is_none(type)) {
    return gemel__no_memory(call->error, "a type");
  }
  call->n_outputs = 1;
  call->outputs[0] = type;
  return GEMEL_OK;
}
