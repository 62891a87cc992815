/* SPDX-License-Identifier: MIT
 *
 * Moves one number of a point to where a difference changes its sign: the zero, or two neighbours
 * of its dtype between which there is none. Who searches says how the difference is computed.
 */
#ifndef GEMEL__INSTANCES_CROSSING_H
#define GEMEL__INSTANCES_CROSSING_H

#include "instances/instance.h"

/* A place and the difference there. */
typedef struct gemel__crossing_place {
  long double x;
  double f;
  int seen;
} gemel__crossing_place;

typedef struct gemel__crossing {
  const gemel__leaf *leaf;
  void *element;              /* the number that is moved, in a tensor of LEAF */
  double (*look)(void *user); /* the difference at the point; NaN: it has none */
  void *user;
  gemel__crossing_place best, other;        /* the smallest difference that was seen; another one */
  gemel__crossing_place negative, positive; /* the closest places of these signs, or zeros */
  int side;                                 /* the sign that was seen last */
} gemel__crossing;

/* Notes that the difference at X is F. */
void gemel__crossing_see(gemel__crossing *c, long double x, double f);

/* Moves the number to X; returns the difference there. */
double gemel__crossing_look(gemel__crossing *c, long double x);

/* Searches from the places that were seen, one at least. 1 if the best place is a zero, or the
 * negative and the positive one are neighbours; 0 if none was found. */
int gemel__crossing_find(gemel__crossing *c);

/* The number next to X, above it (UP: 1) or below it (−1), in the leaf's dtype. */
long double gemel__leaf_beside(const gemel__leaf *leaf, long double x, int up);

#endif
