/* SPDX-License-Identifier: MIT
 *
 * References of the shape family. Each says which element of an operand stands at an index of the
 * result.
 */
#include "reference/common.h"
#include "reference/twin.h"

static gemel_status bad_shape(const gemel__rcall *call, const char *what) {
  return gemel__fail(call->error, GEMEL_BAD_SHAPE, "%s", what);
}

/* Element I of the result = X's element at index AT. */
static void take(gemel__rcall *call, size_t i, const gemel__rtensor *x, const int64_t *at) {
  call->domain->set(call->domain, gemel__rtensor_at(&call->outputs[0], i),
                    gemel__rtensor_index(x, at));
}

/* ---- dimshuffle(x, order): axis k of the result is axis order[k] of x; -1: a new axis ---- */

static gemel_status shuffled_shape(const gemel__rcall *call, const gemel__rtensor *x,
                                   int64_t *shape) {
  const gemel_attr *order = &call->attrs[0];
  int uses[GEMEL_MAX_RANK] = {0};
  if (order->count > GEMEL_MAX_RANK) {
    return bad_shape(call, "too many axes");
  }
  for (size_t k = 0; k < order->count; k++) {
    int64_t axis = order->u.ints[k];
    if (axis < -1 || axis >= x->rank || (axis >= 0 && uses[axis]++)) {
      return bad_shape(call, "order names an axis that isn't there, or one twice");
    }
    shape[k] = axis < 0 ? 1 : x->shape[axis];
  }
  for (int axis = 0; axis < x->rank; axis++) {
    if (!uses[axis] && x->shape[axis] != 1) {
      return bad_shape(call, "only axes of size 1 may be dropped");
    }
  }
  return GEMEL_OK;
}

