/* SPDX-License-Identifier: MIT
 *
 * Proposes operands and a body for invoke.
 */
#ifndef GEMEL__INSTANCES_PROPOSE_INVOKE_H
#define GEMEL__INSTANCES_PROPOSE_INVOKE_H

#include "sample/propose.h"

/* Fills in the types of operands. *BODY: a new body for them, released by the caller; NULL: the
 * proposal knows it. GEMEL_DECLINED, GEMEL_NO_MEMORY. */
gemel_status gemel__propose_invoke(const gemel__proposal *p, size_t *n_inputs, gemel_type *inputs,
                                   gemel_graph **body);

#endif
