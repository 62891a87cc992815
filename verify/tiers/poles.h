/* SPDX-License-Identifier: MIT
 *
 * Points at which one side of a question has no real value, and the other has one: 1/(1/x) and x at
 * 0. IEEE's numbers have a quotient by 0, and with it both sides may have the same value there.
 * Domain S evaluates both, without rounding, so that a difference isn't taken for one.
 */
#ifndef GEMEL__TIERS_POLES_H
#define GEMEL__TIERS_POLES_H

#include "domains/special.h"
#include "tiers/model.h"

typedef struct gemel__poles {
  gemel__special *special; /* NULL: not needed yet */
  gemel__rtensor *results; /* left's, then right's */
  size_t n;                /* outputs of one side */
  int evaluated;           /* 1: RESULTS are those of the last point */
  int rounded;             /* 1: rounded to their dtypes */
} gemel__poles;

/* 1 if Q has no inputs, so there is one point, and IEEE's values decide at it. */
int gemel__poles_only_point(const gemel__question *q);

/* Looks at one point: where RESULTS (of domain D, left's, then right's) have elements with a value
 * on one side only (or on neither, if both have `special` constants), both SIDES are evaluated in
 * S. A side without a result there leaves nothing to compare. If Q has no inputs, they are
 * evaluated in any case, rounded to their dtypes. P is zeroed before the first point. */
gemel_status gemel__poles_look(gemel__poles *p, const gemel__question *q, gemel__domain *d,
                               const gemel__rtensor *results, gemel_tensor *const *values,
                               gemel_error *error);

/* 1 if both sides have the same IEEE value for element I of OUTPUT, X and Y in domain D: NaN, an
 * infinity, a zero of either sign, or a number (if not rounded: the same in half of its digits). A
 * number that is exactly 0 in D (may be NULL) is 0. 0 if they differ, or if that isn't known. */
int gemel__poles_agree(const gemel__poles *p, size_t output, size_t i, gemel__domain *d,
                       const void *x, const void *y);

/* Evaluates both sides at a point in S, ROUNDED to their dtypes or not. */
gemel_status gemel__poles_evaluate(gemel__poles *p, const gemel__question *q, int rounded,
                                   gemel_tensor *const *values, gemel_error *error);

/* 1 if both sides have NaN, the same infinity, or two numbers for element I of OUTPUT. */
int gemel__poles_same_class(const gemel__poles *p, size_t output, size_t i);

void gemel__poles_clear(gemel__poles *p);

#endif
