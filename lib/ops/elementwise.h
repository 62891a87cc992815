/* SPDX-License-Identifier: MIT
 *
 * What the files of the elementwise family share among themselves, and the kernels' variants, which
 * tests compare with each other.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_H
#define GEMEL__OPS_ELEMENTWISE_H

#include "core/isa.h"
#include "ops/ops.h"

/* Kernels of the hooks, in elementwise-plain.c. */
extern const gemel_kernel gemel__scalar_kernels[];

/* gemel__scalar_kernel_for with a chosen instruction set, which the machine must have. */
gemel__scalar_kernel gemel__scalar_kernel_variant(const gemel__scalar_row *row, gemel_dtype operand,
                                                  gemel_dtype result, gemel__isa isa);

/* Kernels of one dtype, indexed by row, with NULL where there is none; the entry `where` of u8,
 * u16, u32 and u64 moves elements of that width whatever they mean. */
const gemel__scalar_kernel *gemel__float_kernels(gemel_dtype dtype, gemel__isa isa);
const gemel__scalar_kernel *gemel__signed_kernels(gemel_dtype dtype, gemel__isa isa);
const gemel__scalar_kernel *gemel__unsigned_kernels(gemel_dtype dtype, gemel__isa isa);

/* The cast from one dtype to another; all pairs exist. */
gemel__scalar_kernel gemel__cast_kernel(gemel_dtype from, gemel_dtype to, gemel__isa isa);

#endif
