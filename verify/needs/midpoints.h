/* SPDX-License-Identifier: MIT
 *
 * Numbers half way between two of a narrower dtype, and beside that: what is rounded twice shows
 * there.
 */
#ifndef GEMEL__NEEDS_MIDPOINTS_H
#define GEMEL__NEEDS_MIDPOINTS_H

#include "pairs/pair.h"

/* 1 if there are several float dtypes in the pair, so that a number may be rounded twice. */
int gemel__is_narrowing(const gemel__pair *pair);

/* Overwrites a float tensor with such numbers, little ones or powers of two. */
void gemel__midpoints_fill(gemel_tensor *tensor, gemel__random *random);

#endif
