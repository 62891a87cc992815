/* SPDX-License-Identifier: MIT
 *
 * invoke: a graph applied to values. The body's symbols are matched with the sizes of the actual
 * inputs; its derivative is the invocation of another body, made by differentiating a copy of it.
 * The kernel is the compiled body, which lives as long as the plan.
 */
#include <stdio.h>
#include <string.h>
#include <gemel/function.h>
#include <gemel/grad.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/runner.h"
#include "core/tensor.h"
#include "core/value.h"
#include "ops/body.h"
#include "ops/rule.h"

/* ---- Type rule ---- */

static gemel_status infer_invoke(gemel_infer *call) {
  const gemel_graph *body = call->attrs[0].u.graph;
  size_t n = gemel_graph_output_count(body);
  if (call->n_inputs != gemel_graph_input_count(body)) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "%zu values for a body of %zu inputs",
                            call->n_inputs, gemel_graph_input_count(body));
  }
  if (n == 0) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "the body has no outputs");
  }
  gemel__body_argument *arguments = gemel__alloc_array(call->n_inputs, sizeof *arguments);
  gemel_type *results = gemel__alloc_array(n, sizeof *results);
  gemel_status status = arguments != NULL && results != NULL
                            ? GEMEL_OK
                            : gemel__no_memory(call->error, "a body's arguments");
  for (size_t k = 0; status == GEMEL_OK && k < call->n_inputs; k++) {
    arguments[k] = (gemel__body_argument){call->inputs[k], 0};
  }
  if (status == GEMEL_OK) {
    status = gemel__body_infer(call, body, arguments, results);
  }
  for (size_t k = 0; status == GEMEL_OK && k < n && k < call->max_outputs; k++) {
    call->outputs[k] = results[k];
  }
  call->n_outputs = n;
  gemel__free(arguments, call->n_inputs * sizeof *arguments);
  gemel__free(results, n * sizeof *results);
  return status;
}

/* ---- Derivatives ---- */

/* A body under construction: the copy of another, with more inputs. All arrays have room for the
 * inputs and outputs together. */
typedef struct derived_body {
  gemel_graph *graph;
  const gemel_graph *body;
  size_t n_inputs, n_outputs, room;
  gemel_value *block;                        /* the arrays below, one allocation */
  gemel_value *inputs, *outputs;             /* of the copy, in GRAPH */
  gemel_value *from, *along, *result, *args; /* what is differentiated, seeds, what comes out */
  size_t n_args;
} derived_body;

static gemel_value add_input(derived_body *d, const char *prefix, size_t k, gemel_type type,
                             gemel_location where) {
  char name[32];
  snprintf(name, sizeof name, "%s%zu", prefix, k);
  return gemel_input_at(d->graph, name, type, where);
}

static gemel_status derived_init(derived_body *d, const gemel_derive *call) {
  gemel_context *context = gemel_graph_context(call->graph);
  memset(d, 0, sizeof *d);
  d->body = call->attrs[0].u.graph;
  gemel_status status = gemel__body_nesting(d->body, call->error);
  if (status != GEMEL_OK) {
    return status;
  }
  d->n_inputs = call->n_inputs;
  d->n_outputs = call->n_outputs;
  d->room = 2 * d->n_inputs + d->n_outputs + 1; /* arguments: inputs, then tangents or cotangents */
  d->block = gemel__alloc_array(7 * d->room, sizeof *d->block);
  d->graph = gemel_graph_new(context, call->error);
  if (d->block == NULL || d->graph == NULL) {
    return gemel__no_memory(call->error, "the derivative of a body");
  }
  d->inputs = d->block, d->outputs = d->inputs + d->room, d->from = d->outputs + d->room;
  d->along = d->from + d->room, d->result = d->along + d->room, d->args = d->result + d->room;
  for (size_t k = 0; k < d->n_inputs; k++) {
    d->inputs[k] = add_input(d, "x", k, gemel__body_input(d->body, k), call->where);
    d->args[d->n_args++] = call->inputs[k];
  }
  status = gemel_graph_error(d->graph)->status;
  return status != GEMEL_OK
             ? status
             : gemel__graph_inline(d->graph, d->body, d->inputs, d->outputs, call->error);
}

static void derived_clear(derived_body *d) {
  gemel__free(d->block, 7 * d->room * sizeof *d->block);
  gemel_graph_unref(d->graph);
}

