/* SPDX-License-Identifier: MIT
 *
 * One question to Z3: is a formula satisfiable? Each question has its own Z3 context, and a limit
 * in Z3's units of work rather than in seconds, so the answer is the same on every machine and with
 * any number of threads. Unknown: no answer within the limit, or out of memory.
 */
#ifndef GEMEL__TIERS_SOLVER_CHECK_H
#define GEMEL__TIERS_SOLVER_CHECK_H

#include "domains/formula.h"

typedef enum gemel__solver_answer {
  GEMEL__SOLVER_UNKNOWN,
  GEMEL__SOLVER_NEVER,   /* proved unsatisfiable */
  GEMEL__SOLVER_POSSIBLE /* satisfiable; values for the leaves are given */
} gemel__solver_answer;

/* Work for one question; about a quarter of a second. */
enum { GEMEL__SOLVER_WORK = 300000 };

/* Can TERM, a truth, hold? If POSSIBLE, LEAVES (initialised, one for each leaf of T) are set to
 * values at which it may. The caller must check these: to Z3, exp and log are any functions with a
 * few of their properties, and algebraic numbers are rounded to rationals. */
gemel__solver_answer gemel__solver_check(const gemel__formulas *t, gemel__formula term,
                                         unsigned work, fmpq *leaves);

#endif
