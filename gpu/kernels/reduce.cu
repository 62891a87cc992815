/* SPDX-License-Identifier: MIT
 *
 * sum, prod, max and argmax. One block of T threads computes a result: thread k reduces elements k,
 * k + T, k + 2 T and so on, in this order; the values of the threads are then reduced by a tree in
 * shared memory. If there are few results of many elements each, several blocks share one: each
 * writes a partial result to scratch memory, and a second kernel reduces these in the same way. So
 * the order of operations depends on the shape alone, and not on which block runs first.
 */
#include <type_traits>
#include "kernels/host.h"
#include "kernels/scalar.h"

enum { ELEMENTS_A_THREAD = 16, MOST_PARTS = 1024 };

/* ---- Device ---- */

/* KEPT walks over the results: for each its offset in the result, and that of its first element in
 * x. REDUCED walks over the elements of x from there. PARTS: how many blocks share a result. */
struct reduction {
  strided_walk<2> kept;
  strided_walk<1> reduced;
  long long parts;
};

/* Reduces the values of all threads of the block to one, which it returns. */
template <class Kind> static __device__ typename Kind::acc join_threads(typename Kind::acc own) {
  GEMEL_SHARED(typename Kind::acc, shared, [MOST_JOB_THREADS]);
  shared[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x] = Kind::join(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
  }
  typename Kind::acc all = shared[0];
  __syncthreads();
  return all;
}

/* Reduces part PART of the elements from X on. */
template <class Kind>
static __device__ typename Kind::acc reduce_part(const reduction &r, const char *x,
                                                 long long part) {
  typename Kind::acc own = Kind::nothing();
  long long length = (r.reduced.elements + (r.parts - 1)) / r.parts, end = (part + 1) * length;
  end = end < r.reduced.elements ? end : r.reduced.elements;
  for (long long k = part * length + threadIdx.x; k < end; k += blockDim.x) {
    long long offset[1];
    find_offsets(r.reduced, k, offset);
    own = Kind::join(own, Kind::load(x + offset[0], k));
  }
  return join_threads<Kind>(own);
}

/* Writes the results, or the parts to PARTS if there are several for each. */
template <class Kind>
static __global__ void reduce(reduction r, char *out, typename Kind::acc *parts, const char *x) {
  for (long long job = blockIdx.x; job < r.kept.elements * r.parts; job += gridDim.x) {
    long long number = job / r.parts, offsets[2];
    find_offsets(r.kept, number, offsets);
    typename Kind::acc all = reduce_part<Kind>(r, x + offsets[1], job % r.parts);
    if (threadIdx.x == 0 && r.parts == 1) {
      Kind::store(out + offsets[0], all);
    } else if (threadIdx.x == 0) {
      parts[job] = all;
    }
  }
}

/* Reduces the parts of each result. */
template <class Kind>
static __global__ void reduce_parts(reduction r, char *out, const typename Kind::acc *parts) {
  for (long long number = blockIdx.x; number < r.kept.elements; number += gridDim.x) {
    typename Kind::acc own = Kind::nothing();
    for (long long k = threadIdx.x; k < r.parts; k += blockDim.x) {
      own = Kind::join(own, parts[number * r.parts + k]);
    }
    own = join_threads<Kind>(own);
    long long offsets[2];
    find_offsets(r.kept, number, offsets);
    if (threadIdx.x == 0) {
      Kind::store(out + offsets[0], own);
    }
  }
}

