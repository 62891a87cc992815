/* SPDX-License-Identifier: MIT
 *
 * The mistakes that the kernels of planted.cu can be told to make.
 */
#ifndef GEMEL_TESTS_KERNELS_PLANTED_H
#define GEMEL_TESTS_KERNELS_PLANTED_H

enum planted_bug {
  NO_BUG = -1,
  MISSING_BARRIER,
  OFF_BY_ONE,
  WRONG_STRIDE,
  TILE_INDEX,
  MISSING_ATOMIC,
  RACE_ON_SHARED,
  MASK_OF_HALF,
  PARTIAL_WARP
};

#endif
