/* SPDX-License-Identifier: MIT
 *
 * Small left sides of a rule, made from what is claimed of it.
 */
#ifndef GEMEL__RULES_CLAIM_LEFT_H
#define GEMEL__RULES_CLAIM_LEFT_H

#include "rules/claim-draw.h"
#include "rules/rule.h"

/* A graph with one output, "y", that RULE's left side may match: with its operations, tensors from
 * RANGE, and attributes as the rule has them. The variable that is met first is number NUMBER of
 * gemel__claim_tensors, where the operations take it. *LEFT NULL: none was found. GEMEL_OK or
 * GEMEL_NO_MEMORY. */
gemel_status gemel__claim_left(gemel_context *context, const gemel_rule *rule,
                               const gemel__claim_range *range, uint64_t number,
                               gemel__random *random, gemel_graph **left, gemel_error *error);

#endif
