/* SPDX-License-Identifier: MIT
 *
 * The struct of an element of domain B, for bound.c and bound-verdict.c only.
 */
#ifndef GEMEL__DOMAINS_BOUND_ELEMENT_H
#define GEMEL__DOMAINS_BOUND_ELEMENT_H

#include "domains/arb.h"
#include "domains/bound.h"

typedef struct gemel__bounded {
  gemel__state state;
  int infinite; /* −1 or 1: both parts are that infinity; 0: a number */
  int same;     /* the computed ball is the exact one; `computed` is unused */
  arb_t exact;  /* holds the exact value */
  arb_t computed;
} gemel__bounded;

static inline const arb_struct *gemel__bounded_computed(const gemel__bounded *a) {
  return a->same ? a->exact : a->computed;
}

#endif
