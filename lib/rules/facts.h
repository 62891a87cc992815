/* SPDX-License-Identifier: MIT
 *
 * What can be proved of a value's elements by looking at the operations that made it, a few levels
 * down. A fact that is missing may hold all the same.
 */
#ifndef GEMEL__RULES_FACTS_H
#define GEMEL__RULES_FACTS_H

#include "core/graph.h"
#include "ops/facts.h"

/* The facts known of VALUE, a value of GRAPH. Looks at a bounded number of nodes. */
unsigned gemel__facts(const gemel_graph *graph, gemel__ref value);

#endif
