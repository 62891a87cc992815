/* SPDX-License-Identifier: MIT
 *
 * One question to Z3: can a truth hold? Each question gets a context of its own and a limit in Z3's
 * units of work, not of time, so the answer is the same on every machine and for any number of
 * threads; what can't be answered within it, or for want of memory, is unknown.
 */
#ifndef GEMEL__MODELS_SOLVER_CHECK_H
#define GEMEL__MODELS_SOLVER_CHECK_H

#include "domains/formula.h"

typedef enum gemel__solver_answer {
  GEMEL__SOLVER_UNKNOWN,
  GEMEL__SOLVER_NEVER,   /* proved */
  GEMEL__SOLVER_POSSIBLE /* with values for the leaves */
} gemel__solver_answer;

/* Work that a question may take; a quarter of a second or so. */
enum { GEMEL__SOLVER_WORK = 300000 };

/* Can the truth TERM hold? If so, LEAVES (initialised, one for each leaf of T) get values at which
 * it does. These are to be tried, not believed: functions are any that have a few of their facts,
 * and a root of a polynomial is rounded to a rational. */
gemel__solver_answer gemel__solver_check(const gemel__formulas *t, gemel__formula term,
                                         unsigned work, fmpq *leaves);

#endif
