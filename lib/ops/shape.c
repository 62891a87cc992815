/* SPDX-License-Identifier: MIT
 *
 * Operations that move elements without computing: dimshuffle, reshape, broadcast_to, fill,
 * reverse, pad, join, split. Where the result can be described as a view of the input's memory, the
 * view hook does so; the kernels copy, whatever the strides.
 */
#include <string.h>
#include <gemel/ops.h>
#include "core/tensor.h"
#include "core/error.h"
#include "core/strided.h"
#include "core/value.h"
#include "cpu/walk.h"
#include "ops/batch.h"
#include "ops/rule.h"

/* The kernel of operations whose view hook always succeeds and that are asked to copy all the same:
 * describes the result as a view of input 0 by VIEW and copies that. */
static gemel_status copy_through(const gemel_kernel_call *call,
                                 gemel_status (*view)(const gemel_kernel_call *, int64_t *,
                                                      int64_t *, int64_t *)) {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], offset = 0;
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  gemel_status status = view(call, shape, strides, &offset);
  if (status == GEMEL_OK) {
    gemel__copy_strided((size_t)gemel__view_item(x), out->rank, out->shape, out->data, out->strides,
                        (const char *)x->data + offset, strides);
  }
  return status;
}

#define COPY_KERNEL(name)                                                                          \
  static gemel_status run_##name(const gemel_kernel_call *call) {                                  \
    return copy_through(call, view_##name);                                                        \
  }                                                                                                \
  static const gemel_kernel name##_kernels[] = {{"plain", NULL, run_##name}, {NULL, NULL, NULL}}

/* ---- dimshuffle ---- */

static gemel_status check_dropped(const gemel_infer *call, int rank, const gemel_dim *dims,
                                  const unsigned char *used) {
  gemel_dim one = gemel_dim_constant(call->context, 1);
  for (int k = 0; k < rank; k++) {
    if (!used[k] && gemel__dim_compare(call->context, dims[k], one) == GEMEL__DIFFERENT) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                              "axis %d is left out of the order and its size isn't 1", k);
    }
  }
  return GEMEL_OK;
}

static gemel_status infer_dimshuffle(gemel_infer *call) {
  int rank;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  const gemel_attr *order = &call->attrs[0];
  unsigned char used[GEMEL_MAX_RANK] = {0};
  gemel_dim result[GEMEL_MAX_RANK];
  if (order->count > GEMEL_MAX_RANK) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "a result of rank %zu; at most %d is supported",
                            order->count, GEMEL_MAX_RANK);
  }
  for (size_t k = 0; k < order->count; k++) {
    int64_t axis = order->u.ints[k];
    if (axis < -1 || axis >= rank) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "order: axis %lld is out of range for rank %d",
                              (long long)axis, rank);
    }
    if (axis >= 0 && used[axis]++) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "order: axis %lld is given twice",
                              (long long)axis);
    }
    result[k] = axis < 0 ? gemel_dim_constant(call->context, 1) : dims[axis];
  }
  GEMEL__TRY(check_dropped(call, rank, dims, used));
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), (int)order->count, result);
}

static gemel_status grad_dimshuffle(gemel_derive *call) {
  const gemel_attr *order = &call->attrs[0];
  int64_t back[GEMEL_MAX_RANK];
  int rank;
  gemel__value_dims(call->inputs[0], &rank);
  for (int k = 0; k < rank; k++) {
    back[k] = -1;
  }
  for (size_t k = 0; k < order->count; k++) {
    if (order->u.ints[k] >= 0) {
      back[order->u.ints[k]] = (int64_t)k;
    }
  }
  call->d_inputs[0] =
      gemel_is_null(call->d_outputs[0])
          ? gemel__no_value
          : gemel_dimshuffle_at(call->d_outputs[0], (size_t)rank, back, call->where);
  return gemel__grad_done(call);
}

static gemel_status jvp_dimshuffle(gemel_derive *call) {
  const gemel_attr *order = &call->attrs[0];
  call->d_outputs[0] =
      gemel_dimshuffle_at(call->d_inputs[0], order->count, order->u.ints, call->where);
  return gemel__jvp_done(call);
}

