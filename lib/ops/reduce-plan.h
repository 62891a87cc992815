/* SPDX-License-Identifier: MIT
 *
 * What a reduction has to do, taken from its call: which axes are kept, which are reduced, in units
 * of bytes and joined where they continue each other. It depends on shapes and strides alone: a
 * kernel makes it when it is prepared, and only pointers are set at each call.
 */
#ifndef GEMEL__OPS_REDUCE_PLAN_H
#define GEMEL__OPS_REDUCE_PLAN_H

#include "ops/reduce.h"

enum {
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
  const char *in; /* of the call under way, SHIFT bytes from its operand's data; and its result */
  char *out;
  int64_t shift;
  int64_t lines;                /* results */
  int64_t length;               /* elements that make one */
  int64_t strip, strips, outer; /* columns in a strip, strips in a row, rows of strips */
  int threads;                  /* that are of use, 1 or more */
  void (*run)(const struct gemel__reduce_plan *plan, void *scratch);
  int n_kept, n_reduced; /* at least 1 reduced axis, of size 1 if there is nothing to reduce */
  gemel__reduce_axis *kept, *reduced;
  gemel__reduce_axis axes[]; /* one more than the operand has */
} gemel__reduce_plan;

/* The plan of CALL, whose data pointers need not be valid, in *PLAN; RUN is left to the caller.
 * GEMEL_BAD_SHAPE if a maximum of nothing is asked for. Argmax keeps the order of its one axis; the
 * others' axes are put in the order of memory. The plan is CALL's state from now on: it goes when
 * that is released, and gemel__reduce_plan_of finds it with this call's pointers. */
gemel_status gemel__reduce_plan_make(gemel_kernel_call *call, gemel__reduction what,
                                     gemel__reduce_plan **plan);

static inline gemel__reduce_plan *gemel__reduce_plan_of(const gemel_kernel_call *call) {
  gemel__reduce_plan *p = *(gemel__reduce_plan **)call->prepared;
  p->in = call->inputs[0].data;
  if (p->shift != 0) { /* else there may be no memory */
    p->in += p->shift;
  }
  p->out = call->outputs[0].data;
  return p;
}

/* 1 if the innermost kept axis is one of contiguous elements, at least LEAST, and the reduced ones
 * are not: many results are better made side by side. Then they are cut into strips of at most
 * MOST. */
int gemel__reduce_cut_strips(gemel__reduce_plan *plan, int64_t least, int64_t most);

/* A strip: WIDTH results from result FIRST, whose first elements stand at BASE. */
typedef struct gemel__reduce_strip {
  const char *base;
  int64_t first;
  size_t width;
} gemel__reduce_strip;

/* Strip INDEX < OUTER * STRIPS. */
gemel__reduce_strip gemel__reduce_strip_at(const gemel__reduce_plan *plan, int64_t index);

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
