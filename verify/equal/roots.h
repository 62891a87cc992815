/* SPDX-License-Identifier: MIT
 *
 * Which inputs had better be positive for a graph to have results that are numbers: those whose
 * root or logarithm it takes, such as a variance.
 */
#ifndef GEMEL__EQUAL_ROOTS_H
#define GEMEL__EQUAL_ROOTS_H

#include "pairs/pair.h"

/* Makes the leaves of PAIR positive (GEMEL_FACT_POSITIVE) whose root or logarithm its first graph
 * takes, as they are or moved, and with something added. GEMEL_NO_MEMORY. */
gemel_status gemel__roots_make_positive(gemel__pair *pair, gemel_error *error);

#endif
