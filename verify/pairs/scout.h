/* SPDX-License-Identifier: MIT
 *
 * Runs the shipped code of a pair at the sizes that matter: constant sizes as written, symbols at
 * and beside every number in either graph.
 */
#ifndef GEMEL__PAIRS_SCOUT_H
#define GEMEL__PAIRS_SCOUT_H

#include "pairs/pair.h"
#include "base/tick.h"

typedef struct gemel__scouted {
  enum {
    GEMEL__SCOUT_NOTHING,
    GEMEL__SCOUT_REAL, /* domain O refutes at this point */
    GEMEL__SCOUT_APART /* domain O wasn't asked: results differ by more than half their digits, and
                          about as much in f64 */
  } found;
  int at_tie;       /* 1: found at a tie, where most of the results may cancel */
  gemel__pair pair; /* the instance that differs; VALUES are its inputs */
  gemel_tensor **values;
  size_t output, element;
  char left[160], right[160];
  int rounds;            /* 1: some floats differ by less than counts; not said of convolutions */
  int wide;              /* 1: LEFT and RIGHT are results in f64 (GEMEL__SCOUT_WIDE) */
  size_t runs;           /* calls of both graphs */
  size_t elements;       /* results compared */
  size_t skipped;        /* choices of sizes that were too large */
  int64_t largest;       /* largest size of an axis of an input */
  int64_t symbols_up_to; /* largest size of a symbol; 0: there is none */
} gemel__scouted;

/* How thorough the search is. */
typedef enum gemel__scouting {
  GEMEL__SCOUT_ALL,   /* all sizes that matter; domain O decides where results look different */
  GEMEL__SCOUT_FIRST, /* a few of them */
  GEMEL__SCOUT_ROUGH, /* all, and results that differ by half their digits are taken for different
                       */
  GEMEL__SCOUT_WIDE /* as FIRST, but in f64, where differences by rounding are far smaller: results
                       of f32 that differ by more than a millionth are taken for different */
} gemel__scouting;

/* Runs the shipped code of A and B and compares, until TICKER (may be NULL) says stop. Release with
 * gemel__scouted_clear whatever the status. GEMEL_NO_MEMORY, or the error if the graphs run at no
 * choice of sizes. */
gemel_status gemel__scout(const gemel_graph *a, const gemel_graph *b, gemel__scouting how,
                          gemel__random *random, gemel__ticker *ticker, gemel__scouted *scouted,
                          gemel_error *error);
void gemel__scouted_clear(gemel__scouted *scouted);

#endif
