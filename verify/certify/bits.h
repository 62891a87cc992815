/* SPDX-License-Identifier: MIT
 *
 * Compares both sides of a region bit for bit, for replacements that have to keep every bit. The
 * shipped code runs them.
 */
#ifndef GEMEL__CERTIFY_BITS_H
#define GEMEL__CERTIFY_BITS_H

#include "certify/compare.h"
#include "certify/difference.h"
#include "certify/sizes.h"

/* 1 if GRAPH has several float dtypes, or floats and integers: then digits may be lost on the
 * way. */
int gemel__bits_matter(const gemel_graph *graph);

/* Runs the shipped code of both sides of PAIR at finite points and compares every bit, except the
 * sign of zeros. *FINDING: the same, different (SHOWN, unless it is null, then shows it), or unseen
 * if it can't be run. GEMEL_NO_MEMORY. */
gemel_status gemel__compare_bits(gemel__pair *pair, const gemel__literals *literals,
                                 gemel__difference *shown, gemel__random *random,
                                 gemel__finding *finding, gemel_error *error);

#endif
