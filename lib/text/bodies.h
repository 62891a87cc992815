/* SPDX-License-Identifier: MIT
 *
 * The graphs that a graph holds as attributes, at any depth, each once and before those that hold
 * it: the order in which the text and the binary form write them.
 */
#ifndef GEMEL__TEXT_BODIES_H
#define GEMEL__TEXT_BODIES_H

#include "core/graph.h"
#include "core/intern.h"

typedef struct gemel__text_bodies {
  const gemel_graph **graphs; /* in order; the outermost is not among them */
  size_t count, capacity;
  gemel__map ids;            /* by address: index + 1 */
  gemel__idtable structures; /* by structure: index + 1 */
} gemel__text_bodies;

/* Collects; GEMEL_NO_MEMORY. Iterative; linear in the nodes of all graphs. */
gemel_status gemel__bodies_collect(const gemel_graph *graph, gemel__text_bodies *bodies,
                                   gemel_error *error);

/* Index of GRAPH, which is among them. */
size_t gemel__bodies_index(const gemel__text_bodies *bodies, const gemel_graph *graph);

void gemel__bodies_clear(gemel__text_bodies *bodies);

/* The nodes to write: LIVE marks what outputs need (inputs always); a block of n_nodes bytes, to be
 * freed by the caller. NULL when memory is out. */
unsigned char *gemel__live_nodes(const gemel_graph *graph, gemel_error *error);

/* Calls EACH for every graph among the attributes ATTRS until it returns non-zero; returns that. */
int gemel__each_graph(gemel_context *context, uint32_t attrs,
                      int (*each)(void *user, const gemel_graph *graph), void *user);

#endif
