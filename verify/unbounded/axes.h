/* SPDX-License-Identifier: MIT
 *
 * Types of axes. A tensor has a *sort* of axes; a list has one entry for each axis of a sort (what
 * it is *over*), and its entries are sizes, or axes *of* a sort. An expression that has a type
 * treats all axes of a sort alike: striking out an axis of an instance, with all that is linked to
 * it, gives the value with that axis struck out. Where an expression tells axes apart (their
 * number, the first of them, one that differs) it says how many must be kept for it to stay what it
 * is. What follows from this is in doc/ranks.md.
 */
#ifndef GEMEL__UNBOUNDED_AXES_H
#define GEMEL__UNBOUNDED_AXES_H

#include "rules/functions.h"
#include "rules/rule.h"

enum {
  GEMEL__AXES_SORTS = 200, /* most sorts of a rule */
  GEMEL__AXES_TEXTS = 400, /* most different expressions */
  GEMEL__AXES_ALL = 1000   /* no number of axes that are kept is enough */
};

/* How a sort of axes comes about. */
typedef enum gemel__axes_how {
  GEMEL__AXES_NONE,      /* of what has no axes */
  GEMEL__AXES_TENSOR,    /* of variable KEY */
  GEMEL__AXES_LIST,      /* entries of the list that is variable KEY, as axes of A */
  GEMEL__AXES_NUMBERS,   /* entries of a list that is written out; of a literal; of arange */
  GEMEL__AXES_WITHOUT,   /* those of A that the list KEY doesn't have */
  GEMEL__AXES_ENTRIES,   /* entries of the list KEY, as axes of A */
  GEMEL__AXES_BROADCAST, /* of A and B, aligned at their last axes */
  GEMEL__AXES_FRONT,     /* those of A before its last ones, of which there are as many as B has */
  GEMEL__AXES_AND_ONE,   /* of A, and one more */
  GEMEL__AXES_PRODUCT    /* of a product of A and B along the lists of axes that KEY has */
} gemel__axes_how;

typedef struct gemel__axes_sort {
  unsigned char how;
  uint16_t a, b;
  uint32_t key;
  uint16_t same, frame; /* a sort that has these axes, one that is aligned with it; or itself */
  uint16_t length;      /* one of which it is known that it has as many axes; or itself */
  uint16_t component;   /* of those that are linked; only at the end */
  int used;             /* in the last round */
  int count;            /* how many axes there are; -1: any number */
  int first;            /* how many of the first axes are kept */
} gemel__axes_sort;

typedef enum gemel__axes_kind {
  GEMEL__AXES_UNBOUND,
  GEMEL__AXES_IS_TENSOR, /* of the axes OF */
  GEMEL__AXES_IS_NUMBER,
  GEMEL__AXES_IS_LIST,
  GEMEL__AXES_IS_TRUTH,
  GEMEL__AXES_IS_OTHER /* dtypes, reals, texts: nothing of axes */
} gemel__axes_kind;

/* What a number, or an entry of a list, is. */
typedef enum gemel__axes_entry {
  GEMEL__AXES_NUMBER, /* NUMBER; in a list, the greatest of the numbers */
  GEMEL__AXES_SIZE,   /* a size, start, step ... of the axis */
  GEMEL__AXES_AXIS,   /* an axis OF a sort, or -1; single ones are always kept */
  GEMEL__AXES_LENGTH, /* how many axes OF has, and NUMBER */
  GEMEL__AXES_SIZES   /* a product of sizes */
} gemel__axes_entry;

typedef struct gemel__axes_value {
  unsigned char kind, entry;
  uint16_t of, over;
  uint32_t text; /* equal expressions have equal numbers */
  int64_t number;
  unsigned char natural; /* sizes of tensors, which are 0 or more */
  int holds, fails;      /* of a TRUTH: so many axes kept, and it stays true; and false */
} gemel__axes_value;

typedef struct gemel__axes_text {
  unsigned char kind;
  uint32_t index, count;
  int64_t value;
  uint32_t operands[8];
} gemel__axes_text;

