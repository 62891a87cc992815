/* SPDX-License-Identifier: MIT
 *
 * Inputs that are drawn beside the usual ones: what is rounded twice, or made equal by rounding, or
 * counted in a narrow dtype, shows there.
 */
#ifndef GEMEL__NEEDS_MIDPOINTS_H
#define GEMEL__NEEDS_MIDPOINTS_H

#include "pairs/pair.h"

/* What is planted in inputs. */
typedef enum gemel__planted {
  GEMEL__PLANT_MINUS,      /* most numbers are −0, so that −0 meets −0 */
  GEMEL__PLANT_MIDPOINTS,  /* half way between two numbers of a narrower dtype, little ones, powers
                              of two: they show what is rounded twice */
  GEMEL__PLANT_NEIGHBOURS, /* numbers next to each other, which a function that rounds makes equal
                            */
  GEMEL__PLANT_LATE        /* what is largest stands last, and as much is counted as can be */
} gemel__planted;

/* Draws values for the inputs of PAIR. GEMEL_DECLINED: WHAT shows nothing in it, as where nothing
 * is rounded twice. Release them with gemel__values_free. */
gemel_status gemel__plant(const gemel__pair *pair, gemel__planted what, gemel__random *random,
                          gemel_tensor ***values, gemel_error *error);

/* Overwrites a float tensor with midpoints and their kin. */
void gemel__midpoints_fill(gemel_tensor *tensor, gemel__random *random);

/* 1 if there are several float dtypes in the pair, so that a number may be rounded twice. */
int gemel__is_narrowing(const gemel__pair *pair);

#endif
