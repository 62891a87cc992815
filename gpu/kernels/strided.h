/* SPDX-License-Identifier: MIT
 *
 * Walks over operands of any layout, in device code; host.h makes them. A walk is a list of axes,
 * and a stride in bytes along each for every operand; an element's number in row-major order gives
 * its place in each, without a division of the GPU's. Axes that all operands walk without a gap are
 * merged, so that most walks have one axis or two.
 */
#ifndef GEMEL__KERNELS_STRIDED_H
#define GEMEL__KERNELS_STRIDED_H

#include "kernels/several.h"

/* Before a loop: so many of its rounds are written out. */
#define GEMEL__TEXT(...) #__VA_ARGS__
#if defined __CUDACC__ || defined __clang__
#define GEMEL_UNROLL(n) _Pragma(GEMEL__TEXT(unroll n))
#else
#define GEMEL_UNROLL(n) _Pragma(GEMEL__TEXT(GCC unroll n))
#endif

enum { MOST_AXES = 16 };

/* Of at least one axis. */
template <int N> struct divided_walk {
  long long elements;
  int axes;
  divisor sizes[MOST_AXES];
  long long strides[N][MOST_AXES];
};

/* A walk of up to 2^31 items: a thread goes to several elements of it, of all axes but the first at
 * one place, and along that PACE apart, so that they cost one search for their offsets. */
enum { AT_ONCE = 4 };
template <int N> struct quick_walk : divided_walk<N> { unsigned items, pace; };

DEVICE unsigned divided(unsigned n, const divisor &by) {
  return quotient(n, by);
}
DEVICE long long divided(long long n, const divisor &by) {
  return n <= 0x7fffffff ? (long long)quotient((unsigned)n, by) : quotient(n, by);
}

/* The offsets of element NUMBER, or of item NUMBER's first one, and its index along the first axis.
 */
template <int N, class Number>
DEVICE Number find_offsets(const divided_walk<N> &walk, Number number, long long *offsets) {
  for (int k = 0; k < N; k++) {
    offsets[k] = 0;
  }
  for (int axis = walk.axes - 1; axis > 0; axis--) {
    Number rest = divided(number, walk.sizes[axis]);
    Number index = number - rest * (Number)walk.sizes[axis].size;
    for (int k = 0; k < N; k++) {
      offsets[k] += walk.strides[k][axis] * index;
    }
    number = rest;
  }
  for (int k = 0; k < N; k++) {
    offsets[k] += walk.strides[k][0] * number;
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
