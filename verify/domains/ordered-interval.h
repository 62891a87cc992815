/* SPDX-License-Identifier: MIT
 *
 * Intervals with outward rounding, for domain O: two endpoints (Arb's arf numbers), of which the
 * lower may be −∞ and the upper +∞. If both are the same infinity, the interval is that infinity as
 * a value; domain O handles it before it calls these functions. Endpoints are used rather than
 * midpoint and radius so that a lower bound of exactly 0 (of x², relu, exp) stays exact when 1 is
 * added. Each function gives an interval that holds all its values on its arguments, as tight as
 * PREC bits allow; the result may be an argument. Exponents beyond 2^80 are rounded outward to
 * infinity or zero, to bound memory.
 */
#ifndef GEMEL__DOMAINS_ORDERED_INTERVAL_H
#define GEMEL__DOMAINS_ORDERED_INTERVAL_H

#include "domains/arb.h"
#include <flint/fmpq.h>

typedef struct gemel__interval {
  arf_t lo, hi; /* lo ≤ hi */
} gemel__interval;

void gemel__interval_init(gemel__interval *e); /* [0, 0] */
void gemel__interval_clear(gemel__interval *e);
void gemel__interval_set(gemel__interval *e, const gemel__interval *a);
void gemel__interval_set_infinity(gemel__interval *e, int sign);
void gemel__interval_swap(gemel__interval *a, gemel__interval *b);
/* Exact if the denominator is a power of two, else PREC bits. */
void gemel__interval_set_fmpq(gemel__interval *e, const fmpq_t q, slong prec);

/* −1, 0 or 1 if all of A has that sign, else 2. */
int gemel__interval_sign(const gemel__interval *a);
int gemel__interval_is_point(const gemel__interval *a);
/* −1 or 1 if A is the infinity of that sign as a value, else 0. */
int gemel__interval_infinity(const gemel__interval *a);
int gemel__interval_overlaps(const gemel__interval *a, const gemel__interval *b);

void gemel__interval_neg(gemel__interval *e, const gemel__interval *a);
void gemel__interval_abs(gemel__interval *e, const gemel__interval *a);
void gemel__interval_add(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec);
void gemel__interval_sub(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec);
void gemel__interval_mul(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec);
/* B does not hold 0. */
void gemel__interval_div(gemel__interval *e, const gemel__interval *a, const gemel__interval *b,
                         slong prec);
/* A ≥ 0. */
void gemel__interval_sqrt(gemel__interval *e, const gemel__interval *a, slong prec);
void gemel__interval_exp(gemel__interval *e, const gemel__interval *a, slong prec);
/* A ≥ 0; log 0 is −∞. */
void gemel__interval_log(gemel__interval *e, const gemel__interval *a, slong prec);
/* Evaluates Arb's FUNCTION of one number on A. 0, and E is left alone, if it has no finite
 * enclosure. */
typedef void gemel__ball_function(arb_t y, const arb_t x, slong prec);
int gemel__interval_ball(gemel__interval *e, const gemel__interval *a,
                         gemel__ball_function *function, slong prec);
/* N ≠ 0; if N < 0, A does not hold 0. */
void gemel__interval_pow(gemel__interval *e, const gemel__interval *a, const fmpz_t n, slong prec);
void gemel__interval_floor(gemel__interval *e, const gemel__interval *a);

/* "[low, high]" in decimal. */
void gemel__interval_format(const gemel__interval *a, char *text, size_t bytes);

/* The union (of disjoint intervals: with what lies between); the maximum. */
void gemel__interval_union(gemel__interval *e, const gemel__interval *a, const gemel__interval *b);
void gemel__interval_max(gemel__interval *e, const gemel__interval *a, const gemel__interval *b);

#endif
