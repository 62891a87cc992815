/* SPDX-License-Identifier: MIT
 *
 * Graphs as attributes (bodies), and what they have become. What rewrites a graph makes such a
 * table, with how it rewrites one body, and asks it for each node that has bodies.
 */
#ifndef GEMEL__REWRITE_BODIES_H
#define GEMEL__REWRITE_BODIES_H

#include "core/graph.h"

/* What BODY becomes: a new graph, or BODY with one more reference; NULL with *ERROR. */
typedef gemel_graph *(*gemel__body_rewrite)(void *user, const gemel_graph *body,
                                            gemel_error *error);
typedef struct gemel__rewrite_bodies gemel__rewrite_bodies;

/* An empty table; NULL: memory is out. */
gemel__rewrite_bodies *gemel__bodies_new(gemel__body_rewrite rewrite, void *user);
void gemel__bodies_free(gemel__rewrite_bodies *bodies);

/* 1 if some node has other bodies since the table is there. */
int gemel__bodies_changed(const gemel__rewrite_bodies *bodies);

/* *ATTRS, of OP, with every graph among them rewritten. Errors are those of rewriting one. */
gemel_status gemel__bodies_rewrite(gemel__rewrite_bodies *bodies, gemel_context *context,
                                   const gemel__op *op, uint32_t *attrs, gemel_error *error);

#endif
