/* SPDX-License-Identifier: MIT
 *
 * Domain O, ordered exact arithmetic. An element is an exact rational while the operations allow
 * and its numerator and denominator stay below GEMEL__ORDERED_BITS bits. Otherwise it is an
 * interval with outward-rounded endpoints of PRECISION bits (Arb's arf and arb). So a comparison is
 * right or undecided. To decide more, raise the precision and evaluate again:
 *
 *   gemel__ordered *o = gemel__ordered_new(128);
 *   do {
 *     o->undecided = 0;
 *     evaluate on &o->domain;
 *   } while (o->undecided && gemel__ordered_raise(o));
 *
 * ±∞ is a value with IEEE's limits: x + ∞ = ∞, exp(−∞) = 0, 1 ÷ ∞ = 0, log 0 = −∞, and comparisons.
 * Numbers have no largest, so there is no overflow. UNDEFINED: ∞ − ∞, 0 · ∞, ∞ ÷ ∞, division by
 * zero, log and sqrt of a negative number, NaN from outside. Where an interval straddles such a
 * border, the result is UNDECIDED. round() to an integer dtype wraps modulo 2^w; a value that is no
 * integer becomes a GAP there. round() to a float dtype does nothing: this is arithmetic over the
 * reals.
 *
 * GMP and FLINT abort when memory is out, so sizes are limited before they are called: larger
 * rationals become intervals, and endpoints beyond 2^±(2^80) become infinity or zero. Only a
 * failure to allocate a few kilobytes can abort.
 *
 * A domain object is for one thread at a time; several may be used side by side.
 */
#ifndef GEMEL__DOMAINS_ORDERED_H
#define GEMEL__DOMAINS_ORDERED_H

#include <stddef.h>
#include <stdint.h>
#include "domains/domain.h"

#define GEMEL__ORDERED_BITS 8192
#define GEMEL__ORDERED_MAX_PRECISION 2048

typedef struct gemel__ordered {
  gemel__domain domain; /* first, so a pointer to it is a pointer to the whole */
  long precision;       /* bits of interval endpoints, for results from now on */
  /* How many signs, floors and borders of a function's domain couldn't be decided since the caller
   * last set this to 0. (What is computed from an undecided element doesn't count again.) */
  size_t undecided;
  int finite; /* 1: log 0 has no value, as 1 ÷ 0 has none. 0 in a new domain. */
  /* If not NULL, each sign() and floor() pushes its decision: −1, 0, 1 or GEMEL__UNORDERED; or the
   * floor, INT64_MIN if that is undecided or doesn't fit, ±GEMEL__FLOOR_INFINITE for an
   * infinity. */
  gemel__tape *tape;
  /* If not NULL, sign() calls it with each element whose sign is asked for, and with DIVISORS div()
   * with each divisor. */
  void (*watch)(void *watcher, gemel__domain *d, const void *e);
  int divisors;
  void *watcher;
} gemel__ordered;

/* A new domain of PRECISION bits (brought into 64 … 2048); NULL when memory is out. Free it with
 * gemel__ordered_free after all its elements; NULL is ignored there. */
gemel__ordered *gemel__ordered_new(long precision);
void gemel__ordered_free(gemel__ordered *o);

/* −1 or 1 if E is exactly that infinity, else 0. */
int gemel__ordered_infinity(gemel__domain *d, const void *e);

/* Doubles the precision and sets `undecided` to 0; returns 1, or 0 (nothing done) if the precision
 * is at its maximum already. */
int gemel__ordered_raise(gemel__ordered *o);

/* Compares results (D is a domain made by gemel__ordered_new): 0 if A and B certainly differ, in
 * value or because one is defined and the other UNDEFINED; else 1. An element that is UNDECIDED or
 * a GAP overlaps everything. */
int gemel__ordered_overlap(gemel__domain *d, const void *a, const void *b);

/* ---- Whole domains ---- */

/* Sets E to the interval [LOW, HIGH]. An infinite end isn't itself included; equal ends give the
 * exact number; LOW > HIGH or NaN gives UNDECIDED. What is computed from it encloses every value of
 * the operation there, so sign() proves facts: x·x + 1 > 0 on [−∞, ∞]. mul(e, a, a) with twice the
 * same pointer is a square, ≥ 0. */
void gemel__ordered_set_interval(gemel__domain *d, void *e, double low, double high);

/* With ON ≠ 0 the domain has hull() (the union) and larger() (the maximum). An undecided choice
 * then covers both sides instead of being UNDECIDED. An undecided sign is recorded as
 * GEMEL__ORDERED_POSSIBLE plus bit s + 1 for each possible sign s. An element that covers a number
 * and an infinity includes its infinite end. Where only some of what is covered has a value (∞ − ∞
 * has none), the rest counts. Off in a new domain. For interval evaluation only, not for elements
 * that stand for one point. */
enum { GEMEL__ORDERED_POSSIBLE = 16 };
void gemel__ordered_intervals(gemel__ordered *o, int on);

/* max(A, B) and |A|, as tight as the intervals allow: relu of [−1, 2] is [0, 2], where a hull would
 * be [−1, 2]. No decision is taken or recorded. */
void gemel__ordered_max(gemel__domain *d, void *e, const void *a, const void *b);
void gemel__ordered_abs(gemel__domain *d, void *e, const void *a);

/* The nearest doubles with *LOW ≤ every value of E ≤ *HIGH; [−∞, ∞] for an element without a
 * value. */
void gemel__ordered_bounds(gemel__domain *d, const void *e, double *low, double *high);

/* 1 if E is an exact rational, 0 if it is an interval or has no value. */
int gemel__ordered_is_exact(gemel__domain *d, const void *e);

#endif
