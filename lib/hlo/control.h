/* SPDX-License-Identifier: MIT
 *
 * How often a while goes round, where that follows from constants.
 */
#ifndef GEMEL__HLO_CONTROL_H
#define GEMEL__HLO_CONTROL_H

#include "hlo/call.h"

/* *STEPS = the number of steps of a while that begins with INITIAL: it is found by computing what
 * the condition reads, of integers and truths that are known. -1: they aren't, or there are too
 * many steps. Returns 1, or 0 and the graph's error. */
int gemel__hlo_trips(gemel__hlo_call *c, const gemel__hlo_computation *condition,
                     const gemel__hlo_computation *body, const gemel__hlo_value *initial,
                     int64_t *steps);

#endif
