/* SPDX-License-Identifier: MIT
 *
 * The CUDA runtime by its own names: errors, memory, copies. Devices are in devices.c, streams and
 * events in events.c, launches in launch.c, graphs in graph.c. Every function holds one lock, looks
 * whether the device is broken, and may be refused by a test.
 */
#include <pthread.h>
#include "sim/inside.h"

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local cudaError_t last_error;
static long refuse_after = -1, fail_after = -1;
static bool refused, failed;
static cudaError_t failure;      /* what the call at fail_after returns */
static cudaError_t fails_anyway; /* what this one returns, whatever it does */

static void make_lock(void) {
  pthread_mutexattr_t recursive; /* a function that a stream calls may ask for reports */
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
}

cudaError_t gemel__sim_enter(gemel__sim_entry kind) {
  pthread_once(&once, make_lock);
  pthread_mutex_lock(&lock);
  gemel__sim_fault_start();
  fails_anyway = cudaSuccess;
  if (gemel__sim_memory_start() != cudaSuccess)
    return cudaErrorMemoryAllocation;
  if (fail_after >= 0 && kind <= GEMEL__SIM_ASKS && fail_after-- == 0) {
    failed = true;
    fails_anyway = failure;
    if (kind != GEMEL__SIM_FREES)
      return failure;
  }
  if (kind != GEMEL__SIM_MAKES && kind != GEMEL__SIM_BEGINS)
    return cudaSuccess;
  if (refuse_after >= 0 && refuse_after-- == 0) {
    refused = true;
    return cudaErrorMemoryAllocation;
  }
  return gemel__sim_broken;
}

cudaError_t gemel__sim_leave_apart(void) {
  cudaError_t error = fails_anyway;
  fails_anyway = cudaSuccess;
  gemel__sim_close();
  pthread_mutex_unlock(&lock);
  return error;
}

cudaError_t gemel__sim_leave(cudaError_t error) {
  error = fails_anyway != cudaSuccess ? fails_anyway : error;
  if (error != cudaSuccess && error != cudaErrorNotReady)
    last_error = error;
  gemel__sim_leave_apart();
  return error;
}

bool gemel__sim_refuse(long count) {
  bool was = refused;
  refuse_after = count;
  refused = false;
  return was;
}

bool gemel__sim_fail(long count, int error) {
  bool was = failed;
  fail_after = count;
  failure = (cudaError_t)error;
  failed = false;
  return was;
}

cudaError_t gemel__sim_enter_stream(cudaStream_t *stream, gemel__sim_entry kind) {
  cudaError_t error = gemel__sim_enter(kind);
  *stream = gemel__sim_stream(*stream);
  if (error != cudaSuccess)
    return error;
  if (*stream == NULL)
    return cudaErrorInvalidResourceHandle;
  if (gemel__sim_is_legacy(*stream) && gemel__sim_capturing())
    return cudaErrorStreamCaptureImplicit;
  return cudaSuccess;
}

cudaError_t gemel__sim_wait(cudaStream_t stream, uint32_t position) {
  gemel__sim_count.waits++;
  gemel__sim_run_until(stream, position);
  if (position == stream->queued)
    gemel__sim_host_knows(&stream->clock);
  return gemel__sim_verdict();
}

gemel__sim_counts gemel__sim_counted(void) {
  return gemel__sim_count;
}

void gemel__sim_count_from_here(void) {
  gemel__sim_count = (gemel__sim_counts){0};
}

gemel__sim_alive gemel__sim_living(void) {
  return gemel__sim_here;
}

/* Errors. */

cudaError_t cudaPeekAtLastError(void) {
  return gemel__sim_broken != cudaSuccess ? gemel__sim_broken : last_error;
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return error;
}

#define NAME_CASE(name, value, text)                                                               \
  case name:                                                                                       \
    return #name;
#define TEXT_CASE(name, value, text)                                                               \
  case name:                                                                                       \
    return text;

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) { GEMEL__SIM_ERRORS(NAME_CASE) }
  return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) { GEMEL__SIM_ERRORS(TEXT_CASE) }
  return "unrecognized error code";
}

/* The current device. */

cudaError_t cudaDeviceSynchronize(void) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  if (error == cudaSuccess && gemel__sim_unsafe())
    error = cudaErrorStreamCaptureUnsupported;
  if (error == cudaSuccess) {
    gemel__sim_count.waits++;
    gemel__sim_run_device(gemel__sim_device);
    error = gemel__sim_verdict();
  }
  return gemel__sim_leave(error);
}

/* Memory. */

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  if (error == cudaSuccess && pointer == NULL)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess && gemel__sim_unsafe())
    error = cudaErrorStreamCaptureUnsupported;
  if (error == cudaSuccess) {
    gemel__sim_drift();
    gemel__sim_count.mallocs++;
    *pointer = NULL;
    error = bytes == 0 ? cudaSuccess : gemel__sim_allocate(bytes, pointer);
  }
  return gemel__sim_leave(error);
}

