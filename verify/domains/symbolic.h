/* SPDX-License-Identifier: MIT
 *
 * The domain of formulas: an element is a term (domains/formula.h) for its value and one for
 * whether it is defined. A reference that runs on it makes the formula of each result. Where a
 * reference takes a decision, sign() says that it is undecided, and the reference says with
 * choose() what depends on it. Numbers are real and integers wrap, as in domain O; what has no
 * formula (infinities, powers to a variable) is a GAP.
 */
#ifndef GEMEL__DOMAINS_SYMBOLIC_H
#define GEMEL__DOMAINS_SYMBOLIC_H

#include <gemel/operation.h>
#include "domains/domain.h"
#include "domains/formula.h"

/* A decision that a reference took: the sign of TERM, or its floor. */
typedef struct gemel__symbolic_decision {
  const void *graph; /* the node at hand, as the observer was told */
  uint32_t node;
  int side; /* what the domain's SIDE was */
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
  gemel__formula open; /* asked for its sign, and nothing was chosen by it yet; 0: none */
  int failed;          /* memory is out, or a reference made nothing of a sign that was undecided */
} gemel__symbolic;

/* A domain with room for LIMIT terms; NULL when memory is out. */
gemel__symbolic *gemel__symbolic_new(size_t limit);
void gemel__symbolic_free(gemel__symbolic *s);

/* E becomes a variable: any number that a leaf of DTYPE and DOMAIN may be. Returns its term; what
 * its bounds demand is added to *DEMANDS, a truth. */
gemel__formula gemel__symbolic_leaf(gemel__symbolic *s, void *e, gemel_dtype dtype,
                                    gemel_range range, gemel__formula *demands);

/* Value of an element, and the truth that it is defined; a GAP has none (0 is returned). */
int gemel__symbolic_terms(const void *e, gemel__formula *value, gemel__formula *defined);

#endif
