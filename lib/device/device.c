/* SPDX-License-Identifier: MIT
 *
 * The devices of a context, and tensors on them. Elements go from one device to another by way of
 * the host, as bytes in row-major order; what isn't laid out like that is copied on its own device
 * first.
 */
#include "device/device.h"

#include <string.h>
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

/* ---- The table ---- */

static int is_complete(const gemel_device *d) {
  return d->size >= sizeof *d && d->name != NULL && d->allocate != NULL && d->release != NULL &&
         d->upload != NULL && d->download != NULL && d->fill != NULL && d->copy != NULL &&
         d->synchronize != NULL && d->kernels != NULL &&
         (d->allocate_staging == NULL) == (d->release_staging == NULL) &&
         (d->begin == NULL) == (d->end == NULL) && (d->begin == NULL) == (d->replay == NULL) &&
         (d->begin == NULL) == (d->forget == NULL);
}

static gemel_status check_device(const gemel_device *device, gemel_error *error) {
  if (device == NULL) {
    return gemel__null(error, "the device");
  }
  return is_complete(device)
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_BAD_ARGUMENT,
                           "the record of a device lacks a function, or its size is too small");
}

gemel_status gemel_register_device(gemel_context *context, int space, const gemel_device *device,
                                   gemel_error *error) {
  const gemel_device *before;
  if (context == NULL) {
    return gemel__null(error, "the context");
  }
  GEMEL__TRY(check_device(device, error));
  if (space < 1 || space > 255) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "memory space %d is outside 1..255", space);
  }
  pthread_mutex_lock(&context->lock);
  before = context->devices[space - 1];
  context->devices[space - 1] = before == NULL ? device : before;
  pthread_mutex_unlock(&context->lock);
  return before == NULL ? GEMEL_OK
                        : gemel__fail(error, GEMEL_BAD_ARGUMENT,
                                      "memory space %d has the device %s", space, before->name);
}

const gemel_device *gemel_device_of_space(gemel_context *context, int space) {
  const gemel_device *device;
  if (context == NULL || space < 0 || space > 255) {
    return NULL;
  }
  if (space == GEMEL_SPACE_HOST) {
    return &gemel__host_device;
  }
  pthread_mutex_lock(&context->lock);
  device = context->devices[space - 1];
  pthread_mutex_unlock(&context->lock);
  return device;
}

/* ---- Tensors ---- */

const gemel_device *gemel_tensor_device(const gemel_tensor *tensor) {
  return tensor == NULL ? NULL : tensor->device == NULL ? &gemel__host_device : tensor->device;
}

gemel_tensor *gemel__tensor_raw_on(const gemel_device *device, gemel_dtype dtype, int rank,
                                   const int64_t *shape, gemel_error *error) {
  int64_t strides[GEMEL_MAX_RANK], elements, bytes;
  gemel_tensor *tensor;
  void *data = NULL;
  if (device == &gemel__host_device) {
    return gemel__tensor_raw(dtype, rank, shape, error);
  }
  if (gemel__row_major(dtype, rank, shape, strides, &elements, &bytes, error) != GEMEL_OK ||
      (bytes > 0 && gemel__value_memory(device, (size_t)bytes, &data, error) != GEMEL_OK)) {
    return NULL;
  }
  tensor = gemel__tensor_described(dtype, rank, shape, strides, error);
  if (tensor == NULL) {
    if (data != NULL) {
      gemel__value_memory_free(device, data, (size_t)bytes);
    }
    return NULL;
  }
  tensor->device = device;
  tensor->data = data;
  tensor->device_bytes = (size_t)bytes;
  return tensor;
}

