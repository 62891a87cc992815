/* SPDX-License-Identifier: MIT
 *
 * A pair made more general: constants that both graphs use become inputs.
 */
#ifndef GEMEL__EQUAL_GENERAL_H
#define GEMEL__EQUAL_GENERAL_H

#include "pairs/pair.h"
#include "harness/run.h"

/* Are A and B the same function over the reals for any values of their constants? 1 if ANSWER
 * passes, 0 if that isn't known (of these constants alone they may be), −1 if memory is out.
 * POINTS are for each of a few instances, so many in *INSTANCES. SCALED, of
 * GEMEL__MOST_SCALED_TEXT bytes, gets the sizes that were made small, or "". Release ANSWER with
 * gemel__answer_clear whatever is returned. */
int gemel__general_decide(gemel__run *run, const char *name, const gemel_graph *a,
                          const gemel_graph *b, size_t points, gemel__answer *answer,
                          size_t *instances, char *scaled);

#endif
