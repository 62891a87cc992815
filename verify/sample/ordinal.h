/* SPDX-License-Identifier: MIT
 *
 * Numbers of a dtype by their ordinal, the place in its order. "The next number", "half way
 * between" and "a number in this binade" are then integer arithmetic. A float's ordinal is its bits
 * without the sign, negated for negative numbers: 0 is zero, 1 the smallest subnormal, then every
 * number in turn up to infinity. For any dtype a number is its bits, in the low bits of a uint64_t.
 */
#ifndef GEMEL__SAMPLE_ORDINAL_H
#define GEMEL__SAMPLE_ORDINAL_H

#include <stdint.h>
#include <gemel/dtype.h>

/* Bits of a float dtype's fraction. It has 1 << (width − 1 − fraction) exponents. */
int gemel__ordinal_fraction(gemel_dtype dtype);

/* The ordinal of a float dtype's infinity; the largest finite number is one below. */
int64_t gemel__ordinal_infinity(gemel_dtype dtype);

/* The bits of the number with that ordinal (0: +0), and back. An ordinal beyond infinity gives
 * infinity. */
uint64_t gemel__ordinal_bits(gemel_dtype dtype, int64_t ordinal);
int64_t gemel__ordinal_of(gemel_dtype dtype, uint64_t bits);

/* The float nearest to X, as bits. */
uint64_t gemel__ordinal_nearest(gemel_dtype dtype, double x);

/* The float of DTYPE above the one nearest to X (UP: 1) or below it (−1). */
double gemel__ordinal_beside(gemel_dtype dtype, double x, int up);

/* Stores BITS as an element of DTYPE. */
void gemel__ordinal_put(gemel_dtype dtype, uint64_t bits, void *at);

/* The value of BITS (of 64-bit integers: rounded to double). */
double gemel__ordinal_value(gemel_dtype dtype, uint64_t bits);

/* The positive binades of a float dtype. Binade K, from 0 for the smallest (subnormal) one, is the
 * numbers with 2^e ≤ x < 2^(e+1). *FIRST is the ordinal of 2^e; returned is how many numbers there
 * are. */
int gemel__ordinal_binades(gemel_dtype dtype);
int64_t gemel__ordinal_binade(gemel_dtype dtype, int k, int64_t *first);
/* The exponent e of binade K. */
int gemel__ordinal_exponent(gemel_dtype dtype, int k);

#endif
