/* SPDX-License-Identifier: MIT
 *
 * What a solver can say of a question: whether both sides are the same function, by proof; a point
 * at which they differ; and of a decision that went one way at every point, whether the other way
 * exists at all, with a point that takes it. It sees the sides as formulas (domains/symbolic.h), so
 * it speaks of these sizes, and of real numbers.
 */
#ifndef GEMEL__MODELS_SOLVER_H
#define GEMEL__MODELS_SOLVER_H

#include "models/models.h"

/* Asks what the models leave open. Proved: S->proved says so. A point at which the sides differ, or
 * at which a decision goes another way than at all points before, is judged by the models as any
 * point; what is proved impossible of a site is no longer possible there. Where the solver has no
 * answer nothing changes. */
gemel_status gemel__solver_ask(gemel__models *s, gemel_error *error);

#endif
