/* SPDX-License-Identifier: MIT
 *
 * DLPack, both ways, without a copy. A tensor that is lent is one block: the struct that the
 * receiver sees, a reference to the tensor, and shape and strides, which count elements there and
 * bytes here. A tensor that is taken wraps the other library's memory, and gives it back by its
 * deleter. What the other library says is not trusted further than it can be checked.
 */
#include <gemel/device.h>
#include <gemel/dlpack.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"

enum { MAJOR = 1, MINOR = 0, FLAGS = GEMEL_DLPACK_READ_ONLY | GEMEL_DLPACK_COPIED };

/* ---- Lending ---- */

/* What MANAGER_CTX points at: the block as it was allocated. */
typedef struct lent_tensor {
  union {
    gemel_dlpack versioned;
    gemel_dlpack_unversioned unversioned;
  } managed;
  gemel_tensor *tensor;
  size_t bytes;
  int64_t sizes[]; /* shape, then strides */
} lent_tensor;

static void give_back(lent_tensor *lent) {
  gemel_tensor_unref(lent->tensor);
  gemel__free(lent, lent->bytes);
}

static void delete_versioned(gemel_dlpack *self) {
  if (self != NULL) {
    give_back(self->manager_ctx);
  }
}

static void delete_unversioned(gemel_dlpack_unversioned *self) {
  if (self != NULL) {
    give_back(self->manager_ctx);
  }
}

static uint8_t code_of(gemel_dtype dtype) {
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_BOOL:
    return GEMEL_DLPACK_BOOL;
  case GEMEL_KIND_SIGNED:
    return GEMEL_DLPACK_INT;
  case GEMEL_KIND_UNSIGNED:
    return GEMEL_DLPACK_UINT;
  case GEMEL_KIND_FLOAT:
    break;
  }
  return dtype == GEMEL_BF16 ? GEMEL_DLPACK_BFLOAT : GEMEL_DLPACK_FLOAT;
}

/* The block for TENSOR, of which it holds a reference; *FORM gets the description. */
static lent_tensor *lend(gemel_tensor *tensor, gemel_dlpack_tensor *form, gemel_error *error) {
  if (tensor == NULL) {
    gemel__null(error, "the tensor");
    return NULL;
  }
  const gemel_device *device = tensor->device;
  if (device != NULL && device->dlpack_type == 0) {
    gemel__fail(error, GEMEL_UNSUPPORTED,
                "the tensor is on device %s, which DLPack has no name for: transfer it first",
                device->name);
    return NULL;
  }
  if (device != NULL && gemel__told(error, device->synchronize(device->user, error)) != GEMEL_OK) {
    return NULL;
  }
  int rank = tensor->rank;
  size_t width = gemel_dtype_size(tensor->dtype);
  size_t bytes = sizeof(lent_tensor) + 2 * (size_t)rank * sizeof(int64_t);
  lent_tensor *lent = gemel__alloc_zeroed(bytes);
  if (lent == NULL) {
    gemel__no_memory(error, "a tensor of DLPack");
    return NULL;
  }
  lent->tensor = gemel_tensor_ref(tensor);
  lent->bytes = bytes;
  for (int k = 0; k < rank; k++) {
    lent->sizes[k] = tensor->shape[k];
    lent->sizes[rank + k] = tensor->strides[k] / (int64_t)width;
  }
  /* without elements there is no data either, as DLPack wants it */
  *form =
      (gemel_dlpack_tensor){.data = gemel_tensor_elements(tensor) > 0 ? tensor->data : NULL,
                            .device_type = device != NULL ? device->dlpack_type : GEMEL_DLPACK_CPU,
                            .device_id = device != NULL ? device->dlpack_id : 0,
                            .ndim = rank,
                            .code = code_of(tensor->dtype),
                            .bits = (uint8_t)(8 * width),
                            .lanes = 1,
                            .shape = lent->sizes,
                            .strides = lent->sizes + rank};
  return lent;
}

gemel_dlpack *gemel_tensor_to_dlpack(gemel_tensor *tensor, uint64_t flags, gemel_error *error) {
  gemel_dlpack_tensor form;
  if ((flags & ~(uint64_t)FLAGS) != 0) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "flags 0x%llx are not those of DLPack: at most 0x%x",
                (unsigned long long)flags, FLAGS);
    return NULL;
  }
  lent_tensor *lent = lend(tensor, &form, error);
  if (lent == NULL) {
    return NULL;
  }
  lent->managed.versioned = (gemel_dlpack){MAJOR, MINOR, lent, delete_versioned, flags, form};
  return &lent->managed.versioned;
}

gemel_dlpack_unversioned *gemel_tensor_to_dlpack_unversioned(gemel_tensor *tensor,
                                                             gemel_error *error) {
  gemel_dlpack_tensor form;
  lent_tensor *lent = lend(tensor, &form, error);
  if (lent == NULL) {
    return NULL;
  }
  lent->managed.unversioned = (gemel_dlpack_unversioned){form, lent, delete_unversioned};
  return &lent->managed.unversioned;
}

/* ---- Taking ---- */

static void release_versioned(void *user) {
  gemel_dlpack *managed = user;
  if (managed->deleter != NULL) {
    managed->deleter(managed);
  }
}

static void release_unversioned(void *user) {
  gemel_dlpack_unversioned *managed = user;
  if (managed->deleter != NULL) {
    managed->deleter(managed);
  }
}

