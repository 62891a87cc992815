/* SPDX-License-Identifier: MIT
 *
 * Aims: input values at which a graph with literals changes its behaviour. For `x < 7` these are 7
 * and its neighbours; for `x * 8 == 98760`, 12345 and every other x for which the product wraps to
 * 98760. Random values seldom hit them, so they are written among the values drawn otherwise.
 */
#ifndef GEMEL__SAMPLE_AIMS_H
#define GEMEL__SAMPLE_AIMS_H

#include <gemel/graph.h>
#include "base/random.h"

/* Most aims for each input. */
enum { GEMEL__AIMS = 48 };

/* A number of a float dtype, or an integer as int64_t bits. */
typedef union gemel__aim {
  double real;
  int64_t whole;
} gemel__aim;

typedef struct gemel__aims {
  size_t n_inputs;
  size_t most; /* the largest count of aims of an input */
  struct gemel__aims_of {
    size_t count;
    int keys; /* 1: the input is a key of random numbers, and aims are its second numbers (keys.h)
               */
    gemel__aim at[GEMEL__AIMS];
  } * inputs;
} gemel__aims;

#endif
