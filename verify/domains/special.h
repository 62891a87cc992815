/* SPDX-License-Identifier: MIT
 *
 * Domain S, IEEE special values. An element is an MPFR number of 200 bits with a wide exponent
 * range; it may be NaN, ±Inf or ±0. Operations on these follow IEEE 754 and C's Annex F: Inf − Inf
 * = NaN, 0 · Inf = NaN, 1 ÷ −0 = −Inf, log(0) = −Inf, sqrt(−0) = −0, pow(NaN, 0) = 1.
 *
 * round(dtype) rounds to nearest even into the dtype's own numbers, with overflow to infinity,
 * subnormals, and zeros that keep their sign. All other operations round "to odd" at 200 bits: an
 * inexact result gets an odd last bit. Then the second rounding gives what a single one would have
 * given, so after round(), + − × ÷ sqrt are bit for bit those of the hardware (Boldo and Melquiond,
 * "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE ToC
 * 57(4), 2008). Integer dtypes wrap modulo 2^w; NaN stores as 0, infinities as the extremes,
 * fractions are cut off. bool is ≠ 0, so NaN is true.
 *
 * The state is always DEFINED, unless set_state changes it: NaN is a value here. sign() of NaN is
 * GEMEL__UNORDERED, of either zero 0.
 *
 * A domain object is for one thread at a time; several may be used side by side.
 */
#ifndef GEMEL__DOMAINS_SPECIAL_H
#define GEMEL__DOMAINS_SPECIAL_H

#include "domains/domain.h"

typedef struct gemel__special {
  gemel__domain domain; /* first, so a pointer to it is a pointer to the whole */
  int zero_signs;       /* 1, as in a new domain: gemel__special_agrees tells −0 from +0 */
  int unrounded;        /* 1: round() doesn't round floats, so that a result is compared with the
                         * exact one; for graphs whose only rounding is the last */
  size_t unknown;       /* how many signs of elements without a value were asked for, since the
                         * caller last set this to 0: they are taken for NaN's */
  size_t invalid;       /* likewise, how many functions and powers of numbers were NaN */
} gemel__special;

/* A new domain; NULL when memory is out. Free it with gemel__special_free after all its elements;
 * NULL is ignored there. */
gemel__special *gemel__special_new(void);
void gemel__special_free(gemel__special *s);

/* 1 if E is NaN / infinite / has its sign bit set. */
int gemel__special_is_nan(gemel__domain *d, const void *e);
int gemel__special_is_infinite(gemel__domain *d, const void *e);
int gemel__special_sign_bit(gemel__domain *d, const void *e);

/* 1 if A and B are the same number but for rounding on the way to it: both NaN, the same infinity,
 * zeros of any sign, or apart by less than half of the 200 bits. */
int gemel__special_alike(gemel__domain *d, const void *a, const void *b);

/* E as a double, rounded to nearest: exact if E was rounded to a float dtype. */
double gemel__special_value(gemel__domain *d, const void *e);

/* 1 if COMPUTED, a number of DTYPE, is an allowed result where E is the expected one. NaN for NaN,
 * the same infinity, a zero for a zero (of the same sign, if zero_signs), and else a number within
 * ULPS units in the last place of DTYPE at E. ULPS < 0 means 0.5; up to 0.5, COMPUTED must be E
 * rounded to DTYPE. With more it may also be the infinity or zero that the error reaches. For
 * integer dtypes and bool, COMPUTED must be E stored in DTYPE (of 64 bits: both converted to
 * double). */
int gemel__special_agrees(gemel__domain *d, const void *e, gemel_dtype dtype, double computed,
                          double ulps);

/* The distance of COMPUTED from E in units in the last place of DTYPE, a float (E is exact if the
 * domain is `unrounded`). 0 where E is NaN, infinite or 0, COMPUTED is NaN, or both overflow. An
 * infinity where E is finite counts as the power of two above the largest number. */
double gemel__special_ulps(gemel__domain *d, const void *e, gemel_dtype dtype, double computed);

/* Kinds of results. Where a function's results change from one kind to another, kernels often
 * branch. */
typedef enum gemel__landmark {
  GEMEL__MARK_NAN = 1,
  GEMEL__MARK_ZERO,
  GEMEL__MARK_SUBNORMAL,
  GEMEL__MARK_NORMAL,
  GEMEL__MARK_ONE,  /* exactly 1 or −1, where many functions saturate */
  GEMEL__MARK_LIMIT /* infinite, or the least or largest integer */
} gemel__landmark;

/* The landmark of E, stored in DTYPE; minus that if it is negative. */
int gemel__special_landmark(gemel__domain *d, const void *e, gemel_dtype dtype);

#endif
