/* SPDX-License-Identifier: MIT
 *
 * Constants that are roundings: what an optimiser folds is a float, what it folded a real number.
 */
#ifndef GEMEL__VERIFY_CONSTANTS_H
#define GEMEL__VERIFY_CONSTANTS_H

#include <gemel/graph.h>

/* A copy of GRAPH in which constants are taken for the real numbers that they round. Such a one is
 * a float constant that BY hasn't, and that some correct implementation may have computed from BY's
 * constants: as a part of BY that depends on no input, or as one further operation (- + × ÷) on
 * such. It becomes that expression. *COUNT says how many did; none: NULL with *ERROR's status
 * GEMEL_DECLINED, and nothing is known of the others. GEMEL_NO_MEMORY. */
gemel_graph *gemel__constants_unrounded(const gemel_graph *graph, const gemel_graph *by,
                                        size_t *count, gemel_error *error);

#endif
