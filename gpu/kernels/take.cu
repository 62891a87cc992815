/* SPDX-License-Identifier: MIT
 *
 * take and put. An index that is out of range is a problem of the call, and nothing is read or
 * written at it. take has a thread for some words of its result, each of several elements where
 * those lie side by side. put copies the tensor unless the result has its memory already, and sorts
 * the indices by the places that they are of; then, for each place and each element that x has
 * without the axis, a thread goes through the place's indices in their order: nothing is atomic,
 * and results are the host's to the last bit.
 */
#include "kernels/scalar.h"
#include "kernels/sort.h"

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

/* WALK goes over the indices. The key of each is its place and one more, or 0; its number is where
 * it stands. */
static __global__ void put_keys(divided_walk<1> walk, indexing of, const char *indices,
                                numbers keys, numbers order) {
  for (long long n = first_element(); n < walk.elements; n += element_step()) {
    long long at;
    find_offsets(walk, n, &at);
    set_nth(keys, n, (uint64_t)(place_at(indices + at, of) + 1));
    set_nth(order, n, (uint64_t)n);
  }
}
GEMEL_KERNEL(put_keys, put_keys)

/* Of the sorted indices the places, and behind these where their parts of y begin, over which WALK
 * goes. */
static __global__ void put_parts(divided_walk<1> walk, numbers keys, numbers order,
                                 long long *places) {
  for (long long n = first_element(); n < walk.elements; n += element_step()) {
    long long at;
    find_offsets(walk, (long long)nth(order, n), &at);
    places[n] = (long long)nth(keys, n) - 1;
    places[walk.elements + n] = at;
  }
}
GEMEL_KERNEL(put_parts, put_parts)

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

/* The indices of a put by place, those of one place in their order: PLACES has COUNT of these, and
 * where the part of y at each begins. */
struct sorted_places {
  const long long *places;
  long long count;
};

/* WALK goes over the sorted indices, from FIRST on, and for each over result and y without the
 * axis. The first of a place does what all of them ask for; NEW is made of x, which is there, and
 * y. */
