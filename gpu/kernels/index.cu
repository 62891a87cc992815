/* SPDX-License-Identifier: MIT
 *
 * set_subtensor and inc_subtensor: the tensor is copied, unless the result has its memory already,
 * and then a window of it is written, or added to. The elements of a window are all different, so
 * every thread writes its own, four of them.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

/* ---- Device ---- */

#define ADD_KERNEL(T, F, ROUND)                                                                    \
  static __global__ void increment_##T(quick_walk<2> walk, char *to, const char *from) {           \
    const unsigned size = (unsigned)walk.sizes[0].size;                                            \
    for (unsigned item = (unsigned)first_element(); item < walk.items;                             \
         item += (unsigned)element_step()) {                                                       \
      long long at[2];                                                                             \
      const unsigned index = find_offsets(walk, item, at);                                         \
      value_##T x[AT_ONCE], y[AT_ONCE];                                                            \
      for (unsigned k = 0; k < AT_ONCE; k++) {                                                     \
        if (index + k * walk.pace < size) {                                                        \
          x[k] = load_##T(to + at[0] + k * walk.pace * walk.strides[0][0]);                        \
          y[k] = load_##T(from + at[1] + k * walk.pace * walk.strides[1][0]);                      \
        }                                                                                          \
      }                                                                                            \
      for (unsigned k = 0; k < AT_ONCE; k++) {                                                     \
        if (index + k * walk.pace < size) {                                                        \
          store_##T(to + at[0] + k * walk.pace * walk.strides[0][0],                               \
                    ROUND(add_##F(x[k], y[k], 0)));                                                \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(increment_##T, increment_##T)
ADD_KERNEL(bool, bool, SAME)
ADD_KERNEL(i8, i8, SAME)
ADD_KERNEL(i16, i16, SAME)
ADD_KERNEL(i32, i32, SAME)
ADD_KERNEL(i64, i64, SAME)
ADD_KERNEL(u8, u8, SAME)
ADD_KERNEL(u16, u16, SAME)
ADD_KERNEL(u32, u32, SAME)
ADD_KERNEL(u64, u64, SAME)
ADD_KERNEL(f16, f32, round_f16)
ADD_KERNEL(bf16, f32, round_bf16)
ADD_KERNEL(f32, f32, SAME)
ADD_KERNEL(f64, f64, SAME)

/* ---- Host ---- */

static const kernel_getter increments[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_increment_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};

/* The window of the result that is written, as the type rule has checked it, or a run-time start is
 * now; what x holds goes to the result. */
static gemel_status begin_window(const gemel_kernel_call *call, gemel_view *window,
                                 int64_t *strides) {
  const gemel_view *x = &call->inputs[0], *y = &call->inputs[1], *out = &call->outputs[0];
  const gemel_attr *step = &call->attrs[1];
  int64_t offset = 0;
  *window = *y;
  for (int axis = 0; axis < out->rank; axis++) {
    int64_t first = call->attrs[0].u.ints[axis], n = y->shape[axis];
    int64_t by = step->kind == GEMEL_ATTR_NONE ? 1 : step->u.ints[axis];
    int64_t last = first + (n - 1) * by, size = out->shape[axis];
    if (n > 0 && (first < 0 || first >= size || last < 0 || last >= size)) {
      return gemel__cuda_fail(
          call->error, GEMEL_BAD_VALUE, "index %lld of axis %d is outside its size %lld",
          (long long)(first < 0 || first >= size ? first : last), axis, (long long)size);
    }
    strides[axis] = out->strides[axis] * by;
    offset += n > 0 ? first * out->strides[axis] : 0;
  }
  window->strides = strides;
  window->data = (char *)out->data + offset;
  return out->data == x->data ? GEMEL_OK
                              : gemel__cuda_copy(gemel__cuda_of(call), out, x, call->error);
}

static gemel_status run_set(const gemel_kernel_call *call) {
  int64_t strides[GEMEL_MAX_RANK];
  gemel_view window;
  gemel_status status = begin_window(call, &window, strides);
  return status == GEMEL_OK
             ? gemel__cuda_copy(gemel__cuda_of(call), &window, &call->inputs[1], call->error)
             : status;
}

static gemel_status launch_increment(const gemel_kernel_call *call, strided_walk<2> walk, char *to,
                                     char *from) {
  strided_walk<2> rest;
  long long offsets[2];
  if (halve_long(&walk, &rest, offsets)) {
    gemel_status status = launch_increment(call, walk, to, from);
    return status == GEMEL_OK ? launch_increment(call, rest, to + offsets[0], from + offsets[1])
                              : status;
  }
  quick_walk<2> quick = quick_walk_of(walk);
  void *arguments[] = {&quick, &to, &from};
  return launch_over(gemel__cuda_of(call), increments[call->outputs[0].dtype](), quick.items,
                     arguments, call->error);
}

static gemel_status run_increment(const gemel_kernel_call *call) {
  int64_t strides[GEMEL_MAX_RANK];
  gemel_view window;
  gemel_status status = begin_window(call, &window, strides);
  if (status == GEMEL_OK) {
    const gemel_view *const views[2] = {&window, &call->inputs[1]};
    status =
        launch_increment(call, walk_over(views), (char *)window.data, (char *)call->inputs[1].data);
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_set_subtensor[] = {{"copy", NULL, run_set},
                                                             {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_inc_subtensor[] = {{"add", NULL, run_increment},
                                                             {NULL, NULL, NULL}};
