/* SPDX-License-Identifier: MIT
 *
 * What generated kernels use beside scalar.h: groups of neighbouring elements that are read and
 * written at once, and division by the sizes of axes, which are known when a kernel is launched.
 */
#ifndef GEMEL__KERNELS_SEVERAL_H
#define GEMEL__KERNELS_SEVERAL_H

#include "kernels/types.h"

template <class T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) group {
  T at[N];
};

/* A size, and for quotients of numbers below 2^31 what stands in for the division: of a size up to
 * 2^SHIFT, MAGIC is 2^32 (2^SHIFT / size - 1), rounded up. (T. Granlund and P. L. Montgomery,
 * Division by invariant integers using multiplication, 1994.) */
struct divisor {
  long long size;
  unsigned magic, shift;
};

DEVICE unsigned quotient(unsigned n, const divisor &d) {
  return (__umulhi(n, d.magic) + n) >> d.shift;
}

DEVICE long long quotient(long long n, const divisor &d) {
  return n / d.size;
}

/* The same, by multiplication where all such numbers are below 2^31. */
DEVICE long long quotient(bool narrow, long long n, const divisor &d) {
  return narrow ? (long long)quotient((unsigned)n, d) : quotient(n, d);
}

#endif
