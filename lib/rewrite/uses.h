/* SPDX-License-Identifier: MIT
 *
 * How often the nodes of a graph and their values are used, and what else one sweep over it tells.
 */
#ifndef GEMEL__REWRITE_USES_H
#define GEMEL__REWRITE_USES_H

#include "core/graph.h"

typedef struct gemel__uses {
  uint32_t *of;        /* how often nodes that an output needs use a node, and outputs: by its id;
                          and a value: by gemel__value_number */
  size_t n;            /* of them */
  uint64_t used, live; /* nodes that are used; those and inputs */
  uint32_t widest;     /* how many inputs a node that is used has at most */
} gemel__uses;

/* Finds *USES of GRAPH; to be cleared. GEMEL_NO_MEMORY. */
gemel_status gemel__uses_find(gemel__uses *uses, const gemel_graph *graph, gemel_error *error);

void gemel__uses_clear(gemel__uses *uses);

#endif
