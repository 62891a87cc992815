/* SPDX-License-Identifier: MIT
 *
 * Rule text as a tree, before anyone asks what a name means: numbers, strings, names, calls
 * (operators are calls of their operation), lists, `p[q]`, `x@k` (output k of x), `..xs`, and the
 * name that `f(x) as y` gives an operation. The grammar is in doc/rules.md. Nodes refer to each
 * other by index, so the tree is one array; 0 is no node. The text is borrowed and must outlive the
 * tree.
 */
#ifndef GEMEL__RULES_SYNTAX_H
#define GEMEL__RULES_SYNTAX_H

#include <stddef.h>
#include <stdint.h>
#include "core/lex.h"
#include "core/number.h"

typedef enum gemel__syntax_kind {
  GEMEL__SYNTAX_NUMBER,
  GEMEL__SYNTAX_NAME,
  GEMEL__SYNTAX_LIST,     /* [a, b] */
  GEMEL__SYNTAX_CALL,     /* name(a, b, key = c); an operator has its operation's name */
  GEMEL__SYNTAX_INDEX,    /* a[b] */
  GEMEL__SYNTAX_OUTPUT,   /* a@b */
  GEMEL__SYNTAX_VARIADIC, /* ..a */
  GEMEL__SYNTAX_STRING
} gemel__syntax_kind;

typedef struct gemel__syntax_node {
  unsigned char kind;
  unsigned char infix; /* a CALL written as an operator */
  const char *text;    /* of a NAME or CALL, of a STRING what is quoted; LENGTH characters */
  size_t length;
  const char *key; /* before the '=' of a named argument; NULL: positional */
  size_t key_length;
  const char *as; /* behind `as`; NULL: none */
  size_t as_length;
  gemel__number number;
  uint32_t child, next; /* first operand; next operand of the same parent */
  uint32_t last_child, n_children;
  gemel__lex at; /* where it stands, for messages */
} gemel__syntax_node;

typedef struct gemel__syntax {
  gemel__syntax_node *nodes; /* element 0 is unused */
  size_t count, capacity;
} gemel__syntax;

void gemel__syntax_clear(gemel__syntax *syntax);

/* Parses one expression at LEX, leaves LEX behind it; *NODE is its root. Nesting is limited to 100
 * levels. GEMEL_BAD_TEXT with line, column and caret; GEMEL_NO_MEMORY. */
gemel_status gemel__syntax_parse(gemel__syntax *syntax, gemel__lex *lex, uint32_t *node,
                                 gemel_error *error);

/* 1 if the node's name is TEXT. */
int gemel__syntax_is(const gemel__syntax_node *node, const char *text);

#endif
