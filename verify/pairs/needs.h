/* SPDX-License-Identifier: MIT
 *
 * What one graph gives up against another: the words of `needs`, each with an instance that shows
 * it, and how much was tried where a word isn't needed. doc/verify.md says what the words mean.
 */
#ifndef GEMEL__PAIRS_NEEDS_H
#define GEMEL__PAIRS_NEEDS_H

#include "pairs/contrast.h"
#include "base/tick.h"

/* The bit of a word. */
#define GEMEL__NEED(E) (1u << GEMEL_NEEDS_INDEX_##E)

/* A point at which the two differ. VALUES is NULL if there is none. */
typedef struct gemel__witness {
  gemel__pair pair;
  gemel_tensor **values;
  size_t output, element;
  char left[48], right[48];
} gemel__witness;

/* Points by the promises that they keep (a set of contract 1, arcp 2, reassoc 4, afn 8, and 16: no
 * cast to a narrower dtype rounds; rounding.c says what a promise is): how many, and at how many of
 * them the results differ. The counts of all instances of one rule are added up. */
enum { GEMEL__PROMISE_SETS = 32 };
typedef struct gemel__roundings {
  unsigned kinds; /* of arithmetic that occur */
  size_t kept[GEMEL__PROMISE_SETS], differing[GEMEL__PROMISE_SETS];
} gemel__roundings;

/* At how many points the right side has LOST what the left side has. ALL: it is NaN or infinite;
 * DIGITS: half of the digits, both at moderate numbers; RANGE: either, at numbers whose squares
 * overflow or underflow. */
enum { GEMEL__LOST_ALL, GEMEL__LOST_DIGITS, GEMEL__LOST_RANGE, GEMEL__LOSSES };
typedef struct gemel__losses {
  size_t lost[GEMEL__LOSSES];
  int range_gained; /* 1: the left side loses RANGE at some point */
  int range_alone;  /* 1: either side does where only one input has such numbers */
} gemel__losses;

typedef struct gemel__needs {
  unsigned needs;         /* 0: bitwise */
  gemel__witness too_far; /* if it was asked: finite numbers further apart than both bounds together
                             (beyond.c), which no word explains */
  gemel__losses losses;
  gemel__witness loss; /* a point of `losses` */
  /* Words of NEEDS for which all evidence is a zero's sign, or a rounding error, at infinite or NaN
   * inputs: if another instance of the same rule shows nsz or rounding at finite inputs, that
   * explains it and the word isn't needed. */
  unsigned of_zero, of_rounding;
  int improves;    /* 1: where the left side was wrong on finite inputs, the right side is not */
  size_t compared; /* results compared, in all */
  /* Opportunities to show a word: results compared for nnan, ninf and nsz; points that keep its
   * promise for rounding. */
  size_t tried[GEMEL_NEEDS_COUNT];
  /* Of each word that is needed: a difference that the other words don't explain. */
  gemel__witness witness[GEMEL_NEEDS_COUNT];
  size_t confirmed; /* points that keep the promise of all words of rounding that are needed, and
                       at which both agreed bit for bit */
  gemel__witness improvement; /* a point that shows it; RIGHT is within the bound */
  gemel__witness worse;       /* and one at which the right side was wrong and the left wasn't */
  int rounds;                 /* 1: some finite results differ by rounding */
  int narrowed;               /* 1: they don't where casts to a narrower dtype are exact, and else
                                 `afn` would have to explain it */
  gemel__roundings roundings; /* then: the points by their promises */
} gemel__needs;

/* How much is measured. */
typedef struct gemel__needs_plan {
  size_t points;   /* for each question */
  size_t rounding; /* points that tell the kind of rounding; 0: that isn't asked, and NEEDS has no
                      word of it */
  int improvement; /* 1: it is asked whether the right side improves */
  int finite;      /* 1: infinities and NaN aren't brought in (products of many numbers overflow and
                      underflow by themselves, which then meets infinities) */
  int beyond;      /* 1: it is asked what no kind of rounding explains, and integers are drawn at
                      which digits are lost */
  size_t losses;   /* points for `worsens`, besides POINTS; 0: it isn't asked */
  int near;        /* 1: none of these have numbers far from 1 */
  size_t meetings; /* of zeros and infinities or NaNs (instances/meeting.h), besides POINTS */
  size_t meeting;  /* number of the first */
  unsigned known;  /* words that are known to be given up: no meetings are drawn for them */
  int folded;      /* 1: constants may be different roundings of one real number */
  int plain;       /* 1: every other point is run by plain kernels, which add up in another order */
  gemel__ticker *ticker; /* says when to stop; NULL: never */
} gemel__needs_plan;

