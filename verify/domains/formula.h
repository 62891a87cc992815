/* SPDX-License-Identifier: MIT
 *
 * Terms: formulas over real numbers, integers and truths, for a solver to be asked about. A term is
 * a number in a table in which equal terms are one and operands come before what is made of them.
 * What is plain is decided as a term is made: arithmetic on constants, signs that a formula shows
 * (x² + 1), stores in an integer dtype that can't wrap, products with truth values.
 *
 * There is no subtraction (a + −b) and no comparison but that of a sign: gemel__formula_sign says
 * whether the sign of a number is one of several.
 */
#ifndef GEMEL__DOMAINS_FORMULA_H
#define GEMEL__DOMAINS_FORMULA_H

#include <stddef.h>
#include <stdint.h>
#include <flint/fmpq.h>
#include <gemel/dtype.h>
#include "core/context.h"
#include "domains/domain.h"

typedef uint32_t gemel__formula;
__extension__ typedef __int128 gemel__formula_wide;

/* Terms that are always there. */
enum { GEMEL__FORMULA_FALSE, GEMEL__FORMULA_TRUE, GEMEL__FORMULA_ZERO, GEMEL__FORMULA_ONE };

typedef enum gemel__formula_kind {
  /* numbers */
  GEMEL__FORMULA_NUMBER, /* a: which */
  GEMEL__FORMULA_LEAF,   /* a: which */
  GEMEL__FORMULA_ADD,
  GEMEL__FORMULA_MUL,
  GEMEL__FORMULA_NEG,
  GEMEL__FORMULA_DIV, /* b isn't 0 where anybody looks at the value */
  GEMEL__FORMULA_FLOOR,
  GEMEL__FORMULA_WRAP,   /* extra: the dtype */
  GEMEL__FORMULA_ROOT,   /* a ≥ 0 where anybody looks at the value */
  GEMEL__FORMULA_APPLY,  /* extra: the function, of which a solver knows a few facts */
  GEMEL__FORMULA_CHOOSE, /* a: the truth; b: the number if it holds; c: if not */
  /* truths */
  GEMEL__FORMULA_CONSTANT, /* a: 0 or 1 */
  GEMEL__FORMULA_SIGN,     /* extra: signs of number a (GEMEL__IF_…) for which it holds */
  GEMEL__FORMULA_AND,
  GEMEL__FORMULA_OR,
  GEMEL__FORMULA_NOT
} gemel__formula_kind;

/* Functions outside the solver's arithmetic. */
enum { GEMEL__FORMULA_EXP, GEMEL__FORMULA_LOG };

typedef struct gemel__formula_node {
  unsigned char kind, extra;
  unsigned char whole;    /* an integer */
  unsigned char bounded;  /* and within LOW … HIGH */
  unsigned char signs;    /* that it may have */
  gemel__formula a, b, c; /* 0 where there is none */
  gemel__formula_wide low, high;
} gemel__formula_node;

typedef struct gemel__formulas {
  gemel__formula_node *nodes;
  size_t count, capacity, limit;
  fmpq *numbers;
  size_t n_numbers, number_capacity;
  gemel__idtable table; /* of terms + 1 */
  uint32_t n_leaves;
  int full; /* memory or the limit was reached: terms made since then mean nothing */
} gemel__formulas;

/* An empty table for at most LIMIT terms; NULL when memory is out. */
gemel__formulas *gemel__formulas_new(size_t limit);
void gemel__formulas_free(gemel__formulas *t);

/* Numbers. A leaf is a variable: of the reals, with one of SIGNS, or of the integers from LOW to
 * HIGH; leaves are numbered in the order in which they are made. */
gemel__formula gemel__formula_number(gemel__formulas *t, const fmpq_t x);
gemel__formula gemel__formula_leaf_real(gemel__formulas *t, unsigned signs);
gemel__formula gemel__formula_leaf_whole(gemel__formulas *t, gemel__formula_wide low,
                                         gemel__formula_wide high);
gemel__formula gemel__formula_add(gemel__formulas *t, gemel__formula a, gemel__formula b);
gemel__formula gemel__formula_mul(gemel__formulas *t, gemel__formula a, gemel__formula b);
gemel__formula gemel__formula_neg(gemel__formulas *t, gemel__formula a);
gemel__formula gemel__formula_div(gemel__formulas *t, gemel__formula a, gemel__formula b);
gemel__formula gemel__formula_floor(gemel__formulas *t, gemel__formula a);
gemel__formula gemel__formula_root(gemel__formulas *t, gemel__formula a);
gemel__formula gemel__formula_apply(gemel__formulas *t, int function, gemel__formula a);
/* The integer A modulo 2^w, as the integer DTYPE of w bits holds it. */
gemel__formula gemel__formula_wrap(gemel__formulas *t, gemel_dtype dtype, gemel__formula a);
/* B where the truth A holds, else C: two numbers or two truths. */
gemel__formula gemel__formula_choose(gemel__formulas *t, gemel__formula a, gemel__formula b,
                                     gemel__formula c);

/* Truths. */
gemel__formula gemel__formula_sign(gemel__formulas *t, unsigned signs, gemel__formula a);
gemel__formula gemel__formula_and(gemel__formulas *t, gemel__formula a, gemel__formula b);
gemel__formula gemel__formula_or(gemel__formulas *t, gemel__formula a, gemel__formula b);
gemel__formula gemel__formula_not(gemel__formulas *t, gemel__formula a);

/* The number that term A is; NULL if it isn't a constant. */
const fmpq *gemel__formula_value(const gemel__formulas *t, gemel__formula a);

/* Sets NEEDED, which has room for TOP + 1, for TOP and what it is made of. */
void gemel__formula_needed(const gemel__formulas *t, gemel__formula top, unsigned char *needed);

/* What a term is apart from which leaves it has: two terms of one table are alike if another choice
 * of leaves, of the same kind each, makes one the other. */
typedef struct gemel__formula_shape {
  gemel__formula_node *nodes;
  size_t count, room;
} gemel__formula_shape;

/* SHAPE is empty when memory is out or T is full, and like no other then. */
void gemel__formula_shape_of(const gemel__formulas *t, gemel__formula top,
                             gemel__formula_shape *shape);
int gemel__formula_alike(const gemel__formula_shape *a, const gemel__formula_shape *b);
void gemel__formula_shape_free(gemel__formula_shape *shape);

/* Least and greatest integer of an integer dtype. */
void gemel__formula_range(gemel_dtype dtype, gemel__formula_wide *low, gemel__formula_wide *high);

#endif
