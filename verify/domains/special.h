/* SPDX-License-Identifier: MIT
 *
 * Domain S, IEEE special values. An element is an MPFR number of 200 bits with a wide exponent,
 * which may be NaN, ±Inf or ±0, and every operation does with these what IEEE 754 and C's Annex F
 * say: Inf − Inf = NaN, 0 · Inf = NaN, 1 ÷ −0 = −Inf, log(0) = −Inf, sqrt(−0) = −0, pow(NaN, 0)
 * = 1.
 *
 * round(dtype) rounds to nearest, ties to even, into the dtype's own numbers: overflow to infinity,
 * subnormals, zeros that keep their sign. All other operations round "to odd" at 200 bits (a result
 * that isn't exact gets an odd last bit), so that the second rounding is as if there had been no
 * first: after round(), + − × ÷ sqrt are bit for bit what the hardware gives (Boldo and Melquiond,
 * "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE ToC
 * 57(4), 2008). Integer dtypes wrap modulo 2^w; NaN stores as 0, infinities as the extremes,
 * fractions are cut off. bool is ≠ 0, so NaN is true.
 *
 * State is DEFINED always, NaN being a value here, unless set_state says otherwise. sign() of NaN
 * is GEMEL__UNORDERED, of either zero 0.
 *
 * A domain object is for one thread at a time; several may be used side by side.
 */
#ifndef GEMEL__DOMAINS_SPECIAL_H
#define GEMEL__DOMAINS_SPECIAL_H

#include "domains/domain.h"

typedef struct gemel__special {
  gemel__domain domain; /* first, so a pointer to it is a pointer to the whole */
  int zero_signs;       /* 1 (new): gemel__special_agrees tells −0 from +0 */
  int unrounded;        /* 1: round() leaves floats as they are, so that what is judged is how far a
                           result is from the exact one; for graphs of one rounding, the last */
} gemel__special;

/* A new domain; NULL when memory is out. Free it with gemel__special_free after all its elements;
 * NULL is ignored there. */
gemel__special *gemel__special_new(void);
void gemel__special_free(gemel__special *s);

/* 1 if E is NaN / infinite / has its sign bit set. */
int gemel__special_is_nan(gemel__domain *d, const void *e);
int gemel__special_is_infinite(gemel__domain *d, const void *e);
int gemel__special_sign_bit(gemel__domain *d, const void *e);

/* E as a double, rounded to nearest: exact if E was rounded to a float dtype. */
double gemel__special_value(gemel__domain *d, const void *e);

/* 1 if COMPUTED, a number of DTYPE, is what E asks for: NaN for NaN, the same infinity, a zero for
 * a zero (of the same sign, if zero_signs), and else a number within ULPS units in the last place
 * of DTYPE at E. ULPS < 0 means 0.5, and up to 0.5 the number must be E rounded to DTYPE. An error
 * of ULPS may overflow to infinity or underflow to zero, if that is near enough. For integer dtypes
 * and bool: E, stored in DTYPE, is COMPUTED (of 64 bits: both converted to double). */
int gemel__special_agrees(gemel__domain *d, const void *e, gemel_dtype dtype, double computed,
                          double ulps);

/* How many units in the last place of DTYPE, a float, COMPUTED lies from E (which is exact if the
 * domain is `unrounded`). 0 where E is NaN, infinite or 0, COMPUTED is NaN, or both overflow; an
 * infinity that should be finite counts as the power of two beyond the largest number. */
double gemel__special_ulps(gemel__domain *d, const void *e, gemel_dtype dtype, double computed);

/* Where a function's results change their kind, and kernels with them. */
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
