/* SPDX-License-Identifier: MIT
 *
 * From operations to kernels: lower.def as a table by operation.
 */
#include "core/context.h"
#include "cuda/cuda.h"
#include "ops/ids.h"

/* Each row says that its operation has one; what has none isn't there to be named below. */
enum {
#define LOWER(operation, kernels) HAS_ROW_##operation,
#define HOST(operation, why) HAS_ROW_##operation,
#define LOWER_SCALARS(kernels)
#include "lower.def"
#undef LOWER
#undef HOST
#undef LOWER_SCALARS
  ROWS
};

#define OP(name, ...) HAS_ROW_##name,
static const unsigned char complete[] = {
#include "ops/ops.def"
};
#undef OP
_Static_assert(sizeof complete == ROWS, "lower.def has one row for each operation");

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
const gemel_kernel *gemel__cuda_kernels(void *state, const gemel_operation *operation) {
  const gemel__op *op = (const gemel__op *)(const void *)operation;
  (void)state, (void)complete;
  return op->row != NULL && op->id < GEMEL__OP_COUNT ? lowered[op->id] : NULL;
}
