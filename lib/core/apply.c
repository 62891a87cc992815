/* SPDX-License-Identifier: MIT
 *
 * The funnel that every node goes through (but for copies, see copy.h): promote the operands of
 * elementwise operations by inserting casts, look for an equal node, infer types, append. Each
 * graph remembers the last results of type rules, keyed by operation, attributes and input types,
 * and the last scalar constants: a graph of millions of nodes has few of either.
 */
#include "core/apply.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/cons.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/registry.h"
#include "core/sizes.h"
#include "core/rows.h"
#include "core/value.h"

enum { MEMO_TYPES = 256, MEMO_SCALARS = 64, MEMO_INPUTS = 3, LOCAL = 16 };

struct memo_type {
  uint64_t what;                  /* operation and attributes */
  gemel_type inputs[MEMO_INPUTS]; /* GEMEL_TYPE_NONE behind the last */
  gemel_type result;
};

struct memo_scalar {
  uint64_t bits;
  uint32_t dtype; /* + 1; 0: empty */
  uint32_t node;
};

struct gemel__apply_memo {
  struct memo_type types[MEMO_TYPES];
  struct memo_scalar scalars[MEMO_SCALARS];
};

struct gemel__apply_memo *gemel__memo_new(void) {
  return gemel__alloc_zeroed(sizeof(struct gemel__apply_memo));
}

void gemel__memo_free(struct gemel__apply_memo *memo) {
  gemel__free(memo, sizeof *memo);
}

size_t gemel__memo_bytes(const struct gemel__apply_memo *memo) {
  return memo != NULL ? sizeof *memo : 0;
}

/* ---- Types ---- */

/* The inputs of a node lie in one memory space, whatever the operation; run-time sizes, which come
 * behind the operation's own inputs, on the host. */
