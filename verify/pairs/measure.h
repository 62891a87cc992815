/* SPDX-License-Identifier: MIT
 *
 * One measurement of what a graph gives up against another, under way: needs.c draws its points,
 * improve.c asks at them whether the right side improves.
 */
#ifndef GEMEL__PAIRS_MEASURE_H
#define GEMEL__PAIRS_MEASURE_H

#include "domains/bound.h"
#include "pairs/beyond.h"
#include "pairs/needs.h"

struct gemel__measure {
  const gemel_graph *left, *right;
  gemel__random random;
  gemel__bound *bound;
  gemel__needs *needs;
  gemel__pair pair; /* the instance at hand */
  gemel__witness rounding;
  gemel__witness slight[GEMEL_NEEDS_COUNT]; /* differences that rounding or a zero's sign explains,
                                               if the finite numbers show it */
  int zero_slight[GEMEL_NEEDS_COUNT];       /* 1: it is of a zero's sign */
  size_t better, worse;
  size_t challenges, challenged; /* variants tried: points, elements of their results */
  const gemel__needs_plan *plan;
  gemel__temper temper; /* of the point at hand */
};

/* Whether the right side improves, at finite VALUES with the results BASE. */
gemel_status gemel__measure_improvement(struct gemel__measure *m, gemel_tensor *const *values,
                                        const gemel__both *base, gemel_error *error);

/* What was better at few points is challenged at those for as long as the rest would have been. */
gemel_status gemel__challenge_rarity(struct gemel__measure *m, gemel_error *error);

#endif
