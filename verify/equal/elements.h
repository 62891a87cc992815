/* SPDX-License-Identifier: MIT
 *
 * The elements of a large offer (offers.h), one at a time: what a network's weights come to needn't
 * be stored to be compared.
 */
#ifndef GEMEL__EQUAL_ELEMENTS_H
#define GEMEL__EQUAL_ELEMENTS_H

#include "core/graph.h"

/* Values of offers' graphs with more elements are large. */
enum { GEMEL__LARGE_OFFER = 1 << 14 };

/* How one value in an offer's expression is computed, for each place where it is used. */
typedef struct gemel__element_term gemel__element_term;

/* An expression in large values of f32: sums, products, quotients, negatives and moves of constants
 * and of small values. */
typedef struct gemel__elements {
  gemel__element_term *terms; /* each before its operands */
  size_t n;
} gemel__elements;

/* How many elements the value has. */
int64_t gemel__value_elements(gemel_value value);

/* Makes the expression of VALUE. SMALL returns the number by which a small value will be asked for.
 * GEMEL_DECLINED: it has other operations or dtypes, or too many of them. */
gemel_status gemel__elements_make(gemel__elements *e, gemel_value value,
                                  int64_t (*small)(void *user, gemel_value value), void *user,
                                  gemel_error *error);
void gemel__elements_clear(gemel__elements *e);

/* *VALUE: element I; *RADIUS: how far f32's roundings may bring it from there, as in domain B
 * (domains/bound.h); infinite if that isn't known. KNOWN returns an element of a small value, and
 * its radius. */
void gemel__elements_at(const gemel__elements *e, size_t i,
                        double (*known)(void *user, int64_t small, size_t i, double *radius),
                        void *user, double *value, double *radius);

#endif
