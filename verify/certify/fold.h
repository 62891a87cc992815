/* SPDX-License-Identifier: MIT
 *
 * Folded constants, computed once more.
 */
#ifndef GEMEL__CERTIFY_FOLD_H
#define GEMEL__CERTIFY_FOLD_H

#include "core/graph.h"

/* *HELD: is the constant AFTER what the node BEFORE of GRAPH, whose inputs are constants, gives?
 * −1: no reference can say. GEMEL_NO_MEMORY. */
gemel_status gemel__certify_fold(const gemel_graph *graph, uint32_t before, uint32_t after,
                                 int *held, gemel_error *error);

/* NODE by itself on its constants, a new graph with the output "y"; NULL: memory is out. */
gemel_graph *gemel__certify_alone(const gemel_graph *graph, uint32_t node, gemel_error *error);

#endif