static gemel_status check_spaces(const gemel_context *context, const gemel__op *op, uint32_t attrs,
                                 size_t n, const gemel_type *inputs, gemel_error *error) {
  int sizes = gemel__attrs_at(context, attrs)->has_runtime;
  for (size_t k = 0; k < n; k++) {
    int is_size = sizes && k >= (size_t)op->record.min_inputs;
    int first = is_size ? GEMEL_SPACE_HOST : gemel__type_at(context, inputs[0])->space;
    int other = gemel__type_at(context, inputs[k])->space;
    if (first != other) {
      return gemel__fail(error, GEMEL_BAD_TYPE,
                         is_size
                             ? "a size is read on the host (memory space %d), input %zu lies in "
                               "memory space %d"
                             : "input 0 lies in memory space %d, input %zu in memory space %d",
                         first, k, other);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__infer(gemel_context *context, const gemel__op *op, uint32_t attrs,
                          size_t n_inputs, const gemel_type *inputs,
                          const gemel_value *input_values, size_t max_outputs, size_t *n_outputs,
                          gemel_type *outputs, gemel_error *error) {
  gemel_infer call;
  gemel_error own; /* what succeeds leaves ERROR as it is */
  gemel_status status = check_spaces(context, op, attrs, n_inputs, inputs, error);
  unsigned failures = gemel__dim_memory_failures(context);
  if (status != GEMEL_OK) {
    return status;
  }
  memset(&call, 0, sizeof call);
  call.size = sizeof call;
  call.context = context;
  call.n_inputs = n_inputs;
  call.inputs = inputs;
  call.input_values = input_values;
  call.attrs = gemel__attrs_at(context, attrs)->values;
  call.n_attrs = gemel__attrs_at(context, attrs)->count;
  call.max_outputs = max_outputs;
  call.outputs = outputs;
  call.error = &own;
  call.data = op->record.data;
  own.status = GEMEL_OK;
  own.line = own.column = 0;
  own.text[0] = '\0';
  status = op->record.infer(&call);
  *n_outputs = call.n_outputs;
  /* a rule that got no dim may have thought that two sizes differ, or that nothing is known */
  if (gemel__dim_memory_failures(context) != failures) {
    return gemel__no_memory(error, "sizes");
  }
  if (gemel__told(&own, status) != GEMEL_OK && error != NULL) {
    *error = own;
  }
  return status;
}

void gemel__apply_context(gemel_context *context, const gemel__op *op, size_t n_inputs,
                          const gemel_type *inputs, gemel_location where, gemel_error *error) {
  char types[400];
  gemel__format_types(context, n_inputs, inputs, types, sizeof types);
  gemel__error_prefix(error, "%s(%s)", op->record.name, types);
  gemel__error_place(error, where);
}

/* One application on its way: inputs as refs, their types, what the type rule gave. */
struct application {
  gemel_graph *graph;
  const gemel__op *op;
  uint32_t attrs;
  size_t n;
  gemel__ref *refs;
  gemel_type *types;
  gemel_value *values;
  gemel_location where;
  size_t n_outputs, room;
  gemel_type *outputs;
};

/* Where the memo has what the type rule gives for A; NULL: nowhere. What a program's own type rule
 * looks at besides types is not known, so it always runs. A size that an input holds makes the
 * result depend on more than the types. */
static struct memo_type *memo_entry(const struct application *a, struct memo_type *wanted) {
  memset(wanted, 0, sizeof *wanted);
  if (a->n == 0 || a->n > MEMO_INPUTS || a->op->id > a->graph->context->n_builtins ||
      gemel__attrs_at(a->graph->context, a->attrs)->has_runtime) {
    return NULL;
  }
  wanted->what = (uint64_t)a->op->id << 32 | a->attrs;
  memcpy(wanted->inputs, a->types, a->n * sizeof *a->types);
  uint64_t hash = wanted->what;
  for (int k = 0; k < MEMO_INPUTS; k++) {
    hash = gemel__mix(hash ^ wanted->inputs[k].id);
  }
  return &a->graph->memo->types[hash % MEMO_TYPES];
}

/* The type of the result, if the memo has it: 1. */
static int memo_recall(struct application *a) {
  struct memo_type wanted;
  const struct memo_type *m = memo_entry(a, &wanted);
  if (m == NULL || m->what != wanted.what ||
      memcmp(m->inputs, wanted.inputs, sizeof m->inputs) != 0) {
    return 0;
  }
  a->outputs[0] = m->result;
  a->n_outputs = 1;
  return 1;
}

static void memo_store(const struct application *a) {
  struct memo_type wanted, *m = memo_entry(a, &wanted);
  if (m != NULL && a->n_outputs == 1) {
    *m = wanted;
    m->result = a->outputs[0];
  }
}

/* ---- Promotion ---- */

static gemel_value cast_to(gemel_graph *graph, gemel_value x, gemel_dtype dtype,
                           gemel_location where) {
  gemel_attr attr = gemel_attr_dtype("dtype", dtype);
  gemel_error error;
  uint32_t attrs;
  const gemel__op *op = gemel__op_at(graph->context, GEMEL__OP_cast);
  if (gemel__attrs_intern(graph->context, op, 1, &attr, &attrs, &error) != GEMEL_OK) {
    gemel__error_place(&error, where);
    return gemel__graph_take_error(graph, &error);
  }
  return gemel__apply(graph, op->id, attrs, 1, &x, where);
}

/* Makes the operands of a scalar operation one dtype by inserting casts. The error is recorded on
 * the graph. */
static int promote(struct application *a, const gemel__scalar_row *row) {
  gemel_dtype given[3], operands[3], result, to = GEMEL_BOOL;
  gemel_error error;
  for (size_t k = 0; k < a->n; k++) {
    given[k] = (gemel_dtype)gemel__type_at(a->graph->context, a->types[k])->dtype;
  }
  if (row->code == GEMEL__TYPE_CAST) {
    return 0;
  }
  gemel_status status = gemel__scalar_dtypes(row->code, a->n, given, to, operands, &result);
  if (status != GEMEL_OK) {
    gemel__fail(&error, status, "no such operation on these dtypes");
    gemel__apply_context(a->graph->context, a->op, a->n, a->types, a->where, &error);
    gemel__graph_take_error(a->graph, &error);
    return -1;
  }
  for (size_t k = 0; k < a->n; k++) {
    if (operands[k] != given[k]) {
      a->values[k] = cast_to(a->graph, a->values[k], operands[k], a->where);
      if (gemel_is_null(a->values[k])) {
        return -1;
      }
      a->refs[k].node = a->values[k].node;
      a->refs[k].output = a->values[k].output;
      a->types[k] = gemel_value_type(a->values[k]);
    }
  }
  return 0;
}

/* ---- The funnel ---- */

static gemel_value fail_here(struct application *a, gemel_status status, const char *message) {
  gemel_error error;
  gemel__fail(&error, status, "%s", message);
  gemel__apply_context(a->graph->context, a->op, a->n, a->types, a->where, &error);
  return gemel__graph_take_error(a->graph, &error);
}

static gemel_value fail_arity(struct application *a) {
  const gemel_operation *r = &a->op->record;
  char message[80];
  if (r->max_inputs < 0) {
    snprintf(message, sizeof message, "%zu inputs, not %d or more", a->n, r->min_inputs);
  } else if (r->max_inputs > r->min_inputs) {
    snprintf(message, sizeof message, "%zu inputs, not %d to %d", a->n, r->min_inputs,
             r->max_inputs);
  } else {
    snprintf(message, sizeof message, "%zu inputs, not %d", a->n, r->min_inputs);
  }
  return fail_here(a, GEMEL_BAD_ARGUMENT, message);
}

static int arity_fits(const gemel_operation *record, size_t n) {
  return n >= (size_t)record->min_inputs &&
         (record->max_inputs < 0 || n <= (size_t)record->max_inputs);
}

/* A type rule may be a program's own: what it says is looked at before it is stored. */
static gemel_status check_outputs(const struct application *a, gemel_error *error) {
  if (a->n_outputs == 0 || a->n_outputs > a->room) {
    return gemel__fail(error, GEMEL_BAD_TYPE, "the type rule gives %zu outputs", a->n_outputs);
  }
  for (size_t k = 0; k < a->n_outputs; k++) {
    if (!gemel__type_exists(a->graph->context, a->outputs[k])) {
      return gemel__fail(error, GEMEL_BAD_TYPE, "the type rule gives output %zu no type", k);
    }
  }
  return GEMEL_OK;
}

/* Runs the type rule, with a bigger array if the operation has more outputs than fit. */
static gemel_status infer_outputs(struct application *a, gemel_error *error) {
  GEMEL__TRY(gemel__infer(a->graph->context, a->op, a->attrs, a->n, a->types, a->values, a->room,
                          &a->n_outputs, a->outputs, error));
  if (a->n_outputs > a->room && a->n_outputs <= UINT16_MAX) {
    gemel_type *more = gemel__alloc_array(a->n_outputs, sizeof *more);
    if (more == NULL) {
      return gemel__no_memory(error, "outputs");
    }
    a->room = a->n_outputs;
    a->outputs = more;
    GEMEL__TRY(gemel__infer(a->graph->context, a->op, a->attrs, a->n, a->types, a->values, a->room,
                            &a->n_outputs, a->outputs, error));
  }
  return check_outputs(a, error);
}

/* Asks the memo, or the type rule. The error is recorded on the graph. */
static int find_types(struct application *a) {
  gemel_error error;
  if (memo_recall(a)) {
    return 0;
  }
  if (infer_outputs(a, &error) != GEMEL_OK) {
    gemel__apply_context(a->graph->context, a->op, a->n, a->types, a->where, &error);
    gemel__graph_take_error(a->graph, &error);
    return -1;
  }
  memo_store(a);
  return 0;
}

static gemel_value fail_append(struct application *a, gemel_status status) {
  return fail_here(a, status,
                   status == GEMEL_NO_MEMORY ? "out of memory for a node" : "the graph is full");
}

static gemel_value append(struct application *a, const gemel__cons_place *place) {
  gemel_value value = {a->graph, 0, 0};
  gemel_status status = gemel__cons_append(a->graph, a->op->id, a->attrs, a->n, a->refs, place,
                                           a->n_outputs, a->outputs, a->where, &value.node);
  return status == GEMEL_OK ? value : fail_append(a, status);
}

/* What must hold of new operands, and casts where they need some. The error is recorded. */
static int check_and_promote(struct application *a) {
  const gemel__scalar_row *row;
  if (!arity_fits(&a->op->record, a->n)) {
    fail_arity(a);
    return -1;
  }
  return (a->op->record.flags & GEMEL_OP_ELEMENTWISE) &&
                 (row = gemel__scalar_row_of(&a->op->record)) != NULL
             ? promote(a, row)
             : 0;
}

static gemel_value check_and_append(struct application *a) {
  gemel_value value = {a->graph, 0, 0};
  gemel__cons_place place;
  if (a->graph->frozen) {
    return fail_here(a, GEMEL_BAD_ARGUMENT, "the graph is an attribute and can't change");
  }
  if (check_and_promote(a) != 0) {
    return gemel__no_value;
  }
  if (gemel__cons_find(a->graph, a->op->id, a->attrs, a->n, a->refs, &place, &value.node)) {
    return value;
  }
  return find_types(a) == 0 ? append(a, &place) : gemel__no_value;
}

const char *gemel__stranger(const gemel_graph *graph, gemel_value value) {
  if (value.graph == NULL || value.graph == graph) {
    return value.graph == NULL ? "null" : "no value of its graph";
  }
  for (const gemel_graph *g = graph->around; g != NULL; g = g->around) {
    if (g == value.graph) {
      return "a value of the graph around the loop; it enters the body as a constant or a row of "
             "the loop";
    }
  }
  for (const gemel_graph *g = graph->inside; g != NULL; g = g->inside) {
    if (g == value.graph) {
      return "a value of a loop's body; another enters that as a constant or a row of the loop, "
             "and what it computes leaves it as a state's last value or rows, or stacked";
    }
  }
  return "a value of another graph";
}

/* Fills in refs and types; 0 if an input is null or of another graph. */
static int take_inputs(struct application *a, const gemel_value *inputs) {
  for (size_t k = 0; k < a->n; k++) {
    if (inputs[k].graph != a->graph || !gemel__is_value(inputs[k])) {
      gemel__graph_fail_at(a->graph, a->where, GEMEL_BAD_ARGUMENT, "input %zu of %s is %s", k,
                           a->op->record.name, gemel__stranger(a->graph, inputs[k]));
      return 0;
    }
    a->values[k] = inputs[k];
    a->refs[k].node = inputs[k].node;
    a->refs[k].output = inputs[k].output;
    a->types[k] = gemel__node_type(a->graph, inputs[k].node, inputs[k].output);
  }
  return 1;
}

/* For more inputs than fit on the stack. */
static gemel_value apply_many(struct application *a, const gemel_value *inputs) {
  size_t each = sizeof *a->values + sizeof *a->refs + sizeof *a->types;
  char *block = a->n <= SIZE_MAX / 64 ? gemel__alloc(a->n * each) : NULL;
  gemel_value value = gemel__no_value;
  if (block == NULL) {
    return gemel__graph_fail_at(a->graph, a->where, GEMEL_NO_MEMORY, "out of memory for inputs");
  }
  a->values = (gemel_value *)block;
  a->refs = (gemel__ref *)(a->values + a->n);
  a->types = (gemel_type *)(a->refs + a->n);
  if (take_inputs(a, inputs)) {
    value = check_and_append(a);
  }
  gemel__free(block, a->n * each);
  return value;
}

gemel_value gemel__apply(gemel_graph *graph, uint32_t op, uint32_t attrs, size_t n_inputs,
                         const gemel_value *inputs, gemel_location where) {
  gemel_type types[LOCAL], outputs[LOCAL];
  gemel_value values[LOCAL];
  gemel__ref refs[LOCAL];
  struct application a = {graph,  gemel__op_at(graph->context, op),
                          attrs,  n_inputs,
                          refs,   types,
                          values, where,
                          0,      LOCAL,
                          outputs};
  gemel_value value = gemel__no_value;
  if (n_inputs > LOCAL) {
    value = apply_many(&a, inputs);
  } else if (take_inputs(&a, inputs)) {
    value = check_and_append(&a);
  }
  if (a.outputs != outputs) {
    gemel__free(a.outputs, a.room * sizeof *a.outputs);
  }
  return value;
}

/* ---- By name ---- */

/* 1 if an input is null because something failed before. */
static int failed_before(const gemel_graph *graph, size_t n_inputs, const gemel_value *inputs) {
  for (size_t k = 0; k < n_inputs && graph->error.status != GEMEL_OK; k++) {
    if (gemel_is_null(inputs[k])) {
      return 1;
    }
  }
  return 0;
}

static gemel_value no_operation(gemel_graph *graph, const char *written, gemel_location where) {
  gemel__suggestion near;
  return gemel__graph_fail_at(
      graph, where, GEMEL_NOT_FOUND, "there is no operation called %s%s", written,
      gemel__op_suggestion(graph->context, written, strlen(written), &near));
}

/* As gemel_apply_at; a composite gives its N_OUTPUTS results to OUTPUTS, an operation leaves them.
 */
static gemel_value apply_named(gemel_graph *graph, const char *operation, size_t n_inputs,
                               const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                               size_t n_outputs, gemel_value *outputs, gemel_location where) {
  gemel_error error;
  uint32_t op, id;
  gemel_status status;
  if (graph == NULL || graph->frozen) {
    return gemel__no_value;
  }
  if ((n_inputs > 0 && inputs == NULL) || (n_attrs > 0 && attrs == NULL)) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "%s: the %s are null",
                                operation != NULL ? operation : "(null)",
                                n_inputs > 0 && inputs == NULL ? "inputs" : "attributes");
  }
  op = operation != NULL ? gemel__op_find(graph->context, operation) : 0;
  if (op == 0 && operation != NULL && graph->context->composing != NULL &&
      graph->error.status == GEMEL_OK &&
      graph->context->composing->apply(graph, operation, n_inputs, inputs, n_attrs, attrs,
                                       n_outputs, outputs, where)) {
    return outputs[0];
  }
  if (failed_before(graph, n_inputs, inputs)) {
    return gemel__no_value;
  }
  if (op == 0) {
    return no_operation(graph, operation != NULL ? operation : "(null)", where);
  }
  if (op == GEMEL__OP_input) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT,
                                "an input is declared, not applied, or the graph wouldn't list it");
  }
  if (n_attrs == 0 && gemel__op_at(graph->context, op)->n_attrs == 0) {
    return gemel__apply(graph, op, 0, n_inputs, inputs, where);
  }
  if (gemel__runtime_sizes(n_attrs, attrs, graph->context)) {
    return gemel__apply_sized(graph, op, n_inputs, inputs, n_attrs, attrs, where);
  }
  status = gemel__attrs_intern(graph->context, gemel__op_at(graph->context, op), n_attrs, attrs,
                               &id, &error);
  if (status != GEMEL_OK) {
    gemel__error_place(&error, where);
    return gemel__graph_take_error(graph, &error);
  }
  return gemel__apply(graph, op, id, n_inputs, inputs, where);
}

