/* SPDX-License-Identifier: MIT
 *
 * Devices: memory that the host doesn't read, and kernels that work there. A device is a record of
 * functions. The host is one; a program registers others with a context, each as a memory space,
 * and the types of values say in which space they lie (f32[3]@1). `transfer` is the only operation
 * whose result lies in another space than its input. A function may use several devices; inputs and
 * outputs are tensors of the devices that the graph's types name. All functions may be called on
 * several threads at once, and so may those of a device.
 */
#ifndef GEMEL_DEVICE_H
#define GEMEL_DEVICE_H

#include <stddef.h>
#include <gemel/operation.h>
#include <gemel/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A device. Every function gets USER first and may be called on several threads at once. Addresses
 * in the device's memory are numbers to the host: it adds offsets to them and compares them, and
 * never reads what is there; no other memory of the process has the same. Work (UPLOAD, DOWNLOAD,
 * FILL, COPY, kernels' RUN) is only asked for: it is done in the order of asking, whatever the
 * thread, and SYNCHRONIZE alone waits for it. A function that fails says why in ERROR and returns
 * its status; what went wrong with work asked for earlier may be said by any later call. */
struct gemel_device {
  size_t size;      /* sizeof(gemel_device) */
  const char *name; /* for messages */
  void *user;
  /* BYTES > 0 bytes of its memory in *DATA, aligned to 64 at least; GEMEL_NO_MEMORY. Work that is
   * asked for already may use what is released. */
  gemel_status (*allocate)(void *user, size_t bytes, void **data, gemel_error *error);
  void (*release)(void *user, void *data, size_t bytes);
  /* Memory of the host that the device can copy from and to; both NULL: any is. It is released when
   * no work uses it. */
  gemel_status (*allocate_staging)(void *user, size_t bytes, void **data, gemel_error *error);
  void (*release_staging)(void *user, void *data, size_t bytes);
  /* Copies BYTES bytes from the host, staging memory, to the device. */
  gemel_status (*upload)(void *user, void *to, const void *from, size_t bytes, gemel_error *error);
  /* Copies BYTES bytes from the device to the host, staging memory. */
  gemel_status (*download)(void *user, void *to, const void *from, size_t bytes,
                           gemel_error *error);
  /* Sets BYTES bytes of the device's memory to BYTE. */
  gemel_status (*fill)(void *user, void *data, int byte, size_t bytes, gemel_error *error);
  /* Copies elements of one shape and dtype within the device's memory, any strides; the two don't
   * overlap. THREADS: of the host that may be used. */
  gemel_status (*copy)(void *user, const gemel_view *to, const gemel_view *from, int threads,
                       gemel_error *error);
  /* Waits until all is done. */
  gemel_status (*synchronize)(void *user, gemel_error *error);
  /* The device's kernels of an operation in order of preference, as gemel_operation.kernels; NULL
   * or none: it has none. Operands may have any strides; scratch memory is the device's. */
  const gemel_kernel *(*kernels)(void *user, const gemel_operation *operation);
  /* Kernels for clusters of elementwise operations, each of which KERNELS has one for; NULL: they
   * are computed one by one. */
  const gemel_kernel *clusters;
  /* Work as a recording, all four NULL if the device has none: what this thread asks for between
   * BEGIN and END is not done but put down in *RECORDING (which END makes, or else fails), and is
   * done with the same addresses whenever REPLAY asks for it. FORGET frees a recording; its work
   * may still be going on. */
  gemel_status (*begin)(void *user, gemel_error *error);
  gemel_status (*end)(void *user, void **recording, gemel_error *error);
  gemel_status (*replay)(void *user, void *recording, gemel_error *error);
  void (*forget)(void *user, void *recording);
  /* For devices that look for mistakes; NULL: this one doesn't. As part of the work, the BYTES
   * bytes at DATA, of allocated memory, become those of a value that isn't written yet; with BYTES
   * 0 it isn't needed any more. Memory that values are given is GAP bytes apart. */
  gemel_status (*note)(void *user, void *data, size_t bytes, gemel_error *error);
  size_t gap;
  /* How many mistakes it has found since it was asked last; the first of them as TEXT, of BYTES
   * bytes at most. It works again then, whatever they were. NULL: it doesn't look. */
  int (*mistakes)(void *user, char *text, size_t bytes);
  int matmul_precision; /* a gemel_precision: of functions whose gemel_options leave it 0 */
  /* What DLPack calls the device (DLDevice: 2 is a type of CUDA's); type 0: it isn't lent. */
  int32_t dlpack_type, dlpack_id;
  /* CLUSTERS take steps BY_ROW (gemel_step) too, of rows of up to so many elements; 0: they
   * don't. */
  int64_t longest_row;
};

/* Makes DEVICE the one of memory space SPACE (1..255) in CONTEXT. The record must stay valid as
 * long as the context and every tensor on the device. Errors: GEMEL_BAD_ARGUMENT (no such space,
 * one that has a device, a record with a function missing or SIZE too small). Thread-safe. */
gemel_status gemel_register_device(gemel_context *context, int space, const gemel_device *device,
                                   gemel_error *error);

/* The device of memory space SPACE; NULL if it has none. Thread-safe. */
const gemel_device *gemel_device_of_space(gemel_context *context, int space);

/* The host; never NULL, in static storage. */
const gemel_device *gemel_host(void);

/* A tensor of zeros in DEVICE's memory, row-major, with one reference owned by the caller. NULL on
 * failure: what gemel_tensor_new says, what the device says, GEMEL_BAD_ARGUMENT (no device). The
 * device's record must outlive the tensor. */
gemel_tensor *gemel_tensor_new_on(const gemel_device *device, gemel_dtype dtype, int rank,
                                  const int64_t *shape, gemel_error *error);

/* A row-major copy of TENSOR in DEVICE's memory, complete when this returns. It has one reference,
 * owned by the caller. NULL on failure: GEMEL_BAD_ARGUMENT (NULL), GEMEL_NO_MEMORY, what the
 * devices say. */
gemel_tensor *gemel_tensor_transfer(const gemel_tensor *tensor, const gemel_device *device,
                                    gemel_error *error);

/* Where TENSOR lies: gemel_host() unless it was made on another device; NULL for NULL. The data of
 * a tensor that isn't on the host must not be read or written by the program. */
const gemel_device *gemel_tensor_device(const gemel_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
