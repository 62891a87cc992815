/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of cuDNN's convolutions.
 */
#ifndef GEMEL__SIM_CONV_H
#define GEMEL__SIM_CONV_H

#include <stdbool.h>
#include "sim/gemm.h"

enum { GEMEL__SIM_DIMS = 8 };

/* Strides count elements. */
typedef struct {
  void *at;
  cudaDataType type;
  int rank;
  int64_t dims[GEMEL__SIM_DIMS], strides[GEMEL__SIM_DIMS];
} gemel__sim_tensor;

/* What an engine does to its numbers besides rounding products and sums to f32. */
typedef enum {
  GEMEL__SIM_PLAIN,
  GEMEL__SIM_TF32_INPUTS, /* operands are rounded to 11 bits */
  GEMEL__SIM_HALF_INPUTS, /* to f16 */
  GEMEL__SIM_HALF_SUMS,   /* sums are */
  GEMEL__SIM_TRANSFORMED  /* results have the errors of transforms there and back */
} gemel__sim_precision;

typedef enum { GEMEL__SIM_CONV_Y, GEMEL__SIM_CONV_W, GEMEL__SIM_CONV_X } gemel__sim_conv_result;

/* y[n, k, p] = sum of x[n, c, p * stride + r * dilation - low] * w[k, c, r] over all channels c of
 * the group of filter k and all kernel elements r; or what follows of x or w from a gradient of y.
 * The result is alpha times that + beta times what was there, which isn't read if beta is 0. Sums
 * are taken in an order that the seed and the sizes choose. */
typedef struct {
  gemel__sim_conv_result result;
  int axes;
  bool flip; /* r is counted backwards */
  int64_t stride[GEMEL__SIM_DIMS], dilation[GEMEL__SIM_DIMS], low[GEMEL__SIM_DIMS];
  gemel__sim_tensor x, w, y;
  double alpha, beta;
  gemel__sim_precision precision;
} gemel__sim_convolution;

/* False, with a report, if an operand may not be read or the result not be written. */
bool gemel__sim_check_tensor(const gemel__sim_tensor *tensor, bool write);
/* False if memory ran out. */
bool gemel__sim_convolve(const gemel__sim_convolution *convolution);

#endif
