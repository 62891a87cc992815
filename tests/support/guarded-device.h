/*
 * A device whose memory the host can't touch: it is mapped twice, and the addresses that are given
 * out are those of a mapping without any permission, so that every access by the host is a fault.
 * The kernels are the host's plain ones, called on the other mapping. Fresh memory is poisoned;
 * what is allocated and moved is counted, and any allocation can be made to fail.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_GUARDED_DEVICE_H
#define GEMEL_TESTS_GUARDED_DEVICE_H

#include <gemel/device.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARDED_BYTES = 64 << 20 };

typedef struct guarded_device {
  gemel_device record;
  char *guarded, *readable;
  size_t used, live; /* bytes given out so far; blocks that are in use */
  size_t uploads, downloads, allocations;
  size_t clusters; /* that ran */
  int exchanges;   /* a fault: operands of clusters' steps change places */
  size_t refuse;   /* the allocation that fails, counted from 1; 0: none */
} guarded_device;

/* The address at which the host may touch what is at DATA; others stay as they are. */
static inline void *guarded_reach(const guarded_device *d, const void *data) {
  ptrdiff_t at = (const char *)data - d->guarded;
  return at >= 0 && at < GUARDED_BYTES ? d->readable + at : (void *)data;
}

static gemel_status guarded_allocate(void *user, size_t bytes, void **data, gemel_error *error) {
  guarded_device *d = user;
  (void)error;
  if (++d->allocations == d->refuse || bytes > GUARDED_BYTES - d->used) {
    if (error != NULL) {
      *error = (gemel_error){.status = GEMEL_NO_MEMORY, .text = "the guarded device is full"};
    }
    return GEMEL_NO_MEMORY;
  }
  *data = d->guarded + d->used;
  memset(d->readable + d->used, 0xff, bytes);
  d->used += (bytes + 63) / 64 * 64;
  d->live++;
  return GEMEL_OK;
}

static void guarded_release(void *user, void *data, size_t bytes) {
  guarded_device *d = user;
  memset(guarded_reach(d, data), 0xff, bytes);
  d->used = --d->live == 0 ? 0 : d->used;
}

static gemel_status guarded_upload(void *user, void *to, const void *from, size_t bytes,
                                   gemel_error *error) {
  guarded_device *d = user;
  (void)error;
  d->uploads++;
  memcpy(guarded_reach(d, to), from, bytes);
  return GEMEL_OK;
}

static gemel_status guarded_download(void *user, void *to, const void *from, size_t bytes,
                                     gemel_error *error) {
  guarded_device *d = user;
  (void)error;
  d->downloads++;
  memcpy(to, guarded_reach(d, from), bytes);
  return GEMEL_OK;
}

static gemel_status guarded_fill(void *user, void *data, int byte, size_t bytes,
                                 gemel_error *error) {
  (void)error;
  memset(guarded_reach(user, data), byte, bytes);
  return GEMEL_OK;
}

static gemel_status guarded_copy(void *user, const gemel_view *to, const gemel_view *from,
                                 int threads, gemel_error *error) {
  gemel_view target = *to, source = *from;
  target.data = guarded_reach(user, to->data);
  source.data = guarded_reach(user, from->data);
  return gemel_host()->copy(gemel_host()->user, &target, &source, threads, error);
}

static gemel_status guarded_synchronize(void *user, gemel_error *error) {
  (void)user, (void)error;
  return GEMEL_OK;
}

/* ---- Kernels ---- */

static inline const gemel_kernel *guarded_plain(const gemel_kernel_call *call) {
  const gemel_kernel *kernel = call->operation->kernels;
  while (kernel[1].name != NULL) {
    kernel++;
  }
  return kernel;
}

static gemel_status guarded_prepare(gemel_kernel_call *call) {
  const gemel_kernel *plain = guarded_plain(call);
  return plain->prepare != NULL ? plain->prepare(call) : GEMEL_OK;
}

static gemel_status guarded_run(const gemel_kernel_call *call) {
  const guarded_device *d = call->device->user;
  gemel_kernel_call reached = *call;
  gemel_view *views = malloc((call->n_inputs + call->n_outputs) * sizeof *views);
  for (size_t k = 0; k < call->n_inputs; k++) {
    views[k] = call->inputs[k];
    views[k].data = guarded_reach(d, views[k].data);
  }
  for (size_t k = 0; k < call->n_outputs; k++) {
    views[call->n_inputs + k] = call->outputs[k];
    views[call->n_inputs + k].data = guarded_reach(d, call->outputs[k].data);
  }
  reached.inputs = views;
  reached.outputs = views + call->n_inputs;
  reached.scratch = guarded_reach(d, call->scratch);
  gemel_status status = guarded_plain(call)->run(&reached);
  free(views);
  return status;
}

