/* SPDX-License-Identifier: MIT
 *
 * Domain B, error bounds for tier float. An element is a pair: the exact value (a ball of PRECISION
 * bits that holds it), and a ball that holds every number which a correct implementation in
 * floating point may have computed in its place, given the input at hand. Primitive operations act
 * on both; round(dtype, ulps), which the references call once for each rounding that a
 * straightforward algorithm has, widens the second. A computed number outside the second ball is
 * wrong: its distance from the ball's middle divided by the ball's radius is the verdict, and there
 * is no tolerance to edit.
 *
 * round(dtype, ulps) of a float dtype widens by ulps × ulp(v) + half the smallest subnormal, where
 * ulp(v) belongs to the largest number of the ball and ulps < 0 means 0.5 (correct rounding). f16
 * and bf16 are computed in f32 and then stored, so half an f32 ulp is added for the second
 * rounding. ulps = 0 adds nothing. With correct rounding, a result that is known exactly and is a
 * number of the dtype stays exact: then the bound is 0. If the ball reaches beyond the dtype's
 * largest finite number, the element becomes UNDECIDED: the bound says nothing there. Integer
 * dtypes wrap exactly; a value that is not one certain integer becomes UNDECIDED.
 *
 * sum() holds for every order of summation: it widens by γ · Σ(|x_i| + r_i) with γ = (n − 1)u ÷
 * (1 − (n − 1)u) (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 4.2),
 * and by nothing if all terms are exact multiples of some 2^k whose magnitudes add up to at most
 * 2^(k+p). u belongs to the dtype in which the operation at hand accumulates: see work_in of
 * domain.h.
 *
 * product() holds for every order of multiplication too. Of k factors that aren't exact powers of
 * two, k − 1 multiplications round; the last of them by half a unit of its result, those before it
 * by γ of k − 2 (Higham, section 3.1: every partial product is exact · (1 + δ), |δ| ≤ u). If the
 * exact product of exact factors is a number of the dtype no order rounds, as an odd partial
 * product divides an odd product. Where some order may pass through subnormal numbers, each of the
 * n − 1 multiplications adds half the smallest one times Π max(|x|, 1), the most that can still
 * multiply it; where some order may overflow, the element is UNDECIDED.
 *
 * ±∞ is a value with IEEE's limits, as in domain O (ordered.h): a correct implementation computes
 * that infinity, and the bound is 0. Overflow is none: it is UNDECIDED, see above.
 *
 * UNDEFINED means that no number of the second ball is in the function's domain, UNDECIDED that
 * only some are. sign() is decided only if every number of the second ball has that sign; hull() is
 * the union.
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
  size_t undecided;     /* comparisons that the rounding error leaves open, since last set to 0 */
  int in_f64;           /* floats of all dtypes are computed in f64 */
} gemel__bound;

/* A new domain of PRECISION bits (brought into 128 … 2048); NULL when memory is out. Free it with
 * gemel__bound_free after all its elements; NULL is ignored there. */
gemel__bound *gemel__bound_new(long precision);
void gemel__bound_free(gemel__bound *b);

/* How far COMPUTED lies from the middle of the second ball, divided by the ball's radius: at most 1
 * if a correct implementation may have computed it, above 1 means refuted. The middle is the exact
 * value as long as errors are small, so this is |computed − exact| ÷ bound; it never errs on the
 * side of refuting. 0 ÷ 0 is 0, x ÷ 0 is +Inf, and so are NaN and infinities. For integer dtypes
 * COMPUTED is compared with the exact integer (of 64 bits: converted to double): 0 or +Inf. An
 * element without value has nothing to hold COMPUTED against: 0, and gemel__bound_relative is +Inf.
 */
double gemel__bound_ratio(gemel__domain *d, const void *e, gemel_dtype dtype, double computed);

/* The bound, which is the farthest that the second ball reaches from the exact value, ÷ |exact
 * value|, rounded up: 0 if the bound is 0, +Inf if the value is 0 (and the bound isn't) or the
 * element has no value. From 1 on the bound is larger than the value: uninformative.
 */
double gemel__bound_relative(gemel__domain *d, const void *e);

/* The exact value, nearest double (NaN if it has none); the bound, rounded up (+Inf). For reports.
 */
double gemel__bound_value(gemel__domain *d, const void *e);
double gemel__bound_radius(gemel__domain *d, const void *e);

#endif
