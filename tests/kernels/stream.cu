/* SPDX-License-Identifier: MIT
 *
 * Kernels of two lines, for tests of streams, graphs and memory.
 */
#include "kernels/kernel.h"

__global__ void add(const float *x, const float *y, float *z, int n) {
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += (int)(gridDim.x * blockDim.x))
    z[i] = x[i] + y[i];
}
GEMEL_KERNEL(stream_add, add)

__global__ void scale(float *x, float a, int n) {
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += (int)(gridDim.x * blockDim.x))
    x[i] *= a;
}
GEMEL_KERNEL(stream_scale, scale)
