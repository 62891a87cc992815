/* SPDX-License-Identifier: MIT
 *
 * Which input and output of one graph is which of another.
 */
#ifndef GEMEL__PAIRS_MATCH_H
#define GEMEL__PAIRS_MATCH_H

#include <gemel/gemel.h>

/* B with its inputs and outputs called as those of A that they stand for. HOW: "place" (the first
 * is the first), or a list such as "x=input.1,y=out": A's name, B's name; what isn't in it keeps
 * its name. NULL: GEMEL_BAD_ARGUMENT (no such name, or another number of them), GEMEL_NO_MEMORY. */
gemel_graph *gemel__graph_matched(const gemel_graph *a, const gemel_graph *b, const char *how,
                                  gemel_error *error);

#endif
