/* SPDX-License-Identifier: MIT
 *
 * Walks over operands of any layout, in device code and on the host. A walk is a list of axes, and
 * a stride in bytes along each for every operand; an element's number in row-major order gives its
 * place in each. Axes that all operands walk without a gap are merged first, so that most walks
 * have one axis or two.
 */
#ifndef GEMEL__KERNELS_STRIDED_H
#define GEMEL__KERNELS_STRIDED_H

#include "kernels/several.h"

enum { MOST_AXES = 16 };

template <int N> struct strided_walk {
  long long elements;
  int axes;
  long long sizes[MOST_AXES];
  long long strides[N][MOST_AXES];
};

/* The offsets of element NUMBER. */
template <int N>
static __device__ __forceinline__ void find_offsets(const strided_walk<N> &walk, long long number,
                                                    long long *offsets) {
  for (int k = 0; k < N; k++) {
    offsets[k] = 0;
  }
  for (int axis = walk.axes - 1; axis >= 0; axis--) {
    long long size = walk.sizes[axis];
    long long rest = number / size, index = number - rest * size;
    for (int k = 0; k < N; k++) {
      offsets[k] += index * walk.strides[k][axis];
    }
    number = rest;
  }
}

/* A walk of up to 2^31 items: a thread goes to several elements of it, of all axes but the first at
 * one place, and along that PACE apart, so that they cost one search for their offsets. */
enum { AT_ONCE = 4 };
template <int N> struct quick_walk {
  unsigned items, pace;
  int axes;
  divisor sizes[MOST_AXES];
  long long strides[N][MOST_AXES];
};

/* The offsets of item NUMBER's first element, and its index along the first axis. */
template <int N>
static __device__ __forceinline__ unsigned find_offsets(const quick_walk<N> &walk, unsigned number,
                                                        long long *offsets) {
  for (int k = 0; k < N; k++) {
    offsets[k] = 0;
  }
  for (int axis = walk.axes - 1; axis > 0; axis--) {
    unsigned rest = quotient(number, walk.sizes[axis]);
    unsigned index = number - rest * (unsigned)walk.sizes[axis].size;
    for (int k = 0; k < N; k++) {
      offsets[k] += walk.strides[k][axis] * index;
    }
    number = rest;
  }
  for (int k = 0; k < N; k++) {
    offsets[k] += number * walk.strides[k][0];
  }
  return number;
}

/* The longest word that a thread reads or writes at once. */
struct alignas(16) sixteen_bytes {
  uint64_t at[2];
};

/* For a loop over all elements by all threads of the grid, each its own. */
static __device__ __forceinline__ long long first_element() {
  return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ long long element_step() {
  return (long long)gridDim.x * blockDim.x;
}

#endif
