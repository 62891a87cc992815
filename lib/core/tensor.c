/* SPDX-License-Identifier: MIT
 *
 * Tensors: counted blocks of elements. A tensor that owns its elements is one allocation; one that
 * wraps the program's memory holds only the description. Sizes are checked for overflow here, once:
 * a shape that a tensor has never exceeds GEMEL__MAX_BYTES, empty axes taken as 1, so that code
 * behind this point can multiply sizes and strides without care.
 */
#include "core/tensor.h"

#include <stdio.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include "core/alloc.h"
#include "core/error.h"
#include "core/strided.h"
#include "core/value-memory.h"

enum { HUGE_PAGE = 2 << 20 };

void gemel__advise_huge(void *data, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  uintptr_t begin = ((uintptr_t)data + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
  uintptr_t end = ((uintptr_t)data + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
  if (bytes >= 2 * HUGE_PAGE && end > begin) {
    (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
  }
#else
  (void)data, (void)bytes;
#endif
}

char *gemel__format_shape(int rank, const int64_t *shape, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "[");
  for (int k = 0; k < rank && used < bytes; k++) {
    used += (size_t)snprintf(text + used, bytes - used, "%s%lld", k > 0 ? ", " : "",
                             (long long)shape[k]);
  }
  if (used < bytes) {
    snprintf(text + used, bytes - used, "]");
  }
  return text;
}

static gemel_status check_rank(gemel_dtype dtype, int rank, const int64_t *shape,
                               gemel_error *error) {
  int k;
  if (gemel_dtype_size(dtype) == 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%d is no dtype", (int)dtype);
  }
  if (rank < 0 || rank > GEMEL_MAX_RANK) {
    return gemel__fail(error, GEMEL_BAD_SHAPE, "rank %d is outside 0..%d", rank, GEMEL_MAX_RANK);
  }
  if (rank > 0 && shape == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the shape of a tensor is missing");
  }
  for (k = 0; k < rank; k++) {
    if (shape[k] < 0) {
      return gemel__fail(error, GEMEL_BAD_SHAPE, "axis %d has the negative size %lld", k,
                         (long long)shape[k]);
    }
  }
  return GEMEL_OK;
}

static gemel_status too_big(int rank, const int64_t *shape, gemel_error *error) {
  char text[400];
  return gemel__fail(error, GEMEL_BAD_SHAPE, "a tensor of shape %s is larger than 2^%d bytes",
                     gemel__format_shape(rank, shape, text, sizeof text), GEMEL__MAX_BYTES_LOG2);
}

gemel_status gemel__row_major(gemel_dtype dtype, int rank, const int64_t *shape, int64_t *strides,
                              int64_t *elements, int64_t *bytes, gemel_error *error) {
  int64_t step = (int64_t)gemel_dtype_size(dtype);
  int empty = 0, k;
  gemel_status status = check_rank(dtype, rank, shape, error);
  if (status != GEMEL_OK) {
    return status;
  }
  for (k = rank - 1; k >= 0; k--) {
    int64_t size = shape[k] > 0 ? shape[k] : 1;
    strides[k] = step;
    empty |= shape[k] == 0;
    if (size > GEMEL__MAX_BYTES / step) {
      return too_big(rank, shape, error);
    }
    step *= size;
  }
  *bytes = empty ? 0 : step;
  *elements = *bytes / (int64_t)gemel_dtype_size(dtype);
  return GEMEL_OK;
}

int gemel__is_row_major(size_t element_bytes, int rank, const int64_t *shape,
                        const int64_t *strides) {
  int64_t step = (int64_t)element_bytes;
  int good = 1, k;
  for (k = rank - 1; k >= 0; k--) {
    if (shape[k] == 0) {
      return 1;
    }
    good &= shape[k] == 1 || strides[k] == step;
    step *= shape[k];
  }
  return good;
}

void gemel__channels_last_strides(size_t element_bytes, int rank, const int64_t *shape,
                                  int64_t *strides) {
  int64_t step = (int64_t)element_bytes;
  strides[1] = step;
  step *= shape[1];
  for (int axis = rank - 1; axis > 1; axis--) {
    strides[axis] = step;
    step *= shape[axis];
  }
  strides[0] = step;
}

int gemel__is_channels_last(size_t element_bytes, int rank, const int64_t *shape,
                            const int64_t *strides) {
  int64_t wanted[GEMEL_MAX_RANK];
  int axis = 0;
  if (rank < 3 || gemel__is_row_major(element_bytes, rank, shape, strides)) {
    return 0;
  }
  gemel__channels_last_strides(element_bytes, rank, shape, wanted);
  while (axis < rank && (shape[axis] == 1 || strides[axis] == wanted[axis])) {
    axis++;
  }
  return axis == rank;
}

/* The struct with room for RANK sizes and strides and BYTES of aligned data behind (none: -1). */
static gemel_tensor *allocate(gemel_dtype dtype, int rank, int64_t bytes, gemel_error *error) {
  size_t head = sizeof(gemel_tensor) + 2 * (size_t)rank * sizeof(int64_t);
  size_t block = bytes < 0 ? head : head + (size_t)bytes + GEMEL__DATA_ALIGNMENT;
  gemel_tensor *tensor = gemel__alloc(block);
  if (tensor == NULL) {
    gemel__no_memory(error, "a tensor");
    return NULL;
  }
  memset(tensor, 0, sizeof *tensor);
  tensor->references = 1;
  tensor->dtype = dtype;
  tensor->rank = rank;
  tensor->block_bytes = block;
  tensor->shape = (int64_t *)(tensor + 1);
  tensor->strides = tensor->shape + rank;
  if (bytes >= 0) {
    uintptr_t end = (uintptr_t)tensor + head;
    size_t padding = (GEMEL__DATA_ALIGNMENT - end % GEMEL__DATA_ALIGNMENT) % GEMEL__DATA_ALIGNMENT;
    tensor->data = (char *)tensor + head + padding;
    gemel__advise_huge(tensor->data, (size_t)bytes);
  }
  return tensor;
}

/* memcpy that takes NULL for nothing. */
static void copy_sizes(int64_t *to, const int64_t *from, int rank) {
  if (rank > 0) {
    memcpy(to, from, (size_t)rank * sizeof *to);
  }
}

gemel_tensor *gemel__tensor_raw(gemel_dtype dtype, int rank, const int64_t *shape,
                                gemel_error *error) {
  int64_t strides[GEMEL_MAX_RANK], elements, bytes;
  gemel_tensor *tensor;
  if (gemel__row_major(dtype, rank, shape, strides, &elements, &bytes, error) != GEMEL_OK) {
    return NULL;
  }
  tensor = allocate(dtype, rank, bytes, error);
  if (tensor != NULL) {
    copy_sizes(tensor->shape, shape, rank);
    copy_sizes(tensor->strides, strides, rank);
  }
  return tensor;
}

gemel_tensor *gemel__tensor_described(gemel_dtype dtype, int rank, const int64_t *shape,
                                      const int64_t *strides, gemel_error *error) {
  gemel_tensor *tensor = allocate(dtype, rank, -1, error);
  if (tensor != NULL) {
    copy_sizes(tensor->shape, shape, rank);
    copy_sizes(tensor->strides, strides, rank);
  }
  return tensor;
}

gemel_tensor *gemel_tensor_new(gemel_dtype dtype, int rank, const int64_t *shape,
                               gemel_error *error) {
  gemel_tensor *tensor = gemel__tensor_raw(dtype, rank, shape, error);
  if (tensor != NULL) {
    size_t bytes = (size_t)gemel_tensor_elements(tensor) * gemel_dtype_size(dtype);
    memset(tensor->data, 0, bytes);
  }
  return tensor;
}

/* Strides must keep elements aligned, and the whole extent must be addressable. */
static gemel_status check_strides(gemel_dtype dtype, int rank, const int64_t *shape,
                                  const int64_t *strides, const void *data, gemel_error *error) {
  int64_t size = (int64_t)gemel_dtype_size(dtype), extent = 0;
  int k;
  if ((uintptr_t)data % (uintptr_t)size != 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                       "the data of a tensor of %s is not aligned to %lld", gemel_dtype_name(dtype),
                       (long long)size);
  }
  for (k = 0; k < rank; k++) {
    int64_t stride = strides[k] < 0 ? -strides[k] : strides[k];
    int64_t steps = shape[k] > 1 ? shape[k] - 1 : 0;
    if (strides[k] % size != 0) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT,
                         "stride %lld of axis %d is no multiple of %lld, the size of %s",
                         (long long)strides[k], k, (long long)size, gemel_dtype_name(dtype));
    }
    if (stride < 0 || (steps > 0 && stride > (GEMEL__MAX_BYTES - extent) / steps)) {
      return gemel__fail(error, GEMEL_BAD_SHAPE, "stride %lld of axis %d reaches beyond 2^%d bytes",
                         (long long)strides[k], k, GEMEL__MAX_BYTES_LOG2);
    }
    extent += stride * steps;
  }
  return GEMEL_OK;
}

