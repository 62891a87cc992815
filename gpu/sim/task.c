/* SPDX-License-Identifier: MIT
 *
 * What a stream can do: run a kernel, copy, set memory, call the host, begin or end an extent of a
 * pool. A task is made once, with copies of what the caller may change after the call, and may run
 * often, from a graph.
 */
#include <stdlib.h>
#include <string.h>
#include "sim/inside.h"

void gemel__sim_task_unref(gemel__sim_task *task) {
  if (task == NULL || --task->references > 0)
    return;
  if (task->drop != NULL)
    task->drop(task);
  free(task);
}

/* A device that is broken runs nothing any more. */
static bool broken(void) {
  return gemel__sim_broken != cudaSuccess;
}

static void out_of_memory(void) {
  if (gemel__sim_broken == cudaSuccess)
    gemel__sim_broken = cudaErrorMemoryAllocation;
}

/* Kernels. */

typedef struct {
  gemel__sim_task task;
  const struct gemel__sim_kernel *kernel;
  dim3 grid, block;
  size_t shared;
  void *arguments[]; /* and behind them, what they point to */
} launch;

static void run_launch(gemel__sim_task *task) {
  launch *l = (launch *)task;
  if (broken())
    return;
  gemel__sim_count.kernels++;
  gemel__sim_open();
  if (!gemel__sim_run_grid(l->kernel, l->grid, l->block, l->arguments, l->shared))
    out_of_memory();
}

static size_t aligned(size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

gemel__sim_task *gemel__sim_launch_task(const struct gemel__sim_kernel *kernel, dim3 grid,
                                        dim3 block, void **arguments, size_t shared) {
  size_t pointers = aligned(sizeof(launch) + kernel->count * sizeof(void *)), bytes = pointers;
  for (unsigned i = 0; i < kernel->count; i++)
    bytes += aligned(kernel->sizes[i]);
  launch *l = malloc(bytes);
  if (l == NULL)
    return NULL;
  *l = (launch){.task = {.references = 1, .what = kernel->name, .run = run_launch},
                .kernel = kernel,
                .grid = grid,
                .block = block,
                .shared = shared};
  char *at = (char *)l + pointers;
  for (unsigned i = 0; i < kernel->count; i++) {
    l->arguments[i] = memcpy(at, arguments[i], kernel->sizes[i]);
    at += aligned(kernel->sizes[i]);
  }
  return &l->task;
}

/* Copies. */

typedef struct {
  gemel__sim_task task;
  void *to;
  const void *from;
  size_t bytes;
  void *kept; /* the source's bytes when the copy was asked for, or NULL */
} copy;

static bool from_device(const copy *c) {
  return gemel__sim_is_device(c->from);
}

static bool to_device(const copy *c) {
  return gemel__sim_is_device(c->to);
}

static void run_copy(gemel__sim_task *task) {
  copy *c = (copy *)task;
  bool from = from_device(c), to = to_device(c);
  gemel__sim_pinned *pinned = gemel__sim_pinned_at(from ? c->to : c->from);
  if (broken())
    return;
  gemel__sim_count.copies_in += !from && to;
  gemel__sim_count.copies_out += from && !to;
  gemel__sim_count.copies_on += from && to;
  if ((to && !gemel__sim_check_range(c->to, c->bytes, true)) ||
      (from && !gemel__sim_check_range(c->from, c->bytes, false)))
    return;
  gemel__sim_open();
  gemel__sim_pinned_open(pinned);
  memmove(c->to, c->kept != NULL ? c->kept : c->from, c->bytes);
  gemel__sim_pinned_close(pinned);
}

static cudaError_t lend(gemel__sim_task *task, int stream, uint32_t position) {
  copy *c = (copy *)task;
  bool out = from_device(c);
  gemel__sim_pinned *pinned = gemel__sim_pinned_at(out ? c->to : c->from);
  if (pinned == NULL || gemel__sim_pinned_lend(pinned, stream, position, out))
    return cudaSuccess;
  return cudaErrorMemoryAllocation;
}

static void drop_copy(gemel__sim_task *task) {
  free(((copy *)task)->kept);
}

gemel__sim_task *gemel__sim_copy_task(void *to, const void *from, size_t bytes, bool keep) {
  copy *c = malloc(sizeof *c);
  void *kept = keep ? malloc(bytes + 1) : NULL;
  if (c == NULL || (keep && kept == NULL)) {
    free(c);
    free(kept);
    return NULL;
  }
  if (keep)
    memcpy(kept, from, bytes);
  *c = (copy){.task = {.references = 1, .queued = lend, .run = run_copy, .drop = drop_copy},
              .to = to,
              .from = from,
              .bytes = bytes,
              .kept = kept};
  c->task.what = !from_device(c) ? "a copy to the device"
                 : to_device(c)  ? "a copy on the device"
                                 : "a copy to the host";
  return &c->task;
}

/* Memsets. */

typedef struct {
  gemel__sim_task task;
  void *to;
  int value;
  size_t bytes;
} set;

static void run_set(gemel__sim_task *task) {
  set *s = (set *)task;
  if (broken())
    return;
  gemel__sim_count.memsets++;
  gemel__sim_open();
  if (gemel__sim_check_range(s->to, s->bytes, true))
    memset(s->to, s->value, s->bytes);
}

gemel__sim_task *gemel__sim_set_task(void *to, int value, size_t bytes) {
  set *s = malloc(sizeof *s);
  if (s == NULL)
    return NULL;
  *s = (set){.task = {.references = 1, .what = "a memset", .run = run_set},
             .to = to,
             .value = value,
             .bytes = bytes};
  return &s->task;
}

/* Calls of the host. */

typedef struct {
  gemel__sim_task task;
  cudaHostFn_t function;
  void *data;
} host_call;

static void run_call(gemel__sim_task *task) {
  host_call *c = (host_call *)task;
  gemel__sim_close();
  c->function(c->data);
}

gemel__sim_task *gemel__sim_call_task(cudaHostFn_t function, void *data) {
  host_call *c = malloc(sizeof *c);
  if (c == NULL)
    return NULL;
  *c = (host_call){.task = {.references = 1, .what = "a function of the host", .run = run_call},
                   .function = function,
                   .data = data};
  return &c->task;
}

/* Extents. */

typedef struct {
  gemel__sim_task task;
  void *pointer;
  size_t bytes;
} extent;

static void run_begin(gemel__sim_task *task) {
  extent *e = (extent *)task;
  gemel__sim_extent_add((uintptr_t)e->pointer, e->bytes);
}

static void run_end(gemel__sim_task *task) {
  gemel__sim_extent_drop((uintptr_t)((extent *)task)->pointer);
}

gemel__sim_task *gemel__sim_extent_task(void *pointer, size_t bytes, bool begin) {
  extent *e = malloc(sizeof *e);
  if (e == NULL)
    return NULL;
  *e = (extent){.task = {.references = 1, .what = "an extent", .run = begin ? run_begin : run_end},
                .pointer = pointer,
                .bytes = bytes};
  return &e->task;
}

gemel__sim_task *gemel__sim_event_task(void) {
  gemel__sim_task *task = malloc(sizeof *task);
  if (task != NULL)
    *task = (gemel__sim_task){.references = 1, .what = "an event"};
  return task;
}
