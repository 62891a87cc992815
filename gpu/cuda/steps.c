/* SPDX-License-Identifier: MIT
 *
 * Clusters step by step, where no kernel can be compiled for one: each step by the kernel of its
 * operation. What other steps alone read is left in scratch memory, row-major, as results are.
 */
#include <string.h>
#include "cuda/cuda.h"
#include "cuda/fuse.h"

extern const gemel_kernel gemel__cuda_sum[], gemel__cuda_max[];

gemel_view gemel__cuda_broadcast(const gemel_view *in, const gemel_view *shape, int64_t *strides) {
  int shift = shape->rank - in->rank;
  for (int axis = 0; axis < shape->rank; axis++) {
    int fixed = axis < shift || (in->shape[axis - shift] == 1 && shape->shape[axis] != 1);
    strides[axis] = fixed ? 0 : in->strides[axis - shift];
  }
  return (gemel_view){in->dtype, shape->rank, shape->shape, strides, in->data};
}

/* The shape of what isn't by row. */
static const gemel_view *shape_of(const gemel_kernel_call *call) {
  return call->n_inputs > 0 ? &call->inputs[0] : &call->outputs[0];
}

/* How many of the first N steps leave their results in scratch memory. */
static size_t inner_steps(const gemel_kernel_call *call, size_t n) {
  size_t count = 0;
  for (size_t k = 0; k < n; k++) {
    count += call->steps[k].output < 0;
  }
  return count;
}

/* Scratch memory for one result. */
static size_t result_bytes(const gemel_kernel_call *call) {
  const gemel_view *shape = shape_of(call);
  size_t bytes = 8;
  for (int axis = 0; axis < shape->rank; axis++) {
    bytes *= (size_t)shape->shape[axis];
  }
  return (bytes + 63) / 64 * 64;
}

/* A view of one of CALL's shapes: with a last axis of 1 if BY_ROW. */
typedef struct shaped_view {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  gemel_view view;
} shaped_view;

static void take_shape(const gemel_kernel_call *call, int by_row, shaped_view *made) {
  const gemel_view *shape = shape_of(call);
  for (int axis = 0; axis < shape->rank; axis++) {
    made->shape[axis] = by_row && axis == shape->rank - 1 ? 1 : shape->shape[axis];
  }
  made->view.rank = shape->rank;
  made->view.shape = made->shape;
  made->view.strides = made->strides;
}

/* Where step K leaves its result, row-major: an output, or its part of the scratch memory. */
static void result_of(const gemel_kernel_call *call, size_t k, shaped_view *made) {
  const gemel_step *step = &call->steps[k];
  int64_t stride = (int64_t)gemel_dtype_size(step->dtype);
  take_shape(call, step->by_row, made);
  for (int axis = made->view.rank - 1; axis >= 0; axis--) {
    made->strides[axis] = stride;
    stride *= made->shape[axis];
  }
  made->view.dtype = step->dtype;
  made->view.data = step->output >= 0
                        ? call->outputs[step->output].data
                        : (char *)call->scratch + inner_steps(call, k) * result_bytes(call);
}

/* Operand IN as a step of LIKE's shape reads it. */
static void operand_of(const gemel_kernel_call *call, int in, const shaped_view *like,
                       shaped_view *made) {
  shaped_view from;
  if (in >= 0) {
    result_of(call, (size_t)in, &from);
  } else {
    from.view = call->inputs[-1 - in];
    memcpy(from.shape, from.view.shape, (size_t)from.view.rank * sizeof *from.shape);
    for (int axis = 0; axis < from.view.rank; axis++) { /* of one element where all are the same */
      from.shape[axis] = from.view.strides[axis] == 0 ? 1 : from.shape[axis];
    }
    from.view.shape = from.shape;
  }
  memcpy(made->shape, like->shape, sizeof made->shape);
  made->view = gemel__cuda_broadcast(&from.view, &like->view, made->strides);
  made->view.shape = made->shape;
}

/* The call of a reduction of IN to OUT. */
static gemel_kernel_call reduction_of(const gemel_kernel_call *call, const gemel_step *step,
                                      const gemel_view *in, const gemel_view *out) {
  static const gemel_attr attrs[2] = {{"axes", GEMEL_ATTR_INT, 0, {-1}},
                                      {"keepdims", GEMEL_ATTR_INT, 0, {1}}};
  gemel_kernel_call made = *call;
  made.n_inputs = made.n_outputs = 1;
  made.inputs = in;
  made.outputs = out;
  made.attrs = attrs;
  made.operation = step->operation;
  made.steps = NULL;
  made.n_steps = 0;
  made.scratch = (char *)call->scratch + inner_steps(call, call->n_steps) * result_bytes(call);
  return made;
}

static const gemel_kernel *reducing_kernel(const gemel_step *step) {
  return strcmp(step->operation->name, "sum") == 0 ? gemel__cuda_sum : gemel__cuda_max;
}

/* The operand of reduction STEP is of the whole shape. */
static void views_of_reduction(const gemel_kernel_call *call, size_t k, shaped_view *in,
                               shaped_view *out) {
  shaped_view whole;
  take_shape(call, 0, &whole);
  operand_of(call, call->steps[k].in[0], &whole, in);
  result_of(call, k, out);
}

gemel_status gemel__cuda_prepare_steps(gemel_kernel_call *call) {
  size_t most = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_steps && status == GEMEL_OK; k++) {
    if (gemel__reduces(&call->steps[k])) {
      shaped_view in, out;
      views_of_reduction(call, k, &in, &out);
      gemel_kernel_call made = reduction_of(call, &call->steps[k], &in.view, &out.view);
      status = reducing_kernel(&call->steps[k])->prepare(&made);
      most = made.scratch_bytes > most ? made.scratch_bytes : most;
    }
  }
  call->scratch_bytes = inner_steps(call, call->n_steps) * result_bytes(call) + most;
  return status;
}

static gemel_status run_reduction(const gemel_kernel_call *call, size_t k) {
  shaped_view in, out;
  views_of_reduction(call, k, &in, &out);
  gemel_kernel_call made = reduction_of(call, &call->steps[k], &in.view, &out.view);
  return reducing_kernel(&call->steps[k])->run(&made);
}

static gemel_status run_step(const gemel_kernel_call *call, size_t k) {
  const gemel_step *step = &call->steps[k];
  shaped_view out, operands[3];
  const gemel_view *in[3] = {NULL, NULL, NULL};
  result_of(call, k, &out);
  for (int i = 0; i < step->n_in; i++) {
    operand_of(call, step->in[i], &out, &operands[i]);
    in[i] = &operands[i].view;
  }
  return gemel__cuda_run_row(gemel__cuda_of(call), gemel__cuda_row_of(step->operation), &out.view,
                             in, step->n_in, call->error);
}

gemel_status gemel__cuda_run_steps(const gemel_kernel_call *call) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_steps && status == GEMEL_OK; k++) {
    status = gemel__reduces(&call->steps[k]) ? run_reduction(call, k) : run_step(call, k);
  }
  return status;
}
