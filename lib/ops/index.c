/* SPDX-License-Identifier: MIT
 *
 * Windows into a tensor: subtensor reads x[start + i * step], set_subtensor and inc_subtensor write
 * there. Starts and sizes may be known only at run time; what can be decided while the graph is
 * built is an error then, the rest when the numbers are there, in the same words. An empty window
 * may start anywhere. Steps are of either sign and never 0, so a window names no element twice.
 */
#include <string.h>
#include <gemel/ops.h>
#include "core/dtype.h"
#include "core/error.h"
#include "core/tensor.h"
#include "core/strided.h"
#include "core/value.h"
#include "cpu/walk.h"
#include "ops/facts.h"
#include "ops/rule.h"

static int64_t step_of(const gemel_attr *step, int axis) {
  return step->kind == GEMEL_ATTR_NONE ? 1 : step->u.ints[axis];
}

/* 1 if SIZE elements from START on, STEP apart, lie in 0..N - 1; *OUTSIDE is one that doesn't. */
static int window_fits(int64_t start, int64_t size, int64_t step, int64_t n, int64_t *outside) {
  int64_t reach, last;
  if (size <= 0) {
    return 1;
  }
  *outside = start;
  if (start < 0 || start >= n) {
    return 0;
  }
  if (__builtin_mul_overflow(size - 1, step, &reach) ||
      __builtin_add_overflow(start, reach, &last)) {
    *outside = step > 0 ? INT64_MAX : INT64_MIN;
    return 0;
  }
  *outside = last;
  return last >= 0 && last < n;
}

/* ---- The type rules' part ---- */

typedef struct window {
  int rank;
  const gemel_dim *dims; /* of x */
  gemel_dim start[GEMEL_MAX_RANK];
  gemel_dim size[GEMEL_MAX_RANK];
} window;

/* The last index of a window as a dim. */
static gemel_dim last_index(gemel_context *context, gemel_dim start, gemel_dim size, int64_t step) {
  gemel_dim count = gemel_dim_sub(context, size, gemel_dim_constant(context, 1));
  return gemel_dim_add(context, start,
                       gemel_dim_mul(context, count, gemel_dim_constant(context, step)));
}

/* 1 if INDEX is provably below 0 or at or behind N. */
static int provably_outside(gemel_context *context, gemel_dim index, gemel_dim n) {
  int64_t number;
  gemel_dim behind = gemel_dim_sub(context, index, n);
  return (gemel_dim_is_constant(context, index, &number) && number < 0) ||
         (gemel_dim_is_constant(context, behind, &number) && number >= 0);
}

/* With symbols among the numbers: refuses what is outside whatever they stand for. */
static gemel_status check_axis(const gemel_infer *call, const window *w, int k, int64_t step) {
  gemel_context *context = call->context;
  int64_t size, start, n, outside;
  char index[96], of[96];
  gemel_dim last = last_index(context, w->start[k], w->size[k], step);
  int fixed = gemel_dim_is_constant(context, w->size[k], &size);
  if (fixed && gemel_dim_is_constant(context, w->start[k], &start) &&
      gemel_dim_is_constant(context, w->dims[k], &n)) {
    if (window_fits(start, size, step, n, &outside)) {
      return GEMEL_OK;
    }
    return gemel__rule_fail(call, GEMEL_BAD_VALUE, "index %lld of axis %d is outside its size %lld",
                            (long long)outside, k, (long long)n);
  }
  if (!fixed || size <= 0) {
    return GEMEL_OK;
  }
  if (!provably_outside(context, last, w->dims[k])) {
    last = w->start[k];
    if (!provably_outside(context, last, w->dims[k])) {
      return GEMEL_OK;
    }
  }
  gemel_dim_format(context, last, index, sizeof index);
  gemel_dim_format(context, w->dims[k], of, sizeof of);
  return gemel__rule_fail(call, GEMEL_BAD_VALUE, "index %s of axis %d is outside its size %s",
                          index, k, of);
}

static gemel_status check_lists(const gemel_infer *call, int rank, const gemel_attr *list) {
  if (list->kind != GEMEL_ATTR_NONE && list->count != (size_t)rank) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s has %zu entries for rank %d", list->name,
                            list->count, rank);
  }
  return GEMEL_OK;
}

