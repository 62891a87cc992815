/* SPDX-License-Identifier: MIT
 *
 * The order of what Taylor's theorem leaves: tier gradient where there is no reference.
 */
#ifndef GEMEL__TIERS_TAYLOR_H
#define GEMEL__TIERS_TAYLOR_H

#include "instances/instance.h"

typedef struct gemel__taylor {
  size_t points; /* lines on which an order was measured, reverse and forward */
  size_t moves;  /* of these, those on which the function changes */
  double least; /* order; infinite where nothing is left (a linear function). Start from INFINITY */
  int refuted;
  char place[48];
} gemel__taylor;

/* Adds one random line through a random point of INSTANCE (in f64) to RESULT, by both rules
 * of the derivative or the one that there is, and of PART. GEMEL_DECLINED,
 * GEMEL_NOT_DIFFERENTIABLE: there is no derivative. */
gemel_status gemel__taylor_check(const gemel__instance *instance, gemel__partial part,
                                 gemel__random *random, gemel__taylor *result, gemel_error *error);

#endif
