/* SPDX-License-Identifier: MIT
 *
 * Operations that a text defines: `operation swish(x) { return x * sigmoid(x) }`. See define.c.
 */
#ifndef GEMEL__TEXT_DEFINE_H
#define GEMEL__TEXT_DEFINE_H

#include <gemel/text.h>
#include "core/lex.h"

typedef struct gemel__definition gemel__definition;

/* Reads a definition with the lexer on `operation` and keeps it for CONTEXT: as an operation, or,
 * if the program registered one of this name, as that one's reference. */
gemel_status gemel__define(gemel_context *context, gemel__lex *lex, gemel_error *error);

/* The definition of NAME, or NULL. Thread-safe. */
const gemel__definition *gemel__definition_find(gemel_context *context, const char *name);

/* A new graph of the definition for operands of these types: an input each, one output. Errors: the
 * formula's own, GEMEL_BAD_ARGUMENT (another number of operands). */
gemel_graph *gemel__definition_graph(const gemel__definition *definition, size_t n,
                                     const gemel_type *types, gemel_error *error);

/* Calls PUT with the text of each definition, from `operation` to its brace, that one of the N
 * graphs needs, in the order in which they were made. GEMEL_NO_MEMORY. */
gemel_status gemel__definitions_of(const gemel_graph *const *graphs, size_t n,
                                   void (*put)(void *user, const char *text), void *user,
                                   gemel_error *error);

/* In parse.c: reads `(x, y) { … }`, with the lexer on the parenthesis, where inputs have these
 * types. An output needs no name there. */
gemel_graph *gemel__parse_body(gemel_context *context, gemel__lex *lex, size_t n,
                               const gemel_type *types, gemel_error *error);

#endif
