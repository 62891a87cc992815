/* SPDX-License-Identifier: MIT
 *
 * Makes the plan of a reduction: sorts axes into kept and reduced ones. Sums, products and maxima
 * may take their elements in any order, so reduced axes are walked in the order of memory:
 * forwards, and the closest elements innermost.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "ops/reduce-plan.h"

enum { SMALL = 1 << 15 /* elements that are not worth a second thread */ };

/* Axes repeated by a stride of 0 are the last to be walked innermost. */
static int64_t reach(const gemel__reduce_axis *axis) {
  return axis->stride == 0 ? INT64_MAX : axis->stride;
}

static void order_as_memory(gemel__reduce_plan *p) {
  for (int k = 0; k < p->n_reduced; k++) {
    gemel__reduce_axis axis = p->reduced[k];
    if (axis.stride < 0) {
      p->shift += (axis.size - 1) * axis.stride;
      axis.stride = -axis.stride;
    }
    int j = k;
    for (; j > 0 && reach(&p->reduced[j - 1]) < reach(&axis); j--) {
      p->reduced[j] = p->reduced[j - 1];
    }
    p->reduced[j] = axis;
  }
}

/* Joins neighbours where the outer axis goes on where the inner one ends; returns how many are
 * left. */
static int join_axes(gemel__reduce_axis *axes, int count) {
  int k, last = 0;
  for (k = 1; k < count; k++) {
    if (axes[last].stride == axes[k].size * axes[k].stride) {
      axes[last].size *= axes[k].size;
      axes[last].stride = axes[k].stride;
    } else {
      axes[++last] = axes[k];
    }
  }
  return count > 0 ? last + 1 : 0;
}

/* Axes of size 1 are left out. */
static void sort_axes(gemel__reduce_plan *p, const gemel_view *in, const unsigned char *mask) {
  p->lines = p->length = 1;
  p->kept = p->reduced = p->axes;
  for (int axis = 0; axis < in->rank; axis++) {
    p->reduced += !mask[axis] && in->shape[axis] != 1;
  }
  for (int axis = 0; axis < in->rank; axis++) {
    gemel__reduce_axis it = {in->shape[axis], in->strides[axis]};
    if (mask[axis]) {
      p->length *= it.size;
    } else {
      p->lines *= it.size;
    }
    if (it.size != 1) {
      *(mask[axis] ? &p->reduced[p->n_reduced++] : &p->kept[p->n_kept++]) = it;
    }
  }
}

static gemel_status mask_of(const gemel_kernel_call *call, gemel__reduction what,
                            unsigned char *mask) {
  gemel_attr attr = call->attrs[0];
  int64_t axis;
  if (what == GEMEL__REDUCE_ARGMAX) {
    axis = attr.u.i;
    attr = gemel_attr_ints("axis", 1, &axis);
  }
  return gemel__reduced_axes(&attr, call->inputs[0].rank, mask, call->error);
}

static void set_dtypes(gemel__reduce_plan *p, const gemel_kernel_call *call,
                       gemel__reduction what) {
  const gemel_view *in = &call->inputs[0];
  p->dtype = in->dtype;
  p->half = in->dtype == GEMEL_F16 || in->dtype == GEMEL_BF16;
  p->reducer = gemel__reducer_for(what, p->half ? GEMEL_F32 : in->dtype, gemel__isa_best());
  p->bytes = gemel_dtype_size(in->dtype);
  p->out_bytes = gemel_dtype_size(call->outputs[0].dtype);
}

static void set_axes(gemel__reduce_plan *p, const gemel_view *in, const unsigned char *mask,
                     gemel__reduction what) {
  sort_axes(p, in, mask);
  if (p->length > 0 && p->lines > 0) {
    if (what != GEMEL__REDUCE_ARGMAX) {
      order_as_memory(p);
    }
    p->n_kept = join_axes(p->kept, p->n_kept);
    p->n_reduced = join_axes(p->reduced, p->n_reduced);
  }
  if (p->n_reduced == 0) {
    p->reduced[p->n_reduced++] = (gemel__reduce_axis){1, (int64_t)p->bytes};
  }
}

static int useful_threads(const gemel__reduce_plan *p, int threads) {
  return p->length > 0 && p->lines > SMALL / p->length && threads > 1 ? threads : 1;
}

/* A state: where the plan is, and how big. */
typedef struct kept_plan {
  gemel__reduce_plan *plan;
  size_t bytes;
} kept_plan;

static void release_plan(void *prepared) {
  kept_plan *kept = prepared;
  gemel__free(kept->plan, kept->bytes);
}

gemel_status gemel__reduce_plan_make(gemel_kernel_call *call, gemel__reduction what,
                                     gemel__reduce_plan **plan) {
  const gemel_view *in = &call->inputs[0];
  unsigned char mask[GEMEL_MAX_RANK];
  gemel_status status = mask_of(call, what, mask);
  kept_plan kept = {NULL, sizeof **plan + ((size_t)in->rank + 1) * sizeof(gemel__reduce_axis)};
  if (status != GEMEL_OK) {
    return status;
  }
  kept.plan = gemel__alloc_zeroed(kept.bytes);
  if (kept.plan == NULL) {
    return gemel__no_memory(call->error, "a reduction");
  }
  set_dtypes(kept.plan, call, what);
  set_axes(kept.plan, in, mask, what);
  kept.plan->threads = useful_threads(kept.plan, call->threads);
  if (kept.plan->length == 0 && what >= GEMEL__REDUCE_MAX) {
    release_plan(&kept);
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "the largest of no elements");
  }
  memcpy(call->prepared, &kept, sizeof kept);
  call->release = release_plan;
  *plan = kept.plan;
  return GEMEL_OK;
}

int gemel__reduce_cut_strips(gemel__reduce_plan *p, int64_t least, int64_t most) {
  const gemel__reduce_axis *columns = p->kept + p->n_kept - (p->n_kept > 0);
  if (p->n_kept == 0 || p->length == 0 || columns->stride != (int64_t)p->bytes ||
      columns->size < least || p->reduced[p->n_reduced - 1].stride == (int64_t)p->bytes) {
    return 0;
  }
  p->strip = columns->size < most ? columns->size : most;
  p->strips = (columns->size + p->strip - 1) / p->strip;
  p->outer = p->lines / columns->size;
  return 1;
}

gemel__reduce_strip gemel__reduce_strip_at(const gemel__reduce_plan *p, int64_t index) {
  const gemel__reduce_axis *columns = &p->kept[p->n_kept - 1];
  int64_t outer = index / p->strips, column = index % p->strips * p->strip;
  int64_t left = columns->size - column;
  gemel__reduce_strip s = {
      p->in + gemel__reduce_offset(p->kept, p->n_kept - 1, outer) + column * columns->stride,
      outer * columns->size + column, (size_t)(left < p->strip ? left : p->strip)};
  return s;
}
