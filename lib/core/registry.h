/* SPDX-License-Identifier: MIT
 *
 * The table of operations of a context.
 */
#ifndef GEMEL__CORE_REGISTRY_H
#define GEMEL__CORE_REGISTRY_H

#include "core/context.h"
#include "core/suggest.h"

/* Frees what a stored operation owns besides arena memory. */
void gemel__op_release(gemel__op *op);

/* 1 if TEXT is a name: [A-Za-z_][A-Za-z0-9_]*, shorter than 1024. */
int gemel__is_name(const char *text);

/* gemel_register_operation for one of gemel's own operations, whose row is ROW. */
gemel_status gemel__register(gemel_context *context, const gemel_operation *operation,
                             const struct gemel__row *row, gemel_error *error);

/* What a text may call: an operation's id, or a composite's number with this bit. */
#define GEMEL__COMPOSITE 0x80000000u

/* The operation, or with COMPOSITES the composite, called NAME; 0: there is none. */
uint32_t gemel__callee_find(gemel_context *context, const char *name, int composites);

/* The record of CALLEE; a composite's has a name, numbers of operands and attributes alone. */
const gemel_operation *gemel__callee(gemel_context *context, uint32_t callee);

/* "; did you mean NAME?" of the operation that is near to what was written, or "". Lives in NEAR.
 */
const char *gemel__op_suggestion(gemel_context *context, const char *written, size_t length,
                                 gemel__suggestion *near);

#endif
