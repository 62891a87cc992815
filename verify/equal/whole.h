/* SPDX-License-Identifier: MIT
 *
 * What is asked about two graphs as a whole, at their own sizes, once their parts or tiers have
 * passed.
 */
#ifndef GEMEL__EQUAL_WHOLE_H
#define GEMEL__EQUAL_WHOLE_H

#include "harness/run.h"
#include "pairs/flips.h"

/* Looks for integers and truths that rounding decides otherwise in B than in A, and then for inputs
 * at which B loses digits. KNOWN and ALLOW are words: what is known isn't sought again, and digits
 * only if FOUND would refuse them. FOUND has the word and the witness; release that whatever the
 * status. Nothing is asked in a brief run. GEMEL_NO_MEMORY. */
gemel_status gemel__whole_look(gemel__run *run, const char *name, const gemel_graph *a,
                               const gemel_graph *b, unsigned known, unsigned allow,
                               gemel__flip *found, gemel_error *error);

#endif
