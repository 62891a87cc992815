/* SPDX-License-Identifier: MIT
 *
 * Short loops become their steps: what a step makes is an operand of the next, rules see through
 * all of it, and a loop of no step is its initial values. Histories and stacks that are read are
 * joined of the rows.
 */
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "ops/rule.h"
#include "passes/loop.h"
#include "passes/passes.h"

/* So many steps at most, and so many nodes in all of them. */
enum { MOST_STEPS = 4, MOST_NODES = 256 };

typedef struct unroll {
  gemel_edit *edit;
  gemel_error *error;
  gemel__scan_node loop;
  size_t n_in, n_out; /* of the body */
  int64_t steps;
  gemel_value *states;  /* by step, then by state, from the initial values on */
  gemel_value *stacked; /* by step, then by value */
  gemel_value *in, *out;
  gemel_value *results; /* of the loop; null: it isn't read */
} unroll;

/* ---- Steps ---- */

static gemel_location where_of(const unroll *u) {
  return gemel__node_where(u->loop.graph, u->loop.node);
}

static gemel_value *state_at(const unroll *u, int64_t step, size_t k) {
  return &u->states[(size_t)step * u->loop.scan.states + k];
}

/* The row to which step I belongs. */
static int64_t row_of(const unroll *u, int64_t i) {
  return u->loop.scan.reverse ? u->steps - 1 - i : i;
}

/* Row T of X, without the axis of rows. */
static gemel_value take_row(const unroll *u, gemel_value x, int64_t t) {
  gemel_context *context = u->loop.graph->context;
  int64_t order[GEMEL_MAX_RANK];
  int rank;
  gemel__value_dims(x, &rank);
  for (int axis = 1; axis < rank; axis++) {
    order[axis - 1] = axis;
  }
  x = gemel__scan_rows(x, gemel_dim_constant(context, t), gemel_dim_constant(context, 1),
                       where_of(u));
  return gemel_is_null(x) ? x : gemel_dimshuffle_at(x, (size_t)rank - 1, order, where_of(u));
}

/* Step I. GEMEL_DECLINED: a state's size is known to stay only when the loop runs. */
static gemel_status take_step(unroll *u, int64_t i) {
  const gemel__scan *s = &u->loop.scan;
  for (size_t k = 0; k < u->n_in; k++) {
    gemel_value operand = gemel__edit_value(u->edit, u->loop.operands[k]);
    int kind = gemel__scan_node_kind(&u->loop, k);
    u->in[k] = kind == GEMEL__STATE_INPUT ? *state_at(u, i, k)
               : kind == GEMEL__ROW_INPUT ? take_row(u, operand, row_of(u, i))
                                          : operand;
    if (gemel_is_null(u->in[k])) {
      return GEMEL_NO_MEMORY;
    }
  }
  GEMEL__TRY(gemel__graph_inline(gemel__edit_target(u->edit), s->body, u->in, u->out, u->error));
  for (size_t k = 0; k < s->states + s->values; k++) {
    gemel_value *at =
        k < s->states ? state_at(u, i + 1, k) : &u->stacked[(size_t)i * s->values + k - s->states];
    *at = u->out[k];
    if (k < s->states &&
        !gemel_type_equal(gemel_value_type(*at), gemel_value_type(*state_at(u, i, k)))) {
      return GEMEL_DECLINED;
    }
  }
  return GEMEL_OK;
}

/* ---- Results ---- */

/* N rows joined. */
static gemel_value join_rows(const unroll *u, size_t n, gemel_value *rows) {
  gemel_join_options options = {.axis = 0};
  for (size_t k = 0; k < n; k++) {
    rows[k] = gemel__scan_as_row(rows[k], where_of(u));
  }
  return n == 1 ? rows[0] : gemel_join_at(n, rows, &options, where_of(u));
}

static gemel_value history_of(const unroll *u, size_t k) {
  gemel_value rows[MOST_STEPS + 1];
  int reverse = u->loop.scan.reverse;
  rows[reverse ? u->steps : 0] = *state_at(u, 0, k);
  for (int64_t i = 0; i < u->steps; i++) {
    rows[row_of(u, i) + !reverse] = *state_at(u, i + 1, k);
  }
  return join_rows(u, (size_t)u->steps + 1, rows);
}

/* A stack without rows. */
static gemel_value no_rows(const unroll *u, size_t result) {
  gemel_type type = gemel__scan_node_type(&u->loop, result);
  gemel_context *context = u->loop.graph->context;
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(context, type);
  gemel_value zero =
      gemel_scalar_at(gemel__edit_target(u->edit), gemel_type_dtype(context, type), 0, where_of(u));
  for (int axis = 0; axis < rank; axis++) {
    dims[axis] = gemel__edit_size(u->edit, gemel_type_dims(context, type)[axis]);
  }
  return gemel_broadcast_to_at(zero, (size_t)rank, dims, where_of(u));
}

