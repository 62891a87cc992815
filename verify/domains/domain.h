/* SPDX-License-Identifier: MIT
 *
 * A domain: a kind of number that a reference can be evaluated on. The references in
 * verify/reference are written once, against this table of functions, and run on residues in a
 * chain of prime fields (F), exact rationals and balls (O), pairs of value and tangent over either
 * (dual numbers), values with an error bound (B), and IEEE values with NaN, infinities and signed
 * zeros (S).
 *
 * An element is `bytes` bytes of memory, initialised by `init` and freed by `clear`. Every function
 * allows its result to be one of its arguments. An element that has no value (an inverse of zero, a
 * root that doesn't exist, a comparison that can't be decided, a ring too few) says why in its
 * state, and what is computed from it inherits that state; nothing is ever guessed.
 */
#ifndef GEMEL__DOMAINS_DOMAIN_H
#define GEMEL__DOMAINS_DOMAIN_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/dtype.h>

/* State of an element, worst last; an operation's result has the worst of its arguments'. */
typedef enum gemel__state {
  GEMEL__DEFINED,
  GEMEL__UNDEFINED, /* no real number: 1/0, log of a negative number */
  GEMEL__UNDECIDED, /* a decision that this precision or model can't make */
  GEMEL__GAP        /* the model has no value here (no ring left, function outside it) */
} gemel__state;

/* What `sign` answers. UNORDERED: a NaN in domain S; else: undecided. */
enum { GEMEL__UNORDERED = 2 };

/* Sets of signs. */
enum {
  GEMEL__IF_NEGATIVE = 1,
  GEMEL__IF_ZERO = 2,
  GEMEL__IF_POSITIVE = 4,
  GEMEL__IF_NONZERO = 5,
  GEMEL__IF_ANY = 7
};

typedef struct gemel__domain gemel__domain;

/* Functions that a table has (functions.def). */
typedef enum gemel__real_function {
#define FUNCTION(word, ...) GEMEL__REAL_##word,
#include "domains/functions.def"
#undef FUNCTION
  GEMEL__REAL_COUNT
} gemel__real_function;

/* Who wants to know which node of which graph is evaluated next: whatever decisions are recorded
 * from then on are that node's. NODE is called ahead of each. NUMBER (may be NULL) hears each
 * number that a function over elements brings in. */
typedef struct gemel__observer gemel__observer;
struct gemel__observer {
  void (*node)(gemel__observer *observer, const void *graph, uint32_t node);
  void (*number)(gemel__observer *observer, double x);
};

