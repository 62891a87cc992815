/* SPDX-License-Identifier: MIT
 *
 * Terms that proofs are about: integers (sizes, indices, attributes), truths, and elements of
 * tensors. A term is an index into a table; equal terms have equal indices, and operands come
 * before the terms made of them. An integer is kept as a sum of products with numbers, so that
 * equal polynomials are one term. What has no meaning here is a call of a function of which nothing
 * is known but its name.
 *
 * A term that can't be made (memory is out, a number too large, a polynomial too long) is 0, and so
 * is what is made of it; the table then says why.
 */
#ifndef GEMEL__UNBOUNDED_TERM_H
#define GEMEL__UNBOUNDED_TERM_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/dtype.h>
#include "core/arena.h"

typedef uint32_t gemel__pterm;

/* An element's sort says its dtype where that is known: GEMEL__PSORT_ELEMENT + 1 + the dtype. */
typedef enum gemel__pterm_sort {
  GEMEL__PSORT_INTEGER,
  GEMEL__PSORT_TRUTH,
  GEMEL__PSORT_ELEMENT,
  GEMEL__PSORT_LAST = GEMEL__PSORT_ELEMENT + GEMEL_DTYPE_COUNT
} gemel__pterm_sort;

static inline gemel__pterm_sort gemel__psort_of(gemel_dtype dtype) {
  return (gemel__pterm_sort)(GEMEL__PSORT_ELEMENT + 1 + (int)dtype);
}

static inline int gemel__psort_is_element(int sort) {
  return sort >= GEMEL__PSORT_ELEMENT;
}

/* 1 and *DTYPE if SORT is that of elements of a known dtype. */
static inline int gemel__psort_dtype(int sort, gemel_dtype *dtype) {
  *dtype = (gemel_dtype)(sort - GEMEL__PSORT_ELEMENT - 1);
  return sort > GEMEL__PSORT_ELEMENT;
}

typedef enum gemel__pterm_kind {
  GEMEL__P_NONE,
  GEMEL__P_NUMBER,  /* VALUE */
  GEMEL__P_SYMBOL,  /* an integer or a truth, by NAME */
  GEMEL__P_SUM,     /* VALUE, and operands with coefficients: symbols, products, calls ... */
  GEMEL__P_PRODUCT, /* of two operands or more, in the order of their indices */
  GEMEL__P_DIVIDED, /* operand 0 by the positive operand 1, rounded down */
  GEMEL__P_REMAINDER,
  GEMEL__P_CHOICE, /* operand 1 where operand 0, a truth, holds, else operand 2 */
  GEMEL__P_CALL,   /* NAME of the operands; VALUE 1: the first two may be swapped; 2: the name of an
                      element is a number */
  GEMEL__P_FOLD,   /* NAME (sum, max, ...) of operand 0 over symbols 1, 3, ..., each from 0 to below
                      the size 2, 4, ... */
  GEMEL__P_TRUTH,  /* VALUE: 0 or 1 */
  GEMEL__P_ZERO,   /* the integer is 0 */
  GEMEL__P_NATURAL, /* the integer is 0 or more */
  GEMEL__P_SAME,    /* the two elements are the same */
  GEMEL__P_NOT,
  GEMEL__P_AND,
  GEMEL__P_OR
} gemel__pterm_kind;

typedef struct gemel__pterm_node {
  unsigned char kind, sort;
  uint32_t count, first; /* operands: FIRST ... of the table's */
  uint32_t level;        /* how deep folds are nested in it */
  const char *name;      /* one pointer for each text */
  int64_t value;
  uint64_t hash;
} gemel__pterm_node;

typedef enum gemel__pterm_trouble {
  GEMEL__PTERM_FINE,
  GEMEL__PTERM_NO_MEMORY,
  GEMEL__PTERM_TOO_LARGE
} gemel__pterm_trouble;

typedef struct gemel__pterms {
  gemel__pterm_node *nodes; /* element 0 is no term */
  size_t count, capacity;
  gemel__pterm *operands;
  int64_t *coefficients; /* of the operands of a SUM, else 1 */
  size_t n_operands, operand_capacity, coefficient_capacity;
  uint32_t *table; /* open addressing */
  size_t table_size;
  const char **names;
  size_t n_names, name_capacity;
  gemel__arena arena; /* names */
  gemel__pterm_trouble trouble;
  int64_t fresh; /* symbols numbered so far */
} gemel__pterms;

