/* SPDX-License-Identifier: MIT
 *
 * One question to Z3 (base/smt.h): is a formula satisfiable?
 */
#ifndef GEMEL__TIERS_SOLVER_CHECK_H
#define GEMEL__TIERS_SOLVER_CHECK_H

#include "base/smt.h"
#include "domains/formula.h"

/* Work for one question; about a quarter of a second. */
enum { GEMEL__SOLVER_WORK = 300000 };

/* Can TERM, a truth, hold? LEAVES (initialised, one for each leaf of T) are set, if
 * POSSIBLE to values at which it may. The caller must check these: to Z3, exp and log are any
 * functions with a few of their properties, and algebraic numbers are rounded to rationals. */
gemel__smt_answer gemel__solver_check(const gemel__formulas *t, gemel__formula term, unsigned work,
                                      fmpq *leaves);

#endif
