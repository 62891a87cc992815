/* SPDX-License-Identifier: MIT
 *
 * Parts that are refused because the second graph loses digits there (`worsens`). That shows at
 * some values of a part's inputs, which the graphs may not produce; and in the graphs' results it
 * may drown among the errors of what follows. So the part is measured with all that comes before
 * it, at inputs of the graphs.
 */
#ifndef GEMEL__EQUAL_LOSSY_H
#define GEMEL__EQUAL_LOSSY_H

#include "harness/run.h"
#include "pairs/joint.h"
#include "pairs/needs.h"

enum { GEMEL__MOST_LOSSY = 6 };

typedef struct gemel__lossy {
  size_t n;
  gemel__ref left[GEMEL__MOST_LOSSY], right[GEMEL__MOST_LOSSY]; /* results of the parts */
} gemel__lossy;

/* Keeps the part between U and V, if there is room. */
void gemel__lossy_note(gemel__lossy *lossy, gemel__ref u, gemel__ref v);

/* Measures the parts of JOINT, of the graphs A and B, in turn, until one shows inputs at which the
 * second graph worsens on the first: WITNESS, of the whole graphs, which else has no values.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__lossy_measure(const gemel__lossy *lossy, gemel__joint *joint,
                                  const gemel_graph *a, const gemel_graph *b, gemel__run *run,
                                  const char *name, gemel__witness *witness, gemel_error *error);

#endif
