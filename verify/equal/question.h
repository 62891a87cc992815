/* SPDX-License-Identifier: MIT
 *
 * One question of `gemel equal` about two graphs as a whole, and what its tiers have in common.
 */
#ifndef GEMEL__EQUAL_QUESTION_H
#define GEMEL__EQUAL_QUESTION_H

#include "equal/equal.h"
#include "pairs/scale.h"
#include "pairs/scout.h"

typedef struct gemel__equality {
  gemel__run *run;
  const gemel_graph *a, *b;             /* scaled, if SCALED says so */
  const gemel_graph *whole_a, *whole_b; /* at their own sizes */
  const gemel_graph *real_a, *real_b;   /* for tier real: constants may be unfolded */
  size_t folded;                        /* so many are */
  char scaled[GEMEL__MOST_SCALED_TEXT]; /* which sizes; "" if none */
  int64_t symbols_up_to; /* a size of an input at most, where some are symbols; 0: none */
  const char *name;
  unsigned allow;
  gemel_pair_result *result;
  gemel__scouted scouted;
  int starved;  /* 1: memory was refused where a look at the graphs has no status */
  double share; /* of the usual number of points: less for what is expensive to evaluate */
} gemel__equality;

/* The result is the worst of the tiers that are applicable; it begins as GEMEL_VERDICT_NOT_RUN. */
void gemel__equal_note(gemel__equality *q, gemel_verdict verdict);

/* The record of a tier that was stopped before its end. */
void gemel__equal_stopped(gemel__equality *q, gemel_tier tier);

/* So many of N instances or points as a pair of this size can have, and a few at least. */
size_t gemel__equal_affordable(const gemel__equality *q, size_t n);

/* Keeps the point VALUES at which TIER refutes, if somebody wants it (report/saved.h). */
void gemel__equal_keep(gemel__equality *q, gemel_tier tier, int compared,
                       const gemel__instance *instance, gemel_tensor *const *values);

/* Tier real (real.c). *REFUTED: so it ended. */
gemel_status gemel__equal_real(gemel__equality *q, int *refuted, gemel_error *error);

#endif
