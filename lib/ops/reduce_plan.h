/* SPDX-License-Identifier: MIT
 *
 * What a reduction has to do, taken from its call: which axes are kept, which are reduced, in units
 * of bytes and joined where they continue each other.
 */
#ifndef GEMEL__OPS_REDUCE_PLAN_H
#define GEMEL__OPS_REDUCE_PLAN_H

#include "ops/reduce.h"

enum {
  GEMEL__REDUCE_BLOCK = 4096, /* elements of a line that are reduced at once */
  /* bytes that gemel__reduce_load may need: a block of 8-byte numbers, or of f32 and their halves
   */
  GEMEL__REDUCE_BUFFER = GEMEL__REDUCE_BLOCK * 8
};

typedef struct gemel__reduce_axis {
  int64_t size, stride;
} gemel__reduce_axis;

typedef struct gemel__reduce_plan {
  const gemel__reducer *reducer;
  gemel_dtype dtype;
  int half; /* elements are converted to f32 first, results back */
  size_t bytes, out_bytes;
  const char *in;
  char *out;
  int n_kept, n_reduced; /* at least 1 reduced axis, of size 1 if there is nothing to reduce */
  gemel__reduce_axis kept[GEMEL_MAX_RANK + 1], reduced[GEMEL_MAX_RANK + 1];
  int64_t lines;                /* results */
  int64_t length;               /* elements that make one */
  int64_t strip, strips, outer; /* columns in a strip, strips in a row, rows of strips */
} gemel__reduce_plan;

/* Fills PLAN. GEMEL_BAD_SHAPE if a maximum of nothing is asked for. Argmax keeps the order of its
 * one axis; the others' axes are put in the order of memory. */
gemel_status gemel__reduce_plan_make(const gemel_kernel_call *call, gemel__reduction what,
                                     gemel__reduce_plan *plan);

/* Bytes from the first element to element INDEX (row-major) of these axes. */
static inline int64_t gemel__reduce_offset(const gemel__reduce_axis *axes, int count,
                                           int64_t index) {
  int64_t offset = 0;
  if (count == 1) {
    return index * axes->stride;
  }
  for (; count > 0 && index > 0; count--) {
    offset += index % axes[count - 1].size * axes[count - 1].stride;
    index /= axes[count - 1].size;
  }
  return offset;
}

/* N <= GEMEL__REDUCE_BLOCK elements of the line at BASE from place FROM as the reducer takes them;
 * in BUFFER (GEMEL__REDUCE_BUFFER bytes) if they don't lie together. */
const void *gemel__reduce_load(const gemel__reduce_plan *plan, const char *base, int64_t from,
                               size_t n, void *buffer);

#endif