struct gemel__domain {
  const char *name;
  size_t bytes;
  void (*init)(gemel__domain *d, void *e); /* the value 0 */
  void (*clear)(gemel__domain *d, void *e);
  void (*set)(gemel__domain *d, void *e, const void *a);
  /* Exactly the number X: any finite double or ±∞, which is a value; NaN is UNDEFINED (S takes it
   * for what it is, and −0 too). */
  void (*from_double)(gemel__domain *d, void *e, double x);
  void (*from_integer)(gemel__domain *d, void *e, int64_t x);
  void (*from_unsigned)(gemel__domain *d, void *e, uint64_t x);
  void (*add)(gemel__domain *d, void *e, const void *a, const void *b);
  void (*sub)(gemel__domain *d, void *e, const void *a, const void *b);
  void (*mul)(gemel__domain *d, void *e, const void *a, const void *b);
  void (*div)(gemel__domain *d, void *e, const void *a, const void *b);
  void (*neg)(gemel__domain *d, void *e, const void *a);
  void (*exp)(gemel__domain *d, void *e, const void *a);
  void (*log)(gemel__domain *d, void *e, const void *a);
  void (*sqrt)(gemel__domain *d, void *e, const void *a);
  void (*apply)(gemel__domain *d, void *e, gemel__real_function f, const void *a);
  /* a to the b: a > 0, or b an integer that the domain can tell (then any a, 0^0 = 1). */
  void (*pow)(gemel__domain *d, void *e, const void *a, const void *b);
  /* The largest integer ≤ a; a decision, like sign. */
  void (*floor)(gemel__domain *d, void *e, const void *a);
  /* Sum of N elements in any order: the same as adding them, but a domain with error bounds makes
   * the bound one that holds for every order. ADDENDS are pointers. */
  void (*sum)(gemel__domain *d, void *e, size_t n, const void *const *addends);
  /* Product of N floats in any order, as sum; roundings included. NULL: multiply one by one. */
  void (*product)(gemel__domain *d, void *e, size_t n, const void *const *factors);
  /* −1, 0, 1, or GEMEL__UNORDERED. Every decision that a reference takes comes from here (or from
   * floor), in an order that depends on decisions only: so a tape of them can be replayed. */
  int (*sign)(gemel__domain *d, const void *a);
  /* N ≥ 1 elements whose values are equal, one of which is to be chosen: the value of any; a dual
   * number gets the mean of the tangents (the convention at ties). NULL: set from the first. */
  void (*tie)(gemel__domain *d, void *e, size_t n, const void *const *tied);
  /* When a choice between a and b is undecided: something that covers both. NULL: e is UNDECIDED.
   */
  void (*hull)(gemel__domain *d, void *e, const void *a, const void *b);
  /* A number of which no more is known than that it lies between a and b (a dual number's tangent
   * is 0). NULL: there is no such element. */
  void (*between)(gemel__domain *d, void *e, const void *a, const void *b);
  /* When it is undecided which of a and b is larger: something that covers the larger, tighter than
   * their hull. NULL: their hull it is. */
  void (*larger)(gemel__domain *d, void *e, const void *a, const void *b);
  /* What storing the value in DTYPE does: integers wrap modulo 2^w, bool becomes (a ≠ 0); for a
   * float dtype nothing, except where the domain models rounding (B adds ULPS units in the last
   * place of error, S rounds to nearest). Called by the references once for each rounding that a
   * straightforward algorithm has; ULPS < 0 means 0.5 (correct rounding). */
  void (*round)(gemel__domain *d, void *e, gemel_dtype dtype, double ulps);
  /* 1 and *X if the element is exactly this integer (for indices and shapes), else 0. */
  int (*to_integer)(gemel__domain *d, const void *e, int64_t *x);
  gemel__state (*state)(gemel__domain *d, const void *e);
  void (*set_state)(gemel__domain *d, void *e, gemel__state state);
  /* 1 equal, 0 not, −1 undecided (either has no value, or balls overlap without being exact). Duals
   * compare both parts. */
  int (*equal)(gemel__domain *d, const void *a, const void *b);
  /* Text for reports. */
  void (*format)(gemel__domain *d, const void *e, char *text, size_t bytes);
  /* 1: signs may be UNORDERED and comparisons with it are false; max and min of it give NaN. */
  int ieee;
  /* C's fmod. NULL where elements aren't IEEE values: programs for those (scalar.def) are run by
   * domains that have it. */
  void (*fmod)(gemel__domain *d, void *e, const void *a, const void *b);
  /* 1: round() to a float dtype is felt, so what is computed in a dtype counts as it comes out. */
  int rounds;
  /* What follows belongs to an operation whose result is of DTYPE: called with output 0's before
   * each node. NULL: it makes no difference. (In B sum() then takes u = 2^-24 for f16, bf16, which
   * accumulate in f32, and f32, 2^-53 for f64, and is exact for integers and bool. round() to a
   * float dtype sets it too.) */
  void (*work_in)(gemel__domain *d, gemel_dtype dtype);
  /* Doubles LOW ≤ a ≤ HIGH. NULL: elements don't tell. */
  void (*bounds)(gemel__domain *d, const void *a, double *low, double *high);
  /* A random function, of this NAME, of N arguments. NULL: there is none. */
  void (*keyed)(gemel__domain *d, void *e, const char *name, size_t n, const void *const *args);
  /* a − b as a comparison sees it: two infinities of one sign are equal, where sub leaves their
   * difference without a value. NULL: sub. */
  void (*difference)(gemel__domain *d, void *e, const void *a, const void *b);
  /* e = a where the sign of CAUSE is one of WHEN (of which sign() said UNORDERED), else b: for
   * elements that are formulas, which say a choice instead of covering it. NULL: hull, larger. */
  void (*choose)(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                 const void *b);
  /* Where sign is undecided: bit s + 1 for each sign s that the element may have. NULL: any. */
  int (*signs)(gemel__domain *d, const void *a);
  gemel__observer *observer; /* NULL: nobody */
  /* Takes e for a constant from now on: a dual number's tangent becomes 0. NULL: it is one. */
  void (*forget)(gemel__domain *d, void *e);
};

/* On a tape of decisions, the floor of +∞; of −∞ it is the negative. */
#define GEMEL__FLOOR_INFINITE INT64_MAX

/* A tape of decisions: what one domain decided, for another to be forced to. */
typedef struct gemel__tape {
  int64_t *entries;
  size_t count, capacity;
  size_t at;  /* next entry to replay */
  int failed; /* memory ran out while recording, or replay ran past the end */
} gemel__tape;

/* Appends / reads the next entry (0 and failed set past the end); frees. */
void gemel__tape_push(gemel__tape *tape, int64_t entry);
int64_t gemel__tape_next(gemel__tape *tape);
void gemel__tape_rewind(gemel__tape *tape);
void gemel__tape_clear(gemel__tape *tape);

/* ---- The domains ---- */

/* F: chains of prime fields (domains/field.c). See field.h for how to make one, its error bounds
 * and what it used (characters, keyed functions). */
/* O: exact rationals, else balls of PRECISION bits (domains/ordered.c, ordered.h). */
/* B: balls with propagated rounding error (domains/bound.c, bound.h). */
/* S: IEEE special values on MPFR numbers (domains/special.c, special.h). */
/* Dual numbers over any of them (domains/dual.c, dual.h); duals nest. */

/* ---- Small helpers on top (domains/domain.c) ---- */

static inline void gemel__work_in(gemel__domain *d, gemel_dtype dtype) {
  if (d->work_in != NULL)
    d->work_in(d, dtype);
}

/* N initialised elements in one block; NULL when memory is out or N × bytes is too large. */
void *gemel__elements_new(gemel__domain *d, size_t n);
void gemel__elements_free(gemel__domain *d, void *elements, size_t n);
static inline void *gemel__element(const gemel__domain *d, void *elements, size_t i) {
  return (char *)elements + i * d->bytes;
}

/* ---- Clean-up ---- */

/* Frees what FLINT, Arb and MPFR cache for the calling thread (constants, powers). Call it at the
 * end of a program or thread that used the domains O, B or S, so that leak checkers find nothing;
 * the domains may be used again afterwards. */
void gemel__domains_cleanup(void);

#endif
