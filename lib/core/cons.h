/* SPDX-License-Identifier: MIT
 *
 * Hash-consing: finding a node equal to the one about to be made, and appending it if there is
 * none.
 */
#ifndef GEMEL__CORE_CONS_H
#define GEMEL__CORE_CONS_H

#include <stdarg.h>
#include "core/graph.h"

/* Makes the first room in an empty graph; 0, or -1 when memory is out. */
int gemel__graph_reserve(gemel_graph *graph);

/* Room for N_NODES nodes and N_POOL inputs in all; 0, or -1 when memory is out. */
int gemel__cons_reserve(gemel_graph *graph, size_t n_nodes, size_t n_pool);

/* Where a node is or would go: a bucket, or GEMEL__NO_BUCKET: the overflow. */
typedef struct gemel__cons_place {
  uint64_t hash;
  size_t bucket;
  size_t n_nodes; /* of the graph when this was found out */
  uint32_t found; /* node id + 1; 0: not there */
} gemel__cons_place;

#define GEMEL__NO_BUCKET SIZE_MAX

/* The node (OP, ATTRS, INPUTS) and its place: 1 and *NODE if the graph has it. */
int gemel__cons_find(const gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                     const gemel__ref *inputs, gemel__cons_place *place, uint32_t *node);

/* Appends a node that gemel__cons_find didn't find, at the PLACE that it gave. GEMEL_NO_MEMORY or
 * GEMEL_UNSUPPORTED (too many nodes, inputs or outputs) with the graph as it was. */
gemel_status gemel__cons_append(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                                const gemel__ref *inputs, const gemel__cons_place *place,
                                size_t n_outputs, const gemel_type *types, gemel_location where,
                                uint32_t *node);

/* Takes NODE out again if it is the last one. */
void gemel__graph_pop(gemel_graph *graph, uint32_t node);

gemel_value gemel__graph_fail_va(gemel_graph *graph, gemel_status status, const char *format,
                                 va_list args);

/* Index of an interned name among NAMES by TABLE, or -1; adding NAMES[INDEX] to the table (0, or -1
 * when memory is out). */
long gemel__name_find(const gemel__idtable *table, const char *const *names, const char *name);
int gemel__name_add(gemel__idtable *table, const char *const *names, size_t index);

#endif
