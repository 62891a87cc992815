/* SPDX-License-Identifier: MIT
 *
 * Masks of undefined elements (pairs/undefined.h): of a node, from those of its operands.
 */
#ifndef GEMEL__PAIRS_MASKS_H
#define GEMEL__PAIRS_MASKS_H

#include "core/graph.h"

/* A node in the graph where masks are built. A mask is of truths, and broadcasts to the shape of
 * its value; the null value: no element is undefined. */
typedef struct gemel__masked_node {
  uint32_t op, attrs;
  int partial;
  size_t n_inputs, n_outputs;
  const gemel_value *inputs;
  const gemel_value *masks; /* of the inputs */
  gemel_value output;       /* the first one; others follow it */
  gemel_location where;
} gemel__masked_node;

/* Which elements of the operands of a partial node it has no result for; the null value if there
 * are none for what is plain to see. */
gemel_value gemel__mask_own(const gemel__masked_node *node);

/* The mask of output K of NODE. Errors are the graph's. */
gemel_value gemel__mask_of(const gemel__masked_node *node, size_t k);

/* Either of two masks. */
gemel_value gemel__mask_either(gemel_value x, gemel_value y, gemel_location where);

/* MASK in the shape of LIKE: false everywhere for the null value. */
gemel_value gemel__mask_like(gemel_value mask, gemel_value like, gemel_location where);

#endif
