/* SPDX-License-Identifier: MIT
 *
 * What leaves a loop for behind it. A product that the loop needs for nothing else than a sum over
 * the steps (scan_pull_sums) or a stack (scan_pull_rows) is one large product behind the loop,
 * which is faster than many narrow ones. What stands in it is a row or a constant of the loop, a
 * state before or behind the step, whose rows are in its history, or any other value, which the
 * loop then stacks: `dot(h, da)` needs the rows of da. New stacks take memory: never more than the
 * rows that the loop has already.
 *
 * A loop that may leave steps out, by `limited` or `until`, stays as it is: a product of all rows
 * would cost more than the steps that it takes, however few these are. So does a truncated loop,
 * whose derivatives don't reach the first steps as those of a product would.
 */
#include "passes/scan-pull.h"

#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/value.h"
#include "ops/rule.h"
#include "passes/passes.h"

enum { MOST_VIEWS = 8 }; /* above what has rows */

/* ---- Where rows are ---- */

gemel__row_source gemel__pull_source(const gemel__pull *p, gemel__ref ref, size_t *k) {
  const gemel__scan *s = &p->old.scan;
  uint32_t input = p->input_of[ref.node];
  for (*k = 0; *k < s->values; ++*k) {
    if (gemel__pull_is_same(p->body->outputs[s->states + *k], ref)) {
      return GEMEL__ROWS_STACK;
    }
  }
  for (*k = 0; *k < p->n_stacks; ++*k) {
    if (gemel__pull_is_same(p->stacks[*k], ref)) {
      *k += s->values;
      return GEMEL__ROWS_STACK;
    }
  }
  if (input > 0 && input <= s->states + s->sequences) {
    *k = input <= s->states ? input - 1 : input - 1 - s->states;
    return input <= s->states ? GEMEL__ROWS_BEFORE : GEMEL__ROWS_SEQUENCE;
  }
  for (*k = 0; *k < s->states; ++*k) {
    if (!p->pulled[*k] && gemel__pull_is_same(p->body->outputs[*k], ref)) {
      return GEMEL__ROWS_BEHIND;
    }
  }
  return GEMEL__ROWS_NOWHERE;
}

/* Bytes of a value of TYPE, symbols being guessed. */
static double bytes_of(const gemel__pull *p, gemel_type type) {
  return (double)gemel_dtype_size(gemel_type_dtype(p->context, type)) *
         gemel__guess_elements(p->context, type);
}

/* Bytes of the rows that the loop has: sequences, stacks, and the histories that are read. */
static double bytes_of_rows(const gemel__pull *p) {
  const gemel__scan *s = &p->old.scan;
  double bytes = 0;
  for (size_t k = s->states; k < s->states + s->sequences; k++) {
    bytes += bytes_of(p, gemel__body_input(p->body, k));
  }
  for (size_t k = 0; k < s->states + s->values; k++) {
    if (k >= s->states || gemel__pull_is_read(p, gemel__scan_history(s, k))) {
      bytes += bytes_of(p, gemel__body_output(p->body, k));
    }
  }
  return bytes;
}

/* Has REF stacked: 1. 0: its size is known only in the body, it has too many axes, or that is too
 * much memory. */
static int add_stack(gemel__pull *p, gemel__ref ref) {
  gemel_type type = gemel__pull_type(p, ref);
  if (gemel__type_at(p->context, type)->has_runtime || gemel__pull_rank(p, ref) == GEMEL_MAX_RANK ||
      p->added + bytes_of(p, type) > p->rows) {
    return 0;
  }
  if (gemel__grow(&p->stacks, &p->stack_room, p->n_stacks + 1, sizeof *p->stacks) != 0) {
    gemel__no_memory(p->error, "a loop");
    return 0;
  }
  p->added += bytes_of(p, type);
  p->stacks[p->n_stacks++] = ref;
  return 1;
}

/* 1 if the history of state K may be read: it is, or there is memory for it. */
static int keep_history(gemel__pull *p, size_t k) {
  double bytes = bytes_of(p, gemel__body_input(p->body, k));
  int is_kept = p->kept[k] > 0 && p->kept[k] <= p->n_kept;
  if (gemel__pull_is_read(p, gemel__scan_history(&p->old.scan, k)) || is_kept) {
    return 1;
  }
  if (p->added + bytes > p->rows) {
    return 0;
  }
  p->added += bytes;
  p->kept[k] = ++p->n_kept;
  return 1;
}

