/* SPDX-License-Identifier: MIT
 *
 * The kernels that a program registered, in front of those that an operation has on a device. Each
 * registration makes a new array of all of them and leaves the older ones as they are, since plans
 * point into these; arrays are the context's, and end with it.
 */
#include "device/kernels.h"

#include <string.h>
#include "core/error.h"
#include "core/registry.h"
#include "core/rows.h"

struct gemel__kernel_list {
  struct gemel__kernel_list *next;
  const gemel_operation *operation;
  const gemel_device *device;
  const gemel_kernel *kernels;
};

void gemel__kernel_call_init(gemel_kernel_call *call, const gemel_operation *operation,
                             const gemel_device *device, const gemel_attr *attrs,
                             gemel_error *error) {
  *call = (gemel_kernel_call){.size = sizeof *call,
                              .attrs = attrs,
                              .threads = 1,
                              .data = operation != NULL ? operation->data : NULL,
                              .error = error,
                              .operation = operation,
                              .device = device};
}

/* ---- Looking them up ---- */

static const struct gemel__kernel_list *find(gemel_context *context, const gemel_device *device,
                                             const gemel_operation *operation) {
  const struct gemel__kernel_list *l = __atomic_load_n(&context->kernels, __ATOMIC_ACQUIRE);
  while (l != NULL && (l->operation != operation || (device != NULL && l->device != device))) {
    l = l->next;
  }
  return l;
}

int gemel__has_registered_kernel(gemel_context *context, const gemel_device *device,
                                 const gemel_operation *operation) {
  return find(context, device, operation) != NULL;
}

/* What the device has itself, or what is every device's. */
static const gemel_kernel *built_in(const gemel_device *device, const gemel_operation *operation) {
  const gemel_kernel *kernels = device->kernels(device->user, operation);
  const struct gemel__row *row = ((const gemel__op *)(const void *)operation)->row;
  return kernels == NULL && row != NULL && row->hooks->follows != NULL ? operation->kernels
                                                                       : kernels;
}

const gemel_kernel *gemel__kernels_of(gemel_context *context, const gemel_device *device,
                                      const gemel_operation *operation) {
  const struct gemel__kernel_list *l = find(context, device, operation);
  const gemel_kernel *kernels = l != NULL ? l->kernels : built_in(device, operation);
  return kernels != NULL && kernels[0].name != NULL ? kernels : NULL;
}

/* ---- Registering ---- */

static size_t count(const gemel_kernel *kernels) {
  size_t n = 0;
  while (kernels != NULL && kernels[n].name != NULL) {
    n++;
  }
  return n;
}

/* With the context locked, so that no registration is lost. */
static gemel_status put_first(gemel_context *context, const gemel_device *device,
                              const gemel_operation *operation, const gemel_kernel *kernel,
                              gemel_error *error) {
  const gemel_kernel *others = gemel__kernels_of(context, device, operation);
  size_t n = count(others);
  for (size_t k = 0; k < n; k++) {
    if (strcmp(others[k].name, kernel->name) == 0) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s has a kernel called %s already",
                         operation->name, kernel->name);
    }
  }
  gemel_kernel *kernels = gemel__arena_alloc(&context->arena, (n + 2) * sizeof *kernels);
  struct gemel__kernel_list *list = gemel__arena_alloc(&context->arena, sizeof *list);
  if (kernels == NULL || list == NULL) {
    return gemel__no_memory(error, "a kernel");
  }
  kernels[0] = *kernel;
  if (n > 0) {
    memcpy(kernels + 1, others, n * sizeof *kernels);
  }
  kernels[n + 1] = (gemel_kernel){NULL, NULL, NULL};
  *list = (struct gemel__kernel_list){context->kernels, operation, device, kernels};
  __atomic_store_n(&context->kernels, list, __ATOMIC_RELEASE);
  return GEMEL_OK;
}

gemel_status gemel_register_kernel(gemel_context *context, int space, const char *operation,
                                   const gemel_kernel *kernel, gemel_error *error) {
  if (context == NULL || operation == NULL || kernel == NULL) {
    return gemel__null(error, context == NULL     ? "the context"
                              : operation == NULL ? "the operation's name"
                                                  : "the kernel");
  }
  uint32_t id = gemel__op_find(context, operation);
  const gemel_device *device = gemel_device_of_space(context, space);
  if (id == 0) {
    gemel__suggestion near;
    return gemel__fail(error, GEMEL_NOT_FOUND, "there is no operation called %s%s", operation,
                       gemel__op_suggestion(context, operation, strlen(operation), &near));
  }
  if (device == NULL) {
    return gemel__fail(error, GEMEL_NOT_FOUND,
                       "a kernel of %s for memory space %d, which has no device", operation, space);
  }
  const gemel_operation *record = &gemel__op_at(context, id)->record;
  if (kernel->name == NULL || kernel->run == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "a kernel of %s without %s", operation,
                       kernel->name == NULL ? "a name" : "a function that runs it");
  }
  if ((record->flags & GEMEL_OP_SOURCE) != 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s isn't computed and takes no kernel",
                       operation);
  }
  gemel_kernel own = *kernel;
  own.name = gemel__intern_string(context, kernel->name);
  if (own.name == NULL) {
    return gemel__no_memory(error, "a kernel");
  }
  pthread_mutex_lock(&context->lock);
  gemel_status status = put_first(context, device, record, &own, error);
  pthread_mutex_unlock(&context->lock);
  return status;
}
