/* SPDX-License-Identifier: MIT
 *
 * The algorithms for convolutions on a GPU; each row of kernels in conv.cu is made of them.
 */
#ifndef GEMEL__KERNELS_CONV_H
#define GEMEL__KERNELS_CONV_H

#include "kernels/types.h"

extern "C" {
#include "ops/conv.h"
}

/* The digits of NUMBER by SIZES, the last one the fastest; returns what is left. */
DEVICE long long split_index(long long number, const long long *sizes, long long *index) {
  for (int k = GEMEL__CONV_AXES - 1; k >= 0; k--) {
    index[k] = number % sizes[k];
    number /= sizes[k];
  }
  return number;
}

/* As matrix products (conv-gemm.cu); declines dtypes that aren't floats, weights that aren't
 * shared, depthwise convolutions and small ones. */
gemel_status gemel__cuda_conv_prepare(gemel_kernel_call *call, gemel__conv_kind kind);
gemel_status gemel__cuda_conv_run(const gemel_kernel_call *call, gemel__conv_kind kind);

#endif
