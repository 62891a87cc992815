/* SPDX-License-Identifier: MIT
 *
 * Differences between two graphs that no kind of rounding explains, see needs.h.
 */
#ifndef GEMEL__NEEDS_BEYOND_H
#define GEMEL__NEEDS_BEYOND_H

#include "domains/bound.h"
#include "needs/needs.h"

/* How the numbers of a point are. */
typedef enum gemel__temper {
  GEMEL__CALM, /* all of ordinary magnitude, none is 0 */
  GEMEL__TAME, /* zeros too, and numbers whose exponentials overflow */
  GEMEL__WILD  /* all finite numbers */
} gemel__temper;

/* Adds to NEEDS->beyond what the results BASE of PAIR at the finite VALUES show. FOLDED: constants
 * of the two may be different roundings of one real number. */
gemel_status gemel__beyond_look(const gemel__pair *pair, gemel_tensor *const *values,
                                const gemel__both *base, gemel__temper temper, int folded,
                                gemel__bound *bound, gemel__needs *needs, gemel_error *error);

/* The words of GEMEL_PAIR_TABLE that NEEDS->beyond stands for, as bits. */
unsigned gemel__beyond_words(const gemel__needs *needs);

/* An instance of NEEDS that shows one of the words REFUSED, or numbers that are too far apart; its
 * VALUES are NULL if there is none. *WORD: what it shows. */
gemel__witness *gemel__beyond_witness(gemel__needs *needs, unsigned refused, const char **word);

/* Overwrites the elements of an integer tensor with numbers that a narrower dtype or a float
 * can't hold, and their neighbours. Half of them are near those of other tensors with the same
 * COMMON. */
void gemel__beyond_fill(gemel_tensor *tensor, uint64_t common, gemel__random *random);

#endif
