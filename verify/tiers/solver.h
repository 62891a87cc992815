/* SPDX-License-Identifier: MIT
 *
 * Z3 on what the models leave open. It can prove that both sides are the same function, or name a
 * point at which they differ. Of a decision that went one way at every point, it can prove that
 * there is no other way, or name a point that takes it. It sees the sides as formulas
 * (domains/symbolic.h), so a proof is for these sizes and for real numbers without rounding.
 */
#ifndef GEMEL__TIERS_SOLVER_H
#define GEMEL__TIERS_SOLVER_H

#include "tiers/models.h"

/* Asks Z3 what the models leave open. S->solver_proved is 1 if both sides are proved the same.
 * Points that Z3 names are judged by the models like any point. Ways that are proved impossible are
 * removed from the sites. Where Z3 has no answer nothing changes. */
gemel_status gemel__solver_ask(gemel__models *s, gemel_error *error);

#endif