/* Checks the window whose start and size are filled in. */
static gemel_status check_window(const gemel_infer *call, const window *w, const gemel_attr *step) {
  for (int k = 0; k < w->rank; k++) {
    gemel_status status;
    if (step_of(step, k) == 0) {
      return gemel__rule_fail(call, GEMEL_BAD_VALUE, "step 0 along axis %d", k);
    }
    status = check_axis(call, w, k, step_of(step, k));
    if (status != GEMEL_OK) {
      return status;
    }
  }
  return GEMEL_OK;
}

/* ---- The kernels' part ---- */

/* Describes the window of X as strides and an offset in bytes, after checking that it is inside. */
static gemel_status locate(const gemel_kernel_call *call, const gemel_attr *start,
                           const gemel_attr *step, const int64_t *size, int64_t *strides,
                           int64_t *offset) {
  const gemel_view *x = &call->inputs[0];
  *offset = 0;
  for (int k = 0; k < x->rank; k++) {
    int64_t first = start->u.ints[k], outside;
    if (!window_fits(first, size[k], step_of(step, k), x->shape[k], &outside)) {
      return gemel__fail(call->error, GEMEL_BAD_VALUE,
                         "index %lld of axis %d is outside its size %lld", (long long)outside, k,
                         (long long)x->shape[k]);
    }
    strides[k] = x->strides[k] * step_of(step, k);
    *offset += size[k] > 0 ? first * x->strides[k] : 0;
  }
  return GEMEL_OK;
}

/* ---- subtensor ---- */

static gemel_status infer_subtensor(gemel_infer *call) {
  window w;
  gemel_status status = gemel__rule_sizes(call, 1);
  w.dims = gemel__infer_dims(call, 0, &w.rank);
  for (int k = 0; k < 3 && status == GEMEL_OK; k++) {
    status = check_lists(call, w.rank, &call->attrs[k]);
  }
  if (status == GEMEL_OK) {
    status = gemel__rule_dims(call, &call->attrs[0], w.start);
  }
  if (status == GEMEL_OK) {
    status = gemel__rule_dims(call, &call->attrs[1], w.size);
  }
  if (status == GEMEL_OK) {
    status = gemel__rule_result(call, gemel__rule_dtype(call, 0), w.rank, w.size);
  }
  return status != GEMEL_OK ? status : check_window(call, &w, &call->attrs[2]);
}

static const int64_t *steps(const gemel_attr *step) {
  return step->kind == GEMEL_ATTR_NONE ? NULL : step->u.ints;
}

static gemel_value window_of(const gemel_derive *call, gemel_value x, gemel_value like,
                             const gemel_attr *start, const gemel_attr *step) {
  gemel_dim starts[GEMEL_MAX_RANK];
  int rank;
  const gemel_dim *size = gemel__value_dims(like, &rank);
  gemel__derive_dims(call, start, starts);
  return gemel_subtensor_at(x, (size_t)rank, starts, (size_t)rank, size,
                            &(gemel_subtensor_options){.step = {step->count, steps(step)}},
                            call->where);
}

static gemel_value set_window(const gemel_derive *call, gemel_value x, gemel_value y,
                              const gemel_attr *start, const gemel_attr *step) {
  gemel_dim starts[GEMEL_MAX_RANK];
  size_t rank = gemel__derive_dims(call, start, starts);
  return gemel_set_subtensor_at(x, y, rank, starts,
                                &(gemel_set_subtensor_options){.step = {step->count, steps(step)}},
                                call->where);
}

