/* SPDX-License-Identifier: MIT
 *
 * What model.c, which evaluates, hands to verdict.c, which decides: both models at work on one
 * question, and what they have found so far.
 */
#ifndef GEMEL__MODELS_MODELS_H
#define GEMEL__MODELS_MODELS_H

#include "models/compared.h"
#include "domains/field.h"
#include "domains/ordered.h"
#include "models/model.h"

typedef struct gemel__models {
  const gemel__question *q;
  gemel__answer *answer;
  gemel__ordered *o;
  gemel__domain *f;
  gemel__tape tapes[2];
  gemel__rtensor *results; /* left's, then right's */
  gemel__random random;
  int infinite;       /* the point at hand has infinities: it lies in no cell */
  size_t first_plant; /* which number beside a constant comes first */
  uint64_t cells[64]; /* hashes of decisions seen, for counting cells */
  gemel__compared compared;
  size_t o_compared, o_nonzero; /* results in O that were numbers, those that weren't all 0 */
  size_t points;                /* to be drawn */
  size_t f_accepted, f_rejected, f_open, f_with_characters, f_keyed;
  size_t f_other; /* trials with functions, quotients or known signs: no polynomials */
  size_t cell_accepted, cell_rejected, cell_open, cell_keyed;
  size_t gaps;
  const char *keyed_name; /* a function outside the model that a trial of F met; NULL: none */
  int undecided;          /* most undecided signs on a path, of all trials of F */
  size_t bisections;
  int exponentials;
  double delta; /* of one trial that accepts */
  int solver_proved;
  size_t solver_questions;
} gemel__models;

/* ---- Points (model.c, between.c) ---- */

/* An array for a value of each leaf; NULL: memory is out. Freeing it releases the values. */
gemel_tensor **gemel__models_point_new(const gemel__models *s, gemel_error *error);
void gemel__models_point_free(const gemel__models *s, gemel_tensor **point);

/* Both models at POINT. *WITNESS: something differs there, and the answer has taken the point. */
gemel_status gemel__models_judge(gemel__models *s, gemel_tensor **point, int *witness,
                                 gemel_error *error);

/* Looks for narrow windows between A and B, or (ONE) where only one number of each leaf moves from
 * A to B: with many numbers on the move there are so many changes that none is followed up. */
gemel_status gemel__models_bisect(gemel__models *s, gemel_tensor *const *a, gemel_tensor *const *b,
                                  int one, gemel_error *error);

/* Looks for points at which what is compared is equal, or nearly, and judges them (drive.c). */
gemel_status gemel__models_drive(gemel__models *s, gemel_error *error);

/* ---- Verdicts (verdict.c) ---- */

/* Sets verdict, how and detail. */
void gemel__say(gemel__answer *answer, gemel_verdict verdict, gemel_evidence how,
                const char *detail);

/* Undecided signs that one result depends on, at most, in the trial of F that REPORT is about. In
 * an elementwise function of leaves of one shape each result has its own, and a trial is as many
 * trials as there are results. */
int gemel__models_path(const gemel__models *s, const gemel__field_report *report);

/* Trials that it takes: as many as asked for, and for k undecided signs on a path so many that the
 * cell where two sides differ is hit, 2^k ln(1/delta); 0 if that is out of reach. */
size_t gemel__models_trials(const gemel__models *s);

/* 1 if the trials prove the sides the same, without a sign that was taken from a character. */
int gemel__models_proven(const gemel__models *s);

/* 1 if nothing is refuted or proved yet, and some result was defined. */
int gemel__models_open(const gemel__models *s);

/* The verdict, when all points and trials are done. */
void gemel__models_decide(gemel__models *s);

#endif
