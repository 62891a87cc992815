/* SPDX-License-Identifier: MIT
 *
 * What the rules and the kernels of dot and dot_add share.
 */
#ifndef GEMEL__OPS_LINALG_H
#define GEMEL__OPS_LINALG_H

#include "ops/ops.h"

/* The three groups of axes of x ([0]) and y ([1]). Batch and contracted axes are paired. */
typedef struct gemel__dot_axes {
  int n_batch, n_contract, n_free[2];
  int batch[2][GEMEL_MAX_RANK];
  int contract[2][GEMEL_MAX_RANK];
  int free[2][GEMEL_MAX_RANK];
} gemel__dot_axes;

/* Fills in AXES from attributes that the type rule has accepted. */
void gemel__dot_axes_of(const gemel_attr *attrs, int x_rank, int y_rank, gemel__dot_axes *axes);

extern const gemel_kernel gemel__dot_kernels[];

/* Of both: z, which is as big as the product, is read where it is given. */
void gemel__dot_cost(const gemel_kernel_call *call, double *flops, double *bytes);

#endif
