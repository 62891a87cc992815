/* SPDX-License-Identifier: MIT
 *
 * A survey: a scalar operation on numbers from all over its domain. An ordinary instance draws
 * numbers about 1, and a function that is right there may be wrong on (5, 80). A survey is drawn
 * for one dtype of the operands (of a cast: one pair of dtypes).
 *
 * One operand: every number of f16, bf16, bool, i8 and u8. Of a wider float, in every binade, both
 * ends and a random number of each of as many parts of equal size; and the neighbourhood of every
 * threshold.
 *
 * Two operands: all pairs of landmarks (zeros, infinities, NaN, the ends of the dtype, small
 * integers with their neighbours, powers of two); pairs from all parts of the square of binades;
 * for every binade, pairs with near exponents; related pairs (equal, opposite, adjacent, multiples,
 * quotients); thresholds along both axes.
 *
 * Three operands: landmarks, related numbers and random ones.
 *
 * A threshold is where the result changes its kind: NaN, zero, subnormal, normal, 1, infinite or
 * saturated. It is found by bisection on the reference. Integers are random of every width, with
 * runs of zeros and ones, the extremes and powers of two.
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
  size_t density; /* GEMEL__SURVEY_FULL: all of the above is drawn; less: a share */
  gemel__random *random;
  /* What was drawn: COUNT numbers for each operand, as bits (sample/ordinal.h). */
  uint64_t *bits[GEMEL__SURVEY_OPERANDS];
  size_t count, capacity[GEMEL__SURVEY_OPERANDS];
} gemel__survey;

enum { GEMEL__SURVEY_FULL = 96 }; /* the default number of instances */

/* Draws the numbers (survey-values.c). */
gemel_status gemel__survey_draw(gemel__survey *s, gemel_error *error);
void gemel__survey_clear(gemel__survey *s);

/* Adds one tuple: a number for each operand. */
gemel_status gemel__survey_add(gemel__survey *s, const uint64_t *bits, gemel_error *error);

/* N × density ÷ GEMEL__SURVEY_FULL, at least 1. */
size_t gemel__survey_share(const gemel__survey *s, size_t n);

/* An instance of N elements that applies the operation, and tensors for its operands, without
 * values (*VALUES is released by gemel__values_free). */
gemel_status gemel__survey_instance(const gemel__survey *s, size_t n, gemel__instance *instance,
                                    gemel_tensor ***values, gemel_error *error);

/* Copies tuples FROM to FROM + N − 1 of the survey into elements 0 to N − 1 of VALUES. */
void gemel__survey_fill(const gemel__survey *s, size_t from, size_t n, gemel_tensor **values);

/* Adds numbers about the thresholds (survey-thresholds.c) of one operand, or of two along each
 * axis. */
gemel_status gemel__survey_thresholds(gemel__survey *s, gemel_error *error);

/* A random number for OPERAND: of any binade, never NaN or infinite. */
uint64_t gemel__survey_number(gemel__survey *s, int operand);

/* ---- Judging ---- */

/* A survey of OP in every dtype of TIER, judged by CHECK. Tier integer has the dtypes for which
 * operands and results are integers, tier special all others. KERNEL (may be NULL) as in
 * gemel__trial. If something is refuted, DTYPE, INSTANCE and VALUES are the counterexample, which
 * the caller releases. */
typedef struct gemel__surveying {
  gemel__run *run;
  const gemel_operation *op;
  const char *name;
  gemel_tier tier;
  gemel__check check;
  struct gemel__kernel_trial *kernel;
  struct gemel__ulps *ulps;
  /* Results; INSTANCES, DECLINED and OUTCOME are added to. */
  size_t instances, declined;
  gemel__outcome outcome;
  int refuted;
  gemel_dtype dtype;
  gemel__instance instance;
  gemel_tensor **values;
} gemel__surveying;

/* 1 if OP is surveyed: a scalar operation, in a run of at least 4 INSTANCES. */
int gemel__survey_applies(const gemel_operation *op, size_t instances);

gemel_status gemel__survey_tier(gemel__surveying *surveying, gemel_error *error);

#endif
