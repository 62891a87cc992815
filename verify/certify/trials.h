/* SPDX-License-Identifier: MIT
 *
 * Compares both sides of a region at random residues. That is fast, and a proof where no decision
 * is taken.
 */
#ifndef GEMEL__CERTIFY_TRIALS_H
#define GEMEL__CERTIFY_TRIALS_H

#include "certify/compare.h"
#include "pairs/pair.h"

/* Compares PAIR at random residues. *FINDING is any of those in compare.h; *DECIDES becomes 1 if a
 * decision was taken. GEMEL_NO_MEMORY. */
gemel_status gemel__trials_run(gemel__pool *pool, const gemel__pair *pair, gemel__finding *finding,
                               int *decides, gemel_error *error);

/* How many elements PAIR's result has. */
size_t gemel__pair_results(const gemel__pair *pair);

#endif
