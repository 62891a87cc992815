/* SPDX-License-Identifier: MIT
 *
 * Long sums and products: trees of operations as lists of terms. What a sum and a product have in
 * common is here, what tells them apart in sums.c and products.c.
 */
#ifndef GEMEL__PASSES_NARY_H
#define GEMEL__PASSES_NARY_H

#include "core/tensor.h"
#include "passes/edit.h"

/* How often a value stands in a tree. Of a sum: its coefficient, as the bits of an integer that
 * wraps, or as a float. Of a product: its exponents above and below the bar. */
typedef struct gemel__nary_factor {
  uint64_t bits;
  double real, below;
} gemel__nary_factor;

typedef struct gemel__nary_term {
  gemel__ref value;
  gemel__nary_factor factor;
  uint32_t group;     /* that of its type */
  uint32_t same_node; /* the term before with the same node, + 1 */
} gemel__nary_term;

/* Sizes from the last axis on; those that are symbols are taken for a guess. */
typedef struct gemel__extent {
  int rank; /* -1: of nothing */
  double sizes[GEMEL_MAX_RANK];
} gemel__extent;

enum { GEMEL__NARY_OPS = 6, GEMEL__NARY_GROUPS = 16 };

typedef struct gemel__nary {
  const struct gemel__nary_form *form;
  gemel_edit *edit;
  const gemel_graph *from;
  gemel_error *error;
  uint32_t ops[GEMEL__NARY_OPS]; /* of the form's names */
  unsigned char *inner, *root;   /* by node: lies inside a tree; is the root of one, or inside */
  uint32_t *place;               /* by node: its last term, + 1 */
  struct gemel__nary_entry *stack;
  size_t depth, stack_capacity;
  /* the tree at hand */
  gemel_dtype dtype;
  uint64_t mask; /* of an integer's bits */
  gemel__nary_term *terms;
  size_t n_terms, term_capacity;
  gemel__nary_factor constant; /* what is added, or multiplied with */
  int inexact; /* some number isn't what it should be, or there are too many types: the tree stays
                */
  double cost; /* of the tree as it is */
  /* types of terms; ORDER: the smallest first */
  gemel_type groups[GEMEL__NARY_GROUPS];
  uint32_t order[GEMEL__NARY_GROUPS], n_groups;
  double weights[GEMEL__NARY_GROUPS]; /* elements of each type */
} gemel__nary;

/* What a tree is made of. OPEN and LEAF return −1 when memory is out. */
typedef struct gemel__nary_form {
  const char *ops[GEMEL__NARY_OPS]; /* NULL where there are fewer */
  int integer;                      /* trees of integers; else of floats */
  int cancel;                       /* what cancels is left out, NaN or not */
  gemel__nary_factor one, nothing;  /* the factor of a root; the constant to begin with */
  /* NODE, of one of the operations, belongs to trees: 1 */
  int (*takes)(const gemel__nary *n, uint32_t node);
  /* Pushes NODE's operands, and adds to n->cost. */
  int (*open)(gemel__nary *n, uint32_t node, gemel__nary_factor factor);
  /* VALUE, which lies in no tree, is part of the tree at hand. */
  int (*leaf)(gemel__nary *n, gemel__ref value, gemel__nary_factor factor);
  /* TERM takes FACTOR more: 1; 0 if the two stay apart, which must not depend on what TERM has
   * taken before: a second look at the result would see it otherwise. */
  int (*merge)(const gemel__nary *n, gemel__nary_term *term, gemel__nary_factor factor);
  /* What the terms and the constant cost: operations, times the elements of what they make. Never
   * less than the same tree would cost when it is looked at again. */
  double (*cost)(gemel__nary *n);
  /* Builds them, of a type that broadcasts to the root's, with the terms' values in the new graph.
   */
  gemel_value (*build)(gemel__nary *n, const gemel_value *values, gemel_graph *to,
                       gemel_location where);
} gemel__nary_form;

/* The pass of FORM. */
gemel_status gemel__nary_run(const gemel__nary_form *form, gemel_edit *edit, gemel_error *error);

/* For OPEN: VALUE times FACTOR is looked at later. For LEAF: it is a term. */
int gemel__nary_push(gemel__nary *n, gemel__ref value, gemel__nary_factor factor);
int gemel__nary_term_add(gemel__nary *n, gemel__ref value, gemel__nary_factor factor);

/* The elements of what NODE makes. */
double gemel__nary_weight(const gemel__nary *n, uint32_t node);

/* What is made when values of extent A and of the type of group G are put together; its elements.
 */
gemel__extent gemel__nary_join(const gemel__nary *n, gemel__extent a, uint32_t g);
double gemel__nary_elements(gemel__extent extent);

/* 1 if all elements of VALUE are one number: its BITS, with zeros above its dtype's, and, of a
 * float, REAL. */
int gemel__nary_number(const gemel__nary *n, gemel__ref value, gemel__nary_factor *number);

/* 1 if a float of the dtype at hand holds X, which is finite. */
int gemel__nary_holds(const gemel__nary *n, double x);

/* NUMBER (an integer's bits, or a real) as a constant of the dtype at hand. */
gemel_value gemel__nary_constant(const gemel__nary *n, gemel_graph *to, gemel__nary_factor number,
                                 gemel_location where);

/* Operation OP on one or two values; Y null: one. */
gemel_value gemel__nary_apply(gemel_graph *to, const char *op, gemel_value x, gemel_value y,
                              gemel_location where);

#endif
