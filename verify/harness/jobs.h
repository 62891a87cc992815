/* SPDX-License-Identifier: MIT
 *
 * The subjects of a run, verified several at a time.
 */
#ifndef GEMEL__HARNESS_JOBS_H
#define GEMEL__HARNESS_JOBS_H

#include "harness/run.h"

/* Verifies subject K of what USER stands for and emits its records into RUN. */
typedef gemel_status (*gemel__job)(gemel__run *run, const void *user, size_t k, gemel_error *error);

/* Calls JOB for the subjects 0 .. N - 1, as many at a time as RUN->options.jobs says. Records come
 * to RUN's sink on the calling thread, in the order of subjects. What JOB reads of USER must not
 * change. The first subject in order that fails ends the run with its status, and nothing of later
 * ones is emitted. RUN's ticker is asked on the calling thread, how many subjects are done; JOB
 * sees to it that a subject ends when it stops. GEMEL_NO_MEMORY. */
gemel_status gemel__run_jobs(gemel__run *run, size_t n, gemel__job job, const void *user,
                             gemel_error *error);

/* The same of operations or rules: RUN->options.tick is asked between them, and for those that
 * nobody has begun when it says stop UNTRIED is called, with GEMEL__UNTRIED to say. */
gemel_status gemel__run_subjects(gemel__run *run, size_t n, gemel__job job, gemel__job untried,
                                 const void *user, gemel_error *error);

#define GEMEL__UNTRIED "the run was stopped before it was tried"

#endif
