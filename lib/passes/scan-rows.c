/* SPDX-License-Identifier: MIT
 *
 * A loop's body for all rows at once: see scan-rows.h. What varies from row to row is computed by
 * the hook BATCH of its operation, and what doesn't is copied as it is.
 */
#include "passes/scan-rows.h"

#include <stdio.h>
#include <string.h>
#include <gemel/ops.h>
#include "core/error.h"
#include "ops/batch.h"

enum { MOST_OPERANDS = 16 }; /* of an operation that is computed for all rows */

static const gemel__hooks *hooks_of(const gemel_graph *graph, uint32_t node) {
  uint32_t op = gemel__node_at(graph, node)->op;
  return op < GEMEL__OP_COUNT ? gemel__rows[op].hooks : NULL;
}

int gemel__all_rows_takes(const gemel_graph *body, uint32_t node) {
  const gemel__node *record = gemel__node_at(body, node);
  const gemel__hooks *hooks = hooks_of(body, node);
  return record->op == GEMEL__OP_constant ||
         (hooks != NULL && hooks->batch != NULL && record->n_outputs == 1 &&
          record[1].in_begin - record->in_begin <= MOST_OPERANDS &&
          !gemel__attrs_at(body->context, record->attrs)->has_runtime &&
          gemel_type_rank(body->context, gemel__node_type(body, node, 0)) < GEMEL_MAX_RANK);
}

/* ---- Inputs ---- */

/* 1 if SYMBOL is the size of an axis of an input of BODY. */
static int is_size(const gemel_graph *body, gemel_dim symbol) {
  for (size_t k = 0; k < body->n_inputs; k++) {
    gemel_type type = gemel__body_input(body, k);
    for (int axis = 0; axis < gemel_type_rank(body->context, type); axis++) {
      if (gemel_dim_equal(gemel_type_dims(body->context, type)[axis], symbol)) {
        return 1;
      }
    }
  }
  return 0;
}

/* A symbol that is no size of the body's inputs; GEMEL_DIM_NONE when memory is out. */
static gemel_dim new_symbol(const gemel_graph *body) {
  char name[40] = "rows";
  gemel_dim symbol = gemel_dim_symbol(body->context, name);
  for (unsigned k = 1; !gemel_dim_is_none(symbol) && is_size(body, symbol); k++) {
    snprintf(name, sizeof name, "rows%u", k);
    symbol = gemel_dim_symbol(body->context, name);
  }
  return symbol;
}

/* TYPE with ROWS as its first axis. */
static gemel_type stacked(gemel_context *context, gemel_type type, gemel_dim rows) {
  gemel_dim dims[GEMEL_MAX_RANK + 1];
  int rank = gemel_type_rank(context, type);
  dims[0] = rows;
  memcpy(dims + 1, gemel_type_dims(context, type), (size_t)rank * sizeof *dims);
  return gemel_type_new(context, gemel_type_dtype(context, type), rank + 1, dims,
                        gemel_type_space(context, type));
}

static gemel_status enter(gemel__all_rows *all, gemel__ref value, int with_rows) {
  char name[32];
  gemel_type type = gemel__node_type(all->body, value.node, value.output);
  snprintf(name, sizeof name, "i%zu", all->n_inputs++);
  type = with_rows ? stacked(all->body->context, type, all->rows) : type;
  gemel_value made = gemel__input_like(all->graph, name, type, gemel__value(all->body, value));
  all->map[gemel__value_number(all->body, value)] = (gemel__ref){made.node, made.output};
  return all->graph->error.status;
}

gemel_status gemel__all_rows_begin(gemel__all_rows *all) {
  all->body = all->loop->scan.body;
  all->n_inputs = 0;
  all->rows = new_symbol(all->body);
  all->graph = gemel_graph_new(all->body->context, all->error);
  if (all->graph == NULL || gemel_dim_is_none(all->rows)) {
    return gemel__no_memory(all->error, "a loop");
  }
  for (size_t k = 0; k < all->body->n_inputs; k++) {
    GEMEL__TRY(
        enter(all, all->body->inputs[k], gemel__scan_node_kind(all->loop, k) == GEMEL__ROW_INPUT));
  }
  return GEMEL_OK;
}

void gemel__all_rows_clear(gemel__all_rows *all) {
  gemel_graph_unref(all->graph);
  all->graph = NULL;
}

gemel_status gemel__all_rows_enter(gemel__all_rows *all, gemel__ref value) {
  return enter(all, value, 1);
}

/* ---- Nodes ---- */

static gemel_status batch(gemel__all_rows *all, uint32_t node, gemel__batch *call) {
  unsigned char has_rows[MOST_OPERANDS];
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(all->body, node, &count);
  for (uint32_t k = 0; k < count; k++) {
    has_rows[k] = (all->marks[in[k].node] & all->varies) != 0;
  }
  call->values = gemel__attrs_at(all->graph->context, call->attrs)->values;
  call->rows = all->rows;
  call->has_rows = has_rows;
  gemel_status status = hooks_of(all->body, node)->batch(call);
  return status == GEMEL_OK && gemel_is_null(call->output) ? all->graph->error.status : status;
}

gemel_status gemel__all_rows_add(gemel__all_rows *all, uint32_t node) {
  const gemel__node *record = gemel__node_at(all->body, node);
  gemel_value inputs[MOST_OPERANDS];
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(all->body, node, &count);
  for (uint32_t k = 0; k < count; k++) {
    inputs[k] = gemel__value(all->graph, all->map[gemel__value_number(all->body, in[k])]);
  }
  gemel__batch call = {.graph = all->graph,
                       .op = record->op,
                       .attrs = record->attrs,
                       .n_inputs = count,
                       .inputs = inputs,
                       .where = gemel__node_where(all->body, node)};
  gemel_status status = GEMEL_OK;
  if (all->marks[node] & all->varies) {
    status = batch(all, node, &call);
  } else {
    call.output = gemel__apply(call.graph, call.op, call.attrs, count, inputs, call.where);
    status = all->graph->error.status;
  }
  all->map[node] = (gemel__ref){call.output.node, call.output.output};
  return status;
}

gemel_status gemel__all_rows_leave(gemel__all_rows *all, gemel__ref value) {
  gemel__ref made = all->map[gemel__value_number(all->body, value)];
  return gemel__body_add_output(gemel__value(all->graph, made), 'y',
                                gemel_graph_output_count(all->graph));
}

gemel_status gemel__all_rows_inline(gemel__all_rows *all, gemel_edit *edit,
                                    const gemel_value *operands, gemel_value *results) {
  gemel_graph *target = gemel__edit_target(edit);
  return target == NULL ? GEMEL_NO_MEMORY
                        : gemel__graph_inline(target, all->graph, operands, results, all->error);
}