static gemel_status view_dimshuffle(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                                    int64_t *offset) {
  const gemel_view *x = &call->inputs[0];
  const gemel_attr *order = &call->attrs[0];
  for (size_t k = 0; k < order->count; k++) {
    int64_t axis = order->u.ints[k];
    shape[k] = axis < 0 ? 1 : x->shape[axis];
    strides[k] = axis < 0 ? 0 : x->strides[axis];
  }
  *offset = 0;
  return GEMEL_OK;
}

COPY_KERNEL(dimshuffle);

static gemel_status batch_dimshuffle(gemel__batch *call) {
  int64_t order[GEMEL_MAX_RANK] = {0};
  size_t n = gemel__attr_count(&call->values[0]);
  for (size_t k = 0; k < n && k + 1 < GEMEL_MAX_RANK; k++) {
    int64_t axis = call->values[0].u.ints[k];
    order[k + 1] = axis < 0 ? -1 : axis + 1;
  }
  call->output = gemel_dimshuffle_at(call->inputs[0], n + 1, order, call->where);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_dimshuffle = {.infer = infer_dimshuffle,
                                              .grad = grad_dimshuffle,
                                              .jvp = jvp_dimshuffle,
                                              .kernels = dimshuffle_kernels,
                                              .view = view_dimshuffle,
                                              .cost = gemel__cost_move,
                                              .moves = 1,
                                              .batch = batch_dimshuffle};

/* ---- reshape ---- */

/* The number of elements; one constant 0 among the dims decides, so that the others' product can't
 * overflow. */
static gemel_dim count_elements(gemel_context *context, int rank, const gemel_dim *dims) {
  gemel_dim count = gemel_dim_constant(context, 1);
  int64_t size;
  for (int k = 0; k < rank; k++) {
    if (gemel_dim_is_constant(context, dims[k], &size) && size == 0) {
      return dims[k];
    }
  }
  for (int k = 0; k < rank && !gemel_dim_is_none(count); k++) {
    count = gemel_dim_mul(context, count, dims[k]);
  }
  return count;
}

static gemel_status infer_reshape(gemel_infer *call) {
  int rank, to_rank = (int)gemel__attr_count(&call->attrs[0]);
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  gemel_dim shape[GEMEL_MAX_RANK], from, to;
  GEMEL__TRY(gemel__rule_sizes(call, 1));
  GEMEL__TRY(gemel__rule_dims(call, &call->attrs[0], shape));
  GEMEL__TRY(gemel__rule_result(call, gemel__rule_dtype(call, 0), to_rank, shape));
  from = count_elements(call->context, rank, dims);
  to = count_elements(call->context, to_rank, shape);
  if (gemel_dim_is_none(from) || gemel_dim_is_none(to)) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "more elements than 64 bits can count");
  }
  if (gemel__dim_compare(call->context, from, to) == GEMEL__DIFFERENT) {
    char a[128], b[128], text[128];
    gemel_dim_format(call->context, from, a, sizeof a);
    gemel_dim_format(call->context, to, b, sizeof b);
    gemel_type_format(call->context, call->outputs[0], text, sizeof text);
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s elements don't make %s, which has %s", a,
                            text, b);
  }
  return GEMEL_OK;
}

static gemel_value reshape_like(gemel_value x, gemel_value like, gemel_location where) {
  int rank;
  const gemel_dim *dims = gemel__value_dims(like, &rank);
  return gemel_reshape_at(x, (size_t)rank, dims, where);
}

static gemel_status grad_reshape(gemel_derive *call) {
  call->d_inputs[0] = gemel_is_null(call->d_outputs[0])
                          ? gemel__no_value
                          : reshape_like(call->d_outputs[0], call->inputs[0], call->where);
  return gemel__grad_done(call);
}

static gemel_status jvp_reshape(gemel_derive *call) {
  call->d_outputs[0] = reshape_like(call->d_inputs[0], call->outputs[0], call->where);
  return gemel__jvp_done(call);
}

/* Axes of which both x's and the result's are made, row-major: the sizes, x's strides, and the axis
 * of the result. */
