/* SPDX-License-Identifier: MIT
 *
 * Literals of the two sides that are roundings of one real number: in x / 3 => x *
 * 0.3333333333333333 the second stands for 1 ÷ 3, as it would if an optimiser had folded that. Over
 * the reals the sides are compared with that number in its place (equal/constants.h), and what the
 * rounding does shows in the class of the rule.
 */
#ifndef GEMEL__RULES_FOLDED_H
#define GEMEL__RULES_FOLDED_H

#include "rules/judge.h"

/* Sets *FOLDS to 1, and E's sides over the reals, if these agree with such a number in the place of
 * a constant, as E's sides themselves don't. GEMEL_NO_MEMORY. */
gemel_status gemel__example_fold(struct gemel__rule_subject *p, struct gemel__example *e,
                                 int *folds, gemel_error *error);

/* Likewise of DRAWN; release PAIR with gemel__pair_clear if it *FOLDS. */
gemel_status gemel__instance_fold(const gemel__rule_instance *drawn, gemel__random *random,
                                  gemel__pair *pair, int *folds, gemel_error *error);

#endif
