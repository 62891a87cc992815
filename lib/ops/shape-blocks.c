/* SPDX-License-Identifier: MIT
 *
 * The part of the shape family that puts blocks of elements together: pad, join, split. Their
 * results are new memory, in which operands of a join may lie already. The gradient of a join is
 * one split, and the other way round.
 */
#include <string.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/strided.h"
#include "core/value.h"
#include "cpu/walk.h"
#include "ops/facts.h"
#include "ops/rule.h"

/* ---- pad ---- */

typedef struct padding {
  int64_t low, high, interior;
} padding;

static padding padding_of(const gemel_attr *attrs, int axis) {
  padding p = {attrs[0].u.ints[axis], attrs[1].u.ints[axis], 0};
  if (attrs[2].kind != GEMEL_ATTR_NONE) {
    p.interior = attrs[2].u.ints[axis];
  }
  return p;
}

static gemel_status check_padding(const gemel_infer *call, int rank) {
  for (int k = 0; k < 3; k++) {
    const gemel_attr *attr = &call->attrs[k];
    if (attr->kind != GEMEL_ATTR_NONE && attr->count != (size_t)rank) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s has %zu entries for rank %d", attr->name,
                              attr->count, rank);
    }
  }
  for (int k = 0; k < rank; k++) {
    padding p = padding_of(call->attrs, k);
    if (p.interior < 0 || p.interior > INT64_MAX / 2) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "interior: %lld for axis %d",
                              (long long)p.interior, k);
    }
  }
  return gemel__rule_same_dtype(call, 0, 1);
}

/* N elements with INTERIOR between each two: n + interior * max(n - 1, 0). */
static gemel_dim spread(gemel_context *context, gemel_dim n, int64_t interior) {
  gemel_dim one = gemel_dim_constant(context, 1), zero = gemel_dim_constant(context, 0);
  if (interior == 0) {
    return n;
  }
  gemel_dim gaps = gemel_dim_max(context, gemel_dim_sub(context, n, one), zero);
  return gemel_dim_add(context, n,
                       gemel_dim_mul(context, gaps, gemel_dim_constant(context, interior)));
}

static gemel_dim padded(gemel_context *context, gemel_dim n, padding p) {
  n = spread(context, n, p.interior);
  n = gemel_dim_add(context, n, gemel_dim_constant(context, p.low));
  return gemel_dim_add(context, n, gemel_dim_constant(context, p.high));
}

static gemel_status infer_pad(gemel_infer *call) {
  int rank;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  gemel_dim result[GEMEL_MAX_RANK];
  GEMEL__TRY(check_padding(call, rank));
  if (gemel_type_rank(call->context, call->inputs[1]) != 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "the value to pad with must be a scalar");
  }
  for (int k = 0; k < rank; k++) {
    result[k] = padded(call->context, dims[k], padding_of(call->attrs, k));
  }
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), rank, result);
}

static gemel_value pad_with(const gemel_derive *call, gemel_value x, gemel_value value) {
  const gemel_attr *attrs = call->attrs;
  return gemel_pad_at(
      x, value, attrs[0].count, attrs[0].u.ints, attrs[1].count, attrs[1].u.ints,
      &(gemel_pad_options){
          .interior = {attrs[2].count, attrs[2].kind == GEMEL_ATTR_NONE ? NULL : attrs[2].u.ints}},
      call->where);
}

/* What flows back to x: the margins are cut off, that is padded by the negative amounts; of what is
 * between the elements every (interior + 1)-th is kept. */
static gemel_value unpad(const gemel_derive *call, gemel_value g) {
  gemel_context *context = gemel_graph_context(call->graph);
  int64_t low[GEMEL_MAX_RANK], high[GEMEL_MAX_RANK], step[GEMEL_MAX_RANK];
  gemel_dim start[GEMEL_MAX_RANK];
  int rank, gaps = 0;
  const gemel_dim *dims = gemel__value_dims(call->inputs[0], &rank);
  gemel_value zero = gemel__scalar_with(g, gemel__value_dtype(g), 0, call->where);
  for (int k = 0; k < rank; k++) {
    padding p = padding_of(call->attrs, k);
    low[k] = -p.low;
    high[k] = -p.high;
    step[k] = p.interior + 1;
    gaps |= p.interior > 0;
    start[k] = gemel_dim_constant(context, 0);
  }
  g = gemel_pad_at(g, zero, (size_t)rank, low, (size_t)rank, high, NULL, call->where);
  return gaps ? gemel_subtensor_at(g, (size_t)rank, start, (size_t)rank, dims,
                                   &(gemel_subtensor_options){.step = {(size_t)rank, step}},
                                   call->where)
              : g;
}