static gemel_status grad_subtensor(gemel_derive *call) {
  call->d_inputs[0] = gemel__no_value;
  if (!gemel_is_null(call->d_outputs[0])) {
    gemel_value zeros = gemel__filled_like(call->inputs[0], 0, call->where);
    call->d_inputs[0] =
        set_window(call, zeros, call->d_outputs[0], &call->attrs[0], &call->attrs[2]);
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_subtensor(gemel_derive *call) {
  call->d_outputs[0] =
      window_of(call, call->d_inputs[0], call->outputs[0], &call->attrs[0], &call->attrs[2]);
  return gemel__jvp_done(call);
}

static gemel_status view_subtensor(const gemel_kernel_call *call, int64_t *shape, int64_t *strides,
                                   int64_t *offset) {
  memcpy(shape, call->attrs[1].u.ints, (size_t)call->inputs[0].rank * sizeof *shape);
  return locate(call, &call->attrs[0], &call->attrs[2], shape, strides, offset);
}

static gemel_status run_subtensor(const gemel_kernel_call *call) {
  int64_t strides[GEMEL_MAX_RANK], offset;
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  GEMEL__TRY(locate(call, &call->attrs[0], &call->attrs[2], out->shape, strides, &offset));
  gemel__copy_strided((size_t)gemel__view_item(x), out->rank, out->shape, out->data, out->strides,
                      (const char *)x->data + offset, strides);
  return GEMEL_OK;
}

static const gemel_kernel subtensor_kernels[] = {{"plain", NULL, run_subtensor},
                                                 {NULL, NULL, NULL}};

static gemel_status normalize_subtensor(gemel_normalize *call) {
  gemel__normal_filled(call, 2, 1);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_subtensor = {.infer = infer_subtensor,
                                             .grad = grad_subtensor,
                                             .jvp = jvp_subtensor,
                                             .kernels = subtensor_kernels,
                                             .view = view_subtensor,
                                             .cost = gemel__cost_move,
                                             .normalize = normalize_subtensor,
                                             .moves = 1};

/* ---- set_subtensor and inc_subtensor ---- */

static gemel_status infer_write(gemel_infer *call) {
  window w;
  int y_rank;
  const gemel_dim *size = gemel__infer_dims(call, 1, &y_rank);
  gemel_status status = gemel__rule_sizes(call, 2);
  w.dims = gemel__infer_dims(call, 0, &w.rank);
  if (status == GEMEL_OK) {
    status = gemel__rule_same_dtype(call, 0, 1);
  }
  if (status == GEMEL_OK && y_rank != w.rank) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "ranks %d and %d differ", w.rank, y_rank);
  }
  for (int k = 0; k < 2 && status == GEMEL_OK; k++) {
    status = check_lists(call, w.rank, &call->attrs[k]);
  }
  if (status == GEMEL_OK) {
    status = gemel__rule_dims(call, &call->attrs[0], w.start);
  }
  if (status != GEMEL_OK) {
    return status;
  }
  memcpy(w.size, size, (size_t)w.rank * sizeof *size);
  status = check_window(call, &w, &call->attrs[1]);
  return status != GEMEL_OK ? status
                            : gemel__rule_result(call, gemel__rule_dtype(call, 0), w.rank, w.dims);
}

static gemel_status grad_set_subtensor(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = call->d_inputs[1] = gemel__no_value;
  if (!gemel_is_null(g) && call->wanted[0]) {
    gemel_value zeros = gemel__filled_like(call->inputs[1], 0, call->where);
    call->d_inputs[0] = set_window(call, g, zeros, &call->attrs[0], &call->attrs[1]);
  }
  if (!gemel_is_null(g) && call->wanted[1]) {
    call->d_inputs[1] = window_of(call, g, call->inputs[1], &call->attrs[0], &call->attrs[1]);
  }
  return gemel__grad_done(call);
}

static gemel_status grad_inc_subtensor(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = call->wanted[0] ? g : gemel__no_value;
  call->d_inputs[1] = gemel__no_value;
  if (!gemel_is_null(g) && call->wanted[1]) {
    call->d_inputs[1] = window_of(call, g, call->inputs[1], &call->attrs[0], &call->attrs[1]);
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_set_subtensor(gemel_derive *call) {
  gemel_value x = gemel__or_zeros(call->d_inputs[0], call->inputs[0], call->where);
  gemel_value y = gemel__or_zeros(call->d_inputs[1], call->inputs[1], call->where);
  call->d_outputs[0] = set_window(call, x, y, &call->attrs[0], &call->attrs[1]);
  return gemel__jvp_done(call);
}

static gemel_status jvp_inc_subtensor(gemel_derive *call) {
  gemel_value x = gemel__or_zeros(call->d_inputs[0], call->inputs[0], call->where);
  gemel_dim starts[GEMEL_MAX_RANK];
  size_t rank = gemel__derive_dims(call, &call->attrs[0], starts);
  call->d_outputs[0] =
      gemel_is_null(call->d_inputs[1])
          ? x
          : gemel_inc_subtensor_at(x, call->d_inputs[1], rank, starts,
                                   &(gemel_inc_subtensor_options){
                                       .step = {call->attrs[1].count, steps(&call->attrs[1])}},
                                   call->where);
  return gemel__jvp_done(call);
}

/* Copies x to the result and finds the window there: its strides, and where it begins. */
static gemel_status copy_and_locate(const gemel_kernel_call *call, int64_t *strides, char **begin) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1], *out = &call->outputs[0];
  gemel_kernel_call in_result = *call;
  int64_t offset;
  in_result.inputs = out;
  GEMEL__TRY(locate(&in_result, &call->attrs[0], &call->attrs[1], y->shape, strides, &offset));
  if (out->data != x->data) {
    gemel__copy_view(out, x);
  }
  *begin = (char *)out->data + offset;
  return GEMEL_OK;
}

static gemel_status run_set_subtensor(const gemel_kernel_call *call) {
  const gemel_view *y = &call->inputs[1];
  int64_t strides[GEMEL_MAX_RANK];
  char *begin;
  GEMEL__TRY(copy_and_locate(call, strides, &begin));
  gemel__copy_strided((size_t)gemel__view_item(y), y->rank, y->shape, begin, strides, y->data,
                      y->strides);
  return GEMEL_OK;
}

/* Row functions that add; unsigned arithmetic wraps, which is what signed integers do here too. */
#define ADD_ROW(name, T, sum_statement)                                                            \
  static void add_row_##name(int64_t n, char *to, int64_t ts, const char *from, int64_t fs) {      \
    for (int64_t i = 0; i < n; i++, to += ts, from += fs) {                                        \
      T *x = (T *)to;                                                                              \
      T y = *(const T *)from;                                                                      \
      sum_statement;                                                                               \
    }                                                                                              \
  }
