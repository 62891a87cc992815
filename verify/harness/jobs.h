/* SPDX-License-Identifier: MIT
 *
 * Verifies the subjects of a run several at a time.
 */
#ifndef GEMEL__HARNESS_JOBS_H
#define GEMEL__HARNESS_JOBS_H

#include "harness/run.h"

/* Verifies subject K of USER and emits its records into RUN. */
typedef gemel_status (*gemel__job)(gemel__run *run, const void *user, size_t k, gemel_error *error);

/* Calls JOB for the subjects 0 .. N − 1, RUN->options.jobs at a time. Records are passed to RUN's
 * sink on the calling thread, in the order of subjects. What JOB reads of USER must not change. The
 * first subject in order that fails ends the run with its status; records of later ones aren't
 * emitted. RUN's ticker is called on the calling thread with the number of subjects done; a JOB
 * must end soon when it says stop. GEMEL_NO_MEMORY. */
gemel_status gemel__run_jobs(gemel__run *run, size_t n, gemel__job job, const void *user,
                             gemel_error *error);

/* The same for operations or rules. RUN->options.tick is called between subjects. When it says
 * stop, UNTRIED is called for all subjects that haven't begun, to report them with the reason
 * GEMEL__UNTRIED. */
gemel_status gemel__run_subjects(gemel__run *run, size_t n, gemel__job job, gemel__job untried,
                                 const void *user, gemel_error *error);

/* What is to be reported as proved in place of what RECORDS, N of one subject, say; NULL: what they
 * say. It may be in ROOM. */
typedef const gemel_proof *(*gemel__settle)(gemel_context *context, size_t n,
                                            const gemel_record *records, gemel_proof *room);

/* Calls JOB for subject K of USER, and passes its records on when it has ended and SETTLE has seen
 * them. GEMEL_NO_MEMORY, and what JOB reports. */
gemel_status gemel__run_settled(gemel__run *run, gemel__job job, const void *user, size_t k,
                                gemel__settle settle, gemel_error *error);

#define GEMEL__UNTRIED "the run was stopped before it was tried"

#endif
