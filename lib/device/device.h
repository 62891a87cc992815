/* SPDX-License-Identifier: MIT
 *
 * Inside devices. A context has a table of devices by memory space; that of the host is always
 * there. A tensor names the device that it lies on.
 */
#ifndef GEMEL__DEVICE_DEVICE_H
#define GEMEL__DEVICE_DEVICE_H

#include <gemel/device.h>
#include "core/tensor.h"
#include "core/value-memory.h"

extern const gemel_device gemel__host_device;

/* As gemel_tensor_new_on, with the elements left uninitialised. */
gemel_tensor *gemel__tensor_raw_on(const gemel_device *device, gemel_dtype dtype, int rank,
                                   const int64_t *shape, gemel_error *error);

/* A row-major copy on the device that TENSOR lies on. */
gemel_tensor *gemel__tensor_clone(const gemel_tensor *tensor, gemel_error *error);

/* Memory of the host that DEVICE can copy from and to. */
gemel_status gemel__staging_new(const gemel_device *device, size_t bytes, void **data,
                                gemel_error *error);
void gemel__staging_free(const gemel_device *device, void *data, size_t bytes);

/* Copies BYTES bytes from SOURCE on FROM to TARGET on TO, another device or the host, and
 * waits until they are there. */
gemel_status gemel__device_move(const gemel_device *to, void *target, const gemel_device *from,
                                const void *source, size_t bytes, gemel_error *error);

/* Copies the elements of FROM to TO, which has the same dtype and shape and lies on the same
 * device. */
gemel_status gemel__tensor_copy_elements(gemel_tensor *to, const gemel_tensor *from, int threads,
                                         gemel_error *error);

#endif
