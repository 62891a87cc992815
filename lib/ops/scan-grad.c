/* SPDX-License-Identifier: MIT
 *
 * Reverse mode of scan. The loop runs backwards over the same rows. A step of it has the states
 * that the step forward began with (rows of the histories), and computes what they, the row and the
 * constants give once more, then the derivative of that: with the cotangents of the states behind
 * the step as its own states, each plus the row of the cotangent of its history. Cotangents of
 * sequences are stacked; those of constants are sums, and so states too. What is expensive to
 * compute once more is then taken from the loop forward (scan-save.c).
 *
 *   g = ds + dhistory[after];   ds', dx[t], dc' = B's cotangents at g, dy[t], and + dc
 *   d initial = ds + dhistory[first]
 */
#include <string.h>
#include <gemel/grad.h>
#include <gemel/ops.h>
#include "ops/scan-derive.h"

/* 1 if a cotangent comes to result K of the old loop, or to the state or stack that it belongs to.
 */
static int has_cotangent(const gemel__derived_loop *d, size_t k) {
  return !gemel_is_null(d->call->d_outputs[k]);
}

static int output_is_seeded(const gemel__derived_loop *d, size_t k) {
  const gemel__scan *s = &d->old;
  return k < s->states ? d->live[k] : has_cotangent(d, gemel__scan_stack(s, k - s->states));
}

/* A state is live if a cotangent comes to it, or if a live state or a stack is made from it. */
static void find_live(gemel__derived_loop *d) {
  const gemel__scan *s = &d->old;
  int more = 1;
  for (size_t k = 0; k < s->states; k++) {
    d->live[k] = has_cotangent(d, k) || has_cotangent(d, gemel__scan_history(s, k));
  }
  while (more) {
    more = 0;
    memset(d->marks, 0, d->n_nodes);
    for (size_t k = 0; k < s->states + s->values; k++) {
      d->marks[gemel__derived_output_node(d, k)] |= (unsigned char)output_is_seeded(d, k);
    }
    gemel__derived_mark_operands(d);
    for (size_t k = 0; k < d->n_in; k++) {
      int found = d->marks[gemel__derived_input_node(d, k)] && !d->live[k];
      d->live[k] |= (unsigned char)found;
      more |= found && k < s->states;
    }
  }
}

/* 1 if state K has a cotangent on the way back. */
static int carries(const gemel__derived_loop *d, size_t k) {
  return d->active[k] && d->live[k] && gemel__body_is_float(gemel__derived_old_input(d, k));
}

/* 1 if what input K of the body has is asked for: of sequences and constants. */
static int wanted_input(const gemel__derived_loop *d, size_t k) {
  return d->call->wanted[gemel__scan_initial(&d->old, k)] && d->live[k];
}

/* The states of the way back: cotangents of states and of constants. Of each that the derivative is
 * taken at, FROM is its place, which INPUTS fills in later. */
static void enter_cotangents(gemel__derived_loop *d) {
  gemel_derive *call = d->call;
  for (size_t k = 0; k < d->old.states; k++) {
    if (carries(d, k)) {
      gemel_value initial = gemel__or_zeros(call->d_outputs[k], call->outputs[k], call->where);
      d->along[k] = gemel__derived_enter_state(d, initial, gemel__derived_old_input(d, k));
    }
  }
  for (size_t k = gemel__derived_first_constant(d); k < d->n_in; k++) {
    if (wanted_input(d, k)) {
      gemel_value like = call->inputs[gemel__scan_initial(&d->old, k)];
      d->at[k] = gemel__derived_enter_state(d, gemel__filled_like(like, 0, call->where),
                                            gemel__derived_old_input(d, k));
    }
  }
}

/* What a step forward had: the states before it, its rows and the constants. */
static void enter_forward(gemel__derived_loop *d) {
  const gemel__scan *s = &d->old;
  gemel_derive *call = d->call;
  for (size_t k = 0; k < s->states; k++) {
    gemel_value history = call->outputs[gemel__scan_history(s, k)];
    d->inputs[k] = gemel__derived_enter_rows(d, gemel__derived_rows_before(d, history),
                                             gemel__derived_old_input(d, k));
  }
  for (size_t k = s->states; k < gemel__derived_first_constant(d); k++) {
    gemel_value rows = gemel__derived_window_of(d, call->inputs[gemel__scan_initial(s, k)]);
    d->inputs[k] = gemel__derived_enter_rows(d, rows, gemel__derived_old_input(d, k));
  }
}

/* Adds the row of a cotangent that comes from outside to what output K gets. */
static void enter_seed(gemel__derived_loop *d, size_t k) {
  const gemel__scan *s = &d->old;
  gemel_derive *call = d->call;
  gemel_value rows =
      k < s->states
          ? gemel__derived_rows_after(d, call->d_outputs[gemel__scan_history(s, k)])
          : gemel__derived_window_of(d, call->d_outputs[gemel__scan_stack(s, k - s->states)]);
  if (!gemel_is_null(rows)) {
    gemel_value like =
        k < s->states ? gemel__derived_old_input(d, k) : gemel__derived_old_output(d, k);
    gemel_value row = gemel__derived_enter_rows(d, rows, like);
    d->along[k] = gemel__add_or(d->along[k], row, call->where);
  }
}

/* The cotangents that B's outputs get: those that are carried, and those of stacks. */
static void enter_seeds(gemel__derived_loop *d) {
  const gemel__scan *s = &d->old;
  for (size_t k = 0; k < s->states + s->values; k++) {
    if (k < s->states ? carries(d, k) : output_is_seeded(d, k)) {
      enter_seed(d, k);
    }
  }
}

