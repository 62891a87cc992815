/* SPDX-License-Identifier: MIT
 *
 * A more general question about a pair: constants that both graphs use become inputs.
 */
#ifndef GEMEL__EQUAL_GENERAL_H
#define GEMEL__EQUAL_GENERAL_H

#include "pairs/pair.h"
#include "harness/run.h"

/* Asks whether A and B are the same function over the reals for any values of their constants.
 * Returns 1 if ANSWER passes, 0 if that isn't known (they may still be equal for these constants),
 * −1 if memory is out. There are a few instances, whose number is written to *INSTANCES; an
 * expensive one gets fewer points. SCALED, of GEMEL__MOST_SCALED_TEXT bytes, gets the sizes that
 * were scaled, or "". Release ANSWER with gemel__answer_clear whatever is returned. */
int gemel__general_decide(gemel__run *run, const char *name, const gemel_graph *a,
                          const gemel_graph *b, gemel__answer *answer, size_t *instances,
                          char *scaled);

/* Makes GENERAL: A and B with inputs in place of the values that depend on no input (CONSTANTS: of
 * the constants themselves) and that A needs. GEMEL_DECLINED: there are none. */
gemel_status gemel__general_make(const gemel_graph *a, const gemel_graph *b, int constants,
                                 gemel_graph *general[2], gemel_error *error);

#endif
