/* SPDX-License-Identifier: MIT
 *
 * Whole numbers that a graph is written with: elements of small constants, integers and sizes in
 * attributes. What a graph does often changes at such a number, or at a size that is near one.
 */
#ifndef GEMEL__PAIRS_NUMBERS_H
#define GEMEL__PAIRS_NUMBERS_H

#include <gemel/graph.h>

enum { GEMEL__MOST_NUMBERS = 64 }; /* elements of a constant that is looked at */

/* Calls VISIT on GRAPH and on its bodies, each as often as it is applied. Returns 0 if bodies were
 * left out because they are nested too deep, or applied too often, to be run. */
int gemel__graph_visit(const gemel_graph *graph,
                       void (*visit)(void *user, const gemel_graph *graph), void *user);

/* Calls NOTE with each number in GRAPH and in its bodies. */
void gemel__numbers_each(const gemel_graph *graph, void (*note)(void *user, int64_t number),
                         void *user);

/* 1 if A and B have the same constants, but for whole numbers in small ones. 0 also if there are
 * bodies, or too many constants to compare. */
int gemel__constants_alike(const gemel_graph *a, const gemel_graph *b);

/* The constant that NODE is, if it is small enough to be looked at; else NULL. */
const gemel_tensor *gemel__numbers_in(const gemel_graph *graph, uint32_t node);

/* 1 if element K of TENSOR is a whole number, which *NUMBER becomes. */
int gemel__whole_number(const gemel_tensor *tensor, size_t k, int64_t *number);

#endif
