/* SPDX-License-Identifier: MIT
 *
 * Pairs of graphs cut where they apply the same function to the same values.
 */
#ifndef GEMEL__PAIRS_CUT_H
#define GEMEL__PAIRS_CUT_H

#include "pairs/pair.h"
#include "base/tick.h"
#include "reference/twin.h"

/* Both graphs with each function and quotient that both apply to equal operands replaced by an
 * input, which can then be given any values. Its operands become results, so that differences on
 * the way to them are still seen. CONSTANTS: quotients by the same constant are replaced too.
 * GEMEL_DECLINED if there is nothing to cut, the graphs are equal over the reals only before, or
 * TICKER (may be NULL) says stop. */
gemel_status gemel__pair_cut(gemel__pair *cut, const gemel__pair *pair, int constants,
                             gemel__random *random, gemel__ticker *ticker, gemel_error *error);

/* An instance whose results are all values of INSTANCE's graph, node by node: FIRST[k] is the
 * number of node k's output 0 among them (room for a node each). GEMEL_DECLINED as
 * gemel__rebuild_graph. */
gemel_status gemel__instance_trace(gemel__instance *all, const gemel__instance *instance,
                                   size_t *first, gemel_error *error);

#endif
