/* SPDX-License-Identifier: MIT
 *
 * Operations that put elements elsewhere: all of them are copies from one layout to another, of
 * words of 1, 2, 4 or 8 bytes. A view operation is a copy of the view that its record describes;
 * pads and joins are copies into a part of the result.
 */
#include "kernels/host.h"

/* ---- Device ---- */

template <class Word>
static __global__ void copy_words(strided_walk<2> walk, char *to, const char *from) {
  for (long long k = first_element(); k < walk.elements; k += element_step()) {
    long long offsets[2];
    find_offsets(walk, k, offsets);
    *(Word *)(to + offsets[0]) = *(const Word *)(from + offsets[1]);
  }
}
GEMEL_KERNEL(copy_1, copy_words<uint8_t>)
GEMEL_KERNEL(copy_2, copy_words<uint16_t>)
GEMEL_KERNEL(copy_4, copy_words<uint32_t>)
GEMEL_KERNEL(copy_8, copy_words<uint64_t>)

/* ---- Host ---- */

static const void *copy_kernel(gemel_dtype dtype) {
  switch (gemel_dtype_size(dtype)) {
  case 1:
    return gemel__kernel_copy_1();
  case 2:
    return gemel__kernel_copy_2();
  case 4:
    return gemel__kernel_copy_4();
  default:
    return gemel__kernel_copy_8();
  }
}

extern "C" gemel_status gemel__cuda_copy(gemel_cuda *cuda, const gemel_view *to,
                                         const gemel_view *from, gemel_error *error) {
  const gemel_view *const views[2] = {to, from};
  strided_walk<2> walk = walk_over(views);
  void *target = to->data, *source = from->data;
  void *arguments[] = {&walk, &target, &source};
  return launch_over(cuda, copy_kernel(to->dtype), walk.elements, arguments, error);
}

static gemel_status copy_for(const gemel_kernel_call *call, const gemel_view *to,
                             const gemel_view *from) {
  return gemel__cuda_copy(gemel__cuda_of(call), to, from, call->error);
}

/* VIEW with other sizes, strides and place. */
static gemel_view part_of(const gemel_view *view, const int64_t *shape, const int64_t *strides,
                          int64_t offset) {
  gemel_view part = *view;
  part.shape = shape;
  part.strides = strides;
  part.data = (char *)view->data + offset;
  return part;
}

/* One element at DATA, in the shape of LIKE. */
static gemel_view repeated(const gemel_view *like, const gemel_view *value) {
  static const int64_t zeros[GEMEL_MAX_RANK] = {0};
  gemel_view view = *like;
  view.strides = zeros;
  view.data = value->data;
  return view;
}

/* ---- Views ---- */

static gemel_status run_view(const gemel_kernel_call *call) {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], offset;
  gemel_status status = call->operation->view(call, shape, strides, &offset);
  if (status == GEMEL_OK) {
    gemel_view from = part_of(&call->inputs[0], shape, strides, offset);
    from.rank = call->outputs[0].rank;
    status = copy_for(call, &call->outputs[0], &from);
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_view[] = {{"copy", NULL, run_view}, {NULL, NULL, NULL}};

/* The elements in row-major order, which is all that a reshape keeps. */
static gemel_status run_reshape(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int64_t strides[GEMEL_MAX_RANK], step = (int64_t)gemel_dtype_size(x->dtype);
  for (int axis = x->rank - 1; axis >= 0; axis--) {
    strides[axis] = step;
    step *= x->shape[axis];
  }
  gemel_view to = part_of(x, x->shape, strides, 0);
  to.data = call->outputs[0].data;
  return copy_for(call, &to, x);
}

extern "C" const gemel_kernel gemel__cuda_reshape[] = {{"copy", NULL, run_reshape},
                                                       {NULL, NULL, NULL}};

/* ---- fill and pad ---- */

static gemel_status run_fill(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0], *value = &call->inputs[1];
  int64_t strides[GEMEL_MAX_RANK];
  int shift = out->rank - value->rank;
  for (int axis = 0; axis < out->rank; axis++) {
    int fixed = axis < shift || (value->shape[axis - shift] == 1);
    strides[axis] = fixed ? 0 : value->strides[axis - shift];
  }
  gemel_view from = *out;
  from.strides = strides;
  from.data = value->data;
  return copy_for(call, out, &from);
}

extern "C" const gemel_kernel gemel__cuda_fill[] = {{"copy", NULL, run_fill}, {NULL, NULL, NULL}};

/* Along one axis of N elements: how many land inside OUT when they are LOW behind its beginning and
 * STEP apart, and which is the *FIRST. */
static int64_t landing(int64_t n, int64_t low, int64_t step, int64_t out, int64_t *first) {
  int64_t begin = low >= 0 ? 0 : (-low + step - 1) / step;
  int64_t end = out > low ? (out - low + step - 1) / step : 0;
  end = end < n ? end : n;
  *first = begin;
  return end > begin ? end - begin : 0;
}

static gemel_status run_pad(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  const gemel_attr *interior = &call->attrs[2];
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK], from = 0, to = 0;
  gemel_view value = repeated(out, &call->inputs[1]);
  gemel_status status = copy_for(call, out, &value);
  for (int axis = 0; axis < x->rank && status == GEMEL_OK; axis++) {
    int64_t low = call->attrs[0].u.ints[axis], first;
    int64_t step = 1 + (interior->kind == GEMEL_ATTR_NONE ? 0 : interior->u.ints[axis]);
    shape[axis] = landing(x->shape[axis], low, step, out->shape[axis], &first);
    if (shape[axis] == 0) {
      return GEMEL_OK;
    }
    strides[axis] = out->strides[axis] * step;
    from += first * x->strides[axis];
    to += (low + first * step) * out->strides[axis];
  }
  if (status == GEMEL_OK) {
    gemel_view target = part_of(out, shape, strides, to);
    gemel_view source = part_of(x, shape, x->strides, from);
    status = copy_for(call, &target, &source);
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_pad[] = {{"copy", NULL, run_pad}, {NULL, NULL, NULL}};

/* ---- join and split ---- */

static int axis_of(const gemel_attr *axis, int rank) {
  return (int)(axis->u.i < 0 ? axis->u.i + rank : axis->u.i);
}

static gemel_status run_join(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0];
  int axis = axis_of(&call->attrs[0], out->rank);
  int64_t offset = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_inputs && status == GEMEL_OK; k++) {
    const gemel_view *x = &call->inputs[k];
    gemel_view to = part_of(out, x->shape, out->strides, offset);
    status = copy_for(call, &to, x);
    offset = offset + x->shape[axis] * out->strides[axis];
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_join[] = {{"copy", NULL, run_join}, {NULL, NULL, NULL}};

static gemel_status run_split(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int axis = axis_of(&call->attrs[1], x->rank);
  int64_t offset = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < call->n_outputs && status == GEMEL_OK; k++) {
    const gemel_view *out = &call->outputs[k];
    gemel_view from = part_of(x, out->shape, x->strides, offset);
    status = copy_for(call, out, &from);
    offset += out->shape[axis] * x->strides[axis];
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_split[] = {{"copy", NULL, run_split}, {NULL, NULL, NULL}};
