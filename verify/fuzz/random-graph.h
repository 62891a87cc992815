/* SPDX-License-Identifier: MIT
 *
 * Random graphs for the rewriter to work on: left sides of rules, graphs that passes are drawn on
 * and other operations, each applied to what the ones before it made.
 */
#ifndef GEMEL__FUZZ_RANDOM_GRAPH_H
#define GEMEL__FUZZ_RANDOM_GRAPH_H

#include <gemel/rewrite.h>
#include "base/random.h"

/* A random graph of about STEPS steps over the rules of N_SETS sets and all operations of CONTEXT
 * that a proposal can be made for; with PASSES, also over graphs of all passes, and derivatives.
 * What nothing uses is an output, and some of the rest are, too.
 * The same stream of random numbers and the same sets give the same graph. NULL: GEMEL_NO_MEMORY,
 * or GEMEL_DECLINED if nothing came of it. */
gemel_graph *gemel__random_graph(gemel_context *context, const gemel_rules *const *sets,
                                 size_t n_sets, int steps, int passes, gemel__random *random,
                                 gemel_error *error);

#endif
