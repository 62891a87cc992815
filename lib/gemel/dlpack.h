/* SPDX-License-Identifier: MIT
 *
 * DLPack: tensors handed from library to library within a process, without a copy. The structs have
 * the layout of those in DLPack's own header and other names, so both headers may be included, in
 * any order; a pointer to one is cast to the other: gemel_dlpack is DLManagedTensorVersioned of
 * DLPack 1, gemel_dlpack_unversioned is DLManagedTensor, which came before. In Python they are what
 * the capsules "dltensor_versioned" and "dltensor" hold. All functions may be called on several
 * threads at once, for one tensor too.
 * Source: dmlc.github.io/dlpack/latest/c_api.html.
 */
#ifndef GEMEL_DLPACK_H
#define GEMEL_DLPACK_H

#include <stdint.h>
#include <gemel/device.h>
#include <gemel/status.h>
#include <gemel/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Devices (DLDeviceType): the host, CUDA's, and the host with memory that is pinned for CUDA. */
enum { GEMEL_DLPACK_CPU = 1, GEMEL_DLPACK_CUDA = 2, GEMEL_DLPACK_CUDA_HOST = 3 };

/* Kinds of elements that gemel has (DLDataTypeCode). */
enum {
  GEMEL_DLPACK_INT = 0,
  GEMEL_DLPACK_UINT = 1,
  GEMEL_DLPACK_FLOAT = 2,
  GEMEL_DLPACK_BFLOAT = 4,
  GEMEL_DLPACK_BOOL = 6
};

/* Flags: who receives the tensor must not write to it; it is a copy, which nobody else has. */
enum { GEMEL_DLPACK_READ_ONLY = 1, GEMEL_DLPACK_COPIED = 2 };

/* DLTensor. Element (0, …, 0) is BYTE_OFFSET bytes behind DATA; STRIDES count elements, and NULL
 * means row-major. */
typedef struct gemel_dlpack_tensor {
  void *data;
  int32_t device_type, device_id; /* DLDevice */
  int32_t ndim;
  uint8_t code, bits; /* DLDataType: of an element, which has LANES numbers */
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} gemel_dlpack_tensor;

/* DLManagedTensorVersioned. DELETER (may be NULL) gives it back. */
typedef struct gemel_dlpack {
  uint32_t major, minor; /* DLPackVersion */
  void *manager_ctx;
  void (*deleter)(struct gemel_dlpack *self);
  uint64_t flags;
  gemel_dlpack_tensor tensor;
} gemel_dlpack;

/* DLManagedTensor. */
typedef struct gemel_dlpack_unversioned {
  gemel_dlpack_tensor tensor;
  void *manager_ctx;
  void (*deleter)(struct gemel_dlpack_unversioned *self);
} gemel_dlpack_unversioned;

/* Lends TENSOR: what is returned points at its elements, holds a reference, and is owned by the
 * caller, who hands it on, or calls its deleter (on any thread) when done. FLAGS are for who
 * receives it. Of a tensor on a device all work is waited for first, so its elements are there.
 * NULL on failure: GEMEL_BAD_ARGUMENT (no tensor, a flag that isn't one), GEMEL_UNSUPPORTED (it is
 * on a device that DLPack has no name for), what the device says, GEMEL_NO_MEMORY. Thread-safe. */
gemel_dlpack *gemel_tensor_to_dlpack(gemel_tensor *tensor, uint64_t flags, gemel_error *error);

/* The same as DLPack was before version 1, which knows no flags. NULL on failure, as there. */
gemel_dlpack_unversioned *gemel_tensor_to_dlpack_unversioned(gemel_tensor *tensor,
                                                             gemel_error *error);

/* Takes over MANAGED: the tensor that is returned has its elements where they are, and calls its
 * deleter when the last reference goes. gemel doesn't write to inputs; one with the flag
 * GEMEL_DLPACK_READ_ONLY must not be written to, nor be given as room for an output. NULL on
 * failure, when MANAGED is the caller's as before: GEMEL_BAD_ARGUMENT (nothing given, no data, or
 * it isn't aligned to its elements), GEMEL_BAD_SHAPE as gemel_tensor_wrap, GEMEL_UNSUPPORTED
 * (another major version, a device whose memory isn't the host's, elements that gemel doesn't have,
 * more than GEMEL_MAX_RANK axes), GEMEL_NO_MEMORY. Thread-safe. */
gemel_tensor *gemel_tensor_from_dlpack(gemel_dlpack *managed, gemel_error *error);

/* The same of memory on DEVICE: what was asked of it before must be done, or be ordered before
 * DEVICE's work, as by one stream. When the last reference goes, DEVICE's work is waited for before
 * the deleter is called. NULL on failure, as there; GEMEL_UNSUPPORTED, too, if the memory
 * is another device's. */
gemel_tensor *gemel_tensor_from_dlpack_on(const gemel_device *device, gemel_dlpack *managed,
                                          gemel_error *error);

/* The same of DLPack before version 1. NULL on failure, as there. */
gemel_tensor *gemel_tensor_from_dlpack_unversioned(gemel_dlpack_unversioned *managed,
                                                   gemel_error *error);

#ifdef __cplusplus
}
#endif
#endif
