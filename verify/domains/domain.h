/* SPDX-License-Identifier: MIT
 *
 * A domain: a kind of number that references are evaluated on. The references in verify/reference
 * are written once, against this table of functions. They run on residues in a chain of prime
 * fields (F), exact rationals and intervals (O), values with an error bound (B), IEEE values with
 * NaN, infinities and signed zeros (S), doubles as long as they are exact (M), formulas for a
 * solver (symbolic.h), and pairs of value and tangent over another domain (dual numbers).
 *
 * An element is `bytes` bytes of memory, initialised by `init` and freed by `clear`. The result of
 * any function may be one of its arguments. An element without a value says why in its state: an
 * inverse of zero, a root that doesn't exist, a comparison that can't be decided, no ring left.
 * What is computed from it inherits that state. Nothing is guessed.
 */
#ifndef GEMEL__DOMAINS_DOMAIN_H
#define GEMEL__DOMAINS_DOMAIN_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/dtype.h>

/* State of an element, worst last. The result of an operation has the worst state of its
 * arguments. */
typedef enum gemel__state {
  GEMEL__DEFINED,
  GEMEL__UNDEFINED, /* no real number: 1/0, log of a negative number */
  GEMEL__UNDECIDED, /* this precision or model can't decide it */
  GEMEL__GAP        /* the model has no value here (no ring left, or a function that it doesn't
                     * have) */
} gemel__state;

/* What `sign` answers besides −1, 0, 1: a NaN in domain S, elsewhere undecided. */
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

/* The functions in functions.def. */
typedef enum gemel__real_function {
#define FUNCTION(word, ...) GEMEL__REAL_##word,
#include "domains/functions.def"
#undef FUNCTION
  GEMEL__REAL_COUNT
} gemel__real_function;

/* How many derivatives of digamma there are, from GEMEL__REAL_POLYGAMMA0 on, itself among them. */
enum { GEMEL__POLYGAMMAS = 7 };

/* An observer of evaluations. NODE is called before each node of a graph is evaluated; decisions
 * recorded after that are that node's. NUMBER (may be NULL) is called with each number that a
 * function over elements brings in. */
typedef struct gemel__observer gemel__observer;
struct gemel__observer {
  void (*node)(gemel__observer *observer, const void *graph, uint32_t node);
  void (*number)(gemel__observer *observer, double x);
};

