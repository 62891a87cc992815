/* SPDX-License-Identifier: MIT
 *
 * Values of a graph that depend on no input, and the numbers of those that are computed.
 */
#ifndef GEMEL__EQUAL_CLOSED_H
#define GEMEL__EQUAL_CLOSED_H

#include "core/graph.h"
#include "reference/reference.h"

/* Writes a byte for each node of GRAPH: 1 if it depends on no input. */
void gemel__closed_mark(const gemel_graph *graph, unsigned char *closed);

/* Gets the value of NODE, evaluated in domain D, which is B. */
typedef void (*gemel__closed_visit)(void *user, uint32_t node, gemel__domain *d,
                                    const gemel__rtensor *value);

/* Evaluates floats that depend on no input and are computed from small values alone (elements.h),
 * each the only result of its node, and calls VISIT for each. WANTED has a byte for each node;
 * NULL: all are wanted. If they can't be evaluated, none is visited. GEMEL_NO_MEMORY. */
gemel_status gemel__closed_values(const gemel_graph *graph, const unsigned char *wanted,
                                  gemel__closed_visit visit, void *user, gemel_error *error);

#endif
