/* SPDX-License-Identifier: MIT
 *
 * Loops of two graphs, by induction: if their bodies are the same function of any states, rows and
 * constants, loops over equal operands are the same function, however many steps they have.
 */
#ifndef GEMEL__EQUAL_LOOPS_H
#define GEMEL__EQUAL_LOOPS_H

#include "pairs/joint.h"

/* The bodies of loops U and V, as graphs of a step with equal inputs and outputs by name.
 * GEMEL_DECLINED: one of them is no loop, more than their bodies tells them apart, or an operand
 * has a size that only a run tells. Release with gemel__part_clear. */
gemel_status gemel__loop_bodies(const gemel__joint *joint, uint32_t u, uint32_t v,
                                gemel__part_graphs *bodies, gemel_error *error);

/* Why derivatives of A and B, the same function, aren't compared. With `truncate` a loop has
 * other derivatives than its function. */
const char *gemel__loops_derivatives(const gemel_graph *a, const gemel_graph *b);

#endif
