/* SPDX-License-Identifier: MIT
 *
 * Walks over operands of any layout, in device code and on the host. A walk is a list of axes, and
 * a stride in bytes along each for every operand; an element's number in row-major order gives its
 * place in each. Axes that all operands walk without a gap are merged first, so that most walks
 * have one axis or two.
 */
#ifndef GEMEL__KERNELS_STRIDED_H
#define GEMEL__KERNELS_STRIDED_H

#include "kernels/types.h"

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

/* For a loop over all elements by all threads of the grid, each its own. */
static __device__ __forceinline__ long long first_element() {
  return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ long long element_step() {
  return (long long)gridDim.x * blockDim.x;
}

#endif
