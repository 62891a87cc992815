/* SPDX-License-Identifier: MIT
 *
 * Streams. A stream is a queue, and nothing runs when it is queued: each call of CUDA may run some
 * of what is queued, in any order that streams and events allow, and a call that waits runs what it
 * waits for and perhaps more. The seed decides, and prefers late.
 *
 * Each operation has a place, its stream's number and a position in it, and a clock: by stream, the
 * position up to which everything is done before it begins, as far as order in streams, events and
 * the host's waiting promise it. The clocks, not what happened to run first, tell check.c what is
 * unordered.
 *
 * A device's legacy stream, which has the device's number, and its streams made without
 * cudaStreamNonBlocking wait for each other: what comes before is run at once.
 */
#include <stdlib.h>
#include <string.h>
#include "sim/inside.h"

enum { NAMES = 1024 };

struct gemel__sim_work {
  gemel__sim_work *next;
  gemel__sim_task *task; /* NULL: a wait */
  uint32_t position;
  uint64_t age;
  gemel__sim_clock after;
  int other; /* a wait: for this stream to have done this much */
  uint32_t wanted;
};

static struct CUstream_st streams[GEMEL__SIM_STREAMS];
static uint64_t ages;
static struct {
  int stream;
  uint32_t position;
  const char *what;
} names[NAMES]; /* of the last operations, by position */

gemel__sim_operation gemel__sim_now;
gemel__sim_clock gemel__sim_host;
gemel__sim_counts gemel__sim_count;
gemel__sim_alive gemel__sim_here;

/* Clocks. */

void gemel__sim_join(gemel__sim_clock *clock, const gemel__sim_clock *other) {
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++)
    if (clock->at[i] < other->at[i])
      clock->at[i] = other->at[i];
}

void gemel__sim_host_knows(const gemel__sim_clock *clock) {
  gemel__sim_join(&gemel__sim_host, clock);
  gemel__sim_pinned_back();
}

static unsigned name_slot(int stream, uint32_t position) {
  return ((unsigned)stream * 61 + position) % NAMES;
}

const char *gemel__sim_name_of(int stream, uint32_t position) {
  unsigned slot = name_slot(stream, position);
  if (names[slot].stream == stream && names[slot].position == position && names[slot].what != NULL)
    return names[slot].what;
  return "an earlier operation";
}

void gemel__sim_forget_names(void) {
  memset(names, 0, sizeof names);
}

/* Streams. */

static void start_legacy(void) {
  for (int i = 0; i < GEMEL__SIM_DEVICES && !streams[i].used; i++) {
    streams[i] = (struct CUstream_st){.number = i, .device = i, .blocking = true, .used = true};
    streams[i].last = &streams[i].first;
  }
}

bool gemel__sim_is_legacy(const struct CUstream_st *stream) {
  return stream->number < GEMEL__SIM_DEVICES;
}

cudaStream_t gemel__sim_stream(cudaStream_t stream) {
  start_legacy();
  if (stream == NULL || stream == cudaStreamLegacy)
    return &streams[gemel__sim_device];
  for (int i = GEMEL__SIM_DEVICES; i < GEMEL__SIM_STREAMS; i++)
    if (stream == &streams[i])
      return streams[i].used && !streams[i].lane ? stream : NULL;
  return NULL;
}

bool gemel__sim_is_here(cudaStream_t stream) {
  const struct CUstream_st *found = gemel__sim_stream(stream);
  return found != NULL && found->device == gemel__sim_device;
}

cudaStream_t gemel__sim_stream_number(int number) {
  return &streams[number];
}

/* A slot that is used again goes on counting positions, so that clocks stay true. */
cudaStream_t gemel__sim_stream_new(int device, bool blocking, bool lane) {
  start_legacy();
  for (int i = GEMEL__SIM_DEVICES; i < GEMEL__SIM_STREAMS; i++) {
    cudaStream_t stream = &streams[i];
    if (stream->used && !(stream->lane && stream->first == NULL))
      continue;
    *stream = (struct CUstream_st){.number = i,
                                   .device = device,
                                   .blocking = blocking,
                                   .used = true,
                                   .lane = lane,
                                   .queued = stream->queued,
                                   .done = stream->done};
    stream->last = &stream->first;
    return stream;
  }
  return NULL;
}

void gemel__sim_stream_done(cudaStream_t stream) {
  gemel__sim_run_until(stream, stream->queued);
  if (stream->capture != NULL)
    gemel__sim_capture_spoil(stream->capture);
  stream->used = false;
}

/* Running. */

static bool can_run(const struct CUstream_st *stream) {
  const gemel__sim_work *work = stream->first;
  return work != NULL && (work->task != NULL || streams[work->other].done >= work->wanted);
}