/* Waits for the device whose memory it is, as CUDA's does. */
cudaError_t cudaFree(void *pointer) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  if (error == cudaSuccess && pointer != NULL && gemel__sim_unsafe())
    error = cudaErrorStreamCaptureUnsupported;
  if (error == cudaSuccess && pointer != NULL) {
    gemel__sim_run_device(gemel__sim_device_of(pointer));
    error = gemel__sim_release(pointer);
    error = error == cudaSuccess ? gemel__sim_verdict() : error;
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  if (error == cudaSuccess && (pointer == NULL || flags > 7))
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess && gemel__sim_unsafe())
    error = cudaErrorStreamCaptureUnsupported;
  if (error == cudaSuccess) {
    *pointer = NULL;
    error = bytes == 0 ? cudaSuccess : gemel__sim_pin(bytes, pointer);
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *pointer) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  if (error == cudaSuccess && pointer != NULL) {
    gemel__sim_run_all();
    error = gemel__sim_unpin(pointer);
    error = error == cudaSuccess ? gemel__sim_verdict() : error;
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_ASKS);
  if (error == cudaSuccess)
    gemel__sim_memory_left(gemel__sim_device, left, total);
  return gemel__sim_leave(error);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *pointer) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_ASKS);
  *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered,
                                               .device = -2, /* cudaInvalidDeviceId */
                                               .hostPointer = (void *)(uintptr_t)pointer};
  if (gemel__sim_is_device(pointer))
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice,
                                                 .device = gemel__sim_device_of(pointer),
                                                 .devicePointer = (void *)(uintptr_t)pointer};
  else if (gemel__sim_pinned_at(pointer) != NULL)
    *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeHost,
                                                 .devicePointer = (void *)(uintptr_t)pointer,
                                                 .hostPointer = (void *)(uintptr_t)pointer};
  return gemel__sim_leave(error);
}

/* Copies. */

static cudaError_t check_kind(const void *to, const void *from, enum cudaMemcpyKind kind) {
  bool from_device = gemel__sim_is_device(from), to_device = gemel__sim_is_device(to);
  bool says_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  bool says_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  if ((unsigned)kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (!from_device && !to_device && (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDefault))
    return cudaErrorNotSupported;
  if (kind == cudaMemcpyDefault || (from_device == says_from && to_device == says_to))
    return cudaSuccess;
  gemel__sim_say(GEMEL__SIM_PARAMETER, (gemel__sim_place){NULL, NULL, 0},
                 "cudaMemcpy of kind %d to the %s from the %s", (int)kind,
                 to_device ? "device" : "host", from_device ? "device" : "host");
  return cudaErrorInvalidValue;
}

/* Pageable memory is read at the call, and written before the call returns. */
static cudaError_t copy(void *to, const void *from, size_t bytes, cudaStream_t stream, bool wait) {
  bool out = gemel__sim_is_device(from), in = gemel__sim_is_device(to);
  bool pageable = !(out && in) && gemel__sim_pinned_at(out ? to : from) == NULL;
  bool capturing = stream->capture != NULL;
  uint32_t position = 0;
  gemel__sim_task *task = gemel__sim_copy_task(to, from, bytes, !out && pageable && !capturing);
  cudaError_t error = gemel__sim_queue(stream, task, &position);
  if (error != cudaSuccess || capturing)
    return error;
  if (wait || (out && pageable))
    return gemel__sim_wait(stream, position);
  gemel__sim_drift();
  return cudaSuccess;
}

static cudaError_t begin_copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                              cudaStream_t stream, bool wait) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess && bytes > 0)
    error = check_kind(to, from, kind);
  if (error == cudaSuccess && bytes > 0)
    error = copy(to, from, bytes, stream, wait);
  return gemel__sim_leave(error);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return begin_copy(to, from, bytes, kind, stream, false);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  return begin_copy(to, from, bytes, kind, NULL, true);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess && bytes > 0) {
    error = gemel__sim_queue(stream, gemel__sim_set_task(to, value, bytes), NULL);
    gemel__sim_drift();
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes) {
  return cudaMemsetAsync(to, value, bytes, NULL);
}

/* What a pool tells (extent.h). In this file, which whoever calls CUDA is linked with, since a weak
   reference alone takes nothing out of an archive. */

int gemel__sim_extent_begin(void *pointer, size_t bytes, cudaStream_t stream);
int gemel__sim_extent_end(void *pointer, cudaStream_t stream);
size_t gemel__sim_extent_gap(void);

int gemel__sim_extent_begin(void *pointer, size_t bytes, cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_BEGINS);
  if (error == cudaSuccess && bytes == 0)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    error = gemel__sim_queue(stream, gemel__sim_extent_task(pointer, bytes, true), NULL);
  return gemel__sim_leave(error);
}

int gemel__sim_extent_end(void *pointer, cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_ENDS);
  cudaStream_t found = gemel__sim_stream(stream);
  if (found == NULL)
    error = cudaErrorInvalidResourceHandle;
  else
    error = gemel__sim_queue(found, gemel__sim_extent_task(pointer, 0, false), NULL);
  return gemel__sim_leave(error);
}

size_t gemel__sim_extent_gap(void) {
  return 256;
}
