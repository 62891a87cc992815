/* SPDX-License-Identifier: MIT
 *
 * Terms: formulas over real numbers, integers and truths, for a solver to be asked about. A term is
 * a number in a table in which equal terms are one and operands come before what is made of them.
 * What is plain is decided as a term is made: arithmetic on constants, signs that a formula shows
 * (x² + 1), stores in an integer dtype that can't wrap, products with truth values.
 *
 * There is no subtraction (a + −b) and no comparison but that of a sign: gemel__term_sign says
 * whether the sign of a number is one of several.
 */
#ifndef GEMEL__DOMAINS_TERM_H
#define GEMEL__DOMAINS_TERM_H

#include <stddef.h>
#include <stdint.h>
#include <flint/fmpq.h>
#include <gemel/dtype.h>
#include "domains/domain.h"

typedef uint32_t gemel__term;
__extension__ typedef __int128 gemel__term_wide;

/* Terms that are always there. */
enum { GEMEL__TERM_FALSE, GEMEL__TERM_TRUE, GEMEL__TERM_ZERO, GEMEL__TERM_ONE };

typedef enum gemel__term_kind {
  /* numbers */
  GEMEL__TERM_NUMBER, /* a: which */
  GEMEL__TERM_LEAF,   /* a: which */
  GEMEL__TERM_ADD,
  GEMEL__TERM_MUL,
  GEMEL__TERM_NEG,
  GEMEL__TERM_DIV, /* b isn't 0 where anybody looks at the value */
  GEMEL__TERM_FLOOR,
  GEMEL__TERM_WRAP,   /* extra: the dtype */
  GEMEL__TERM_ROOT,   /* a ≥ 0 where anybody looks at the value */
  GEMEL__TERM_APPLY,  /* extra: the function, of which a solver knows a few facts */
  GEMEL__TERM_CHOOSE, /* a: the truth; b: the number if it holds; c: if not */
  /* truths */
  GEMEL__TERM_CONSTANT, /* a: 0 or 1 */
  GEMEL__TERM_SIGN,     /* extra: signs of number a (GEMEL__IF_…) for which it holds */
  GEMEL__TERM_AND,
  GEMEL__TERM_OR,
  GEMEL__TERM_NOT
} gemel__term_kind;

/* Functions outside the solver's arithmetic. */
enum { GEMEL__TERM_EXP, GEMEL__TERM_LOG };

typedef struct gemel__term_node {
  unsigned char kind, extra;
  unsigned char whole;   /* an integer */
  unsigned char bounded; /* and within LOW … HIGH */
  unsigned char signs;   /* that it may have */
  gemel__term a, b, c;   /* 0 where there is none */
  gemel__term_wide low, high;
} gemel__term_node;

typedef struct gemel__terms {
  gemel__term_node *nodes;
  size_t count, capacity, limit;
  fmpq *numbers;
  size_t n_numbers, number_capacity;
  uint32_t *slots; /* hash table of terms + 1 */
  size_t n_slots;
  uint32_t n_leaves;
  int full; /* memory or the limit was reached: terms made since then mean nothing */
} gemel__terms;

/* An empty table for at most LIMIT terms; NULL when memory is out. */
gemel__terms *gemel__terms_new(size_t limit);
void gemel__terms_free(gemel__terms *t);

/* Numbers. A leaf is a variable: of the reals, with one of SIGNS, or of the integers from LOW to
 * HIGH; leaves are numbered in the order in which they are made. */
gemel__term gemel__term_number(gemel__terms *t, const fmpq_t x);
gemel__term gemel__term_leaf_real(gemel__terms *t, unsigned signs);
gemel__term gemel__term_leaf_whole(gemel__terms *t, gemel__term_wide low, gemel__term_wide high);
gemel__term gemel__term_add(gemel__terms *t, gemel__term a, gemel__term b);
gemel__term gemel__term_mul(gemel__terms *t, gemel__term a, gemel__term b);
gemel__term gemel__term_neg(gemel__terms *t, gemel__term a);
gemel__term gemel__term_div(gemel__terms *t, gemel__term a, gemel__term b);
gemel__term gemel__term_floor(gemel__terms *t, gemel__term a);
gemel__term gemel__term_root(gemel__terms *t, gemel__term a);
gemel__term gemel__term_apply(gemel__terms *t, int function, gemel__term a);
/* The integer A modulo 2^w, as the integer DTYPE of w bits holds it. */
gemel__term gemel__term_wrap(gemel__terms *t, gemel_dtype dtype, gemel__term a);
/* B where the truth A holds, else C: two numbers or two truths. */
gemel__term gemel__term_choose(gemel__terms *t, gemel__term a, gemel__term b, gemel__term c);

/* Truths. */
gemel__term gemel__term_sign(gemel__terms *t, unsigned signs, gemel__term a);
gemel__term gemel__term_and(gemel__terms *t, gemel__term a, gemel__term b);
gemel__term gemel__term_or(gemel__terms *t, gemel__term a, gemel__term b);
gemel__term gemel__term_not(gemel__terms *t, gemel__term a);

/* The number that term A is; NULL if it isn't a constant. */
const fmpq *gemel__term_value(const gemel__terms *t, gemel__term a);

/* Least and greatest integer of an integer dtype. */
void gemel__term_range(gemel_dtype dtype, gemel__term_wide *low, gemel__term_wide *high);

#endif
