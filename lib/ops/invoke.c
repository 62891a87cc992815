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
#include "core/fault.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "ops/rule.h"
#include "ops/sampling.h"

static const gemel_value null_value = {NULL, 0, 0};

/* ---- Type rule ---- */

/* What the body's symbols stand for in one application of it. */
typedef struct symbol_binding {
  gemel_context *context;
  size_t count, room;
  gemel_dim *symbols, *sizes;
  const char *unbound; /* a symbol met that has no size */
  int runtime;         /* a size met that a node of the body produces */
} symbol_binding;

static gemel_type body_input(const gemel_graph *body, size_t k) {
  return gemel_value_type(gemel_graph_input(body, k));
}

static gemel_type body_output(const gemel_graph *body, size_t k) {
  return gemel_value_type(gemel_graph_output(body, k));
}

static size_t find_symbol(const symbol_binding *b, gemel_dim symbol) {
  size_t k = 0;
  while (k < b->count && b->symbols[k] != symbol) {
    k++;
  }
  return k;
}

static gemel_dim replace_symbol(void *user, const gemel__atom *atom, gemel_dim self) {
  symbol_binding *b = user;
  if (atom->kind != GEMEL__ATOM_SYMBOL) {
    b->runtime = 1;
    return self;
  }
  size_t k = find_symbol(b, self);
  if (k == b->count) {
    b->unbound = atom->name;
    return self;
  }
  return b->sizes[k];
}

static gemel_status bind_symbols(const gemel_infer *call, const gemel_graph *body,
                                 symbol_binding *b) {
  gemel__atom atom;
  for (size_t k = 0; k < call->n_inputs; k++) {
    int rank;
    const gemel_dim *actual = gemel__infer_dims(call, k, &rank);
    const gemel_dim *formal = gemel_type_dims(call->context, body_input(body, k));
    for (int j = 0; j < rank; j++) {
      if (gemel__dim_is_atom(call->context, formal[j], &atom) &&
          find_symbol(b, formal[j]) == b->count) {
        b->symbols[b->count] = formal[j];
        b->sizes[b->count++] = actual[j];
      }
    }
  }
  return GEMEL_OK;
}

/* Substitutes sizes for symbols in the dims of TYPE. */
static gemel_status substitute(const gemel_infer *call, symbol_binding *b, gemel_type type,
                               gemel_dim *dims) {
  int rank = gemel_type_rank(call->context, type);
  const gemel_dim *formal = gemel_type_dims(call->context, type);
  for (int j = 0; j < rank; j++) {
    dims[j] = gemel__dim_substitute(call->context, formal[j], replace_symbol, b);
    if (dims[j] == GEMEL_DIM_NONE) {
      return gemel__no_memory(call->error, "a size");
    }
  }
  if (b->unbound != NULL) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE,
                            "the body's symbol %s is the size of no axis of its inputs",
                            b->unbound);
  }
  return GEMEL_OK;
}

static gemel_status check_arguments(const gemel_infer *call, const gemel_graph *body,
                                    size_t *n_dims) {
  if (call->n_inputs != gemel_graph_input_count(body)) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "%zu values for a body of %zu inputs",
                            call->n_inputs, gemel_graph_input_count(body));
  }
  *n_dims = 0;
  for (size_t k = 0; k < call->n_inputs; k++) {
    gemel_type formal = body_input(body, k);
    if (gemel__rule_dtype(call, k) != gemel_type_dtype(call->context, formal) ||
        gemel_type_rank(call->context, call->inputs[k]) != gemel_type_rank(call->context, formal)) {
      char text[128];
      gemel_type_format(call->context, formal, text, sizeof text);
      return gemel__rule_fail(call, GEMEL_BAD_TYPE, "the body's input %s is %s",
                              gemel_graph_input_name(body, k), text);
    }
    *n_dims += (size_t)gemel_type_rank(call->context, formal);
  }
  return GEMEL_OK;
}

