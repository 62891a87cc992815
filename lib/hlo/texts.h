/* SPDX-License-Identifier: MIT
 *
 * Opcodes that are formulas: operators of the domain "hlo" in hlo.operators, or a program's own.
 */
#ifndef GEMEL__HLO_TEXTS_H
#define GEMEL__HLO_TEXTS_H

#include "hlo/call.h"

/* Applies the operator that is called as C's opcode, with _ for -; refuses where there is none. */
int gemel__hlo_by_text(gemel__hlo_call *c, gemel__hlo_value *result);

#endif
