/* SPDX-License-Identifier: MIT
 *
 * What nobody needs of a loop: scan-join.c makes the smaller loop, and here reading the row of a
 * history that is the last state, or the initial value, becomes reading that. Programs read such a
 * row behind views, so it is looked for through slices and permutations.
 */
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "ops/rule.h"
#include "passes/passes.h"
#include "passes/scan-join.h"

enum { MOST_VIEWS = 8 };

/* One row of a history, seen through views. */
typedef struct row_read {
  gemel_edit *edit;
  const gemel_graph *graph;
  gemel__scan_node loop;
  uint32_t views[MOST_VIEWS]; /* from the slice that takes the row down to the history */
  int axes[MOST_VIEWS];       /* axis of the rows in what each view looks at */
  size_t n;
  size_t state;
  gemel_dim row;
} row_read;

static const gemel_attr *attrs_of(const row_read *r, uint32_t node) {
  return gemel__attrs_at(r->graph->context, gemel__node_at(r->graph, node)->attrs)->values;
}

static gemel__ref operand_of(const gemel_graph *graph, uint32_t node) {
  uint32_t count;
  return gemel__node_inputs(graph, node, &count)[0];
}

/* Attributes of subtensor. */
enum { START, SIZE, STEP };

/* 1 if the slice NODE takes elements one by one. */
static int is_dense(const row_read *r, uint32_t node) {
  const gemel_attr *step = &attrs_of(r, node)[STEP];
  size_t k = 0;
  while (k < step->count && step->u.ints[k] == 1) {
    k++;
  }
  return k == step->count;
}

/* Follows views from the slice NODE to a history. */
static int find_history(row_read *r, uint32_t node) {
  gemel__ref at = {node, 0};
  for (r->n = 0; r->n < MOST_VIEWS; at = operand_of(r->graph, at.node)) {
    int op = gemel__node_at(r->graph, at.node)->op;
    if (op == GEMEL__OP_scan) {
      if (gemel__scan_node_read(r->graph, at.node, &r->loop) != GEMEL_OK || !r->loop.scan.rows ||
          !gemel__scan_node_steps_hold(&r->loop) || at.output < r->loop.scan.states ||
          at.output >= 2 * r->loop.scan.states) {
        return 0;
      }
      r->state = at.output - r->loop.scan.states;
      return 1;
    }
    if (op != GEMEL__OP_dimshuffle && (op != GEMEL__OP_subtensor || !is_dense(r, at.node))) {
      return 0;
    }
    r->views[r->n++] = at.node;
  }
  return 0;
}

/* The axis where a dimshuffle puts AXIS; -1: nowhere. */
static int axis_behind(const gemel_attr *order, int axis) {
  for (size_t k = 0; k < order->count; k++) {
    if (order->u.ints[k] == axis) {
      return (int)k;
    }
  }
  return -1;
}

/* Follows the axis of the rows back to the slice; finds the one row that this takes, which no slice
 * before it took. */
static int find_row(row_read *r) {
  gemel_context *context = r->graph->context;
  gemel_dim one = gemel_dim_constant(context, 1);
  int axis = 0;
  r->row = gemel_dim_constant(context, 0);
  for (size_t k = r->n; k-- > 0 && axis >= 0;) {
    const gemel_attr *attrs = attrs_of(r, r->views[k]);
    r->axes[k] = axis;
    if (gemel__node_at(r->graph, r->views[k])->op == GEMEL__OP_dimshuffle) {
      axis = axis_behind(&attrs[0], axis);
      continue;
    }
    gemel_dim start = gemel__attr_size(r->graph, r->views[k], attrs[START].u.dims[axis]);
    if (gemel_dim_is_none(start) || gemel_dim_equal(attrs[SIZE].u.dims[axis], one) != (k == 0)) {
      return 0;
    }
    r->row = gemel_dim_add(context, r->row, start);
  }
  return axis >= 0 && !gemel_dim_is_none(r->row);
}

