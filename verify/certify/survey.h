/* SPDX-License-Identifier: MIT
 *
 * Both sides of a region at points, exactly: at the numbers that the region names and beside them,
 * at ties, and where its decisions change.
 */
#ifndef GEMEL__CERTIFY_SURVEY_H
#define GEMEL__CERTIFY_SURVEY_H

#include "certify/compare.h"
#include "certify/difference.h"
#include "certify/sizes.h"

typedef struct gemel__survey_options {
  const gemel__literals *literals;
  int thorough;             /* 1: what changes decisions is searched for */
  int infinite;             /* 1: some inputs are infinite at some points */
  gemel__difference *shown; /* where a difference is shown; NULL: nowhere */
} gemel__survey_options;

/* PAIR, with the ranges of its leaves, in domain O. *LIKENESS: ALIKE wherever it was looked,
 * UNLIKE (certain, at these sizes), or UNSEEN: an element of the result had no value on both sides
 * at any point. What is undefined on one side is no difference. Work is bounded. GEMEL_NO_MEMORY.
 */
gemel_status gemel__survey(const gemel__pair *pair, const gemel__survey_options *options,
                           gemel__random *random, gemel__likeness *likeness, gemel_error *error);

/* 1 if numbers of GRAPH go through several dtypes, or become integers or truths: then bits that are
 * lost may show. */
int gemel__bits_matter(const gemel_graph *graph);

/* The shipped code of both sides at finite points, bit for bit but for the sign of zeros: ALIKE,
 * UNLIKE, or UNSEEN where it can't be run. It is neither thorough nor infinite. */
gemel_status gemel__survey_bits(gemel__pair *pair, const gemel__survey_options *options,
                                gemel__random *random, gemel__likeness *likeness,
                                gemel_error *error);

#endif
