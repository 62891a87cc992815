/* SPDX-License-Identifier: MIT
 *
 * Both sides of a region at random residues: fast, and where no decision is taken all there is to
 * ask.
 */
#ifndef GEMEL__CERTIFY_TRIALS_H
#define GEMEL__CERTIFY_TRIALS_H

#include "certify/compare.h"
#include "pairs/pair.h"

/* PAIR at random residues: any of the findings of compare.h. *DECIDES becomes 1 if a sign was asked
 * for. GEMEL_NO_MEMORY. */
gemel_status gemel__trials_run(gemel__pool *pool, const gemel__pair *pair, gemel__finding *finding,
                               int *decides, gemel_error *error);

/* Elements of PAIR's result. */
size_t gemel__pair_results(const gemel__pair *pair);

#endif