static const gemel_kernel *guarded_kernels(void *user, const gemel_operation *operation) {
  static const gemel_kernel kernels[] = {{"guarded", guarded_prepare, guarded_run},
                                         {NULL, NULL, NULL}};
  (void)user;
  return operation->kernels != NULL && operation->kernels[0].name != NULL &&
                 strcmp(operation->name, "argmax") != 0 && strcmp(operation->name, "scan") != 0
             ? kernels
             : NULL;
}

/* Clusters are computed step by step, with what no output keeps in scratch memory. */
static gemel_status guarded_prepare_cluster(gemel_kernel_call *call) {
  size_t elements = 1;
  for (int axis = 0; axis < call->outputs[0].rank; axis++) {
    elements *= (size_t)call->outputs[0].shape[axis];
  }
  call->scratch_bytes = call->n_steps * elements * 8;
  return GEMEL_OK;
}

/* Where step K of CALL leaves its result. */
static inline gemel_view guarded_result(const gemel_kernel_call *call, size_t k, int64_t *strides) {
  const gemel_view *shape = &call->outputs[0];
  int64_t step = (int64_t)gemel_dtype_size(call->steps[k].dtype);
  if (call->steps[k].output >= 0) {
    gemel_view view = call->outputs[call->steps[k].output];
    view.data = guarded_reach(call->device->user, view.data);
    return view;
  }
  for (int axis = shape->rank; axis-- > 0; step *= shape->shape[axis]) {
    strides[axis] = step;
  }
  char *data = guarded_reach(call->device->user, call->scratch);
  return (gemel_view){call->steps[k].dtype, shape->rank, shape->shape, strides,
                      data + k * (call->scratch_bytes / call->n_steps)};
}

static gemel_status guarded_run_cluster(const gemel_kernel_call *call) {
  gemel_status status = GEMEL_OK;
  ((guarded_device *)call->device->user)->clusters++;
  for (size_t k = 0; k < call->n_steps && status == GEMEL_OK; k++) {
    const gemel_step *step = &call->steps[k];
    int64_t strides[4][GEMEL_MAX_RANK];
    gemel_view in[3], out = guarded_result(call, k, strides[3]);
    for (int i = 0; i < step->n_in; i++) {
      int wrong = ((guarded_device *)call->device->user)->exchanges;
      int from = step->in[wrong ? step->n_in - 1 - i : i];
      if (from >= 0) {
        in[i] = guarded_result(call, (size_t)from, strides[i]);
      } else {
        in[i] = call->inputs[-1 - from];
        in[i].data = guarded_reach(call->device->user, in[i].data);
      }
    }
    gemel_kernel_call one = {.size = sizeof one,
                             .n_inputs = (size_t)step->n_in,
                             .inputs = in,
                             .n_outputs = 1,
                             .outputs = &out,
                             .threads = 1,
                             .operation = step->operation,
                             .data = step->operation->data,
                             .error = call->error};
    status = guarded_plain(&one)->run(&one);
  }
  return status;
}

static const gemel_kernel guarded_clusters[] = {
    {"step by step", guarded_prepare_cluster, guarded_run_cluster}, {NULL, NULL, NULL}};

/* ---- Life ---- */

/* 0, or -1 if the system has no memory for it. */
static inline int guarded_open(guarded_device *d, const char *name) {
  int file = memfd_create("guarded", 0);
  *d = (guarded_device){.record = {.size = sizeof(gemel_device),
                                   .name = name,
                                   .user = d,
                                   .allocate = guarded_allocate,
                                   .release = guarded_release,
                                   .upload = guarded_upload,
                                   .download = guarded_download,
                                   .fill = guarded_fill,
                                   .copy = guarded_copy,
                                   .synchronize = guarded_synchronize,
                                   .kernels = guarded_kernels,
                                   .clusters = guarded_clusters}};
  if (file < 0 || ftruncate(file, GUARDED_BYTES) != 0) {
    return -1;
  }
  d->guarded = mmap(NULL, GUARDED_BYTES, PROT_NONE, MAP_SHARED, file, 0);
  d->readable = mmap(NULL, GUARDED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return d->guarded != MAP_FAILED && d->readable != MAP_FAILED ? 0 : -1;
}

static inline void guarded_close(guarded_device *d) {
  munmap(d->guarded, GUARDED_BYTES);
  munmap(d->readable, GUARDED_BYTES);
}

#endif