struct gemel__domain {
  const char *name;
  size_t bytes;
  int product_digits; /* that operands of products of f32 may be rounded to; 0: they aren't */
  void (*init)(gemel__domain *d, void *e); /* the value 0 */
  void (*clear)(gemel__domain *d, void *e);
  void (*set)(gemel__domain *d, void *e, const void *a);
  /* Exactly X: any finite double, or ±∞, which is a value. NaN becomes UNDEFINED (in S it is a
   * value, and −0 is kept). */
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
  /* a to the power b. Either a > 0, or b is an integer known to the domain (then any a, and 0^0 =
   * 1). */
  void (*pow)(gemel__domain *d, void *e, const void *a, const void *b);
  /* The largest integer ≤ a. This is a decision, like sign. */
  void (*floor)(gemel__domain *d, void *e, const void *a);
  /* Sum of N elements in any order. The same as adding them, but in B the bound holds for every
   * order. ADDENDS are pointers. */
  void (*sum)(gemel__domain *d, void *e, size_t n, const void *const *addends);
  /* Product of N floats in any order, like sum, with the roundings included. NULL: multiply one by
   * one. */
  void (*product)(gemel__domain *d, void *e, size_t n, const void *const *factors);
  /* −1, 0, 1, or GEMEL__UNORDERED. References take all their decisions by this and by floor. Which
   * decision comes next depends on earlier decisions only, so a tape of them can be replayed in
   * another domain. */
  int (*sign)(gemel__domain *d, const void *a);
  /* Chooses between N ≥ 1 elements of equal value: the value of any. A dual number gets the mean of
   * the tangents (the convention at ties). NULL: take the first. */
  void (*tie)(gemel__domain *d, void *e, size_t n, const void *const *tied);
  /* Where the choice between a and b is undecided: an element that covers both. NULL: e becomes
   * UNDECIDED. */
  void (*hull)(gemel__domain *d, void *e, const void *a, const void *b);
  /* An unknown number between a and b (with tangent 0). NULL: there is no such element. */
  void (*between)(gemel__domain *d, void *e, const void *a, const void *b);
  /* Where it is undecided which of a and b is larger: an element that covers max(a, b) more tightly
   * than hull. NULL: use hull. */
  void (*larger)(gemel__domain *d, void *e, const void *a, const void *b);
  /* Stores the value in DTYPE: integers wrap modulo 2^w, bool becomes (a ≠ 0). A float dtype
   * changes nothing, except in domains with rounding: B adds ULPS units in the last place of error,
   * S rounds to nearest. References call it once for each rounding of a straightforward algorithm.
   * ULPS < 0 means 0.5 (correct rounding). */
  void (*round)(gemel__domain *d, void *e, gemel_dtype dtype, double ulps);
  /* 1 and *X if the element is exactly an integer (for indices and shapes), else 0. */
  int (*to_integer)(gemel__domain *d, const void *e, int64_t *x);
  gemel__state (*state)(gemel__domain *d, const void *e);
  void (*set_state)(gemel__domain *d, void *e, gemel__state state);
  /* 1 equal, 0 not, −1 undecided (either has no value, or intervals overlap). Dual numbers compare
   * both parts. */
  int (*equal)(gemel__domain *d, const void *a, const void *b);
  /* Text for reports. */
  void (*format)(gemel__domain *d, const void *e, char *text, size_t bytes);
  /* 1: elements may be NaN; sign() is then UNORDERED, comparisons are false, and max and min give
   * NaN. */
  int ieee;
  /* C's fmod. NULL if elements aren't IEEE values; programs for IEEE values (scalar.def) are then
   * not run. */
  void (*fmod)(gemel__domain *d, void *e, const void *a, const void *b);
  /* The same for C's atan2, and for the derivative of digamma of an order that isn't below 0. */
  void (*atan2)(gemel__domain *d, void *e, const void *a, const void *b);
  void (*polygamma)(gemel__domain *d, void *e, unsigned long order, const void *a);
  /* 1: round() to a float dtype changes elements (B and S). */
  int rounds;
  /* 1: bounds (B) are those of roundings that go either way, as they do as a rule, instead of the
   * worst. */
  int likely;
  /* Says that what follows computes a result of DTYPE; called with output 0's before each node.
   * NULL: makes no difference. (B's sum() takes the accumulator from it: u = 2^-24 for f16, bf16
   * and f32, as the halves accumulate in f32; 2^-53 for f64; exact for integers and bool. round()
   * to a float dtype sets it too.) */
  void (*work_in)(gemel__domain *d, gemel_dtype dtype);
  /* Doubles with LOW ≤ a ≤ HIGH. NULL: not available. */
  void (*bounds)(gemel__domain *d, const void *a, double *low, double *high);
  /* A random function of N arguments, chosen by NAME. NULL: not available. */
  void (*keyed)(gemel__domain *d, void *e, const char *name, size_t n, const void *const *args);
  /* a − b for a comparison: 0 for two infinities of one sign, where sub has no value. NULL: use
   * sub. */
  void (*difference)(gemel__domain *d, void *e, const void *a, const void *b);
  /* e = a if the sign of CAUSE is one of WHEN, else b. sign() said UNORDERED of CAUSE. For elements
   * that are formulas, which express a choice instead of covering it. NULL: use hull, larger. */
  void (*choose)(gemel__domain *d, void *e, const void *cause, unsigned when, const void *a,
                 const void *b);
  /* Where sign is undecided: bit s + 1 for each possible sign s. NULL: any. */
  int (*signs)(gemel__domain *d, const void *a);
  gemel__observer *observer; /* NULL: nobody */
  /* Makes e a constant: a dual number's tangent becomes 0. NULL: nothing to do. */
  void (*forget)(gemel__domain *d, void *e);
  /* Says that a function isn't differentiable here, by convention: a dual number's tangent becomes
   * UNDEFINED, its value stays. NULL: nothing to do. */
  void (*no_derivative)(gemel__domain *d, void *e);
};

/* The entry on a tape for the floor of +∞; its negative for that of −∞. */
#define GEMEL__FLOOR_INFINITE INT64_MAX

/* A tape: the decisions that one domain took, in order, to be forced on another. */
typedef struct gemel__tape {
  int64_t *entries;
  size_t count, capacity;
  size_t at;  /* next entry to replay */
  int failed; /* memory ran out while recording, or replay ran past the end */
} gemel__tape;

/* Append an entry; read the next one (past the end: 0, and `failed` is set); start reading again;
 * free. */
void gemel__tape_push(gemel__tape *tape, int64_t entry);
int64_t gemel__tape_next(gemel__tape *tape);
void gemel__tape_rewind(gemel__tape *tape);
void gemel__tape_clear(gemel__tape *tape);

/* ---- The domains ---- */

/* F: chains of prime fields (domains/field.c). See field.h for how to make one, its error bounds
 * and what it used (characters, keyed functions). */
/* O: exact rationals, else intervals of PRECISION bits (domains/ordered.c, ordered.h). */
/* B: balls with propagated rounding error (domains/bound.c, bound.h). */
/* S: IEEE special values on MPFR numbers (domains/special.c, special.h). */
/* M: doubles, as long as they are exact (domains/machine.c, machine.h). */
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