int gemel__pull_need_rows(gemel__pull *p, gemel__ref ref) {
  size_t k;
  gemel__row_source source = gemel__pull_source(p, ref, &k);
  for (int views = 0; views < MOST_VIEWS && source == GEMEL__ROWS_NOWHERE; views++) {
    if (gemel__pull_op(p, ref) != GEMEL__OP_dimshuffle) {
      return add_stack(p, ref);
    }
    ref = gemel__pull_operand(p, ref, 0);
    source = gemel__pull_source(p, ref, &k);
  }
  return source == GEMEL__ROWS_BEFORE || source == GEMEL__ROWS_BEHIND
             ? keep_history(p, k)
             : source != GEMEL__ROWS_NOWHERE;
}

/* ---- The loop that is left ---- */

/* How many of the old loop's states, then stacks, from FIRST to K, are in the new one. */
static size_t left_before(const gemel__pull *p, size_t first, size_t k) {
  size_t before = 0;
  for (size_t i = first; i < k; i++) {
    before += !p->pulled[i];
  }
  return before;
}

static gemel_status enter(gemel__pull *p, gemel_value *inputs) {
  for (size_t k = 0; k < p->n_inputs; k++) {
    gemel_value old = gemel_graph_input((gemel_graph *)p->body, k);
    if (k < p->old.scan.states && p->pulled[k]) {
      inputs[k] = gemel__no_value;
      continue;
    }
    gemel_type type = gemel__scan_inner_type(p->context, &p->symbols, gemel_value_type(old));
    inputs[k] =
        gemel__new_scan_enter(&p->scan, gemel__scan_node_kind(&p->old, k), type, gemel_assumed(old),
                              gemel__node_where(p->body, p->body->inputs[k].node));
  }
  return p->scan.body->error.status;
}

/* The outputs of the new body, as values of the old one; how many of each kind. */
static size_t list_outputs(const gemel__pull *p, gemel__ref *refs, size_t *states, size_t *values) {
  const gemel__scan *s = &p->old.scan;
  size_t n = 0;
  for (size_t k = 0; k < s->states + s->values; k++) {
    if (!p->pulled[k]) {
      refs[n++] = p->body->outputs[k];
    }
  }
  *states = left_before(p, 0, s->states);
  for (size_t k = 0; k < p->n_stacks; k++) {
    refs[n++] = p->stacks[k];
  }
  *values = n - *states;
  return n;
}

static gemel_status leave(gemel__pull *p, const gemel_value *inputs, gemel__ref *refs,
                          gemel_value *made) {
  size_t states, values, n = list_outputs(p, refs, &states, &values);
  gemel_status status =
      gemel__new_scan_copy(&p->scan, &p->old, &p->symbols, inputs, n, refs, made, p->error);
  for (size_t k = 0; k < states + values && status == GEMEL_OK; k++) {
    status = k < states ? gemel__body_add_output(made[k], 'n', k)
                        : gemel__body_add_output(made[k], 'y', k - states);
  }
  return status;
}

/* Makes the body of the loop that is left. */
static gemel_status make_body(gemel__pull *p) {
  size_t room = gemel__scan_body_outputs(&p->old.scan) + p->n_stacks + 1;
  gemel_value *inputs = gemel__alloc_array(p->n_inputs + 1, sizeof *inputs);
  gemel_value *made = gemel__alloc_array(room, sizeof *made);
  gemel__ref *refs = gemel__alloc_array(room, sizeof *refs);
  gemel_status status = inputs != NULL && made != NULL && refs != NULL
                            ? gemel__new_scan_begin(&p->scan, p->context, p->error)
                            : gemel__no_memory(p->error, "a loop");
  if (status == GEMEL_OK) {
    status = gemel__new_scan_bind(&p->scan, &p->old, &p->symbols, p->error);
  }
  status = status == GEMEL_OK ? enter(p, inputs) : status;
  status = status == GEMEL_OK ? leave(p, inputs, refs, made) : status;
  gemel__free(inputs, (p->n_inputs + 1) * sizeof *inputs);
  gemel__free(made, room * sizeof *made);
  gemel__free(refs, room * sizeof *refs);
  return gemel__body_status(p->scan.body, status, p->error);
}

