/* SPDX-License-Identifier: MIT
 *
 * Both sides of a region run by the shipped code and compared bit for bit, for replacements that
 * have to keep every bit.
 */
#ifndef GEMEL__CERTIFY_BITS_H
#define GEMEL__CERTIFY_BITS_H

#include "certify/compare.h"
#include "certify/difference.h"
#include "certify/sizes.h"

/* 1 if numbers of GRAPH go through several dtypes, or become integers or truths: then bits that are
 * lost may show. */
int gemel__bits_matter(const gemel_graph *graph);

/* The shipped code of both sides of PAIR at finite points, bit for bit but for the sign of zeros.
 * *FINDING: the same, different (SHOWN, unless it is null, then shows it), or unseen where it can't
 * be run. GEMEL_NO_MEMORY. */
gemel_status gemel__compare_bits(gemel__pair *pair, const gemel__literals *literals,
                                 gemel__difference *shown, gemel__random *random,
                                 gemel__finding *finding, gemel_error *error);

#endif
