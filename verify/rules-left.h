/* SPDX-License-Identifier: MIT
 *
 * Building graphs that a rule's left side should match.
 */
#ifndef GEMEL__VERIFY_RULES_LEFT_H
#define GEMEL__VERIFY_RULES_LEFT_H

#include "passes/match.h"
#include "rules-draw.h"
#include "sample/random.h"

/* Builds the left side of RULE in SCENE's graph, a new one, with random types and attributes as
 * WISH says, and makes *ROOT its value. Attributes that the left side computes,
 * and those that a condition says (`p ==
 * ...`), are what they must be; other conditions aren't looked at. SCENE is of GRAPH; its arena
 * keeps what is bound. GEMEL_DECLINED (the reason is in ERROR): nothing was found; GEMEL_NO_MEMORY.
 */
gemel_status gemel__rule_left(const struct gemel_rule *rule, const gemel__rule_wish *wish,
                              gemel__random *random, gemel__scene *scene, gemel__ref *root,
                              gemel_error *error);

#endif