/* What flows back to the value: the sum over the places that don't come from x. */
static gemel_value padding_sum(const gemel_derive *call, gemel_value g) {
  gemel_value no = gemel__scalar_with(g, GEMEL_BOOL, 0, call->where);
  gemel_value yes = gemel__scalar_with(g, GEMEL_BOOL, 1, call->where);
  gemel_value mask = pad_with(call, gemel_fill_at(call->inputs[0], no, call->where), yes);
  gemel_value zero = gemel__scalar_with(g, gemel__value_dtype(g), 0, call->where);
  return gemel_sum_at(gemel_where_at(mask, g, zero, call->where), NULL, call->where);
}

static gemel_status grad_pad(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = gemel_is_null(g) || !call->wanted[0] ? gemel__no_value : unpad(call, g);
  call->d_inputs[1] = gemel_is_null(g) || !call->wanted[1] ? gemel__no_value : padding_sum(call, g);
  return gemel__grad_done(call);
}

static gemel_status jvp_pad(gemel_derive *call) {
  gemel_value x = gemel__or_zeros(call->d_inputs[0], call->inputs[0], call->where);
  gemel_value value = gemel__or_zeros(call->d_inputs[1], call->inputs[1], call->where);
  call->d_outputs[0] = pad_with(call, x, value);
  return gemel__jvp_done(call);
}

/* Elements FIRST..FIRST + COUNT - 1 of an axis of N land inside the result. */
static int64_t landing(int64_t n, padding p, int64_t out, int64_t *first) {
  int64_t step = p.interior + 1;
  int64_t last = n - 1;
  *first = p.low < 0 ? (-p.low + step - 1) / step : 0;
  if (out - 1 - p.low < 0) {
    return 0;
  }
  if ((out - 1 - p.low) / step < last) {
    last = (out - 1 - p.low) / step;
  }
  return last < *first ? 0 : last - *first + 1;
}

static gemel_status run_pad(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  const char *from = x->data;
  char *to = out->data;
  gemel__fill_view(out, call->inputs[1].data);
  for (int k = 0; k < x->rank; k++) {
    padding p = padding_of(call->attrs, k);
    int64_t first;
    shape[k] = landing(x->shape[k], p, out->shape[k], &first);
    if (shape[k] == 0) {
      return GEMEL_OK;
    }
    strides[k] = out->strides[k] * (p.interior + 1);
    from += first * x->strides[k];
    to += (p.low + first * (p.interior + 1)) * out->strides[k];
  }
  gemel__copy_strided((size_t)gemel__view_item(x), x->rank, shape, to, strides, from, x->strides);
  return GEMEL_OK;
}

static const gemel_kernel pad_kernels[] = {{"plain", NULL, run_pad}, {NULL, NULL, NULL}};

static gemel_status normalize_pad(gemel_normalize *call) {
  gemel__normal_filled(call, 2, 0);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_pad = {.infer = infer_pad,
                                       .grad = grad_pad,
                                       .jvp = jvp_pad,
                                       .kernels = pad_kernels,
                                       .cost = gemel__cost_move,
                                       .normalize = normalize_pad,
                                       .facts = gemel__facts_first_two,
                                       .channels_last = gemel__first_channels_last};

/* ---- join ---- */

/* Checks that input K goes with input 0 but for AXIS. */
static gemel_status check_joined(const gemel_infer *call, size_t k, int axis) {
  int rank, other_rank;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  const gemel_dim *other = gemel__infer_dims(call, k, &other_rank);
  GEMEL__TRY(gemel__rule_same_dtype(call, 0, k));
  if (rank != other_rank) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "ranks %d and %d differ", rank, other_rank);
  }
  for (int j = 0; j < rank; j++) {
    if (j != axis && gemel__dim_compare(call->context, dims[j], other[j]) == GEMEL__DIFFERENT) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                              "inputs 0 and %zu differ along axis %d, which is not joined", k, j);
    }
  }
  return GEMEL_OK;
}

static gemel_status infer_join(gemel_infer *call) {
  int rank, axis, other_rank;
  gemel_dim result[GEMEL_MAX_RANK];
  if (call->n_inputs == 0) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "nothing to join");
  }
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  axis = gemel__axis(call->attrs[0].u.i, rank);
  if (axis < 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %lld is out of range for rank %d",
                            (long long)call->attrs[0].u.i, rank);
  }
  memcpy(result, dims, (size_t)rank * sizeof *dims);
  for (size_t k = 1; k < call->n_inputs; k++) {
    gemel_status status = check_joined(call, k, axis);
    if (status != GEMEL_OK) {
      return status;
    }
    result[axis] =
        gemel_dim_add(call->context, result[axis], gemel__infer_dims(call, k, &other_rank)[axis]);
  }
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), rank, result);
}

