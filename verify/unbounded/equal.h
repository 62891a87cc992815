/* SPDX-License-Identifier: MIT
 *
 * Parts of the question whether two elements are the same, which call each other.
 */
#ifndef GEMEL__UNBOUNDED_EQUAL_H
#define GEMEL__UNBOUNDED_EQUAL_H

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

#endif
