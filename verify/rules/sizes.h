/* SPDX-License-Identifier: MIT
 *
 * Sizes, ranks and counts for one left side: those that a rule names, and their neighbours, are as
 * likely as the usual ones.
 */
#ifndef GEMEL__RULES_SIZES_H
#define GEMEL__RULES_SIZES_H

#include "rules/constants.h"
#include "rules/draw.h"
#include "rules/goal.h"
#include "sample/propose.h"

typedef struct gemel__aimed_sizes {
  int reach; /* 1: an arm is to be taken */
  int64_t max_elements;
  int rank;         /* of the shapes that are drawn; −1: any */
  int64_t elements; /* 0: any */
  size_t n;
  int64_t at[GEMEL__PROPOSAL_SIZES]; /* that are tried: those that the rule names */
} gemel__aimed_sizes;

/* Draws SIZES for a left side of RULE by WISH and GOAL; NUMBERS are those in the rule. Large ones
 * are rare, unless the wish is eager. */
void gemel__sizes_aim(const struct gemel_rule *rule, const gemel__rule_wish *wish,
                      const gemel__goal *goal, const gemel__rule_numbers *numbers,
                      const gemel__scene *scene, gemel__random *random, gemel__aimed_sizes *sizes);

#endif
