/* SPDX-License-Identifier: MIT
 *
 * Domain B, error bounds for tier float. An element is a pair of balls (midpoint and radius). The
 * *exact* ball, of PRECISION bits, holds the exact value. The *computed* ball holds every number
 * that a correct floating-point implementation may compute in its place from this input. Arithmetic
 * acts on both. round(dtype, ulps), which the references call once for each rounding of a
 * straightforward algorithm, widens the computed ball. A number outside the computed ball is wrong:
 * its distance from the ball's midpoint ÷ the ball's radius is above 1. There is no tolerance to
 * set.
 *
 * round(dtype, ulps) of a float dtype widens by ulps × ulp(v) + half the smallest subnormal, where
 * v is the largest number of the ball. ulps < 0 means 0.5 (correct rounding), ulps = 0 adds
 * nothing. f16 and bf16 are computed in f32 and then stored, so half an f32 ulp is added. With
 * correct rounding, a result that is known exactly and is a number of the dtype stays exact: its
 * bound is 0. If the ball reaches beyond the dtype's largest finite number, the element becomes
 * UNDECIDED. Integer dtypes wrap exactly; a value that isn't a known integer becomes UNDECIDED.
 *
 * sum() holds for every order of summation. It widens by γ · Σ(|x_i| + r_i) with γ = (n − 1)u ÷ (1
 * − (n − 1)u) (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 4.2), and
 * by nothing if all terms are exact multiples of some 2^k whose magnitudes add up to at most
 * 2^(k+p). u is that of the dtype in which the operation accumulates: see work_in in domain.h. In a
 * `likely` domain only 64 roundings count of a sum of more terms, or √n if that is more: single
 * roundings go either way, and their sum grows like √n (Higham and Mary, SIAM J. Sci. Comput. 41,
 * 2019).
 *
 * product() holds for every order of multiplication. Of k factors that aren't exact powers of two,
 * k − 1 multiplications round: the last by half a unit of its result, those before it by γ of k − 2
 * (Higham, section 3.1: every partial product is exact · (1 + δ), |δ| ≤ u). If all factors are
 * exact and their exact product is a number of the dtype, no order rounds, as the odd part of a
 * partial product divides that of the product. Where some order may pass through subnormals, each
 * of the n − 1 multiplications adds half the smallest one times Π max(|x|, 1), the most by which
 * later factors can multiply it. Where some order may overflow, the element is UNDECIDED.
 *
 * ±∞ is a value with IEEE's limits, as in domain O (ordered.h): a correct implementation computes
 * that infinity, and the bound is 0. Overflow makes no infinity but UNDECIDED.
 *
 * UNDEFINED: no number of the computed ball is in the function's domain. UNDECIDED: only some are.
 * sign() is decided only if every number of the computed ball has that sign. hull() is the union.
 *
 * A domain object is for one thread at a time; several may be used side by side.
 */
#ifndef GEMEL__DOMAINS_BOUND_H
#define GEMEL__DOMAINS_BOUND_H

#include <stddef.h>
#include <stdint.h>
#include "domains/domain.h"

typedef struct gemel__bound {
  gemel__domain domain; /* first, so a pointer to it is a pointer to the whole */
  long precision;       /* bits of both balls' midpoints */
  gemel_dtype dtype;    /* of the operation being evaluated: f32 in a new domain */
  size_t undecided;     /* number of comparisons left open by rounding error; the caller resets
                         * it */
  int in_f64;           /* 1: floats of all dtypes are computed in f64 */
  int exact;            /* 1: round() and sum() widen nothing */
  int rounded;          /* 1: from_double() takes a number for one that was rounded to `dtype` */
  /* Of bound-loose.c: domain B's own functions, the words by which bounds are wider, and whether a
   * square root was taken and nothing rounded since. */
  gemel__domain strict;
  unsigned allow;
  int root;
} gemel__bound;

/* A new domain of PRECISION bits (brought into 128 … 2048); NULL when memory is out. Free it with
 * gemel__bound_free after all its elements; NULL is ignored there. */
gemel__bound *gemel__bound_new(long precision);
void gemel__bound_free(gemel__bound *b);

/* The distance of COMPUTED from the midpoint of the computed ball, divided by the ball's radius;
 * above 1 means refuted. While errors are small the midpoint is the exact value, so this is
 * |computed − exact| ÷ bound. It is rounded down, so that rounding never refutes. 0 ÷ 0 is 0 and x
 * ÷ 0 is +Inf; +Inf too for NaN, and for an infinity unless E is that infinity. For integer dtypes
 * COMPUTED is compared with the exact integer (of 64 bits: converted to double): 0 or +Inf. For an
 * element without a value the ratio is 0, and gemel__bound_relative is +Inf. */
double gemel__bound_ratio(gemel__domain *d, const void *e, gemel_dtype dtype, double computed);

/* bound ÷ |exact value|, rounded up. The bound is the farthest that the computed ball reaches from
 * the exact value. 0 if the bound is 0; +Inf if only the value is 0, or the element has none. From
 * 1 on the element is uninformative. */
double gemel__bound_relative(gemel__domain *d, const void *e);

/* For reports: the exact value, as the nearest double (NaN if there is none); the bound, rounded up
 * (+Inf if there is no value). */
double gemel__bound_value(gemel__domain *d, const void *e);
double gemel__bound_radius(gemel__domain *d, const void *e);

/* The exact value, which is the sum of MIDDLE[0], the nearest double, and MIDDLE[1], and the bound,
 * as above. NaN and 0 if the value is UNDEFINED. */
void gemel__bound_ball(gemel__domain *d, const void *e, double middle[2], double *radius);

#endif
