/* SPDX-License-Identifier: MIT
 *
 * Builds graphs that a rule's left side should match.
 */
#ifndef GEMEL__RULES_LEFT_H
#define GEMEL__RULES_LEFT_H

#include "rewrite/match.h"
#include "rules/constants.h"
#include "rules/draw.h"
#include "rules/goal.h"
#include "base/random.h"

/* What was drawn for constants to which variables are bound. */
typedef struct gemel__left_constants {
  int floats; /* 1: some are of a float dtype */
  int nan, infinite;
} gemel__left_constants;

/* 1 if a constant may meet the condition FUNCTION, a row of functions.def. */
int gemel__rule_wants_constant(uint32_t function);

/* The first attribute of P that is to be the same as attribute K: both are one variable. */
uint32_t gemel__rule_same_attr(const gemel__pattern *p, uint32_t k);

/* Builds the left side of RULE in SCENE's graph, which is empty, with random types and attributes
 * by WISH; *ROOT is its result. Attributes that the left side computes, or that GOAL fixes (`p ==
 * ...`), get that value. Constants and facts are as GOAL asks; other atoms of GOAL may not be met.
 * SCENE's arena keeps what is bound. GEMEL_DECLINED, with the reason in ERROR: nothing was found.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__rule_left(const struct gemel_rule *rule, const gemel__rule_wish *wish,
                              const gemel__goal *goal, gemel__random *random, gemel__scene *scene,
                              gemel__ref *root, gemel__left_constants *constants,
                              gemel_error *error);

#endif