typedef struct common_axes {
  int rank;
  int64_t sizes[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  int axis[GEMEL_MAX_RANK];
} common_axes;

/* Cuts X, which isn't empty, and a result of SHAPE into common axes; 0 if there are none, as for
 * [2, 3] and [3, 2], or too many. They are found from the last to the first. */
static int cut_alike(const gemel_view *x, int rank, const int64_t *shape, common_axes *c) {
  int at = x->rank - 1, to = rank - 1, n = 0;
  int64_t left = 1, wanted = 1, stride = 0; /* of axes AT + 1 of x and TO + 1 of the result */
  while (at >= 0 || left > 1) {
    for (; left == 1 && at >= 0; at--) {
      left = x->shape[at];
      stride = x->strides[at];
    }
    for (; wanted == 1 && to >= 0; to--) {
      wanted = shape[to];
    }
    int64_t size = left < wanted ? left : wanted;
    if (left == 1) {
      break;
    }
    if (n == GEMEL_MAX_RANK || left % size != 0 || wanted % size != 0) {
      return 0;
    }
    c->sizes[n] = size;
    c->strides[n] = stride;
    c->axis[n++] = to + 1;
    left /= size;
    wanted /= size;
    stride *= size;
  }
  c->rank = n;
  return 1;
}

/* The strides of the result as a view of x; 0: it is none. */
static int view_strides(const common_axes *c, int64_t *strides) {
  for (int k = 0; k < c->rank; k++) {
    int inner = k > 0 && c->axis[k - 1] == c->axis[k];
    if (!inner) {
      strides[c->axis[k]] = c->strides[k];
    } else if (c->strides[k] != c->strides[k - 1] * c->sizes[k - 1]) {
      return 0;
    }
  }
  return 1;
}

static gemel_status view_reshape(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                                 int64_t *offset) {
  const gemel_view *x = &call->inputs[0];
  const gemel_attr *to = &call->attrs[0];
  int rank = (int)to->count;
  common_axes c;
  for (int k = 0; k < rank; k++) {
    shape[k] = to->u.ints[k];
  }
  gemel__packed_strides(gemel__view_item(x), rank, shape, strides);
  *offset = 0;
  return gemel__is_row_major((size_t)gemel__view_item(x), x->rank, x->shape, x->strides) ||
                 (cut_alike(x, rank, shape, &c) && view_strides(&c, strides))
             ? GEMEL_OK
             : GEMEL_DECLINED;
}

/* A row-major result can be written with x's shape, another with the common axes. */
static gemel_status run_reshape(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  size_t item = (size_t)gemel__view_item(x);
  int64_t strides[GEMEL_MAX_RANK];
  common_axes c;
  if (gemel__is_row_major(item, out->rank, out->shape, out->strides)) {
    gemel__packed_strides((int64_t)item, x->rank, x->shape, strides);
    gemel__copy_strided(item, x->rank, x->shape, out->data, strides, x->data, x->strides);
    return GEMEL_OK;
  }
  cut_alike(x, out->rank, out->shape, &c);
  for (int k = 0; k < c.rank; k++) {
    int inner = k > 0 && c.axis[k - 1] == c.axis[k];
    strides[k] = inner ? strides[k - 1] * c.sizes[k - 1] : out->strides[c.axis[k]];
  }
  gemel__copy_strided(item, c.rank, c.sizes, out->data, strides, x->data, c.strides);
  return GEMEL_OK;
}

/* As x lies: the axis with the smallest stride becomes channels, or a part of them. */
static int reshape_channels_last(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  common_axes c;
  int closest = 0;
  if (out->rank < 4 || gemel__view_elements(x) == 0 || !cut_alike(x, out->rank, out->shape, &c) ||
      c.rank == 0) {
    return 0;
  }
  for (int k = 1; k < c.rank; k++) {
    closest = c.strides[k] < c.strides[closest] ? k : closest;
  }
  return c.axis[closest] == 1 && c.strides[closest] > 0;
}

static const gemel_kernel reshape_kernels[] = {{"plain", NULL, run_reshape}, {NULL, NULL, NULL}};

/* The sizes of a row behind the number of rows. */
static size_t batch_shape(const gemel__batch *call, gemel_dim *shape) {
  size_t n = gemel__attr_count(&call->values[0]);
  shape[0] = call->rows;
  for (size_t k = 0; k < n && k + 1 < GEMEL_MAX_RANK; k++) {
    shape[k + 1] = call->values[0].u.dims[k];
  }
  return n + 1;
}

static gemel_status batch_reshape(gemel__batch *call) {
  gemel_dim shape[GEMEL_MAX_RANK];
  size_t n = batch_shape(call, shape);
  call->output = gemel_reshape_at(call->inputs[0], n, shape, call->where);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_reshape = {.infer = infer_reshape,
                                           .grad = grad_reshape,
                                           .jvp = jvp_reshape,
                                           .kernels = reshape_kernels,
                                           .view = view_reshape,
                                           .cost = gemel__cost_move,
                                           .moves = 1,
                                           .batch = batch_reshape,
                                           .channels_last = reshape_channels_last};

/* ---- broadcast_to ---- */

/* 1 if axis AXIS of input K is a literal 1: at run time, one that already was when it was built. */
static int literal_one(const gemel_infer *call, size_t k, int axis) {
  gemel_type type = call->declared != NULL ? call->declared[k] : call->inputs[k];
  int64_t size;
  return gemel_dim_is_constant(call->context, gemel_type_dims(call->context, type)[axis], &size) &&
         size == 1;
}

/* Checks that input K broadcasts to SHAPE; only a literal 1 does, as everywhere. */
static gemel_status check_broadcast(const gemel_infer *call, size_t k, int to_rank,
                                    const gemel_dim *shape) {
  int rank;
  const gemel_dim *dims = gemel__infer_dims(call, k, &rank);
  if (rank > to_rank) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "rank %d can't be broadcast to rank %d", rank,
                            to_rank);
  }
  for (int axis = 0; axis < rank; axis++) {
    gemel_dim to = shape[axis + to_rank - rank];
    if (!literal_one(call, k, axis) &&
        gemel__dim_compare(call->context, dims[axis], to) == GEMEL__DIFFERENT) {
      char a[128], b[128];
      gemel_dim_format(call->context, dims[axis], a, sizeof a);
      gemel_dim_format(call->context, to, b, sizeof b);
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                              "axis %d has size %s, which can't be broadcast to %s", axis, a, b);
    }
  }
  return GEMEL_OK;
}

