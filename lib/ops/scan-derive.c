/* SPDX-License-Identifier: MIT
 *
 * What the derivatives of scan in both modes have in common: which inputs of the body matter, the
 * operands of the new loop, and the rows that it takes. Truncated, these are the rows of the last
 * steps alone, and nothing comes to the initial values through the steps unless these are all.
 *
 * Which states have a derivative is a fixed point: one that depends on what is differentiated by in
 * the body has one if another, on which it depends, has.
 */
#include <stdio.h>
#include <string.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/value.h"
#include "ops/scan-derive.h"

/* ---- Which inputs of the body matter ---- */

/* Marks what depends on marked nodes. */
static void mark_readers(gemel__derived_loop *d) {
  for (size_t node = 0; node < d->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(d->old.body, (uint32_t)node, &count);
    for (uint32_t k = 0; k < count; k++) {
      d->marks[node] |= d->marks[in[k].node];
    }
  }
}

void gemel__derived_mark_operands(gemel__derived_loop *d) {
  for (size_t node = d->n_nodes; node-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(d->old.body, (uint32_t)node, &count);
    for (uint32_t k = 0; k < count && d->marks[node]; k++) {
      d->marks[in[k].node] = 1;
    }
  }
}

void gemel__derived_find_active(gemel__derived_loop *d) {
  int more = 1;
  while (more) {
    more = 0;
    memset(d->marks, 0, d->n_nodes);
    for (size_t k = 0; k < d->n_in; k++) {
      d->marks[gemel__derived_input_node(d, k)] = d->active[k];
    }
    mark_readers(d);
    for (size_t k = 0; k < d->old.states; k++) {
      int found = d->marks[gemel__derived_output_node(d, k)] && !d->active[k];
      d->active[k] |= (unsigned char)found;
      more |= found;
    }
  }
}

/* ---- Building ---- */

static gemel_value enter(gemel__derived_loop *d, char group, size_t *count, gemel_value outer,
                         gemel_value like) {
  char name[32];
  snprintf(name, sizeof name, "%c%zu", group, (*count)++);
  d->operands[d->n_operands++] = outer;
  return gemel__input_like(d->body, name, gemel_value_type(like), like);
}

gemel_value gemel__derived_enter_state(gemel__derived_loop *d, gemel_value initial,
                                       gemel_value like) {
  return enter(d, 's', &d->states, initial, like);
}

gemel_value gemel__derived_enter_rows(gemel__derived_loop *d, gemel_value rows, gemel_value like) {
  return enter(d, 'x', &d->sequences, rows, like);
}

gemel_value gemel__derived_enter_constant(gemel__derived_loop *d, gemel_value value,
                                          gemel_value like) {
  return enter(d, 'c', &d->constants, value, like);
}

static gemel_status new_arrays(gemel__derived_loop *d, gemel_error *error) {
  d->n_in = gemel_graph_input_count(d->old.body);
  d->n_out = gemel_graph_output_count(d->old.body);
  d->n_nodes = gemel_graph_node_count(d->old.body);
  d->room = 3 * (d->n_in + d->n_out) + 2;
  d->marks = gemel__alloc_array(d->n_nodes, 1);
  d->active = gemel__alloc_zeroed(2 * d->n_in + 1);
  d->live = d->active + d->n_in;
  d->block = gemel__alloc_array(7 * d->room, sizeof *d->block);
  d->body = gemel_graph_new(gemel_graph_context(d->call->graph), error);
  if (d->marks == NULL || d->active == NULL || d->block == NULL || d->body == NULL) {
    return gemel__no_memory(error, "the derivative of a loop");
  }
  d->inputs = d->block, d->outputs = d->inputs + d->room, d->operands = d->outputs + d->room;
  d->from = d->operands + d->room, d->along = d->from + d->room, d->at = d->along + d->room;
  d->result = d->at + d->room;
  return GEMEL_OK;
}

