/* SPDX-License-Identifier: MIT
 *
 * Where rounding decides. A sum in another order differs in its last digit; floor, a comparison or
 * argmax behind it turn that digit into another integer or another truth. Here it is asked which
 * results of two graphs such a decision reaches.
 */
#ifndef GEMEL__PAIRS_DECIDED_H
#define GEMEL__PAIRS_DECIDED_H

#include "pairs/joint.h"

/* How a result depends on a decision about a number that the two graphs may round differently. */
enum {
  GEMEL__DECIDED_CHOICE = 1, /* on a truth or a sign: it may be one thing or another */
  GEMEL__DECIDED_WHOLE = 2   /* on a number that was rounded to an integer, or on an index */
};

/* Sets DECIDED[k] to the flags of output K, in A's order; it has a byte for each. *KINDS: the
 * arithmetic (reference/twin.h) of nodes that only one graph has. Linear. GEMEL_NO_MEMORY, or what
 * gemel__joint_make reports. */
gemel_status gemel__decided_outputs(const gemel_graph *a, const gemel_graph *b,
                                    unsigned char *decided, unsigned *kinds, gemel_error *error);

/* The words, as bits, for results that KINDS of arithmetic round differently. */
unsigned gemel__words_of_kinds(unsigned kinds);

#endif
