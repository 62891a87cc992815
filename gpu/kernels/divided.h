/* SPDX-License-Identifier: MIT
 *
 * Walks whose axes have divisors, so that the place of a number takes no division of the GPU's; and
 * the host's half, which makes them of walks of strided.h.
 */
#ifndef GEMEL__KERNELS_DIVIDED_H
#define GEMEL__KERNELS_DIVIDED_H

#include "kernels/host.h"
#include "kernels/several.h"

/* Before a loop: so many of its rounds are written out. */
#define GEMEL__TEXT(...) #__VA_ARGS__
#if defined __CUDACC__ || defined __clang__
#define GEMEL_UNROLL(n) _Pragma(GEMEL__TEXT(unroll n))
#else
#define GEMEL_UNROLL(n) _Pragma(GEMEL__TEXT(GCC unroll n))
#endif

/* ---- Device ---- */

/* As strided_walk, of at least one axis. */
template <int N> struct divided_walk {
  long long elements;
  int axes;
  divisor sizes[MOST_AXES];
  long long strides[N][MOST_AXES];
};

/* A quotient of numbers of any size. */
DEVICE long long divided(long long n, const divisor &by) {
  return n <= 0x7fffffff ? (long long)quotient((unsigned)n, by) : quotient(n, by);
}

/* The offsets of element NUMBER. */
template <int N>
DEVICE void find_offsets(const divided_walk<N> &walk, long long number, long long *offsets) {
  for (int k = 0; k < N; k++) {
    offsets[k] = 0;
  }
  for (int axis = walk.axes - 1; axis > 0; axis--) {
    long long rest = divided(number, walk.sizes[axis]);
    for (int k = 0; k < N; k++) {
      offsets[k] += (number - rest * walk.sizes[axis].size) * walk.strides[k][axis];
    }
    number = rest;
  }
  for (int k = 0; k < N; k++) {
    offsets[k] += number * walk.strides[k][0];
  }
}

/* ---- Host ---- */

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

#endif
