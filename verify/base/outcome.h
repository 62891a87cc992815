/* SPDX-License-Identifier: MIT
 *
 * What a check of one instance found.
 */
#ifndef GEMEL__BASE_OUTCOME_H
#define GEMEL__BASE_OUTCOME_H

#include "base/element.h"

/* What one check found. */
typedef struct gemel__outcome {
  int refuted;
  size_t compared;    /* results that could be compared */
  size_t agreed;      /* results of variants that were compared with each other */
  size_t informative; /* of these, the ones that say something */
  size_t inexact;     /* results left out because the reference itself isn't exact there */
  double worst;       /* tier float: largest error ÷ bound */
  size_t output, element;
  size_t call; /* of an instance that is called several times: which one, from 1 on; else 0 */
  const char *variant;
  int whole; /* not an element is wrong, but the call */
  char expected[160], got[160];
  char manner[600];         /* of a program's kernel: how it was called; "" */
  struct gemel__ulps *ulps; /* the caller's, or NULL: where tier special notes errors (ulps.h) */
} gemel__outcome;

/* "output 0, element 1", and of which call if there were several: as snprintf. */
size_t gemel__outcome_place(const gemel__outcome *outcome, char *text, size_t bytes);

/* Of DTYPE, EXPECTED, followed by AS, and GOT. */
void gemel__outcome_numbers(gemel__outcome *outcome, gemel_dtype dtype, const void *expected,
                            const char *as, const void *got);

#endif
