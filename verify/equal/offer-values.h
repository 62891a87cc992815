/* SPDX-License-Identifier: MIT
 *
 * The numbers of offers (offers.h), and how near a constant is to one.
 */
#ifndef GEMEL__EQUAL_OFFER_VALUES_H
#define GEMEL__EQUAL_OFFER_VALUES_H

#include "domains/bound.h"
#include "equal/elements.h"
#include "equal/offers.h"
#include "reference/reference.h"

/* What a correct implementation may compute for an element: numbers within RADIUS of MIDDLE[0] +
 * MIDDLE[1], the exact value. NaN, RADIUS being 0: it is undefined. */
typedef struct gemel__ball {
  double middle[2], radius;
} gemel__ball;

/* What is known of one offer beside its shape. */
typedef struct gemel__offer_value {
  int unevaluated;          /* domain B doesn't evaluate it: ELEMENTS does, if it has terms */
  gemel__elements elements; /* of a large offer */
  gemel__ball *balls;       /* of a small one: its elements */
} gemel__offer_value;

typedef struct gemel__offer_values {
  gemel__offers *offers;
  gemel__rtensor *of; /* by offer: its shape, without elements; of dtype GEMEL_DTYPE_COUNT if it
                       * can't be compared */
  gemel__offer_value *more; /* by offer */
  size_t n;
  size_t *place; /* by node of the offers' graph: the offer that it is, plus 1; 0: none */
  size_t n_places;
  int failed; /* memory is out */
} gemel__offer_values;

/* Evaluates OFFERS, to which operands of large ones are added. Begin with zeros; release with
 * gemel__offer_values_clear whatever is returned. */
gemel_status gemel__offer_values_make(gemel__offer_values *v, gemel__offers *offers,
                                      gemel_error *error);
void gemel__offer_values_clear(gemel__offer_values *v);

/* How far X is from element I of offer K, in radii of the ball that a correct implementation
 * computes; with that *RADIUS. Where the exact value is NaN or infinite, only that is at distance
 * 0. */
double gemel__offer_ratio(gemel__offer_values *v, size_t k, size_t i, double x, double *radius);

#endif
