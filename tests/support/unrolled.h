/*
 * A graph without loops: each scan is replaced by as many applications of its body as it takes
 * steps. Rows are cut out and joined by operations of the graph, so nothing of what is said of
 * loops anywhere else has a part in it. Where a derivative is truncated, values go through an
 * operation that passes them on and whose derivatives are zero.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GEMEL_TESTS_UNROLLED_H
#define GEMEL_TESTS_UNROLLED_H

#include <gemel/operation.h>
#include <gemel/ops.h>
#include <stdlib.h>
#include <string.h>
#include "../ct.h"
#include "operation.h"

enum { UNROLLED_ATTRS = 16, UNROLLED_VALUES = 64 };

/* ---- An operation that is forgotten by derivatives ---- */

static inline gemel_status forget_grad(gemel_derive *call) {
  call->d_inputs[0] = (gemel_value){NULL, 0, 0};
  return GEMEL_OK;
}

static inline gemel_status forget_jvp(gemel_derive *call) {
  call->d_outputs[0] = (gemel_value){NULL, 0, 0};
  return GEMEL_OK;
}

static inline gemel_status forget_run(const gemel_kernel_call *call) {
  const gemel_view *in = &call->inputs[0], *out = &call->outputs[0];
  int64_t item = (int64_t)gemel_dtype_size(in->dtype), count = 1;
  for (int axis = 0; axis < in->rank; axis++) {
    count *= in->shape[axis];
  }
  for (int64_t i = 0; i < count; i++) {
    const char *from = in->data;
    int64_t rest = i;
    for (int axis = in->rank - 1; axis >= 0; axis--) {
      from += rest % in->shape[axis] * in->strides[axis];
      rest /= in->shape[axis];
    }
    memcpy((char *)out->data + i * item, from, (size_t)item);
  }
  return GEMEL_OK;
}

/* X, for derivatives a constant. */
static inline gemel_value forget(gemel_value x) {
  static const gemel_kernel kernels[] = {{"plain", NULL, forget_run}, {NULL, NULL, NULL}};
  static const gemel_operation record = {.size = sizeof record,
                                         .name = "forget",
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .version = 1,
                                         .infer = same_type,
                                         .grad = forget_grad,
                                         .jvp = forget_jvp,
                                         .kernels = kernels};
  gemel_context *context = gemel_graph_context(x.graph);
  if (gemel_operation_find(context, "forget") == NULL) {
    CT_EQ_INT(gemel_register_operation(context, &record, NULL), GEMEL_OK);
  }
  return gemel_apply(x.graph, "forget", 1, &x, 0, NULL);
}

/* ---- Loops ---- */

/* A loop, and what the new graph has for it. */
typedef struct unrolled_loop {
  gemel_graph *graph; /* the new one */
  gemel_graph *body;
  int64_t states, sequences, rows, steps;
  int64_t most;      /* steps that there could be if it didn't end early */
  int64_t forgotten; /* of the steps those that derivatives take for constants */
  int has_rows, reverse, limited, until;
  size_t n_in, n_out; /* of the body */
  gemel_value operands[UNROLLED_VALUES];
  gemel_value *made; /* the body's results at step i: from i * n_out on */
} unrolled_loop;

static inline gemel_attr attr_of(gemel_value value, const char *name) {
  gemel_attr attr = {name, GEMEL_ATTR_NONE, 0, {0}};
  CT_EQ_INT(gemel_value_attr(value, name, &attr), GEMEL_OK);
  return attr;
}

static inline int rank_of(gemel_value value) {
  return gemel_type_rank(gemel_graph_context(value.graph), gemel_value_type(value));
}

static inline const gemel_dim *dims_of(gemel_value value) {
  return gemel_type_dims(gemel_graph_context(value.graph), gemel_value_type(value));
}

static inline int64_t number_of(gemel_context *context, gemel_dim dim) {
  int64_t number = -1;
  CT_CHECK(gemel_dim_is_constant(context, dim, &number));
  return number;
}

/* Row T of X. */
static inline gemel_value row_of_value(gemel_value x, int64_t t) {
  gemel_context *context = gemel_graph_context(x.graph);
  gemel_dim start[GEMEL_MAX_RANK], size[GEMEL_MAX_RANK];
  int64_t order[GEMEL_MAX_RANK];
  size_t rank = (size_t)rank_of(x);
  for (size_t k = 0; k < rank; k++) {
    start[k] = gemel_dim_constant(context, k == 0 ? t : 0);
    size[k] = k == 0 ? gemel_dim_constant(context, 1) : dims_of(x)[k];
    order[k] = (int64_t)k + 1;
  }
  return gemel_dimshuffle(gemel_subtensor(x, rank, start, rank, size), rank - 1, order);
}

/* X with an axis of size 1 in front. */
static inline gemel_value as_row(gemel_value x) {
  int64_t order[GEMEL_MAX_RANK];
  size_t rank = (size_t)rank_of(x);
  for (size_t k = 0; k <= rank; k++) {
    order[k] = (int64_t)k - 1;
  }
  return gemel_dimshuffle(x, rank + 1, order);
}

