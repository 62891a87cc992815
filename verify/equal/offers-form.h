/* SPDX-License-Identifier: MIT
 *
 * Inside offers.c and offers-linear.c: which constants a value of a graph is linear in.
 */
#ifndef GEMEL__EQUAL_OFFERS_FORM_H
#define GEMEL__EQUAL_OFFERS_FORM_H

#include "core/graph.h"
#include "equal/offers.h"
#include "reference/twin.h"

enum { GEMEL__SHIFTS = 6 };

/* A constant that a value is linear in: VALUE, whose axis k is the value's axis AXES[k]; -1: none
 * (an axis that was summed over). Multiplying it along axes that it has multiplies the value. */
typedef struct gemel__coefficient {
  gemel_value value;
  signed char axes[GEMEL_MAX_RANK];
} gemel__coefficient;

/* What is known of a value v that isn't a constant: v = core * SCALE + the sum of SHIFTS, and its
 * coefficients. SCALE (null: none) and SHIFTS have v's rank, with axes of size 1 where they don't
 * vary. An empty form says nothing. */
typedef struct gemel__form {
  size_t first, n;
  gemel_value scale, shifts[GEMEL__SHIFTS];
  size_t n_shifts;
  int shared; /* a product of two values that aren't constants: a factor may go to both in part */
} gemel__form;

/* One collection under way. */
typedef struct gemel__collecting {
  gemel__offers *offers;
  const gemel_graph *by;
  int (*wanted)(void *user, gemel_dtype dtype, int64_t elements);
  void *user;
  gemel_value *copies; /* of BY's nodes that are constants all through; null: it isn't one */
  gemel__form *forms;  /* of the others */
  gemel__coefficient *pool;
  size_t n_pool, capacity;
  int64_t elements; /* of what was offered, all told */
  int failed;       /* memory is out */
} gemel__collecting;

/* Adds X to the offers, in the dtypes in which it is wanted and can be afforded. */
void gemel__offer(gemel__collecting *c, gemel_value x);

/* Adds a coefficient to FORM, which is the one at hand. AXES: one an axis of VALUE. */
void gemel__form_add(gemel__collecting *c, gemel__form *form, gemel_value value,
                     const signed char *axes);

/* Coefficient K times FACTOR (of the form's rank), or divided by it if QUOTIENT: in K's axes; null
 * if K hasn't all the axes along which FACTOR varies. */
gemel_value gemel__coefficient_times(const gemel__coefficient *k, gemel_value factor, int quotient);

/* The constant X with as many axes as RANK, new ones in front. */
gemel_value gemel__offer_aligned(gemel_value x, int rank);

/* What NODE of BY, which isn't constant, is linear in, for operations that aren't elementwise:
 * fills FORM in, or leaves it empty. */
void gemel__form_linear(gemel__collecting *c, uint32_t node, gemel__linearity linearity,
                        gemel__form *form);

#endif
