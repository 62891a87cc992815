/* SPDX-License-Identifier: MIT
 *
 * What the kernels of convolutions share.
 */
#ifndef GEMEL__KERNELS_CONV_H
#define GEMEL__KERNELS_CONV_H

#include "kernels/several.h"
#include "kernels/types.h"

extern "C" {
#include "ops/conv.h"
}
#include "kernels/conv-algorithms.h"

/* The digits of NUMBER by SIZES, the last one the fastest; returns what is left. */
DEVICE long long split_index(long long number, const long long *sizes, long long *index) {
  for (int k = GEMEL__SPATIAL_AXES - 1; k >= 0; k--) {
    index[k] = number % sizes[k];
    number /= sizes[k];
  }
  return number;
}

/* The same; NARROW: numbers are below 2^31. */
DEVICE long long split_index(bool narrow, long long number, const divisor *sizes,
                             long long *index) {
  for (int k = GEMEL__SPATIAL_AXES - 1; k >= 0; k--) {
    long long rest = quotient(narrow, number, sizes[k]);
    index[k] = number - rest * sizes[k].size;
    number = rest;
  }
  return number;
}

#endif
