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
                                radix_numbers keys, radix_numbers order) {
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
static __global__ void put_parts(divided_walk<1> walk, radix_numbers keys, radix_numbers order,
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

/* Of each of LENGTH places of the axis the first of the COUNT sorted PLACES that isn't below it. */
static __global__ void put_starts(long long length, long long count, const long long *places,
                                  long long *starts) {
  for (long long place = first_element(); place < length; place += element_step()) {
    long long low = 0, high = count;
    while (low < high) {
      const long long middle = low + (high - low) / 2;
      const bool below = places[middle] < place;
      low = below ? middle + 1 : low;
      high = below ? high : middle;
    }
    starts[place] = low;
  }
}
GEMEL_KERNEL(put_starts, put_starts)

/* PLACES has the places of the COUNT indices in their order, those of one place in the order of the
 * indices, and behind them where their parts of y begin. Along the axis elements of result and x
 * lie so many bytes apart. What is gone through is the indices, from FIRST on, or, with STARTS,
 * which has the first index of each, all places. */
struct putting {
  const long long *places, *starts;
  long long count, first, out_step, x_step;
};

/* Does all that is to be done at a place with N neighbouring elements, at OUT, X and Y but for
 * their places; where SLOT is an index, the first of its place does so. */
template <class Mode, int N>
DEVICE void put_at(const putting &p, long long slot, char *out, const char *x, const char *y) {
  typedef group<typename Mode::stored, N> several;
  const long long place = p.starts != NULL ? slot : p.places[slot];
  long long n = p.starts != NULL ? p.starts[slot] : slot;
  if (place < 0 || (p.starts == NULL && n > 0 && p.places[n - 1] == place)) {
    return;
  }
  several there = *(const several *)(x + place * p.x_step);
  typename Mode::value values[N];
  for (int k = 0; k < N; k++) {
    values[k] = Mode::load(&there.at[k]);
  }
  for (; n < p.count && p.places[n] == place; n++) {
    const several part = *(const several *)(y + p.places[p.count + n]);
    for (int k = 0; k < N; k++) {
      values[k] = Mode::made(values[k], Mode::load(&part.at[k]));
    }
  }
  for (int k = 0; k < N; k++) {
    Mode::store(&there.at[k], values[k]);
  }
  *(several *)(out + place * p.out_step) = there;
}

/* WALK goes over what is gone through, and for each over result, x and y without the axis, by 16
 * bytes if elements are side by side. */
template <class Mode>
static __global__ void put_elements(quick_walk<4> walk, putting p, bool side_by_side, char *out,
                                    const char *x, const char *y) {
  for (unsigned item = (unsigned)first_element(); item < walk.items;
       item += (unsigned)element_step()) {
    long long at[4];
    find_offsets(walk, item, at);
    const long long slot = p.first + at[3];
    if (side_by_side) {
      put_at<Mode, 16 / sizeof(typename Mode::stored)>(p, slot, out + at[0], x + at[1], y + at[2]);
    } else {
      put_at<Mode, 1>(p, slot, out + at[0], x + at[1], y + at[2]);
    }
  }
}

/* NEW is made of x, which is there, and y. */
#define PUT_KERNEL(mode, T, NEW)                                                                   \
  struct mode##_of_##T {                                                                           \
    typedef stored_##T stored;                                                                     \
    typedef value_##T value;                                                                       \
    DEVICE value load(const void *at) {                                                            \
      return load_##T(at);                                                                         \
    }                                                                                              \
    DEVICE void store(void *at, value x) {                                                         \
      store_##T(at, x);                                                                            \
    }                                                                                              \
    DEVICE value made(value x, value y) {                                                          \
      (void)x;                                                                                     \
      return NEW;                                                                                  \
    }                                                                                              \
  };                                                                                               \
  GEMEL_KERNEL(put_##mode##_##T, put_elements<mode##_of_##T>)
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

/* Whether places of the axis, and 0, need more than 32 bits. */
static bool is_wide(const gemel_kernel_call *call) {
  return call->inputs[0].shape[axis_of(call)] >= UINT32_MAX;
}

/* Whether all places are gone through, where x isn't the result's memory: it is copied meanwhile.
 */
static bool is_dense(const gemel_kernel_call *call) {
  return call->inputs[0].shape[axis_of(call)] <= 2 * count_of(&call->inputs[1]);
}

/* For places, parts of y, and starts. */
static size_t bytes_of_places(const gemel_kernel_call *call) {
  const long long length = call->inputs[0].shape[axis_of(call)];
  return (size_t)(2 * count_of(&call->inputs[1]) + (is_dense(call) ? length : 0)) *
         sizeof(long long);
}

static gemel_status prepare_put(gemel_kernel_call *call) {
  size_t bytes;
  gemel_status status = gemel__cuda_pairs_bytes(gemel__cuda_of(call), count_of(&call->inputs[1]),
                                                is_wide(call), &bytes, call->error);
  call->scratch_bytes = bytes + bytes_of_places(call);
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
  radix_numbers keys = pairs->keys[0], order = pairs->places[0];
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
  radix_numbers keys = pairs->keys[0], order = pairs->places[0];
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

/* Puts what WALK goes over, of 16 bytes each or of elements, in halves if that is too much. */
static gemel_status launch_put(const gemel_kernel_call *call, strided_walk<4> walk, putting p,
                               bool side_by_side, char *out, const char *x, const char *y) {
  strided_walk<4> rest;
  long long offsets[4];
  if (halve_long(&walk, &rest, offsets)) {
    gemel_status status = launch_put(call, walk, p, side_by_side, out, x, y);
    p.first += offsets[3];
    return status == GEMEL_OK ? launch_put(call, rest, p, side_by_side, out + offsets[0],
                                           x + offsets[1], y + offsets[2])
                              : status;
  }
  quick_walk<4> quick = quick_walk_of(walk, 1);
  void *arguments[] = {&quick, &p, &side_by_side, &out, &x, &y};
  return launch_over(gemel__cuda_of(call),
                     put_kernel(call->attrs[1].u.text, call->outputs[0].dtype), quick.items,
                     arguments, call->error);
}

/* Over COUNT indices or places, and for each over result, X and y without the axis; these axes stay
 * apart. */
static strided_walk<4> walk_of_put(const gemel_kernel_call *call, const gemel_view *x,
                                   long long count) {
  const gemel_view *out = &call->outputs[0], *y = &call->inputs[2];
  const gemel_view *const all[3] = {out, x, y};
  int64_t shape[3][GEMEL_MAX_RANK], strides[3][GEMEL_MAX_RANK];
  const int axis = axis_of(call);
  gemel_view without[3];
  for (int k = 0; k < 3; k++) {
    without[k] = *all[k];
    without[k].rank = 0;
    append_axes(&without[k], all[k], 0, axis, shape[k], strides[k]);
    append_axes(&without[k], all[k], axis + (k < 2 ? 1 : call->inputs[1].rank), all[k]->rank,
                shape[k], strides[k]);
  }
  const gemel_view *const views[3] = {&without[0], &without[1], &without[2]};
  const strided_walk<3> inner = walk_over(views);
  strided_walk<4> walk = {inner.elements * count, 1 + inner.axes, {count}, {{0}, {0}, {0}, {1}}};
  for (int k = 0; k < inner.axes; k++) {
    walk.sizes[k + 1] = inner.sizes[k];
    for (int side = 0; side < 3; side++) {
      walk.strides[side][k + 1] = inner.strides[side][k];
    }
  }
  return walk;
}

static gemel_status launch_starts(const gemel_kernel_call *call, const putting *p) {
  long long length = call->inputs[0].shape[axis_of(call)], count = p->count;
  void *arguments[] = {&length, &count, (void *)&p->places, (void *)&p->starts};
  return launch_over(gemel__cuda_of(call), gemel__kernel_put_starts(), length, arguments,
                     call->error);
}

/* Puts what P says to X, which is the result, or all of whose places are gone through. */
static gemel_status put_to(const gemel_kernel_call *call, const gemel_view *x, putting p) {
  const gemel_view *out = &call->outputs[0], *y = &call->inputs[2];
  const int axis = axis_of(call);
  strided_walk<4> walk = walk_of_put(call, x, p.starts != NULL ? x->shape[axis] : p.count);
  strided_walk<4> words = walk;
  uintptr_t places = (uintptr_t)out->data | (uintptr_t)x->data | (uintptr_t)y->data |
                     (uintptr_t)out->strides[axis] | (uintptr_t)x->strides[axis];
  for (int k = axis; k < axis + call->inputs[1].rank; k++) {
    places |= (uintptr_t)y->strides[k];
  }
  const bool side_by_side = widen_words(&words, gemel_dtype_size(out->dtype), places, 3) == 16;
  p.out_step = out->strides[axis];
  p.x_step = x->strides[axis];
  return walk.elements == 0
             ? GEMEL_OK
             : launch_put(call, side_by_side ? words : walk, p, side_by_side, (char *)out->data,
                          (const char *)x->data, (const char *)y->data);
}

/* Sorts the indices, of which PAIRS has the keys, into P's memory. */
static gemel_status sort_places(const gemel_kernel_call *call, radix_pairs *pairs,
                                const putting *p) {
  const unsigned bits = bits_for(call->inputs[0].shape[axis_of(call)] + 1, 63);
  gemel_status status = gemel__cuda_sort_pairs(gemel__cuda_of(call), pairs, bits, call->error);
  if (status == GEMEL_OK) {
    status = launch_parts(call, pairs, p->places);
  }
  return status == GEMEL_OK && p->starts != NULL ? launch_starts(call, p) : status;
}

static gemel_status run_put(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  const long long count = count_of(&call->inputs[1]), *places = (const long long *)call->scratch;
  const size_t bytes = bytes_of_places(call);
  const bool in_place = out->data == x->data, dense = is_dense(call) && !in_place;
  radix_pairs pairs = gemel__cuda_pairs(count, is_wide(call), (char *)call->scratch + bytes,
                                        call->scratch_bytes - bytes);
  const putting p = {places, dense ? places + 2 * count : NULL, count, 0, 0, 0};
  gemel_status status = GEMEL_OK;
  if (!in_place && !dense) {
    status = gemel__cuda_copy(gemel__cuda_of(call), out, x, call->error);
  }
  if (status == GEMEL_OK) {
    status = launch_keys(call, &pairs);
  }
  if (status == GEMEL_OK && count > 0) {
    status = sort_places(call, &pairs, &p);
  }
  return status == GEMEL_OK ? put_to(call, dense ? x : out, p) : status;
}

extern "C" const gemel_kernel gemel__cuda_take[] = {{"words", NULL, run_take}, {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_put[] = {{"sorted", prepare_put, run_put},
                                                   {NULL, NULL, NULL}};
