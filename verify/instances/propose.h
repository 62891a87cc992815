/* SPDX-License-Identifier: MIT
 *
 * Makes proposals (sample/propose.h).
 */
#ifndef GEMEL__INSTANCES_PROPOSE_H
#define GEMEL__INSTANCES_PROPOSE_H

#include "sample/propose.h"

/* Draws what isn't known. Afterwards lists in the attributes belong to the context, and known
 * attributes are in normal form too. An operation without a proposer gets its sampler's instances.
 * GEMEL_DECLINED if nothing was found in GEMEL__PROPOSAL_TRIES tries: PROPOSAL is then unchanged,
 * and ERROR has the reason of the last try. GEMEL_NO_MEMORY. The same stream of random numbers
 * gives the same proposal. */
gemel_status gemel__propose(gemel__proposal *proposal, gemel_error *error);

#endif
