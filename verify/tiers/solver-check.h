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

/* Questions that had no example, with their answers: a pair without symbols is asked the same ones
 * at each instantiation. Several threads may use it at once. */
typedef struct gemel__solver_memory gemel__solver_memory;

/* NULL when memory is out. Free it with gemel__solver_memory_free; NULL is ignored there. */
gemel__solver_memory *gemel__solver_memory_new(void);
void gemel__solver_memory_free(gemel__solver_memory *memory);

/* Can TERM, a truth, hold? LEAVES (initialised, one for each leaf of T) are set, if
 * POSSIBLE to values at which it may. The caller must check these: to Z3, exp and log are any
 * functions with a few of their properties, and algebraic numbers are rounded to rationals. MEMORY
 * (may be NULL) is looked into first, and told the answer. */
gemel__smt_answer gemel__solver_check(const gemel__formulas *t, gemel__formula term, unsigned work,
                                      fmpq *leaves, gemel__solver_memory *memory);

#endif
