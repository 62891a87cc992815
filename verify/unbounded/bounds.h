/* SPDX-License-Identifier: MIT
 *
 * Whether the right side's size expressions stay within 64 bits.
 */
#ifndef GEMEL__UNBOUNDED_BOUNDS_H
#define GEMEL__UNBOUNDED_BOUNDS_H

#include "unbounded/scene.h"

/* The sizes, attributes and numbers of elements of LEFT, a whole side, are what a graph holds. */
void gemel__pscene_hold(gemel__pscene *s, const gemel__ptensor *left);

/* Leaves the rule open if an entry of V, of the right side, may leave 64 bits where the left side
 * has its sizes. */
void gemel__pscene_bound(gemel__pscene *s, const gemel__pvalue *v);

#endif
