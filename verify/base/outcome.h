/* SPDX-License-Identifier: MIT
 *
 * The outcome of one check of one instance.
 */
#ifndef GEMEL__BASE_OUTCOME_H
#define GEMEL__BASE_OUTCOME_H

#include "base/element.h"

/* If refuted, OUTPUT, ELEMENT, VARIANT, EXPECTED and GOT say where and how. */
typedef struct gemel__outcome {
  int refuted;
  size_t compared;    /* results that could be compared */
  size_t agreed;      /* results of variants that were compared with each other */
  size_t informative; /* those of COMPARED that say something: not 0, or with a bound below the
                       * value */
  size_t inexact;     /* results left out because the reference isn't exact there */
  double worst;       /* tier float: largest error ÷ bound */
  size_t output, element;
  size_t call; /* the call, from 1, of an instance called several times; else 0 */
  const char *variant;
  int whole; /* 1: the call as a whole is wrong, not one element */
  char expected[160], got[160];
  char manner[600];         /* of a program's kernel: how it was called; "" */
  struct gemel__ulps *ulps; /* owned by the caller; tier special records errors there (ulps.h);
                             * NULL: nowhere */
} gemel__outcome;

/* Writes "output 0, element 1", with the call if there are several. Returns as snprintf. */
size_t gemel__outcome_place(const gemel__outcome *outcome, char *text, size_t bytes);

/* Writes the numbers EXPECTED (followed by the text AS) and GOT, of DTYPE, to the outcome. */
void gemel__outcome_numbers(gemel__outcome *outcome, gemel_dtype dtype, const void *expected,
                            const char *as, const void *got);

#endif