gemel_tensor *gemel_tensor_wrap(gemel_dtype dtype, int rank, const int64_t *shape,
                                const int64_t *strides, void *data, void (*release)(void *user),
                                void *user, gemel_error *error) {
  int64_t dense[GEMEL_MAX_RANK], elements, bytes;
  gemel_tensor *tensor;
  if (gemel__row_major(dtype, rank, shape, dense, &elements, &bytes, error) != GEMEL_OK) {
    return NULL;
  }
  if (strides == NULL) {
    strides = dense;
  }
  if (data == NULL && elements > 0) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the data of a tensor to wrap is missing");
    return NULL;
  }
  if (check_strides(dtype, rank, shape, strides, data, error) != GEMEL_OK) {
    return NULL;
  }
  tensor = gemel__tensor_described(dtype, rank, shape, strides, error);
  if (tensor != NULL) {
    tensor->data = data;
    tensor->release = release;
    tensor->user = user;
  }
  return tensor;
}

gemel_tensor *gemel_tensor_copy(const gemel_view *view, gemel_error *error) {
  gemel_tensor *tensor = NULL;
  if (view == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the elements to copy are missing");
    return NULL;
  }
  tensor = gemel__tensor_raw(view->dtype, view->rank, view->shape, error);
  if (tensor == NULL || gemel_tensor_elements(tensor) == 0) {
    return tensor;
  }
  if (view->data == NULL) {
    gemel_tensor_unref(tensor);
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the elements to copy are missing");
    return NULL;
  }
  gemel__copy_strided(gemel_dtype_size(view->dtype), view->rank, view->shape, tensor->data,
                      tensor->strides, view->data,
                      view->strides != NULL ? view->strides : tensor->strides);
  return tensor;
}

