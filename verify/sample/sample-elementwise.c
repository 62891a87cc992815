/* SPDX-License-Identifier: MIT
 *
 * Random instances of scalar operations: a result shape of rank 0 to 4 with sizes 0 and 1 among its
 * axes, and operands that broadcast to it (leading axes left out, axes shrunk to 1).
 */
#include "core/rows.h"
#include "sample/sampling.h"

enum { ORDERS = 5 };         /* of derivatives, an operand of range INDEX */
enum { ONES = 3, FAR = 30 }; /* as gemel__sample_wide_shape takes them */

/* An operand's type: half of them have the result's shape. */
static gemel_type sample_operand(gemel_sample *call, gemel_dtype dtype, int rank,
                                 const int64_t *shape) {
  int64_t own[GEMEL_MAX_RANK];
  int skip = 0, axis;
  int broadcast = gemel__sample_below(call, 2) == 0;
  if (broadcast && gemel__sample_below(call, 2) == 0) {
    skip = (int)gemel__sample_below(call, (uint64_t)rank + 1);
  }
  for (axis = skip; axis < rank; axis++) {
    own[axis - skip] = broadcast && gemel__sample_below(call, 3) == 0 ? 1 : shape[axis];
  }
  return gemel_type_of_shape(call->context, dtype, rank - skip, own);
}

/* Whether operands of DTYPE reach the operation's kernels as they are, and are worth sampling. */
static int makes_sense(gemel__type_code code, gemel_dtype dtype) {
  int is_float = gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
  switch (code) {
  case GEMEL__TYPE_NUMBER:
    return dtype != GEMEL_BOOL;
  case GEMEL__TYPE_INTEGER:
    return dtype != GEMEL_BOOL && !is_float;
  case GEMEL__TYPE_REAL:
  case GEMEL__TYPE_QUOTIENT:
    return is_float;
  default:
    return 1;
  }
}

gemel_status gemel__sampler_scalar(gemel_sample *call) {
  const gemel__scalar_row *row = call->data;
  int64_t shape[GEMEL_MAX_RANK];
  if (!makes_sense(row->code, call->dtype)) {
    return GEMEL_DECLINED;
  }
  int rank = gemel__sample_wide_shape(call, 0, call->max_elements, ONES, FAR, shape);
  call->n_inputs = (size_t)row->n_inputs;
  for (int k = 0; k < row->n_inputs; k++) {
    int is_mask = row->code == GEMEL__TYPE_SELECT && k == 0;
    call->inputs[k] = sample_operand(call, is_mask ? GEMEL_BOOL : call->dtype, rank, shape);
    if (gemel_type_is_none(call->inputs[k])) {
      return GEMEL_NO_MEMORY;
    }
    call->ranges[k] = row->ranges[k];
    call->low[k] = 0;
    call->high[k] = ORDERS;
  }
  call->n_attrs = 0;
  if (row->code == GEMEL__TYPE_CAST) {
    call->attrs[0] =
        gemel_attr_dtype("dtype", (gemel_dtype)gemel__sample_below(call, GEMEL_DTYPE_COUNT));
    call->n_attrs = 1;
  }
  return GEMEL_OK;
}
