/* SPDX-License-Identifier: MIT
 *
 * The algorithms for convolutions on a GPU, which the rows of conv.def name.
 */
#ifndef GEMEL__KERNELS_CONV_ALGORITHMS_H
#define GEMEL__KERNELS_CONV_ALGORITHMS_H

#include "ops/conv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SUITS: 1 if it is to be preferred to those behind it. PREPARE declines what it can't do. */
#define ALGORITHM(name, least)                                                                     \
  int gemel__cuda_conv_##name##_suits(const gemel__conv *geometry);                                \
  gemel_status gemel__cuda_conv_##name##_prepare(gemel_kernel_call *call, gemel__conv_kind kind);  \
  gemel_status gemel__cuda_conv_##name##_run(const gemel_kernel_call *call, gemel__conv_kind kind);
#include "kernels/conv.def"
#undef ALGORITHM

#ifdef __cplusplus
}
#endif
#endif
