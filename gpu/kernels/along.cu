/* SPDX-License-Identifier: MIT
 *
 * cumsum: a thread for each lane, which is what lies along the axis. argsort: a thread for each
 * element, which counts how many of its lane come before it: that is its place. Both are plain; the
 * second takes time for the square of a lane's length, but all its threads at once.
 */
#include "kernels/host.h"

/* ---- Device ---- */

/* LANES leads to the first element of each, of operands result and x. */
struct along {
  strided_walk<2> lanes;
  long long length, out_step, x_step;
  int flag; /* cumsum: exclusive; argsort: descending */
};

#define CUMSUM(T, Sum, Result, ROUND)                                                              \
  static __global__ void cumsum_##T(along a, char *out, const char *x) {                           \
    for (long long lane = first_element(); lane < a.lanes.elements; lane += element_step()) {      \
      long long offsets[2];                                                                        \
      find_offsets(a.lanes, lane, offsets);                                                        \
      Sum sum = 0;                                                                                 \
      for (long long k = 0; k < a.length; k++) {                                                   \
        Sum before = sum;                                                                          \
        sum = sum + (Sum)load_##T(x + offsets[1] + k * a.x_step);                                  \
        store_##Result(out + offsets[0] + k * a.out_step, ROUND(a.flag ? before : sum));           \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(cumsum_##T, cumsum_##T)
CUMSUM(bool, uint64_t, i64, (int64_t))
CUMSUM(i8, uint64_t, i64, (int64_t))
CUMSUM(i16, uint64_t, i64, (int64_t))
CUMSUM(i32, uint64_t, i64, (int64_t))
CUMSUM(i64, uint64_t, i64, (int64_t))
CUMSUM(u8, uint64_t, u64, SAME)
CUMSUM(u16, uint64_t, u64, SAME)
CUMSUM(u32, uint64_t, u64, SAME)
CUMSUM(u64, uint64_t, u64, SAME)
CUMSUM(f16, float, f16, round_f16)
CUMSUM(bf16, float, bf16, round_bf16)
CUMSUM(f32, float, f32, SAME)
CUMSUM(f64, double, f64, SAME)

/* 1 if X stands before Y where both are the same number of places from an end: a NaN is above all
 * numbers, of which x != x tells it. */
template <class V> static __device__ bool is_below(V x, V y) {
  return x < y || (x == x && y != y);
}

#define ARGSORT(T)                                                                                 \
  static __global__ void argsort_##T(along a, char *out, const char *x) {                          \
    long long count = a.lanes.elements * a.length;                                                 \
    for (long long number = first_element(); number < count; number += element_step()) {           \
      long long offsets[2], place = number % a.length, before = 0;                                 \
      find_offsets(a.lanes, number / a.length, offsets);                                           \
      value_##T own = load_##T(x + offsets[1] + place * a.x_step);                                 \
      for (long long k = 0; k < a.length; k++) {                                                   \
        value_##T other = load_##T(x + offsets[1] + k * a.x_step);                                 \
        bool first = a.flag ? is_below(own, other) : is_below(other, own);                         \
        bool second = a.flag ? is_below(other, own) : is_below(own, other);                        \
        before += first || (!second && k < place);                                                 \
      }                                                                                            \
      store_i64(out + offsets[0] + before * a.out_step, place);                                    \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(argsort_##T, argsort_##T)
ARGSORT(bool)
ARGSORT(i8)
ARGSORT(i16)
ARGSORT(i32)
ARGSORT(i64)
ARGSORT(u8)
ARGSORT(u16)
ARGSORT(u32)
ARGSORT(u64)
ARGSORT(f16)
ARGSORT(bf16)
ARGSORT(f32)
ARGSORT(f64)

/* ---- Host ---- */

static const kernel_getter cumsums[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_cumsum_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};
static const kernel_getter argsorts[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_argsort_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};

/* The lanes of x and of the result; *FROM and *TO are where they begin. */
static along make_along(const gemel_kernel_call *call, bool backwards, char **from, char **to) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t shape[2][GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  bool chosen[GEMEL_MAX_RANK] = {};
  int axis = (int)(call->attrs[0].u.i + (call->attrs[0].u.i < 0 ? x->rank : 0));
  chosen[axis] = true;
  gemel_view of_out = some_axes(out, chosen, false, shape[0], strides[0]);
  gemel_view of_x = some_axes(x, chosen, false, shape[1], strides[1]);
  const gemel_view *const views[2] = {&of_out, &of_x};
  long long last = backwards && x->shape[axis] > 0 ? x->shape[axis] - 1 : 0;
  *from = (char *)x->data + last * x->strides[axis];
  *to = (char *)out->data + last * out->strides[axis];
  along a = {walk_over(views), x->shape[axis], out->strides[axis] * (backwards ? -1 : 1),
             x->strides[axis] * (backwards ? -1 : 1), call->attrs[1].u.i != 0};
  return a;
}

static gemel_status run_cumsum(const gemel_kernel_call *call) {
  char *from, *to;
  along a = make_along(call, call->attrs[2].u.i != 0, &from, &to);
  void *arguments[] = {&a, &to, &from};
  return launch_over(gemel__cuda_of(call), cumsums[call->inputs[0].dtype](),
                     a.length > 0 ? a.lanes.elements : 0, arguments, call->error);
}

static gemel_status run_argsort(const gemel_kernel_call *call) {
  char *from, *to;
  along a = make_along(call, false, &from, &to);
  void *arguments[] = {&a, &to, &from};
  return launch_over(gemel__cuda_of(call), argsorts[call->inputs[0].dtype](),
                     a.lanes.elements * a.length, arguments, call->error);
}

extern "C" const gemel_kernel gemel__cuda_cumsum[] = {{"lanes", NULL, run_cumsum},
                                                      {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_argsort[] = {{"counts", NULL, run_argsort},
                                                       {NULL, NULL, NULL}};
