/* SPDX-License-Identifier: MIT
 *
 * Memory for values on a device, through the device's own functions, which are told of it.
 */
#ifndef GEMEL__CORE_VALUE_MEMORY_H
#define GEMEL__CORE_VALUE_MEMORY_H

#include <gemel/device.h>

/* BYTES > 0 bytes of DEVICE's memory in *DATA; what fails says why in ERROR. */
gemel_status gemel__device_memory(const gemel_device *device, size_t bytes, void **data,
                                  gemel_error *error);

/* Memory of BYTES > 0 bytes for a value. */
gemel_status gemel__value_memory(const gemel_device *device, size_t bytes, void **data,
                                 gemel_error *error);
void gemel__value_memory_free(const gemel_device *device, void *data, size_t bytes);

/* DEVICE's note, if it has one. */
gemel_status gemel__device_note(const gemel_device *device, void *data, size_t bytes,
                                gemel_error *error);

#endif
