/* SPDX-License-Identifier: MIT
 *
 * A sequence of calls: a way of running an instance in which its operands are shared variables.
 * There are three functions. `use` computes the instance and changes nothing. `change` takes a
 * value for each variable and updates it, in place if possible. `fail` does the same and then reads
 * an element of a new value at an index that is out of range, which is an error at run time.
 *
 * `use` is called with other values (the same elements backwards) before it is called for the
 * results that are judged. So whatever it keeps of a variable is out of date, and must be renewed
 * after an update by another function and after gemel_shared_set. A call that fails must leave all
 * variables as they were.
 */
#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/tensor.h"
#include "device/device.h"
#include "tiers/tiers.h"

struct sequence {
  const gemel__instance *instance;
  const gemel__variant *variant;
  gemel_tensor *const *values;
  gemel_tensor **others; /* the other values: the same elements backwards */
  /* operands of `change` and `fail`, which have two more than there are states */
  gemel_tensor **given;
  /* of the graph that is being built: its states, then the instance's outputs */
  gemel_value *inner;
  gemel_shared **variables;
  size_t n, n_out;
  size_t probed; /* the last operand with elements, which `fail` reads; N: there is none */
  gemel_function *use, *change, *fail;
};

/* ---- The functions ---- */

static void add_states(const struct sequence *s, gemel_graph *graph) {
  for (size_t k = 0; k < s->n; k++) {
    s->inner[k] = gemel_state(graph, gemel_graph_input_name(s->instance->graph, k),
                              gemel_value_type(gemel_graph_input(s->instance->graph, k)));
  }
}

static gemel_status build_use(const struct sequence *s, gemel_graph *graph, gemel_error *error) {
  const gemel_graph *base = s->instance->graph;
  gemel_value *out = s->inner + s->n;
  GEMEL__TRY(gemel__graph_inline(graph, base, s->inner, out, error));
  for (size_t k = 0; k < s->n_out; k++) {
    gemel_output(out[k], gemel_graph_output_name(base, k));
  }
  return GEMEL_OK;
}

/* Adds the update of state K: a new value if `replace` holds, else the old one. `replace` is an
 * input, or the update would be a plain copy. */
static gemel_value update(const struct sequence *s, gemel_graph *graph, size_t k,
                          gemel_value replace) {
  char name[32];
  snprintf(name, sizeof name, "to%zu", k);
  gemel_value of[] = {replace, gemel_input(graph, name, gemel_value_type(s->inner[k])),
                      s->inner[k]};
  gemel_value next = gemel_apply(graph, "where", 3, of, 0, NULL);
  gemel_update(s->inner[k], next);
  return next;
}

/* Adds the output `probe`: the element of X, as a vector, at the index in input `at`. */
static void probe(gemel_graph *graph, gemel_value x, size_t count) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_value at = gemel_input(graph, "at", gemel_type_of_shape(context, GEMEL_I64, 0, NULL));
  gemel_dim all = gemel_dim_constant(context, (int64_t)count), one = gemel_dim_constant(context, 1);
  gemel_dim start = gemel_dim_of(at);
  gemel_attr row = gemel_attr_dims("shape", 1, &all);
  gemel_attr window[] = {gemel_attr_dims("start", 1, &start), gemel_attr_dims("size", 1, &one)};
  x = gemel_apply(graph, "reshape", 1, &x, 1, &row);
  gemel_output(gemel_apply(graph, "subtensor", 1, &x, 2, window), "probe");
}

static void build_change(const struct sequence *s, gemel_graph *graph, int fails) {
  gemel_context *context = gemel_graph_context(graph);
  gemel_value replace =
      gemel_input(graph, "replace", gemel_type_of_shape(context, GEMEL_BOOL, 0, NULL));
  gemel_value probed = replace;
  for (size_t k = 0; k < s->n; k++) {
    gemel_value next = update(s, graph, k, replace);
    probed = k == s->probed ? next : probed;
  }
  if (fails) {
    probe(graph, probed, s->instance->leaves[s->probed].count);
  }
}