static gemel_status reference_dimshuffle(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  const gemel_attr *order = &call->attrs[0];
  int rank = (int)order->count;
  int64_t shape[GEMEL_MAX_RANK], index[GEMEL_MAX_RANK] = {0};
  GEMEL__TRY(shuffled_shape(call, x, shape));
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, rank, shape));
  for (size_t i = 0; i < call->outputs[0].count; i++) {
    int64_t at[GEMEL_MAX_RANK] = {0};
    for (int k = 0; k < rank; k++) {
      if (order->u.ints[k] >= 0) {
        at[order->u.ints[k]] = index[k];
      }
    }
    take(call, i, x, at);
    gemel__index_next(rank, shape, index);
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_dimshuffle = {.reference = reference_dimshuffle,
                                            .sample = gemel__sampler_dimshuffle,
                                            .propose = gemel__propose_dimshuffle,
                                            .arithmetic = GEMEL__EXACT,
                                            .linear = GEMEL__LINEAR_SHUFFLE};

/* ---- reshape(x, shape): element i of the result is element i of x, in row-major order ---- */

static gemel_status reference_reshape(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  GEMEL__TRY(
      gemel__reference_output(call, 0, x->dtype, (int)call->attrs[0].count, call->attrs[0].u.ints));
  if (call->outputs[0].count != x->count) {
    return bad_shape(call, "a reshape to another number of elements");
  }
  for (size_t i = 0; i < x->count; i++) {
    call->domain->set(call->domain, gemel__rtensor_at(&call->outputs[0], i),
                      gemel__rtensor_at(x, i));
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_reshape = {.reference = reference_reshape,
                                         .sample = gemel__sampler_reshape,
                                         .propose = gemel__propose_reshape,
                                         .arithmetic = GEMEL__EXACT,
                                         .linear = GEMEL__LINEAR_RESHAPE};

/* ---- broadcast_to(x, shape), fill(like, value): NumPy's rule, one way ---- */

static gemel_status spread(gemel__rcall *call, const gemel__rtensor *x, int rank,
                           const int64_t *shape) {
  int64_t index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  int fits = x->rank <= rank;
  for (int k = 0; fits && k < x->rank; k++) {
    fits = x->shape[k] == 1 || x->shape[k] == shape[rank - x->rank + k];
  }
  if (!fits) {
    return bad_shape(call, "it doesn't broadcast to that shape");
  }
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, rank, shape));
  for (size_t i = 0; i < call->outputs[0].count; i++) {
    for (int k = 0; k < x->rank; k++) {
      at[k] = x->shape[k] == 1 ? 0 : index[rank - x->rank + k];
    }
    take(call, i, x, at);
    gemel__index_next(rank, shape, index);
  }
  return GEMEL_OK;
}

static gemel_status reference_broadcast_to(gemel__rcall *call) {
  if (call->attrs[0].count > GEMEL_MAX_RANK) {
    return bad_shape(call, "too many axes");
  }
  return spread(call, call->inputs[0], (int)call->attrs[0].count, call->attrs[0].u.ints);
}

const gemel__twin gemel__twin_broadcast_to = {.reference = reference_broadcast_to,
                                              .sample = gemel__sampler_broadcast_to,
                                              .propose = gemel__propose_broadcast_to,
                                              .arithmetic = GEMEL__EXACT,
                                              .linear = GEMEL__LINEAR_BROADCAST};

static gemel_status reference_fill(gemel__rcall *call) {
  const gemel__rtensor *like = call->inputs[0];
  return spread(call, call->inputs[1], like->rank, like->shape);
}

const gemel__twin gemel__twin_fill = {.reference = reference_fill,
                                      .sample = gemel__sampler_fill,
                                      .propose = gemel__propose_fill,
                                      .arithmetic = GEMEL__EXACT,
                                      .linear = GEMEL__LINEAR_FILL};

/* ---- reverse(x, axes): along them, index i is n - 1 - i of x ---- */

static gemel_status reference_reverse(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  unsigned char reversed[GEMEL_MAX_RANK];
  int64_t index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  GEMEL__TRY(gemel__reference_axes(call, 0, x->rank, reversed));
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, x->rank, x->shape));
  for (size_t i = 0; i < x->count; i++) {
    for (int k = 0; k < x->rank; k++) {
      at[k] = reversed[k] ? x->shape[k] - 1 - index[k] : index[k];
    }
    take(call, i, x, at);
    gemel__index_next(x->rank, x->shape, index);
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_reverse = {.reference = reference_reverse,
                                         .sample = gemel__sampler_reverse,
                                         .propose = gemel__propose_reverse,
                                         .arithmetic = GEMEL__EXACT,
                                         .linear = GEMEL__LINEAR_PART};

/* ---- pad(x, value, low, high, interior): along axis k, low[k] times value, then x's elements with
 * interior[k] times value between neighbours, then high[k] times value; negative: cut off ---- */

static int64_t gap_of(const gemel__rcall *call, int axis) {
  return gemel__reference_absent(call, 2) ? 0 : call->attrs[2].u.ints[axis];
}

static gemel_status padded_shape(const gemel__rcall *call, const gemel__rtensor *x,
                                 int64_t *shape) {
  size_t rank = (size_t)x->rank;
  if (call->attrs[0].count != rank || call->attrs[1].count != rank ||
      (!gemel__reference_absent(call, 2) && call->attrs[2].count != rank)) {
    return bad_shape(call, "one number for each axis is wanted");
  }
  for (int k = 0; k < x->rank; k++) {
    int64_t n = x->shape[k], gap = gap_of(call, k), between, dilated;
    if (gap < 0) {
      return bad_shape(call, "interior padding is not negative");
    }
    if (__builtin_mul_overflow(n > 0 ? n - 1 : 0, gap, &between) ||
        __builtin_add_overflow(n, between, &dilated) ||
        __builtin_add_overflow(dilated, call->attrs[0].u.ints[k], &dilated) ||
        __builtin_add_overflow(dilated, call->attrs[1].u.ints[k], &shape[k]) || shape[k] < 0) {
      return bad_shape(call, "the padded size is negative or too large");
    }
  }
  return GEMEL_OK;
}

/* 1 and AT = the index of x for INDEX of the result, or 0 if that is padding. */
static int unpadded(const gemel__rcall *call, const gemel__rtensor *x, const int64_t *index,
                    int64_t *at) {
  for (int k = 0; k < x->rank; k++) {
    int64_t place = index[k] - call->attrs[0].u.ints[k];
    int64_t stride = gap_of(call, k) + 1;
    if (place < 0 || place % stride != 0 || place / stride >= x->shape[k]) {
      return 0;
    }
    at[k] = place / stride;
  }
  return 1;
}

static gemel_status reference_pad(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0], *value = call->inputs[1];
  int64_t shape[GEMEL_MAX_RANK], index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  GEMEL__TRY(padded_shape(call, x, shape));
  if (value->rank != 0 || value->dtype != x->dtype) {
    return gemel__fail(call->error, GEMEL_BAD_TYPE, "the padding is a scalar of x's dtype");
  }
  GEMEL__TRY(gemel__reference_output(call, 0, x->dtype, x->rank, shape));
  for (size_t i = 0; i < call->outputs[0].count; i++) {
    if (unpadded(call, x, index, at)) {
      take(call, i, x, at);
    } else {
      take(call, i, value, NULL);
    }
    gemel__index_next(x->rank, shape, index);
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_pad = {.reference = reference_pad,
                                     .sample = gemel__sampler_pad,
                                     .propose = gemel__propose_pad,
                                     .arithmetic = GEMEL__EXACT,
                                     .linear = GEMEL__LINEAR_PAD};

/* ---- join(xs..., axis): one after the other along an axis ---- */

static gemel_status joined_shape(const gemel__rcall *call, int *axis, int64_t *shape) {
  const gemel__rtensor *first = call->n_inputs ? call->inputs[0] : NULL;
  *axis = first ? gemel__reference_axis(call->attrs[0].u.i, first->rank) : -1;
  if (*axis < 0) {
    return bad_shape(call, "no such axis");
  }
  for (int k = 0; k < first->rank; k++) {
    shape[k] = k == *axis ? 0 : first->shape[k];
  }
  for (size_t j = 0; j < call->n_inputs; j++) {
    const gemel__rtensor *x = call->inputs[j];
    if (x->rank != first->rank || x->dtype != first->dtype) {
      return bad_shape(call, "operands of different ranks or dtypes");
    }
    for (int k = 0; k < x->rank; k++) {
      if (k == *axis) {
        shape[k] += x->shape[k];
      } else if (x->shape[k] != shape[k]) {
        return bad_shape(call, "operands of different sizes off the axis");
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status reference_join(gemel__rcall *call) {
  int axis;
  int64_t shape[GEMEL_MAX_RANK], index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  GEMEL__TRY(joined_shape(call, &axis, shape));
  int rank = call->inputs[0]->rank;
  GEMEL__TRY(gemel__reference_output(call, 0, call->inputs[0]->dtype, rank, shape));
  for (size_t i = 0; i < call->outputs[0].count; i++) {
    size_t j = 0;
    for (int k = 0; k < rank; k++) {
      at[k] = index[k];
    }
    for (; at[axis] >= call->inputs[j]->shape[axis]; j++) {
      at[axis] -= call->inputs[j]->shape[axis];
    }
    take(call, i, call->inputs[j], at);
    gemel__index_next(rank, shape, index);
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_join = {.reference = reference_join,
                                      .sample = gemel__sampler_join,
                                      .propose = gemel__propose_join,
                                      .arithmetic = GEMEL__EXACT,
                                      .linear = GEMEL__LINEAR_JOIN};

/* ---- split(x, sizes, axis): parts of these sizes along an axis ---- */

/* Output K = SIZE elements of the operand from BEGIN on along AXIS. */
static gemel_status part(gemel__rcall *call, size_t k, int axis, int64_t begin, int64_t size) {
  const gemel__rtensor *x = call->inputs[0];
  int64_t shape[GEMEL_MAX_RANK], index[GEMEL_MAX_RANK] = {0}, at[GEMEL_MAX_RANK];
  for (int j = 0; j < x->rank; j++) {
    shape[j] = j == axis ? size : x->shape[j];
  }
  GEMEL__TRY(gemel__reference_output(call, k, x->dtype, x->rank, shape));
  for (size_t i = 0; i < call->outputs[k].count; i++) {
    for (int j = 0; j < x->rank; j++) {
      at[j] = j == axis ? begin + index[j] : index[j];
    }
    call->domain->set(call->domain, gemel__rtensor_at(&call->outputs[k], i),
                      gemel__rtensor_index(x, at));
    gemel__index_next(x->rank, shape, index);
  }
  return GEMEL_OK;
}

static gemel_status reference_split(gemel__rcall *call) {
  const gemel__rtensor *x = call->inputs[0];
  const gemel_attr *sizes = &call->attrs[0];
  int axis = gemel__reference_axis(call->attrs[1].u.i, x->rank);
  int64_t left = axis < 0 ? 0 : x->shape[axis];
  for (size_t k = 0; axis >= 0 && k < sizes->count && left >= 0; k++) {
    left = sizes->u.ints[k] < 0 || sizes->u.ints[k] > left ? -1 : left - sizes->u.ints[k];
  }
  if (axis < 0 || left != 0) {
    return bad_shape(call, "the parts don't make up the axis");
  }
  int64_t begin = 0;
  for (size_t k = 0; k < sizes->count; k++) {
    GEMEL__TRY(part(call, k, axis, begin, sizes->u.ints[k]));
    begin += sizes->u.ints[k];
  }
  return GEMEL_OK;
}

const gemel__twin gemel__twin_split = {.reference = reference_split,
                                       .sample = gemel__sampler_split,
                                       .propose = gemel__propose_split,
                                       .arithmetic = GEMEL__EXACT,
                                       .linear = GEMEL__LINEAR_PART};
