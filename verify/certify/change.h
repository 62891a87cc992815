/* SPDX-License-Identifier: MIT
 *
 * The region of one replacement by a pass: what the old and the new value are computed by, down to
 * the values that the pass asked for, which become inputs.
 */
#ifndef GEMEL__CERTIFY_CHANGE_H
#define GEMEL__CERTIFY_CHANGE_H

#include "passes/edit.h"
#include "sample/points.h"

typedef struct gemel__change_region {
  gemel_graph *left, *right; /* with the same inputs and one output, "y" */
  gemel_range *ranges;       /* of each input, by the facts that are known */
  gemel_range *any;          /* of each input GEMEL_RANGE_ANY */
  size_t n, capacity, any_capacity;
  uint64_t key;       /* hash of both sides, with nothing known of the inputs */
  uint64_t facts_key; /* the same with the ranges */
  size_t visited;     /* nodes, over all attempts */
} gemel__change_region;

/* Reads the region of CHANGE, from at most MOST nodes. MADE: values that the pass asked for and may
 * have made anew aren't inputs. GEMEL_DECLINED: there are more nodes, a size is known at run time
 * only, or, with MADE, there are no such values. GEMEL_NO_MEMORY. Release with gemel__change_clear
 * in any case. */
gemel_status gemel__change_read(gemel__change_region *region, const gemel__change *change, int made,
                                size_t most, gemel_error *error);
void gemel__change_clear(gemel__change_region *region);

#endif
