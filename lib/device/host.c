/* SPDX-License-Identifier: MIT
 *
 * The host as a device: its memory is the library's, a copy is a copy, everything is done when a
 * function returns, and an operation's kernels are those of its record.
 */
#include <gemel/dlpack.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/strided.h"
#include "device/device.h"

/* The address of the block lies in front of the aligned data. */
static gemel_status allocate(void *user, size_t bytes, void **data, gemel_error *error) {
  char *block = gemel__alloc(bytes + GEMEL__DATA_ALIGNMENT);
  (void)user;
  if (block == NULL) {
    return gemel__no_memory(error, "memory of the host");
  }
  size_t padding = GEMEL__DATA_ALIGNMENT - (uintptr_t)block % GEMEL__DATA_ALIGNMENT;
  *data = block + padding;
  ((unsigned char *)*data)[-1] = (unsigned char)padding;
  gemel__advise_huge(*data, bytes);
  return GEMEL_OK;
}

static void release(void *user, void *data, size_t bytes) {
  (void)user;
  gemel__free((char *)data - ((unsigned char *)data)[-1], bytes + GEMEL__DATA_ALIGNMENT);
}

static gemel_status copy_bytes(void *user, void *to, const void *from, size_t bytes,
                               gemel_error *error) {
  (void)user, (void)error;
  memcpy(to, from, bytes);
  return GEMEL_OK;
}

static gemel_status fill(void *user, void *data, int byte, size_t bytes, gemel_error *error) {
  (void)user, (void)error;
  memset(data, byte, bytes);
  return GEMEL_OK;
}

static gemel_status copy(void *user, const gemel_view *to, const gemel_view *from, int threads,
                         gemel_error *error) {
  (void)user, (void)error;
  gemel__copy_parallel(threads, gemel_dtype_size(to->dtype), to->rank, to->shape, to->data,
                       to->strides, from->data, from->strides);
  return GEMEL_OK;
}

static gemel_status synchronize(void *user, gemel_error *error) {
  (void)user, (void)error;
  return GEMEL_OK;
}

static const gemel_kernel *kernels(void *user, const gemel_operation *operation) {
  (void)user;
  return operation->kernels;
}

const gemel_device gemel__host_device = {.size = sizeof(gemel_device),
                                         .name = "host",
                                         .allocate = allocate,
                                         .release = release,
                                         .dlpack_type = GEMEL_DLPACK_CPU,
                                         .upload = copy_bytes,
                                         .download = copy_bytes,
                                         .fill = fill,
                                         .copy = copy,
                                         .synchronize = synchronize,
                                         .kernels = kernels};

const gemel_device *gemel_host(void) {
  return &gemel__host_device;
}
