/* SPDX-License-Identifier: MIT
 *
 * The geometry of a convolution, which its three operations and all their kernels share.
 */
#ifndef GEMEL__OPS_CONV_H
#define GEMEL__OPS_CONV_H

#include "ops/window.h"

/* The attributes of all three operations, in the order of their schemas. SIZES is that of the
 * gradients alone: kernel or image. */
enum {
  GEMEL__CONV_STRIDE,
  GEMEL__CONV_DILATION,
  GEMEL__CONV_LOW,
  GEMEL__CONV_HIGH,
  GEMEL__CONV_PADDING,
  GEMEL__CONV_GROUPS,
  GEMEL__CONV_FLIP,
  GEMEL__CONV_UNSHARED,
  GEMEL__CONV_SIZES
};

/* Which operand of y = corr(x, w) an operation computes from the other two. */
typedef enum gemel__conv_kind {
  GEMEL__CONV_FORWARD, /* y */
  GEMEL__CONV_WEIGHTS, /* w */
  GEMEL__CONV_INPUTS   /* x */
} gemel__conv_kind;

/* Element [k] of the kernel meets element out * stride + k * dilation - low of the image, where k
 * is counted backwards if FLIP. Axes that there aren't have size 1. CHANNELS and FILTERS are those
 * of one group. */
typedef struct gemel__conv {
  gemel__conv_kind kind;
  int axes, flip, unshared;
  int64_t batch, groups, channels, filters;
  int64_t image[GEMEL__SPATIAL_AXES], kernel[GEMEL__SPATIAL_AXES], out[GEMEL__SPATIAL_AXES];
  int64_t stride[GEMEL__SPATIAL_AXES], dilation[GEMEL__SPATIAL_AXES];
  int64_t low[GEMEL__SPATIAL_AXES], high[GEMEL__SPATIAL_AXES];
} gemel__conv;

/* The geometry of a kernel's call, whose shapes the type rule has accepted, and where x, w and y
 * lie. */
void gemel__conv_of(const gemel_kernel_call *call, gemel__conv_kind kind, gemel__conv *geometry,
                    const gemel_view *operands[3]);

/* 1 if each place meets one element of the image, the one that stands there: then the convolution
 * is a matrix product. */
int gemel__conv_pointwise(const gemel__conv *geometry);

/* Multiplications that the definition asks for, those with padding included. */
double gemel__conv_work(const gemel__conv *geometry);

/* The algorithms. SUITS: 1 if it is to be preferred to those behind it, for operands as in
 * gemel__conv_of. */
#define ALGORITHM(name, least, channels_last)                                                      \
  int gemel__conv_##name##_suits(const gemel__conv *geometry,                                      \
                                 const gemel_view *const operands[3]);                             \
  gemel_status gemel__conv_##name##_prepare(gemel_kernel_call *call, gemel__conv_kind kind);       \
  gemel_status gemel__conv_##name##_run(const gemel_kernel_call *call, gemel__conv_kind kind);
#include "ops/conv.def"
#undef ALGORITHM

/* 1 if the algorithm that is the first to suit makes images with channels last: the hooks
 * CHANNELS_LAST of corr and corr_grad_inputs. */
int gemel__corr_channels_last(const gemel_kernel_call *call);
int gemel__corr_grad_inputs_channels_last(const gemel_kernel_call *call);

extern const gemel_kernel gemel__corr_kernels[];
extern const gemel_kernel gemel__corr_grad_weights_kernels[];
extern const gemel_kernel gemel__corr_grad_inputs_kernels[];

#endif
