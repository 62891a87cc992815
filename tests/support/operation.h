/* SPDX-License-Identifier: MIT
 *
 * What operations and passes that tests register are made of, where it matters little.
 */
#ifndef GEMEL_TESTS_SUPPORT_OPERATION_H
#define GEMEL_TESTS_SUPPORT_OPERATION_H

#include <gemel/operation.h>
#include <gemel/rewrite.h>

/* One result, of the first operand's type. */
static inline gemel_status same_type(gemel_infer *call) {
  call->n_outputs = 1;
  call->outputs[0] = call->inputs[0];
  return GEMEL_OK;
}

/* A kernel that runs never, and one that writes nothing. */
static inline gemel_status no_run(const gemel_kernel_call *call) {
  (void)call;
  return GEMEL_UNSUPPORTED;
}

static inline gemel_status run_nothing(const gemel_kernel_call *call) {
  (void)call;
  return GEMEL_OK;
}

/* A pass's instances, of which there are none. */
static inline gemel_status no_instance(gemel_graph *graph, uint64_t (*random)(void *), void *user,
                                       const void *data) {
  (void)random, (void)user, (void)data;
  return gemel_graph_error(graph)->status;
}

#endif