static gemel_value stack_of(const unroll *u, size_t k) {
  gemel_value rows[MOST_STEPS];
  for (int64_t i = 0; i < u->steps; i++) {
    rows[row_of(u, i)] = u->stacked[(size_t)i * u->loop.scan.values + k];
  }
  return u->steps == 0 ? no_rows(u, gemel__scan_stack(&u->loop.scan, k))
                       : join_rows(u, (size_t)u->steps, rows);
}

static gemel_value result_of(const unroll *u, size_t k) {
  const gemel__scan *s = &u->loop.scan;
  return k < s->states                 ? *state_at(u, u->steps, k)
         : k < gemel__scan_stack(s, 0) ? history_of(u, k - s->states)
         : k < gemel__scan_count(s)    ? stack_of(u, k - gemel__scan_stack(s, 0))
                                       : gemel_scalar_at(gemel__edit_target(u->edit), GEMEL_I64,
                                                         (double)u->steps, where_of(u));
}

/* What the results that are read become; GEMEL_DECLINED: one has another type. */
static gemel_status find_results(unroll *u, const uint32_t *uses) {
  for (size_t k = 0; k < gemel__scan_results(&u->loop.scan); k++) {
    gemel__ref old = gemel__scan_node_result(&u->loop, k);
    u->results[k] = (gemel_value){NULL, 0, 0};
    if (uses[gemel__value_number(u->loop.graph, old)] > 0) {
      u->results[k] = result_of(u, k);
      if (gemel_is_null(u->results[k])) {
        return GEMEL_NO_MEMORY;
      }
      if (!gemel__edit_fits(u->edit, old, u->results[k])) {
        return GEMEL_DECLINED;
      }
    }
  }
  return GEMEL_OK;
}

/* Each result rests on all operands. */
static gemel_status replace(unroll *u) {
  for (size_t k = 0; k < gemel__scan_results(&u->loop.scan); k++) {
    if (!gemel_is_null(u->results[k])) {
      gemel__edit_anew(u->edit);
      for (size_t j = 0; j < u->n_in; j++) {
        gemel__edit_value(u->edit, u->loop.operands[j]);
      }
      GEMEL__TRY(gemel__edit_replace(u->edit, gemel__scan_node_result(&u->loop, k), u->results[k]));
    }
  }
  return GEMEL_OK;
}

/* ---- The pass ---- */

/* 1 if the loop is short: it takes all its steps, and derivatives see all of them. */
static int is_short(unroll *u) {
  const gemel__scan_node *loop = &u->loop;
  return loop->scan.rows && !loop->scan.limited && gemel_dim_is_none(loop->truncate) &&
         gemel_dim_is_constant(loop->graph->context, loop->length, &u->steps) &&
         u->steps <= (loop->scan.until ? 1 : MOST_STEPS) &&
         (u->steps <= 1 || (size_t)u->steps * loop->scan.body->n_nodes <= MOST_NODES);
}

static gemel_status run_steps(unroll *u, const uint32_t *uses) {
  GEMEL__TRY(gemel__edit_target(u->edit) != NULL ? GEMEL_OK : GEMEL_NO_MEMORY);
  for (size_t k = 0; k < u->loop.scan.states; k++) {
    *state_at(u, 0, k) = gemel__edit_value(u->edit, u->loop.operands[k]);
    GEMEL__TRY(gemel_is_null(*state_at(u, 0, k)) ? GEMEL_NO_MEMORY : GEMEL_OK);
  }
  for (int64_t i = 0; i < u->steps; i++) {
    GEMEL__TRY(take_step(u, i));
  }
  GEMEL__TRY(find_results(u, uses));
  return replace(u);
}

static gemel_status unroll_node(gemel_edit *edit, uint32_t node, const uint32_t *uses,
                                gemel_error *error) {
  unroll u = {.edit = edit, .error = error};
  if (gemel__scan_node_read(gemel_edit_graph(edit), node, &u.loop) != GEMEL_OK || !is_short(&u)) {
    return GEMEL_OK;
  }
  const gemel__scan *s = &u.loop.scan;
  u.n_in = gemel_graph_input_count(s->body);
  u.n_out = gemel_graph_output_count(s->body);
  size_t states = (size_t)(u.steps + 1) * s->states, stacked = (size_t)u.steps * s->values;
  size_t n = states + stacked + u.n_in + u.n_out + gemel__scan_results(s);
  u.states = gemel__alloc_array(n, sizeof *u.states);
  if (u.states == NULL) {
    return gemel__no_memory(error, "a loop");
  }
  u.stacked = u.states + states;
  u.in = u.stacked + stacked;
  u.out = u.in + u.n_in;
  u.results = u.out + u.n_out;
  gemel_status status = run_steps(&u, uses);
  gemel__free(u.states, n * sizeof *u.states);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

gemel_status gemel__pass_scan_unroll(gemel_edit *edit, const void *data, gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  const uint32_t *uses = NULL;
  (void)data;
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    if (graph->nodes[k].op != GEMEL__OP_scan) {
      continue;
    }
    if (uses == NULL && (uses = gemel__edit_uses(edit)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
    GEMEL__TRY(uses[k] > 0 ? unroll_node(edit, k, uses, error) : GEMEL_OK);
  }
  return GEMEL_OK;
}
