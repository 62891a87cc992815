/* SPDX-License-Identifier: MIT
 *
 * Building graphs that a rule's left side should match.
 */
#ifndef GEMEL__RULES_LEFT_H
#define GEMEL__RULES_LEFT_H

#include "rewrite/match.h"
#include "rules/constants.h"
#include "rules/draw.h"
#include "rules/goal.h"
#include "base/random.h"

/* What was drawn for constants that variables stand for. */
typedef struct gemel__left_constants {
  int floats; /* some are of a float dtype */
  int nan, infinite;
} gemel__left_constants;

/* 1 if what FUNCTION, a row of functions.def, asks of a value may be met by a constant. */
int gemel__rule_wants_constant(uint32_t function);

/* Builds the left side of RULE in SCENE's graph, a new one, with random types and attributes as
 * WISH says, and makes *ROOT its value. Attributes that the left side computes, and those that an
 * atom of GOAL says (`p == ...`), are what they must be; constants and facts are as atoms of GOAL
 * ask for; other atoms may come out wrong. SCENE is of GRAPH; its arena keeps what is bound.
 * GEMEL_DECLINED (the reason is in ERROR): nothing was found; GEMEL_NO_MEMORY. */
gemel_status gemel__rule_left(const struct gemel_rule *rule, const gemel__rule_wish *wish,
                              const gemel__goal *goal, gemel__random *random, gemel__scene *scene,
                              gemel__ref *root, gemel__left_constants *constants,
                              gemel_error *error);

#endif