#define PUT_KERNEL(mode, T, NEW)                                                                   \
  static __global__ void put_##mode##_##T(quick_walk<3> walk, sorted_places sorted,                \
                                          long long first, long long step, char *out,              \
                                          const char *from) {                                      \
    for (unsigned item = (unsigned)first_element(); item < walk.items;                             \
         item += (unsigned)element_step()) {                                                       \
      long long at[3];                                                                             \
      find_offsets(walk, item, at);                                                                \
      long long n = first + at[2];                                                                 \
      const long long place = sorted.places[n];                                                    \
      if (place >= 0 && (n == 0 || sorted.places[n - 1] != place)) {                               \
        char *target = out + at[0] + place * step;                                                 \
        value_##T x = load_##T(target);                                                            \
        for (bool more = true; more; more = ++n < sorted.count && sorted.places[n] == place) {     \
          const long long part = sorted.places[sorted.count + n];                                  \
          value_##T y = load_##T(from + at[1] + part);                                             \
          x = NEW;                                                                                 \
        }                                                                                          \
        store_##T(target, x);                                                                      \
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

static long long count_of(const gemel_view *indices) {
  long long count = 1;
  for (int k = 0; k < indices->rank; k++) {
    count *= indices->shape[k];
  }
  return count;
}

static int axis_of(const gemel_kernel_call *call) {
  int64_t axis = call->attrs[0].u.i;
  return (int)(axis < 0 ? axis + call->inputs[0].rank : axis);
}

/* Whether places of the axis, and 0, need more than 32 bits. */
static bool is_wide(const gemel_kernel_call *call) {
  return call->inputs[0].shape[axis_of(call)] >= UINT32_MAX;
}

/* For places and parts of y, and for pairs to sort. */
static gemel_status prepare_put(gemel_kernel_call *call) {
  const long long count = count_of(&call->inputs[1]);
  size_t bytes;
  gemel_status status =
      gemel__cuda_pairs_bytes(gemel__cuda_of(call), count, is_wide(call), &bytes, call->error);
  call->scratch_bytes = bytes + 2 * (size_t)count * sizeof(long long);
  return status;
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

static gemel_status launch_keys(const gemel_kernel_call *call, const radix_pairs *pairs) {
  const gemel_view *const views[1] = {&call->inputs[1]};
  divided_walk<1> walk = divided_walk_of(walk_over(views));
  indexing of = indexing_of(call);
  numbers keys = pairs->keys[0], order = pairs->places[0];
  void *from = call->inputs[1].data, *arguments[] = {&walk, &of, &from, &keys, &order};
  return launch_over(gemel__cuda_of(call), gemel__kernel_put_keys(), walk.elements, arguments,
                     call->error);
}

static gemel_status launch_parts(const gemel_kernel_call *call, const radix_pairs *pairs,
                                 const long long *places) {
  const gemel_view *y = &call->inputs[2];
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  int axis = axis_of(call);
  gemel_view parts = *y;
  parts.rank = 0;
  append_axes(&parts, y, axis, axis + call->inputs[1].rank, shape, strides);
  const gemel_view *const views[1] = {&parts};
  divided_walk<1> walk = divided_walk_of(walk_over(views));
  numbers keys = pairs->keys[0], order = pairs->places[0];
  void *arguments[] = {&walk, &keys, &order, &places};
  return launch_over(gemel__cuda_of(call), gemel__kernel_put_parts(), walk.elements, arguments,
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

/* Puts what WALK goes over, from the sorted index FIRST on, in halves if that is too much. */
static gemel_status launch_put(const gemel_kernel_call *call, strided_walk<3> walk,
                               sorted_places sorted, long long first, char *out, char *y) {
  const gemel_view *to = &call->outputs[0];
  strided_walk<3> rest;
  long long offsets[3], step = to->strides[axis_of(call)];
  if (halve_long(&walk, &rest, offsets)) {
    gemel_status status = launch_put(call, walk, sorted, first, out, y);
    return status == GEMEL_OK ? launch_put(call, rest, sorted, first + offsets[2], out + offsets[0],
                                           y + offsets[1])
                              : status;
  }
  quick_walk<3> quick = quick_walk_of(walk, 1);
  void *arguments[] = {&quick, &sorted, &first, &step, &out, &y};
  return launch_over(gemel__cuda_of(call), put_kernel(call->attrs[1].u.text, to->dtype),
                     quick.items, arguments, call->error);
}

/* Over COUNT indices, and for each over result and y without the axis; these axes stay apart. */
static strided_walk<3> walk_of_put(const gemel_kernel_call *call, long long count) {
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
  const strided_walk<2> inner = walk_over(views);
  strided_walk<3> walk = {inner.elements * count, 1 + inner.axes, {count}, {{0}, {0}, {1}}};
  for (int k = 0; k < inner.axes; k++) {
    walk.sizes[k + 1] = inner.sizes[k];
    walk.strides[0][k + 1] = inner.strides[0][k];
    walk.strides[1][k + 1] = inner.strides[1][k];
  }
  return walk;
}

/* Puts all that there is to put. */
static gemel_status put_sorted(const gemel_kernel_call *call, radix_pairs *pairs,
                               const sorted_places *sorted) {
  const strided_walk<3> walk = walk_of_put(call, sorted->count);
  const unsigned bits = bits_for(call->inputs[0].shape[axis_of(call)] + 1, 63);
  gemel_status status = GEMEL_OK;
  if (walk.elements > 0) {
    status = gemel__cuda_sort_pairs(gemel__cuda_of(call), pairs, bits, call->error);
  }
  if (walk.elements > 0 && status == GEMEL_OK) {
    status = launch_parts(call, pairs, sorted->places);
  }
  return walk.elements > 0 && status == GEMEL_OK
             ? launch_put(call, walk, *sorted, 0, (char *)call->outputs[0].data,
                          (char *)call->inputs[2].data)
             : status;
}

static gemel_status run_put(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  const long long count = count_of(&call->inputs[1]), *places = (const long long *)call->scratch;
  const sorted_places sorted = {places, count};
  const size_t bytes = 2 * (size_t)count * sizeof(long long);
  radix_pairs pairs = gemel__cuda_pairs(count, is_wide(call), (char *)call->scratch + bytes,
                                        call->scratch_bytes - bytes);
  gemel_status status = GEMEL_OK;
  if (out->data != x->data) {
    status = gemel__cuda_copy(gemel__cuda_of(call), out, x, call->error);
  }
  if (status == GEMEL_OK) {
    status = launch_keys(call, &pairs);
  }
  return status == GEMEL_OK ? put_sorted(call, &pairs, &sorted) : status;
}

extern "C" const gemel_kernel gemel__cuda_take[] = {{"words", NULL, run_take}, {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_put[] = {{"sorted", prepare_put, run_put},
                                                   {NULL, NULL, NULL}};
