/* SPDX-License-Identifier: MIT
 *
 * Plain lines: `name = operation(name, …)`, without attributes, which is what printed graphs
 * consist of. They are read without tokens, some lines ahead.
 */
#ifndef GEMEL__TEXT_LINES_H
#define GEMEL__TEXT_LINES_H

#include "text/names.h"
#include "text/program.h"

/* Reads plain lines from the token on, as many as stand there, onto GRAPH: their names are looked
 * up and defined in NAMES, their operations found by PROGRAM. FILE is interned. The lexer is left
 * on the first token that belongs to none, or to one with which something is wrong: that statement
 * is for the parser, which says what. GEMEL_NO_MEMORY is the only error. */
gemel_status gemel__lines_read(gemel_graph *graph, gemel__names *names, gemel__program *program,
                               gemel__lex *lex, const char *file, gemel_error *error);

#endif
