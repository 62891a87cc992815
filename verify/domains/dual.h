/* SPDX-License-Identifier: MIT
 *
 * Dual numbers over a domain: v + t ε with ε² = 0, a value v and a tangent t. Evaluating a
 * reference on them gives a directional derivative exactly, in the arithmetic of the base domain.
 * Over dual numbers once more they give second derivatives. The rules are those of calculus:
 *
 *   exp v · t,   t / v,   t / (2 √v),   b a^(b−1) t_a + a^b ln a · t_b,   (t_a − (a/b) t_b) / b
 *
 * A tangent that is exactly 0 (a constant's) stays 0 without evaluating the rule. So the derivative
 * of a constant √0 is 0, and x^2 has one at negative x. Otherwise the rule's state counts: √x at 0
 * has an UNDEFINED tangent. The state of an element is the worse of its two parts'.
 *
 * sign, floor and to_integer look at the value alone and make the same calls in the same order as
 * on the base, so a tape for the base fits dual numbers too. floor and storing in an integer dtype
 * give the tangent 0. `tie` gives the mean of the tangents.
 *
 * Not thread-safe, like the domains below it.
 */
#ifndef GEMEL__DOMAINS_DUAL_H
#define GEMEL__DOMAINS_DUAL_H

#include "domains/domain.h"

/* Dual numbers over BASE, which must outlive them and may itself be one. NULL: out of memory.
 * Release with gemel__dual_free after all elements; NULL is ignored. */
gemel__domain *gemel__dual_new(gemel__domain *base);
void gemel__dual_free(gemel__domain *d);

gemel__domain *gemel__dual_base(const gemel__domain *d);

/* The parts of E: elements of the base, to be read or set by the base's functions. */
void *gemel__dual_value(const gemel__domain *d, void *e);
void *gemel__dual_tangent(const gemel__domain *d, void *e);
const void *gemel__dual_tangent_of(const gemel__domain *d, const void *e);

#endif
