/* SPDX-License-Identifier: MIT
 *
 * Domain M: doubles, as long as they are exact. References on small integers are a hundred times as
 * fast here as on O and B, so many sizes, and large ones, can be looked at. An element is UNDECIDED
 * from where a correct implementation might round: where a number isn't one of the dtype, exceeds
 * 2^17 or is no multiple of 1/128 (f32 has all of these), is infinite, is a quotient by what is no
 * power of two, or the result of a function. So a number that is DEFINED is the only right one, in
 * every order of operations.
 */
#ifndef GEMEL__DOMAINS_MACHINE_H
#define GEMEL__DOMAINS_MACHINE_H

#include "domains/domain.h"

/* The domain; it has no state, so all threads may use it at a time. */
gemel__domain *gemel__machine(void);

/* The value of E, which is DEFINED. */
double gemel__machine_value(const void *e);

#endif