static gemel_status infer_broadcast_to(gemel_infer *call) {
  int to_rank = (int)gemel__attr_count(&call->attrs[0]);
  gemel_dim shape[GEMEL_MAX_RANK];
  GEMEL__TRY(gemel__rule_sizes(call, 1));
  GEMEL__TRY(gemel__rule_dims(call, &call->attrs[0], shape));
  GEMEL__TRY(check_broadcast(call, 0, to_rank, shape));
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), to_rank, shape);
}

static gemel_status grad_broadcast_to(gemel_derive *call) {
  call->d_inputs[0] = gemel_is_null(call->d_outputs[0])
                          ? gemel__no_value
                          : gemel__unbroadcast(call->d_outputs[0], call->inputs[0], call->where);
  return gemel__grad_done(call);
}

static gemel_value broadcast_like(gemel_value x, gemel_value like, gemel_location where) {
  int rank;
  const gemel_dim *dims = gemel__value_dims(like, &rank);
  return gemel_broadcast_to_at(x, (size_t)rank, dims, where);
}

static gemel_status jvp_broadcast_to(gemel_derive *call) {
  call->d_outputs[0] = broadcast_like(call->d_inputs[0], call->outputs[0], call->where);
  return gemel__jvp_done(call);
}

/* Writes strides with which X looks like something of RANK axes of SHAPE. */
static void broadcast_strides(const gemel_view *x, int rank, const int64_t *shape,
                              int64_t *strides) {
  for (int k = 0; k < rank; k++) {
    int from = k - (rank - x->rank);
    strides[k] = from < 0 || (x->shape[from] == 1 && shape[k] != 1) ? 0 : x->strides[from];
  }
}

static gemel_status view_broadcast_to(const gemel_kernel_call *call, int64_t *shape,
                                      int64_t *strides, int64_t *offset) {
  const gemel_attr *to = &call->attrs[0];
  for (size_t k = 0; k < to->count; k++) {
    shape[k] = to->u.ints[k];
  }
  broadcast_strides(&call->inputs[0], (int)to->count, shape, strides);
  *offset = 0;
  return GEMEL_OK;
}

COPY_KERNEL(broadcast_to);