/* What the row is; null: neither the last state nor the initial value, as far as can be seen. */
static gemel_value value_of_row(row_read *r) {
  const gemel__scan *s = &r->loop.scan;
  int first = gemel_dim_equal(r->row, gemel_dim_constant(r->graph->context, 0));
  int last = gemel_dim_equal(r->row, r->loop.length) && !s->until;
  if (s->reverse ? last : first) {
    return gemel__edit_value(r->edit, r->loop.operands[r->state]);
  }
  if (s->reverse ? first : last) {
    return gemel__edit_value(r->edit, gemel__scan_node_result(&r->loop, r->state));
  }
  return (gemel_value){NULL, 0, 0};
}

/* The slice NODE of VALUE, of which AXIS has one row. */
static gemel_value slice_again(row_read *r, uint32_t node, int axis, gemel_value value) {
  const gemel_attr *attrs = attrs_of(r, node);
  gemel_dim start[GEMEL_MAX_RANK], size[GEMEL_MAX_RANK];
  int rank, whole = 1;
  const gemel_dim *dims = gemel__value_dims(value, &rank);
  for (int k = 0; k < rank; k++) {
    gemel_dim from = gemel__attr_size(r->graph, node, attrs[START].u.dims[k]);
    gemel_dim count = gemel__attr_size(r->graph, node, attrs[SIZE].u.dims[k]);
    start[k] = gemel_dim_constant(r->graph->context, 0);
    size[k] = gemel_dim_constant(r->graph->context, 1);
    if (k != axis) {
      start[k] = gemel__edit_size(r->edit, from);
      size[k] = gemel__edit_size(r->edit, count);
      whole &= gemel_dim_equal(size[k], dims[k]);
    }
  }
  return whole ? value
               : gemel_subtensor_at(value, (size_t)rank, start, (size_t)rank, size, NULL,
                                    gemel__node_where(r->graph, node));
}

/* VALUE, one row, through the views. */
static gemel_value view_again(row_read *r, gemel_value value) {
  gemel_location where = gemel__node_where(r->graph, r->views[0]);
  value = gemel__scan_as_row(value, where);
  for (size_t k = r->n; k-- > 0 && !gemel_is_null(value);) {
    const gemel_attr *attrs = attrs_of(r, r->views[k]);
    value = gemel__node_at(r->graph, r->views[k])->op == GEMEL__OP_dimshuffle
                ? gemel_dimshuffle_at(value, attrs[0].count, attrs[0].u.ints, where)
                : slice_again(r, r->views[k], r->axes[k], value);
  }
  return value;
}

static gemel_status replace_row(gemel_edit *edit, uint32_t node) {
  row_read r = {.edit = edit, .graph = gemel_edit_graph(edit)};
  if (!find_history(&r, node) || !find_row(&r)) {
    return GEMEL_OK;
  }
  gemel__edit_anew(edit);
  gemel_value value = value_of_row(&r);
  if (gemel_is_null(value)) {
    return GEMEL_OK;
  }
  value = view_again(&r, value);
  gemel__ref old = {node, 0};
  return gemel_is_null(value) || !gemel__edit_fits(edit, old, value)
             ? GEMEL_OK
             : gemel__edit_replace(edit, old, value);
}

gemel_status gemel__pass_scan_prune(gemel_edit *edit, const void *data, gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  const uint32_t *uses = NULL;
  unsigned failures = gemel__dim_memory_failures(graph->context);
  int loops = 0;
  (void)data;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    int op = graph->nodes[k].op;
    if (op != GEMEL__OP_scan && (op != GEMEL__OP_subtensor || !loops)) {
      continue;
    }
    loops = 1;
    if (uses == NULL && (uses = gemel__edit_uses(edit)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
    if (uses[k] > 0) {
      GEMEL__TRY(op == GEMEL__OP_scan ? gemel__scan_join(edit, 1, &k, error)
                                      : replace_row(edit, k));
    }
  }
  return gemel__scan_sizes_status(graph->context, failures, error);
}