static gemel_status grad_join(gemel_derive *call) {
  int rank;
  gemel_dim *sizes;
  gemel_value parts = gemel__no_value;
  size_t n = call->n_inputs;
  gemel__value_dims(call->inputs[0], &rank);
  if (!gemel_is_null(call->d_outputs[0])) {
    int axis = gemel__axis(call->attrs[0].u.i, rank);
    sizes = gemel__alloc_array(n, sizeof *sizes);
    if (sizes == NULL) {
      return gemel__no_memory(call->error, "the sizes of joined parts");
    }
    for (size_t k = 0; k < n; k++) {
      sizes[k] = gemel__value_dims(call->inputs[k], &rank)[axis];
    }
    parts = gemel_split_at(call->d_outputs[0], n, sizes, &(gemel_split_options){.axis = axis},
                           call->where);
    gemel__free(sizes, n * sizeof *sizes);
  }
  for (size_t k = 0; k < n; k++) {
    call->d_inputs[k] = call->wanted[k] ? gemel_value_output(parts, (uint32_t)k) : gemel__no_value;
  }
  return gemel__grad_done(call);
}

/* Joins N values, zeros like LIKES[k] where one is null; null if all are. */
static gemel_value join_or_zeros(size_t n, const gemel_value *values, const gemel_value *likes,
                                 int64_t axis, gemel_location where, gemel_error *error) {
  gemel_value result = gemel__no_value;
  gemel_value *all = NULL;
  size_t present = 0;
  for (size_t k = 0; k < n; k++) {
    present += !gemel_is_null(values[k]);
  }
  if (present == 0) {
    return gemel__no_value;
  }
  all = gemel__alloc_array(n, sizeof *all);
  if (all == NULL) {
    gemel__no_memory(error, "the parts of a join");
    return gemel__graph_fail(likes[0].graph, GEMEL_NO_MEMORY, "out of memory for a join");
  }
  for (size_t k = 0; k < n; k++) {
    all[k] = gemel__or_zeros(values[k], likes[k], where);
  }
  result = gemel_join_at(n, all, &(gemel_join_options){.axis = axis}, where);
  gemel__free(all, n * sizeof *all);
  return result;
}

static gemel_status jvp_join(gemel_derive *call) {
  call->d_outputs[0] = join_or_zeros(call->n_inputs, call->d_inputs, call->inputs,
                                     call->attrs[0].u.i, call->where, call->error);
  return gemel__jvp_done(call);
}

/* Copies the block of PART's shape between PART and the place OFFSET along AXIS of WHOLE. */
static void copy_part(const gemel_kernel_call *call, const gemel_view *whole,
                      const gemel_view *part, int axis, int64_t offset, int to_part) {
  char *place = (char *)whole->data + offset * whole->strides[axis];
  if (to_part) {
    gemel__copy_parallel(call->threads, (size_t)gemel__view_item(part), part->rank, part->shape,
                         part->data, part->strides, place, whole->strides);
  } else {
    gemel__copy_parallel(call->threads, (size_t)gemel__view_item(part), part->rank, part->shape,
                         place, whole->strides, part->data, part->strides);
  }
}

static gemel_status run_join(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0];
  int axis = gemel__axis(call->attrs[0].u.i, out->rank);
  int64_t offset = 0;
  for (size_t k = 0; k < call->n_inputs; k++) {
    const gemel_view *part = &call->inputs[k];
    int there = part->data == (char *)out->data + offset * out->strides[axis];
    if (!there) {
      copy_part(call, out, part, axis, offset, 0);
    }
    offset += call->inputs[k].shape[axis];
  }
  return GEMEL_OK;
}

/* As at least half of the elements lie. */
static int join_channels_last(const gemel_kernel_call *call) {
  int64_t last = 0, all = 0;
  for (size_t k = 0; k < call->n_inputs; k++) {
    int64_t elements = gemel__view_elements(&call->inputs[k]);
    last += gemel__view_channels_last(&call->inputs[k]) ? elements : 0;
    all += elements;
  }
  return last > 0 && 2 * last >= all;
}

static const gemel_kernel join_kernels[] = {{"plain", NULL, run_join}, {NULL, NULL, NULL}};

static gemel_status normalize_join(gemel_normalize *call) {
  gemel__normal_axis(call, 0);
  return GEMEL_OK;
}

static int join_axis(const gemel_attr *attrs, int rank) {
  return gemel__axis(attrs[0].u.i, rank);
}

static unsigned join_facts(const gemel__fact_call *call) {
  return call->all;
}

