/* SPDX-License-Identifier: MIT
 *
 * What is known of the elements of values that depend on no input: a deviation is positive.
 */
#ifndef GEMEL__EQUAL_SIGNS_H
#define GEMEL__EQUAL_SIGNS_H

#include "core/graph.h"

/* Writes to FACTS, for each node of GRAPH, what holds of all elements of its first output (bits
 * GEMEL_FACT_…), if that is a float tensor, depends on no input and is a constant or small; else 0.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__closed_facts(const gemel_graph *graph, unsigned char *facts,
                                 gemel_error *error);

#endif
