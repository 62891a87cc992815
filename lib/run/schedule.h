/* SPDX-License-Identifier: MIT
 *
 * In which order a function computes its nodes.
 */
#ifndef GEMEL__RUN_SCHEDULE_H
#define GEMEL__RUN_SCHEDULE_H

#include <stdint.h>
#include "core/graph.h"

/* Writes GRAPH's LIVE nodes (1 for each that is) to ORDER in an order in which everything is
 * computed before it is read, and, wherever that goes, a node that may overwrite an input, or the
 * state that it is the next value of, comes behind all others that read it. *IN_PLACE, which may be
 * NULL: how many nodes come behind all other readers of what they may overwrite. GEMEL_NO_MEMORY.
 * Time: about linear. */
gemel_status gemel__schedule(const gemel_graph *graph, const unsigned char *live, uint32_t *order,
                             size_t *in_place, gemel_error *error);

#endif