const gemel__hooks gemel__hooks_join = {.infer = infer_join,
                                        .grad = grad_join,
                                        .jvp = jvp_join,
                                        .kernels = join_kernels,
                                        .cost = gemel__cost_move,
                                        .normalize = normalize_join,
                                        .facts = join_facts,
                                        .joins = join_axis,
                                        .channels_last = join_channels_last};

/* ---- split ---- */

/* Size K of attribute sizes, which may have more entries than an array on the stack. */
static gemel_dim part_size(const gemel_infer *call, size_t k) {
  const gemel_attr *sizes = &call->attrs[0];
  if ((sizes->kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_INT) {
    return gemel_dim_constant(call->context, sizes->u.ints[k]);
  }
  return gemel__infer_resolve(call, sizes->u.dims[k]);
}

static gemel_status split_outputs(gemel_infer *call, int rank, const gemel_dim *dims, int axis) {
  gemel_dim shape[GEMEL_MAX_RANK], total = gemel_dim_constant(call->context, 0);
  size_t count = call->attrs[0].count;
  memcpy(shape, dims, (size_t)rank * sizeof *dims);
  for (size_t k = 0; k < count; k++) {
    gemel_infer part = *call;
    gemel_type type = GEMEL_TYPE_NONE;
    gemel_status status;
    shape[axis] = part_size(call, k);
    total = gemel_dim_add(call->context, total, shape[axis]);
    part.outputs = &type;
    status = gemel__rule_result(&part, gemel__rule_dtype(call, 0), rank, shape);
    if (status != GEMEL_OK) {
      return status;
    }
    if (k < call->max_outputs) {
      call->outputs[k] = type;
    }
  }
  call->n_outputs = count;
  if (gemel__dim_compare(call->context, total, dims[axis]) == GEMEL__DIFFERENT) {
    char a[128], b[128];
    gemel_dim_format(call->context, total, a, sizeof a);
    gemel_dim_format(call->context, dims[axis], b, sizeof b);
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "the parts have %s in all, axis %d has %s", a,
                            axis, b);
  }
  return GEMEL_OK;
}

static gemel_status infer_split(gemel_infer *call) {
  int rank, axis;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  GEMEL__TRY(gemel__rule_sizes(call, 1));
  axis = gemel__axis(call->attrs[1].u.i, rank);
  if (axis < 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %lld is out of range for rank %d",
                            (long long)call->attrs[1].u.i, rank);
  }
  if (call->attrs[0].count == 0) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "a split into no parts");
  }
  return split_outputs(call, rank, dims, axis);
}

static gemel_status grad_split(gemel_derive *call) {
  call->d_inputs[0] = join_or_zeros(call->n_outputs, call->d_outputs, call->outputs,
                                    call->attrs[1].u.i, call->where, call->error);
  return gemel__grad_done(call);
}

static gemel_status jvp_split(gemel_derive *call) {
  int rank, axis;
  size_t n = call->n_outputs;
  gemel_dim *sizes = gemel__alloc_array(n, sizeof *sizes);
  if (sizes == NULL) {
    return gemel__no_memory(call->error, "the sizes of parts");
  }
  gemel__value_dims(call->inputs[0], &rank);
  axis = gemel__axis(call->attrs[1].u.i, rank);
  for (size_t k = 0; k < n; k++) {
    sizes[k] = gemel__value_dims(call->outputs[k], &rank)[axis];
  }
  gemel_value parts = gemel_split_at(call->d_inputs[0], n, sizes,
                                     &(gemel_split_options){.axis = axis}, call->where);
  for (size_t k = 0; k < n; k++) {
    call->d_outputs[k] = gemel_value_output(parts, (uint32_t)k);
  }
  gemel__free(sizes, n * sizeof *sizes);
  return gemel__jvp_done(call);
}

static gemel_status run_split(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int axis = gemel__axis(call->attrs[1].u.i, x->rank);
  int64_t offset = 0;
  for (size_t k = 0; k < call->n_outputs; k++) {
    copy_part(call, x, &call->outputs[k], axis, offset, 1);
    offset += call->outputs[k].shape[axis];
  }
  return GEMEL_OK;
}

static const gemel_kernel split_kernels[] = {{"plain", NULL, run_split}, {NULL, NULL, NULL}};

static gemel_status normalize_split(gemel_normalize *call) {
  gemel__normal_axis(call, 1);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_split = {.infer = infer_split,
                                         .grad = grad_split,
                                         .jvp = jvp_split,
                                         .kernels = split_kernels,
                                         .cost = gemel__cost_move,
                                         .normalize = normalize_split,
                                         .moves = 1,
                                         .channels_last = gemel__first_channels_last};
