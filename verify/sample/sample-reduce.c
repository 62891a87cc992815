/* SPDX-License-Identifier: MIT
 *
 * Random instances of sum, prod, max and argmax: any axes, counted from either end, or all; where
 * an operation has no result for an empty axis there is none.
 */
#include <string.h>
#include "sample/sampling.h"

enum { ONES = 2, FAR = 40 }; /* as gemel__sample_wide_shape takes them */

/* Random axes, counted from either end; none at all one time in four, which means all. Reduced
 * sizes are at least LEAST and at most MOST. */
static gemel_status sample_axes(gemel_sample *call, int64_t limit, int64_t least, int64_t most) {
  int64_t shape[GEMEL_MAX_RANK], *axes = call->storage.ints;
  int rank = gemel__sample_wide_shape(call, 0, limit, ONES, FAR, shape), axis;
  int all = gemel__sample_below(call, 4) == 0;
  size_t n = 0;
  for (axis = 0; axis < rank; axis++) {
    if (all || gemel__sample_below(call, 2) == 0) {
      axes[n++] = gemel__sample_below(call, 2) == 0 ? axis : axis - rank;
      shape[axis] = shape[axis] < least ? least : shape[axis] > most ? most : shape[axis];
    }
  }
  call->storage_used = n;
  call->attrs[0] = gemel_attr_ints("axes", n, axes);
  if (all) {
    memset(&call->attrs[0], 0, sizeof call->attrs[0]);
    call->attrs[0].name = "axes";
    call->attrs[0].kind = GEMEL_ATTR_NONE;
  }
  call->attrs[1] = gemel_attr_int("keepdims", gemel__sample_below(call, 2));
  call->n_attrs = 2;
  gemel__sample_input(call, call->dtype, rank, shape, GEMEL_RANGE_ANY);
  return gemel__sample_status(call);
}

gemel_status gemel__sampler_sum(gemel_sample *call) {
  return sample_axes(call, call->max_elements, 0, INT64_MAX);
}

/* Short, or else products overflow and say nothing. */
gemel_status gemel__sampler_prod(gemel_sample *call) {
  int64_t limit = call->max_elements < 64 ? call->max_elements : 64;
  return sample_axes(call, limit, 0, 3);
}

gemel_status gemel__sampler_max(gemel_sample *call) {
  return sample_axes(call, call->max_elements, 1, INT64_MAX);
}

gemel_status gemel__sampler_argmax(gemel_sample *call) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = gemel__sample_wide_shape(call, 1, call->max_elements, ONES, FAR, shape);
  int axis = (int)gemel__sample_below(call, (uint64_t)rank);
  shape[axis] += shape[axis] == 0;
  call->attrs[0] = gemel_attr_int("axis", gemel__sample_below(call, 2) == 0 ? axis : axis - rank);
  call->n_attrs = 1;
  gemel__sample_input(call, call->dtype, rank, shape, GEMEL_RANGE_ANY);
  return gemel__sample_status(call);
}