static gemel_status find_dtype(const gemel_dlpack_tensor *form, gemel_dtype *dtype,
                               gemel_error *error) {
  for (int k = 0; k < GEMEL_DTYPE_COUNT; k++) {
    if (form->lanes == 1 && form->code == code_of((gemel_dtype)k) &&
        form->bits == 8 * gemel_dtype_size((gemel_dtype)k)) {
      *dtype = (gemel_dtype)k;
      return GEMEL_OK;
    }
  }
  return gemel__fail(error, GEMEL_UNSUPPORTED,
                     "the tensor of DLPack has elements of type code %d, %d bits and %d lanes, "
                     "which no dtype of gemel has",
                     form->code, form->bits, form->lanes);
}

/* Whether FORM lies in the memory of DEVICE; NULL: of the host. */
static gemel_status check_device(const gemel_dlpack_tensor *form, const gemel_device *device,
                                 gemel_error *error) {
  if (device != NULL &&
      (form->device_type != device->dlpack_type || form->device_id != device->dlpack_id)) {
    return gemel__fail(error, GEMEL_UNSUPPORTED,
                       "the tensor of DLPack is on device %d of type %d, and %s is %d of type %d",
                       form->device_id, form->device_type, device->name, device->dlpack_id,
                       device->dlpack_type);
  }
  if (device == NULL && form->device_type != GEMEL_DLPACK_CPU &&
      form->device_type != GEMEL_DLPACK_CUDA_HOST) {
    return gemel__fail(error, GEMEL_UNSUPPORTED,
                       "the tensor of DLPack is on device %d of type %d; types of the host's "
                       "memory are %d and %d",
                       form->device_id, form->device_type, GEMEL_DLPACK_CPU,
                       GEMEL_DLPACK_CUDA_HOST);
  }
  return GEMEL_OK;
}

/* What gemel_tensor_wrap can't be asked. */
static gemel_status check_form(const gemel_dlpack_tensor *form, const gemel_device *device,
                               gemel_dtype *dtype, gemel_error *error) {
  GEMEL__TRY(check_device(form, device, error));
  if (form->ndim < 0 || form->ndim > GEMEL_MAX_RANK) {
    return gemel__fail(error, GEMEL_UNSUPPORTED, "the tensor of DLPack has %d axes, not 0 to %d",
                       form->ndim, GEMEL_MAX_RANK);
  }
  return find_dtype(form, dtype, error);
}

/* Strides in bytes, for axes of which there are steps. */
static gemel_status scale_strides(const gemel_dlpack_tensor *form, size_t width, int64_t *strides,
                                  gemel_error *error) {
  for (int k = 0; k < form->ndim; k++) {
    int64_t steps = form->shape[k] > 1 ? form->strides[k] : 1;
    if (__builtin_mul_overflow(steps, (int64_t)width, &strides[k])) {
      return gemel__fail(error, GEMEL_BAD_SHAPE, "stride %lld of axis %d is too large",
                         (long long)form->strides[k], k);
    }
  }
  return GEMEL_OK;
}

/* A tensor as FORM says, on DEVICE or (NULL) the host; RELEASE gets USER when it goes. */
static gemel_tensor *take(const gemel_dlpack_tensor *form, const gemel_device *device,
                          void (*release)(void *user), void *user, gemel_error *error) {
  gemel_dtype dtype = GEMEL_BOOL;
  int64_t bytes[GEMEL_MAX_RANK], *strides = NULL;
  if (check_form(form, device, &dtype, error) != GEMEL_OK) {
    return NULL;
  }
  if (form->strides != NULL && form->shape != NULL) {
    strides = bytes;
    if (scale_strides(form, gemel_dtype_size(dtype), strides, error) != GEMEL_OK) {
      return NULL;
    }
  }
  void *data =
      form->data != NULL ? (void *)((uintptr_t)form->data + (uintptr_t)form->byte_offset) : NULL;
  gemel_tensor *tensor =
      gemel_tensor_wrap(dtype, form->ndim, form->shape, strides, data, release, user, error);
  if (tensor != NULL) {
    tensor->device = device;
  }
  return tensor;
}

static gemel_tensor *take_versioned(const gemel_device *device, gemel_dlpack *managed,
                                    gemel_error *error) {
  if (managed == NULL) {
    gemel__null(error, "the tensor of DLPack");
    return NULL;
  }
  if (managed->major != MAJOR) { /* then nothing is known of what follows */
    gemel__fail(error, GEMEL_UNSUPPORTED, "the tensor is of version %u.%u of DLPack, not of %d",
                (unsigned)managed->major, (unsigned)managed->minor, MAJOR);
    return NULL;
  }
  return take(&managed->tensor, device, release_versioned, managed, error);
}

gemel_tensor *gemel_tensor_from_dlpack(gemel_dlpack *managed, gemel_error *error) {
  return take_versioned(NULL, managed, error);
}

gemel_tensor *gemel_tensor_from_dlpack_on(const gemel_device *device, gemel_dlpack *managed,
                                          gemel_error *error) {
  if (device == NULL) {
    gemel__null(error, "the device");
    return NULL;
  }
  return take_versioned(device->dlpack_type != GEMEL_DLPACK_CPU ? device : NULL, managed, error);
}

gemel_tensor *gemel_tensor_from_dlpack_unversioned(gemel_dlpack_unversioned *managed,
                                                   gemel_error *error) {
  if (managed == NULL) {
    gemel__null(error, "the tensor of DLPack");
    return NULL;
  }
  return take(&managed->tensor, NULL, release_unversioned, managed, error);
}
