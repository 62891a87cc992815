/* SPDX-License-Identifier: MIT
 *
 * What the host's half of a kernel file uses: walks made from views, launches over elements, tables
 * of kernels by dtype.
 */
#ifndef GEMEL__KERNELS_HOST_H
#define GEMEL__KERNELS_HOST_H

#include "cuda/cuda.h"
#include "kernels/strided.h"

extern "C" int gemel__collapse(int rank, int64_t *sizes, int n, int64_t *strides, int step);

/* gemel__kernel_<id>, in a table by dtype. */
typedef const void *(*kernel_getter)(void);

/* That of WHAT for a float dtype. */
#define BY_FLOAT(what, dtype)                                                                      \
  ((dtype) == GEMEL_F16    ? gemel__kernel_##what##_f16()                                          \
   : (dtype) == GEMEL_BF16 ? gemel__kernel_##what##_bf16()                                         \
   : (dtype) == GEMEL_F32  ? gemel__kernel_##what##_f32()                                          \
                           : gemel__kernel_##what##_f64())

/* The axis that an ATTRIBUTE of CALL's is. */
static inline int axis_of(const gemel_kernel_call *call, int attribute = 0) {
  int64_t axis = call->attrs[attribute].u.i;
  return (int)(axis + (axis < 0 ? call->inputs[0].rank : 0));
}

/* A walk while it is made: of any number of axes, and without divisors. */
template <int N> struct strided_walk {
  long long elements;
  int axes;
  long long sizes[MOST_AXES];
  long long strides[N][MOST_AXES];
};

/* The walk over VIEWS, of one shape. */
template <int N> static inline strided_walk<N> walk_over(const gemel_view *const (&views)[N]) {
  strided_walk<N> walk;
  int64_t sizes[GEMEL_MAX_RANK], strides[N][GEMEL_MAX_RANK];
  int rank = views[0]->rank;
  walk.elements = 1;
  for (int axis = 0; axis < rank; axis++) {
    sizes[axis] = views[0]->shape[axis];
    walk.elements *= sizes[axis];
    for (int k = 0; k < N; k++) {
      strides[k][axis] = views[k]->strides[axis];
    }
  }
  walk.axes =
      walk.elements == 0 ? 0 : gemel__collapse(rank, sizes, N, &strides[0][0], GEMEL_MAX_RANK);
  for (int axis = 0; axis < walk.axes; axis++) {
    walk.sizes[axis] = sizes[axis];
    for (int k = 0; k < N; k++) {
      walk.strides[k][axis] = strides[k][axis];
    }
  }
  return walk;
}

/* SIZE with what divides by it. */
static inline divisor divisor_of(long long size) {
  divisor d = {size, 0, 0};
  gemel__cuda_divisor(size, &d.magic, &d.shift);
  return d;
}

template <int N> static inline divided_walk<N> divided_walk_of(const strided_walk<N> &walk) {
  divided_walk<N> made = {};
  made.elements = walk.elements;
  made.axes = walk.axes > 0 ? walk.axes : 1;
  made.sizes[0] = divisor_of(1);
  for (int axis = 0; axis < walk.axes; axis++) {
    made.sizes[axis] = divisor_of(walk.sizes[axis]);
    for (int k = 0; k < N; k++) {
      made.strides[k][axis] = walk.strides[k][axis];
    }
  }
  return made;
}

/* The walk for threads that take AT_ONCE elements, or EACH. */
template <int N>
static inline quick_walk<N> quick_walk_of(const strided_walk<N> &walk, unsigned each = AT_ONCE) {
  quick_walk<N> quick = {};
  (divided_walk<N> &)quick = divided_walk_of(walk);
  quick.pace = (unsigned)((quick.sizes[0].size + each - 1) / each);
  quick.items = (unsigned)(walk.elements / quick.sizes[0].size * quick.pace);
  return quick;
}

/* Takes AXIS out of WALK, which isn't empty. */
template <int N> static inline void remove_axis(strided_walk<N> *walk, int axis) {
  walk->elements /= walk->sizes[axis];
  walk->axes--;
  for (; axis < walk->axes; axis++) {
    walk->sizes[axis] = walk->sizes[axis + 1];
    for (int k = 0; k < N; k++) {
      walk->strides[k][axis] = walk->strides[k][axis + 1];
    }
  }
}

/* The axis along which operand OPERAND has the smallest stride other than 0; -1: there is none. */
template <int N> static inline int nearest_axis(const strided_walk<N> &walk, int operand) {
  int found = -1;
  for (int axis = 0; axis < walk.axes; axis++) {
    long long stride = llabs(walk.strides[operand][axis]);
    if (stride != 0 && (found < 0 || stride <= llabs(walk.strides[operand][found]))) {
      found = axis;
    }
  }
  return found;
}

/* The exponent of the smallest power of two that isn't below N, at most MOST. */
static inline unsigned bits_for(long long n, unsigned most) {
  unsigned bits = 0;
  while (bits < most && 1ll << bits < n) {
    bits++;
  }
  return bits;
}

/* Whether each stride of OPERAND is a multiple of BYTES. */
template <int N>
static inline bool is_aligned(const strided_walk<N> &walk, int operand, long long bytes) {
  bool all = true;
  for (int axis = 0; axis < walk.axes; axis++) {
    all = all && walk.strides[operand][axis] % bytes == 0;
  }
  return all;
}

/* Makes elements of BYTES that lie side by side in the first SEVERAL operands, and are one to the
 * others, words of up to 16 bytes: as long as sizes, strides and addresses, of which PLACES has all
 * bits, are multiples of theirs. Returns the bytes of a word. */
template <int N>
static inline size_t widen_words(strided_walk<N> *walk, size_t bytes, uintptr_t places,
                                 int several = 2) {
  const int last = walk->axes - 1;
  const long long step = (long long)bytes;
  bool dense = last >= 0 && walk->elements > 0;
  for (int k = 0; k < N && dense; k++) {
    dense = walk->strides[k][last] == (k < several ? step : 0);
    for (int axis = 0; axis < last; axis++) {
      places |= k < several ? (uintptr_t)walk->strides[k][axis] : 0;
    }
  }
  if (!dense) {
    return bytes;
  }
  places |= (uintptr_t)(walk->sizes[last] * step) | 16;
  const size_t word = (size_t)(places & (0 - places));
  const long long ratio = (long long)(word / bytes);
  walk->elements /= ratio;
  walk->sizes[last] /= ratio;
  for (int k = 0; k < several; k++) {
    walk->strides[k][last] = (long long)word;
  }
  walk->axes -= walk->sizes[last] == 1;
  return word;
}

/* Takes the second half of a walk that is too long for numbers of 32 bits out of it; *REST gets
 * that, and OFFSETS where it begins. */
template <int N>
static inline bool halve_long(strided_walk<N> *walk, strided_walk<N> *rest, long long *offsets) {
  const long long most = 1ll << 30;
  int longest = 0;
  if (walk->elements <= most) {
    return false;
  }
  for (int axis = 1; axis < walk->axes; axis++) {
    longest = walk->sizes[axis] > walk->sizes[longest] ? axis : longest;
  }
  const long long others = walk->elements / walk->sizes[longest];
  *rest = *walk;
  walk->sizes[longest] /= 2;
  rest->sizes[longest] -= walk->sizes[longest];
  walk->elements = others * walk->sizes[longest];
  rest->elements -= walk->elements;
  for (int k = 0; k < N; k++) {
    offsets[k] = walk->sizes[longest] * walk->strides[k][longest];
  }
  return true;
}

/* Of kernels for words of 1, 2, 4, 8 and 16 bytes the one for BYTES. */
static inline const void *kernel_for(const kernel_getter *kernels, size_t bytes) {
  int number = 0;
  while (number < 4 && (size_t)1 << number < bytes) {
    number++;
  }
  return kernels[number]();
}

/* The axes of X that are CHOSEN, or those that are not. */
static inline gemel_view some_axes(const gemel_view *x, const bool *chosen, bool wanted,
                                   int64_t *shape, int64_t *strides) {
  gemel_view made = *x;
  made.rank = 0;
  for (int axis = 0; axis < x->rank; axis++) {
    if (chosen[axis] == wanted) {
      shape[made.rank] = x->shape[axis];
      strides[made.rank++] = x->strides[axis];
    }
  }
  made.shape = shape;
  made.strides = strides;
  return made;
}

/* Launches KERNEL with a thread for each of COUNT items, or for several where they are many. */
static inline gemel_status launch_over(gemel_cuda *cuda, const void *kernel, long long count,
                                       void **arguments, gemel_error *error) {
  unsigned threads = count >= 256 ? 256 : ((unsigned)count + 31) / 32 * 32;
  long long blocks = threads == 0 ? 0 : (count + (threads - 1)) / threads;
  long long most = 4ll * cuda->blocks_at_once;
  return count == 0 ? GEMEL_OK
                    : gemel__cuda_launch(cuda, kernel, (size_t)(blocks < most ? blocks : most),
                                         threads, 0, arguments, error);
}

/* Launches KERNEL with a block for each of JOBS, or for several where they are many, of a power of
 * two of threads: as many as a job has ITEMS, from 32 to MOST_JOB_THREADS. */
enum { MOST_JOB_THREADS = 256 };
static inline gemel_status launch_jobs(gemel_cuda *cuda, const void *kernel, long long jobs,
                                       long long items, void **arguments, gemel_error *error) {
  long long most = 4ll * cuda->blocks_at_once;
  unsigned threads = 32;
  while (threads < MOST_JOB_THREADS && threads < items) {
    threads = 2 * threads;
  }
  return jobs == 0 ? GEMEL_OK
                   : gemel__cuda_launch(cuda, kernel, (size_t)(jobs < most ? jobs : most), threads,
                                        0, arguments, error);
}

#endif
