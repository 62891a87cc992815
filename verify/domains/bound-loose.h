/* SPDX-License-Identifier: MIT
 *
 * Domain B for implementations that may round otherwise than a straightforward algorithm does: by
 * the words of GEMEL_NEEDS_TABLE. Each widens the computed ball where such an implementation may
 * leave it.
 *
 * arcp: a ÷ b may be a · (1 ÷ b), whose reciprocal is rounded, and may be subnormal. If it may
 * overflow, the quotient is UNDECIDED.
 *
 * afn: a function (exp, tanh, sqrt, …: whatever the reference rounds by more than half a unit, and
 * roots) may be wrong in half of its digits: by 2^(1 − p/2) of its value, p being the digits of the
 * dtype that it is computed in.
 *
 * reassoc: sums and products may be taken in another order, and products of sums be multiplied out.
 * Each element then also knows the sum of the magnitudes of all terms of which it is a sum if that
 * is done. Sums add these, products multiply them, a quotient has those of both its operands; a
 * function's result is one term. Each rounding widens by four roundings of that sum. Integers whose
 * terms add up to no more than 2^p stay exact.
 *
 * contract: a product that isn't rounded before it is added is within the ball anyway. The other
 * words aren't about rounding.
 */
#ifndef GEMEL__DOMAINS_BOUND_LOOSE_H
#define GEMEL__DOMAINS_BOUND_LOOSE_H

#include "domains/bound.h"

/* As gemel__bound_new, for what ALLOW, bits GEMEL_NEEDS_BIT(…), allows. Free it likewise. */
gemel__bound *gemel__bound_new_loose(long precision, unsigned allow);

/* 1 if ALLOW has a word that widens. */
int gemel__is_loose(unsigned allow);

#endif