/* ---- Constants ---- */

gemel_value gemel_constant_at(gemel_graph *graph, gemel_tensor *tensor, gemel_location where) {
  gemel_attr attr = gemel_attr_tensor("value", tensor);
  return gemel_apply_at(graph, "constant", 0, NULL, 1, &attr, where);
}

static gemel_value make_scalar(gemel_graph *graph, gemel_dtype dtype, double number,
                               gemel_location where) {
  unsigned char element[8];
  gemel_error error;
  gemel_tensor *tensor;
  gemel_view view;
  gemel_value value;
  if ((unsigned)dtype >= GEMEL_DTYPE_COUNT ||
      gemel__dtype_store(dtype, number, element) != GEMEL_OK) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_VALUE, "%s can't hold %.17g",
                                gemel_dtype_name(dtype), number);
  }
  memset(&view, 0, sizeof view);
  view.dtype = dtype;
  view.data = element;
  tensor = gemel_tensor_copy(&view, &error);
  if (tensor == NULL) {
    gemel__error_place(&error, where);
    return gemel__graph_take_error(graph, &error);
  }
  value = gemel_constant_at(graph, tensor, where);
  gemel_tensor_unref(tensor);
  return value;
}

gemel_value gemel_scalar_at(gemel_graph *graph, gemel_dtype dtype, double value,
                            gemel_location where) {
  struct memo_scalar *m;
  gemel_value result = {graph, 0, 0};
  uint64_t bits;
  if (graph == NULL || graph->frozen) {
    return gemel__no_value;
  }
  memcpy(&bits, &value, sizeof bits);
  m = &graph->memo->scalars[gemel__mix(bits ^ (uint64_t)dtype) % MEMO_SCALARS];
  if (m->dtype == (uint32_t)dtype + 1 && m->bits == bits) {
    result.node = m->node;
    return result;
  }
  result = make_scalar(graph, dtype, value, where);
  if (!gemel_is_null(result)) {
    m->dtype = (uint32_t)dtype + 1;
    m->bits = bits;
    m->node = result.node;
  }
  return result;
}

