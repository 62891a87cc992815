/* SPDX-License-Identifier: MIT
 *
 * Kernels that take packed operands only (PACKED of gemel_kernel_call). Such a call asks for more
 * scratch memory than its kernel does: behind the kernel's own lie row-major copies of the operands
 * and results that aren't packed themselves. The runner copies operands there, calls the kernel
 * with views of the copies, and copies results back. Copies are the device's, so they are done in
 * the order of its other work.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "device/kernels.h"

enum { ALIGNMENT = 64, FEW = 8 };

gemel_status gemel_prepare_packed(gemel_kernel_call *call) {
  if (call == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  call->packed = 1;
  return GEMEL_OK;
}

/* ---- Operands: the inputs, then the outputs ---- */

static size_t count(const gemel_kernel_call *call) {
  return call->n_inputs + call->n_outputs;
}

static const gemel_view *operand(const gemel_kernel_call *call, size_t k) {
  return k < call->n_inputs ? &call->inputs[k] : &call->outputs[k - call->n_inputs];
}

/* 1 if operand K is an output without memory. */
static int is_nowhere(const gemel_kernel_call *call, size_t k) {
  return k >= call->n_inputs && call->unread != NULL && call->unread[k - call->n_inputs];
}

/* STRIDES = those of VIEW's shape without gaps. Returns its bytes. */
static size_t pack(const gemel_view *view, int64_t *strides) {
  int64_t step = (int64_t)gemel_dtype_size(view->dtype), bytes = step;
  for (int k = view->rank; k-- > 0;) {
    strides[k] = step;
    step *= view->shape[k] > 0 ? view->shape[k] : 1;
    bytes *= view->shape[k];
  }
  return (size_t)bytes;
}

/* How many bytes the copy of operand K takes; 0: it is packed, or has no memory. */
static size_t copy_bytes(const gemel_kernel_call *call, size_t k) {
  const gemel_view *view = operand(call, k);
  int64_t strides[GEMEL_MAX_RANK];
  size_t bytes = pack(view, strides);
  int packed = bytes == 0 || is_nowhere(call, k);
  for (int axis = 0; axis < view->rank && !packed; axis++) {
    if (view->shape[axis] > 1 && view->strides[axis] != strides[axis]) {
      return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
  }
  return 0;
}

static size_t copies_bytes(const gemel_kernel_call *call) {
  size_t bytes = 0;
  for (size_t k = 0; k < count(call); k++) {
    bytes += copy_bytes(call, k);
  }
  return bytes;
}

gemel_status gemel__call_prepare(gemel_kernel_call *call, const gemel_kernel *kernel) {
  call->scratch_bytes = 0;
  call->packed = 0;
  gemel_status status = kernel->prepare != NULL ? kernel->prepare(call) : GEMEL_OK;
  if (status == GEMEL_OK && call->packed) {
    size_t copies = copies_bytes(call);
    call->packed_run = kernel->run;
    if (copies > 0) {
      call->scratch_bytes = (call->scratch_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + copies;
    }
  }
  return status;
}

/* ---- Running ---- */

/* Room for the views of a call with few operands. */
struct few_views {
  gemel_view views[FEW];
  int64_t strides[FEW][GEMEL_MAX_RANK];
};

/* VIEWS and STRIDES = packed operands of CALL: those that there are, or places for copies of them
 * from AT on. */
static void make_views(const gemel_kernel_call *call, char *at, gemel_view *views,
                       int64_t (*strides)[GEMEL_MAX_RANK]) {
  for (size_t k = 0; k < count(call); k++) {
    size_t bytes = copy_bytes(call, k);
    views[k] = *operand(call, k);
    pack(&views[k], strides[k]);
    views[k].strides = strides[k];
    views[k].data = bytes > 0 ? at : views[k].data;
    at += bytes;
  }
}

/* Copies operands FIRST to END - 1 that aren't packed: to VIEWS, or (BACK) from them. */
static gemel_status copy(const gemel_kernel_call *call, const gemel_view *views, size_t first,
                         size_t end, int back) {
  const gemel_device *device = call->device;
  for (size_t k = first; k < end; k++) {
    const gemel_view *there = operand(call, k);
    if (copy_bytes(call, k) > 0) {
      GEMEL__TRY(device->copy(device->user, back ? there : &views[k], back ? &views[k] : there,
                              call->threads, call->error));
    }
  }
  return GEMEL_OK;
}

static gemel_status run_on(const gemel_kernel_call *call, gemel_view *views,
                           int64_t (*strides)[GEMEL_MAX_RANK]) {
  gemel_kernel_call packed = *call;
  size_t n = call->n_inputs;
  packed.scratch_bytes -= copies_bytes(call);
  make_views(call, (char *)call->scratch + packed.scratch_bytes, views, strides);
  packed.inputs = views;
  packed.outputs = views + n;
  GEMEL__TRY(copy(call, views, 0, n, 0));
  GEMEL__TRY(call->packed_run(&packed));
  return copy(call, views, n, count(call), 1);
}

static gemel_status run_packed(const gemel_kernel_call *call) {
  struct few_views few;
  size_t n = count(call), each = sizeof(gemel_view) + sizeof few.strides[0];
  if (n <= FEW) {
    return run_on(call, few.views, few.strides);
  }
  gemel_view *views = gemel__alloc_array(n, each);
  if (views == NULL) {
    return gemel__no_memory(call->error, "views of packed operands");
  }
  gemel_status status = run_on(call, views, (int64_t(*)[GEMEL_MAX_RANK])(void *)(views + n));
  gemel__free(views, n * each);
  return status;
}

gemel_status (*gemel__call_runner(const gemel_kernel_call *call,
                                  const gemel_kernel *kernel))(const gemel_kernel_call *call) {
  return call->packed ? run_packed : kernel->run;
}
