/* SPDX-License-Identifier: MIT
 *
 * What an element of domain B is made of; for bound.c and bound-verdict.c only.
 */
#ifndef GEMEL__DOMAINS_BOUND_ELEMENT_H
#define GEMEL__DOMAINS_BOUND_ELEMENT_H

#include <arb.h>
#include "domains/bound.h"

typedef struct gemel__bounded {
  gemel__state state;
  int infinite; /* −1 or 1: that infinity, both exactly and computed; 0: a number */
  int same;     /* computed is not used: it is equal to exact */
  arb_t exact;  /* holds the exact value */
  arb_t computed;
} gemel__bounded;

static inline const arb_struct *gemel__bounded_computed(const gemel__bounded *a) {
  return a->same ? a->exact : a->computed;
}

#endif
