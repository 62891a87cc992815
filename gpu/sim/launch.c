/* SPDX-License-Identifier: MIT
 *
 * Launches of the CUDA runtime, by its own names, and the list of all kernels.
 */
#include "sim/inside.h"

struct gemel__sim_kernel *gemel__sim_kernels;

void gemel__sim_register(struct gemel__sim_kernel *kernel) {
  kernel->next = gemel__sim_kernels;
  gemel__sim_kernels = kernel;
}

static struct gemel__sim_kernel *find(const void *function) {
  for (struct gemel__sim_kernel *kernel = gemel__sim_kernels; kernel != NULL; kernel = kernel->next)
    if (kernel == function)
      return kernel;
  return NULL;
}

static bool fits(dim3 grid, dim3 block) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0)
    return false;
  if (grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
    return false;
  if (block.x > GEMEL__SIM_THREADS || block.y > GEMEL__SIM_THREADS || block.z > 64)
    return false;
  return block.x * block.y * block.z <= GEMEL__SIM_THREADS &&
         (uint64_t)grid.x * grid.y * grid.z <= UINT32_MAX;
}

static cudaError_t launch(const struct gemel__sim_kernel *kernel, dim3 grid, dim3 block,
                          void **arguments, size_t shared, cudaStream_t stream) {
  if (kernel == NULL)
    return cudaErrorInvalidDeviceFunction;
  if (arguments == NULL && kernel->count > 0)
    return cudaErrorInvalidValue;
  if (stream->device != gemel__sim_device)
    return gemel__sim_elsewhere("a launch: the stream", stream->device, gemel__sim_device);
  if (!fits(grid, block) || shared > kernel->shared_limit) {
    gemel__sim_say(
        GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0},
        "launch of %s: grid %u x %u x %u, block %u x %u x %u, %zu bytes of shared memory",
        kernel->name, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared);
    return cudaErrorInvalidConfiguration;
  }
  cudaError_t error = gemel__sim_queue(
      stream, gemel__sim_launch_task(kernel, grid, block, arguments, shared), NULL);
  gemel__sim_drift();
  return error;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess)
    error = launch(find(function), grid, block, arguments, shared, stream);
  return gemel__sim_leave(error);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess && function == NULL)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess) {
    error = gemel__sim_queue(stream, gemel__sim_call_task(function, data), NULL);
    gemel__sim_drift();
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute,
                                 int value) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  struct gemel__sim_kernel *kernel = find(function);
  if (error == cudaSuccess && kernel == NULL)
    error = cudaErrorInvalidDeviceFunction;
  if (error == cudaSuccess && attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || value > 163 << 10) /* sm_80's limit */
      error = cudaErrorInvalidValue;
    else
      kernel->shared_limit = (size_t)value;
  }
  return gemel__sim_leave(error);
}
