/* SPDX-License-Identifier: MIT
 *
 * Domain O, ordered exact arithmetic. An element is an exact rational as long as the operations
 * allow and its numerator and denominator stay below GEMEL__ORDERED_BITS bits; else an interval
 * with outward-rounded endpoints of PRECISION bits (Arb's arf and arb). So every comparison is
 * either right or undecided, and undecided ones can be asked again at a higher precision: raise it
 * by gemel__ordered_raise and evaluate again, as long as `undecided` is not 0 afterwards.
 *
 *   gemel__ordered *o = gemel__ordered_new(128);
 *   do { o->undecided = 0; evaluate on &o->range; } while (o->undecided &&
 * gemel__ordered_raise(o));
 *
 * ±∞ is a value, with IEEE's limits: x + ∞ = ∞, exp(−∞) = 0, 1 ÷ ∞ = 0, log 0 = −∞, and comparisons
 * (overflow makes none: numbers have no end). What has no value is UNDEFINED: ∞ − ∞, 0 · ∞, ∞ ÷ ∞,
 * division by zero, log and sqrt of a number < 0, NaN from outside. Where an interval straddles
 * such a border, the result is UNDECIDED. Integer dtypes wrap modulo 2^w in round(); a value that
 * is no integer there is a GAP. Float dtypes do nothing: this is arithmetic over the reals.
 *
 * Sizes are capped before GMP and FLINT are called (they abort when memory is out): larger
 * rationals turn into intervals, and endpoints beyond 2^±(2^80) into infinity or zero. Nothing here
 * aborts but for a refusal of the few kilobytes that such numbers take.
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
  /* How often a sign, a floor or a border of a domain couldn't be decided since the program last
   * set this to 0 (descendants of an undecided element don't count again). */
  size_t undecided;
  /* If not NULL, each sign() and floor() pushes what it decided: −1, 0, 1 or GEMEL__UNORDERED; the
   * floor, or INT64_MIN where it is undecided or doesn't fit, GEMEL__FLOOR_INFINITE with the sign
   * of an infinity. */
  gemel__tape *tape;
  /* If not NULL, sign() hands over what it is asked of. */
  void (*watch)(void *watcher, gemel__domain *d, const void *e);
  void *watcher;
} gemel__ordered;

/* A new domain of PRECISION bits (brought into 64 … 2048); NULL when memory is out. Free it with
 * gemel__ordered_free after all its elements; NULL is ignored there. */
gemel__ordered *gemel__ordered_new(long precision);
void gemel__ordered_free(gemel__ordered *o);

/* −1 or 1 if E is that infinity and nothing else, else 0. */
int gemel__ordered_infinity(gemel__domain *d, const void *e);

/* Doubles the precision and sets `undecided` to 0; returns 1, or 0 (nothing done) if the precision
 * is at its maximum already. */
int gemel__ordered_raise(gemel__ordered *o);

/* For tests of results (D is a domain made by gemel__ordered_new): 0 if A and B certainly differ,
 * be it in value or because one is defined and the other UNDEFINED; else 1. An element that is
 * UNDECIDED or a GAP overlaps everything. */
int gemel__ordered_overlap(gemel__domain *d, const void *a, const void *b);

/* ---- Whole domains ---- */

/* E becomes all the numbers of [LOW, HIGH] (infinite ends allowed, which aren't reached; equal ends
 * give the exact number; LOW > HIGH or NaN gives UNDECIDED). What is computed from it encloses
 * every value that the operation takes there, so sign() proves facts: x·x + 1 > 0 on [−∞, ∞].
 * mul(e, a, a) with twice the same pointer is a square, ≥ 0. */
void gemel__ordered_set_interval(gemel__domain *d, void *e, double low, double high);

/* With ON ≠ 0 the domain has a hull() (the union) and a larger() (the maximum), so an undecided
 * choice covers both sides instead of ending in UNDECIDED, and an undecided sign is recorded as
 * GEMEL__ORDERED_POSSIBLE plus bit s + 1 for each sign s that it may have. What covers a number and
 * an infinity reaches its infinite end; where some of what is covered has no value (∞ − ∞), the
 * rest counts. Off in a new domain. Not for elements that stand for one point. */
enum { GEMEL__ORDERED_POSSIBLE = 16 };
void gemel__ordered_intervals(gemel__ordered *o, int on);

/* The larger of A and B, and |A|, as tight as the enclosures allow (relu of [−1, 2] is
 * [0, 2], where a hull would be [−1, 2]). No decision is taken or pushed. */
void gemel__ordered_max(gemel__domain *d, void *e, const void *a, const void *b);
void gemel__ordered_abs(gemel__domain *d, void *e, const void *a);

/* Doubles *LOW ≤ every value of E ≤ *HIGH, as near as doubles can; [−∞, ∞] for an element without
 * value. */
void gemel__ordered_bounds(gemel__domain *d, const void *e, double *low, double *high);

/* 1 if E is an exact rational, 0 if it is an interval or has no value. */
int gemel__ordered_is_exact(gemel__domain *d, const void *e);

#endif
