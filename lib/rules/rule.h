/* SPDX-License-Identifier: MIT
 *
 * A rewrite rule, compiled: a pattern, a template, conditions between. All three are made from one
 * tree of syntax, which is kept: documentation, test instances and mutants come from it. Tensor
 * variables, attribute variables and variadic variables (..xs) share one numbering.
 */
#ifndef GEMEL__RULES_RULE_H
#define GEMEL__RULES_RULE_H

#include <gemel/rewrite.h>
#include "rules/syntax.h"
#include "rules/term.h"

enum { GEMEL__RULE_VARIABLES = 32, GEMEL__RULE_NODES = 64 };

/* A node of a pattern or template. Nodes stand in post-order: operands before what uses them. */
typedef struct gemel__pattern {
  unsigned char kind;        /* GEMEL__PATTERN_… */
  unsigned char commutative; /* operands 0 and 1 may be swapped and are not the same */
  unsigned char any_output;  /* written f(x)@k */
  uint32_t variable;         /* of VARIABLE and VARIADIC */
  uint32_t op;               /* of APPLY */
  uint32_t named;            /* of APPLY: 1 + the variable that is its result; 0: none */
  uint32_t n_operands;
  const uint32_t *operands;     /* indices of nodes */
  uint32_t n_attrs;             /* the whole schema of the operation, in its order */
  const gemel__termexpr *attrs; /* count 0: not mentioned, so it has its fallback */
  gemel__termexpr output;       /* of f(x)@k */
  gemel__number number;         /* of LITERAL */
  uint32_t syntax;              /* its node in the tree */
} gemel__pattern;

enum {
  GEMEL__PATTERN_VARIABLE, /* any value; a repeated variable the same value */
  GEMEL__PATTERN_LITERAL,  /* a number: a constant all of whose elements are exactly that */
  GEMEL__PATTERN_APPLY,
  GEMEL__PATTERN_VARIADIC /* any number of operands */
};

typedef struct gemel__variable {
  const char *name;   /* in the rule's arena */
  unsigned char kind; /* GEMEL__TERM_TENSOR, _TENSORS, or _ABSENT for an attribute */
  unsigned kinds;     /* which kinds of terms it may be: see kinds.h */
} gemel__variable;

/* One side of a rule; the last node is the root. */
typedef struct gemel__rule_side {
  const gemel__pattern *nodes;
  uint32_t count;
} gemel__rule_side;

struct gemel_rule {
  gemel_rule_info info;   /* name, phase, tags, needs, documentation, place, text */
  gemel_context *context; /* borrowed: operations are known by their number in it */
  gemel__syntax syntax;
  gemel__variable variables[GEMEL__RULE_VARIABLES];
  uint32_t n_variables;
  gemel__rule_side left, right;
  const gemel__termexpr *conditions;
  uint32_t n_conditions;
  int asks_uses; /* a condition asks how often something is used */
  int grows;     /* the right side has more operations than the left */
};

/* An expression that is a variable and nothing else: its number, or -1. On the left such an
 * attribute binds the variable. */
static inline int gemel__termexpr_variable(const gemel__termexpr *expr) {
  return expr->count == 1 && expr->code[0].kind == GEMEL__TERMCODE_VARIABLE
             ? (int)expr->code[0].index
             : -1;
}

/* An expression that is one function of one variable: the variable's number, and *FUNCTION; or -1.
 */
static inline int gemel__termexpr_predicate(const gemel__termexpr *expr, uint32_t *function) {
  if (expr->count != 2 || expr->code[0].kind != GEMEL__TERMCODE_VARIABLE ||
      expr->code[1].kind != GEMEL__TERMCODE_FUNCTION) {
    return -1;
  }
  *function = expr->code[1].index;
  return (int)expr->code[0].index;
}

/* A number that no other set of rules in the process has. */
uint64_t gemel__rules_serial(const gemel_rules *rules);

/* 1 if the token is none of a rule, but the end of the text or the first of what comes next. */
int gemel__rule_ends(const gemel__lex *lex);

/* Compiles the rule at LEX, whose token is behind the word `rule`, up to the end of its text. RULE
 * is zeroed but for info.file and info.family; what it points at lives in ARENA, and its syntax is
 * cleared by the caller, on failure too. */
gemel_status gemel__rule_compile(gemel_context *context, gemel__lex *lex, gemel__arena *arena,
                                 struct gemel_rule *rule, gemel_error *error);

#endif
