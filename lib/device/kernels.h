/* SPDX-License-Identifier: MIT
 *
 * What calls of kernels have in common: how a call begins, and which kernels an operation has on a
 * device, those that a program registered first.
 */
#ifndef GEMEL__DEVICE_KERNELS_H
#define GEMEL__DEVICE_KERNELS_H

#include "core/context.h"
#include "device/device.h"

/* A call of OPERATION (NULL: of a cluster of steps) on DEVICE, with nothing but what these and
 * ATTRS say: one thread, no operands yet. Every call that a kernel sees begins here. */
void gemel__kernel_call_init(gemel_kernel_call *call, const gemel_operation *operation,
                             const gemel_device *device, const gemel_attr *attrs,
                             gemel_error *error);

/* The kernels of OPERATION, which is of CONTEXT, on DEVICE in order of preference, ended by a NULL
 * name; NULL: there are none. They stay as they are as long as the context is there. Thread-safe.
 */
const gemel_kernel *gemel__kernels_of(gemel_context *context, const gemel_device *device,
                                      const gemel_operation *operation);

/* 1 if a program registered a kernel of OPERATION for DEVICE (NULL: any). Thread-safe. */
int gemel__has_registered_kernel(gemel_context *context, const gemel_device *device,
                                 const gemel_operation *operation);

/* ---- Packed operands (packed.c) ---- */

/* What KERNEL's PREPARE says to CALL, whose SCRATCH_BYTES it sets anew. Where it asks for packed
 * operands, these bytes have room for the copies, behind the kernel's own. */
gemel_status gemel__call_prepare(gemel_kernel_call *call, const gemel_kernel *kernel);

/* What runs CALL, which gemel__call_prepare has prepared for KERNEL: its RUN, or what hands that
 * packed operands. */
gemel_status (*gemel__call_runner(const gemel_kernel_call *call,
                                  const gemel_kernel *kernel))(const gemel_kernel_call *call);

#endif
