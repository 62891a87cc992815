/* SPDX-License-Identifier: MIT
 *
 * A survey: a scalar operation on numbers from all over its domain. What an ordinary instance draws
 * is numbers about 1, and a function may be right there and wrong on (5, 80). A survey is drawn for
 * one dtype of the operands (of a cast: one pair of dtypes):
 *
 *   one operand     every number of f16, bf16, bool, i8 and u8. Of a wider float, numbers of every
 *                   binade, a random one of each of as many parts of equal size, both ends among
 *                   them; and the neighbourhood of every threshold
 *   two             landmarks (zeros, infinities, NaN, the ends of the dtype, 1 and other small
 *                   numbers with their neighbours, powers of two) in all pairs; pairs from all over
 *                   the square of the binades; exponents that lie near each other, for every
 * binade; pairs that are related (equal, opposite, next to each other, multiples, quotients); and
 * thresholds along both axes three           landmarks, related numbers and random ones
 *
 * A threshold is where the results change their kind (NaN, zero, subnormal, normal, 1, infinite or
 * saturated). It is looked for by bisection, on the reference: no list of them is written down.
 * Integers are random of every width, runs of zeros and ones among them, with the extremes and the
 * powers of two.
 */
#ifndef GEMEL__OPERATIONS_SURVEY_H
#define GEMEL__OPERATIONS_SURVEY_H

#include "harness/run.h"

enum { GEMEL__SURVEY_OPERANDS = 3 };

typedef struct gemel__survey {
  gemel_context *context;
  const gemel_operation *op;
  int n_inputs;
  gemel_dtype dtypes[GEMEL__SURVEY_OPERANDS];
  gemel_dtype to; /* a cast's target */
  int is_cast;
  double ulp;
  size_t density; /* how much is drawn: GEMEL__SURVEY_FULL is all of the above, less is a share */
  gemel__random *random;
  /* What was drawn: COUNT numbers an operand, as bits (sample/ordinal.h). */
  uint64_t *bits[GEMEL__SURVEY_OPERANDS];
  size_t count, capacity[GEMEL__SURVEY_OPERANDS];
} gemel__survey;

enum { GEMEL__SURVEY_FULL = 96 }; /* as many as instances by default */

/* Draws the numbers (survey-values.c). */
gemel_status gemel__survey_draw(gemel__survey *s, gemel_error *error);
void gemel__survey_clear(gemel__survey *s);

/* Adds one tuple, of as many numbers as there are operands. */
gemel_status gemel__survey_add(gemel__survey *s, const uint64_t *bits, gemel_error *error);

/* N as a share of the density, at least 1. */
size_t gemel__survey_share(const gemel__survey *s, size_t n);

/* An instance of N elements that applies the operation, and tensors for its operands, without
 * values (*VALUES is released by gemel__values_free). */
gemel_status gemel__survey_instance(const gemel__survey *s, size_t n, gemel__instance *instance,
                                    gemel_tensor ***values, gemel_error *error);

/* Puts tuple FROM + K of the survey into element K of VALUES, for N of them. */
void gemel__survey_fill(const gemel__survey *s, size_t from, size_t n, gemel_tensor **values);

/* Adds what lies about the thresholds (survey-thresholds.c): of one operand, and of two along each
 * axis. */
gemel_status gemel__survey_thresholds(gemel__survey *s, gemel_error *error);

/* Random numbers of one operand: of any binade, NaN and infinities apart. */
uint64_t gemel__survey_number(gemel__survey *s, int operand);

/* ---- Judging ---- */

/* Surveys OP in every dtype that concerns TIER (integer: where operands and results are integers;
 * special: the rest), by the check of that tier. *DONE: something was refuted; INSTANCE, VALUES and
 * *SURVEYED (its dtype) are then the counterexample's, the caller's to release. OUTCOME and
 * INSTANCES are added to. KERNEL as in gemel__trial. */
typedef struct gemel__surveying {
  gemel__run *run;
  const gemel_operation *op;
  const char *name;
  gemel_tier tier;
  gemel__check check;
  struct gemel__kernel_trial *kernel;
  struct gemel__ulps *ulps;
  /* What came out: */
  size_t instances, declined;
  gemel__outcome outcome;
  int refuted;
  gemel_dtype dtype;
  gemel__instance instance;
  gemel_tensor **values;
} gemel__surveying;

/* 1 if OP is surveyed at all: a scalar operation, and not in a run of hardly any INSTANCES. */
int gemel__survey_applies(const gemel_operation *op, size_t instances);

gemel_status gemel__survey_tier(gemel__surveying *surveying, gemel_error *error);

#endif
