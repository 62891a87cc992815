/* SPDX-License-Identifier: MIT
 *
 * Kernels that are right and easily accused: nothing may be reported of them, for any seed.
 */
#include "kernels/kernel.h"

/* The threads of a warp speak through shared memory, ordered by __syncwarp. */
__global__ void syncwarp_neighbours(int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = (int)threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
GEMEL_KERNEL(legal_syncwarp, syncwarp_neighbours)

/* All lanes read, then one reads and writes. */
__global__ void read_then_write(int *out) {
  __shared__ int s[2];
  if (threadIdx.x % 32 == 1)
    s[threadIdx.x / 32] = 5;
  __syncwarp();
  int v = s[threadIdx.x / 32];
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    s[threadIdx.x / 32] += 1;
  out[threadIdx.x] = v;
}
GEMEL_KERNEL(legal_read_then_write, read_then_write)

/* Part of a warp has gone; the rest shuffles. */
__global__ void early_exit(int *out, int n) {
  int t = (int)threadIdx.x;
  if (t >= n)
    return;
  unsigned mask = __ballot_sync(0xffffffffu, 1);
  int v = __shfl_down_sync(mask, t, 1);
  out[t] = t + 1 < n ? v : -1;
}
GEMEL_KERNEL(legal_early_exit, early_exit)

/* Shuffles of each width, as CUDA's programming guide words them, where the lane that is asked for
   lies outside the group or the warp. (By a multiple of 32 nothing moves.) */
__global__ void shuffle_beyond(int *out) {
  const unsigned all = 0xffffffffu;
  const int lanes[] = {0, 1, 17, 31, 32, 100, -1, -33, 0x7fffffff, (int)0x80000000u};
  const unsigned steps[] = {0, 1, 7, 16, 31, 32, 64, 0x80000000u, 0xffffffe0u};
  const int t = (int)threadIdx.x;
  for (int width = 1; width <= 32; width *= 2) {
    const int group = t / width * width, me = t % width;
    for (int lane : lanes)
      assert(__shfl_sync(all, t, lane, width) == group + (lane % width + width) % width);
    for (unsigned step : steps) {
      assert(__shfl_up_sync(all, t, step, width) == (step <= (unsigned)me ? t - (int)step : t));
      assert(__shfl_down_sync(all, t, step, width) ==
             (step < (unsigned)(width - me) ? t + (int)step : t));
      int other = step < 32 ? t ^ (int)step : t;
      assert(__shfl_xor_sync(all, t, (int)step, width) == (other < group + width ? other : t));
    }
  }
  out[t] = t;
}
GEMEL_KERNEL(legal_shuffle_beyond, shuffle_beyond)

/* Two arrays in dynamic shared memory. */
__global__ void two_arrays(const float *x, double *d, int n) {
  GEMEL_DYNAMIC_SHARED(double, a);
  float *b = reinterpret_cast<float *>(a + blockDim.x);
  int t = (int)threadIdx.x;
  a[t] = t < n ? x[t] : 0, b[t] = (float)t;
  __syncthreads();
  d[t] = a[blockDim.x - 1 - t] + b[blockDim.x - 1 - t];
}
GEMEL_KERNEL(legal_two_arrays, two_arrays)

/* 16 bytes at a time, and a local array. */
__global__ void vectors(const float4 *x, float4 *y, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n)
    return;
  float4 v = x[i];
  float l[4] = {v.w, v.z, v.y, v.x};
  for (int k = 0; k < 4; k++)
    l[k] *= 2;
  y[i] = make_float4(l[0], l[1], l[2], l[3]);
}
GEMEL_KERNEL(legal_vectors, vectors)

__constant__ const float table[4] = {1, 2, 4, 8};
__global__ void constants(float *y) {
  y[threadIdx.x] = table[threadIdx.x % 4];
}
GEMEL_KERNEL(legal_constants, constants)

/* The compiler doesn't know that these are constants. */
__global__ void constants_by_pointer(float *y) {
  const float *volatile where = table;
  y[threadIdx.x] = where[threadIdx.x % 4];
}
GEMEL_KERNEL(legal_constants_by_pointer, constants_by_pointer)

/* Atomics on shared, then on global memory. */
__global__ void histogram(const int *x, int *h, int n) {
  __shared__ int s[8];
  if (threadIdx.x < 8)
    s[threadIdx.x] = 0;
  __syncthreads();
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += (int)(gridDim.x * blockDim.x))
    atomicAdd(&s[x[i] & 7], 1);
  __syncthreads();
  if (threadIdx.x < 8)
    atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}
GEMEL_KERNEL(legal_histogram, histogram)

/* The last block adds up what all have left: fence and atomic. */
__global__ void last_block(const int *x, int *part, unsigned *count, int *sum, int n) {
  __shared__ bool last;
  __shared__ int s[32];
  int t = (int)threadIdx.x, v = 0;
  for (int i = (int)(blockIdx.x * 32) + t; i < n; i += (int)(gridDim.x * 32))
    v += x[i];
  for (int d = 16; d; d /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, d);
  if (t == 0) {
    part[blockIdx.x] = v;
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last)
    return;
  __threadfence();
  s[t] = 0;
  for (unsigned b = (unsigned)t; b < gridDim.x; b += 32)
    s[t] += part[b];
  __syncthreads();
  if (t == 0) {
    int all = 0;
    for (int i = 0; i < 32; i++)
      all += s[i];
    *sum = all;
  }
}
GEMEL_KERNEL(legal_last_block, last_block)

/* Every thread waits the same number of times, in a loop, and the array is used again. */
__global__ void scan_in_steps(const int *x, int *y) {
  __shared__ int s[2][64];
  int t = (int)threadIdx.x, from = 0;
  s[0][t] = x[t];
  for (int d = 1; d < 64; d *= 2) {
    __syncthreads();
    s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
    from = 1 - from;
  }
  y[t] = s[from][t];
}
GEMEL_KERNEL(legal_scan, scan_in_steps)

/* memcpy and memset of what belongs to the thread. */
__global__ void bytes(unsigned char *out, const unsigned char *in) {
  unsigned char word[4];
  memcpy(word, in + 4 * threadIdx.x, 4);
  memset(out + 4 * threadIdx.x, word[0], 4);
}
GEMEL_KERNEL(legal_bytes, bytes)
