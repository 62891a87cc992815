/* SPDX-License-Identifier: MIT
 *
 * Windows that slide over the spatial axes of images [batch, channels, spatial axes…]: what the
 * type rules and normal forms of convolutions and pooling have in common.
 */
#ifndef GEMEL__OPS_WINDOW_H
#define GEMEL__OPS_WINDOW_H

#include "ops/ops.h"

enum { GEMEL__SPATIAL_AXES = 3 }; /* at most */

/* What a list says of AXIS, or FALLBACK if it is absent. */
static inline int64_t gemel__window_entry(const gemel_attr *attr, int axis, int64_t fallback) {
  return attr->kind == GEMEL_ATTR_NONE ? fallback : attr->u.ints[axis];
}

/* Checks that the list in attribute WHICH is absent, or has AXES entries of at least LEAST. */
gemel_status gemel__window_list(const gemel_infer *call, int which, int axes, int64_t least);

/* Checks the rank of input K, an image or what has the shape of one, and says how many AXES are
 * spatial. */
gemel_status gemel__window_axes(const gemel_infer *call, size_t k, int *axes);

/* How many elements of an image a window spans that has COUNT, DILATION apart. */
gemel_dim gemel__window_span(const gemel_infer *call, gemel_dim count, int64_t dilation);

/* Sets PLACES, how many there are STRIDE apart in an image of PADDED elements along AXIS for WHAT,
 * which has SPAN. GEMEL_BAD_SHAPE if there is none, GEMEL_NO_MEMORY. */
gemel_status gemel__window_places(const gemel_infer *call, const char *what, int axis,
                                  gemel_dim span, gemel_dim padded, int64_t stride,
                                  gemel_dim *places);

/* Checks that WHAT (AXIS < 0: it has no axis) is not known to be other than WANTED. */
gemel_status gemel__window_equal(const gemel_infer *call, gemel_dim is, gemel_dim wanted,
                                 const char *what, int axis);

/* Spells out an absent list: VALUE for each of AXES. */
void gemel__window_spell(gemel_normalize *call, int which, int axes, int64_t value);

#endif
