/* SPDX-License-Identifier: MIT
 *
 * References of a program's own operations (<gemel/reference.h>). The context keeps them; an
 * evaluation finds them by the operation's record. own.c has the list and the formulas, element.c
 * the functions over elements, unknown.c operations without a reference.
 */
#ifndef GEMEL__REFERENCE_OWN_H
#define GEMEL__REFERENCE_OWN_H

#include <gemel/reference.h>
#include "reference/reference.h"

/* The reference of any operation that isn't gemel's: the program's, else gemel__reference_unknown.
 * DATA is the gemel__evaluation. */
gemel_status gemel__reference_own(gemel__rcall *call);

/* Calls REFERENCE's function over elements. */
gemel_status gemel__reference_function(gemel__rcall *call, const gemel_reference *reference);

/* Reference of an operation that has none. In domain F: a random function of its name, attributes
 * and operands. In O, B and S: the results of its own kernel, with an interval for their error. In
 * other domains: no value. */
gemel_status gemel__reference_unknown(gemel__rcall *call);

/* 1 if the program gave its operation OP a reference. */
int gemel__own_reference_exists(gemel_context *context, const gemel_operation *op);

/* 1 if every operation that GRAPH's outputs need, in bodies too, is gemel's or has a reference for
 * operands of these types. Else *NAME (may be NULL) is the first that has none. */
int gemel__references_cover(const gemel_graph *graph, const char **name);

/* What the references of the program's operation OP, or of those among the nodes of GRAPH, allow:
 * bits GEMEL_NEEDS_BIT(…). */
unsigned gemel__own_reference_allows(gemel_context *context, const gemel_operation *op);
unsigned gemel__references_allow(const gemel_graph *graph);

#endif
