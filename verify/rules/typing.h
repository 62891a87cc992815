/* SPDX-License-Identifier: MIT
 *
 * Dtypes of the variables of a left side: which ones the conditions allow each of them, and whether
 * the operations leave them different ones.
 */
#ifndef GEMEL__RULES_TYPING_H
#define GEMEL__RULES_TYPING_H

#include "rules/goal.h"
#include "base/random.h"

static const unsigned gemel__float_dtypes =
    1u << GEMEL_F16 | 1u << GEMEL_BF16 | 1u << GEMEL_F32 | 1u << GEMEL_F64;

/* ALLOWED, a bit for each dtype: those with which the atoms of GOAL that ask for a variable's dtype
 * alone come out as they should; one set for each variable. */
void gemel__variable_dtypes(const gemel__goal *goal, const gemel__scene *scene,
                            unsigned allowed[GEMEL__RULE_VARIABLES]);

/* A random dtype of ALLOWED; OTHERWISE if there is none. */
gemel_dtype gemel__dtype_among(unsigned allowed, gemel_dtype otherwise, gemel__random *random);

/* 1 if an operation of RULE's left side may result in another dtype than its operands have, or
 * takes operands of two dtypes, so that its variables need not all have one. */
int gemel__mixes_dtypes(const struct gemel_rule *rule);

#endif
