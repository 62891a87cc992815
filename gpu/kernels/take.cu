/* SPDX-License-Identifier: MIT
 *
 * take and put. A first kernel makes places of the indices; one that is out of range is a problem
 * of the call, and nothing is read or written at it. Then take has a thread for each element of its
 * result. Of put, which copies the tensor unless the result has its memory already, a thread has
 * one of the elements that x has without the axis, and goes through the indices in their order:
 * nothing is atomic, and results are the host's to the last bit.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

/* ---- Device ---- */

/* Of each index its place, 0 to N - 1 or -1, and where its part of the other operand begins: WALK
 * goes over the indices, and over that. */
template <class Index>
static __global__ void find_places(strided_walk<2> walk, long long n, const char *indices,
                                   long long *places, int *problem) {
  for (long long k = first_element(); k < walk.elements; k += element_step()) {
    long long offsets[2];
    find_offsets(walk, k, offsets);
    Index index = *(const Index *)(indices + offsets[0]);
    bool from_end = index < (Index)1 && index != (Index)0; /* never of an unsigned one */
    bool fits = from_end ? (long long)index >= -n : (uint64_t)index < (uint64_t)n;
    places[k] = !fits ? -1 : from_end ? (long long)index + n : (long long)index;
    places[walk.elements + k] = offsets[1];
    if (!fits) {
      atomicExch(problem, GEMEL__CUDA_BAD_INDEX);
    }
  }
}
GEMEL_KERNEL(find_places_i8, find_places<int8_t>)
GEMEL_KERNEL(find_places_i16, find_places<int16_t>)
GEMEL_KERNEL(find_places_i32, find_places<int32_t>)
GEMEL_KERNEL(find_places_i64, find_places<int64_t>)
GEMEL_KERNEL(find_places_u8, find_places<uint8_t>)
GEMEL_KERNEL(find_places_u16, find_places<uint16_t>)
GEMEL_KERNEL(find_places_u32, find_places<uint32_t>)
GEMEL_KERNEL(find_places_u64, find_places<uint64_t>)

/* WALK goes over result, x without the axis, and places; along the axis elements lie STEP bytes
 * apart. */
template <class Word>
static __global__ void take_words(strided_walk<3> walk, long long step, char *out, const char *x,
                                  const char *places) {
  for (long long k = first_element(); k < walk.elements; k += element_step()) {
    long long offsets[3];
    find_offsets(walk, k, offsets);
    long long place = *(const long long *)(places + offsets[2]);
    Word word = 0;
    if (place >= 0) {
      word = *(const Word *)(x + offsets[1] + place * step);
    }
    *(Word *)(out + offsets[0]) = word;
  }
}
GEMEL_KERNEL(take_1, take_words<uint8_t>)
GEMEL_KERNEL(take_2, take_words<uint16_t>)
GEMEL_KERNEL(take_4, take_words<uint32_t>)
GEMEL_KERNEL(take_8, take_words<uint64_t>)

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

static const void *place_kernel(gemel_dtype dtype) {
  switch (dtype) {
  case GEMEL_I8:
    return gemel__kernel_find_places_i8();
  case GEMEL_I16:
    return gemel__kernel_find_places_i16();
  case GEMEL_I32:
    return gemel__kernel_find_places_i32();
  case GEMEL_U8:
    return gemel__kernel_find_places_u8();
  case GEMEL_U16:
    return gemel__kernel_find_places_u16();
  case GEMEL_U32:
    return gemel__kernel_find_places_u32();
  case GEMEL_U64:
    return gemel__kernel_find_places_u64();
  default:
    return gemel__kernel_find_places_i64();
  }
}

static const void *take_kernel(gemel_dtype dtype) {
  switch (gemel_dtype_size(dtype)) {
  case 1:
    return gemel__kernel_take_1();
  case 2:
    return gemel__kernel_take_2();
  case 4:
    return gemel__kernel_take_4();
  default:
    return gemel__kernel_take_8();
  }
}

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

static gemel_status prepare(gemel_kernel_call *call) {
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

/* Fills the scratch memory: places, then where each part of OTHER, which is as x at the indices,
 * begins. */
static gemel_status launch_places(const gemel_kernel_call *call, const gemel_view *other) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  const gemel_view *indices = &call->inputs[1];
  int64_t shape[GEMEL_MAX_RANK], strides[GEMEL_MAX_RANK];
  int axis = axis_of(call);
  gemel_view parts = *other;
  parts.rank = 0;
  append_axes(&parts, other, axis, axis + indices->rank, shape, strides);
  const gemel_view *const views[2] = {indices, &parts};
  strided_walk<2> walk = walk_over(views);
  long long n = call->inputs[0].shape[axis];
  void *from = indices->data, *places = call->scratch, *problem = cuda->problem;
  void *arguments[] = {&walk, &n, &from, &places, &problem};
  gemel__cuda_may_fail(cuda);
  return launch_over(cuda, place_kernel(indices->dtype), walk.elements, arguments, call->error);
}

/* x and the places as the result lies: with strides of 0 along the others' axes. */
static gemel_status run_take(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *indices = &call->inputs[1], *out = &call->outputs[0];
  int64_t from[GEMEL_MAX_RANK], at[GEMEL_MAX_RANK], item = (int64_t)sizeof(long long);
  int axis = axis_of(call);
  gemel_view table = *out, places = *out;
  gemel_status status = launch_places(call, out);
  for (int k = out->rank - 1; k >= 0; k--) {
    bool of_index = k >= axis && k < axis + indices->rank;
    from[k] = of_index ? 0 : x->strides[k < axis ? k : k - indices->rank + 1];
    at[k] = of_index ? item : 0;
    item *= of_index ? out->shape[k] : 1;
  }
  table.strides = from;
  places.strides = at;
  const gemel_view *const views[3] = {out, &table, &places};
  strided_walk<3> walk = walk_over(views);
  long long step = x->strides[axis];
  void *to = out->data, *source = x->data, *scratch = call->scratch;
  void *arguments[] = {&walk, &step, &to, &source, &scratch};
  return status != GEMEL_OK ? status
                            : launch_over(gemel__cuda_of(call), take_kernel(out->dtype),
                                          walk.elements, arguments, call->error);
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

extern "C" const gemel_kernel gemel__cuda_take[] = {{"places", prepare, run_take},
                                                    {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_put[] = {{"lanes", prepare, run_put}, {NULL, NULL, NULL}};
