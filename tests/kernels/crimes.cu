/* SPDX-License-Identifier: MIT
 *
 * Kernels with one mistake each, which the sim must report whatever the seed; tests/t-sim.c says
 * how.
 */
#include "kernels/kernel.h"

__global__ void exit_before_barrier(int *out) {
  if (threadIdx.x >= 20)
    return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
GEMEL_KERNEL(crime_exit, exit_before_barrier)

__global__ void two_barriers(int *out) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}
GEMEL_KERNEL(crime_two_barriers, two_barriers)

__global__ void unwritten_shared(int *out) {
  __shared__ int s[64];
  if (threadIdx.x)
    s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
GEMEL_KERNEL(crime_unwritten_shared, unwritten_shared)

/* The compiler doesn't know that P is an array. (No 64 numbers: without red zones the next array
   may follow at once.) */
__global__ void past_shared(int *out) {
  __shared__ int s[63];
  int *p = s;
  p[threadIdx.x + 1] = 1;
  __syncthreads();
  out[threadIdx.x] = p[threadIdx.x];
}
GEMEL_KERNEL(crime_past_shared, past_shared)

__global__ void past_guarded(int *out) {
  GEMEL_SHARED(int, s, [64]);
  GEMEL_SHARED(int, next, [64]);
  int *p = s;
  next[threadIdx.x] = 1;
  p[threadIdx.x + 1] = 1;
  __syncthreads();
  out[threadIdx.x] = p[threadIdx.x] + next[threadIdx.x];
}
GEMEL_KERNEL(crime_past_guarded, past_guarded)

__global__ void past_dynamic(int *out) {
  GEMEL_DYNAMIC_SHARED(int, s);
  s[threadIdx.x + 1] = 1;
  __syncthreads();
  out[threadIdx.x] = 1;
}
GEMEL_KERNEL(crime_past_dynamic, past_dynamic)

/* As the last-block pattern, without its fences. */
__global__ void no_fence(int *out, int *part, unsigned *count) {
  if (threadIdx.x)
    return;
  part[blockIdx.x] = 1;
  if (atomicAdd(count, 1u) == gridDim.x - 1)
    *out = part[0] + part[1];
}
GEMEL_KERNEL(crime_no_fence, no_fence)

__global__ void misaligned(int *out) {
  const float4 *v = reinterpret_cast<const float4 *>(out + 1) + threadIdx.x;
  out[threadIdx.x] = (int)(v->x + v->w);
}
GEMEL_KERNEL(crime_misaligned, misaligned)

__global__ void others_local(int *out, int **where) {
  int mine = 1;
  if (threadIdx.x == 0)
    *where = &mine;
  __syncthreads();
  out[threadIdx.x] = **where + mine;
  __syncthreads();
}
GEMEL_KERNEL(crime_others_local, others_local)

__global__ void shuffle_of_different(int *out) {
  int v = 1;
  if (threadIdx.x < 16)
    v = __shfl_sync(0xffffffffu, v, 0);
  out[threadIdx.x] = v;
  if (threadIdx.x >= 16)
    __syncwarp();
}
GEMEL_KERNEL(crime_shuffle_of_different, shuffle_of_different)

/* The lanes that others would take a value from have ended. */
__global__ void shuffle_from_ended(int *out) {
  if (threadIdx.x >= 16)
    return;
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 16);
}
GEMEL_KERNEL(crime_shuffle_from_ended, shuffle_from_ended)

/* By more lanes than a warp has. */
__global__ void shuffle_up_beyond(int *out, int by) {
  out[threadIdx.x] = __shfl_up_sync(0xffffffffu, (int)threadIdx.x, (unsigned)-(by + 1));
}
GEMEL_KERNEL(crime_shuffle_up_beyond, shuffle_up_beyond)
__global__ void shuffle_down_beyond(int *out, int by) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, (unsigned)by);
}
GEMEL_KERNEL(crime_shuffle_down_beyond, shuffle_down_beyond)
__global__ void shuffle_xor_beyond(int *out, int by) {
  out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, (int)threadIdx.x, -(by + 1));
}
GEMEL_KERNEL(crime_shuffle_xor_beyond, shuffle_xor_beyond)

