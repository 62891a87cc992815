/* SPDX-License-Identifier: MIT
 *
 * take and put. An index that is out of range is a problem of the call, and nothing is read or
 * written at it. take has a thread for some words of its result, each of several elements where
 * those lie side by side. For put a first kernel makes places of the indices. Of put itself, which
 * copies the tensor unless the result has its memory already, a thread has one of the elements that
 * x has without the axis, and goes through the indices in their order: nothing is atomic, and
 * results are the host's to the last bit.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

/* ---- Device ---- */

/* What indices are, and the length of the axis that they are of. */
struct indexing {
  gemel_dtype dtype;
  long long length;
  int *problem;
};

/* The index at AT, of u64 as an i64 of the same bits. */
static __device__ long long index_at(const char *at, gemel_dtype dtype) {
  switch (dtype) {
  case GEMEL_I8:
    return *(const int8_t *)at;
  case GEMEL_I16:
    return *(const int16_t *)at;
  case GEMEL_I32:
    return *(const int32_t *)at;
  case GEMEL_U8:
    return *(const uint8_t *)at;
  case GEMEL_U16:
    return *(const uint16_t *)at;
  case GEMEL_U32:
    return *(const uint32_t *)at;
  default:
    return *(const long long *)at;
  }
}

/* The place that the index at AT is of, 0 to the length less 1; -1: none, which is a problem. An
 * index from 2^63 on, of u64, is none. */
static __device__ long long place_at(const char *at, const indexing &of) {
  const long long index = index_at(at, of.dtype);
  const long long place = index < 0 && of.dtype != GEMEL_U64 ? index + of.length : index;
  if (place >= 0 && place < of.length) {
    return place;
  }
  atomicExch(of.problem, GEMEL__CUDA_BAD_INDEX);
  return -1;
}

/* Of each index its place, or -1, and where its part of the other operand begins: WALK goes over
 * the indices, and over that. */
static __global__ void find_places(strided_walk<2> walk, indexing of, const char *indices,
                                   long long *places) {
  for (long long k = first_element(); k < walk.elements; k += element_step()) {
    long long offsets[2];
    find_offsets(walk, k, offsets);
    places[k] = place_at(indices + offsets[0], of);
    places[walk.elements + k] = offsets[1];
  }
}
GEMEL_KERNEL(find_places, find_places)

/* WALK goes over result, x without the axis, and indices; along the axis elements lie STEP bytes
 * apart. */
template <class Word>
static __global__ void take_words(quick_walk<3> walk, indexing of, long long step, char *out,
                                  const char *x, const char *indices) {
  const unsigned size = (unsigned)walk.sizes[0].size;
  for (unsigned item = (unsigned)first_element(); item < walk.items;
       item += (unsigned)element_step()) {
    long long at[3];
    const unsigned index = find_offsets(walk, item, at);
    Word words[AT_ONCE];
    for (unsigned k = 0; k < AT_ONCE; k++) {
      const long long ahead = k * walk.pace;
      words[k] = {};
      if (index + k * walk.pace < size) {
        const long long place = place_at(indices + at[2] + ahead * walk.strides[2][0], of);
        if (place >= 0) {
          words[k] = *(const Word *)(x + at[1] + ahead * walk.strides[1][0] + place * step);
        }
      }
    }
    for (unsigned k = 0; k < AT_ONCE; k++) {
      if (index + k * walk.pace < size) {
        *(Word *)(out + at[0] + k * walk.pace * walk.strides[0][0]) = words[k];
      }
    }
  }
}
GEMEL_KERNEL(take_1, take_words<uint8_t>)
GEMEL_KERNEL(take_2, take_words<uint16_t>)
GEMEL_KERNEL(take_4, take_words<uint32_t>)
GEMEL_KERNEL(take_8, take_words<uint64_t>)
GEMEL_KERNEL(take_16, take_words<sixteen_bytes>)

