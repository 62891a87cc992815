/* SPDX-License-Identifier: MIT
 *
 * cumsum: a thread for each lane, which is what lies along the axis. argsort: a merge sort with a
 * thread for each element. In its run, a short piece of its lane, an element counts those that come
 * before it: that is its place there. Then runs are merged two by two: each element looks up, by
 * bisection, how many of the other run come before it. Places go to and fro between the result and
 * scratch memory.
 */
#include "kernels/host.h"

/* ---- Device ---- */

/* LANES leads to the first element of each, of operands result and x. */
struct along {
  strided_walk<2> lanes;
  long long length, out_step, x_step;
  int exclusive;
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
        store_##Result(out + offsets[0] + k * a.out_step, ROUND(a.exclusive ? before : sum));      \
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

/* 1 if X, from PLACE of its lane, stands before Y, from another. */
template <class V>
static __device__ bool comes_before(V x, long long place, V y, long long other, bool descending) {
  bool first = descending ? is_below(y, x) : is_below(x, y);
  bool second = descending ? is_below(x, y) : is_below(y, x);
  return first || (!second && place < other);
}

/* One round of a sort: FROM has, of each lane of x, places in order within runs of RUN, and TO gets
 * them in order within runs of twice that; in the first round nothing is FROM, and TO gets runs of
 * RUN. */
enum { TO, FROM, X, SIDES, FIRST_RUN = 64 };
struct merging {
  strided_walk<SIDES> lanes;
  long long length, run, steps[SIDES];
  bool descending;
};

/* What stands at PLACE of the lane of x. */
#define X_AT(T, place) load_##T(x + at[X] + (place)*m.steps[X])
#define ARGSORT(T)                                                                                 \
  static __global__ void argsort_runs_##T(merging m, char *to, const char *x) {                    \
    long long count = m.lanes.elements * m.length;                                                 \
    for (long long number = first_element(); number < count; number += element_step()) {           \
      long long at[SIDES], place = number % m.length, begin = place - place % m.run;               \
      long long end = begin + m.run < m.length ? begin + m.run : m.length, target = begin;         \
      find_offsets(m.lanes, number / m.length, at);                                                \
      value_##T own = X_AT(T, place);                                                              \
      for (long long k = begin; k < end; k++) {                                                    \
        target += comes_before(X_AT(T, k), k, own, place, m.descending);                           \
      }                                                                                            \
      store_i64(to + at[TO] + target * m.steps[TO], place);                                        \
    }                                                                                              \
  }                                                                                                \
  static __global__ void argsort_merge_##T(merging m, char *to, const char *from, const char *x) { \
    long long count = m.lanes.elements * m.length;                                                 \
    for (long long number = first_element(); number < count; number += element_step()) {           \
      long long at[SIDES], slot = number % m.length, begin = slot - slot % m.run;                  \
      long long pair = begin - begin % (2 * m.run), other = begin == pair ? pair + m.run : pair;   \
      long long low = other < m.length ? other : m.length;                                         \
      long long last = other + m.run;                                                              \
      long long high = last < m.length ? last : m.length;                                          \
      find_offsets(m.lanes, number / m.length, at);                                                \
      long long place = load_i64(from + at[FROM] + slot * m.steps[FROM]);                          \
      value_##T own = X_AT(T, place);                                                              \
      long long target = pair + (slot - begin) - low;                                              \
      while (low < high) {                                                                         \
        long long middle = low + (high - low) / 2;                                                 \
        long long there = load_i64(from + at[FROM] + middle * m.steps[FROM]);                      \
        bool before = comes_before(X_AT(T, there), there, own, place, m.descending);               \
        low = before ? middle + 1 : low;                                                           \
        high = before ? high : middle;                                                             \
      }                                                                                            \
      store_i64(to + at[TO] + (target + low) * m.steps[TO], place);                                \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(argsort_runs_##T, argsort_runs_##T)                                                 \
  GEMEL_KERNEL(argsort_merge_##T, argsort_merge_##T)
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
static const kernel_getter argsort_runs[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_argsort_runs_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};
static const kernel_getter argsort_merges[GEMEL_DTYPE_COUNT] = {
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_argsort_merge_##name,
    GEMEL_DTYPE_TABLE(GETTER)
#undef GETTER
};

static int axis_of(const gemel_kernel_call *call) {
  int64_t axis = call->attrs[0].u.i;
  return (int)(axis + (axis < 0 ? call->inputs[0].rank : 0));
}

/* The lanes of x and of the result; *FROM and *TO are where they begin. */
static along make_along(const gemel_kernel_call *call, bool backwards, char **from, char **to) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t shape[2][GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  bool chosen[GEMEL_MAX_RANK] = {};
  int axis = axis_of(call);
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

/* Scratch memory for places, unless one run is all. */
static gemel_status prepare_argsort(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  size_t bytes = sizeof(int64_t);
  for (int k = 0; k < x->rank; k++) {
    bytes *= (size_t)x->shape[k];
  }
  call->scratch_bytes = x->shape[axis_of(call)] > FIRST_RUN ? bytes : 0;
  return GEMEL_OK;
}

/* The scratch memory as a tensor of the result's shape. */
static gemel_view spare_of(const gemel_kernel_call *call, int64_t *strides) {
  gemel_view spare = call->outputs[0];
  int64_t step = sizeof(int64_t);
  for (int k = spare.rank - 1; k >= 0; k--) {
    strides[k] = step;
    step *= spare.shape[k];
  }
  spare.data = call->scratch;
  spare.strides = strides;
  return spare;
}

static merging make_merging(const gemel_kernel_call *call, const gemel_view *to,
                            const gemel_view *from) {
  const gemel_view *const sides[SIDES] = {to, from, &call->inputs[0]};
  int64_t shape[SIDES][GEMEL_MAX_RANK], strides[SIDES][GEMEL_MAX_RANK];
  bool chosen[GEMEL_MAX_RANK] = {};
  gemel_view lanes[SIDES];
  merging m = {};
  int axis = axis_of(call);
  chosen[axis] = true;
  for (int k = 0; k < SIDES; k++) {
    lanes[k] = some_axes(sides[k], chosen, false, shape[k], strides[k]);
    m.steps[k] = sides[k]->strides[axis];
  }
  const gemel_view *const views[SIDES] = {&lanes[TO], &lanes[FROM], &lanes[X]};
  m.lanes = walk_over(views);
  m.length = to->shape[axis];
  m.run = FIRST_RUN;
  m.descending = call->attrs[1].u.i != 0;
  return m;
}

static gemel_status run_argsort(const gemel_kernel_call *call) {
  int64_t strides[GEMEL_MAX_RANK];
  gemel_view out = call->outputs[0], spare = spare_of(call, strides);
  const void *x = call->inputs[0].data;
  merging rounds[2] = {make_merging(call, &out, &spare), make_merging(call, &spare, &out)};
  char *data[2] = {(char *)out.data, (char *)spare.data};
  long long length = rounds[0].length, count = rounds[0].lanes.elements * length;
  int to = 0; /* as many changes of sides as will end at the result */
  for (long long run = FIRST_RUN; run < length; run *= 2) {
    to = 1 - to;
  }
  void *first[] = {&rounds[to], &data[to], &x};
  gemel_status status = launch_over(gemel__cuda_of(call), argsort_runs[call->inputs[0].dtype](),
                                    count, first, call->error);
  for (long long run = FIRST_RUN; run < length && status == GEMEL_OK; run *= 2) {
    to = 1 - to;
    rounds[to].run = run;
    void *next[] = {&rounds[to], &data[to], &data[1 - to], &x};
    status = launch_over(gemel__cuda_of(call), argsort_merges[call->inputs[0].dtype](), count, next,
                         call->error);
  }
  return status;
}

extern "C" const gemel_kernel gemel__cuda_cumsum[] = {{"lanes", NULL, run_cumsum},
                                                      {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_argsort[] = {{"merges", prepare_argsort, run_argsort},
                                                       {NULL, NULL, NULL}};
