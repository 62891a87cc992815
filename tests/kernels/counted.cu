/* SPDX-License-Identifier: MIT
 *
 * Kernels whose cost is known: tests/t-sim-counts.c says which. Each is run with a thread for each
 * of 1024 numbers.
 */
#include "kernels/kernel.h"

#define COUNTED(name)                                                                              \
  static __device__ __forceinline__ void name(const float *in, float *out, int i);                 \
  static __global__ void launch_##name(const float *in, float *out) {                              \
    name(in, out, (int)(blockIdx.x * blockDim.x + threadIdx.x));                                   \
  }                                                                                                \
  GEMEL_KERNEL(counted_##name, launch_##name)                                                      \
  static __device__ __forceinline__ void name(const float *in, float *out, int i)

COUNTED(copy) {
  out[i] = in[i];
}

COUNTED(strided) {
  out[i] = in[2 * i];
}

COUNTED(transposed) {
  out[i % 32 * 32 + i / 32] = in[i];
}

COUNTED(vectors) {
  if (i < 256) {
    float4 v = reinterpret_cast<const float4 *>(in)[i];
    v.x += 1;
    v.w += v.y;
    reinterpret_cast<float4 *>(out)[i] = v;
  }
}

COUNTED(broadcast) {
  out[i] = in[0];
}

COUNTED(shifted) {
  out[i] = in[i + 1];
}

COUNTED(twice) {
  out[i] = in[i] - in[i ^ 1];
}

COUNTED(in_place) {
  out[i] += in[i];
}

/* One division of 64 bits, one of 32, and a hundred additions at least. */
COUNTED(divided) {
  long long many = (long long)in[i] + 7;
  unsigned sum = (unsigned)(i / many) + (unsigned)i / (unsigned)many;
  for (int k = 0; k < 100; k++) {
    sum += sum << 1 ^ (unsigned)many;
  }
  out[i] = (float)sum;
}

COUNTED(every_block) {
  out[i] = in[threadIdx.x];
}

COUNTED(updates) {
  (void)in;
  (void)i;
  atomicAdd(out, 1.0f);
}

/* Lanes go round one to four times. */
COUNTED(divergent) {
  float sum = 0;
  for (int k = 0; k <= i % 4; k++) {
    sum += in[i + k * 1024];
  }
  out[i] = sum + in[i];
}

template <int width> static __device__ void columns(const float *in, float *out, int i) {
  __shared__ float s[32][width];
  const float x = in[i];
  for (unsigned row = threadIdx.x / 32; row < 32; row += blockDim.x / 32) {
    s[row][threadIdx.x % 32] = x;
  }
  __syncthreads();
  out[i] = s[threadIdx.x % 32][threadIdx.x / 32];
}
COUNTED(columns_32) {
  columns<32>(in, out, i);
}
COUNTED(columns_33) {
  columns<33>(in, out, i);
}

/* A number of 8 bytes a lane, in a row: two parts without a conflict. */
COUNTED(pairs) {
  __shared__ double s[128];
  s[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = (float)s[threadIdx.x ^ 32];
}

/* A barrier in each round, so that requests are counted in pieces. */
COUNTED(rounds) {
  for (int k = 0; k < 4; k++) {
    out[i] = in[i + k * 1024];
    __syncthreads();
  }
}