/* COUNT rows of zeros, of TYPE each. */
static inline gemel_value zero_rows(gemel_graph *graph, int64_t count, gemel_type type) {
  gemel_context *context = gemel_graph_context(graph);
  int64_t shape[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(context, type);
  shape[0] = count;
  for (int k = 0; k < rank; k++) {
    shape[k + 1] = number_of(context, gemel_type_dims(context, type)[k]);
  }
  gemel_tensor *zeros = gemel_tensor_new(gemel_type_dtype(context, type), rank + 1, shape, NULL);
  gemel_value value = gemel_constant(graph, zeros);
  gemel_tensor_unref(zeros);
  return value;
}

/* ROWS, of TYPE, joined, with rows of zeros behind up to COUNT. */
static inline gemel_value join_rows(gemel_graph *graph, size_t n, const gemel_value *rows,
                                    int64_t count, gemel_type type) {
  gemel_value parts[UNROLLED_VALUES];
  for (size_t k = 0; k < n; k++) {
    parts[k] = as_row(rows[k]);
  }
  if (count > (int64_t)n || n == 0) {
    parts[n] = zero_rows(graph, count - (int64_t)n, type);
    n++;
  }
  return n == 1 ? parts[0] : gemel_join(n, parts);
}

static inline void read_loop(unrolled_loop *l, gemel_value scan, int64_t steps, int64_t limit) {
  gemel_context *context = gemel_graph_context(scan.graph);
  gemel_attr length = attr_of(scan, "length"), truncate = attr_of(scan, "truncate");
  l->body = attr_of(scan, "body").u.graph;
  l->states = attr_of(scan, "states").u.i;
  l->sequences = attr_of(scan, "sequences").u.i;
  l->reverse = attr_of(scan, "reverse").u.i != 0;
  l->limited = attr_of(scan, "limited").u.i != 0;
  l->until = attr_of(scan, "until").u.i != 0;
  l->n_in = gemel_graph_input_count(l->body);
  l->n_out = gemel_graph_output_count(l->body);
  l->has_rows = l->sequences > 0 || length.kind == GEMEL_ATTR_DIM;
  l->rows = l->sequences > 0
                ? number_of(context,
                            dims_of(gemel_value_input(scan, (size_t)(l->limited + l->states)))[0])
            : l->has_rows ? number_of(context, length.u.dim)
                          : steps + 1;
  l->most = l->limited ? limit : l->rows;
  l->steps = l->until ? steps : l->most;
  if (!CT_CHECK(l->steps >= 0 && l->steps <= l->most && l->most <= l->rows)) {
    l->steps = l->most = 0;
  }
  l->forgotten =
      truncate.kind == GEMEL_ATTR_NONE ? 0 : l->steps - number_of(context, truncate.u.dim);
}

/* What output K is after T steps: for T = 0, of a state, its initial value. */
static inline gemel_value made_at(const unrolled_loop *l, size_t k, int64_t t) {
  gemel_value value = t == 0 ? l->operands[k] : l->made[(size_t)(t - 1) * l->n_out + k];
  return t > 0 && t <= l->forgotten ? forget(value) : value;
}

/* All steps that there could be: those behind the last are for the count alone. */
static inline void take_unrolled_steps(unrolled_loop *l) {
  gemel_value in[UNROLLED_VALUES];
  for (int64_t i = 0; i < l->most; i++) {
    for (size_t k = 0; k < l->n_in; k++) {
      int row = (int64_t)k >= l->states && (int64_t)k < l->states + l->sequences;
      in[k] = (int64_t)k < l->states ? made_at(l, k, i)
              : row && l->has_rows ? row_of_value(l->operands[k], l->reverse ? l->most - 1 - i : i)
                                   : l->operands[k];
    }
    gemel_value first = gemel_invoke(l->n_in, in, l->body);
    for (size_t k = 0; k < l->n_out; k++) {
      l->made[(size_t)i * l->n_out + k] = gemel_value_output(first, (uint32_t)k);
    }
  }
}

/* How many steps there are until one says stop. */
static inline gemel_value count_steps(const unrolled_loop *l) {
  gemel_value count = gemel_scalar(l->graph, GEMEL_I64, 0);
  gemel_value going = gemel_scalar(l->graph, GEMEL_BOOL, 1);
  for (int64_t i = 0; i < l->most; i++) {
    count = gemel_add(count, gemel_cast(going, GEMEL_I64));
    going = gemel_logical_and(going, gemel_logical_not(made_at(l, l->n_out - 1, i + 1)));
  }
  return count;
}

/* The results of the loop, in its order. */
static inline void leave_unrolled(const unrolled_loop *l, gemel_value *results) {
  gemel_value rows[UNROLLED_VALUES];
  size_t n = 0, steps = (size_t)l->steps, stacks = l->n_out - (size_t)l->until;
  for (int64_t k = 0; k < l->states; k++) {
    results[n++] = made_at(l, (size_t)k, l->steps);
  }
  for (size_t k = 0; (int64_t)k < l->states && l->has_rows; k++) {
    for (size_t t = 0; t <= steps; t++) {
      rows[l->reverse ? steps - t : t] = made_at(l, k, (int64_t)t);
    }
    results[n++] =
        join_rows(l->graph, steps + 1, rows, l->rows + 1, gemel_value_type(l->operands[k]));
  }
  for (size_t k = (size_t)l->states; k < stacks; k++) {
    for (size_t t = 0; t < steps; t++) {
      rows[l->reverse ? steps - 1 - t : t] = made_at(l, k, (int64_t)t + 1);
    }
    gemel_type type =
        steps > 0 ? gemel_value_type(rows[0]) : gemel_value_type(gemel_graph_output(l->body, k));
    results[n++] = join_rows(l->graph, steps, rows, l->rows, type);
  }
  if (l->until) {
    results[n++] = count_steps(l);
  }
}

/* What takes the place of SCAN in GRAPH, whose operands are OPERANDS there. */
static inline void unroll_loop(gemel_graph *graph, gemel_value scan, const gemel_value *operands,
                               int64_t steps, int64_t limit, gemel_value *results) {
  unrolled_loop l = {.graph = graph};
  read_loop(&l, scan, steps, limit);
  memcpy(l.operands, operands + l.limited, l.n_in * sizeof *operands);
  l.made = malloc((size_t)(l.most + 1) * l.n_out * sizeof *l.made);
  take_unrolled_steps(&l);
  leave_unrolled(&l, results);
  free(l.made);
}

/* A node that is no loop, on other operands. */
static inline gemel_value copy_node(gemel_graph *graph, gemel_value value,
                                    const gemel_value *operands) {
  const char *name = gemel_value_operation(value);
  const gemel_operation *op = gemel_operation_find(gemel_graph_context(graph), name);
  gemel_attr attrs[UNROLLED_ATTRS];
  size_t n = 0;
  for (size_t k = 0; op->attrs != NULL && op->attrs[k].name != NULL; k++) {
    attrs[n] = attr_of(value, op->attrs[k].name);
    attrs[n].name = op->attrs[k].name;
    n += attrs[n].kind != GEMEL_ATTR_NONE;
  }
  return gemel_apply(graph, name, gemel_value_input_count(value), operands, n, attrs);
}

static inline const char *input_name(gemel_value value) {
  const gemel_graph *graph = value.graph;
  for (size_t k = 0; k < gemel_graph_input_count(graph); k++) {
    if (gemel_graph_input(graph, k).node == value.node) {
      return gemel_graph_input_name(graph, k);
    }
  }
  return "";
}

/* What node VALUE becomes: its results go to RESULTS. ALL: those of the nodes before. */
static inline void unroll_node(gemel_graph *graph, gemel_value value, int64_t steps, int64_t limit,
                               gemel_value (*all)[UNROLLED_VALUES], gemel_value *results) {
  gemel_value operands[UNROLLED_VALUES];
  const char *name = gemel_value_operation(value);
  size_t n = gemel_value_input_count(value);
  for (size_t k = 0; k < n; k++) {
    gemel_value in = gemel_value_input(value, k);
    operands[k] = all[in.node][in.output];
  }
  if (strcmp(name, "scan") == 0) {
    unroll_loop(graph, value, operands, steps, limit, results);
  } else if (strcmp(name, "input") == 0) {
    results[0] = gemel_input(graph, input_name(value), gemel_value_type(value));
  } else {
    results[0] = copy_node(graph, value, operands);
    for (uint32_t k = 1; k < UNROLLED_VALUES; k++) {
      results[k] = gemel_value_output(results[0], k);
    }
  }
}

/* A new graph with the inputs and outputs of GRAPH and without its loops, of which those that are
 * limited take LIMIT steps and those that may end early STEPS, if that is what they count. Sizes
 * are constants; loops in bodies stay. */
static inline gemel_graph *unroll(const gemel_graph *graph, int64_t steps, int64_t limit) {
  size_t n = gemel_graph_node_count(graph);
  gemel_graph *made = gemel_graph_new(gemel_graph_context(graph), NULL);
  gemel_value(*all)[UNROLLED_VALUES] = calloc(n, sizeof *all);
  for (uint32_t k = 0; k < n; k++) {
    gemel_value value = {(gemel_graph *)graph, k, 0};
    unroll_node(made, value, steps, limit, all, all[k]);
  }
  for (size_t k = 0; k < gemel_graph_output_count(graph); k++) {
    gemel_value out = gemel_graph_output(graph, k);
    gemel_output(all[out.node][out.output], gemel_graph_output_name(graph, k));
  }
  CT_EQ_STR(gemel_graph_error(made)->text, "");
  free(all);
  return made;
}

#endif
