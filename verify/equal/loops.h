/* SPDX-License-Identifier: MIT
 *
 * Loops of two graphs, by induction: if their bodies are the same function of any states, rows and
 * constants, loops over equal operands are the same function for any number of steps.
 */
#ifndef GEMEL__EQUAL_LOOPS_H
#define GEMEL__EQUAL_LOOPS_H

#include "pairs/joint.h"

/* The bodies of loops U and V, as graphs whose inputs and outputs have the same names.
 * GEMEL_DECLINED: one of them is no loop, they differ in more than their bodies, or an operand has
 * a run-time size. Release with gemel__part_clear. */
gemel_status gemel__loop_bodies(const gemel__joint *joint, uint32_t u, uint32_t v,
                                gemel__part_graphs *bodies, gemel_error *error);

/* The reason why derivatives of A and B, which are the same function, aren't compared. A loop with
 * `truncate` has other derivatives than its function. */
const char *gemel__loops_derivatives(const gemel_graph *a, const gemel_graph *b);

#endif
