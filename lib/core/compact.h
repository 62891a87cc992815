/* SPDX-License-Identifier: MIT
 *
 * Leaving out of a graph, where it stands, what nothing uses: other graphs need no new memory, nor
 * does this one.
 */
#ifndef GEMEL__CORE_COMPACT_H
#define GEMEL__CORE_COMPACT_H

#include "core/graph.h"

/* Leaves out of GRAPH, of which there is one reference, the nodes that aren't used, but for inputs;
 * all else stays in its order. USES: how often each node is used; afterwards, where that was not 0,
 * the node's new id. GEMEL_DECLINED, and nothing is done, where types would have to be inferred
 * again, a node has not just one output, or the inputs don't stand first. GEMEL_NO_MEMORY: GRAPH is
 * of no use any more. */
gemel_status gemel__compact(gemel_graph *graph, uint32_t *uses);

#endif
