/* SPDX-License-Identifier: MIT
 *
 * What a claim is about: dtypes, ranks, and what of elements.
 */
#ifndef GEMEL__RULES_CLAIM_SCOPE_H
#define GEMEL__RULES_CLAIM_SCOPE_H

#include <gemel/verify.h>

/* What a claim may say of elements of a dtype. */
enum {
  GEMEL__CLAIMS_VALUES = 1, /* of floats: real numbers; of integers and truths: all there is */
  GEMEL__CLAIMS_BITS = 2    /* every bit, all NaNs being one */
};

/* What the claim ELEMENTS ("any", or "bits (f16 f32), values (reals, i8 i16)", either of the two by
 * itself, too) says of elements of DTYPE: bits; 0: nothing. */
unsigned gemel__claimed_of_dtype(const char *elements, gemel_dtype dtype);

/* What PROOF says of an instance like GRAPH, by the ranks of all its values and the dtypes of its
 * inputs, but those that are indices, classes, or asked by `where` only. Where these are all, the
 * dtypes of its outputs count. No bits are claimed of integers that are computed by way of floats
 * of which only values are. Memory being out, nothing. */
unsigned gemel__claimed_of_graph(const gemel_proof *proof, const gemel_graph *graph);

/* 1 if GRAPH, a right side, computes with no floats of which PROOF claims only values; 0: memory is
 * out. */
int gemel__claims_bits_of_graph(const gemel_proof *proof, const gemel_graph *graph);

/* Takes back what PROOF claims, since COUNTEREXAMPLE, which is borrowed, contradicts it. POLES: 1
 * if something on the way may be infinite there, such as log 0, of which nothing is claimed. */
void gemel__withdraw(gemel_proof *proof, const char *counterexample, int poles);

/* Takes back what PROOF claims if no instance was found to check it with. */
void gemel__drop_unchecked(gemel_proof *proof);

#endif
