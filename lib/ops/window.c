/* SPDX-License-Identifier: MIT
 *
 * Windows over images (window.h): checks of attributes and shapes, whose errors name the axis.
 */
#include "ops/window.h"

#include "ops/rule.h"

gemel_status gemel__window_list(const gemel_infer *call, int which, int axes, int64_t least) {
  const gemel_attr *attr = &call->attrs[which];
  if (attr->kind == GEMEL_ATTR_NONE) {
    return GEMEL_OK;
  }
  if (attr->count != (size_t)axes) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s has %zu entries for %d spatial axes",
                            attr->name, attr->count, axes);
  }
  for (int k = 0; k < axes; k++) {
    if (attr->u.ints[k] < least) {
      return gemel__rule_fail(call, GEMEL_BAD_VALUE, "%s %lld along spatial axis %d is below %lld",
                              attr->name, (long long)attr->u.ints[k], k, (long long)least);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__window_axes(const gemel_infer *call, size_t k, int *axes) {
  *axes = gemel_type_rank(call->context, call->inputs[k]) - 2;
  return *axes >= 1 && *axes <= GEMEL__SPATIAL_AXES
             ? GEMEL_OK
             : gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                                "operand %zu has rank %d; batch, channels and 1 to %d spatial axes "
                                "are wanted",
                                k, *axes + 2, (int)GEMEL__SPATIAL_AXES);
}

gemel_dim gemel__window_span(const gemel_infer *call, gemel_dim count, int64_t dilation) {
  gemel_context *context = call->context;
  gemel_dim one = gemel_dim_constant(context, 1), steps = gemel_dim_sub(context, count, one);
  steps = gemel_dim_mul(context, steps, gemel_dim_constant(context, dilation));
  return gemel_dim_add(context, steps, one);
}

gemel_status gemel__window_places(const gemel_infer *call, const char *what, int axis,
                                  gemel_dim span, gemel_dim padded, int64_t stride,
                                  gemel_dim *places) {
  gemel_context *context = call->context;
  gemel_dim room = gemel_dim_sub(context, padded, span), steps;
  int64_t size;
  if (gemel_dim_is_constant(context, room, &size) && size < 0) {
    char wide[96], of[96];
    gemel_dim_format(context, span, wide, sizeof wide);
    gemel_dim_format(context, padded, of, sizeof of);
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "along spatial axis %d the %s spans %s elements, and the padded image "
                            "has %s",
                            axis, what, wide, of);
  }
  steps = gemel_dim_floordiv(context, room, gemel_dim_constant(context, stride));
  *places = gemel_dim_add(context, steps, gemel_dim_constant(context, 1));
  return gemel_dim_is_none(*places) ? gemel__rule_no_size(call, "the size of an axis") : GEMEL_OK;
}

gemel_status gemel__window_equal(const gemel_infer *call, gemel_dim is, gemel_dim wanted,
                                 const char *what, int axis) {
  char given[96], right[96];
  if (gemel__dim_compare(call->context, is, wanted) != GEMEL__DIFFERENT) {
    return GEMEL_OK;
  }
  gemel_dim_format(call->context, is, given, sizeof given);
  gemel_dim_format(call->context, wanted, right, sizeof right);
  return axis < 0 ? gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s is %s and should be %s", what,
                                     given, right)
                  : gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                                     "%s along spatial axis %d is %s and should be %s", what, axis,
                                     given, right);
}

void gemel__window_spell(gemel_normalize *call, int which, int axes, int64_t value) {
  int64_t *values;
  if (call->attrs[which].kind == GEMEL_ATTR_NONE &&
      (values = gemel__normal_ints(call, (size_t)which, (size_t)axes)) != NULL) {
    for (int k = 0; k < axes; k++) {
      values[k] = value;
    }
  }
}
