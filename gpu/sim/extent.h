/* SPDX-License-Identifier: MIT
 *
 * How a pool of device memory tells the sim where its tensors begin and end, so that a kernel that
 * leaves its tensor is caught inside an allocation too. With NVIDIA's libraries nothing defines the
 * functions below, and the calls do nothing.
 */
#ifndef GEMEL__SIM_EXTENT_H
#define GEMEL__SIM_EXTENT_H

#include <stddef.h>
#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

int gemel__sim_extent_begin(void *pointer, size_t bytes, cudaStream_t stream) __attribute__((weak));
int gemel__sim_extent_end(void *pointer, cudaStream_t stream) __attribute__((weak));
size_t gemel__sim_extent_gap(void) __attribute__((weak));

/* From here on, operations queued on STREAM may use the BYTES bytes at POINTER, which lie in one
 * allocation of cudaMalloc and overlap no other extent; they count as unwritten. Once an allocation
 * holds an extent, its other bytes may not be used. During a capture the graph does it. */
static inline cudaError_t gemel__extent_begin(void *pointer, size_t bytes, cudaStream_t stream) {
  if (gemel__sim_extent_begin == NULL)
    return cudaSuccess;
  return (cudaError_t)gemel__sim_extent_begin(pointer, bytes, stream);
}

/* Operations queued on STREAM from here on may not use the extent that begins at POINTER. */
static inline cudaError_t gemel__extent_end(void *pointer, cudaStream_t stream) {
  if (gemel__sim_extent_end == NULL)
    return cudaSuccess;
  return (cudaError_t)gemel__sim_extent_end(pointer, stream);
}

/* How many bytes a pool leaves unused between two tensors, so that running over the end of one does
 * not end up in the next: 0 on a GPU. */
static inline size_t gemel__extent_gap(void) {
  return gemel__sim_extent_gap == NULL ? 0 : gemel__sim_extent_gap();
}

#ifdef __cplusplus
}
#endif

#endif
