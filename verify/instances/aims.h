/* SPDX-License-Identifier: MIT
 *
 * Finds the aims of graphs (sample/aims.h), and writes them into values.
 */
#ifndef GEMEL__INSTANCES_AIMS_H
#define GEMEL__INSTANCES_AIMS_H

#include "instances/instance.h"
#include "sample/aims.h"

/* Finds the aims of A's inputs, and of B's: a graph with the same inputs in the same order, or
 * NULL. Graphs of more than some hundred nodes get none. Release with gemel__aims_clear.
 * GEMEL_NO_MEMORY. */
gemel_status gemel__aims_of_graphs(const gemel_graph *a, const gemel_graph *b, gemel__aims *aims,
                                   gemel_error *error);
void gemel__aims_clear(gemel__aims *aims);

/* Writes aims into about half of the elements of each input that has any. VALUES are packed
 * tensors. Consecutive elements get consecutive aims; ROUND chooses the first one, so that rounds
 * 0, 1, 2, ... reach them all. */
void gemel__aims_plant(const gemel__aims *aims, size_t round, gemel__random *random,
                       gemel_tensor *const *values);

/* After how many rounds the aims have about all been among the values of INSTANCE, whose leaves are
 * the inputs; some two dozen at most, 0 if there are no aims. */
size_t gemel__aims_rounds(const gemel__aims *aims, const gemel__instance *instance);

#endif