/* Moves the seeds together; how many there are. */
static size_t gather_seeds(gemel__derived_loop *d) {
  size_t n = 0;
  for (size_t k = 0; k < d->old.states + d->old.values; k++) {
    if (!gemel_is_null(d->along[k])) {
      d->along[n] = gemel__unbroadcast(d->along[k], d->outputs[k], d->call->where);
      d->result[n++] = d->outputs[k]; /* what the seeds belong to */
    }
  }
  return n;
}

/* Cotangents of B: of carried states, wanted constants, wanted rows, in the order of outputs. */
static gemel_status differentiate_body(gemel__derived_loop *d) {
  size_t n_seeds = gather_seeds(d), n = 0;
  for (size_t k = 0; k < d->old.states; k++) {
    if (carries(d, k)) {
      d->from[n++] = d->inputs[k];
    }
  }
  for (size_t k = gemel__derived_first_constant(d); k < d->n_in; k++) {
    if (wanted_input(d, k)) {
      d->from[n++] = d->inputs[k];
    }
  }
  for (size_t k = d->old.states; k < gemel__derived_first_constant(d); k++) {
    if (wanted_input(d, k)) {
      d->from[n++] = d->inputs[k];
    }
  }
  d->n_from = n;
  gemel_status status =
      gemel_grad(n_seeds, d->result, d->along, n, d->from, d->result + n_seeds, d->call->error);
  memmove(d->result, d->result + n_seeds, n * sizeof *d->result);
  return status;
}

static gemel_status leave_cotangents(gemel__derived_loop *d) {
  size_t n = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < d->old.states && status == GEMEL_OK; k++) {
    if (carries(d, k)) {
      status = gemel__body_add_output(d->result[n], 'n', n), n++;
    }
  }
  for (size_t k = gemel__derived_first_constant(d); k < d->n_in && status == GEMEL_OK; k++) {
    if (wanted_input(d, k)) {
      gemel_value sum = gemel_add_at(d->at[k], d->result[n], d->call->where);
      status = gemel__body_add_output(sum, 'n', n), n++;
    }
  }
  for (size_t k = 0; n < d->n_from && status == GEMEL_OK; k++, n++) {
    status = gemel__body_add_output(d->result[n], 'y', k);
  }
  return status;
}

/* Hands the results of the way back out. */
static void take_cotangents(gemel__derived_loop *d, gemel_value loop) {
  const gemel__scan *s = &d->old;
  gemel_derive *call = d->call;
  uint32_t n = 0, stack = (uint32_t)(2 * d->states);
  for (size_t k = 0; k < s->states; k++) {
    if (carries(d, k)) {
      gemel_value row = gemel__derived_row_of(d, call->d_outputs[gemel__scan_history(s, k)],
                                              gemel__derived_initial_row(d));
      call->d_inputs[gemel__scan_initial(s, k)] =
          gemel__add_or(gemel__derived_reaching(d, gemel_value_output(loop, n)), row, call->where);
      n++;
    }
  }
  for (size_t k = gemel__derived_first_constant(d); k < d->n_in; k++) {
    if (wanted_input(d, k)) {
      call->d_inputs[gemel__scan_initial(s, k)] = gemel_value_output(loop, n++);
    }
  }
  for (size_t k = s->states; k < gemel__derived_first_constant(d); k++) {
    if (wanted_input(d, k)) {
      call->d_inputs[gemel__scan_initial(s, k)] = gemel__derived_outside_window(
          d, gemel_value_output(loop, stack++), call->inputs[gemel__scan_initial(s, k)]);
    }
  }
}

/* 1 if a cotangent comes to something that is asked for. */
static int is_wanted(const gemel__derived_loop *d) {
  int wanted = 0;
  for (size_t k = 0; k < d->n_in; k++) {
    wanted |= k < d->old.states ? carries(d, k) : wanted_input(d, k);
  }
  return wanted;
}

static gemel_status reverse_loop(gemel__derived_loop *d) {
  gemel_derive *call = d->call;
  if (!d->old.rows) {
    return gemel__fail(call->error, GEMEL_NOT_DIFFERENTIABLE,
                       "a loop without rows keeps no states: it needs a length");
  }
  for (size_t k = 0; k < d->n_in; k++) {
    d->active[k] = call->wanted[gemel__scan_initial(&d->old, k)];
  }
  gemel__derived_find_active(d);
  find_live(d);
  if (!is_wanted(d)) {
    return GEMEL_OK;
  }
  memset(d->block, 0, 7 * d->room * sizeof *d->block);
  d->n_operands = 1; /* the first place is for the steps */
  enter_cotangents(d);
  enter_forward(d);
  enter_seeds(d);
  gemel__derived_enter_constants(d);
  gemel_status status = gemel_graph_error(call->graph)->status;
  if (status == GEMEL_OK) {
    status = gemel__derived_copy_body(d);
  }
  if (status == GEMEL_OK) {
    status = differentiate_body(d);
  }
  if (status == GEMEL_OK) {
    status = leave_cotangents(d);
  }
  if (status == GEMEL_OK && !d->old.recompute) {
    status = gemel__derived_save(d);
  }
  if (status == GEMEL_OK) {
    int reverse = !d->old.reverse;
    gemel_value loop = gemel__derived_apply_loop(d, reverse);
    status = gemel_graph_error(call->graph)->status;
    if (status == GEMEL_OK) {
      take_cotangents(d, loop);
    }
  }
  return status;
}

gemel_status gemel__scan_grad(gemel_derive *call) {
  gemel_status status = gemel__derive_scan(call, reverse_loop);
  return status != GEMEL_OK ? status : gemel__grad_done(call);
}
