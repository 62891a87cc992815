/* SPDX-License-Identifier: MIT
 *
 * Parts of the question whether two elements are the same, which call each other.
 */
#ifndef GEMEL__UNBOUNDED_EQUAL_H
#define GEMEL__UNBOUNDED_EQUAL_H

#include "unbounded/scalar.h"
#include "unbounded/scene.h"

/* How deep elements are looked into. */
enum { GEMEL__SAME_DEPTH = 40 };

/* 1 if elements A and B are the same wherever what is known holds; DEPTH is one more than the
 * caller's. */
int gemel__same_at(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth);

/* The same in the cases that TRUTH holds and that it doesn't. */
int gemel__same_in_cases(gemel__pscene *s, gemel__pterm a, gemel__pterm b, gemel__pterm truth,
                         int depth);

/* 1 if A and B are the same as sums, in the reals or the ring of their dtype (sums.c). */
int gemel__same_sums(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth);

/* 1 if A and B are the same as products, or as maxima (extremes.c). */
int gemel__same_extremes(gemel__pscene *s, gemel__pterm a, gemel__pterm b, int depth);

/* ---- Reals ---- */

/* 1 if A is a call of a function of reals that rises, if not everywhere strictly (extremes.c). */
int gemel__p_rises(const gemel__pterms *t, gemel__pterm a);

/* Element or truth A with functions of reals written so that the solver knows them (laws.c); 0:
 * memory is out. */
gemel__pterm gemel__laws_write(gemel__pscene *s, gemel__pterm a);

/* 1 if A has functions of reals that are more than sums, products and quotients. */
int gemel__laws_apply(gemel__pscene *s, gemel__pterm a);

/* A with what has a kink (abs, relu, maximum, minimum) as a choice. */
gemel__pterm gemel__laws_cases(gemel__pscene *s, gemel__pterm a);

/* That real elements A and B are the same, written so; 0: memory is out. */
gemel__pterm gemel__laws_same(gemel__pscene *s, gemel__pterm a, gemel__pterm b);

/* Where A is a number (defined.c); 0: memory is out. */
gemel__pterm gemel__defined(gemel__pscene *s, gemel__pterm a);

/* 1 if elements A and B are numbers at the same places. */
int gemel__defined_alike(gemel__pscene *s, gemel__pterm a, gemel__pterm b);

/* A is a number from here on. */
void gemel__assume_defined(gemel__pscene *s, gemel__pterm a);

#endif
