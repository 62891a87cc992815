/* SPDX-License-Identifier: MIT
 *
 * What is on trial at an instance, and the form that checks have.
 */
#ifndef GEMEL__INSTANCES_TRIAL_H
#define GEMEL__INSTANCES_TRIAL_H

#include "base/outcome.h"
#include "instances/instance.h"

struct gemel__kernel_trial;

/* Which implementation is on trial: the library's, or KERNEL for the instance's one operation. */
typedef struct gemel__trial {
  struct gemel__kernel_trial *kernel; /* NULL: the library */
  gemel__random *random;              /* for layouts */
  const gemel__instance *other;       /* a pair's second graph, where the check compares two */
} gemel__trial;

typedef gemel_status (*gemel__check)(const gemel__instance *instance, gemel_tensor *const *values,
                                     const gemel__trial *trial, gemel__outcome *outcome,
                                     gemel_error *error);

/* Makes a refuted instance smaller: fewer elements by drawing anew, then simpler values, as long as
 * CHECK still refutes it. INSTANCE and VALUES are replaced; OUTCOME is that of the result. REDRAW
 * (may be NULL) draws another instance of at most so many elements. */
typedef gemel_status (*gemel__redraw)(void *user, int64_t max_elements, gemel__random *random,
                                      gemel__instance *instance, gemel_error *error);
gemel_status gemel__shrink(gemel__instance *instance, gemel_tensor ***values, gemel__fill fill,
                           gemel__check check, const gemel__trial *trial, gemel__redraw redraw,
                           void *user, gemel__outcome *outcome, gemel_error *error);

#endif