/* A table of no terms. Release with gemel__pterms_clear, after trouble too. */
void gemel__pterms_init(gemel__pterms *t);
void gemel__pterms_clear(gemel__pterms *t);

/* Symbols: by name, the same each time; or a new one, whose name begins with NAME. */
gemel__pterm gemel__p_symbol(gemel__pterms *t, gemel__pterm_sort sort, const char *name);
gemel__pterm gemel__p_fresh(gemel__pterms *t, gemel__pterm_sort sort, const char *name);

/* Integers. */
gemel__pterm gemel__p_number(gemel__pterms *t, int64_t value);
gemel__pterm gemel__p_add(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_sub(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_scale(gemel__pterms *t, gemel__pterm a, int64_t by);
gemel__pterm gemel__p_plus(gemel__pterms *t, gemel__pterm a, int64_t value);
gemel__pterm gemel__p_mul(gemel__pterms *t, gemel__pterm a, gemel__pterm b);

/* A ÷ B rounded down, and A - B times that; B must be positive where it counts. */
gemel__pterm gemel__p_div(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_mod(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_min(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_max(gemel__pterms *t, gemel__pterm a, gemel__pterm b);

/* 1 and *VALUE if A is a number. */
int gemel__p_is_number(const gemel__pterms *t, gemel__pterm a, int64_t *value);

/* Truths. */
gemel__pterm gemel__p_truth(gemel__pterms *t, int value);
gemel__pterm gemel__p_equal(gemel__pterms *t, gemel__pterm a, gemel__pterm b); /* integers */
gemel__pterm gemel__p_at_least(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_below(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_same(gemel__pterms *t, gemel__pterm a, gemel__pterm b); /* elements */
gemel__pterm gemel__p_not(gemel__pterms *t, gemel__pterm a);
gemel__pterm gemel__p_and(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_or(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_implies(gemel__pterms *t, gemel__pterm a, gemel__pterm b);
int gemel__p_is_true(const gemel__pterms *t, gemel__pterm a);
int gemel__p_is_false(const gemel__pterms *t, gemel__pterm a);

/* Of any sort. */
gemel__pterm gemel__p_choose(gemel__pterms *t, gemel__pterm truth, gemel__pterm a, gemel__pterm b);
gemel__pterm gemel__p_call(gemel__pterms *t, gemel__pterm_sort sort, const char *name, int commutes,
                           uint32_t count, const gemel__pterm *operands);

/* The element that is the number TEXT. */
gemel__pterm gemel__p_literal(gemel__pterms *t, gemel__pterm_sort sort, const char *text);

/* An element: BODY folded over COUNT symbols, each below its size. The fold has bound symbols of
 * its own. */
gemel__pterm gemel__p_fold(gemel__pterms *t, gemel__pterm_sort sort, const char *name,
                           gemel__pterm body, uint32_t count, const gemel__pterm *symbols,
                           const gemel__pterm *sizes);

/* What the fold A folds, with new symbols for its bound ones, which *SYMBOLS gets: so that they
 * can't be taken for those of another fold. */
gemel__pterm gemel__p_unfold(gemel__pterms *t, gemel__pterm a, gemel__pterm *symbols);

/* A with terms FROM replaced by TO; bound symbols may be among them. */
gemel__pterm gemel__p_replace(gemel__pterms *t, gemel__pterm a, uint32_t count,
                              const gemel__pterm *from, const gemel__pterm *to);

/* 1 if PART is A or among what A is made of; also where memory is out. */
int gemel__p_contains(const gemel__pterms *t, gemel__pterm a, gemel__pterm part);

/* A with its operands, each of which TO has something for, replaced by that. */
gemel__pterm gemel__p_with_operands(gemel__pterms *t, gemel__pterm a, const gemel__pterm *to);

/* Marks what the marked terms up to LAST are made of, but what folds are only with INTO_FOLDS. */
void gemel__p_mark(const gemel__pterms *t, gemel__pterm last, int into_folds,
                   unsigned char *marked);

/* Operand K of A. */
static inline gemel__pterm gemel__p_operand(const gemel__pterms *t, gemel__pterm a, uint32_t k) {
  return t->operands[t->nodes[a].first + k];
}

#endif
