/* SPDX-License-Identifier: MIT
 *
 * What the rest of the core needs to know of stored attributes.
 */
#ifndef GEMEL__CORE_ATTRS_H
#define GEMEL__CORE_ATTRS_H

#include "core/context.h"
#include "core/suggest.h"

/* "int", "dim", … for a kind, list or not. */
const char *gemel__attr_kind_name(int kind);

/* "; did you mean NAME?" of OP's attribute that is near to what was written, or "". Lives in NEAR.
 */
const char *gemel__attr_suggestion(const gemel__op *op, const char *written, size_t length,
                                   gemel__suggestion *near);

/* 1 if A and B have the same kind and value, whatever their names. */
int gemel__attr_same(const gemel_attr *a, const gemel_attr *b);

/* Releases the tensors and graphs that stored attributes own. */
void gemel__attrs_release(struct gemel__attrs *attrs);

/* Releases N owned tensors (GEMEL_ATTR_TENSOR) or graphs (GEMEL_ATTR_GRAPH); other kinds own none.
 */
void gemel__release_pointers(int kind, size_t n, void **p);

typedef gemel_dim (*gemel__replace)(void *user, const gemel__atom *atom, gemel_dim self);

/* The attributes ATTRS with every dim rebuilt by gemel__dim_substitute. */
gemel_status gemel__attrs_substitute(gemel_context *context, uint32_t attrs, gemel__replace replace,
                                     void *user, uint32_t *id, gemel_error *error);

/* The attributes ATTRS of OP in their normal form at inputs of these TYPES: *NORMAL is ATTRS itself
 * if they are normal already. A node with them has the same type and results. */
gemel_status gemel__normal_attrs(gemel_context *context, const gemel__op *op, uint32_t attrs,
                                 size_t n_inputs, const gemel_type *types, uint32_t *normal,
                                 gemel_error *error);

/* Hash and equality of graphs of one context by structure, inputs' and outputs' names included. */
uint64_t gemel__graph_hash(const gemel_graph *graph);
int gemel__graph_same(const gemel_graph *a, const gemel_graph *b);

/* A frozen copy that holds no reference to its context (the context owns it), or NULL. */
gemel_graph *gemel__graph_freeze_copy(const gemel_graph *graph);
void gemel__graph_free_frozen(gemel_graph *graph);

#endif
