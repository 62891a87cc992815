/* SPDX-License-Identifier: MIT
 *
 * Instructions of which gemel knows nothing but that they are functions: custom calls, collectives,
 * complex numbers. Two that are written alike and have equal operands have equal results.
 */
#ifndef GEMEL__HLO_OPAQUE_H
#define GEMEL__HLO_OPAQUE_H

#include "hlo/call.h"

/* The dtype by which elements of SHAPE's type are carried: its own, or for a type that gemel hasn't
 * one that stands for it, as numbers that only opaque functions make and take. */
gemel_dtype gemel__hlo_carrier(const gemel__hlo_shape *shape);

/* 1 if SHAPE, or a part of it, has a type that gemel hasn't. */
int gemel__hlo_is_foreign(const gemel__hlo_shape *shape);

/* *RESULT = an unknown function of C's operands, for each array of its shape. */
int gemel__hlo_opaque(gemel__hlo_call *c, gemel__hlo_value *result);

#endif