ADD_ROW(bool, uint8_t, *x = *x | y)
ADD_ROW(u8, uint8_t, *x = (uint8_t)(*x + y))
ADD_ROW(u16, uint16_t, *x = (uint16_t)(*x + y))
ADD_ROW(u32, uint32_t, *x = *x + y)
ADD_ROW(u64, uint64_t, *x = *x + y)
ADD_ROW(f16, uint16_t, *x = gemel__f32_to_f16(gemel__f16_to_f32(*x) + gemel__f16_to_f32(y)))
ADD_ROW(bf16, uint16_t, *x = gemel__f32_to_bf16(gemel__bf16_to_f32(*x) + gemel__bf16_to_f32(y)))
ADD_ROW(f32, float, *x = *x + y)
ADD_ROW(f64, double, *x = *x + y)

static gemel__row_function add_row(gemel_dtype dtype) {
  static const gemel__row_function by_dtype[GEMEL_DTYPE_COUNT] = {
      [GEMEL_BOOL] = add_row_bool, [GEMEL_I8] = add_row_u8,     [GEMEL_I16] = add_row_u16,
      [GEMEL_I32] = add_row_u32,   [GEMEL_I64] = add_row_u64,   [GEMEL_U8] = add_row_u8,
      [GEMEL_U16] = add_row_u16,   [GEMEL_U32] = add_row_u32,   [GEMEL_U64] = add_row_u64,
      [GEMEL_F16] = add_row_f16,   [GEMEL_BF16] = add_row_bf16, [GEMEL_F32] = add_row_f32,
      [GEMEL_F64] = add_row_f64};
  return by_dtype[dtype];
}

static gemel_status run_inc_subtensor(const gemel_kernel_call *call) {
  const gemel_view *y = &call->inputs[1];
  int64_t strides[GEMEL_MAX_RANK];
  char *begin;
  GEMEL__TRY(copy_and_locate(call, strides, &begin));
  gemel__walk(add_row(y->dtype), y->rank, y->shape, begin, strides, y->data, y->strides);
  return GEMEL_OK;
}

static const gemel_kernel set_kernels[] = {{"plain", NULL, run_set_subtensor}, {NULL, NULL, NULL}};
static const gemel_kernel inc_kernels[] = {{"plain", NULL, run_inc_subtensor}, {NULL, NULL, NULL}};

static gemel_status normalize_write(gemel_normalize *call) {
  gemel__normal_filled(call, 1, 1);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_set_subtensor = {.infer = infer_write,
                                                 .grad = grad_set_subtensor,
                                                 .jvp = jvp_set_subtensor,
                                                 .kernels = set_kernels,
                                                 .overwrites = 1,
                                                 .cost = gemel__cost_move,
                                                 .normalize = normalize_write,
                                                 .facts = gemel__facts_first_two};
const gemel__hooks gemel__hooks_inc_subtensor = {.infer = infer_write,
                                                 .grad = grad_inc_subtensor,
                                                 .jvp = jvp_inc_subtensor,
                                                 .kernels = inc_kernels,
                                                 .overwrites = 1,
                                                 .cost = gemel__cost_move,
                                                 .normalize = normalize_write};