enum what { USE, CHANGE, FAIL };

static gemel_status make(const struct sequence *s, enum what what, gemel_function **made,
                         gemel_error *error) {
  gemel_graph *graph = gemel_graph_new(gemel_graph_context(s->instance->graph), error);
  if (graph == NULL) {
    return GEMEL_NO_MEMORY;
  }
  gemel_error problem = {GEMEL_OK, 0, 0, ""};
  add_states(s, graph);
  if (what == USE) {
    build_use(s, graph, &problem);
  } else {
    build_change(s, graph, what == FAIL);
  }
  problem = gemel_graph_error(graph)->status != GEMEL_OK ? *gemel_graph_error(graph) : problem;
  if (problem.status == GEMEL_OK) {
    *made = gemel__variant_compile(s->variant, graph, s->n, s->variables, &problem);
  }
  gemel_graph_unref(graph);
  if (problem.status != GEMEL_OK && error != NULL) {
    *error = problem;
  }
  return problem.status;
}

/* ---- Values ---- */

/* FROM, which is row-major, with its elements in reverse order. */
static gemel_tensor *backwards(const gemel_tensor *from, gemel_error *error) {
  gemel_tensor *made = gemel__tensor_clone(from, error);
  size_t n = (size_t)gemel_tensor_elements(from), size = gemel_dtype_size(gemel_tensor_dtype(from));
  for (size_t i = 0; i < n && made != NULL; i++) {
    memcpy((char *)gemel_tensor_data(made) + i * size, gemel__tensor_element(from, n - 1 - i),
           size);
  }
  return made;
}

static gemel_status scalar(gemel_dtype dtype, int64_t value, gemel_tensor **made,
                           gemel_error *error) {
  *made = gemel_tensor_new(dtype, 0, NULL, error);
  if (*made == NULL) {
    return GEMEL_NO_MEMORY;
  }
  gemel__points_store(dtype, 1, NULL, &value, gemel_tensor_data(*made));
  return GEMEL_OK;
}

static gemel_status make_values(struct sequence *s, gemel_error *error) {
  GEMEL__TRY(scalar(GEMEL_BOOL, 1, &s->given[0], error));
  for (size_t k = 0; k < s->n; k++) {
    s->others[k] = backwards(s->values[k], error);
    s->variables[k] = s->others[k] != NULL ? gemel_shared_new(s->others[k], error) : NULL;
    GEMEL__TRY(s->variables[k] != NULL ? GEMEL_OK : GEMEL_NO_MEMORY);
    s->probed = s->instance->leaves[k].count > 0 ? k : s->probed;
  }
  if (s->probed < s->n) {
    int64_t behind = (int64_t)s->instance->leaves[s->probed].count;
    GEMEL__TRY(scalar(GEMEL_I64, behind, &s->given[s->n + 1], error));
  }
  return GEMEL_OK;
}

/* ---- Calls ---- */

static gemel_status call(gemel_function *f, gemel_tensor *const *inputs, gemel_tensor **outputs,
                         gemel_error *error) {
  return gemel_call(f, gemel_function_input_count(f), inputs, gemel_function_output_count(f),
                    outputs, error);
}

/* Calls `use` once, so that it keeps what it keeps. Values for which it fails (an index out of
 * range) are all right. */
static gemel_status keep(const struct sequence *s, gemel_error *error) {
  gemel_tensor **outputs = gemel__alloc_array(s->n_out, sizeof *outputs);
  gemel_status status =
      outputs != NULL ? call(s->use, NULL, outputs, error) : gemel__no_memory(error, "results");
  gemel__tensors_free(s->n_out, outputs);
  return gemel__is_no_point(status) ? GEMEL_OK : status;
}

