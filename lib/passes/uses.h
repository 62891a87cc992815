/* SPDX-License-Identifier: MIT
 *
 * How often the nodes of a graph are used.
 */
#ifndef GEMEL__PASSES_USES_H
#define GEMEL__PASSES_USES_H

#include "core/graph.h"

/* How often each node is used by nodes that an output needs, and as an output: n_nodes of them, to
 * be freed. NULL: memory is out. */
uint32_t *gemel__graph_uses(const gemel_graph *graph);

#endif
