/* SPDX-License-Identifier: MIT
 *
 * Composites: builders that are written as text. What a composite computes is expanded where it is
 * applied, so a graph holds nothing of it but operations (doc/composites.md has the language).
 *
 *   # What it is, in a sentence.
 *   composite rms_norm(x, scale = none, axis: int = -1, epsilon: float = 1e-5) {
 *     squares = mean(x * x, axes = [axis], keepdims = 1)
 *     y = x / sqrt(squares + epsilon)
 *     if given(scale) { y = y * scale }
 *     return y
 *   }
 *
 * An operator of ONNX is the same with a domain, "operator "com.microsoft" Name(...) {...}", "" if
 * that is left out; its parameters are a node's inputs and attributes.
 *
 * Here is what the text is as a tree. Trees live in the arena of their set and don't change.
 */
#ifndef GEMEL__COMPOSITES_SYNTAX_H
#define GEMEL__COMPOSITES_SYNTAX_H

#include <gemel/operation.h>
#include "core/arena.h"
#include "core/lex.h"

typedef enum gemel__composite_expr_kind {
  GEMEL__EXPR_INTEGER,  /* integer */
  GEMEL__EXPR_REAL,     /* real */
  GEMEL__EXPR_TEXT,     /* name */
  GEMEL__EXPR_NAME,     /* name: a variable, true, false, none or a dtype */
  GEMEL__EXPR_LIST,     /* first */
  GEMEL__EXPR_EACH,     /* [first for name in second if third] */
  GEMEL__EXPR_CALL,     /* name(first ...) */
  GEMEL__EXPR_INDEX,    /* first[second] */
  GEMEL__EXPR_SLICE,    /* first[second:third], either may be missing */
  GEMEL__EXPR_NEGATIVE, /* -first */
  GEMEL__EXPR_NOT,      /* not first */
  GEMEL__EXPR_INFIX     /* first op second */
} gemel__composite_expr_kind;

typedef struct gemel__composite_expr {
  gemel__composite_expr_kind kind;
  int op; /* of an infix: its token, or 'o' and 'a' for or and and */
  int line;
  int height; /* how deep it is nested, at most GEMEL__MOST_HEIGHT */
  const char *name;
  const char *label; /* of an argument: the name that it is given for; or NULL */
  int64_t integer;
  double real;
  const struct gemel__composite_expr *first, *second, *third;
  const struct gemel__composite_expr *next; /* in a list, or among arguments */
} gemel__composite_expr;

typedef enum gemel__statement_kind {
  GEMEL__STATEMENT_ASSIGN,  /* targets = expr */
  GEMEL__STATEMENT_IF,      /* if expr { body } else { otherwise } */
  GEMEL__STATEMENT_REQUIRE, /* require expr, message */
  GEMEL__STATEMENT_RETURN   /* return expr, ... */
} gemel__statement_kind;

typedef struct gemel__name_list {
  const char *name;
  const struct gemel__name_list *next;
} gemel__name_list;

typedef struct gemel__statement {
  gemel__statement_kind kind;
  int line;
  const gemel__name_list *targets;
  const gemel__composite_expr *expr;
  const char *message;
  const struct gemel__statement *body, *otherwise, *next;
} gemel__statement;

typedef enum gemel__param_kind {
  GEMEL__PARAM_OPERAND,
  GEMEL__PARAM_OPTIONAL, /* an operand that may be missing */
  GEMEL__PARAM_VARIADIC, /* all operands from here on */
  GEMEL__PARAM_ATTRIBUTE
} gemel__param_kind;

typedef struct gemel__param {
  gemel__param_kind kind;
  const char *name;
  gemel_attr_spec spec; /* of an attribute; its fallback is "none" or NULL as in ops.def */
  int input; /* of an attribute of an operator: the input that it may be, too; -1: none */
} gemel__param;

enum { GEMEL__MOST_PARAMS = 24, GEMEL__MOST_HEIGHT = 64 };

typedef struct gemel__composite {
  const char *name;
  const char *domain; /* of an operator; NULL: it is none */
  gemel__param params[GEMEL__MOST_PARAMS];
  size_t n_params, n_operands; /* operands come first */
  gemel_operation record;      /* its name, numbers of operands and attributes: nothing else */
  gemel_attr_spec specs[GEMEL__MOST_PARAMS + 1];
  size_t n_results; /* the most that a return gives */
  const gemel__statement *body;
  const char *file;
  int line;
  const struct gemel__composite *set;  /* the first of those that were parsed together */
  const struct gemel__composite *next; /* of these */
} gemel__composite;

/* Parses the composites in TEXT into ARENA: *FIRST is the first. GEMEL_BAD_TEXT (with a caret),
 * GEMEL_NO_MEMORY; what is in the arena then is of no use. */
gemel_status gemel__composites_parse(gemel__arena *arena, const char *text, size_t length,
                                     const char *file, const gemel__composite **first,
                                     gemel_error *error);

#endif
