/* SPDX-License-Identifier: MIT
 *
 * Constants whose value is IEEE's and not that of the reals: what depends on no input and is a
 * truth or an integer made of floats (0.1:f32 == 0.1:f64, cast(nan, i32)), has no real value (0 ÷
 * 0), or overflows (cast(70000, f16)). And bounds that are the dtype's largest finite number, which
 * bound infinities alone.
 */
#ifndef GEMEL__EQUAL_DISCRETE_H
#define GEMEL__EQUAL_DISCRETE_H

#include <gemel/graph.h>

/* *SETTLED = GRAPH with such values as constants and without such bounds, for tier real; NULL if
 * there are none, or they can't be evaluated. GEMEL_NO_MEMORY. */
gemel_status gemel__discrete_settle(const gemel_graph *graph, gemel_graph **settled,
                                    gemel_error *error);

#endif
