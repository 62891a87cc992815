/*
 * Checking a CUDA kernel of your own on a machine without a GPU. It sums an array: each block adds
 * up its part in shared memory, halving the number of threads at work. The program is plain CUDA
 * and knows nothing of gemel; nvcc compiles it for a GPU, and for a CPU, in the build folder of
 * gemel:
 *
 *     make libgemel-gpu-sim.a
 *     ../gpu/sim/simcc -o my_kernel ../examples/my_kernel.cu && ./my_kernel
 *
 * With -DRACE the barrier in the loop is left out. On a GPU the sum may well be right all the same;
 * here the race is reported, with its lines, threads and array:
 *
 *     ../gpu/sim/simcc -o my_kernel ../examples/my_kernel.cu -DRACE && ./my_kernel
 *
 * SPDX-License-Identifier: MIT
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void sum(const float *x, float *total, int n) {
  extern __shared__ float part[];
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  part[t] = i < (unsigned)n ? x[i] : 0;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
#ifndef RACE
    __syncthreads();
#endif
  }
  if (t == 0)
    atomicAdd(total, part[0]);
}

static void check(cudaError_t error) {
  if (error == cudaSuccess)
    return;
  fprintf(stderr, "my_kernel: %s\n", cudaGetErrorString(error));
  exit(1);
}

int main(void) {
  const int n = 1000;
  float x[n], result = 0, *device_x, *device_total;
  for (int i = 0; i < n; i++)
    x[i] = (float)i;
  check(cudaMalloc((void **)&device_x, n * sizeof(float)));
  check(cudaMalloc((void **)&device_total, sizeof(float)));
  check(cudaMemcpy(device_x, x, n * sizeof(float), cudaMemcpyHostToDevice));
  check(cudaMemset(device_total, 0, sizeof(float)));
  sum<<<(n + 127) / 128, 128, 128 * sizeof(float)>>>(device_x, device_total, n);
  check(cudaGetLastError());
  check(cudaMemcpy(&result, device_total, sizeof(float), cudaMemcpyDeviceToHost));
  check(cudaFree(device_x));
  check(cudaFree(device_total));
  printf("the sum is %g\n", result);
  return result != 499500;
}
