/* SPDX-License-Identifier: MIT
 *
 * Kernels of four kinds as gemel has them, each right (-1) and with a mistake that it is told to
 * make: the argument BUG says which. For tests/t-sim.c, which says what the sim must report of
 * each.
 */
#include "kernels/kernel.h"
#include "planted.h"

/* z = tanh(x) * y + x, by any number of blocks. */
__global__ void fused(const float *__restrict__ x, const float *__restrict__ y,
                      float *__restrict__ z, long n, int bug) {
  long stride = (long)gridDim.x * blockDim.x, end = bug == OFF_BY_ONE ? n + 1 : n;
  for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < end; i += stride)
    z[i] = tanhf(x[i]) * y[i] + x[i];
}
GEMEL_KERNEL(planted_fused, fused)

/* The sum of all: shuffles, then a value a warp through shared memory, then one atomic a block. */
template <class T>
__global__ void sum_of(const T *__restrict__ x, T *__restrict__ sum, long n, int bug) {
  __shared__ T part[32];
  T s = 0;
  for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += (long)gridDim.x * blockDim.x)
    s += __ldg(x + i);
  unsigned mask = bug == MASK_OF_HALF ? 0x0000ffffu : 0xffffffffu;
  for (int d = 16; d > 0; d /= 2)
    s += __shfl_down_sync(mask, s, d);
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (lane == 0)
    part[warp] = s;
  if (bug != MISSING_BARRIER)
    __syncthreads();
  if (bug == PARTIAL_WARP ? threadIdx.x < warps : warp == 0) {
    s = lane < warps ? part[lane] : T(0);
    for (int d = 16; d > 0; d /= 2)
      s += __shfl_xor_sync(0xffffffffu, s, d);
    if (lane == 0 && bug == MISSING_ATOMIC)
      *sum += s;
    else if (lane == 0)
      atomicAdd(sum, s);
  }
}
GEMEL_KERNEL(planted_sum_f32, sum_of<float>)
GEMEL_KERNEL(planted_sum_f64, sum_of<double>)

/* The transpose, by tiles of 32 x 32 and blocks of 32 x 8. */
template <class T>
__global__ void transpose_of(const T *__restrict__ x, T *__restrict__ y, int rows, int columns,
                             int bug) {
  GEMEL_SHARED(T, tile, [32][33]);
  int extra = bug == TILE_INDEX ? 2 : 0;
  int c = (int)(blockIdx.x * 32 + threadIdx.x), r = (int)(blockIdx.y * 32 + threadIdx.y);
  for (int k = 0; k < 32; k += 8)
    if (r + k < rows && c < columns)
      tile[threadIdx.y + k][threadIdx.x + extra] = x[(long)(r + k) * columns + c];
  __syncthreads();
  c = (int)(blockIdx.y * 32 + threadIdx.x), r = (int)(blockIdx.x * 32 + threadIdx.y);
  long stride = bug == WRONG_STRIDE ? columns : rows;
  for (int k = 0; k < 32; k += 8)
    if (r + k < columns && c < rows)
      y[(r + k) * stride + c] = tile[threadIdx.x][threadIdx.y + k + extra];
}
GEMEL_KERNEL(planted_transpose_f32, transpose_of<float>)
GEMEL_KERNEL(planted_transpose_u16, transpose_of<unsigned short>)

/* Adds patches of columns back to one image: the derivative of a convolution. */
__global__ void patches_add(const float *__restrict__ columns, float *__restrict__ x, int channels,
                            int h, int w, int k, int oh, int ow, int bug) {
  GEMEL_DYNAMIC_SHARED(float, room);
  for (long i = (long)blockIdx.x * blockDim.x + threadIdx.x; i < (long)channels * k * k * oh * ow;
       i += (long)gridDim.x * blockDim.x) {
    room[threadIdx.x] = columns[i];
    if (bug == RACE_ON_SHARED && room[threadIdx.x ^ 1] < -1e30f)
      room[threadIdx.x] = 0;
    long t = i;
    int q = (int)(t % ow), p = (int)((t /= ow) % oh), b = (int)((t /= oh) % k),
        a = (int)((t /= k) % k), c = (int)(t / k);
    atomicAdd(&x[((long)c * h + p + a) * w + q + b], room[threadIdx.x]);
  }
}
GEMEL_KERNEL(planted_patches, patches_add)
