/* SPDX-License-Identifier: MIT
 *
 * Forward mode of scan: tangents are states, sequences and constants beside those that they belong
 * to, and the new loop takes the old one's steps once more.
 */
#include <string.h>
#include <gemel/grad.h>
#include <gemel/ops.h>
#include "core/error.h"
#include "ops/scan-derive.h"

static gemel_value tangent_of(const gemel__derived_loop *d, size_t k) {
  return d->call->d_inputs[gemel__scan_initial(&d->old, k)];
}

/* 1 if state K has a tangent. */
static int moves(const gemel__derived_loop *d, size_t k) {
  return d->active[k] && gemel__body_is_float(gemel__derived_old_input(d, k));
}

static void add_direction(gemel__derived_loop *d, size_t k, gemel_value tangent) {
  d->from[d->n_from] = d->inputs[k];
  d->along[d->n_from++] = tangent;
}

/* State K before the steps that are differentiated. */
static gemel_value state_at_window(gemel__derived_loop *d, size_t k) {
  gemel_dim row = d->first;
  if (!d->truncated) {
    return d->call->inputs[gemel__scan_initial(&d->old, k)];
  }
  if (d->old.reverse) {
    row = gemel_is_null(d->steps) ? d->window : gemel_dim_of(d->steps);
  }
  return gemel__derived_row_of(d, d->call->outputs[gemel__scan_history(&d->old, k)], row);
}

/* Operands of the new loop: each group of the old one's, then the tangents of that group. */
static void enter_tangents(gemel__derived_loop *d) {
  const gemel__scan *s = &d->old;
  gemel_derive *call = d->call;
  for (size_t k = 0; k < s->states; k++) {
    d->inputs[k] =
        gemel__derived_enter_state(d, state_at_window(d, k), gemel__derived_old_input(d, k));
  }
  for (size_t k = 0; k < s->states; k++) {
    if (moves(d, k)) {
      gemel_value initial = gemel__or_zeros(tangent_of(d, k), call->outputs[k], call->where);
      add_direction(d, k,
                    gemel__derived_enter_state(d, gemel__derived_reaching(d, initial),
                                               gemel__derived_old_input(d, k)));
    }
  }
  for (size_t k = s->states; k < gemel__derived_first_constant(d); k++) {
    gemel_value rows = gemel__derived_window_of(d, call->inputs[gemel__scan_initial(s, k)]);
    d->inputs[k] = gemel__derived_enter_rows(d, rows, gemel__derived_old_input(d, k));
  }
  for (size_t k = s->states; k < gemel__derived_first_constant(d); k++) {
    if (!gemel_is_null(tangent_of(d, k))) {
      add_direction(d, k,
                    gemel__derived_enter_rows(d, gemel__derived_window_of(d, tangent_of(d, k)),
                                              gemel__derived_old_input(d, k)));
    }
  }
  gemel__derived_enter_constants(d);
  for (size_t k = gemel__derived_first_constant(d); k < d->n_in; k++) {
    if (!gemel_is_null(tangent_of(d, k))) {
      add_direction(
          d, k, gemel__derived_enter_constant(d, tangent_of(d, k), gemel__derived_old_input(d, k)));
    }
  }
}

/* 1 if output K of the body has a tangent. */
static int output_moves(const gemel__derived_loop *d, size_t k) {
  return k < d->old.states ? moves(d, k)
                           : d->marks[gemel__derived_output_node(d, k)] &&
                                 gemel__body_is_float(gemel__derived_old_output(d, k));
}

static gemel_status leave_tangents(gemel__derived_loop *d) {
  gemel_status status = GEMEL_OK;
  size_t n = 0, next = 0, stacked = 0;
  for (size_t k = 0; k < d->old.states + d->old.values; k++) {
    if (output_moves(d, k)) {
      d->at[n++] = d->outputs[k];
    }
  }
  status = gemel_jvp(n, d->at, d->n_from, d->from, d->along, d->result, d->call->error);
  for (size_t k = 0; k < d->old.states && status == GEMEL_OK; k++) {
    status = gemel__body_add_output(d->outputs[k], 'n', next++);
  }
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    int state = next < d->states;
    status = state ? gemel__body_add_output(d->result[k], 'n', next)
                   : gemel__body_add_output(d->result[k], 'y', stacked++);
    next += (size_t)state;
  }
  return status;
}

/* The tangent of the history of state K, of which the new loop has ROWS: the initial value's is the
 * first one, and rows of steps that aren't differentiated have none. */
static gemel_value history_tangent(gemel__derived_loop *d, size_t k, gemel_value rows) {
  gemel_value history = d->call->outputs[gemel__scan_history(&d->old, k)];
  gemel_location where = d->call->where;
  int after = !d->old.reverse;
  if (!d->truncated) {
    return rows;
  }
  rows = gemel__scan_rows(rows, gemel__derived_number(d, after), d->window, where);
  gemel_value all = gemel__derived_put_rows(d, gemel__filled_like(history, 0, where), rows,
                                            gemel__derived_first_plus(d, after));
  gemel_value initial = gemel__or_zeros(tangent_of(d, k), d->call->outputs[k], where);
  return gemel__derived_put_rows(d, all, gemel__scan_as_row(initial, where),
                                 gemel__derived_initial_row(d));
}

/* Hands the tangents of results out. */
static void take_tangents(gemel__derived_loop *d, gemel_value loop) {
  const gemel__scan *s = &d->old;
  gemel_derive *call = d->call;
  uint32_t last = (uint32_t)s->states;
  uint32_t stack = (uint32_t)(s->rows ? 2 * d->states : d->states);
  for (size_t k = 0; k < s->states; k++) {
    if (moves(d, k)) {
      call->d_outputs[k] = gemel_value_output(loop, last);
      if (s->rows) {
        call->d_outputs[gemel__scan_history(s, k)] =
            history_tangent(d, k, gemel_value_output(loop, (uint32_t)d->states + last));
      }
      last++;
    }
  }
  for (size_t k = 0; k < s->values; k++) {
    if (output_moves(d, s->states + k)) {
      size_t which = gemel__scan_stack(s, k);
      call->d_outputs[which] =
          gemel__derived_outside_window(d, gemel_value_output(loop, stack++), call->outputs[which]);
    }
  }
}

/* 1 if a result has a tangent. */
static int any_moves(const gemel__derived_loop *d) {
  int any = 0;
  for (size_t k = 0; k < d->old.states + d->old.values; k++) {
    any |= output_moves(d, k);
  }
  return any;
}

static gemel_status forward_loop(gemel__derived_loop *d) {
  for (size_t k = 0; k < d->n_in; k++) {
    d->active[k] = !gemel_is_null(tangent_of(d, k));
  }
  gemel__derived_find_active(d);
  if (!any_moves(d)) {
    return GEMEL_OK;
  }
  memset(d->block, 0, 7 * d->room * sizeof *d->block);
  d->n_operands = 1;
  enter_tangents(d);
  GEMEL__TRY(gemel_graph_error(d->call->graph)->status);
  GEMEL__TRY(gemel__derived_copy_body(d));
  GEMEL__TRY(leave_tangents(d));
  gemel_value loop = gemel__derived_apply_loop(d, d->old.reverse);
  GEMEL__TRY(gemel_graph_error(d->call->graph)->status);
  take_tangents(d, loop);
  return GEMEL_OK;
}

gemel_status gemel__scan_jvp(gemel_derive *call) {
  gemel_status status = gemel__derive_scan(call, forward_loop);
  return status != GEMEL_OK ? status : gemel__jvp_done(call);
}