/* How many steps the old loop did: null if it took all rows. */
static gemel_value old_steps(const gemel__derived_loop *d) {
  if (d->old.until) {
    return d->call->outputs[gemel__scan_count(&d->old)];
  }
  return d->old.limited ? d->call->inputs[0] : gemel__no_value;
}

static void find_length(gemel__derived_loop *d) {
  int rank;
  if (d->old.sequences > 0) {
    d->length = gemel__value_dims(d->call->inputs[gemel__scan_sequence(&d->old, 0)], &rank)[0];
  } else if (d->old.rows) {
    gemel__derive_dims(d->call, &d->call->attrs[GEMEL__SCAN_LENGTH], &d->length);
  }
}

static gemel_value size_value(const gemel__derived_loop *d, gemel_dim size) {
  return gemel_size_at(d->call->graph, size, d->call->where);
}

/* The rows of the last steps, if the derivative is truncated to these: `truncate` of them, or as
 * many as there are. A loop that goes back ends with its first rows. */
static gemel_status find_window(gemel__derived_loop *d) {
  const gemel_attr *truncate = &d->call->attrs[GEMEL__SCAN_TRUNCATE];
  gemel_context *context = gemel_graph_context(d->call->graph);
  gemel_dim most;
  d->window = d->length;
  d->first = gemel__derived_number(d, 0);
  d->steps = old_steps(d);
  if (truncate->kind == GEMEL_ATTR_NONE) {
    return GEMEL_OK;
  }
  if (!d->old.rows) {
    return gemel__fail(d->call->error, GEMEL_NOT_DIFFERENTIABLE,
                       "a loop without rows keeps no states to truncate at: it needs a length");
  }
  gemel__derive_dims(d->call, truncate, &most);
  d->window = gemel_dim_min(context, most, d->length);
  d->truncated = !gemel_dim_equal(d->window, d->length);
  if (d->truncated && gemel_is_null(d->steps)) {
    d->first = d->old.reverse ? d->first : gemel_dim_sub(context, d->length, d->window);
  } else if (d->truncated) {
    gemel_value all = d->steps;
    d->steps = gemel_minimum_at(all, size_value(d, d->window), d->call->where);
    d->first =
        d->old.reverse ? d->first : gemel_dim_of(gemel_sub_at(all, d->steps, d->call->where));
  }
  return gemel_graph_error(d->call->graph)->status;
}

gemel_value gemel__derived_reaching(const gemel__derived_loop *d, gemel_value value) {
  gemel_value all = old_steps(d);
  gemel_location where = d->call->where;
  gemel_dim most;
  if (!d->truncated || gemel_is_null(value)) {
    return value;
  }
  all = gemel_is_null(all) ? size_value(d, d->length) : all;
  gemel__derive_dims(d->call, &d->call->attrs[GEMEL__SCAN_TRUNCATE], &most);
  gemel_value reached = gemel_le_at(all, size_value(d, most), where);
  return gemel_where_at(reached, value, gemel__filled_like(value, 0, where), where);
}

static gemel_status derived_init(gemel__derived_loop *d, gemel_derive *call) {
  memset(d, 0, sizeof *d);
  d->call = call;
  gemel__scan_read(call->attrs, &d->old);
  GEMEL__TRY(gemel__body_nesting(d->old.body, call->error));
  GEMEL__TRY(new_arrays(d, call->error));
  find_length(d);
  return find_window(d);
}

static void derived_clear(gemel__derived_loop *d) {
  gemel__free(d->marks, d->n_nodes);
  gemel__free(d->active, 2 * d->n_in + 1);
  gemel__free(d->block, 7 * d->room * sizeof *d->block);
  gemel__free(d->entered, d->n_entered * sizeof *d->entered);
  gemel_graph_unref(d->body);
}

gemel_status gemel__derive_scan(gemel_derive *call,
                                gemel_status (*mode)(gemel__derived_loop *derived)) {
  gemel__derived_loop d;
  gemel_status status = derived_init(&d, call);
  if (status == GEMEL_OK) {
    status = mode(&d);
  }
  status = gemel__body_status(d.body, status, call->error);
  derived_clear(&d);
  return status;
}

