/* SPDX-License-Identifier: MIT
 *
 * Shared by offers.c and offers-linear.c: which constants a value of a graph is linear in.
 */
#ifndef GEMEL__EQUAL_OFFERS_FORM_H
#define GEMEL__EQUAL_OFFERS_FORM_H

#include "core/graph.h"
#include "equal/offers.h"
#include "reference/twin.h"

enum { GEMEL__SHIFTS = 6 };

/* A constant that a value is linear in, such as W in dot(x, W). Axis k of VALUE is the value's axis
 * AXES[k]; −1: none (it was summed over). A factor along axes that VALUE has may be multiplied into
 * VALUE instead of the value.
 *
 * With GROUPS above 1, as weights of a grouped convolution have them, axis BLOCKS of VALUE is that
 * many blocks, one a group, and axis PART is only one group's part of the value's axis AXES[PART]:
 * in block g its element i is the value's g · (size of PART) + i. */
typedef struct gemel__coefficient {
  gemel_value value;
  signed char axes[GEMEL_MAX_RANK];
  int64_t groups; /* 0 and 1: none */
  int part, blocks;
} gemel__coefficient;

/* What is known of a value v that isn't constant: v = core * SCALE + the sum of SHIFTS, and v's
 * coefficients. SCALE (null: none), RECENT and SHIFTS have v's rank, with size 1 along axes on
 * which they don't vary. An empty form says nothing. */
typedef struct gemel__form {
  size_t first, n;
  gemel_value scale, shifts[GEMEL__SHIFTS];
  gemel_value recent; /* of SCALE the factors behind the last term; null: none */
  size_t n_shifts;
  int shared; /* a product of two values that aren't constant: part of a factor may go to either */
} gemel__form;

/* The state of a collection. */
typedef struct gemel__collecting {
  gemel__offers *offers;
  const gemel_graph *by;
  int (*wanted)(void *user, gemel_dtype dtype, int64_t elements);
  void *user;
  gemel_value *copies; /* by node of BY: its first result, copied; null: it depends on an input */
  gemel__form *forms;  /* by node, of those that aren't constant */
  gemel__coefficient *pool;
  size_t n_pool, capacity;
  int64_t elements;       /* of all small offers together */
  double work;            /* multiplications in products of constants */
  unsigned char *offered; /* a byte a node of the offers' graph, of N_OFFERED: it is one */
  size_t n_offered;
  int failed; /* memory is out */
} gemel__collecting;

/* X, a value of BY, as a value of the offers' graph; null if it depends on an input. */
gemel_value gemel__offer_copy(const gemel__collecting *c, gemel__ref x);

/* Adds X to the offers, in the dtypes in which it is wanted and can be afforded. */
void gemel__offer(gemel__collecting *c, gemel_value x);

/* Adds a coefficient, unless its value is null, to FORM, the form under construction. */
void gemel__form_add(gemel__collecting *c, gemel__form *form, const gemel__coefficient *own);

/* Coefficient K times FACTOR, or divided by it if QUOTIENT, in K's axes. FACTOR has the rank of the
 * form. Null if FACTOR varies along an axis that K doesn't have. */
gemel_value gemel__coefficient_times(const gemel__coefficient *k, gemel_value factor, int quotient);

/* The constant X with new axes in front, so that it has RANK. */
gemel_value gemel__offer_aligned(gemel_value x, int rank);

/* Fills in FORM of NODE of BY, which isn't constant, for operations that aren't elementwise; or
 * leaves it empty. */
void gemel__form_linear(gemel__collecting *c, uint32_t node, gemel__linearity linearity,
                        gemel__form *form);

#endif
