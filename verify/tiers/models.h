/* SPDX-License-Identifier: MIT
 *
 * The state of one question of tier real. model.c draws points; point.c evaluates both sides there,
 * in domains O and F, and counts here what it finds; verdict.c turns the counts into a verdict.
 */
#ifndef GEMEL__TIERS_MODELS_H
#define GEMEL__TIERS_MODELS_H

#include "tiers/compared.h"
#include "domains/field.h"
#include "domains/ordered.h"
#include "tiers/model.h"
#include "tiers/poles.h"

typedef struct gemel__models {
  const gemel__question *q;
  gemel__answer *answer;
  gemel__ordered *o;
  gemel__domain *f;
  gemel__tape tapes[2];
  gemel__rtensor *results; /* left's, then right's */
  gemel__random random;
  int infinite;       /* the current point has infinite inputs; σF is skipped there */
  uint64_t cells[64]; /* hash set of decision sequences that were seen, to count cells */
  gemel__compared compared;
  gemel__poles poles;           /* of the current point */
  size_t o_compared, o_nonzero; /* results in O that were finite numbers on both sides; those of
                                 * them that weren't 0 */
  size_t o_special; /* of a question with `special`: results that were the same infinity, or NaN */
  size_t points;    /* how many to draw */
  size_t f_accepted, f_rejected, f_open, f_with_characters, f_keyed;
  size_t f_other; /* trials that met exp, roots, quotients or known signs: the sides are no
                   * polynomials */
  size_t cell_accepted, cell_rejected, cell_open, cell_keyed;
  size_t gaps;
  const char *keyed_name; /* a function that domain F doesn't model and a trial met; NULL: none */
  int undecided;          /* the largest gemel__models_path of all trials of F */
  int exponentials;
  double delta; /* probability that one trial accepts different functions: the largest seen */
  int solver_proved;
  size_t solver_questions;
} gemel__models;

/* Draws of residues while a trial's result is open. */
enum { GEMEL__MODELS_REDRAWS = 6 };

static inline void gemel__models_note_keyed(gemel__models *s, const gemel__field_report *report) {
  s->keyed_name = s->keyed_name != NULL ? s->keyed_name : report->keyed_name;
}

/* ---- Points (point.c) ---- */

/* Evaluates both sides at POINT, in O and then in F with O's decisions (σF). *WITNESS is 1 if a
 * result differs; the answer then owns POINT. Otherwise the caller keeps it. */
gemel_status gemel__models_judge(gemel__models *s, gemel_tensor **point, int *witness,
                                 gemel_error *error);

/* Interval evaluation, to learn which ways a site can go. Each element of a float leaf (with WHOLE,
 * of an integer leaf too) is an interval: all numbers of a random sign. A decision taken there
 * holds for all these numbers. Several rounds with other signs show all ways that a site can go. If
 * a reference needs a number and gets an interval, the round ends early, and the sites that it
 * didn't reach count as decided. */
gemel_status gemel__models_signs(gemel__models *s, gemel_tensor *const *point, int whole,
                                 gemel_error *error);

/* One evaluation in F at random residues, signs and integers as in POINT; FORCED: with the
 * decisions on the tapes. *RESULT: 1 all results are equal, 0 some differ, -1 some have no residue
 * in common. The domain keeps the report. */
gemel_status gemel__models_trial(gemel__models *s, gemel_tensor *const *point, int forced,
                                 int *result, gemel_error *error);

/* Looks for points at which two compared numbers are equal, and judges them and their neighbours
 * (drive.c). */
gemel_status gemel__models_drive(gemel__models *s, gemel_error *error);

/* 1 if A and B have the same shape. */
int gemel__same_shape(const gemel__rtensor *a, const gemel__rtensor *b);

/* ---- Verdicts (verdict.c) ---- */

/* Sets the answer's verdict, how and detail. */
void gemel__say(gemel__answer *answer, gemel_verdict verdict, gemel_evidence how,
                const char *detail);

/* How many undecided signs one result depends on, at most, in the trial that REPORT is about. In an
 * elementwise function of leaves of one shape, each result has its own signs, so the report's count
 * is divided by the number of results, and a trial counts as that many trials. */
int gemel__models_path(const gemel__models *s, const gemel__field_report *report);

/* How many trials of F are needed: as many as the question asks for, and with k undecided signs on
 * a path at least 2^k ln(1/delta), so that each combination of signs is met. 0 if that is more than
 * 400. */
size_t gemel__models_trials(const gemel__models *s);

/* 1 if the trials prove both sides the same and no sign came from a quadratic character. */
int gemel__models_proven(const gemel__models *s);

/* 1 if the question is open: nothing is refuted or proved, and some result was defined. */
int gemel__models_open(const gemel__models *s);

/* Sets the verdict. Call it after all points and trials. */
void gemel__models_decide(gemel__models *s);

#endif
