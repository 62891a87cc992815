/* SPDX-License-Identifier: MIT
 *
 * What all rows of scalar.def share: the table of rows as C sees it, which dtypes a row takes and
 * gives, the type rule, and both derivatives. A derivative is the row's text, compiled when it is
 * first needed and kept with the operation, built for the node at hand, cast and summed back to the
 * operand's type. Kernels are in elementwise-kernels.c.
 */
#include "ops/elementwise.h"
#include "core/error.h"
#include "ops/batch.h"

#include "core/alloc.h"
#include "core/value.h"
#include "text/expr.h"

/* ---- Type rule ---- */

static gemel_status scalar_infer(gemel_infer *call) {
  const gemel__scalar_row *row = call->data;
  gemel_dtype given[3], operands[3], result, to = GEMEL_BOOL;
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank;
  for (size_t k = 0; k < call->n_inputs; k++) {
    given[k] = (gemel_dtype)gemel__type_at(call->context, call->inputs[k])->dtype;
  }
  if (row->code == GEMEL__TYPE_CAST) {
    to = call->attrs[0].u.dtype;
  }
  if ((unsigned)to >= GEMEL_DTYPE_COUNT) {
    return gemel__fail(call->error, GEMEL_BAD_ARGUMENT, "there is no dtype %d", (int)to);
  }
  if (gemel__scalar_dtypes(row->code, call->n_inputs, given, to, operands, &result) != GEMEL_OK) {
    return gemel__fail(call->error, GEMEL_BAD_TYPE,
                       row->code == GEMEL__TYPE_INTEGER ? "defined for integers alone"
                                                        : "not defined for bool");
  }
  GEMEL__TRY(
      gemel__broadcast(call->context, call->n_inputs, call->inputs, &rank, dims, call->error));
  return gemel__infer_result(call, result, rank, dims);
}

/* ---- Derivatives ---- */

/* The compiled derivative texts of a row; NULL for zero. */
typedef struct derived_row {
  gemel__expr *grads[3];
} derived_row;

static void free_derived(void *pointer) {
  derived_row *all = pointer;
  if (all != NULL) {
    for (size_t k = 0; k < 3; k++) {
      gemel__expr_free(all->grads[k]);
    }
    gemel__free(all, sizeof *all);
  }
}

static derived_row *compile(gemel_context *context, const gemel__scalar_row *row,
                            gemel_error *error) {
  static const char *const names[] = {"x", "y", "z", "r", "g"};
  derived_row *all = gemel__alloc_zeroed(sizeof *all);
  int k;
  if (all == NULL) {
    gemel__no_memory(error, "a derivative");
    return NULL;
  }
  for (k = 0; k < row->n_inputs; k++) {
    if (row->grads[k][0] != '\0') {
      all->grads[k] = gemel__expr_compile(context, row->grads[k], 5, names, error);
      if (all->grads[k] == NULL) {
        free_derived(all);
        return NULL;
      }
    }
  }
  return all;
}

/* The operation that ROW is in CONTEXT; the node being differentiated says it at once. */
static gemel__op *op_of(const gemel_derive *call, const gemel__scalar_row *row) {
  gemel_context *context = call->graph->context;
  const gemel__op *op;
  if (call->n_outputs > 0 && call->outputs[0].graph == call->graph) {
    op = gemel__node_op(call->graph, call->outputs[0].node);
    if (op->record.data == row) {
      return (gemel__op *)op;
    }
  }
  return (gemel__op *)gemel__op_at(context, gemel__op_find(context, row->name));
}

/* Compiling takes the context's lock, so it is done without holding it: of two threads that compile
 * at the same time, the second frees what it made. */
static const derived_row *derived_of(const gemel_derive *call, const gemel__scalar_row *row) {
  gemel_context *context = call->graph->context;
  gemel__op *op = op_of(call, row);
  derived_row *all = __atomic_load_n(&op->derived, __ATOMIC_ACQUIRE), *mine;
  gemel_error error;
  if (all != NULL) {
    return all;
  }
  mine = compile(context, row, &error);
  if (mine == NULL) {
    gemel__graph_fail(call->graph, error.status, "derivative of %s: %s", row->name, error.text);
    return NULL;
  }
  pthread_mutex_lock(&context->lock);
  all = op->derived;
  if (all == NULL) {
    __atomic_store_n(&op->derived, mine, __ATOMIC_RELEASE);
    all = mine;
    mine = NULL;
  }
  pthread_mutex_unlock(&context->lock);
  free_derived(mine);
  return all;
}

static inline gemel_type type_of(gemel_value value) {
  return gemel__node_type(value.graph, value.node, value.output);
}

/* Only floats carry derivatives. */
static int carries(const gemel_derive *call, gemel_type type) {
  gemel_dtype dtype = (gemel_dtype)gemel__type_at(call->graph->context, type)->dtype;
  return gemel_dtype_kind(dtype) == GEMEL_KIND_FLOAT;
}

