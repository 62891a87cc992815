/* SPDX-License-Identifier: MIT
 *
 * The region that one replacement by a pass is about: what the old value and the new one are made
 * of, down to the values that the pass asked for, which become inputs.
 */
#ifndef GEMEL__CERTIFY_CHANGE_H
#define GEMEL__CERTIFY_CHANGE_H

#include "passes/edit.h"
#include "sample/points.h"

typedef struct gemel__change_region {
  gemel_graph *left, *right; /* with the same inputs and one output, "y" */
  gemel_range *ranges;       /* of the inputs; with what is known of them */
  gemel_range *any;          /* GEMEL_RANGE_ANY for each */
  size_t n, capacity, any_capacity;
  uint64_t key;       /* of both sides, when nothing is known of the inputs */
  uint64_t facts_key; /* and with what is */
  size_t visited;     /* nodes, in all */
} gemel__change_region;

/* Reads CHANGE, looking at no more than MOST nodes. MADE: what was asked for and may have been made
 * once more of the rest is no input. GEMEL_DECLINED: there are more nodes, a size is known at run
 * time only, or, with MADE, there is no such thing; GEMEL_NO_MEMORY. Release with
 * gemel__change_clear in any case. */
gemel_status gemel__change_read(gemel__change_region *region, const gemel__change *change, int made,
                                size_t most, gemel_error *error);
void gemel__change_clear(gemel__change_region *region);

#endif
