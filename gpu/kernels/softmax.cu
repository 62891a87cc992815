/* SPDX-License-Identifier: MIT
 *
 * softmax and cross_entropy: a block for each lane, which is what lies along the axis. The largest
 * element is found first, then the total of exp(x - largest) in f64, then the results are made.
 */
#include "kernels/host.h"
#include "kernels/scalar.h"

/* ---- Device ---- */

/* OUTER leads to the first element of each lane, of operands x, other and result; the lane itself
 * has N elements, STEPS bytes apart in x and other. */
struct lanes {
  strided_walk<3> outer;
  long long n, x_step, other_step;
};

static __device__ double sum_of_threads(double own) {
  GEMEL_SHARED(double, shared, [MOST_JOB_THREADS]);
  shared[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
  }
  double all = shared[0];
  __syncthreads();
  return all;
}

template <class T> static __device__ T larger(T x, T y);
template <> __device__ float larger<float>(float x, float y) {
  return maximum_f32(x, y, 0);
}
template <> __device__ double larger<double>(double x, double y) {
  return maximum_f64(x, y, 0);
}
template <class T> static __device__ T power(T x);
template <> __device__ float power<float>(float x) {
  return exp_f32(x, 0, 0);
}
template <> __device__ double power<double>(double x) {
  return exp_f64(x, 0, 0);
}

template <class T> static __device__ T largest_of_threads(T own) {
  GEMEL_SHARED(T, shared, [MOST_JOB_THREADS]);
  shared[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      shared[threadIdx.x] = larger(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
  }
  T all = shared[0];
  __syncthreads();
  return all;
}

/* An element type: what is calculated with, and how it is read and written. */
#define ELEMENT(T, ROUND)                                                                          \
  struct element_##T {                                                                             \
    typedef value_##T value;                                                                       \
    static __device__ value load(const char *x) {                                                  \
      return load_##T(x);                                                                          \
    }                                                                                              \
    static __device__ void store(char *x, value v) {                                               \
      store_##T(x, ROUND(v));                                                                      \
    }                                                                                              \
  };
ELEMENT(f16, round_f16)
ELEMENT(bf16, round_bf16)
ELEMENT(f32, SAME)
ELEMENT(f64, SAME)

template <class E> static __device__ typename E::value largest_of(const lanes &l, const char *x) {
  typename E::value own = -(typename E::value)INFINITY;
  for (long long k = threadIdx.x; k < l.n; k += blockDim.x) {
    own = larger(own, E::load(x + k * l.x_step));
  }
  return largest_of_threads(own);
}

template <class E>
static __device__ double total_of(const lanes &l, const char *x, typename E::value largest) {
  double own = 0;
  for (long long k = threadIdx.x; k < l.n; k += blockDim.x) {
    own += (double)power(E::load(x + k * l.x_step) - largest);
  }
  return sum_of_threads(own);
}

template <class E>
static __global__ void softmax_lanes(lanes l, const char *x, const char *, char *out) {
  for (long long lane = blockIdx.x; lane < l.outer.elements; lane += gridDim.x) {
    long long offsets[3];
    find_offsets(l.outer, lane, offsets);
    const char *from = x + offsets[0];
    typename E::value largest = largest_of<E>(l, from);
    typename E::value total = (typename E::value)total_of<E>(l, from, largest);
    for (long long k = threadIdx.x; k < l.n; k += blockDim.x) {
      E::store(out + offsets[2] + k * l.other_step,
               power(E::load(from + k * l.x_step) - largest) / total);
    }
  }
}

/* -sum(t log(softmax(x))) = sum(t (largest - x + log(total))) */
template <class E>
static __global__ void loss_lanes(lanes l, const char *x, const char *targets, char *out) {
  for (long long lane = blockIdx.x; lane < l.outer.elements; lane += gridDim.x) {
    long long offsets[3];
    find_offsets(l.outer, lane, offsets);
    const char *from = x + offsets[0], *with = targets + offsets[1];
    typename E::value largest = largest_of<E>(l, from);
    double log_total = log_f64(total_of<E>(l, from, largest), 0, 0), own = 0;
    for (long long k = threadIdx.x; k < l.n; k += blockDim.x) {
      own += (double)E::load(with + k * l.other_step) *
             (((double)largest - (double)E::load(from + k * l.x_step)) + log_total);
    }
    double loss = sum_of_threads(own);
    if (threadIdx.x == 0) {
      E::store(out + offsets[2], (typename E::value)loss);
    }
  }
}

/* The same for the number of the class that is the target; PROBLEM is set if there is no such
 * class. */
template <class E, class Index>
static __global__ void index_loss_lanes(lanes l, const char *x, const char *targets, char *out,
                                        int *problem) {
  for (long long lane = blockIdx.x; lane < l.outer.elements; lane += gridDim.x) {
    long long offsets[3];
    find_offsets(l.outer, lane, offsets);
    const char *from = x + offsets[0];
    typename E::value largest = largest_of<E>(l, from);
    double log_total = log_f64(total_of<E>(l, from, largest), 0, 0);
    Index target = *(const Index *)(targets + offsets[1]);
    bool fits = (uint64_t)target < (uint64_t)l.n; /* a negative one is huge */
    if (threadIdx.x == 0 && fits) {
      double at = (double)E::load(from + (long long)target * l.x_step);
      E::store(out + offsets[2], (typename E::value)(((double)largest - at) + log_total));
    } else if (threadIdx.x == 0) {
      E::store(out + offsets[2], (typename E::value)NAN);
      atomicExch(problem, GEMEL__CUDA_BAD_TARGET);
    }
  }
}

