/* SPDX-License-Identifier: MIT
 *
 * Inputs drawn beside the usual ones, at which double rounding, rounding to a tie, or counting in a
 * narrow dtype makes a difference.
 */
#ifndef GEMEL__NEEDS_MIDPOINTS_H
#define GEMEL__NEEDS_MIDPOINTS_H

#include "pairs/pair.h"

/* What is planted in inputs. */
typedef enum gemel__planted {
  GEMEL__PLANT_MINUS,      /* most numbers are −0, so that −0 meets −0 */
  GEMEL__PLANT_MIDPOINTS,  /* midpoints of a narrower dtype, small numbers, powers of two: double
                              rounding */
  GEMEL__PLANT_NEIGHBOURS, /* adjacent floats, which a function that rounds may make equal */
  GEMEL__PLANT_LATE /* the largest element stands last, and counts are as large as possible */
} gemel__planted;

/* Draws values for the inputs of PAIR. GEMEL_DECLINED: WHAT makes no difference to it, as midpoints
 * where nothing is rounded twice. Release them with gemel__values_free. */
gemel_status gemel__plant(const gemel__pair *pair, gemel__planted what, gemel__random *random,
                          gemel_tensor ***values, gemel_error *error);

/* Overwrites a float tensor with midpoints, small numbers and powers of two. */
void gemel__midpoints_fill(gemel_tensor *tensor, gemel__random *random);

/* 1 if there are several float dtypes in the pair, so that a number may be rounded twice. */
int gemel__is_narrowing(const gemel__pair *pair);

#endif