static gemel_status batch_broadcast_to(gemel__batch *call) {
  gemel_dim shape[GEMEL_MAX_RANK];
  size_t n = batch_shape(call, shape);
  gemel_value x = gemel__batch_operand(call, 0, (int)n - 1);
  call->output = gemel_broadcast_to_at(x, n, shape, call->where);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_broadcast_to = {.infer = infer_broadcast_to,
                                                .grad = grad_broadcast_to,
                                                .jvp = jvp_broadcast_to,
                                                .kernels = broadcast_to_kernels,
                                                .view = view_broadcast_to,
                                                .cost = gemel__cost_move,
                                                .moves = 1,
                                                .batch = batch_broadcast_to};

/* ---- fill ---- */

static gemel_status infer_fill(gemel_infer *call) {
  int rank;
  const gemel_dim *shape = gemel__infer_dims(call, 0, &rank);
  gemel_status status = check_broadcast(call, 1, rank, shape);
  return status != GEMEL_OK ? status
                            : gemel__rule_result(call, gemel__rule_dtype(call, 1), rank, shape);
}

static gemel_status grad_fill(gemel_derive *call) {
  call->d_inputs[0] = gemel__no_value;
  call->d_inputs[1] = gemel_is_null(call->d_outputs[0]) || !call->wanted[1]
                          ? gemel__no_value
                          : gemel__unbroadcast(call->d_outputs[0], call->inputs[1], call->where);
  return gemel__grad_done(call);
}

static gemel_status jvp_fill(gemel_derive *call) {
  call->d_outputs[0] = gemel_is_null(call->d_inputs[1])
                           ? gemel__no_value
                           : gemel_fill_at(call->inputs[0], call->d_inputs[1], call->where);
  return gemel__jvp_done(call);
}

static gemel_status run_fill(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0], *value = &call->inputs[1];
  int64_t strides[GEMEL_MAX_RANK];
  broadcast_strides(value, out->rank, out->shape, strides);
  gemel__copy_strided((size_t)gemel__view_item(out), out->rank, out->shape, out->data, out->strides,
                      value->data, strides);
  return GEMEL_OK;
}

static const gemel_kernel fill_kernels[] = {{"plain", NULL, run_fill}, {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_fill = {.infer = infer_fill,
                                        .grad = grad_fill,
                                        .jvp = jvp_fill,
                                        .kernels = fill_kernels,
                                        .cost = gemel__cost_move,
                                        .moves = 2};

/* ---- reverse ---- */

static gemel_status infer_reverse(gemel_infer *call) {
  int rank, axes[GEMEL_MAX_RANK];
  unsigned char used[GEMEL_MAX_RANK] = {0};
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  gemel_status status = gemel__rule_axes(call, &call->attrs[0], rank, axes, used);
  return status != GEMEL_OK ? status
                            : gemel__rule_result(call, gemel__rule_dtype(call, 0), rank, dims);
}

static gemel_value reverse_again(const gemel_derive *call, gemel_value x) {
  const gemel_attr *axes = &call->attrs[0];
  return gemel_is_null(x) ? gemel__no_value
                          : gemel_reverse_at(x, axes->count, axes->u.ints, call->where);
}

static gemel_status grad_reverse(gemel_derive *call) {
  call->d_inputs[0] = reverse_again(call, call->d_outputs[0]);
  return gemel__grad_done(call);
}

static gemel_status jvp_reverse(gemel_derive *call) {
  call->d_outputs[0] = reverse_again(call, call->d_inputs[0]);
  return gemel__jvp_done(call);
}

static gemel_status view_reverse(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                                 int64_t *offset) {
  const gemel_view *x = &call->inputs[0];
  const gemel_attr *axes = &call->attrs[0];
  memcpy(shape, x->shape, (size_t)x->rank * sizeof *shape);
  memcpy(strides, x->strides, (size_t)x->rank * sizeof *strides);
  *offset = 0;
  for (size_t k = 0; k < axes->count; k++) {
    int axis = gemel__axis(axes->u.ints[k], x->rank);
    if (shape[axis] > 0) {
      *offset += (shape[axis] - 1) * strides[axis];
    }
    strides[axis] = -strides[axis];
  }
  return GEMEL_OK;
}

COPY_KERNEL(reverse);

static gemel_status normalize_reverse(gemel_normalize *call) {
  gemel__normal_axes(call, 0, 0, 1);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_reverse = {.infer = infer_reverse,
                                           .grad = grad_reverse,
                                           .jvp = jvp_reverse,
                                           .kernels = reverse_kernels,
                                           .view = view_reverse,
                                           .cost = gemel__cost_move,
                                           .normalize = normalize_reverse,
                                           .moves = 1};