#define FLOAT_TYPES(X) X(f16) X(bf16) X(f32) X(f64)
#define KERNELS(T)                                                                                 \
  GEMEL_KERNEL(softmax_##T, softmax_lanes<element_##T>)                                            \
  GEMEL_KERNEL(loss_##T, loss_lanes<element_##T>)                                                  \
  GEMEL_KERNEL(index_loss_##T##_bool, index_loss_lanes<element_##T, uint8_t>)                      \
  GEMEL_KERNEL(index_loss_##T##_i8, index_loss_lanes<element_##T, int8_t>)                         \
  GEMEL_KERNEL(index_loss_##T##_i16, index_loss_lanes<element_##T, int16_t>)                       \
  GEMEL_KERNEL(index_loss_##T##_i32, index_loss_lanes<element_##T, int32_t>)                       \
  GEMEL_KERNEL(index_loss_##T##_i64, index_loss_lanes<element_##T, int64_t>)                       \
  GEMEL_KERNEL(index_loss_##T##_u16, index_loss_lanes<element_##T, uint16_t>)                      \
  GEMEL_KERNEL(index_loss_##T##_u32, index_loss_lanes<element_##T, uint32_t>)                      \
  GEMEL_KERNEL(index_loss_##T##_u64, index_loss_lanes<element_##T, uint64_t>)
FLOAT_TYPES(KERNELS)

/* ---- Host ---- */

#define BY_FLOAT(before, dtype, after)                                                             \
  ((dtype) == GEMEL_F16    ? gemel__kernel_##before##_f16##after()                                 \
   : (dtype) == GEMEL_BF16 ? gemel__kernel_##before##_bf16##after()                                \
   : (dtype) == GEMEL_F32  ? gemel__kernel_##before##_f32##after()                                 \
                           : gemel__kernel_##before##_f64##after())

static const void *index_kernel(gemel_dtype dtype, gemel_dtype targets) {
  switch (targets) {
  case GEMEL_I8:
    return BY_FLOAT(index_loss, dtype, _i8);
  case GEMEL_I16:
    return BY_FLOAT(index_loss, dtype, _i16);
  case GEMEL_I32:
    return BY_FLOAT(index_loss, dtype, _i32);
  case GEMEL_I64:
    return BY_FLOAT(index_loss, dtype, _i64);
  case GEMEL_U16:
    return BY_FLOAT(index_loss, dtype, _u16);
  case GEMEL_U32:
    return BY_FLOAT(index_loss, dtype, _u32);
  case GEMEL_U64:
    return BY_FLOAT(index_loss, dtype, _u64);
  default: /* bytes, and 0 and 1 of bools */
    return BY_FLOAT(index_loss, dtype, _bool);
  }
}

/* VIEW without axis AXIS, if it has the rank of the logits. */
static gemel_view without_axis(const gemel_view *view, int rank, int axis, int64_t *shape,
                               int64_t *strides) {
  gemel_view made = *view;
  if (view->rank != rank) {
    return made;
  }
  made.rank = 0;
  for (int k = 0; k < rank; k++) {
    if (k != axis) {
      shape[made.rank] = view->shape[k];
      strides[made.rank++] = view->strides[k];
    }
  }
  made.shape = shape;
  made.strides = strides;
  return made;
}

static lanes make_lanes(const gemel_view *x, const gemel_view *other, const gemel_view *out,
                        int axis) {
  int64_t shape[3][GEMEL_MAX_RANK], strides[3][GEMEL_MAX_RANK];
  const gemel_view a = without_axis(x, x->rank, axis, shape[0], strides[0]);
  const gemel_view b = without_axis(other, x->rank, axis, shape[1], strides[1]);
  const gemel_view c = without_axis(out, x->rank, axis, shape[2], strides[2]);
  const gemel_view *const views[3] = {&a, &b, &c};
  lanes l;
  l.outer = walk_over(views);
  l.n = x->shape[axis];
  l.x_step = x->strides[axis];
  l.other_step = other->rank == x->rank ? other->strides[axis] : 0;
  return l;
}

static int axis_of(const gemel_kernel_call *call) {
  int64_t axis = call->attrs[0].u.i;
  return (int)(axis < 0 ? axis + call->inputs[0].rank : axis);
}

static gemel_status run_softmax(const gemel_kernel_call *call) {
  const gemel_view *x = &call->inputs[0], *out = &call->outputs[0];
  lanes l = make_lanes(x, out, out, axis_of(call));
  void *from = x->data, *to = out->data, *arguments[] = {&l, &from, &from, &to};
  return launch_jobs(gemel__cuda_of(call), BY_FLOAT(softmax, x->dtype, ), l.outer.elements, l.n,
                     arguments, call->error);
}

static gemel_status run_cross_entropy(const gemel_kernel_call *call) {
  gemel_cuda *cuda = gemel__cuda_of(call);
  const gemel_view *x = &call->inputs[0], *targets = &call->inputs[1], *out = &call->outputs[0];
  int by_index = gemel_dtype_kind(targets->dtype) != GEMEL_KIND_FLOAT;
  lanes l = make_lanes(x, targets, out, axis_of(call));
  void *from = x->data, *with = targets->data, *to = out->data, *problem = cuda->problem;
  void *arguments[] = {&l, &from, &with, &to, &problem};
  if (by_index) {
    gemel__cuda_may_fail(cuda);
  }
  return launch_jobs(cuda,
                     by_index ? index_kernel(x->dtype, targets->dtype) : BY_FLOAT(loss, x->dtype, ),
                     l.outer.elements, l.n, arguments, call->error);
}

extern "C" const gemel_kernel gemel__cuda_softmax[] = {{"lanes", NULL, run_softmax},
                                                       {NULL, NULL, NULL}};
extern "C" const gemel_kernel gemel__cuda_cross_entropy[] = {{"lanes", NULL, run_cross_entropy},
                                                             {NULL, NULL, NULL}};
