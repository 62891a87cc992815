/* SPDX-License-Identifier: MIT
 *
 * argsort. An element's key is a number without sign whose order is the elements'; of equal keys
 * the one at the lower place is first. In a short lane an element counts those that come before it:
 * that is its place there. A longer lane a block sorts in shared memory, by a bitonic network.
 * Lanes that are longer still are sorted all at once by CUB's radix sort, which is stable: all
 * elements by key, then these by lane.
 */
#define CCCL_DISABLE_EXCEPTIONS
#define CCCL_DISABLE_NVTX
#include <cub/device/device_radix_sort.cuh>
#include "kernels/sort.h"

/* ---- Device ---- */

/* SIGN is the highest bit of a number that may be negative, else 0; INFINITE has the bits of a
 * float's infinity, else none; FLIP has all bits if the order is descending. */
struct key_rule {
  uint64_t sign, infinite, flip;
};

/* Zeros are one, and a NaN is above all numbers. */
template <class Word> DEVICE Word key_of(Word bits, const key_rule &rule) {
  const Word sign = (Word)rule.sign, infinite = (Word)rule.infinite, size = (Word)(bits & ~sign);
  Word key = (Word)(infinite != 0 && (bits & sign) != 0 ? ~bits : bits ^ sign);
  if (infinite != 0) {
    key = size > infinite ? (Word) ~(Word)0 : size == 0 ? sign : key;
  }
  return (Word)(key ^ (Word)rule.flip);
}

/* LANES leads to the first element of each, of operands result and x. */
struct sorting {
  divided_walk<2> lanes;
  divisor length;
  long long out_step, x_step;
  key_rule rule;
};
enum { SHORT = 64, LONGEST = 1024 };

template <class Word> DEVICE Word key_at(const sorting &s, const char *lane, long long place) {
  return key_of(*(const Word *)(lane + place * s.x_step), s.rule);
}

template <class Word> DEVICE bool comes_before(Word x, long long place, Word y, long long other) {
  return x < y || (x == y && place < other);
}

/* For lanes of up to SHORT elements: a thread for each. */
template <class Word> static __global__ void argsort_short(sorting s, char *out, const char *x) {
  const long long length = s.length.size, count = s.lanes.elements * length;
  for (long long number = first_element(); number < count; number += element_step()) {
    const long long lane = divided(number, s.length), place = number - lane * length;
    long long at[2], target = 0;
    find_offsets(s.lanes, lane, at);
    const Word own = key_at<Word>(s, x + at[1], place);
    for (long long k = 0; k < length; k++) {
      target += comes_before(key_at<Word>(s, x + at[1], k), k, own, place);
    }
    store_i64(out + at[0] + target * s.out_step, place);
  }
}

/* Puts what stands at two slots, BY apart, of runs of SIZE in order, which is the opposite one in
 * every other run. */
template <class Word> DEVICE void exchange(Word *keys, int *places, int number, int by, int size) {
  const int low = 2 * number - (number & (by - 1)), high = low + by;
  const Word below = keys[low], above = keys[high];
  const int place_below = places[low], place_above = places[high];
  const bool wrong = comes_before(above, place_above, below, place_below);
  if (wrong == ((low & size) == 0)) {
    keys[low] = above;
    keys[high] = below;
    places[low] = place_above;
    places[high] = place_below;
  }
}

/* For lanes of up to SLOTS elements, a power of two, and LONGEST: a block for each. What is in
 * slots behind the lane comes last, by its place. */
template <class Word>
static __global__ void argsort_block(sorting s, int slots, char *out, const char *x) {
  GEMEL_SHARED(Word, keys, [LONGEST]);
  GEMEL_SHARED(int, places, [LONGEST]);
  const int step = (int)blockDim.x, length = (int)s.length.size;
  for (long long lane = blockIdx.x; lane < s.lanes.elements; lane += gridDim.x) {
    long long at[2];
    find_offsets(s.lanes, lane, at);
    for (int k = (int)threadIdx.x; k < slots; k += step) {
      keys[k] = k < length ? key_at<Word>(s, x + at[1], k) : (Word) ~(Word)0;
      places[k] = k;
    }
    for (int size = 2; size <= slots; size *= 2) {
      for (int by = size / 2; by > 0; by /= 2) {
        __syncthreads();
        for (int k = (int)threadIdx.x; k < slots / 2; k += step) {
          exchange(keys, places, k, by, size);
        }
      }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < length; k += step) {
      store_i64(out + at[0] + k * s.out_step, places[k]);
    }
    __syncthreads();
  }
}