typedef struct gemel__axes {
  const struct gemel_rule *rule;
  gemel__axes_sort sorts[GEMEL__AXES_SORTS];
  uint32_t n_sorts;
  gemel__axes_text texts[GEMEL__AXES_TEXTS];
  uint32_t n_texts;
  gemel__axes_value variables[GEMEL__RULE_VARIABLES];
  unsigned char proper[GEMEL__RULE_VARIABLES]; /* lists of axes without -1 */
  uint32_t alias[GEMEL__RULE_VARIABLES];       /* texts of the same value; 0: none */
  int right;                                   /* the right side is looked at */
  int changed;                                 /* more is known than at the start of the round */
  int failed;                                  /* WHY says what has no type */
  int clashes;                                 /* and axes of one sort stand for those of another */
  int kept;                    /* axes that are kept, but for the first ones of sorts */
  const gemel__termexpr *expr; /* that is looked at, and the place in its code */
  uint32_t code;
  const gemel__termexpr *clash; /* where they do */
  uint32_t clash_code;
  int condition;  /* EXPR must hold */
  int left_typed; /* so conditions may say that sorts are one which only have as many axes */
  /* There are FOLDS reductions over a list of axes. All reduce the axes FOLDED of the sort
   * FOLDED_OF, unless DIFFERENT is 1. SINGLES more reduce one axis of those that are kept. */
  uint32_t folded;
  uint16_t folded_of;
  int folds, singles, different;
  uint16_t sides[2][GEMEL__RULE_NODES]; /* the sort of each node of the left and the right side */
  unsigned char shapes[GEMEL__RULE_VARIABLES]; /* the same of tensors of which that is known */
  int counts_elements;                         /* an element is a number of elements */
  char why[200];
} gemel__axes;

/* ---- Sorts (axes-sorts.c) ---- */

uint16_t gemel__axes_find(gemel__axes *x, uint16_t sort);
uint16_t gemel__axes_frame(gemel__axes *x, uint16_t sort);
uint16_t gemel__axes_make(gemel__axes *x, gemel__axes_how how, uint16_t a, uint16_t b,
                          uint32_t key);
void gemel__axes_unite(gemel__axes *x, uint16_t a, uint16_t b);
void gemel__axes_align(gemel__axes *x, uint16_t a, uint16_t b);
void gemel__axes_as_long(gemel__axes *x, uint16_t a, uint16_t b);
void gemel__axes_keep_first(gemel__axes *x, uint16_t sort, int64_t count);
int gemel__axes_same(gemel__axes *x, uint16_t a, uint16_t b);
int gemel__axes_aligned(gemel__axes *x, uint16_t a, uint16_t b);
int gemel__axes_same_length(gemel__axes *x, uint16_t a, uint16_t b);
int gemel__axes_count(gemel__axes *x, uint16_t sort);
void gemel__axes_set_count(gemel__axes *x, uint16_t sort, int64_t count);

/* 0 if links between the sorts of the last round come back to where they began: then one axis may
 * be linked to another of its own tensor. */
int gemel__axes_are_trees(gemel__axes *x);

/* All axes that are kept, whatever the elements are. */
int gemel__axes_kept(gemel__axes *x);

/* No type; and that, because axes OF a sort stand where those of SORT are wanted. */
void gemel__axes_fail(gemel__axes *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void gemel__axes_clash(gemel__axes *x, uint16_t of, uint16_t sort);

/* ---- Expressions (axes-terms.c) ---- */

void gemel__axes_evaluate(gemel__axes *x, const gemel__termexpr *expr, gemel__axes_value *value);

/* The number of TEXT, the same for the same. */
uint32_t gemel__axes_text_number(gemel__axes *x, const gemel__axes_text *text);

/* 1 if V's entries are axes of SORT (or -1): else says so. Numbers that are written out are kept.
 */
int gemel__axes_are(gemel__axes *x, const gemel__axes_value *v, uint16_t sort);

/* ---- Rules ---- */

typedef struct gemel__axes_report {
  int typed; /* 0: WHY not */
  int bound; /* of a typed rule: what is proved for any elements up to this rank is so for all */
  int bound_of_values; /* and of proofs that look at elements; 0: none is enough */
  int clashes; /* axes of one tensor are used as those of another: WHY, at line and column */
  int line, column;
  char why[200];
} gemel__axes_report;

/* Types RULE. GEMEL_OK, or GEMEL_NO_MEMORY. */
gemel_status gemel__axes_check(const struct gemel_rule *rule, gemel__axes_report *report,
                               gemel_error *error);

/* The axes at which the elements of both sides must be kept apart (axes-bound.c); *ANY: if nothing
 * is known of elements. -1: no number is enough. */
int gemel__axes_of_elements(gemel__axes *x, int *any);

/* The same of a rule that has elementwise operations and reductions along one list of axes only, so
 * that axes which are reduced may be made one (axes-sums.c); -1: it is none. */
int gemel__axes_of_sums(gemel__axes *x);

#endif
