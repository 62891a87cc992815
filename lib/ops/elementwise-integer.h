/* SPDX-License-Identifier: MIT
 *
 * What the kernels of signed and unsigned integers have in common.
 */
#ifndef GEMEL__OPS_ELEMENTWISE_INTEGER_H
#define GEMEL__OPS_ELEMENTWISE_INTEGER_H

#include <stdint.h>

/* X^Y modulo 2^64, and so modulo any shorter word. */
static inline uint64_t gemel__wrapping_power(uint64_t x, uint64_t y) {
  uint64_t r = 1;
  for (; y != 0; y >>= 1) {
    r = y & 1 ? r * x : r;
    x *= x;
  }
  return r;
}

#define ELEMENT_C(float_c, integer_c) integer_c
#define HAVE_ARITH SAME
#define HAVE_NUMBER SAME
#define HAVE_INTEGER SAME
#define HAVE_REAL(...)
#define HAVE_QUOTIENT(...)
#define HAVE_COMPARE TRUTH
#define HAVE_CAST(...)
#define LIST_ARITH LISTED
#define LIST_NUMBER LISTED
#define LIST_INTEGER LISTED
#define LIST_REAL(name)
#define LIST_QUOTIENT(name)
#define LIST_COMPARE LISTED
#define LIST_CAST(name)

#endif