/* WALK goes over x, lane by lane. */
template <class Word>
static __global__ void argsort_keys(divided_walk<1> walk, key_rule rule, radix_numbers keys,
                                    radix_numbers places, const char *x) {
  for (long long n = first_element(); n < walk.elements; n += element_step()) {
    long long at;
    find_offsets(walk, n, &at);
    set_nth(keys, n, key_of(*(const Word *)(x + at), rule));
    set_nth(places, n, (uint64_t)n);
  }
}
#define ARGSORT(bytes, Word)                                                                       \
  GEMEL_KERNEL(argsort_short_##bytes, argsort_short<Word>)                                         \
  GEMEL_KERNEL(argsort_block_##bytes, argsort_block<Word>)                                         \
  GEMEL_KERNEL(argsort_keys_##bytes, argsort_keys<Word>)
ARGSORT(1, uint8_t)
ARGSORT(2, uint16_t)
ARGSORT(4, uint32_t)
ARGSORT(8, uint64_t)

/* The lanes of COUNT places, as keys. */
static __global__ void argsort_lanes(long long count, divisor length, radix_numbers places,
                                     radix_numbers keys) {
  for (long long n = first_element(); n < count; n += element_step()) {
    set_nth(keys, n, (uint64_t)divided((long long)nth(places, n), length));
  }
}
GEMEL_KERNEL(argsort_lanes, argsort_lanes)

/* WALK goes over the result, lane by lane. */
static __global__ void argsort_places(divided_walk<1> walk, divisor length, radix_numbers places,
                                      char *out) {
  for (long long n = first_element(); n < walk.elements; n += element_step()) {
    const long long place = (long long)nth(places, n);
    long long at;
    find_offsets(walk, n, &at);
    store_i64(out + at, place - divided(place, length) * length.size);
  }
}
GEMEL_KERNEL(argsort_places, argsort_places)

/* ---- Host: pairs ---- */

enum { ALIGNMENT = 256 };

static size_t aligned(size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool wide_places(long long count) {
  return count > INT32_MAX;
}

radix_pairs gemel__cuda_pairs(long long count, bool wide, void *memory, size_t bytes) {
  const bool wide_place = wide_places(count), wide_key = wide || wide_place;
  const size_t keys = aligned((size_t)count * (wide_key ? 8 : 4));
  const size_t places = aligned((size_t)count * (wide_place ? 8 : 4));
  char *at = (char *)memory;
  return {count,
          {{at, wide_key}, {at + keys, wide_key}},
          {{at + 2 * keys, wide_place}, {at + 2 * keys + places, wide_place}},
          at + 2 * (keys + places),
          bytes - 2 * (keys + places)};
}

/* Sorts, or without ROOM sets *ROOM_BYTES. */
template <class Key, class Place>
static cudaError_t sort_as(radix_pairs *p, void *room, size_t *room_bytes, unsigned bits,
                           cudaStream_t stream) {
  cub::DoubleBuffer<Key> keys((Key *)p->keys[0].at, (Key *)p->keys[1].at);
  cub::DoubleBuffer<Place> places((Place *)p->places[0].at, (Place *)p->places[1].at);
  cudaError_t result = cub::DeviceRadixSort::SortPairs(room, *room_bytes, keys, places,
                                                       (Place)p->count, 0, (int)bits, stream);
  p->keys[0].at = keys.Current();
  p->keys[1].at = keys.Alternate();
  p->places[0].at = places.Current();
  p->places[1].at = places.Alternate();
  return result;
}

/* CUB takes an error that the application has not asked for yet for one of its launches'. */
static gemel_status call_cub(gemel_cuda *cuda, radix_pairs *p, void *room, size_t *room_bytes,
                             unsigned bits, gemel_error *error) {
  int before;
  gemel_status status = gemel__cuda_enter(cuda, &before, error);
  if (status == GEMEL_OK) {
    auto sort = p->places[0].wide ? sort_as<uint64_t, uint64_t>
                : p->keys[0].wide ? sort_as<uint64_t, uint32_t>
                                  : sort_as<uint32_t, uint32_t>;
    gemel__cuda_forget_error();
    status = gemel__cuda_check(error, sort(p, room, room_bytes, bits, gemel__cuda_stream(cuda)),
                               "a sort of CUB");
  }
  gemel__cuda_leave(cuda, before);
  return status;
}

gemel_status gemel__cuda_pairs_bytes(gemel_cuda *cuda, long long count, bool wide, size_t *bytes,
                                     gemel_error *error) {
  radix_pairs pairs = gemel__cuda_pairs(count, wide, NULL, 0);
  const size_t buffers = 0 - pairs.room_bytes;
  size_t room = 0;
  const unsigned bits = pairs.keys[0].wide ? 64 : 32;
  gemel_status status = call_cub(cuda, &pairs, NULL, &room, bits, error);
  *bytes = buffers + room;
  return status;
}

gemel_status gemel__cuda_sort_pairs(gemel_cuda *cuda, radix_pairs *pairs, unsigned bits,
                                    gemel_error *error) {
  size_t room_bytes = pairs->room_bytes;
  gemel__cuda_count_one(cuda, &cuda->counts.kernels);
  return call_cub(cuda, pairs, pairs->room, &room_bytes, bits, error);
}

/* ---- Host: argsort ---- */

static long long count_of(const gemel_view *x) {
  long long count = 1;
  for (int k = 0; k < x->rank; k++) {
    count *= x->shape[k];
  }
  return count;
}

static key_rule rule_of(gemel_dtype dtype, bool descending) {
  static const struct {
    uint64_t sign, infinite;
  } rules[GEMEL_DTYPE_COUNT] = {
#define RULE(E, name, bytes, kind, ctype)                                                          \
  {(kind) == GEMEL_KIND_SIGNED || (kind) == GEMEL_KIND_FLOAT ? (uint64_t)1 << (8 * (bytes)-1) : 0, \
   GEMEL_##E == GEMEL_F16    ? 0x7c00                                                              \
   : GEMEL_##E == GEMEL_BF16 ? 0x7f80                                                              \
   : GEMEL_##E == GEMEL_F32  ? 0x7f800000                                                          \
   : GEMEL_##E == GEMEL_F64  ? 0x7ff0000000000000                                                  \
                             : 0},
      GEMEL_DTYPE_TABLE(RULE)
#undef RULE
  };
  return {rules[dtype].sign, rules[dtype].infinite, descending ? ~(uint64_t)0 : 0};
}

static sorting sorting_of(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  int64_t shape[2][GEMEL_MAX_RANK], strides[2][GEMEL_MAX_RANK];
  bool chosen[GEMEL_MAX_RANK] = {};
  const int axis = axis_of(call);
  chosen[axis] = true;
  const gemel_view of_out = some_axes(out, chosen, false, shape[0], strides[0]);
  const gemel_view of_x = some_axes(x, chosen, false, shape[1], strides[1]);
  const gemel_view *const views[2] = {&of_out, &of_x};
  return {divided_walk_of(walk_over(views)), divisor_of(x->shape[axis]), out->strides[axis],
          x->strides[axis], rule_of(x->dtype, call->attrs[1].u.i != 0)};
}

/* X with its axis AXIS behind the others. */
static divided_walk<1> walk_by_lanes(const gemel_view *x, int axis) {
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  bool chosen[GEMEL_MAX_RANK] = {};
  chosen[axis] = true;
  gemel_view lanes = some_axes(x, chosen, false, shape, strides);
  shape[lanes.rank] = x->shape[axis];
  strides[lanes.rank++] = x->strides[axis];
  const gemel_view *const views[1] = {&lanes};
  return divided_walk_of(walk_over(views));
}

static bool is_wide(const gemel_view *x) {
  return gemel_dtype_size(x->dtype) == 8;
}

static gemel_status prepare_argsort(gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  call->scratch_bytes = 0;
  return x->shape[axis_of(call)] <= LONGEST
             ? GEMEL_OK
             : gemel__cuda_pairs_bytes(gemel__cuda_of(call), count_of(x), is_wide(x),
                                       &call->scratch_bytes, call->error);
}

static gemel_status launch_keys(const gemel_kernel_call *call, const radix_pairs *pairs) {
  static const kernel_getter kernels[] = {
      gemel__kernel_argsort_keys_1, gemel__kernel_argsort_keys_2, gemel__kernel_argsort_keys_4,
      gemel__kernel_argsort_keys_8};
  const gemel_view *x = &call->inputs[0];
  divided_walk<1> walk = walk_by_lanes(x, axis_of(call));
  key_rule rule = rule_of(x->dtype, call->attrs[1].u.i != 0);
  radix_numbers keys = pairs->keys[0], places = pairs->places[0];
  const void *from = x->data;
  void *arguments[] = {&walk, &rule, &keys, &places, &from};
  return launch_over(gemel__cuda_of(call), kernel_for(kernels, gemel_dtype_size(x->dtype)),
                     walk.elements, arguments, call->error);
}

/* Sorts by lane what is sorted by key. */
static gemel_status sort_by_lane(const gemel_kernel_call *call, radix_pairs *pairs,
                                 divisor length) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  void *arguments[] = {&pairs->count, &length, &pairs->places[0], &pairs->keys[0]};
  gemel_status status =
      launch_over(cuda, gemel__kernel_argsort_lanes(), pairs->count, arguments, call->error);
  return status == GEMEL_OK
             ? gemel__cuda_sort_pairs(cuda, pairs, bits_for(pairs->count / length.size, 63),
                                      call->error)
             : status;
}

static gemel_status launch_places(const gemel_kernel_call *call, const radix_pairs *pairs,
                                  divisor length) {
  const gemel_view *out = &call->outputs[0];
  divided_walk<1> walk = walk_by_lanes(out, axis_of(call));
  radix_numbers places = pairs->places[0];
  void *to = out->data, *arguments[] = {&walk, &length, &places, &to};
  return launch_over(gemel__cuda_of(call), gemel__kernel_argsort_places(), walk.elements, arguments,
                     call->error);
}

static gemel_status sort_long(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  const long long count = count_of(x);
  const divisor length = divisor_of(x->shape[axis_of(call)]);
  radix_pairs pairs = gemel__cuda_pairs(count, is_wide(x), call->scratch, call->scratch_bytes);
  gemel_status status = count > 0 ? launch_keys(call, &pairs) : GEMEL_OK;
  if (status == GEMEL_OK && count > 0) {
    status = gemel__cuda_sort_pairs(gemel__cuda_of(call), &pairs,
                                    8 * (unsigned)gemel_dtype_size(x->dtype), call->error);
  }
  if (status == GEMEL_OK && count > length.size) {
    status = sort_by_lane(call, &pairs, length);
  }
  return status == GEMEL_OK ? launch_places(call, &pairs, length) : status;
}

static gemel_status run_argsort(const gemel_kernel_call *call) {
  static const kernel_getter shorts[] = {
      gemel__kernel_argsort_short_1, gemel__kernel_argsort_short_2, gemel__kernel_argsort_short_4,
      gemel__kernel_argsort_short_8};
  static const kernel_getter blocks[] = {
      gemel__kernel_argsort_block_1, gemel__kernel_argsort_block_2, gemel__kernel_argsort_block_4,
      gemel__kernel_argsort_block_8};
  const gemel_view *x = &call->inputs[0];
  const long long length = x->shape[axis_of(call)];
  if (length > LONGEST) {
    return sort_long(call);
  }
  const size_t bytes = gemel_dtype_size(x->dtype);
  sorting s = sorting_of(call);
  int slots = 1 << bits_for(length, 10);
  void *out = call->outputs[0].data, *from = x->data;
  void *of_short[] = {&s, &out, &from}, *of_block[] = {&s, &slots, &out, &from};
  gemel_cuda *cuda = gemel__cuda_of(call);
  return length <= SHORT ? launch_over(cuda, kernel_for(shorts, bytes), s.lanes.elements * length,
                                       of_short, call->error)
                         : launch_jobs(cuda, kernel_for(blocks, bytes), s.lanes.elements, slots / 2,
                                       of_block, call->error);
}

extern "C" const gemel_kernel gemel__cuda_argsort[] = {{"radix", prepare_argsort, run_argsort},
                                                       {NULL, NULL, NULL}};