/* Makes N_RESULTS results the outputs of the derived body and applies it to the arguments. */
static gemel_status apply_derived(derived_body *d, const gemel_derive *call, size_t n_results,
                                  gemel_value *applied) {
  for (size_t k = 0; k < n_results; k++) {
    gemel_status status = gemel__body_add_output(d->result[k], 'd', k);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  *applied = gemel_invoke_at(d->n_args, d->args, d->graph, call->where);
  return gemel_graph_error(call->graph)->status;
}

static gemel_status reverse_body(derived_body *d, gemel_derive *call) {
  size_t n_seeds = 0, n_wanted = 0;
  gemel_value applied = gemel__no_value;
  gemel_value *outputs = d->block + 6 * d->room; /* those with a cotangent */
  for (size_t k = 0; k < d->n_outputs; k++) {
    if (!gemel_is_null(call->d_outputs[k])) {
      outputs[n_seeds] = d->outputs[k];
      d->along[n_seeds] = add_input(d, "g", k, gemel_value_type(d->outputs[k]), call->where);
      d->args[d->n_args++] = call->d_outputs[k];
      n_seeds++;
    }
  }
  for (size_t k = 0; k < d->n_inputs; k++) {
    if (call->wanted[k]) {
      d->from[n_wanted++] = d->inputs[k];
    }
  }
  if (n_seeds == 0 || n_wanted == 0) {
    return GEMEL_OK;
  }
  GEMEL__TRY(gemel_grad(n_seeds, outputs, d->along, n_wanted, d->from, d->result, call->error));
  GEMEL__TRY(apply_derived(d, call, n_wanted, &applied));
  for (size_t k = 0, j = 0; k < d->n_inputs; k++) {
    if (call->wanted[k]) {
      call->d_inputs[k] = gemel_value_output(applied, (uint32_t)j++);
    }
  }
  return GEMEL_OK;
}

static gemel_status forward_body(derived_body *d, gemel_derive *call) {
  size_t n_from = 0, n_floats = 0;
  gemel_value applied = gemel__no_value;
  gemel_value *outputs = d->block + 6 * d->room; /* those that can have a tangent */
  for (size_t k = 0; k < d->n_inputs; k++) {
    if (!gemel_is_null(call->d_inputs[k])) {
      d->from[n_from] = d->inputs[k];
      d->along[n_from++] = add_input(d, "t", k, gemel__body_input(d->body, k), call->where);
      d->args[d->n_args++] = call->d_inputs[k];
    }
  }
  for (size_t k = 0; k < d->n_outputs; k++) {
    if (gemel__body_is_float(d->outputs[k])) {
      outputs[n_floats++] = d->outputs[k];
    }
  }
  if (n_from == 0 || n_floats == 0) {
    return GEMEL_OK;
  }
  GEMEL__TRY(gemel_jvp(n_floats, outputs, n_from, d->from, d->along, d->result, call->error));
  GEMEL__TRY(apply_derived(d, call, n_floats, &applied));
  for (size_t k = 0, j = 0; k < d->n_outputs; k++) {
    if (gemel__body_is_float(d->outputs[k])) {
      call->d_outputs[k] = gemel_value_output(applied, (uint32_t)j++);
    }
  }
  return GEMEL_OK;
}

static gemel_status grad_invoke(gemel_derive *call) {
  derived_body d;
  gemel_status status = derived_init(&d, call);
  if (status == GEMEL_OK) {
    status = reverse_body(&d, call);
  }
  status = gemel__body_status(d.graph, status, call->error);
  derived_clear(&d);
  return status != GEMEL_OK ? status : gemel__grad_done(call);
}

static gemel_status jvp_invoke(gemel_derive *call) {
  derived_body d;
  gemel_status status = derived_init(&d, call);
  if (status == GEMEL_OK) {
    status = forward_body(&d, call);
  }
  status = gemel__body_status(d.graph, status, call->error);
  derived_clear(&d);
  return status != GEMEL_OK ? status : gemel__jvp_done(call);
}

/* ---- Kernel ---- */

/* A compiled body and the tensors that it is called with, whose data pointers are set at each call;
 * one block. */
typedef struct invocation {
  const gemel__body_runner *runner;
  gemel_function *function;
  size_t n_inputs, n_outputs;
  gemel_tensor *tensors;   /* inputs, then outputs */
  gemel_tensor **pointers; /* to each of them */
} invocation;

static void describe(gemel_tensor *tensor, const gemel_view *view) {
  tensor->references = 1;
  tensor->dtype = view->dtype;
  tensor->rank = view->rank;
  tensor->data = view->data;
  tensor->shape = (int64_t *)view->shape;
  tensor->strides = (int64_t *)view->strides;
}

static void release_invocation(void *prepared) {
  invocation *v = prepared;
  size_t n = v->n_inputs + v->n_outputs;
  v->runner->free(v->function);
  gemel__free(v->tensors, n * sizeof *v->tensors);
  gemel__free(v->pointers, (n + v->n_outputs) * sizeof *v->pointers);
}

static gemel_status prepare_invoke(gemel_kernel_call *call) {
  invocation *v = call->prepared;
  size_t n = call->n_inputs + call->n_outputs;
  gemel_status status = GEMEL_OK;
  memset(v, 0, sizeof *v);
  v->runner = call->attrs[0].u.graph->context->runner;
  v->n_inputs = call->n_inputs;
  v->n_outputs = call->n_outputs;
  v->tensors = gemel__alloc_array(n, sizeof *v->tensors);
  v->pointers = gemel__alloc_array(n + call->n_outputs, sizeof *v->pointers);
  if (v->tensors == NULL || v->pointers == NULL) {
    status = gemel__no_memory(call->error, "a body");
  } else {
    v->function = v->runner->compile(call, call->attrs[0].u.graph, &status);
  }
  if (status != GEMEL_OK) {
    release_invocation(v);
    return status;
  }
  call->release = release_invocation;
  return GEMEL_OK;
}

static gemel_status run_invoke(const gemel_kernel_call *call) {
  invocation *v = call->prepared;
  gemel_tensor **given = v->pointers + v->n_inputs + v->n_outputs;
  for (size_t k = 0; k < v->n_inputs; k++) {
    describe(&v->tensors[k], &call->inputs[k]);
    v->pointers[k] = &v->tensors[k];
  }
  for (size_t k = 0; k < v->n_outputs; k++) {
    describe(&v->tensors[v->n_inputs + k], &call->outputs[k]);
    given[k] = &v->tensors[v->n_inputs + k];
  }
  return v->runner->call(v->function, v->n_inputs, v->pointers, v->n_outputs, given, call->error);
}

static const gemel_kernel invoke_kernels[] = {{"compiled", prepare_invoke, run_invoke},
                                              {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_invoke = {
    .infer = infer_invoke,
    .grad = grad_invoke,
    .jvp = jvp_invoke,
    .kernels = invoke_kernels,
};
