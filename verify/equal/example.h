/* SPDX-License-Identifier: MIT
 *
 * An example of a difference, for people: simple inputs at which two whole graphs, run by the
 * shipped code, have different results.
 */
#ifndef GEMEL__EQUAL_EXAMPLE_H
#define GEMEL__EQUAL_EXAMPLE_H

#include "harness/run.h"
#include "harness/saved.h"
#include "pairs/undefined.h"

/* Looks for inputs at which the results of A and B, a question called NAME, differ by more than
 * rounding may explain; if only words of rounding or of special values are REFUSED, in any bit.
 * Simple numbers come first, then POINT (may not be taken). If some are found, EXAMPLE says them,
 * and POINT has them; else EXAMPLE->found is 0, and POINT stays. U (NULL: there are none) has the
 * masks of results that are undefined: the simple numbers leave nothing undefined. */
void gemel__example_find(gemel__run *run, const char *name, const gemel_graph *a,
                         const gemel_graph *b, const gemel__undefined *u, unsigned refused,
                         gemel__point *point, gemel_pair_example *example);

#endif
