/* SPDX-License-Identifier: MIT
 *
 * Runs both graphs of a pair by the shipped code, and tells how two computed numbers differ.
 */
#ifndef GEMEL__PAIRS_CONTRAST_H
#define GEMEL__PAIRS_CONTRAST_H

#include "pairs/pair.h"
#include "tiers/tiers.h"

/* How two numbers differ, from least to most. */
typedef enum gemel__contrast {
  GEMEL__SAME,      /* not at all; all NaNs are equal */
  GEMEL__ZERO_SIGN, /* zeros of different signs */
  GEMEL__ROUNDING,  /* finite numbers that differ by less than half their digits */
  GEMEL__FAR,       /* finite numbers that differ by more; integers and bools that differ at all */
  GEMEL__INF_SIGN,  /* infinities of different signs */
  GEMEL__CLASS      /* NaN or an infinity on one side only */
} gemel__contrast;

gemel__contrast gemel__contrast_of(gemel_dtype dtype, const void *a, const void *b);

/* 1 if two numbers that are FAR apart are so beside the largest magnitude of both results, MOST:
 * what is between them is more than half of its digits. Integers and bools are in any case. */
int gemel__is_far_beside(gemel_dtype dtype, const void *a, const void *b, double most);

/* 1 if X and Y have the same sizes; and "shape [2, 3]". */
int gemel__have_one_shape(const gemel_tensor *x, const gemel_tensor *y);
void gemel__say_shape(const gemel_tensor *tensor, char *text, size_t bytes);

/* Check of a pair: does the shipped code's result for the instance differ in any bit from that for
 * TRIAL->other? If fused code agrees, the second one is run with plain kernels. */
gemel_status gemel__check_contrast(const gemel__instance *instance, gemel_tensor *const *values,
                                   const gemel__trial *trial, gemel__outcome *outcome,
                                   gemel_error *error);
gemel_status gemel__check_contrast_ways(const gemel__instance *instance,
                                        gemel_tensor *const *values, const gemel__trial *trial,
                                        gemel__outcome *outcome, gemel_error *error);

/* Results of both graphs, N each. */
typedef struct gemel__both {
  size_t n;
  gemel_tensor **left, **right;
} gemel__both;

/* Compiles both graphs before a series of gemel__both_run, fused or with plain kernels as PLAIN of
 * the pair says. */
void gemel__pair_compile(gemel__pair *pair);

/* 1 if pairs with GRAPH are always run with plain kernels, because it has convolutions. */
int gemel__runs_plain(const gemel_graph *graph);

/* Runs the shipped code of both graphs at VALUES: fused, or with plain kernels if PLAIN of the pair
 * says so. Release with gemel__both_clear. */
gemel_status gemel__both_run(const gemel__pair *pair, gemel_tensor *const *values,
                             gemel__random *random, gemel__both *both, gemel_error *error);
/* Runs the first graph of PAIR or the SECOND alone, as gemel__both_run does. RESULTS gets a new
 * tensor an output. */
gemel_status gemel__side_run(const gemel__pair *pair, int second, gemel_tensor *const *values,
                             gemel__random *random, gemel_tensor **results, gemel_error *error);
/* Like gemel__both_run by the fastest algorithms: convolutions may round differently on the two
 * sides. */
gemel_status gemel__both_run_fast(const gemel__pair *pair, gemel_tensor *const *values,
                                  gemel__random *random, gemel__both *both, gemel_error *error);
void gemel__both_clear(gemel__both *both);

/* Of one output: whether both results are the same bytes (if not, their elements may still be
 * equal), how many elements there are to compare, and how element I differs. */
int gemel__both_identical(const gemel__both *both, size_t output);
size_t gemel__both_elements(const gemel__both *both, size_t output);
gemel__contrast gemel__both_contrast(const gemel__both *both, size_t output, size_t i);

/* Element I of either side in decimal. */
void gemel__both_format(const gemel__both *both, size_t output, size_t i, char *left, char *right,
                        size_t bytes);

#endif
