/* SPDX-License-Identifier: MIT
 *
 * Memory for values on a device: see value-memory.h. Behind each piece there is the device's gap.
 */
#include "core/value-memory.h"

#include "core/error.h"

gemel_status gemel__device_note(const gemel_device *device, void *data, size_t bytes,
                                gemel_error *error) {
  return device->note != NULL ? device->note(device->user, data, bytes, error) : GEMEL_OK;
}

gemel_status gemel__device_memory(const gemel_device *device, size_t bytes, void **data,
                                  gemel_error *error) {
  *data = NULL;
  gemel_status status = gemel__told(error, device->allocate(device->user, bytes, data, error));
  return status == GEMEL_OK && *data == NULL ? gemel__no_memory(error, "a device's block") : status;
}

gemel_status gemel__value_memory(const gemel_device *device, size_t bytes, void **data,
                                 gemel_error *error) {
  gemel_status status = gemel__device_memory(device, bytes + device->gap, data, error);
  if (status == GEMEL_OK) {
    status = gemel__device_note(device, *data, bytes, error);
    if (status != GEMEL_OK) {
      device->release(device->user, *data, bytes + device->gap);
    }
  }
  return status;
}

void gemel__value_memory_free(const gemel_device *device, void *data, size_t bytes) {
  gemel__device_note(device, data, 0, NULL);
  device->release(device->user, data, bytes + device->gap);
}
