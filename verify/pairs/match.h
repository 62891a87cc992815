/* SPDX-License-Identifier: MIT
 *
 * Renames inputs and outputs of a graph to those of another.
 */
#ifndef GEMEL__PAIRS_MATCH_H
#define GEMEL__PAIRS_MATCH_H

#include <gemel/gemel.h>

/* B, its inputs and outputs renamed to those of A. HOW is "place" (the first is the first), or a
 * list such as "x=input.1,y=out": A's name, then B's. What isn't in the list keeps its name. NULL
 * with GEMEL_BAD_ARGUMENT (no such name; by place, another number of inputs or outputs) or
 * GEMEL_NO_MEMORY. */
gemel_graph *gemel__graph_matched(const gemel_graph *a, const gemel_graph *b, const char *how,
                                  gemel_error *error);

#endif
