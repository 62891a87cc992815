/* SPDX-License-Identifier: MIT
 *
 * How kernels run the bodies of their operations. Bodies are compiled by lib/run, which stands
 * above the operations, so a context has a record of what it gives them (gemel_context_new).
 */
#ifndef GEMEL__CORE_RUNNER_H
#define GEMEL__CORE_RUNNER_H

#include <gemel/function.h>
#include <gemel/operation.h>

typedef struct gemel__execution gemel__execution;

typedef struct gemel__body_runner {
  /* BODY compiled as the caller's function is, which profiles and listings then see into, on the
   * device where the call's operands lie: for a kernel's PREPARE. NULL, with *STATUS and the call's
   * error, on failure. */
  gemel_function *(*compile)(const gemel_kernel_call *call, const gemel_graph *body,
                             gemel_status *status);
  gemel_status (*call)(gemel_function *function, size_t n_inputs, gemel_tensor *const *inputs,
                       size_t n_outputs, gemel_tensor **outputs, gemel_error *error);
  void (*free)(gemel_function *function);
  /* Many calls with the same shapes: one execution is taken, made ready, repeated and given back,
   * see run/execution.h. ERROR_OF is of the last repetition. */
  gemel__execution *(*take)(gemel_function *function, gemel_error *error);
  gemel_status (*ready)(gemel__execution *execution, gemel_tensor *const *inputs);
  gemel_status (*repeat)(gemel__execution *execution, gemel_tensor *const *inputs,
                         gemel_tensor **outputs);
  const gemel_error *(*error_of)(const gemel__execution *execution);
  void (*give)(gemel_function *function, gemel__execution *execution, int called);
} gemel__body_runner;

#endif
