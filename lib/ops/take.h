/* SPDX-License-Identifier: MIT
 *
 * take and put: x at indices along an axis, read and written. Type rules and derivatives are in
 * take.c, kernels in take-run.c.
 */
#ifndef GEMEL__OPS_TAKE_H
#define GEMEL__OPS_TAKE_H

#include "ops/ops.h"

/* X(name): what put does with an element of y and what is there. */
#define GEMEL__PUT_TABLE(X) X(set) X(add) X(mul) X(min) X(max)

typedef enum gemel__put_mode {
#define GEMEL__PUT_MODE(name) GEMEL__PUT_##name,
  GEMEL__PUT_TABLE(GEMEL__PUT_MODE)
#undef GEMEL__PUT_MODE
      GEMEL__PUT_MODES
} gemel__put_mode;

/* The mode that ATTR names; GEMEL__PUT_MODES: none. */
gemel__put_mode gemel__put_mode_of(const gemel_attr *attr);

extern const gemel_kernel gemel__take_kernels[];
extern const gemel_kernel gemel__put_kernels[];

#endif
