/* SPDX-License-Identifier: MIT
 *
 * What the rules and the kernels of cholesky, triangular_solve, solve and determinants share.
 */
#ifndef GEMEL__OPS_SOLVE_H
#define GEMEL__OPS_SOLVE_H

#include "ops/ops.h"

/* Attributes of triangular_solve. */
enum { GEMEL__LOWER, GEMEL__TRANS, GEMEL__UNIT_DIAGONAL };

extern const gemel_kernel gemel__solve_kernels[];
extern const gemel_kernel gemel__triangular_solve_kernels[];
extern const gemel_kernel gemel__cholesky_kernels[];
extern const gemel_kernel gemel__det_kernels[];
extern const gemel_kernel gemel__log_abs_det_kernels[];

/* A third of n³ multiplications and additions for each matrix (twice that with pivots, which is of
 * no moment), n² for each column. */
void gemel__solve_cost(const gemel_kernel_call *call, double *flops, double *bytes);

#endif