/* WALK goes over result and y at the first index; NEW is made of x, which is there, and y. */
#define PUT_KERNEL(mode, T, NEW)                                                                   \
  static __global__ void put_##mode##_##T(strided_walk<2> walk, long long count, long long step,   \
                                          char *out, const char *from, const long long *places) {  \
    for (long long k = first_element(); k < walk.elements; k += element_step()) {                  \
      long long offsets[2];                                                                        \
      find_offsets(walk, k, offsets);                                                              \
      for (long long j = 0; j < count; j++) {                                                      \
        if (places[j] >= 0) {                                                                      \
          char *at = out + offsets[0] + places[j] * step;                                          \
          [[maybe_unused]] value_##T x = load_##T(at);                                             \
          value_##T y = load_##T(from + offsets[1] + places[count + j]);                           \
          store_##T(at, NEW);                                                                      \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  GEMEL_KERNEL(put_##mode##_##T, put_##mode##_##T)
#define PUT_KERNELS(T, F, ROUND)                                                                   \
  PUT_KERNEL(set, T, y)                                                                            \
  PUT_KERNEL(add, T, ROUND(add_##F(x, y, 0)))                                                      \
  PUT_KERNEL(mul, T, ROUND(mul_##F(x, y, 0)))                                                      \
  PUT_KERNEL(min, T, minimum_##F(x, y, 0))                                                         \
  PUT_KERNEL(max, T, maximum_##F(x, y, 0))
PUT_KERNELS(bool, bool, SAME)
PUT_KERNELS(i8, i8, SAME)
PUT_KERNELS(i16, i16, SAME)
PUT_KERNELS(i32, i32, SAME)
PUT_KERNELS(i64, i64, SAME)
PUT_KERNELS(u8, u8, SAME)
PUT_KERNELS(u16, u16, SAME)
PUT_KERNELS(u32, u32, SAME)
PUT_KERNELS(u64, u64, SAME)
PUT_KERNELS(f16, f32, round_f16)
PUT_KERNELS(bf16, f32, round_bf16)
PUT_KERNELS(f32, f32, SAME)
PUT_KERNELS(f64, f64, SAME)

/* ---- Host ---- */

/* By the mode's first letters, which differ. */
static const void *put_kernel(const char *mode, gemel_dtype dtype) {
#define MODE_GETTERS(E, name, bytes, kind, ctype)                                                  \
  {gemel__kernel_put_set_##name, gemel__kernel_put_add_##name, gemel__kernel_put_mul_##name,       \
   gemel__kernel_put_min_##name, gemel__kernel_put_max_##name},
  static const kernel_getter puts[GEMEL_DTYPE_COUNT][5] = {GEMEL_DTYPE_TABLE(MODE_GETTERS)};
#undef MODE_GETTERS
  int number = mode[0] == 's'   ? 0
               : mode[0] == 'a' ? 1
               : mode[1] == 'u' ? 2
               : mode[1] == 'i' ? 3
                                : 4;
  return puts[dtype][number]();
}

static gemel_status prepare_put(gemel_kernel_call *call) {
  const gemel_view *indices = &call->inputs[1];
  size_t count = 1;
  for (int k = 0; k < indices->rank; k++) {
    count *= (size_t)indices->shape[k];
  }
  call->scratch_bytes = 2 * count * sizeof(long long);
  return GEMEL_OK;
}

static int axis_of(const gemel_kernel_call *call) {
  int64_t axis = call->attrs[0].u.i;
  return (int)(axis < 0 ? axis + call->inputs[0].rank : axis);
}

/* The axes BEGIN to END of VIEW, behind those that MADE has. */
static void append_axes(gemel_view *made, const gemel_view *view, int begin, int end,
                        int64_t *shape, int64_t *strides) {
  for (int k = begin; k < end; k++) {
    shape[made->rank] = view->shape[k];
    strides[made->rank++] = view->strides[k];
  }
  made->shape = shape;
  made->strides = strides;
}

/* What the indices are of, which may be wrong. */
static indexing indexing_of(const gemel_kernel_call *call) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  gemel__cuda_may_fail(cuda);
  return {call->inputs[1].dtype, call->inputs[0].shape[axis_of(call)], cuda->problem};
}

/* Fills the scratch memory: places, then where each part of OTHER, which is as x at the indices,
 * begins. */
static gemel_status launch_places(const gemel_kernel_call *call, const gemel_view *other) {
  const gemel_view *indices = &call->inputs[1];
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  int axis = axis_of(call);
  gemel_view parts = *other;
  parts.rank = 0;
  append_axes(&parts, other, axis, axis + indices->rank, shape, strides);
  const gemel_view *const views[2] = {indices, &parts};
  strided_walk<2> walk = walk_over(views);
  indexing of = indexing_of(call);
  void *from = indices->data, *places = call->scratch;
  void *arguments[] = {&walk, &of, &from, &places};
  return launch_over(gemel__cuda_of(call), gemel__kernel_find_places(), walk.elements, arguments,
                     call->error);
}

/* Takes what WALK goes over, of words of so many bytes, in halves if that is too much. */
static gemel_status launch_take(const gemel_kernel_call *call, strided_walk<3> walk, size_t word,
                                char *out, char *x, char *indices) {
  static const kernel_getter takes[] = {gemel__kernel_take_1, gemel__kernel_take_2,
                                        gemel__kernel_take_4, gemel__kernel_take_8,
                                        gemel__kernel_take_16};
  strided_walk<3> rest;
  long long offsets[3], step = call->inputs[0].strides[axis_of(call)];
  if (halve_long(&walk, &rest, offsets)) {
    gemel_status status = launch_take(call, walk, word, out, x, indices);
    return status == GEMEL_OK ? launch_take(call, rest, word, out + offsets[0], x + offsets[1],
                                            indices + offsets[2])
                              : status;
  }
  quick_walk<3> quick = quick_walk_of(walk);
  indexing of = indexing_of(call);
  void *arguments[] = {&quick, &of, &step, &out, &x, &indices};
  return launch_over(gemel__cuda_of(call), kernel_for(takes, word), quick.items, arguments,
                     call->error);
}

/* x and the indices as the result lies: with strides of 0 along the others' axes. */
static gemel_status run_take(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *indices = &call->inputs[1], *out = &call->outputs[0];
  int64_t from[GEMEL_MAX_RANK], at[GEMEL_MAX_RANK];
  int axis = axis_of(call);
  gemel_view table = *out, places = *out;
  for (int k = 0; k < out->rank; k++) {
    bool of_index = k >= axis && k < axis + indices->rank;
    from[k] = of_index ? 0 : x->strides[k < axis ? k : k - indices->rank + 1];
    at[k] = of_index ? indices->strides[k - axis] : 0;
  }
  table.strides = from;
  places.strides = at;
  const gemel_view *const views[3] = {out, &table, &places};
  strided_walk<3> walk = walk_over(views);
  uintptr_t all = (uintptr_t)out->data | (uintptr_t)x->data | (uintptr_t)x->strides[axis];
  size_t word = widen_words(&walk, gemel_dtype_size(out->dtype), all);
  return launch_take(call, walk, word, (char *)out->data, (char *)x->data, (char *)indices->data);
}

static gemel_status launch_put(const gemel_kernel_call *call) {
  const gemel_view *out = &call->outputs[0], *y = &call->inputs[2];
  int64_t shape[2][GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  int axis = axis_of(call), indices = call->inputs[1].rank;
  gemel_view lanes = *out, from = *y;
  lanes.rank = from.rank = 0;
  append_axes(&lanes, out, 0, axis, shape[0], strides[0]);
  append_axes(&lanes, out, axis + 1, out->rank, shape[0], strides[0]);
  append_axes(&from, y, 0, axis, shape[1], strides[1]);
  append_axes(&from, y, axis + indices, y->rank, shape[1], strides[1]);
  const gemel_view *const views[2] = {&lanes, &from};
  strided_walk<2> walk = walk_over(views);
  long long step = out->strides[axis];
  long long count = 1;
  for (int k = 0; k < indices; k++) {
    count *= call->inputs[1].shape[k];
  }
  void *to = out->data, *source = y->data, *scratch = call->scratch;
  void *arguments[] = {&walk, &count, &step, &to, &source, &scratch};
  return launch_over(gemel__cuda_of(call), put_kernel(call->attrs[1].u.text, out->dtype),
                     count > 0 ? walk.elements : 0, arguments, call->error);
}

static gemel_status run_put(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  gemel_status status = launch_places(call, &call->inputs[2]);
  if (status == GEMEL_OK && out->data != x->data) {
    status = gemel__cuda_copy(gemel__cuda_of(call), out, x, call->error);
  }
  return status == GEMEL_OK ? launch_put(call) : status;
}

extern "C" const gemel_kernel gemel__cuda_take[] = {{"words", NULL, run_take}, {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_put[] = {{"lanes", prepare_put, run_put},
                                                   {NULL, NULL, NULL}};