/* Measures LEFT against RIGHT, two graphs that are equal over the reals (gemel__pair_check accepts
 * them). The same SEED gives the same answer. Release with gemel__needs_clear, also after an
 * error. GEMEL_DECLINED: the plan's ticker says stop; NEEDS has the words that were shown until
 * then. */
gemel_status gemel__needs_measure(const gemel_graph *left, const gemel_graph *right, uint64_t seed,
                                  const gemel__needs_plan *plan, gemel__needs *needs,
                                  gemel_error *error);
void gemel__needs_clear(gemel__needs *needs);

/* Where a narrow dtype counts, adds to NEEDS what two graphs with SYMBOLS give up where one of
 * these is large, or those without any at their own sizes (needs-lengths.c). gemel__needs_measure
 * does it for symbols. */
gemel_status gemel__needs_at_lengths(const gemel_graph *left, const gemel_graph *right,
                                     size_t symbols, gemel__random *random,
                                     const gemel__needs_plan *plan, gemel__needs *needs,
                                     gemel_error *error);

/* Adds ONE to TOTAL. 1 if LOSSES are `worsens`. The kind of loss of which more points
 * may tell, else GEMEL__LOSSES. */
void gemel__losses_add(gemel__losses *total, const gemel__losses *one);
int gemel__losses_worsen(const gemel__losses *losses);
size_t gemel__losses_open(const gemel__losses *losses);

/* Names in NEEDS, those of GEMEL_PAIR_TABLE among them, with commas between; "" for none. */
void gemel__needs_text(unsigned needs, char *text, size_t bytes);

/* Makes WITNESS that of a difference at VALUES, which it copies by reference; it must be empty. */
gemel_status gemel__witness_take(gemel__witness *witness, const gemel__pair *pair,
                                 gemel_tensor *const *values, const gemel__both *both,
                                 size_t output, size_t element, gemel_error *error);
/* INTO becomes FROM, which is empty then, if INTO has no point yet. */
void gemel__witness_move(gemel__witness *into, gemel__witness *from);
void gemel__witness_clear(gemel__witness *witness);

/* ---- Which kind of rounding (rounding.c) ---- */

/* The least set of words that explains why LEFT and RIGHT differ at finite inputs; NEEDS gets it,
 * with witnesses where more than one word is needed, TRIED and CONFIRMED. At PLAN->rounding points.
 */
gemel_status gemel__needs_rounding(const gemel_graph *left, const gemel_graph *right,
                                   gemel__random *random, const gemel__needs_plan *plan,
                                   gemel__needs *needs, gemel_error *error);

/* Adds ONE to TOTAL; and the least set of words, as bits of `needs`, that explains all of TOTAL. */
void gemel__roundings_add(gemel__roundings *total, const gemel__roundings *one);
unsigned gemel__roundings_words(const gemel__roundings *roundings);

/* 1 if WORDS explain all of TOTAL too, and no fewer do: several sets of one size may explain
 * the same points. But `reassoc` isn't taken for `contract`, which promises more. */
int gemel__roundings_agree(const gemel__roundings *roundings, unsigned words);

/* 1 if a point keeps the promises of all WORDS and the results differ there: no
 * further points can change that. */
int gemel__roundings_refute(const gemel__roundings *roundings, unsigned words);

/* ---- Numbers to try (also rounding.c) ---- */

typedef enum gemel__style {
  GEMEL__STYLE_FULL,      /* full significands */
  GEMEL__STYLE_SHORT,     /* few digits, so products are exact, of many magnitudes */
  GEMEL__STYLE_INTEGERS,  /* few digits and one magnitude, so sums are exact too */
  GEMEL__STYLE_POWERS,    /* ± powers of two */
  GEMEL__STYLE_ONE_POWER, /* one power of two for the whole tensor */
  GEMEL__STYLE_ZEROS,     /* zeros of both signs among ±1, −½, 2 */
  GEMEL__STYLE_WIDE,      /* full significands of all moderate magnitudes */
  GEMEL__STYLE_LARGE,     /* of those whose exponentials overflow or nearly do */
  GEMEL__STYLE_EXTREME    /* subnormal, smallest normal, largest numbers and their roots too */
} gemel__style;

/* Overwrites the elements of a float tensor. */
void gemel__style_fill(gemel_tensor *tensor, gemel__style style, gemel__random *random);

#endif
