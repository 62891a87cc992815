/* SPDX-License-Identifier: MIT
 *
 * What a check of an instance gets: the implementation on trial. And the shrinking of refuted
 * instances.
 */
#ifndef GEMEL__INSTANCES_TRIAL_H
#define GEMEL__INSTANCES_TRIAL_H

#include "base/outcome.h"
#include "instances/instance.h"

struct gemel__kernel_trial;

/* The implementation on trial: the library's, or KERNEL for the instance's only operation. */
typedef struct gemel__trial {
  struct gemel__kernel_trial *kernel; /* NULL: the library */
  gemel__random *random;              /* for layouts */
  const gemel__instance *other;       /* a pair's second graph, if the check compares two */
} gemel__trial;

typedef gemel_status (*gemel__check)(const gemel__instance *instance, gemel_tensor *const *values,
                                     const gemel__trial *trial, gemel__outcome *outcome,
                                     gemel_error *error);

/* Shrinks a refuted instance: redraws it with fewer elements, then makes values simpler, as long as
 * CHECK still refutes it. INSTANCE and VALUES are replaced; OUTCOME becomes that of the result.
 * REDRAW (may be NULL) draws another instance of at most MAX_ELEMENTS elements. */
typedef gemel_status (*gemel__redraw)(void *user, int64_t max_elements, gemel__random *random,
                                      gemel__instance *instance, gemel_error *error);
gemel_status gemel__shrink(gemel__instance *instance, gemel_tensor ***values, gemel__fill fill,
                           gemel__check check, const gemel__trial *trial, gemel__redraw redraw,
                           void *user, gemel__outcome *outcome, gemel_error *error);

#endif
