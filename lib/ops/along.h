/* SPDX-License-Identifier: MIT
 *
 * cumsum and argsort: results of x's shape, made lane by lane; a lane is what lies along the axis.
 * Type rules and derivatives are in along.c, kernels in along-run.c.
 */
#ifndef GEMEL__OPS_ALONG_H
#define GEMEL__OPS_ALONG_H

#include "ops/ops.h"

extern const gemel_kernel gemel__cumsum_kernels[];
extern const gemel_kernel gemel__argsort_kernels[];

#endif
