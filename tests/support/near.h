/* SPDX-License-Identifier: MIT
 *
 * Numbers that are the same but for rounding. A bound that grows with what is compared is infinite
 * where that is, and would allow anything: an infinity is near itself alone, a NaN near nothing.
 */
#ifndef GEMEL_TESTS_NEAR_H
#define GEMEL_TESTS_NEAR_H

#include <math.h>

/* 1 if A and B are equal, or finite and no further apart than BOUND, which is finite. */
static inline int is_near(double a, double b, double bound) {
  return a == b || (isfinite(a) && isfinite(b) && isfinite(bound) && fabs(a - b) <= bound);
}

/* The same; a NaN is near another. */
static inline int is_near_or_nan(double a, double b, double bound) {
  return (isnan(a) && isnan(b)) || is_near(a, b, bound);
}

#endif
