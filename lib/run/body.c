/* SPDX-License-Identifier: MIT
 *
 * Bodies of operations, compiled and called: what contexts give to kernels (core/runner.h), and
 * contexts themselves, which begin with that.
 */
#include "composites/composites.h"
#include "core/runner.h"
#include "device/device.h"
#include "lift/lift.h"
#include "ops/body.h"
#include "ops/ops.h"
#include "run/execution.h"

/* *THERE: BODY on the device of CALL, or itself. */
static gemel_status move_body(const gemel_kernel_call *call, const gemel_graph *body,
                              gemel_graph **there, gemel_error *error) {
  int space = GEMEL_SPACE_HOST;
  while (space < 255 && gemel_device_of_space(body->context, space) != call->device) {
    space++;
  }
  if (space == GEMEL_SPACE_HOST) {
    *there = gemel_graph_ref((gemel_graph *)body);
    return GEMEL_OK;
  }
  gemel_status status = gemel__body_lift(body, space, there, error);
  return status != GEMEL_DECLINED ? status
                                  : gemel__fail(error, GEMEL_UNSUPPORTED,
                                                "not all of its body can be computed on the "
                                                "device %s",
                                                call->device->name);
}

static gemel_function *compile_body(const gemel_kernel_call *call, const gemel_graph *body,
                                    gemel_status *status) {
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *there = NULL;
  gemel_options options = {.size = sizeof options,
                           .threads = call->threads,
                           .deterministic = call->deterministic,
                           .guard = call->guard,
                           .poison = call->poison,
                           .most_steps = call->most_steps,
                           .matmul_precision = (gemel_precision)call->matmul_precision,
                           .plain = call->nested != NULL && call->nested->caller->f->plain,
                           .as_written = 1};
  *status = gemel__body_nesting(body, &error);
  *status = *status == GEMEL_OK ? move_body(call, body, &there, &error) : *status;
  gemel_function *function = *status == GEMEL_OK ? gemel_compile(there, &options, &error) : NULL;
  gemel_graph_unref(there);
  if (function != NULL && gemel__function_nest(function, call->nested, &error) != GEMEL_OK) {
    gemel_function_free(function);
    function = NULL;
  }
  if (function != NULL) {
    function->program.inner = call->device != &gemel__host_device;
  } else {
    *status = error.status;
    if (call->error != NULL) {
      *call->error = error;
    }
  }
  return function;
}

static const gemel_error *error_of(const gemel__execution *execution) {
  return &execution->error;
}

static const gemel__body_runner runner = {compile_body,
                                          gemel_call,
                                          gemel_function_free,
                                          gemel__execution_take,
                                          gemel__execution_ready,
                                          gemel__execution_repeat,
                                          error_of,
                                          gemel__execution_give};

gemel_context *gemel_context_new(gemel_error *error) {
  gemel_context *context = gemel__context_bare(error);
  if (context == NULL) {
    return NULL;
  }
  context->runner = &runner;
  context->composing = &gemel__composing_by_name;
  if (gemel__register_builtins(context, error) != GEMEL_OK) {
    gemel_context_unref(context);
    return NULL;
  }
  context->n_builtins = context->ops.count - 1;
  return context;
}