/* Asks for what the new loop is made of: OPERANDS; how many. */
static size_t ask(gemel__pull *p, gemel_value *operands) {
  size_t n = 0;
  for (size_t k = 0; k < p->n_inputs; k++) {
    if (k >= p->old.scan.states || !p->pulled[k]) {
      operands[n++] = gemel__edit_value(p->edit, p->old.operands[k]);
    }
  }
  gemel__edit_size(p->edit, p->old.length);
  return n;
}

/* ---- Outside ---- */

/* What state K, which stays, has for its last value or its history in the new loop. */
static gemel_value state_result(const gemel__pull *p, size_t k, int history) {
  size_t left = p->old.scan.states - p->n_pulled[0];
  return gemel_value_output(p->loop, (uint32_t)((size_t)history * left + left_before(p, 0, k)));
}

/* Stack K, which stays, in the new loop: the old ones, then the new ones. */
static gemel_value stack_result(const gemel__pull *p, size_t k) {
  const gemel__scan *s = &p->old.scan;
  size_t old = k < s->values ? k : s->values;
  size_t at = left_before(p, s->states, s->states + old) + (k - old);
  return gemel_value_output(p->loop, (uint32_t)(2 * (s->states - p->n_pulled[0]) + at));
}

/* The rows of REF, from where they are. */
static gemel_value rows_at(const gemel__pull *p, gemel__row_source source, size_t k,
                           gemel__ref ref) {
  const gemel__scan *s = &p->old.scan;
  if (source == GEMEL__ROWS_SEQUENCE) {
    return gemel__edit_value(p->edit, p->old.operands[s->states + k]);
  }
  if (source == GEMEL__ROWS_STACK) {
    return stack_result(p, k);
  }
  int backwards = s->reverse;
  return gemel__scan_rows(
      state_result(p, k, 1),
      gemel_dim_constant(p->context, backwards != (source == GEMEL__ROWS_BEHIND)),
      gemel__edit_size(p->edit, p->old.length), gemel__pull_where(p, ref));
}

/* VALUE, whose first axis are the steps, through the dimshuffle REF of the body. */
static gemel_value shuffled(const gemel__pull *p, gemel_value value, gemel__ref ref) {
  const gemel_attr *order = &gemel__pull_attrs(p, ref)[0];
  int64_t axes[GEMEL_MAX_RANK] = {0};
  for (size_t k = 0; k < order->count; k++) {
    axes[k + 1] = order->u.ints[k] < 0 ? -1 : order->u.ints[k] + 1;
  }
  return gemel_dimshuffle_at(value, order->count + 1, axes, gemel__pull_where(p, ref));
}

gemel_value gemel__pull_rows_of(const gemel__pull *p, gemel__ref ref) {
  gemel__ref views[MOST_VIEWS];
  size_t n = 0, k;
  gemel__row_source source;
  while ((source = gemel__pull_source(p, ref, &k)) == GEMEL__ROWS_NOWHERE && n < MOST_VIEWS) {
    views[n++] = ref;
    ref = gemel__pull_operand(p, ref, 0);
  }
  gemel_value rows = rows_at(p, source, k, ref);
  while (n > 0 && !gemel_is_null(rows)) {
    rows = shuffled(p, rows, views[--n]);
  }
  return rows;
}

/* What old result K becomes. */
static gemel_value result_of(const gemel__pull *p, size_t k) {
  const gemel__scan *s = &p->old.scan;
  size_t stacks = gemel__scan_stack(s, 0);
  if (k < stacks) {
    size_t state = k < s->states ? k : k - s->states;
    return p->pulled[state] ? gemel__pull_last_of(p, state)
                            : state_result(p, state, k >= s->states);
  }
  k -= stacks;
  return p->pulled[s->states + k] ? p->behind[k] : stack_result(p, k);
}

/* ---- All of it ---- */

