/* SPDX-License-Identifier: MIT
 *
 * The operators of expressions and how tightly they bind: one table for graph text, derivative
 * texts and rules.
 */
#ifndef GEMEL__TEXT_INFIX_H
#define GEMEL__TEXT_INFIX_H

#include "core/lex.h"

enum {
  GEMEL__STRENGTH_OR = 1,
  GEMEL__STRENGTH_AND,
  GEMEL__STRENGTH_NOT,
  GEMEL__STRENGTH_COMPARE,
  GEMEL__STRENGTH_SUM,
  GEMEL__STRENGTH_PRODUCT,
  GEMEL__STRENGTH_NEGATE
};

typedef struct gemel__infix {
  int token; /* or GEMEL__TOKEN_NAME: WORD */
  const char *word;
  const char *op; /* the operation that it is */
  int strength;
} gemel__infix;

/* The binary operator at the token, or NULL. */
const gemel__infix *gemel__infix_here(const gemel__lex *lex);

#endif
