/* SPDX-License-Identifier: MIT
 *
 * Terms: formulas over real numbers, integers and truths, for Z3. A term is an index into a table.
 * Equal terms have equal indices, and operands come before the terms made of them. Terms are
 * simplified when they are made: arithmetic on constants, signs that are plain from the formula (x²
 * + 1 > 0), stores in an integer dtype that can't wrap, products with truth values.
 *
 * There is no subtraction (use a + −b), and the only comparison is gemel__formula_sign: is the sign
 * of a number one of these?
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
  GEMEL__FORMULA_DIV, /* a ÷ b; meaningless where b = 0, which the user of the value rules out */
  GEMEL__FORMULA_FLOOR,
  GEMEL__FORMULA_WRAP,   /* extra: the dtype */
  GEMEL__FORMULA_ROOT,   /* √a; meaningless where a < 0, which the user of the value rules out */
  GEMEL__FORMULA_APPLY,  /* extra: the function, uninterpreted but for a few facts */
  GEMEL__FORMULA_CHOOSE, /* a: the truth; b: the number if it is true; c: if not */
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
  unsigned char bounded;  /* an integer within LOW … HIGH */
  unsigned char signs;    /* set of possible signs */
  gemel__formula a, b, c; /* 0 where there is none */
  gemel__formula_wide low, high;
} gemel__formula_node;

typedef struct gemel__formulas {
  gemel__formula_node *nodes;
  size_t count, capacity, limit;
  fmpq *numbers;
  size_t n_numbers, number_capacity;
  gemel__idtable table; /* hash table of terms + 1 */
  uint32_t n_leaves;
  int full; /* memory or the limit ran out: terms made since then are meaningless */
} gemel__formulas;

/* An empty table for at most LIMIT terms; NULL when memory is out. */
gemel__formulas *gemel__formulas_new(size_t limit);
void gemel__formulas_free(gemel__formulas *t);

/* Numbers. A leaf is a variable: a real with one of SIGNS, or an integer from LOW to HIGH. Leaves
 * are numbered in the order in which they are made. */
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
/* The integer A stored in the integer DTYPE of w bits: modulo 2^w. */
gemel__formula gemel__formula_wrap(gemel__formulas *t, gemel_dtype dtype, gemel__formula a);
/* B if the truth A holds, else C; B and C are two numbers or two truths. */
gemel__formula gemel__formula_choose(gemel__formulas *t, gemel__formula a, gemel__formula b,
                                     gemel__formula c);

/* Truths. */
gemel__formula gemel__formula_sign(gemel__formulas *t, unsigned signs, gemel__formula a);
gemel__formula gemel__formula_and(gemel__formulas *t, gemel__formula a, gemel__formula b);
gemel__formula gemel__formula_or(gemel__formulas *t, gemel__formula a, gemel__formula b);
gemel__formula gemel__formula_not(gemel__formulas *t, gemel__formula a);

/* The number that term A is; NULL if it isn't a constant. */
const fmpq *gemel__formula_value(const gemel__formulas *t, gemel__formula a);

/* Sets NEEDED (of length TOP + 1) to 1 for TOP and all terms that it is made of. */
void gemel__formula_needed(const gemel__formulas *t, gemel__formula top, unsigned char *needed);

/* The shape of a term: what is left if leaves are renamed. x + y and z + w have the same shape if
 * the leaves are of the same kind. */
typedef struct gemel__formula_shape {
  gemel__formula_node *nodes;
  size_t count, room;
} gemel__formula_shape;

/* Sets SHAPE to that of TOP. If memory is out or T is full it is empty, and alike to no other. */
void gemel__formula_shape_of(const gemel__formulas *t, gemel__formula top,
                             gemel__formula_shape *shape);
int gemel__formula_alike(const gemel__formula_shape *a, const gemel__formula_shape *b);
void gemel__formula_shape_free(gemel__formula_shape *shape);

/* Least and greatest integer of an integer dtype. */
void gemel__formula_range(gemel_dtype dtype, gemel__formula_wide *low, gemel__formula_wide *high);

#endif
