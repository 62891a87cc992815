/* SPDX-License-Identifier: MIT
 *
 * What generated kernels with reductions of rows use beside scalar.h (cuda/rows.c): chunks of
 * neighbouring elements, and what joins the values of the threads that share a row.
 */
#ifndef GEMEL__KERNELS_ROWS_H
#define GEMEL__KERNELS_ROWS_H

#include "kernels/scalar.h"
#include "kernels/several.h"

/* N elements at FROM, STEP bytes apart; WHOLE: they can be read at once. */
template <class T, int N>
DEVICE group<T, N> read_chunk(const char *from, long long step, bool whole) {
  group<T, N> made;
  if (whole) {
    return *(const group<T, N> *)from;
  }
  for (int k = 0; k < N; k++) {
    made.at[k] = *(const T *)(from + k * step);
  }
  return made;
}

template <class T, int N> DEVICE void write_chunk(char *to, const group<T, N> &chunk, bool whole) {
  if (whole) {
    *(group<T, N> *)to = chunk;
    return;
  }
  for (int k = 0; k < N; k++) {
    ((T *)to)[k] = chunk.at[k];
  }
}

/* How values are joined. As an element is, so is a part. */
struct row_sum {
  static __device__ __forceinline__ float join(float x, float y) {
    return x + y;
  }
  static __device__ __forceinline__ double join(double x, double y) {
    return x + y;
  }
};
struct row_max {
  static __device__ __forceinline__ float join(float x, float y) {
    return maximum_f32(x, y, 0);
  }
  static __device__ __forceinline__ double join(double x, double y) {
    return maximum_f64(x, y, 0);
  }
};

/* Joins the N values of each of the THREADS threads of a row, a power of two; all of them get the
 * result. SHARED has room for one value of each warp. */
template <class How, int THREADS, int N, class T> DEVICE T join_row(const T (&own)[N], T *shared) {
  T all = own[0];
  for (int k = 1; k < N; k++) {
    all = How::join(all, own[k]);
  }
  for (int bit = 1; bit < 32 && bit < THREADS; bit *= 2) {
    all = How::join(all, __shfl_xor_sync(~0u, all, bit));
  }
  if (THREADS > 32) {
    const unsigned warp = threadIdx.x / 32, first = warp & ~(THREADS / 32u - 1);
    if (threadIdx.x % 32 == 0) {
      shared[warp] = all;
    }
    __syncthreads();
    all = shared[first];
    for (unsigned k = 1; k < THREADS / 32; k++) {
      all = How::join(all, shared[first + k]);
    }
    __syncthreads();
  }
  return all;
}

#endif