/* Calls `change` with the values TO, or `fail`, which must return an error. */
static gemel_status change(struct sequence *s, enum what what, gemel_tensor *const *to,
                           gemel_error *error) {
  gemel_tensor *output = NULL;
  memcpy(s->given + 1, to, s->n * sizeof *to);
  gemel_status status = call(what == FAIL ? s->fail : s->change, s->given, &output, error);
  memset(s->given + 1, 0, s->n * sizeof *to); /* borrowed */
  gemel_tensor_unref(output);
  if (what == FAIL && (status == GEMEL_OK || gemel__is_no_point(status))) {
    return status != GEMEL_OK
               ? GEMEL_OK
               : gemel__fail(error, GEMEL_INTERNAL, "an element behind the last one was read");
  }
  return status;
}

static gemel_status set(const struct sequence *s, gemel_error *error) {
  for (size_t k = 0; k < s->n; k++) {
    GEMEL__TRY(gemel_shared_set(s->variables[k], s->values[k], error));
  }
  return GEMEL_OK;
}

/* Calls `use` again: it must give the bits of OUTPUTS. */
static gemel_status use_again(const struct sequence *s, gemel_tensor *const *outputs,
                              gemel_error *error) {
  gemel_tensor **again = gemel__alloc_array(s->n_out, sizeof *again);
  gemel_status status =
      again != NULL ? call(s->use, NULL, again, error) : gemel__no_memory(error, "results");
  for (size_t k = 0; k < s->n_out && status == GEMEL_OK; k++) {
    status = gemel__tensors_equal(outputs[k], again[k])
                 ? GEMEL_OK
                 : gemel__fail(error, GEMEL_INTERNAL,
                               "output %zu is another one after gemel_shared_set", k);
  }
  gemel__tensors_free(s->n_out, again);
  return status;
}

/* Each call of `use` that is judged comes after one with other values. */
static gemel_status run(struct sequence *s, gemel_tensor **outputs, gemel_error *error) {
  GEMEL__TRY(keep(s, error));
  GEMEL__TRY(change(s, CHANGE, s->values, error));
  if (s->probed < s->n) {
    GEMEL__TRY(change(s, FAIL, s->others, error));
  }
  GEMEL__TRY(call(s->use, NULL, outputs, error));
  GEMEL__TRY(change(s, CHANGE, s->others, error));
  GEMEL__TRY(keep(s, error));
  GEMEL__TRY(set(s, error));
  return use_again(s, outputs, error);
}

static gemel_status begin(struct sequence *s, gemel_error *error) {
  s->others = gemel__alloc_array(s->n, sizeof *s->others);
  s->given = gemel__alloc_array(s->n + 2, sizeof *s->given);
  s->inner = gemel__alloc_array(s->n + s->n_out, sizeof *s->inner);
  s->variables = gemel__alloc_array(s->n, sizeof *s->variables);
  if (s->others == NULL || s->given == NULL || s->inner == NULL || s->variables == NULL) {
    return gemel__no_memory(error, "a sequence of calls");
  }
  GEMEL__TRY(make_values(s, error));
  GEMEL__TRY(make(s, USE, &s->use, error));
  GEMEL__TRY(make(s, CHANGE, &s->change, error));
  return s->probed < s->n ? make(s, FAIL, &s->fail, error) : GEMEL_OK;
}

static void end(struct sequence *s) {
  gemel_function_free(s->use);
  gemel_function_free(s->change);
  gemel_function_free(s->fail);
  for (size_t k = 0; k < s->n && s->variables != NULL; k++) {
    gemel_shared_unref(s->variables[k]);
  }
  gemel__tensors_free(s->n, s->others);
  gemel__tensors_free(s->n + 2, s->given);
  gemel__free(s->inner, (s->n + s->n_out) * sizeof *s->inner);
  gemel__free(s->variables, s->n * sizeof *s->variables);
}

gemel_status gemel__execute_sequence(const gemel__instance *instance, const gemel__variant *variant,
                                     gemel_tensor *const *values, gemel_tensor **outputs,
                                     gemel_error *error) {
  struct sequence s = {.instance = instance, .variant = variant, .values = values};
  s.n = s.probed = instance->n_leaves;
  s.n_out = gemel_graph_output_count(instance->graph);
  gemel_status status = begin(&s, error);
  status = status ? status : run(&s, outputs, error);
  end(&s);
  return status;
}