gemel_tensor *gemel_tensor_ref(gemel_tensor *tensor) {
  if (tensor != NULL) {
    __atomic_add_fetch(&tensor->references, 1, __ATOMIC_RELAXED);
  }
  return tensor;
}

void gemel_tensor_unref(gemel_tensor *tensor) {
  if (tensor == NULL || __atomic_sub_fetch(&tensor->references, 1, __ATOMIC_ACQ_REL) > 0) {
    return;
  }
  if (tensor->release != NULL && tensor->device != NULL) { /* work may use it still */
    (void)tensor->device->synchronize(tensor->device->user, NULL);
  }
  if (tensor->release != NULL) {
    tensor->release(tensor->user);
  }
  if (tensor->device_bytes > 0) {
    gemel__value_memory_free(tensor->device, tensor->data, tensor->device_bytes);
  }
  gemel__free(tensor, tensor->block_bytes);
}

gemel_view gemel_tensor_view(const gemel_tensor *tensor) {
  gemel_view view = {GEMEL_BOOL, 0, NULL, NULL, NULL};
  if (tensor != NULL) {
    view.dtype = tensor->dtype;
    view.rank = tensor->rank;
    view.shape = tensor->shape;
    view.strides = tensor->strides;
    view.data = tensor->data;
  }
  return view;
}

gemel_dtype gemel_tensor_dtype(const gemel_tensor *tensor) {
  return tensor != NULL ? tensor->dtype : GEMEL_BOOL;
}

int gemel_tensor_rank(const gemel_tensor *tensor) {
  return tensor != NULL ? tensor->rank : 0;
}

const int64_t *gemel_tensor_shape(const gemel_tensor *tensor) {
  return tensor != NULL ? tensor->shape : NULL;
}

void *gemel_tensor_data(const gemel_tensor *tensor) {
  return tensor != NULL ? tensor->data : NULL;
}

int64_t gemel_tensor_elements(const gemel_tensor *tensor) {
  int64_t elements = tensor != NULL;
  for (int k = 0; tensor != NULL && k < tensor->rank; k++) {
    if (tensor->shape[k] == 0) {
      return 0;
    }
    elements *= tensor->shape[k];
  }
  return elements;
}