static gemel_value cast_like(gemel_value value, gemel_value like, gemel_location where) {
  gemel_context *context = value.graph->context;
  gemel_dtype to = (gemel_dtype)gemel__type_at(context, gemel_value_type(like))->dtype;
  if (gemel__type_at(context, gemel_value_type(value))->dtype == to) {
    return value;
  }
  gemel_attr attr = gemel_attr_dtype("dtype", to);
  return gemel_apply_at(value.graph, "cast", 1, &value, 1, &attr, where);
}

/* What the variables of derivative texts stand for, but for g. */
enum { FLOW = 4, VARIABLES };

static void take_variables(const gemel_derive *call, gemel_value values[VARIABLES]) {
  for (size_t j = 0; j < 3; j++) {
    values[j] = j < call->n_inputs ? call->inputs[j] : gemel__no_value;
  }
  values[3] = call->outputs[0];
}

/* The status of a hook that may have failed on the graph. */
static gemel_status outcome(const gemel_derive *call) {
  const gemel_error *error = gemel_graph_error(call->graph);
  if (error->status != GEMEL_OK && call->error != NULL) {
    *call->error = *error;
  }
  return error->status;
}

/* The K-th derivative, in the type of its input, which is LIKE. */
static gemel_value derivative(const gemel_derive *call, const derived_row *all, size_t k,
                              const gemel_value values[VARIABLES], gemel_type like) {
  gemel_value made = gemel__expr_build(all->grads[k], call->graph, values, call->where);
  if (gemel_is_null(made) || gemel_type_equal(type_of(made), like)) {
    return made;
  }
  made = cast_like(made, call->inputs[k], call->where);
  return gemel__unbroadcast(made, call->inputs[k], call->where);
}

static gemel_status scalar_grad(gemel_derive *call) {
  const derived_row *all = derived_of(call, call->data);
  gemel_value values[VARIABLES];
  gemel_type flow =
      gemel_is_null(call->d_outputs[0]) ? GEMEL_TYPE_NONE : type_of(call->d_outputs[0]);
  int flows = all != NULL && !gemel_type_is_none(flow) && carries(call, flow);
  take_variables(call, values);
  values[FLOW] = call->d_outputs[0];
  for (size_t k = 0; k < call->n_inputs; k++) {
    gemel_type type = type_of(call->inputs[k]);
    call->d_inputs[k] = flows && call->wanted[k] && all->grads[k] != NULL &&
                                (gemel_type_equal(type, flow) || carries(call, type))
                            ? derivative(call, all, k, values, type)
                            : gemel__no_value;
  }
  return outcome(call);
}

/* VALUE in the shape of LIKE; only where an operand was broadcast do they differ. */
static gemel_value spread(gemel_value value, gemel_value like, gemel_location where) {
  gemel_value inputs[2];
  if (gemel_is_null(value) || gemel_type_equal(gemel_value_type(value), gemel_value_type(like))) {
    return value;
  }
  inputs[0] = like;
  inputs[1] = value;
  return gemel_apply_at(value.graph, "fill", 2, inputs, 0, NULL, where);
}

static gemel_status scalar_jvp(gemel_derive *call) {
  const derived_row *all = derived_of(call, call->data);
  gemel_value out = call->outputs[0], total = gemel__no_value, pair[2], values[VARIABLES];
  take_variables(call, values);
  for (size_t k = 0; all != NULL && carries(call, type_of(out)) && k < call->n_inputs; k++) {
    gemel_value term = gemel__no_value;
    values[FLOW] = call->d_inputs[k];
    if (!gemel_is_null(values[FLOW]) && all->grads[k] != NULL) {
      term = gemel__expr_build(all->grads[k], call->graph, values, call->where);
    }
    term = gemel_is_null(term) ? term : cast_like(term, out, call->where);
    if (!gemel_is_null(term) && !gemel_is_null(total)) {
      pair[0] = total;
      pair[1] = term;
      term = gemel_apply_at(call->graph, "add", 2, pair, 0, NULL, call->where);
    }
    total = gemel_is_null(term) ? total : term;
  }
  call->d_outputs[0] = spread(total, out, call->where);
  return outcome(call);
}

static gemel_status scalar_batch(gemel__batch *call) {
  gemel_value operands[3];
  int rank = 0;
  for (size_t k = 0; k < call->n_inputs; k++) {
    int own = gemel__batch_rank(call, k);
    rank = own > rank ? own : rank;
  }
  for (size_t k = 0; k < call->n_inputs; k++) {
    operands[k] = gemel__batch_operand(call, k, rank);
  }
  call->output =
      gemel__apply(call->graph, call->op, call->attrs, call->n_inputs, operands, call->where);
  return GEMEL_OK;
}

const gemel__hooks gemel__scalar_hooks = {.infer = scalar_infer,
                                          .grad = scalar_grad,
                                          .jvp = scalar_jvp,
                                          .kernels = gemel__scalar_kernels,
                                          .batch = scalar_batch,
                                          .release = free_derived};
