/* SPDX-License-Identifier: MIT
 *
 * Finds the contiguous kernel of a scalar operation. The loops themselves are expanded from
 * scalar.def in elementwise-float.c, elementwise-signed.c, elementwise-unsigned.c and
 * elementwise-cast.c.
 */
#include "ops/elementwise.h"

static gemel_dtype word_of(size_t bytes) {
  return bytes == 1 ? GEMEL_U8 : bytes == 2 ? GEMEL_U16 : bytes == 4 ? GEMEL_U32 : GEMEL_U64;
}

static const gemel__scalar_kernel *kernels_of(gemel_dtype dtype, gemel__isa isa) {
  switch (dtype) {
  case GEMEL_F16:
  case GEMEL_BF16:
    return NULL;
  case GEMEL_F32:
  case GEMEL_F64:
    return gemel__float_kernels(dtype, isa);
  default:
    return gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED ? gemel__signed_kernels(dtype, isa)
                                                        : gemel__unsigned_kernels(dtype, isa);
  }
}

gemel__scalar_kernel gemel__scalar_kernel_variant(const gemel__scalar_row *row, gemel_dtype operand,
                                                  gemel_dtype result, gemel__isa isa) {
  const gemel__scalar_kernel *kernels;
  if ((unsigned)operand >= GEMEL_DTYPE_COUNT || (unsigned)result >= GEMEL_DTYPE_COUNT) {
    return NULL;
  }
  if (row->code == GEMEL__TYPE_CAST) {
    return gemel__cast_kernel(operand, result, isa);
  }
  if (row->code == GEMEL__TYPE_SELECT) {
    operand = word_of(gemel_dtype_size(result));
  }
  kernels = kernels_of(operand, isa);
  return kernels == NULL ? NULL : kernels[row->index];
}

gemel__scalar_kernel gemel__scalar_kernel_for(const gemel__scalar_row *row, gemel_dtype operand,
                                              gemel_dtype result) {
  return gemel__scalar_kernel_variant(row, operand, result, gemel__isa_best());
}
