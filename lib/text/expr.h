/* SPDX-License-Identifier: MIT
 *
 * Expressions in text: the one parser of infix arithmetic and calls, which serves graph text
 * and the derivative texts of operation rows. Grammar in doc/text.md: numbers, names,
 * calls with positional values and `name = attribute`, + − × ÷ % and comparisons with the usual
 * precedence, and / or / not, parentheses. Literals without a dtype take that of what they are
 * combined with, through as many operations on literals as there are: in `g * where(x == y, 0.5,
 * 0)` both become g's.
 */
#ifndef GEMEL__TEXT_EXPR_H
#define GEMEL__TEXT_EXPR_H

#include <gemel/graph.h>

typedef struct gemel__expr gemel__expr;

/* Compiles TEXT over the variables NAMES[0..COUNT); NULL on failure (GEMEL_BAD_TEXT with column,
 * GEMEL_NO_MEMORY). Operations are looked up in CONTEXT. Immutable afterwards, so it may be built
 * from on several threads. */
gemel__expr *gemel__expr_compile(gemel_context *context, const char *text, size_t count,
                                 const char *const *names, gemel_error *error);

/* As above; ATTR_NAMES[0..N_ATTRS) are variables that stand where an attribute's value is expected,
 * as the second dtype in "cast(g, dtype = dtype)". They are bound when the expression is built. */
gemel__expr *gemel__expr_compile_attrs(gemel_context *context, const char *text, size_t count,
                                       const char *const *names, size_t n_attrs,
                                       const char *const *attr_names, gemel_error *error);

/* Builds the expression on GRAPH with VALUES for the variables; null value on failure (error on the
 * graph). Allocation-free apart from the graph itself; iterative. */
gemel_value gemel__expr_build(const gemel__expr *expr, gemel_graph *graph,
                              const gemel_value *values, gemel_location where);

/* As above; ATTRS[k] is what attribute variable k stands for (its name is ignored): for the
 * schema's names in the schema's order, a node's own attributes, gemel_derive's `attrs`. May be
 * NULL if the text uses none. */
gemel_value gemel__expr_build_attrs(const gemel__expr *expr, gemel_graph *graph,
                                    const gemel_value *values, const gemel_attr *attrs,
                                    gemel_location where);

void gemel__expr_free(gemel__expr *expr);

#endif
