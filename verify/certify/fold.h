/* SPDX-License-Identifier: MIT
 *
 * Checks folded constants.
 */
#ifndef GEMEL__CERTIFY_FOLD_H
#define GEMEL__CERTIFY_FOLD_H

#include "core/graph.h"

/* *HELD: 1 if the constant AFTER is the result of node BEFORE of GRAPH, whose inputs are constants;
 * 0 if not; −1 if a reference can't compute it. GEMEL_NO_MEMORY. */
gemel_status gemel__certify_fold(const gemel_graph *graph, uint32_t before, uint32_t after,
                                 int *held, gemel_error *error);

/* A new graph of NODE and its constants, with the output "y". NULL: memory is out. */
gemel_graph *gemel__certify_alone(const gemel_graph *graph, uint32_t node, gemel_error *error);

#endif
