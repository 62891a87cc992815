/* SPDX-License-Identifier: MIT
 *
 * What a rule makes of a graph that its left side matches.
 */
#ifndef GEMEL__RULES_CLAIM_RIGHT_H
#define GEMEL__RULES_CLAIM_RIGHT_H

#include "base/random.h"
#include "core/graph.h"
#include "rules/rule.h"

/* *RIGHT = a graph with LEFT's inputs whose one output is what RULE makes of LEFT's output, applied
 * there once, as if a larger graph used some values again; *RIGHT NULL: it doesn't match, a
 * condition doesn't hold, or (PROBLEM has a status) an operation refuses, or the result has another
 * type. GEMEL_OK or GEMEL_NO_MEMORY. */
gemel_status gemel__claim_right(const gemel_rule *rule, const gemel_graph *left,
                                gemel__random *random, gemel_graph **right, gemel_error *problem,
                                gemel_error *error);

#endif
