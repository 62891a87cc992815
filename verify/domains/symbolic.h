/* SPDX-License-Identifier: MIT
 *
 * The domain of formulas: an element is a term (formula.h) for its value, and one for whether it is
 * defined. Evaluating a reference gives the formula of each result. Where a reference takes a
 * decision, sign() answers "undecided", and the reference calls choose() with both alternatives.
 * Numbers are real and integers wrap, as in domain O. What has no formula (infinities, powers to a
 * variable) is a GAP.
 */
#ifndef GEMEL__DOMAINS_SYMBOLIC_H
#define GEMEL__DOMAINS_SYMBOLIC_H

#include <gemel/operation.h>
#include "domains/domain.h"
#include "domains/formula.h"

/* A decision that a reference took: the sign of TERM, or its floor. */
typedef struct gemel__symbolic_decision {
  const void *graph; /* the node that was being evaluated */
  uint32_t node;
  int side; /* the domain's SIDE at that time */
  int floor;
  gemel__formula term, defined;
} gemel__symbolic_decision;

typedef struct gemel__symbolic {
  gemel__domain domain; /* first */
  gemel__observer observer;
  gemel__formulas *terms;
  gemel__symbolic_decision *decisions;
  size_t n_decisions, capacity;
  const void *graph;
  uint32_t node;
  int side;
  gemel__formula open; /* a term whose sign was asked for and not yet used by choose(); 0: none */
  int failed;          /* memory is out, or a reference didn't handle an undecided sign */
} gemel__symbolic;

/* A domain with room for LIMIT terms; NULL when memory is out. */
gemel__symbolic *gemel__symbolic_new(size_t limit);
void gemel__symbolic_free(gemel__symbolic *s);

/* Sets E to a variable: any number that a leaf of DTYPE and RANGE may have. Returns its term. Adds
 * the conditions on it to *DEMANDS, a truth. */
gemel__formula gemel__symbolic_leaf(gemel__symbolic *s, void *e, gemel_dtype dtype,
                                    gemel_range range, gemel__formula *demands);

/* The value of an element, and the truth that it is defined. Returns 0 for a GAP, which has
 * neither. */
int gemel__symbolic_terms(const void *e, gemel__formula *value, gemel__formula *defined);

#endif
