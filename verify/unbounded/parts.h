/* SPDX-License-Identifier: MIT
 *
 * An element as parts that are added up (a sum), multiplied (a product) or of which the largest
 * counts (a maximum): a number and factors, for bound indices in their ranges where guards hold. A
 * sum of bools is their or, which is a maximum too: a part holds where all its factors do.
 */
#ifndef GEMEL__UNBOUNDED_PARTS_H
#define GEMEL__UNBOUNDED_PARTS_H

#include "unbounded/scene.h"

enum { GEMEL__PARTS = 64, GEMEL__PART_FACTORS = 12, GEMEL__PART_GUARDS = 12 };

/* NUMBER ÷ DIVISOR times the factors; DIVISOR is 1 in a ring of integers. SIDE: of which of two
 * elements it is a part. */
typedef struct gemel__part {
  int side;
  int64_t number, divisor;
  uint32_t n_guards, n_factors, n_bound;
  gemel__pterm guards[GEMEL__PART_GUARDS];
  gemel__pterm factors[GEMEL__PART_FACTORS];
  gemel__pterm bound[GEMEL__PAXES], sizes[GEMEL__PAXES];
} gemel__part;

/* Parts that are being made; FAILED if they can't be: more than there is room for. */
typedef struct gemel__parts {
  gemel__pscene *s;
  gemel__pterm_sort sort;
  int is_real, bits; /* of a ring of integers: modulo 2 to the power of BITS */
  int is_sum;        /* equal parts without an index are as many as there are indices */
  uint32_t count;
  gemel__part *list; /* GEMEL__PARTS of them */
  int failed;
} gemel__parts;

/* No parts, of elements of SORT; 0 if their dtype isn't known, or memory is out. End with
 * gemel__parts_end. */
int gemel__parts_start(gemel__parts *x, gemel__pscene *s, gemel__pterm_sort sort);
void gemel__parts_end(gemel__parts *x);

/* A new part: the number 1; NULL if there is no room. */
gemel__part *gemel__part_new(gemel__parts *x);

/* A's number set, multiplied, and that of B added. */
void gemel__part_set(gemel__parts *x, gemel__part *a, int64_t number, int64_t divisor);
void gemel__part_scale(gemel__parts *x, gemel__part *a, int64_t number, int64_t divisor);
void gemel__part_add(gemel__parts *x, gemel__part *a, const gemel__part *b);

/* A gets a factor, a guard, an index bound to it; MULTIPLY: all that B has. */
void gemel__part_factor(gemel__parts *x, gemel__part *a, gemel__pterm factor);
void gemel__part_guard(gemel__parts *x, gemel__part *a, gemel__pterm guard);
void gemel__part_bind(gemel__parts *x, gemel__part *a, gemel__pterm symbol, gemel__pterm size);
void gemel__part_multiply(gemel__parts *x, gemel__part *a, const gemel__part *b);

/* In the place of parts FIRST ...: each of those before MIDDLE times each of the others. */
void gemel__parts_multiply(gemel__parts *x, uint32_t first, uint32_t middle);

/* 1 ÷ the factor A, and what makes use of it: a factor and its inverse are taken out of A. */
gemel__pterm gemel__p_inverse(gemel__parts *x, gemel__pterm a);
void gemel__part_cancel_inverses(gemel__parts *x, gemel__part *a);

/* SYMBOLS, which gemel__p_unfold gave for the bound indices of FOLD, become bound indices of parts
 * FIRST ..., each with symbols of its own. */
void gemel__parts_bind(gemel__parts *x, uint32_t first, gemel__pterm fold,
                       const gemel__pterm *symbols);

/* Takes out bound indices of A that say nothing: those of one element, and those of which nothing
 * depends. HARD: sizes that take a question to be 1 are asked for. */
void gemel__part_tidy(gemel__parts *x, gemel__part *a, int hard);

/* The numbers of parts FIRST ... multiplied; these parts added up where they are written alike. */
void gemel__parts_scale(gemel__parts *x, uint32_t first, int64_t number, int64_t divisor);
void gemel__parts_merge(gemel__parts *x, uint32_t first);

/* Adds the parts of A, multiplied out, to X. */
void gemel__expand_sum(gemel__parts *x, gemel__pterm a, int depth);

/* Divides parts FIRST ... of X by BY; adds those of exp and log, of which A is a call. */
void gemel__expand_quotient(gemel__parts *x, uint32_t first, gemel__pterm by, int depth);
void gemel__expand_exp(gemel__parts *x, gemel__pterm a, int depth);
void gemel__expand_log(gemel__parts *x, gemel__pterm a, int depth);

/* If A is a sum over the inverse of that sum, it is what is left. */
void gemel__part_cancel_total(gemel__parts *x, gemel__part *a, int depth);

/* A new part with the factor A. */
void gemel__parts_factor(gemel__parts *x, gemel__pterm a);

/* Assumes A's ranges and guards. */
void gemel__part_assume(gemel__pscene *s, const gemel__part *a);

/* 1 if A and B are the same but for their numbers. */
int gemel__parts_same(gemel__pscene *s, const gemel__part *a, const gemel__part *b, int depth);

/* 1 if A, whatever B's indices are, is somewhere what B is, or has some of B's factors only. */
int gemel__parts_cover(gemel__pscene *s, const gemel__part *a, const gemel__part *b, int depth);

/* 1 if no index of A's ranges has its guards, or an axis has no elements. */
int gemel__part_is_empty(gemel__pscene *s, const gemel__part *a);

/* 1 if a factor of A that is one number everywhere is known to be 0. */
int gemel__part_has_zero(gemel__parts *x, const gemel__part *a);

/* A guard that is about no bound index; 0: none is. */
gemel__pterm gemel__parts_free_guard(const gemel__parts *x);

/* 1 if the parts of elements A and B are A and B. */
int gemel__parts_say_nothing(const gemel__parts *x, gemel__pterm a, gemel__pterm b);

/* 1 if all parts cancel, or have no elements; HARD: questions are asked of what is plain mostly. */
int gemel__parts_cancel(gemel__parts *x, int depth, int hard);

/* 1 if the literal A is NUMBER ÷ DIVISOR, a power of two. */
int gemel__p_literal_number(const gemel__pterms *t, gemel__pterm a, int64_t *number,
                            int64_t *divisor);

/* A call with a choice among its operands, as the choice between two calls; 0: there is none. */
gemel__pterm gemel__p_lifted(gemel__pterms *t, gemel__pterm a);

/* 1 if a fold NAME is part of A. */
int gemel__p_folds(const gemel__pterms *t, gemel__pterm a, const char *name);

/* 1 if A is a call of NAME. */
int gemel__p_calls(const gemel__pterms *t, gemel__pterm a, const char *name);

#endif