gemel_status gemel__derived_copy_body(gemel__derived_loop *d) {
  gemel_status status = gemel_graph_error(d->body)->status;
  return status != GEMEL_OK
             ? status
             : gemel__graph_inline(d->body, d->old.body, d->inputs, d->outputs, d->call->error);
}

gemel_value gemel__derived_apply_loop(gemel__derived_loop *d, int reverse) {
  gemel_scan_options options = {.states = (int64_t)d->states,
                                .sequences = (int64_t)d->sequences,
                                .reverse = reverse,
                                .limited = !gemel_is_null(d->steps),
                                .recompute = d->old.recompute};
  if (d->sequences == 0) {
    options.length = d->window;
  }
  d->operands[0] = d->steps;
  return gemel_scan_at(d->n_operands - !options.limited, d->operands + !options.limited, d->body,
                       &options, d->call->where);
}

/* ---- Rows ---- */

gemel_dim gemel__derived_first_plus(const gemel__derived_loop *d, int step) {
  return gemel_dim_add(gemel_graph_context(d->call->graph), d->first,
                       gemel__derived_number(d, step));
}

gemel_value gemel__derived_rows_before(gemel__derived_loop *d, gemel_value history) {
  return gemel__scan_rows(history, gemel__derived_first_plus(d, d->old.reverse), d->window,
                          d->call->where);
}

gemel_value gemel__derived_rows_after(gemel__derived_loop *d, gemel_value history) {
  return gemel__scan_rows(history, gemel__derived_first_plus(d, !d->old.reverse), d->window,
                          d->call->where);
}

gemel_value gemel__derived_window_of(gemel__derived_loop *d, gemel_value x) {
  return d->truncated ? gemel__scan_rows(x, d->first, d->window, d->call->where) : x;
}

gemel_value gemel__derived_put_rows(gemel__derived_loop *d, gemel_value into, gemel_value rows,
                                    gemel_dim first) {
  gemel_dim start[GEMEL_MAX_RANK];
  int rank;
  gemel__value_dims(into, &rank);
  for (int axis = 0; axis < rank; axis++) {
    start[axis] = axis == 0 ? first : gemel__derived_number(d, 0);
  }
  return gemel_set_subtensor_at(into, rows, (size_t)rank, start, NULL, d->call->where);
}

gemel_value gemel__derived_outside_window(gemel__derived_loop *d, gemel_value rows,
                                          gemel_value like) {
  return d->truncated ? gemel__derived_put_rows(d, gemel__filled_like(like, 0, d->call->where),
                                                rows, d->first)
                      : rows;
}

gemel_dim gemel__derived_initial_row(const gemel__derived_loop *d) {
  if (!d->old.reverse) {
    return gemel__derived_number(d, 0);
  }
  return d->old.limited ? gemel_dim_of(d->call->inputs[0]) : d->length;
}

gemel_value gemel__derived_row_of(gemel__derived_loop *d, gemel_value history, gemel_dim row) {
  int64_t order[GEMEL_MAX_RANK];
  int rank;
  if (gemel_is_null(history)) {
    return gemel__no_value;
  }
  gemel__value_dims(history, &rank);
  for (int axis = 1; axis < rank; axis++) {
    order[axis - 1] = axis;
  }
  return gemel_dimshuffle_at(
      gemel__scan_rows(history, row, gemel__derived_number(d, 1), d->call->where), (size_t)rank - 1,
      order, d->call->where);
}

void gemel__derived_enter_constants(gemel__derived_loop *d) {
  for (size_t k = gemel__derived_first_constant(d); k < d->n_in; k++) {
    d->inputs[k] = gemel__derived_enter_constant(
        d, d->call->inputs[gemel__scan_initial(&d->old, k)], gemel__derived_old_input(d, k));
  }
}