/* 1 if an input that stays has an axis of size DIM. */
static int is_told(const gemel__pull *p, gemel_dim dim) {
  for (size_t k = 0; k < gemel_graph_input_count(p->scan.body); k++) {
    gemel_type type = gemel__body_input(p->scan.body, k);
    for (int axis = 0; axis < gemel_type_rank(p->context, type); axis++) {
      if (gemel_dim_equal(gemel_type_dims(p->context, type)[axis], dim)) {
        return 1;
      }
    }
  }
  return 0;
}

/* 1 if the inputs that stay tell the sizes that those which go have told. */
static int sizes_are_told(const gemel__pull *p) {
  gemel__atom atom;
  int told = 1;
  for (size_t k = 0; k < p->old.scan.states; k++) {
    gemel_type type = gemel__body_input(p->body, k);
    for (int axis = 0; p->pulled[k] && axis < gemel_type_rank(p->context, type); axis++) {
      gemel_dim dim =
          gemel__scan_inner_dim(p->context, &p->symbols, gemel_type_dims(p->context, type)[axis]);
      told &= !gemel__dim_is_atom(p->context, dim, &atom) || is_told(p, dim);
    }
  }
  return told;
}

/* 1 if the new loop computes anything. */
static int is_anything_left(const gemel__pull *p) {
  const gemel__scan *s = &p->old.scan;
  return s->states + s->values > p->n_pulled[0] + p->n_pulled[1] || p->n_stacks > 0;
}

/* 1 if what becomes of the results that are read has their types. */
static int results_fit(gemel__pull *p) {
  int fit = 1;
  for (size_t k = 0; k < gemel__scan_results(&p->old.scan) && fit; k++) {
    if (gemel__pull_is_read(p, k)) {
      gemel_value by = result_of(p, k);
      fit =
          !gemel_is_null(by) && gemel__edit_fits(p->edit, gemel__scan_node_result(&p->old, k), by);
    }
  }
  return fit;
}

static gemel_status replace_results(gemel__pull *p, gemel_value *operands) {
  for (size_t k = 0; k < gemel__scan_results(&p->old.scan); k++) {
    if (gemel__pull_is_read(p, k)) {
      ask(p, operands);
      GEMEL__TRY(
          gemel__edit_replace(p->edit, gemel__scan_node_result(&p->old, k), result_of(p, k)));
    }
  }
  return GEMEL_OK;
}

/* Makes the loop that is left, and replaces what is read of the old one. */
static gemel_status replace_loop(gemel__pull *p, const gemel__pull_rows *rows) {
  gemel_value *operands = gemel__alloc_array(p->n_inputs + 1, sizeof *operands);
  if (operands == NULL) {
    return gemel__no_memory(p->error, "a loop");
  }
  size_t n = ask(p, operands);
  gemel_status status = gemel__edit_target(p->edit) != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
  if (status == GEMEL_OK && is_anything_left(p)) {
    status = n > 0 && sizes_are_told(p) ? GEMEL_OK : GEMEL_DECLINED;
    p->loop = status == GEMEL_OK ? gemel__new_scan_apply(&p->scan, p->edit, &p->old, n, operands)
                                 : gemel__no_value;
  }
  if (status == GEMEL_OK && p->n_pulled[1] > 0) {
    status = gemel__pull_compute_rows(p, rows);
  }
  if (status == GEMEL_OK) {
    status = results_fit(p) ? replace_results(p, operands) : GEMEL_DECLINED;
  }
  gemel__free(operands, (p->n_inputs + 1) * sizeof *operands);
  return status;
}