static gemel_status check_inputs(const gemel_infer *call, const gemel_graph *body,
                                 symbol_binding *b) {
  for (size_t k = 0; k < call->n_inputs; k++) {
    gemel_dim dims[GEMEL_MAX_RANK];
    int rank;
    const gemel_dim *actual = gemel__infer_dims(call, k, &rank);
    gemel_status status = substitute(call, b, body_input(body, k), dims);
    if (status != GEMEL_OK) {
      return status;
    }
    for (int j = 0; j < rank; j++) {
      if (gemel__dim_compare(call->context, dims[j], actual[j]) == GEMEL__DIFFERENT) {
        char text[128];
        gemel_type_format(call->context, body_input(body, k), text, sizeof text);
        return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %d of the body's input %s: %s", j,
                                gemel_graph_input_name(body, k), text);
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status make_outputs(gemel_infer *call, const gemel_graph *body, symbol_binding *b) {
  size_t count = gemel_graph_output_count(body);
  for (size_t k = 0; k < count; k++) {
    gemel_dim dims[GEMEL_MAX_RANK];
    gemel_infer one = *call;
    gemel_type formal = body_output(body, k), type;
    gemel_status status = substitute(call, b, formal, dims);
    if (status == GEMEL_OK && b->runtime) {
      status = gemel__rule_fail(call, GEMEL_UNSUPPORTED,
                                "a size of the body's output %s is known only inside the body",
                                gemel_graph_output_name(body, k));
    }
    if (status != GEMEL_OK) {
      return status;
    }
    one.outputs = &type;
    status = gemel__rule_result(&one, gemel_type_dtype(call->context, formal),
                                gemel_type_rank(call->context, formal), dims);
    if (status != GEMEL_OK) {
      return status;
    }
    if (k < call->max_outputs) {
      call->outputs[k] = type;
    }
  }
  call->n_outputs = count;
  return GEMEL_OK;
}

static gemel_status infer_invoke(gemel_infer *call) {
  const gemel_graph *body = call->attrs[0].u.graph;
  size_t n_dims = 0;
  gemel_dim *room;
  gemel_status status = check_arguments(call, body, &n_dims);
  if (status == GEMEL_OK && gemel_graph_output_count(body) == 0) {
    status = gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "the body has no outputs");
  }
  if (status != GEMEL_OK) {
    return status;
  }
  room = gemel__alloc_array(2 * n_dims + 1, sizeof *room);
  if (room == NULL) {
    return gemel__no_memory(call->error, "the body's symbols");
  }
  symbol_binding b = {call->context, 0, n_dims, room, room + n_dims, NULL, 0};
  status = bind_symbols(call, body, &b);
  if (status == GEMEL_OK) {
    status = check_inputs(call, body, &b);
  }
  if (status == GEMEL_OK) {
    status = make_outputs(call, body, &b);
  }
  gemel__free(room, (2 * n_dims + 1) * sizeof *room);
  return status;
}

/* ---- Nesting ---- */

/* Differentiating and running a body inside another is a recursion, the only one here: a few
 * kilobytes of stack for each level. And each place where a body is invoked has a function of its
 * own, so two invocations in each of thirty bodies would be a billion. */
static gemel_status check_nesting(const gemel_graph *body, gemel_error *error) {
  if (body->expanded > GEMEL_MAX_BODIES) {
    return gemel__fail(error, GEMEL_UNSUPPORTED,
                       "%s%u bodies are invoked within one another, and no more than %d can be "
                       "differentiated or run",
                       body->expanded == UINT32_MAX ? "more than " : "", (unsigned)body->expanded,
                       GEMEL_MAX_BODIES);
  }
  return body->nesting <= GEMEL_MAX_NESTING
             ? GEMEL_OK
             : gemel__fail(error, GEMEL_UNSUPPORTED,
                           "bodies are nested %u deep, and no more than %d can be differentiated "
                           "or run",
                           (unsigned)body->nesting, GEMEL_MAX_NESTING);
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
  gemel_status status = check_nesting(d->body, call->error);
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
    d->inputs[k] = add_input(d, "x", k, body_input(d->body, k), call->where);
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

/* Hands the error of the derived body on. */
static gemel_status derived_status(const derived_body *d, gemel_status status, gemel_error *error) {
  const gemel_error *own = d->graph != NULL ? gemel_graph_error(d->graph) : NULL;
  if (own != NULL && own->status != GEMEL_OK) {
    if (error != NULL) {
      *error = *own;
    }
    return own->status;
  }
  return status;
}

/* Makes N_RESULTS results the outputs of the derived body and applies it to the arguments. */
static gemel_status apply_derived(derived_body *d, const gemel_derive *call, size_t n_results,
                                  gemel_value *applied) {
  for (size_t k = 0; k < n_results; k++) {
    char name[32];
    gemel_status status;
    snprintf(name, sizeof name, "d%zu", k);
    status = gemel_output(d->result[k], name);
    if (status != GEMEL_OK) {
      return status;
    }
  }
  *applied = gemel_invoke_at(d->n_args, d->args, d->graph, call->where);
  return gemel_graph_error(call->graph)->status;
}

static gemel_status reverse_body(derived_body *d, gemel_derive *call) {
  size_t n_seeds = 0, n_wanted = 0;
  gemel_value applied = null_value;
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
  gemel_status status =
      gemel_grad(n_seeds, outputs, d->along, n_wanted, d->from, d->result, call->error);
  if (status == GEMEL_OK) {
    status = apply_derived(d, call, n_wanted, &applied);
  }
  for (size_t k = 0, j = 0; k < d->n_inputs && status == GEMEL_OK; k++) {
    if (call->wanted[k]) {
      call->d_inputs[k] = gemel_value_output(applied, (uint32_t)j++);
    }
  }
  return status;
}

static int is_float(gemel_value value) {
  gemel_context *context = gemel_graph_context(value.graph);
  return gemel_dtype_kind(gemel_type_dtype(context, gemel_value_type(value))) == GEMEL_KIND_FLOAT;
}

static gemel_status forward_body(derived_body *d, gemel_derive *call) {
  size_t n_from = 0, n_floats = 0;
  gemel_value applied = null_value;
  gemel_value *outputs = d->block + 6 * d->room; /* those that can have a tangent */
  for (size_t k = 0; k < d->n_inputs; k++) {
    if (!gemel_is_null(call->d_inputs[k])) {
      d->from[n_from] = d->inputs[k];
      d->along[n_from++] = add_input(d, "t", k, body_input(d->body, k), call->where);
      d->args[d->n_args++] = call->d_inputs[k];
    }
  }
  for (size_t k = 0; k < d->n_outputs; k++) {
    if (is_float(d->outputs[k])) {
      outputs[n_floats++] = d->outputs[k];
    }
  }
  if (n_from == 0 || n_floats == 0) {
    return GEMEL_OK;
  }
  gemel_status status =
      gemel_jvp(n_floats, outputs, n_from, d->from, d->along, d->result, call->error);
  if (status == GEMEL_OK) {
    status = apply_derived(d, call, n_floats, &applied);
  }
  for (size_t k = 0, j = 0; k < d->n_outputs && status == GEMEL_OK; k++) {
    if (is_float(d->outputs[k])) {
      call->d_outputs[k] = gemel_value_output(applied, (uint32_t)j++);
    }
  }
  return status;
}

static gemel_status grad_invoke(gemel_derive *call) {
  derived_body d;
  gemel_status status = derived_init(&d, call);
  if (status == GEMEL_OK) {
    status = reverse_body(&d, call);
  }
  status = derived_status(&d, status, call->error);
  derived_clear(&d);
  return status != GEMEL_OK ? status : gemel__grad_done(call);
}

static gemel_status jvp_invoke(gemel_derive *call) {
  derived_body d;
  gemel_status status = derived_init(&d, call);
  if (status == GEMEL_OK) {
    status = forward_body(&d, call);
  }
  status = derived_status(&d, status, call->error);
  derived_clear(&d);
  return status != GEMEL_OK ? status : gemel__jvp_done(call);
}

/* ---- Samples ---- */

/* A body of two inputs and two outputs that every dtype goes through. */
static gemel_status build_body(gemel_graph *body, gemel_dtype dtype) {
  gemel_context *context = gemel_graph_context(body);
  gemel_dim dims[2] = {gemel_dim_symbol(context, "N"), gemel_dim_symbol(context, "M")};
  int64_t axis = 0;
  gemel_value x = gemel_input(body, "x", gemel_type_new(context, dtype, 2, dims, 0));
  gemel_value y = gemel_input(body, "y", gemel_type_new(context, dtype, 1, &dims[1], 0));
  gemel_value z = gemel_add(gemel_mul(x, y), x);
  gemel_output(z, "z");
  return gemel_output(gemel_sum_with(z, .axes = {1, &axis}), "total");
}

/* The attribute holds the context's own copy of the body, so nobody has to release it. */
static gemel_status sample_invoke(gemel_sample *sample) {
  uint32_t op = gemel__op_find(sample->context, "invoke"), id;
  gemel_graph *body = gemel_graph_new(sample->context, NULL);
  int64_t shape[2];
  gemel_status status = body == NULL ? GEMEL_NO_MEMORY : build_body(body, sample->dtype);
  if (status == GEMEL_OK) {
    gemel_attr attr = gemel_attr_graph("body", body);
    status = gemel__attrs_intern(sample->context, gemel__op_at(sample->context, op), 1, &attr, &id,
                                 NULL);
  }
  gemel_graph_unref(body);
  if (status != GEMEL_OK) {
    return status;
  }
  gemel__sample_attr(sample, gemel__attrs_at(sample->context, id)->values[0]);
  gemel__sample_shape(sample, 2, shape);
  gemel__sample_input(sample, sample->dtype, 2, shape, GEMEL_ANY);
  gemel__sample_input(sample, sample->dtype, 1, &shape[1], GEMEL_ANY);
  return gemel__sample_status(sample);
}

/* ---- Kernel ---- */

/* A compiled body and the tensors that it is called with, whose data pointers are set at each call;
 * one block. */
typedef struct invocation {
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

static void release_invocation(void *state) {
  invocation *v = state;
  size_t n = v->n_inputs + v->n_outputs;
  gemel_function_free(v->function);
  gemel__free(v->tensors, n * sizeof *v->tensors);
  gemel__free(v->pointers, (n + v->n_outputs) * sizeof *v->pointers);
}

static gemel_status prepare_invoke(gemel_kernel_call *call) {
  invocation *v = call->state;
  size_t n = call->n_inputs + call->n_outputs;
  gemel_options options = {.size = sizeof options,
                           .threads = call->threads,
                           .deterministic = call->deterministic,
                           .guard = call->guard,
                           .poison = call->poison,
                           .as_written = 1};
  gemel_status checked = check_nesting(call->attrs[0].u.graph, call->error);
  if (checked != GEMEL_OK) {
    return checked;
  }
  memset(v, 0, sizeof *v);
  v->n_inputs = call->n_inputs;
  v->n_outputs = call->n_outputs;
  v->tensors = gemel__alloc_array(n, sizeof *v->tensors);
  v->pointers = gemel__alloc_array(n + call->n_outputs, sizeof *v->pointers);
  v->function = gemel_compile(call->attrs[0].u.graph, &options, call->error);
  if (v->tensors == NULL || v->pointers == NULL || v->function == NULL) {
    gemel_status status =
        v->function == NULL && call->error != NULL ? call->error->status : GEMEL_NO_MEMORY;
    if (v->function != NULL) {
      gemel__no_memory(call->error, "a body");
    }
    release_invocation(v);
    return status;
  }
  call->release = release_invocation;
  return GEMEL_OK;
}

static gemel_status run_invoke(const gemel_kernel_call *call) {
  invocation *v = call->state;
  gemel_tensor **given = v->pointers + v->n_inputs + v->n_outputs;
  for (size_t k = 0; k < v->n_inputs; k++) {
    if (!GEMEL__FAULT(body_of_first_call) || v->pointers[k] == NULL) {
      describe(&v->tensors[k], &call->inputs[k]);
    }
    v->pointers[k] = &v->tensors[k];
  }
  for (size_t k = 0; k < v->n_outputs; k++) {
    describe(&v->tensors[v->n_inputs + k], &call->outputs[k]);
    given[k] = &v->tensors[v->n_inputs + k];
  }
  return gemel_call(v->function, v->n_inputs, v->pointers, v->n_outputs, given, call->error);
}

static const gemel_kernel invoke_kernels[] = {{"compiled", prepare_invoke, run_invoke},
                                              {NULL, NULL, NULL}};

const gemel__hooks gemel__hooks_invoke = {
    .infer = infer_invoke,
    .grad = grad_invoke,
    .jvp = jvp_invoke,
    .sample = sample_invoke,
    .kernels = invoke_kernels,
};
