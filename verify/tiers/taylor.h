/* SPDX-License-Identifier: MIT
 *
 * Tier gradient where there is no reference: the order of the remainder in Taylor's theorem.
 */
#ifndef GEMEL__TIERS_TAYLOR_H
#define GEMEL__TIERS_TAYLOR_H

#include "instances/instance.h"

typedef struct gemel__taylor {
  size_t points; /* lines on which an order was measured, reverse and forward */
  size_t moves;  /* of these, those on which the function changes */
  /* the smallest order; infinite where there is no remainder (a linear function). Start from
   * INFINITY */
  double least;
  int refuted;
  char place[48];
} gemel__taylor;

/* Judges PART of the derivative along one random line through a random point of INSTANCE (in f64),
 * by the reverse and the forward rule or the only one, and adds to RESULT. GEMEL_DECLINED,
 * GEMEL_NOT_DIFFERENTIABLE: there is no derivative. */
gemel_status gemel__taylor_check(const gemel__instance *instance, gemel__partial part,
                                 gemel__random *random, gemel__taylor *result, gemel_error *error);

#endif