static gemel_status prepare(gemel__pull *p) {
  size_t n = p->body->n_nodes;
  p->input_of = gemel__alloc_zeroed(n * sizeof *p->input_of);
  p->user_of = gemel__alloc_zeroed(n * sizeof *p->user_of);
  p->pulled = gemel__alloc_zeroed(p->old.scan.states + p->old.scan.values);
  p->kept = gemel__alloc_zeroed((p->old.scan.states + 1) * sizeof *p->kept);
  p->behind = gemel__alloc_array(p->old.scan.values + 1, sizeof *p->behind);
  gemel_status status = gemel__uses_find(&p->inside, p->body, p->error);
  if (p->input_of == NULL || p->user_of == NULL || p->pulled == NULL || p->behind == NULL ||
      p->kept == NULL || status != GEMEL_OK) {
    return gemel__no_memory(p->error, "a loop");
  }
  for (size_t k = 0; k < p->n_inputs; k++) {
    p->input_of[p->body->inputs[k].node] = (uint32_t)k + 1;
  }
  for (uint32_t node = 0; node < n; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(p->body, node, &count);
    for (uint32_t k = 0; p->inside.of[node] > 0 && k < count; k++) {
      p->user_of[in[k].node] = node;
    }
  }
  p->rows = bytes_of_rows(p);
  return GEMEL_OK;
}

static void clear(gemel__pull *p) {
  size_t n = p->body->n_nodes;
  gemel__uses_clear(&p->inside);
  gemel__free(p->input_of, n * sizeof *p->input_of);
  gemel__free(p->user_of, n * sizeof *p->user_of);
  gemel__free(p->pulled, p->old.scan.states + p->old.scan.values);
  gemel__free(p->kept, (p->old.scan.states + 1) * sizeof *p->kept);
  gemel__free(p->behind, (p->old.scan.values + 1) * sizeof *p->behind);
  gemel__free(p->stacks, p->stack_room * sizeof *p->stacks);
  gemel__scan_symbols_clear(&p->symbols);
  gemel__new_scan_clear(&p->scan);
}

/* Finds what leaves the loop, and makes the body of what is left. GEMEL_DECLINED: nothing does. */
static gemel_status plan(gemel__pull *p, int sums, gemel__pull_rows *rows) {
  gemel_status status = prepare(p);
  if (status == GEMEL_OK && sums) {
    gemel__pull_plan_sums(p);
  } else if (status == GEMEL_OK) {
    status = gemel__pull_plan_rows(p, rows);
  }
  if (status == GEMEL_OK && p->n_pulled[0] + p->n_pulled[1] == 0) {
    return GEMEL_DECLINED;
  }
  return status == GEMEL_OK ? make_body(p) : status;
}

/* Pulls sums, or stacks, out of the loop NODE. */
static gemel_status pull(gemel_edit *edit, uint32_t node, int sums, const uint32_t *uses,
                         gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  gemel__pull p = {.edit = edit, .error = error, .context = graph->context, .uses = uses};
  gemel__pull_rows rows = {.marks = NULL};
  if (gemel__scan_node_read(graph, node, &p.old) != GEMEL_OK || !p.old.scan.rows ||
      p.old.scan.limited || p.old.scan.until || !gemel_dim_is_none(p.old.truncate)) {
    return GEMEL_OK;
  }
  p.body = p.old.scan.body;
  p.n_inputs = gemel_graph_input_count(p.body);
  gemel_status status = plan(&p, sums, &rows);
  status = status == GEMEL_OK ? replace_loop(&p, &rows) : status;
  gemel__pull_rows_clear(&p, &rows);
  clear(&p);
  return status == GEMEL_DECLINED ? GEMEL_OK : status;
}

static gemel_status pull_all(gemel_edit *edit, int sums, gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  const uint32_t *uses = NULL;
  unsigned failures = gemel__dim_memory_failures(graph->context);
  for (uint32_t k = 0; k < graph->n_nodes; k++) {
    if (graph->nodes[k].op != GEMEL__OP_scan) {
      continue;
    }
    if (uses == NULL && (uses = gemel__edit_uses(edit)) == NULL) {
      return GEMEL_NO_MEMORY;
    }
    GEMEL__TRY(uses[k] > 0 ? pull(edit, k, sums, uses, error) : GEMEL_OK);
  }
  return gemel__scan_sizes_status(graph->context, failures, error);
}

gemel_status gemel__pass_scan_pull_sums(gemel_edit *edit, const void *data, gemel_error *error) {
  (void)data;
  return pull_all(edit, 1, error);
}

gemel_status gemel__pass_scan_pull_rows(gemel_edit *edit, const void *data, gemel_error *error) {
  (void)data;
  return pull_all(edit, 0, error);
}
