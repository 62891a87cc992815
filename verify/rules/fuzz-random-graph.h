/* SPDX-License-Identifier: MIT
 *
 * Random graphs for the rewriter: left sides of rules, graphs that passes are tried on and single
 * operations, each applied to the results of earlier ones.
 */
#ifndef GEMEL__RULES_FUZZ_RANDOM_GRAPH_H
#define GEMEL__RULES_FUZZ_RANDOM_GRAPH_H

#include <gemel/rewrite.h>
#include "base/random.h"

/* A random graph of about STEPS steps, over the rules of N_SETS sets and all operations of CONTEXT
 * for which a proposal can be made; with PASSES, also over graphs of all passes, and derivatives.
 * Values that nothing uses are outputs, and so are some others. The same random stream and sets
 * give the same graph. NULL: GEMEL_NO_MEMORY, or GEMEL_DECLINED if no graph came of it. */
gemel_graph *gemel__random_graph(gemel_context *context, const gemel_rules *const *sets,
                                 size_t n_sets, int steps, int passes, gemel__random *random,
                                 gemel_error *error);

#endif