__global__ void missing_syncwarp(int *out) {
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x ^ 1];
}
GEMEL_KERNEL(crime_missing_syncwarp, missing_syncwarp)

/* Two blocks write the same value to the same place: still a race. */
__global__ void same_value(int *out) {
  if (threadIdx.x == 0)
    out[0] = 7;
}
GEMEL_KERNEL(crime_same_value, same_value)

/* An atomic and a plain read of another thread. */
__global__ void read_of_atomic(int *out) {
  if (threadIdx.x == 0)
    out[0] = 0;
  __syncthreads();
  if (threadIdx.x % 2)
    atomicAdd(out, 1);
  else
    out[threadIdx.x + 1] = out[0];
}
GEMEL_KERNEL(crime_read_of_atomic, read_of_atomic)

__global__ void failed_assert(int *out) {
  assert(threadIdx.x < 40);
  out[threadIdx.x] = 1;
}
GEMEL_KERNEL(crime_assert, failed_assert)

__global__ void division(int *out) {
  out[threadIdx.x] = 100 / ((int)threadIdx.x - 5);
}
GEMEL_KERNEL(crime_division, division)

__global__ void shift(int *out) {
  out[threadIdx.x] = 1 << (threadIdx.x + 1);
}
GEMEL_KERNEL(crime_shift, shift)

__global__ void index_of_array(int *out) {
  __shared__ int s[4][4];
  if (threadIdx.x < 8)
    s[threadIdx.x / 4][threadIdx.x % 4 + 1] = 1;
  __syncthreads();
  out[threadIdx.x] = s[0][1];
}
GEMEL_KERNEL(crime_index, index_of_array)

__global__ void deep(int *out) {
  volatile char room[100000];
  room[threadIdx.x] = 1;
  out[threadIdx.x] = room[threadIdx.x];
}
GEMEL_KERNEL(crime_stack, deep)

/* The bytes of a neighbour, by memcpy. */
__global__ void copied_bytes(int *out) {
  if (threadIdx.x == 0)
    memset(out, 0, 256);
  __syncthreads();
  memcpy(&out[threadIdx.x], &out[(threadIdx.x + 1) % 64], sizeof(int));
}
GEMEL_KERNEL(crime_memcpy, copied_bytes)

/* Several have read what one, who has read it last, writes: lanes of its warp, whom a shuffle
   orders in time but whose memory it doesn't order, */
__global__ void read_by_lanes(int *out) {
  __shared__ int s;
  if (threadIdx.x == 0)
    s = 1;
  __syncthreads();
  int v = s;
  v += __shfl_sync(0xffffffffu, v, 0);
  if (threadIdx.x == 5)
    s += v;
  out[threadIdx.x] = v;
}
GEMEL_KERNEL(crime_read_by_lanes, read_by_lanes)

/* another warp, */
__global__ void read_by_warps(int *out) {
  __shared__ int s;
  if (threadIdx.x == 0)
    s = 1;
  __syncthreads();
  int v = threadIdx.x == 37 || threadIdx.x == 5 ? s : 0;
  if (threadIdx.x == 5)
    s += v;
  out[threadIdx.x] = v;
}
GEMEL_KERNEL(crime_read_by_warps, read_by_warps)

/* another block. */
__global__ void read_by_blocks(int *out, int *x) {
  int v = x[0];
  if (blockIdx.x == 1)
    x[0] = v + 1;
  out[blockIdx.x] = v;
}
GEMEL_KERNEL(crime_read_by_blocks, read_by_blocks)

/* The last-block pattern with one of its two fences. */
__global__ void no_release(int *out, int *part, unsigned *count) {
  part[blockIdx.x] = 1;
  if (atomicAdd(count, 1u) == gridDim.x - 1) {
    __threadfence();
    *out = part[0] + part[1];
  }
}
GEMEL_KERNEL(crime_no_release, no_release)

__global__ void no_acquire(int *out, int *part, unsigned *count) {
  part[blockIdx.x] = 1;
  __threadfence();
  if (atomicAdd(count, 1u) == gridDim.x - 1)
    *out = part[0] + part[1];
}
GEMEL_KERNEL(crime_no_acquire, no_acquire)
