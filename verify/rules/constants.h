/* SPDX-License-Identifier: MIT
 *
 * Draws constants of a rule's instances.
 */
#ifndef GEMEL__RULES_CONSTANTS_H
#define GEMEL__RULES_CONSTANTS_H

#include "rules/rule.h"
#include "rules/draw.h"
#include "base/random.h"

/* The numbers in a rule: literals of both sides, and numbers in conditions and attributes. */
typedef struct gemel__rule_numbers {
  size_t count;
  double at[32];
  int powers;     /* 1: the rule asks whether a number is a power of two */
  int64_t length; /* not 0: of the long axes of this instance, at or beside which half are */
} gemel__rule_numbers;

/* Adds the numbers in EXPR, or sets NUMBERS to those of RULE. */
void gemel__rule_numbers_in(const gemel__termexpr *expr, gemel__rule_numbers *numbers);
void gemel__rule_numbers_of(const struct gemel_rule *rule, gemel__rule_numbers *numbers);

/* Draws a number of DTYPE, and stores it at AT. */
void gemel__rule_constant(const gemel__rule_numbers *numbers, gemel__constants_kind kind,
                          gemel_dtype dtype, gemel__random *random, void *at);

/* Likewise, at or beside one of NUMBERS. */
void gemel__rule_beside(const gemel__rule_numbers *numbers, gemel__constants_kind kind,
                        gemel_dtype dtype, gemel__random *random, void *at);

#endif