static void run_first(cudaStream_t stream) {
  gemel__sim_work *work = stream->first;
  unsigned slot = name_slot(stream->number, work->position);
  stream->first = work->next;
  if (stream->first == NULL)
    stream->last = &stream->first;
  if (work->task != NULL) {
    gemel__sim_now = (gemel__sim_operation){.stream = stream->number,
                                            .device = stream->device,
                                            .position = work->position,
                                            .what = work->task->what,
                                            .after = work->after};
    names[slot].stream = stream->number;
    names[slot].position = work->position;
    names[slot].what = work->task->what;
    if (work->task->run != NULL)
      work->task->run(work->task);
    gemel__sim_task_unref(work->task);
  }
  stream->done = work->position;
  free(work);
}

/* Runs what is first in one stream, chosen as the seed says. False if nothing can run. */
static bool run_any(void) {
  uint32_t able = 0;
  cudaStream_t pick = NULL;
  bool newest = gemel__sim_policy() > 0 && gemel__sim_below(8) > 0;
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++) {
    if (!streams[i].used || !can_run(&streams[i]))
      continue;
    if (newest ? pick == NULL || streams[i].first->age > pick->first->age
               : gemel__sim_below(++able) == 0)
      pick = &streams[i];
  }
  if (pick != NULL)
    run_first(pick);
  return pick != NULL;
}

/* What a stream waits for was queued before, so something can always run. */
void gemel__sim_run_until(cudaStream_t stream, uint32_t position) {
  while (stream->done < position && run_any())
    continue;
}

void gemel__sim_run_all(void) {
  while (run_any())
    continue;
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++)
    gemel__sim_host.at[i] = streams[i].queued;
  gemel__sim_pinned_back();
}

/* What the device has waited for on others the host knows then as well. */
void gemel__sim_run_device(int device) {
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++)
    if (streams[i].device == device) {
      gemel__sim_run_until(&streams[i], streams[i].queued);
      gemel__sim_join(&gemel__sim_host, &streams[i].clock);
    }
  gemel__sim_pinned_back();
}

void gemel__sim_drift(void) {
  if (gemel__sim_below(gemel__sim_policy() > 0 ? 8 : 2) != 0)
    return;
  while (gemel__sim_below(4) != 0 && run_any())
    continue;
}

/* Queueing. */

static void after_blocking(cudaStream_t stream) {
  for (int i = 0; i < GEMEL__SIM_STREAMS; i++) {
    cudaStream_t other = &streams[i];
    bool waits = gemel__sim_is_legacy(stream) ? other->blocking
                                              : stream->blocking && gemel__sim_is_legacy(other);
    if (!other->used || other == stream || !waits || other->device != stream->device)
      continue;
    gemel__sim_join(&stream->clock, &other->clock);
    gemel__sim_run_until(other, other->queued);
  }
}

static gemel__sim_work *append(cudaStream_t stream) {
  gemel__sim_work *work = calloc(1, sizeof *work);
  if (work == NULL)
    return NULL;
  after_blocking(stream);
  gemel__sim_join(&stream->clock, &gemel__sim_host);
  work->position = ++stream->queued;
  work->age = ++ages;
  *stream->last = work;
  stream->last = &work->next;
  return work;
}

/* The work's clock is the stream's, and the stream's goes on. */
static void seal(cudaStream_t stream, gemel__sim_work *work) {
  work->after = stream->clock;
  stream->clock.at[stream->number] = work->position;
}

cudaError_t gemel__sim_queue(cudaStream_t stream, gemel__sim_task *task, uint32_t *position) {
  if (task == NULL)
    return cudaErrorMemoryAllocation;
  if (stream->capture != NULL)
    return gemel__sim_capture_task(stream, task);
  uint32_t place = stream->queued + 1;
  cudaError_t error =
      task->queued != NULL ? task->queued(task, stream->number, place) : cudaSuccess;
  gemel__sim_work *work = error == cudaSuccess ? append(stream) : NULL;
  if (work == NULL) {
    gemel__sim_task_unref(task);
    return error != cudaSuccess ? error : cudaErrorMemoryAllocation;
  }
  work->task = task;
  seal(stream, work);
  if (position != NULL)
    *position = work->position;
  return cudaSuccess;
}

cudaError_t gemel__sim_queue_wait(cudaStream_t stream, int other, uint32_t position,
                                  const gemel__sim_clock *clock) {
  gemel__sim_work *work = append(stream);
  if (work == NULL)
    return cudaErrorMemoryAllocation;
  work->other = other;
  work->wanted = position;
  gemel__sim_join(&stream->clock, clock);
  seal(stream, work);
  return cudaSuccess;
}
