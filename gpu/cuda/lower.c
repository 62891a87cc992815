/* SPDX-License-Identifier: MIT
 *
 * From operations to kernels: lower.def as a table by operation. What has no row there has no
 * kernel; tests/t-cuda.c, which has one test for each row, doesn't compile then.
 */
#include "core/context.h"
#include "cuda/cuda.h"
#include "core/ids.h"

#define LOWER(operation, kernels) extern const gemel_kernel gemel__cuda_##kernels[];
#define HOST(operation, why)
#define LOWER_SCALARS(kernels) extern const gemel_kernel gemel__cuda_##kernels[];
#include "lower.def"
#undef LOWER
#undef LOWER_SCALARS

#define LOWER(operation, kernels) [GEMEL__OP_##operation] = gemel__cuda_##kernels,
#define LOWER_SCALARS(kernels)
static const gemel_kernel *const lowered[GEMEL__OP_COUNT] = {
#include "lower.def"
#define SCALAR(name, ...) [GEMEL__OP_##name] = gemel__cuda_elementwise,
#include "ops/scalar.def"
#undef SCALAR
};

/* The record of an operation of gemel's own begins the operation itself. */
const gemel_kernel *gemel__cuda_kernels(void *user, const gemel_operation *operation) {
  const gemel__op *op = (const gemel__op *)(const void *)operation;
  (void)user;
  return op->row != NULL && op->id < GEMEL__OP_COUNT ? lowered[op->id] : NULL;
}
