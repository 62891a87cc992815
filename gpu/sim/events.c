/* SPDX-License-Identifier: MIT
 *
 * Streams and events of the CUDA runtime, by its own names; what they do is in stream.c.
 */
#include <stdlib.h>
#include <time.h>
#include "sim/inside.h"

static cudaEvent_t events;

/* Streams. */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  if (error == cudaSuccess && (stream == NULL || flags > cudaStreamNonBlocking))
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess) {
    *stream = gemel__sim_stream_new(gemel__sim_device, !(flags & cudaStreamNonBlocking), false);
    error = *stream == NULL ? cudaErrorMemoryAllocation : cudaSuccess;
    gemel__sim_here.streams += *stream != NULL;
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  cudaStream_t found = gemel__sim_stream(stream);
  if (found == NULL || gemel__sim_is_legacy(found))
    error = cudaErrorInvalidResourceHandle;
  else {
    gemel__sim_stream_done(found);
    gemel__sim_here.streams--;
  }
  return gemel__sim_leave(error);
}

static cudaError_t not_captured(cudaStream_t stream) {
  if (stream->capture == NULL)
    return cudaSuccess;
  gemel__sim_capture_spoil(stream->capture);
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess)
    error = not_captured(stream);
  if (error == cudaSuccess)
    error = gemel__sim_wait(stream, stream->queued);
  return gemel__sim_leave(error);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess)
    error = not_captured(stream);
  if (error == cudaSuccess) {
    gemel__sim_drift();
    error = gemel__sim_verdict();
    if (error == cudaSuccess && stream->done < stream->queued)
      error = cudaErrorNotReady;
    else
      gemel__sim_host_knows(&stream->clock);
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_ASKS);
  const struct CUstream_st *found = gemel__sim_stream(stream);
  if (found == NULL)
    error = cudaErrorInvalidResourceHandle;
  else if (device == NULL)
    error = cudaErrorInvalidValue;
  else
    *device = found->device;
  return gemel__sim_leave(error);
}

/* Events. */

static bool exists(cudaEvent_t event) {
  for (cudaEvent_t e = events; e != NULL; e = e->next)
    if (e == event)
      return true;
  return false;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  cudaEvent_t made = error == cudaSuccess ? calloc(1, sizeof *made) : NULL;
  if (error == cudaSuccess && made == NULL)
    error = cudaErrorMemoryAllocation;
  if (error == cudaSuccess) {
    made->device = gemel__sim_device;
    made->stream = -1;
    made->time = flags & cudaEventDisableTiming ? -1 : 0;
    made->next = events;
    events = *event = made;
    gemel__sim_here.events++;
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_FREES);
  cudaEvent_t *link = &events;
  while (*link != NULL && *link != event)
    link = &(*link)->next;
  if (*link == NULL)
    error = cudaErrorInvalidResourceHandle;
  else {
    *link = event->next;
    free(event);
    gemel__sim_here.events--;
  }
  return gemel__sim_leave(error);
}

static cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
  uint32_t position = 0;
  if (event->device != stream->device)
    return gemel__sim_elsewhere("cudaEventRecord: the event", event->device, stream->device);
  if (stream->capture != NULL)
    return gemel__sim_capture_record(stream, event);
  cudaError_t error = gemel__sim_queue(stream, gemel__sim_event_task(), &position);
  if (error != cudaSuccess)
    return error;
  event->capture = 0;
  event->stream = stream->number;
  event->position = position;
  event->clock = stream->clock;
  if (event->time >= 0)
    event->time = milliseconds();
  gemel__sim_drift();
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess)
    error = exists(event) ? record(event, stream) : cudaErrorInvalidResourceHandle;
  return gemel__sim_leave(error);
}

/* An event that was never recorded is nothing to wait for. */
static cudaError_t wait_event(cudaStream_t stream, cudaEvent_t event) {
  if (event->capture != 0 || stream->capture != NULL)
    return gemel__sim_capture_wait(stream, event);
  if (event->stream < 0)
    return cudaSuccess;
  cudaError_t error = gemel__sim_queue_wait(stream, event->stream, event->position, &event->clock);
  gemel__sim_drift();
  return error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  cudaError_t error = gemel__sim_enter_stream(&stream, GEMEL__SIM_MAKES);
  if (error == cudaSuccess && flags != 0)
    error = cudaErrorInvalidValue;
  if (error == cudaSuccess)
    error = exists(event) ? wait_event(stream, event) : cudaErrorInvalidResourceHandle;
  return gemel__sim_leave(error);
}

static cudaError_t enter_event(cudaEvent_t event) {
  cudaError_t error = gemel__sim_enter(GEMEL__SIM_MAKES);
  if (error == cudaSuccess && !exists(event))
    error = cudaErrorInvalidResourceHandle;
  if (error == cudaSuccess && event->capture != 0)
    error = cudaErrorCapturedEvent;
  return error;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  cudaError_t error = enter_event(event);
  if (error == cudaSuccess) {
    gemel__sim_count.waits++;
    if (event->stream >= 0) {
      gemel__sim_run_until(gemel__sim_stream_number(event->stream), event->position);
      gemel__sim_host_knows(&event->clock);
    }
    error = gemel__sim_verdict();
  }
  return gemel__sim_leave(error);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  cudaError_t error = enter_event(event);
  if (error == cudaSuccess && event->stream >= 0) {
    gemel__sim_drift();
    error = gemel__sim_verdict();
    if (error == cudaSuccess && gemel__sim_stream_number(event->stream)->done < event->position)
      error = cudaErrorNotReady;
    else
      gemel__sim_host_knows(&event->clock);
  }
  return gemel__sim_leave(error);
}

/* The time of the host between the two calls: no other is modelled. */
cudaError_t cudaEventElapsedTime(float *time, cudaEvent_t start, cudaEvent_t end) {
  cudaError_t error = enter_event(start);
  if (error == cudaSuccess && !exists(end))
    error = cudaErrorInvalidResourceHandle;
  if (error == cudaSuccess && (start->time <= 0 || end->time <= 0 || start->device != end->device))
    error = cudaErrorInvalidResourceHandle;
  if (error == cudaSuccess)
    *time = (float)(end->time - start->time);
  return gemel__sim_leave(error);
}
