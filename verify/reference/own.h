/* SPDX-License-Identifier: MIT
 *
 * References of a program's own operations (<gemel/reference.h>): the context keeps them, an
 * evaluation by references finds them by the operation's record. own.c has the list and the
 * formulas, element.c the functions over elements, unknown.c what is done without a reference.
 */
#ifndef GEMEL__REFERENCE_OWN_H
#define GEMEL__REFERENCE_OWN_H

#include <gemel/reference.h>
#include "reference/reference.h"

/* The reference of any operation that isn't gemel's: what the program gave, else
 * gemel__reference_unknown. DATA is the gemel__evaluation. */
gemel_status gemel__reference_own(gemel__rcall *call);

/* Calls the function of REFERENCE. */
gemel_status gemel__reference_function(gemel__rcall *call, const gemel_reference *reference);

/* The operation has no reference: a random function, by its name, attributes and operands, in
 * domain F; its own kernel's results in domains O, B and S, as exact as they are; no value in
 * others. */
gemel_status gemel__reference_unknown(gemel__rcall *call);

/* Does the program's operation OP have a reference at all? */
int gemel__own_reference_exists(gemel_context *context, const gemel_operation *op);

/* 1 if every operation of GRAPH that its outputs need, in bodies too, is gemel's or has a reference
 * that takes operands of the types there. NAME (may be NULL): of the first that isn't so. */
int gemel__references_cover(const gemel_graph *graph, const char **name);

#endif