/* A reduction of dtype T to dtype R with accumulators of type Acc. */
#define KIND(what, T, R, Acc, START, JOIN, FINISH)                                                 \
  struct what##_##T {                                                                              \
    typedef Acc acc;                                                                               \
    static __device__ Acc nothing() {                                                              \
      return START;                                                                                \
    }                                                                                              \
    static __device__ Acc load(const char *x, long long) {                                         \
      return (Acc)load_##T(x);                                                                     \
    }                                                                                              \
    static __device__ Acc join(Acc a, Acc b) {                                                     \
      return JOIN;                                                                                 \
    }                                                                                              \
    static __device__ void store(char *out, Acc a) {                                               \
      store_##R(out, FINISH(a));                                                                   \
    }                                                                                              \
  };                                                                                               \
  GEMEL_KERNEL(what##_##T, reduce<what##_##T>)                                                     \
  GEMEL_KERNEL(what##_parts_##T, reduce_parts<what##_##T>)

/* Integers wrap; those of all widths have the same sum and product modulo 2^64. */
#define SUM_AND_PROD(T, R, Acc, FINISH)                                                            \
  KIND(sum, T, R, Acc, 0, a + b, FINISH)                                                           \
  KIND(prod, T, R, Acc, 1, a *b, FINISH)
SUM_AND_PROD(bool, i64, uint64_t, (int64_t))
SUM_AND_PROD(i8, i64, uint64_t, (int64_t))
SUM_AND_PROD(i16, i64, uint64_t, (int64_t))
SUM_AND_PROD(i32, i64, uint64_t, (int64_t))
SUM_AND_PROD(i64, i64, uint64_t, (int64_t))
SUM_AND_PROD(u8, u64, uint64_t, SAME)
SUM_AND_PROD(u16, u64, uint64_t, SAME)
SUM_AND_PROD(u32, u64, uint64_t, SAME)
SUM_AND_PROD(u64, u64, uint64_t, SAME)
SUM_AND_PROD(f16, f16, float, round_f16)
SUM_AND_PROD(bf16, bf16, float, round_bf16)
SUM_AND_PROD(f32, f32, float, SAME)
SUM_AND_PROD(f64, f64, double, SAME)

#define MAX(T, Acc, START, JOIN) KIND(max, T, T, Acc, (Acc)START, JOIN, SAME)
MAX(bool, uint8_t, 0, a > b ? a : b)
MAX(i8, int8_t, INT8_MIN, a > b ? a : b)
MAX(i16, int16_t, INT16_MIN, a > b ? a : b)
MAX(i32, int32_t, INT32_MIN, a > b ? a : b)
MAX(i64, int64_t, INT64_MIN, a > b ? a : b)
MAX(u8, uint8_t, 0, a > b ? a : b)
MAX(u16, uint16_t, 0, a > b ? a : b)
MAX(u32, uint32_t, 0, a > b ? a : b)
MAX(u64, uint64_t, 0, a > b ? a : b)
MAX(f16, float, -INFINITY, maximum_f32(a, b, 0))
MAX(bf16, float, -INFINITY, maximum_f32(a, b, 0))
MAX(f32, float, -INFINITY, maximum_f32(a, b, 0))
MAX(f64, double, -(double)INFINITY, maximum_f64(a, b, 0))

/* A type of 8 bytes for the values of T. */
template <class T>
using of_eight_bytes =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

/* The largest element so far and its place; PLACE < 0: there is none. T has 8 bytes, so that no
 * byte between is left unwritten where parts go to scratch memory. */
template <class T> struct placed {
  T value;
  long long place;
};

/* NaN is larger than any number; of equals the first counts. */
template <class T> static __device__ placed<T> better(placed<T> a, placed<T> b) {
  if (a.place < 0 || b.place < 0) {
    return a.place < 0 ? b : a;
  }
  bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  bool equal = (a_nan && b_nan) || a.value == b.value;
  bool b_larger = b_nan ? !a_nan : b.value > a.value;
  return equal ? a.place < b.place ? a : b : b_larger ? b : a;
}

#define ARGMAX(T, stored, Value)                                                                   \
  struct argmax_##T {                                                                              \
    typedef placed<of_eight_bytes<Value>> acc;                                                     \
    static __device__ acc nothing() {                                                              \
      return {0, -1};                                                                              \
    }                                                                                              \
    static __device__ acc load(const char *x, long long k) {                                       \
      return {(of_eight_bytes<Value>)load_##T(x), k};                                              \
    }                                                                                              \
    static __device__ acc join(acc a, acc b) {                                                     \
      return better(a, b);                                                                         \
    }                                                                                              \
    static __device__ void store(char *out, acc a) {                                               \
      store_i64(out, a.place);                                                                     \
    }                                                                                              \
  };                                                                                               \
  GEMEL_KERNEL(argmax_##T, reduce<argmax_##T>)                                                     \
  GEMEL_KERNEL(argmax_parts_##T, reduce_parts<argmax_##T>)
ALL_TYPES(ARGMAX)

/* ---- Host ---- */

enum what { SUM, PROD, MAXIMUM, ARGMAXIMUM };

#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_sum_##name,
#define PROD_GETTER(E, name, bytes, kind, ctype) gemel__kernel_prod_##name,
#define MAX_GETTER(E, name, bytes, kind, ctype) gemel__kernel_max_##name,
#define ARGMAX_GETTER(E, name, bytes, kind, ctype) gemel__kernel_argmax_##name,
static const kernel_getter kernels[4][GEMEL_DTYPE_COUNT] = {{GEMEL_DTYPE_TABLE(GETTER)},
                                                            {GEMEL_DTYPE_TABLE(PROD_GETTER)},
                                                            {GEMEL_DTYPE_TABLE(MAX_GETTER)},
                                                            {GEMEL_DTYPE_TABLE(ARGMAX_GETTER)}};
#undef GETTER
#undef PROD_GETTER
#undef MAX_GETTER
#undef ARGMAX_GETTER
#define GETTER(E, name, bytes, kind, ctype) gemel__kernel_sum_parts_##name,
#define PROD_GETTER(E, name, bytes, kind, ctype) gemel__kernel_prod_parts_##name,
#define MAX_GETTER(E, name, bytes, kind, ctype) gemel__kernel_max_parts_##name,
#define ARGMAX_GETTER(E, name, bytes, kind, ctype) gemel__kernel_argmax_parts_##name,
static const kernel_getter parts_kernels[4][GEMEL_DTYPE_COUNT] = {
    {GEMEL_DTYPE_TABLE(GETTER)},
    {GEMEL_DTYPE_TABLE(PROD_GETTER)},
    {GEMEL_DTYPE_TABLE(MAX_GETTER)},
    {GEMEL_DTYPE_TABLE(ARGMAX_GETTER)}};

enum { ACC_BYTES = 16 }; /* at most */

/* Which axes of x are reduced. */
static void reduced_axes(const gemel_attr *axes, int rank, bool *reduced) {
  for (int k = 0; k < rank; k++) {
    reduced[k] = axes->kind == GEMEL_ATTR_NONE;
  }
  if (axes->kind == GEMEL_ATTR_INT) {
    reduced[axes->u.i + (axes->u.i < 0 ? rank : 0)] = true;
  } else if (axes->kind != GEMEL_ATTR_NONE) {
    for (size_t k = 0; k < axes->count; k++) {
      reduced[axes->u.ints[k] + (axes->u.ints[k] < 0 ? rank : 0)] = true;
    }
  }
}

/* Results lie row-major, without the reduced axes or with those of size 1. */
static reduction make_reduction(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0];
  int64_t shape[2][GEMEL_MAX_RANK], strides[3][GEMEL_MAX_RANK];
  bool reduced[GEMEL_MAX_RANK];
  reduced_axes(&call->attrs[0], x->rank, reduced);
  gemel_view kept = some_axes(x, reduced, false, shape[0], strides[0]);
  gemel_view lines = some_axes(x, reduced, true, shape[1], strides[1]);
  gemel_view out = kept;
  int64_t step = (int64_t)gemel_dtype_size(call->outputs[0].dtype);
  for (int axis = kept.rank - 1; axis >= 0; axis--) {
    strides[2][axis] = step;
    step *= kept.shape[axis];
  }
  out.strides = strides[2];
  const gemel_view *const outer[2] = {&out, &kept}, *const inner[1] = {&lines};
  reduction r;
  r.kept = walk_over(outer);
  r.reduced = walk_over(inner);
  r.parts = 1;
  return r;
}

/* Sets how many parts a result has: enough to fill a large GPU, unless parts would be too short.
 * The GPU at hand isn't asked, so that all GPUs give the same bits. */
static void cut(reduction *r) {
  long long most = r->reduced.elements / (MOST_JOB_THREADS * ELEMENTS_A_THREAD);
  long long wanted = r->kept.elements == 0 ? 1 : MOST_PARTS / r->kept.elements;
  wanted = wanted < most ? wanted : most;
  r->parts = wanted > 1 ? wanted : 1;
}

static gemel_status prepare_reduction(gemel_kernel_call *call) {
  reduction r = make_reduction(call);
  cut(&r);
  call->scratch_bytes = r.parts > 1 ? (size_t)(r.parts * r.kept.elements) * ACC_BYTES : 0;
  return GEMEL_OK;
}

static gemel_status run_reduction(const gemel_kernel_call *call, what w) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  gemel_dtype dtype = call->inputs[0].dtype;
  reduction r = make_reduction(call);
  void *x = call->inputs[0].data, *out = call->outputs[0].data, *parts = call->scratch;
  void *arguments[] = {&r, &out, &parts, &x};
  cut(&r);
  gemel_status status = launch_jobs(cuda, kernels[w][dtype](), r.kept.elements * r.parts,
                                    r.reduced.elements / r.parts, arguments, call->error);
  if (status == GEMEL_OK && r.parts > 1) {
    status = launch_jobs(cuda, parts_kernels[w][dtype](), r.kept.elements, r.parts, arguments,
                         call->error);
  }
  return status;
}

static gemel_status run_sum(const gemel_kernel_call *call) {
  return run_reduction(call, SUM);
}
static gemel_status run_prod(const gemel_kernel_call *call) {
  return run_reduction(call, PROD);
}
static gemel_status run_max(const gemel_kernel_call *call) {
  return run_reduction(call, MAXIMUM);
}
static gemel_status run_argmax(const gemel_kernel_call *call) {
  return run_reduction(call, ARGMAXIMUM);
}

extern "C" const gemel_kernel gemel__cuda_sum[] = {{"tree", prepare_reduction, run_sum},
                                                   {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_prod[] = {{"tree", prepare_reduction, run_prod},
                                                    {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_max[] = {{"tree", prepare_reduction, run_max},
                                                   {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_argmax[] = {{"tree", prepare_reduction, run_argmax},
                                                      {NULL, NULL, NULL}};