gemel_tensor *gemel_tensor_new_on(const gemel_device *device, gemel_dtype dtype, int rank,
                                  const int64_t *shape, gemel_error *error) {
  gemel_tensor *tensor;
  size_t bytes;
  if (check_device(device, error) != GEMEL_OK) {
    return NULL;
  }
  tensor = gemel__tensor_raw_on(device, dtype, rank, shape, error);
  bytes = tensor != NULL ? (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(dtype) : 0;
  if (bytes > 0 &&
      gemel__told(error, device->fill(device->user, tensor->data, 0, bytes, error)) != GEMEL_OK) {
    gemel_tensor_unref(tensor);
    return NULL;
  }
  return tensor;
}

gemel_status gemel__tensor_copy_elements(gemel_tensor *to, const gemel_tensor *from, int threads,
                                         gemel_error *error) {
  const gemel_device *device = gemel_tensor_device(to);
  gemel_view target = gemel_tensor_view(to), source = gemel_tensor_view(from);
  return gemel_tensor_elements(from) == 0
             ? GEMEL_OK
             : device->copy(device->user, &target, &source, threads, error);
}

gemel_tensor *gemel__tensor_clone(const gemel_tensor *tensor, gemel_error *error) {
  gemel_tensor *clone = gemel__tensor_raw_on(gemel_tensor_device(tensor), tensor->dtype,
                                             tensor->rank, tensor->shape, error);
  if (clone != NULL && gemel__tensor_copy_elements(clone, tensor, 1, error) != GEMEL_OK) {
    gemel_tensor_unref(clone);
    return NULL;
  }
  return clone;
}

/* Bytes between the host and a device's memory, by way of staging memory if the device wants it. */
typedef gemel_status (*mover)(const gemel_device *device, void *to, const void *from, size_t bytes,
                              gemel_error *error);

gemel_status gemel__staging_new(const gemel_device *device, size_t bytes, void **data,
                                gemel_error *error) {
  const gemel_device *host = &gemel__host_device;
  return device->allocate_staging == NULL
             ? host->allocate(host->user, bytes, data, error)
             : gemel__told(error, device->allocate_staging(device->user, bytes, data, error));
}

void gemel__staging_free(const gemel_device *device, void *data, size_t bytes) {
  const gemel_device *host = &gemel__host_device;
  if (device->allocate_staging != NULL) {
    device->release_staging(device->user, data, bytes);
  } else {
    host->release(host->user, data, bytes);
  }
}

static gemel_status upload(const gemel_device *device, void *to, const void *from, size_t bytes,
                           gemel_error *error) {
  gemel_status status = device->upload(device->user, to, from, bytes, error);
  status = status == GEMEL_OK ? device->synchronize(device->user, error) : status;
  return gemel__told(error, status);
}

static gemel_status download(const gemel_device *device, void *to, const void *from, size_t bytes,
                             gemel_error *error) {
  gemel_status status = device->download(device->user, to, from, bytes, error);
  status = status == GEMEL_OK ? device->synchronize(device->user, error) : status;
  return gemel__told(error, status);
}

static gemel_status upload_staged(const gemel_device *device, void *to, const void *from,
                                  size_t bytes, gemel_error *error) {
  void *staging;
  gemel_status status = gemel__staging_new(device, bytes, &staging, error);
  if (status == GEMEL_OK) {
    memcpy(staging, from, bytes);
    status = upload(device, to, staging, bytes, error);
    gemel__staging_free(device, staging, bytes);
  }
  return status;
}

static gemel_status download_staged(const gemel_device *device, void *to, const void *from,
                                    size_t bytes, gemel_error *error) {
  void *staging;
  gemel_status status = gemel__staging_new(device, bytes, &staging, error);
  if (status == GEMEL_OK) {
    status = download(device, staging, from, bytes, error);
    if (status == GEMEL_OK) {
      memcpy(to, staging, bytes);
    }
    gemel__staging_free(device, staging, bytes);
  }
  return status;
}

/* Bytes of one device to another, by way of the host. */
static gemel_status move_bytes(const gemel_device *to, void *target, const gemel_device *from,
                               const void *source, size_t bytes, gemel_error *error) {
  mover up = to->allocate_staging != NULL ? upload_staged : upload;
  mover down = from->allocate_staging != NULL ? download_staged : download;
  void *room = NULL;
  gemel_status status;
  if (to == &gemel__host_device) {
    return down(from, target, source, bytes, error);
  }
  if (from == &gemel__host_device) {
    return up(to, target, source, bytes, error);
  }
  status = gemel__host_device.allocate(NULL, bytes, &room, error);
  if (status == GEMEL_OK) {
    status = down(from, room, source, bytes, error);
    status = status == GEMEL_OK ? up(to, target, room, bytes, error) : status;
    gemel__host_device.release(NULL, room, bytes);
  }
  return status;
}

gemel_status gemel__device_move(const gemel_device *to, void *target, const gemel_device *from,
                                const void *source, size_t bytes, gemel_error *error) {
  return bytes == 0 ? GEMEL_OK : move_bytes(to, target, from, source, bytes, error);
}

gemel_tensor *gemel_tensor_transfer(const gemel_tensor *tensor, const gemel_device *device,
                                    gemel_error *error) {
  const gemel_device *from = gemel_tensor_device(tensor);
  gemel_tensor *dense, *made;
  size_t bytes;
  if (tensor == NULL) {
    gemel__null(error, "the tensor");
    return NULL;
  }
  if (check_device(device, error) != GEMEL_OK) {
    return NULL;
  }
  if (from == device) {
    made = gemel__tensor_clone(tensor, error);
    if (made != NULL && gemel__told(error, device->synchronize(device->user, error)) != GEMEL_OK) {
      gemel_tensor_unref(made);
      return NULL;
    }
    return made;
  }
  bytes = (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(tensor->dtype);
  dense = gemel__is_row_major(gemel_dtype_size(tensor->dtype), tensor->rank, tensor->shape,
                              tensor->strides)
              ? gemel_tensor_ref((gemel_tensor *)tensor)
              : gemel__tensor_clone(tensor, error);
  made = dense != NULL
             ? gemel__tensor_raw_on(device, tensor->dtype, tensor->rank, tensor->shape, error)
             : NULL;
  if (made != NULL &&
      gemel__device_move(device, made->data, from, dense->data, bytes, error) != GEMEL_OK) {
    gemel_tensor_unref(made);
    made = NULL;
  }
  gemel_tensor_unref(dense);
  return made;
}