gemel_value gemel__in_space(gemel_value value, int space, gemel_location where) {
  gemel_attr attr = gemel_attr_int("space", space);
  if (gemel_is_null(value) ||
      gemel_type_space(value.graph->context, gemel_value_type(value)) == space) {
    return value;
  }
  return gemel_apply_at(value.graph, "transfer", 1, &value, 1, &attr, where);
}

gemel_value gemel__scalar_with(gemel_value like, gemel_dtype dtype, double number,
                               gemel_location where) {
  if (gemel_is_null(like)) {
    return gemel__no_value;
  }
  return gemel__in_space(gemel_scalar_at(like.graph, dtype, number, where),
                         gemel_type_space(like.graph->context, gemel_value_type(like)), where);
}

gemel_value gemel__filled_like(gemel_value like, double number, gemel_location where) {
  gemel_context *context = like.graph->context;
  const struct gemel__type *type = gemel__type_at(context, gemel_value_type(like));
  gemel_value scalar = gemel__scalar_with(like, (gemel_dtype)type->dtype, number, where);
  gemel_attr attr = gemel_attr_dims("shape", type->rank, type->dims);
  if (type->rank == 0 || gemel_is_null(scalar)) {
    return scalar;
  }
  return gemel_apply_at(like.graph, "broadcast_to", 1, &scalar, 1, &attr, where);
}

gemel_value gemel_apply_at(gemel_graph *graph, const char *operation, size_t n_inputs,
                           const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                           gemel_location where) {
  gemel_value output;
  return apply_named(graph, operation, n_inputs, inputs, n_attrs, attrs, 1, &output, where);
}

gemel_value gemel_apply_all_at(gemel_graph *graph, const char *operation, size_t n_inputs,
                               const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                               size_t n_outputs, gemel_value *outputs, gemel_location where) {
  if (n_outputs == 0 || outputs == NULL) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "%s: no place for its results",
                                operation != NULL ? operation : "(null)");
  }
  for (size_t k = 0; k < n_outputs; k++) {
    outputs[k] = gemel__no_value;
  }
  gemel_value first =
      apply_named(graph, operation, n_inputs, inputs, n_attrs, attrs, n_outputs, outputs, where);
  int is_operation = gemel_is_null(outputs[0]); /* or nothing, if that has failed */
  for (size_t k = 0; is_operation && k < n_outputs; k++) {
    outputs[k] = gemel_value_output(first, (uint32_t)k);
  }
  return outputs[0];
}
