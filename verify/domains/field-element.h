/* SPDX-License-Identifier: MIT
 *
 * The struct of an element of domain F, for field.c, field-element.c and field-function.c only.
 */
#ifndef GEMEL__DOMAINS_FIELD_ELEMENT_H
#define GEMEL__DOMAINS_FIELD_ELEMENT_H

#include "domains/field.h"

/* A rational number n/d in lowest terms, d > 0; d = 0: not known. */
__extension__ typedef __int128 gemel__wide;
typedef struct gemel__known {
  int64_t high; /* n, in two halves, so that elements need no alignment to 16 bytes */
  uint64_t low;
  int64_t d;
} gemel__known;

/* Facts about a sign: the set of those possible. */
enum { GEMEL__MAY_NEGATIVE = 1, GEMEL__MAY_ZERO = 2, GEMEL__MAY_POSITIVE = 4, GEMEL__MAY_ANY = 7 };

typedef struct gemel__residues {
  uint64_t r[GEMEL__MAX_RINGS];
  gemel__known known;
  /* The element is a quotient of polynomials in the leaves, of at most these degrees. */
  double above, below;
  uint64_t depends; /* byte i: the rings that the residue of ring i was computed from */
  uint8_t rings;    /* bit i: there is a value in ring i */
  uint8_t state;    /* gemel__state */
  uint8_t may;      /* facts about the sign */
  uint8_t flags;    /* GEMEL__FIELD_IS_KEYED … */
  int8_t infinite;  /* −1 or 1: that infinity, whatever the residues; 0: a number */
} gemel__residues;

/* At most so many different undecided signs are told apart; further ones are counted at each
 * use. */
enum { GEMEL__FIELD_UNDECIDED = 256 };

typedef struct gemel__field {
  gemel__domain domain; /* first */
  gemel__chains *chains;
  gemel__prime_chain chain;
  gemel__random random;
  uint64_t key; /* of the keyed functions in this trial */
  unsigned faults;
  gemel__tape *forced, *record;
  uint64_t undecided[GEMEL__FIELD_UNDECIDED]; /* hash set of the residues whose character was asked
                                               * for */
  gemel__field_report report;
} gemel__field;

/* ---- Known numbers ---- */

static inline gemel__wide gemel__known_numerator(gemel__known a) {
  return (gemel__wide)((gemel__ring_wide)(uint64_t)a.high << 64 | a.low);
}
static inline gemel__known gemel__known_integer(gemel__wide n) {
  return (gemel__known){(int64_t)(n >> 64), (uint64_t)n, 1};
}

/* n/d in lowest terms; not known if d is 0 or it doesn't fit. */
gemel__known gemel__known_make(gemel__wide n, gemel__wide d);

/* A result is "not known" if an argument isn't known or the result doesn't fit. */
gemel__known gemel__known_add(gemel__known a, gemel__known b);
gemel__known gemel__known_neg(gemel__known a);
gemel__known gemel__known_mul(gemel__known a, gemel__known b);
gemel__known gemel__known_div(gemel__known a, gemel__known b);
gemel__known gemel__known_pow(gemel__known a, int64_t n);
gemel__known gemel__known_sqrt(gemel__known a); /* of a square; else not known */
gemel__wide gemel__known_floor(gemel__known a);
int gemel__known_sign(gemel__known a);
int gemel__known_is_zero(gemel__known a); /* known and 0 */

/* Exactly X, if it fits. */
gemel__known gemel__known_double(double x);

/* N stored in an integer dtype: modulo 2^w; bool: N ≠ 0. */
gemel__wide gemel__known_wrap(gemel__wide n, gemel_dtype dtype);

/* ---- Facts about signs ---- */

uint8_t gemel__may_add(uint8_t a, uint8_t b);
uint8_t gemel__may_mul(uint8_t a, uint8_t b);
uint8_t gemel__may_neg(uint8_t a);

/* ---- Elements ---- */

/* Sets E to the known number K (d ≠ 0) in every ring. */
void gemel__residues_known(const gemel__field *f, gemel__residues *e, gemel__known k);

/* E becomes the infinity of this SIGN, with FLAGS. */
void gemel__residues_infinity(const gemel__field *f, gemel__residues *e, int sign, unsigned flags);

/* Makes E an element without value: UNDEFINED, GAP … */
void gemel__residues_lose(gemel__field *f, gemel__residues *e, gemel__state state);

/* Sets E's state from its rings. If none is left: UNDEFINED if any dropped out (LOST ≠ 0), else
 * GAP. Updates the report. */
void gemel__residues_settle(gemel__field *f, gemel__residues *e, unsigned lost);

/* The sign that is known of E by number or facts, or GEMEL__UNORDERED. */
int gemel__residues_sign(const gemel__residues *e);

/* 1 if the residues are 0 in all rings that E has. */
int gemel__residues_all_zero(const gemel__residues *e);

/* The worst of two states. */
static inline gemel__state gemel__worst(gemel__state a, gemel__state b) {
  return a > b ? a : b;
}

/* ---- field-function.c ---- */

void gemel__field_exp(gemel__domain *d, void *e, const void *a);
void gemel__field_log(gemel__domain *d, void *e, const void *a);
void gemel__field_sqrt(gemel__domain *d, void *e, const void *a);
void gemel__field_pow(gemel__domain *d, void *e, const void *a, const void *b);
void gemel__field_floor(gemel__domain *d, void *e, const void *a);
int gemel__field_sign(gemel__domain *d, const void *a);
void gemel__field_round(gemel__domain *d, void *e, gemel_dtype dtype, double ulps);

#endif
