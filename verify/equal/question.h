/* SPDX-License-Identifier: MIT
 *
 * One question of `gemel equal` about two graphs as a whole: what its tiers share.
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
  const gemel_graph *real_a, *real_b;   /* for tier real: folded constants may be replaced */
  size_t folded;                        /* how many constants were replaced */
  char scaled[GEMEL__MOST_SCALED_TEXT]; /* which sizes; "" if none */
  int64_t symbols_up_to; /* largest size of an input, if there are symbols; 0: none */
  const char *name;
  unsigned allow;
  gemel_pair_result *result;
  gemel__scouted scouted;
  int starved;  /* 1: memory ran out in a function that returns no status */
  double share; /* of the usual number of points: smaller for an expensive pair */
} gemel__equality;

/* Makes VERDICT the result's verdict if it is worse. Tiers that aren't applicable don't count. The
 * result begins as GEMEL_VERDICT_NOT_RUN. */
void gemel__equal_note(gemel__equality *q, gemel_verdict verdict);

/* Begins to ask TIER. */
void gemel__equal_begin(gemel__equality *q, gemel__inquiry *asked, gemel_tier tier);

/* Emits the record of TIER, in which nothing was tried for the reason DETAIL, if it is wanted. */
void gemel__equal_emit(gemel__equality *q, gemel_tier tier, gemel_verdict verdict,
                       const char *detail);

/* Adds the entries of SCALED, as gemel__scaling_text writes them, to LIST, which gets each once. */
void gemel__equal_note_scaled(char list[GEMEL__MOST_SCALED_TEXT], const char *scaled);

/* Emits the record of a tier that was stopped before its end. */
void gemel__equal_stopped(gemel__equality *q, gemel_tier tier);

/* Up to this much work (pairs/pair.h) a pair gets all points that are asked for. */
#define GEMEL__USUAL_WORK 3000.0

/* The share of the usual number of points that PAIR gets, given its size. */
double gemel__equal_share(const gemel__run *run, const gemel__pair *pair);

/* How many of N instances or points that is: at least a few. */
size_t gemel__equal_affordable(double share, size_t n);

/* Keeps VALUES, at which TIER refutes, if the caller wants a folder with a counterexample
 * (harness/saved.h). */
void gemel__equal_keep(gemel__equality *q, gemel_tier tier, int compared,
                       const gemel__instance *instance, gemel_tensor *const *values);

/* 1 if all results are empty, whatever sizes symbols have: there is nothing that may differ. */
int gemel__equal_is_empty(const gemel__equality *q);

/* Asks tier real (real.c). *REFUTED is set to 1 if it refutes the pair. */
gemel_status gemel__equal_real(gemel__equality *q, int *refuted, gemel_error *error);

/* PAIR = A and B at the sizes of POINT. 0 if its tensors don't tell all sizes of A, or the graphs
 * refuse them. */
int gemel__point_pair(const gemel_graph *a, const gemel_graph *b, const struct gemel__point *point,
                      gemel__random *random, gemel__pair *pair);

/* The tensors of POINT for the inputs of INSTANCE, and some for those that POINT doesn't have
 * because nothing reads them; to be freed with gemel__values_free. NULL if memory is out. */
gemel_tensor **gemel__point_values(const struct gemel__point *point,
                                   const gemel__instance *instance);

#endif
