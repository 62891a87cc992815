/* SPDX-License-Identifier: MIT
 *
 * The geometry of pooling, which its five operations and all their kernels share.
 */
#ifndef GEMEL__OPS_POOL_H
#define GEMEL__OPS_POOL_H

#include "core/isa.h"
#include "ops/window.h"

/* The attributes of all operations, in the order of their schemas. Averages alone have
 * COUNT_PADDING, and avg_pool_grad has IMAGE. */
enum {
  GEMEL__POOL_SIZE,
  GEMEL__POOL_STRIDE,
  GEMEL__POOL_DILATION,
  GEMEL__POOL_LOW,
  GEMEL__POOL_HIGH,
  GEMEL__POOL_COUNT_PADDING,
  GEMEL__POOL_IMAGE
};

typedef enum gemel__pool_kind {
  GEMEL__POOL_MAX,
  GEMEL__POOL_MAX_GRAD,
  GEMEL__POOL_MAX_PICK,
  GEMEL__POOL_AVG,
  GEMEL__POOL_AVG_GRAD,
  GEMEL__POOL_KINDS
} gemel__pool_kind;

/* Element [k] of the window at place [o] is element o * stride + k * dilation - low of the image,
 * or padding. Each window has elements of the image. Axes that there aren't have size 1. */
typedef struct gemel__pooling {
  gemel__pool_kind kind;
  int axes, count_padding;
  int64_t batch, channels;
  int64_t image[GEMEL__SPATIAL_AXES], size[GEMEL__SPATIAL_AXES], out[GEMEL__SPATIAL_AXES];
  int64_t stride[GEMEL__SPATIAL_AXES], dilation[GEMEL__SPATIAL_AXES], low[GEMEL__SPATIAL_AXES];
} gemel__pooling;

/* The geometry of a kernel's call, whose shapes the type rule has accepted. */
gemel__pooling gemel__pool_of(const gemel_kernel_call *call, gemel__pool_kind kind);

/* Elements of all windows. */
double gemel__pool_work(const gemel__pooling *geometry);

/* The kernel of pool-lanes.c, for a machine that has ISA; all give the same bits. */
gemel_status gemel__pool_lanes_prepare(gemel_kernel_call *call, gemel__pool_kind kind,
                                       gemel__isa isa);
gemel_status gemel__pool_lanes_run(const gemel_kernel_call *call, gemel__pool_kind kind,
                                   gemel__isa isa);

extern const gemel_kernel gemel__max_pool_kernels[];
extern const gemel_kernel gemel__max_pool_grad_kernels[];
extern const gemel_kernel gemel__max_pool_pick_kernels[];
extern const gemel_kernel gemel__avg_pool_kernels[];
extern const gemel_kernel gemel__avg_pool_grad_kernels[];

#endif
