/* SPDX-License-Identifier: MIT
 *
 * The functions of functions.def, as the domains see them.
 */
#ifndef GEMEL__DOMAINS_FUNCTIONS_H
#define GEMEL__DOMAINS_FUNCTIONS_H

#include "domains/arb.h"
#include "domains/domain.h"

typedef struct gemel__real_row {
  const char *name;
  void (*ball)(arb_t y, const arb_t x, slong precision);
  int (*number)(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding);
  /* E = the derivative at X, which isn't E; ONE is 1, SPARE is overwritten. */
  void (*derivative)(gemel__domain *b, void *e, const void *x, const void *one, void *spare);
} gemel__real_row;

/* By gemel__real_function. */
extern const gemel__real_row gemel__real_functions[GEMEL__REAL_COUNT];

/* Y = the derivative of this ORDER of digamma at X, as MPFR's functions. */
int gemel__number_polygamma(mpfr_t y, unsigned long order, const mpfr_t x, mpfr_rnd_t rounding);

/* The limit of F at the infinity of this SIGN: NaN if there is none. */
double gemel__real_limit(gemel__real_function f, int sign);

#endif
