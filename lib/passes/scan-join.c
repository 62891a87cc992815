/* SPDX-License-Identifier: MIT
 *
 * Replaces several loops by one. An output of an old body is live if its result is read, an input
 * is live if a live output depends on it, and the next value of a live state is live (scan-live.c).
 * The new body has one input for all live inputs with the same operand. A small constant isn't
 * passed in as an operand; it is made a constant of the new body.
 *
 * Two states are merged if their initial values are the same and their next values are the same.
 * The second may depend on other states being merged, so this is a fixed point. At first all states
 * with equal initial values are merged, and the bodies are copied into one graph, in which equal
 * nodes are one node. Merged states whose next values differ are separated, and the copy is made
 * again, until none is separated: by induction the remaining merges then hold for all steps. A
 * state that no step changes becomes a constant.
 *
 * A stack of states, rows or constants is replaced by a view of the history, the sequence or the
 * operand if all rows agree with it. They don't in a limited loop, where rows that no step reaches
 * are 0. If derivatives are truncated, that of the stack differs from that of the operand, so these
 * stacks stay.
 */
#include "passes/scan-join.h"

#include <stdlib.h>
#include <string.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/intern.h"
#include "core/tensor.h"
#include "ops/rule.h"
#include "passes/scan-parts.h"
#include "rewrite/engine.h"

/* After this many rounds all states are separated. */
enum { MOST_ROUNDS = 8 };

/* What replaces an old stack: a stack of the new loop, the history before or after each step, a
 * sequence, a constant operand of the loop, or a constant of the body. */
enum { STACK, BEFORE, AFTER, ROWS, OPERAND, LITERAL };

/* ---- Inputs that are merged ---- */

static uint64_t key_of(uint32_t node, uint32_t output, int kind) {
  return (uint64_t)node << 32 | (uint64_t)kind << 24 | output;
}

/* Merges inputs of the same kind with the same operand: `same` is the first of them. States only if
 * STATES is 1, so that states which were separated stay separate. */
static gemel_status find_equal_operands(gemel__join *j, int states) {
  gemel__map map = {NULL, 0, 0};
  int failed = 0;
  for (size_t k = 0; k < j->n_inputs && !failed; k++) {
    gemel__join_input *in = &j->inputs[k];
    uint64_t key = key_of(in->outer.node, in->outer.output, in->kind);
    if (in->kind == GEMEL__STATE_INPUT && !states) {
      continue;
    }
    in->same = k;
    uint32_t first = gemel__join_is_operand(in) ? gemel__map_find(&map, key) : 0;
    if (first != 0 && gemel_type_equal(j->inputs[first - 1].type, in->type)) {
      in->same = first - 1;
    } else if (first == 0 && gemel__join_is_operand(in)) {
      failed = gemel__map_put(&map, key, (uint32_t)k + 1) != 0;
    }
  }
  gemel__map_clear(&map);
  return failed ? gemel__join_no_memory(j) : GEMEL_OK;
}

static int by_next(const void *a, const void *b) {
  const gemel__state_key *x = a, *y = b;
  if (x->same != y->same) {
    return x->same < y->same ? -1 : 1;
  }
  if (x->next.node != y->next.node) {
    return x->next.node < y->next.node ? -1 : 1;
  }
  if (x->next.output != y->next.output) {
    return x->next.output < y->next.output ? -1 : 1;
  }
  return (x->index > y->index) - (x->index < y->index);
}

/* Separates merged states whose next values differ: 1 if there are any. */
static int tell_states_apart(gemel__join *j) {
  size_t n = 0;
  int any = 0;
  for (size_t k = 0; k < j->n_inputs; k++) {
    if (j->inputs[k].kind == GEMEL__STATE_INPUT) {
      j->keys[n++] = (gemel__state_key){j->inputs[k].same, k, j->inputs[k].next};
    }
  }
  if (n > 1) {
    qsort(j->keys, n, sizeof *j->keys, by_next);
  }
  for (size_t k = 0; k < n; k++) {
    const gemel__state_key *key = &j->keys[k], *before = k > 0 ? key - 1 : NULL;
    int one = before != NULL && before->same == key->same && before->next.node == key->next.node &&
              before->next.output == key->next.output;
    size_t same = one ? j->inputs[before->index].same : key->index;
    any |= before != NULL && before->same == key->same && !one;
    j->inputs[key->index].same = same;
  }
  return any;
}

/* Turns states that no step changes into constants: 1 if there are any. Merged states share the
 * flag keeps_rows of the first of them, which is set if that of any of them is. */
static int freeze_states(gemel__join *j) {
  int any = 0;
  for (size_t k = 0; k < j->n_inputs; k++) {
    gemel__join_input *in = &j->inputs[k], *first = &j->inputs[in->same];
    first->keeps_rows |= in->kind == GEMEL__STATE_INPUT && in->keeps_rows;
  }
  for (size_t k = 0; k < j->n_inputs; k++) {
    gemel__join_input *in = &j->inputs[k];
    if (in->kind == GEMEL__STATE_INPUT && !j->inputs[in->same].keeps_rows &&
        !gemel__join_is_truncated(j) && in->next.node == in->value.node &&
        in->next.output == in->value.output) {
      in->frozen = 1;
      any = 1;
    }
  }
  for (size_t k = 0; k < j->n_inputs && any; k++) {
    if (j->inputs[k].frozen && j->inputs[k].kind == GEMEL__STATE_INPUT) {
      j->inputs[k].kind = GEMEL__CONSTANT_INPUT;
    }
  }
  return any;
}

/* ---- The new body ---- */

/* The small constant that takes the place of input IN in the new body. */
static gemel_value literal_input(gemel__join *j, const gemel__join_input *in) {
  const gemel_tensor *tensor = gemel__join_moved_constant(j->graph, in->outer);
  gemel_location where = gemel__node_where(j->graph, in->outer.node);
  gemel_value value = gemel_constant_at(j->scan.body, (gemel_tensor *)tensor, where);
  size_t rank = (size_t)gemel_type_rank(j->context, in->type);
  return gemel_is_null(value) || gemel_type_equal(gemel_value_type(value), in->type)
             ? value
             : gemel_broadcast_to_at(value, rank, gemel_type_dims(j->context, in->type), where);
}

static void enter_inputs(gemel__join *j) {
  for (size_t k = 0; k < j->n_inputs; k++) { /* in->same <= k, so its facts are set already */
    gemel__join_input *in = &j->inputs[k];
    in->all_facts = in->facts;
    j->inputs[in->same].all_facts |= in->facts;
  }
  for (int kind = 0; kind < GEMEL__INPUT_KINDS; kind++) {
    for (size_t k = 0; k < j->n_inputs; k++) {
      gemel__join_input *in = &j->inputs[k];
      if (in->kind == kind && in->same == k) {
        in->number = j->scan.inputs[kind];
        in->value = gemel__new_scan_enter(&j->scan, kind, in->type, in->all_facts,
                                          gemel__node_where(j->graph, in->outer.node));
      }
    }
  }
  for (size_t k = 0; k < j->n_inputs; k++) {
    gemel__join_input *in = &j->inputs[k];
    if (in->kind == GEMEL__INPUT_INSIDE) {
      in->value = literal_input(j, in);
    } else if (gemel__join_is_operand(in)) {
      in->value = j->inputs[in->same].value;
    } else {
      in->value = (gemel_value){NULL, 0, 0};
    }
  }
}

/* Copies the live part of the body of P. */
static gemel_status copy_part(gemel__join *j, gemel__join_part *p) {
  size_t n = 0;
  for (size_t k = 0; k < p->n_inputs; k++) {
    j->values[k] = gemel__join_in(j, p, k)->value;
  }
  for (size_t k = 0; k < p->n_outputs; k++) {
    if (gemel__join_out(j, p, k)->live) {
      j->refs[n++] = p->old.scan.body->outputs[k];
    }
  }
  GEMEL__TRY(gemel__new_scan_copy(&j->scan, &p->old, &p->symbols, j->values, n, j->refs, j->results,
                                  j->error));
  for (size_t k = p->n_outputs; k-- > 0;) {
    if (gemel__join_out(j, p, k)->live) {
      gemel__join_out(j, p, k)->value = j->results[--n];
    }
  }
  for (size_t k = 0; k < p->old.scan.states; k++) {
    gemel__join_in(j, p, k)->next = gemel__join_out(j, p, k)->value;
  }
  return GEMEL_OK;
}

static gemel_status copy_bodies(gemel__join *j) {
  GEMEL__TRY(gemel__new_scan_begin(&j->scan, j->context, j->error));
  enter_inputs(j);
  for (size_t i = 0; i < j->n_parts; i++) {
    GEMEL__TRY(copy_part(j, &j->parts[i]));
  }
  return GEMEL_OK;
}

/* Copies the bodies, with as many states merged as the fixed point allows. */
static gemel_status make_body(gemel__join *j) {
  gemel_status status = find_equal_operands(j, 1);
  for (int round = 0, more = 1; more && status == GEMEL_OK; round++) {
    status = copy_bodies(j);
    more = status == GEMEL_OK && round <= MOST_ROUNDS && tell_states_apart(j);
    if (more && round == MOST_ROUNDS) {
      for (size_t k = 0; k < j->n_inputs; k++) {
        j->inputs[k].same = j->inputs[k].kind == GEMEL__STATE_INPUT ? k : j->inputs[k].same;
      }
    } else if (status == GEMEL_OK && !more && round < MOST_ROUNDS && freeze_states(j)) {
      more = 1;
      status = find_equal_operands(j, 0);
    }
  }
  return status;
}

/* ---- Outputs of the new body ---- */

/* 1 if old result K of P has the type of a stack of OPERANDs; with SKIP, the type of OPERAND
 * itself, whose axis 0 counts the rows. */
static int has_rows_of(const gemel__join *j, const gemel__join_part *p, size_t k,
                       gemel__ref operand, int skip) {
  gemel_type type = gemel__scan_node_type(&p->old, k);
  gemel_type row = gemel__node_type(j->graph, operand.node, operand.output);
  int rank = gemel_type_rank(j->context, type), axis = 1;
  if (gemel_type_dtype(j->context, type) != gemel_type_dtype(j->context, row) ||
      rank != gemel_type_rank(j->context, row) + 1 - skip) {
    return 0;
  }
  while (axis < rank && gemel_dim_equal(gemel_type_dims(j->context, type)[axis],
                                        gemel_type_dims(j->context, row)[axis - 1 + skip])) {
    axis++;
  }
  return axis == rank && (!skip || gemel_dim_equal(gemel_type_dims(j->context, type)[0],
                                                   gemel_type_dims(j->context, row)[0]));
}

/* What stack K of P can be a view of (STACK: nothing). Its rows are input IN of the body, or with
 * AFTER the next value of IN. */
static int view_of(const gemel__join *j, const gemel__join_part *p, size_t k,
                   const gemel__join_input *in, int after) {
  int partial = gemel__join_is_partial(j), cut = gemel__join_is_truncated(j),
      reverse = p->old.scan.reverse;
  size_t result = gemel__scan_stack(&p->old.scan, k);
  switch (in->kind) {
  case GEMEL__STATE_INPUT: /* the initial value stands in row 0, or in the row of the last step */
    return (!partial || reverse != after) && (after || !cut) &&
                   has_rows_of(j, p, result, in->outer, 0)
               ? (after ? AFTER : BEFORE)
               : STACK;
  case GEMEL__ROW_INPUT:
    return !partial && !cut && has_rows_of(j, p, result, in->outer, 1) ? ROWS : STACK;
  default:
    return partial || cut ? STACK : OPERAND;
  }
}

/* Decides what replaces the stacks of P. NUMBERS maps a value of the body to 1 + the input that it
 * is (key_of kind 0), 1 + the state whose next value it is (1), 1 + the stack that it is (2). */
static gemel_status place_stacks(gemel__join *j, gemel__join_part *p, gemel__map *numbers) {
  for (size_t k = 0; k < p->old.scan.values; k++) {
    gemel__join_output *out = gemel__join_out(j, p, p->old.scan.states + k);
    out->from = STACK;
    if (!out->live) {
      continue;
    }
    for (int after = 0; after < 2 && out->from == STACK; after++) {
      uint32_t in = gemel__map_find(numbers, key_of(out->value.node, out->value.output, after));
      out->number = in - 1;
      out->from = in != 0 ? view_of(j, p, k, &j->inputs[in - 1], after) : STACK;
    }
    out->literal =
        gemel__join_small_constant(j->scan.body, (gemel__ref){out->value.node, out->value.output});
    if (out->from == STACK && !gemel__join_is_partial(j) && out->literal != NULL) {
      out->from = LITERAL;
    }
    if (out->from == STACK) {
      uint64_t key = key_of(out->value.node, out->value.output, 2);
      uint32_t known = gemel__map_find(numbers, key);
      out->number = known != 0 ? known - 1 : j->n_stacks++;
      if (known == 0 && (gemel__map_put(numbers, key, (uint32_t)j->n_stacks) != 0 ||
                         gemel__body_add_output(out->value, 'y', out->number) != GEMEL_OK)) {
        return gemel__join_no_memory(j);
      }
    }
  }
  return GEMEL_OK;
}

static gemel_status leave_body(gemel__join *j) {
  gemel__map numbers = {NULL, 0, 0};
  int failed = 0;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < j->n_inputs && !failed; k++) {
    const gemel__join_input *in = &j->inputs[k];
    if (!gemel__join_is_operand(in) || in->same != k) {
      continue;
    }
    failed = gemel__map_put(&numbers, key_of(in->value.node, 0, 0), (uint32_t)k + 1) != 0;
    if (in->kind == GEMEL__STATE_INPUT && !failed) {
      failed = gemel__map_put(&numbers, key_of(in->next.node, in->next.output, 1),
                              (uint32_t)k + 1) != 0 ||
               gemel__body_add_output(in->next, 'n', in->number) != GEMEL_OK;
    }
  }
  status = failed ? gemel__join_no_memory(j) : GEMEL_OK;
  for (size_t i = 0; i < j->n_parts && status == GEMEL_OK; i++) {
    status = place_stacks(j, &j->parts[i], &numbers);
  }
  gemel__map_clear(&numbers);
  const gemel__join_part *p = &j->parts[0];
  if (status == GEMEL_OK && p->old.scan.until) {
    gemel_output(gemel__join_out(j, p, p->n_outputs - 1)->value, "stop");
  }
  return status;
}

/* 1 if the new loop replaces several old ones, or has fewer inputs or stacks than the old one. */
static int is_less(const gemel__join *j) {
  const gemel__scan *s = &j->parts[0].old.scan;
  return j->n_parts > 1 || j->scan.inputs[GEMEL__STATE_INPUT] < s->states ||
         j->scan.inputs[GEMEL__ROW_INPUT] < s->sequences ||
         j->scan.inputs[GEMEL__CONSTANT_INPUT] < s->constants || j->n_stacks < s->values;
}

/* ---- In the graph ---- */

/* Asks the edit for the operands of the new loop, in J's values, and returns how many there are. */
static size_t ask(gemel__join *j) {
  const gemel__scan_node *old = &j->parts[0].old;
  size_t n = 0;
  if (old->scan.limited) {
    j->values[n++] = gemel__edit_value(j->edit, old->operands[-1]);
  }
  for (int kind = 0; kind < GEMEL__INPUT_KINDS; kind++) {
    for (size_t k = 0; k < j->n_inputs; k++) {
      if (j->inputs[k].kind == kind && j->inputs[k].same == k) {
        j->values[n++] = gemel__edit_value(j->edit, j->inputs[k].outer);
      }
    }
  }
  gemel__edit_size(j->edit, old->length);
  gemel__edit_size(j->edit, old->truncate);
  return n;
}

static gemel_status apply(gemel__join *j) {
  gemel_graph *whole = gemel__rewrite_copy(j->scan.body, j->error);
  if (whole == NULL) {
    return j->error->status;
  }
  gemel_graph_unref(j->scan.body);
  j->scan.body = whole;
  if (j->scan.inputs[GEMEL__STATE_INPUT] + j->n_stacks + (size_t)j->parts[0].old.scan.until > 0) {
    size_t n = ask(j);
    j->loop = gemel__new_scan_apply(&j->scan, j->edit, &j->parts[0].old, n, j->values);
    return gemel_is_null(j->loop) ? GEMEL_DECLINED : GEMEL_OK;
  }
  for (size_t i = 0; i < j->n_parts; i++) {
    if (!gemel__scan_node_steps_hold(&j->parts[i].old)) {
      return GEMEL_DECLINED;
    }
  }
  return gemel__edit_target(j->edit) != NULL ? GEMEL_OK : GEMEL_DECLINED;
}

/* VALUE, broadcast to old result K of P. */
static gemel_value broadcast(gemel__join *j, const gemel__join_part *p, size_t k,
                             gemel_value value) {
  gemel_type type = gemel__scan_node_type(&p->old, k);
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(j->context, type);
  for (int axis = 0; axis < rank; axis++) {
    dims[axis] = gemel__edit_size(j->edit, gemel_type_dims(j->context, type)[axis]);
  }
  return gemel_is_null(value) ? value
                              : gemel_broadcast_to_at(value, (size_t)rank, dims,
                                                      gemel__node_where(j->graph, p->old.node));
}

/* The new loop as its attributes describe it. */
static gemel__scan new_numbers(const gemel__join *j) {
  gemel__scan s = j->parts[0].old.scan;
  s.states = j->scan.inputs[GEMEL__STATE_INPUT];
  s.sequences = j->scan.inputs[GEMEL__ROW_INPUT];
  s.constants = j->scan.inputs[GEMEL__CONSTANT_INPUT];
  s.values = j->n_stacks;
  return s;
}

static gemel_value new_result(const gemel__join *j, size_t k) {
  return gemel_value_output(j->loop, (uint32_t)k);
}

/* What replaces the last value, or with HISTORY the history, of state K of P. */
static gemel_value state_result(gemel__join *j, const gemel__join_part *p, size_t k, int history) {
  const gemel__join_input *in = gemel__join_in(j, p, k);
  gemel__scan s = new_numbers(j);
  if (in->frozen) {
    gemel_value initial = gemel__edit_value(j->edit, in->outer);
    return history ? broadcast(j, p, gemel__scan_history(&p->old.scan, k), initial) : initial;
  }
  size_t number = j->inputs[in->same].number;
  return new_result(j, history ? gemel__scan_history(&s, number) : number);
}

/* What replaces stack K of P. */
static gemel_value stack_result(gemel__join *j, const gemel__join_part *p, size_t k) {
  const gemel__join_output *out = &j->outputs[p->first_output + p->old.scan.states + k];
  const gemel__join_input *in = &j->inputs[out->number];
  gemel__scan s = new_numbers(j);
  gemel_location where = gemel__node_where(j->graph, p->old.node);
  size_t result = gemel__scan_stack(&p->old.scan, k);
  if (out->from == STACK) {
    return new_result(j, gemel__scan_stack(&s, out->number));
  }
  if (out->from == LITERAL) {
    gemel_tensor *tensor = (gemel_tensor *)out->literal;
    return broadcast(j, p, result, gemel_constant_at(gemel__edit_target(j->edit), tensor, where));
  }
  if (out->from == OPERAND || out->from == ROWS) {
    gemel_value operand = gemel__edit_value(j->edit, in->outer);
    return out->from == ROWS ? operand : broadcast(j, p, result, operand);
  }
  int second = p->old.scan.reverse != (out->from == AFTER);
  return gemel__scan_rows(new_result(j, gemel__scan_history(&s, in->number)),
                          gemel_dim_constant(j->context, second),
                          gemel__edit_size(j->edit, p->old.length), where);
}

/* What replaces old result K of P. */
static gemel_value result_of(gemel__join *j, const gemel__join_part *p, size_t k) {
  const gemel__scan *s = &p->old.scan;
  if (k < gemel__scan_stack(s, 0)) {
    return state_result(j, p, k < s->states ? k : k - s->states, k >= s->states);
  }
  if (k < gemel__scan_count(s)) {
    return stack_result(j, p, k - gemel__scan_stack(s, 0));
  }
  gemel__scan all = new_numbers(j);
  return new_result(j, gemel__scan_count(&all));
}

/* 1 if what replaces the used results of P has their types. */
static int results_fit(gemel__join *j, const gemel__join_part *p) {
  int fit = 1;
  for (size_t k = 0; k < gemel__scan_results(&p->old.scan) && fit; k++) {
    gemel__ref old = gemel__scan_node_result(&p->old, k);
    if (gemel__join_uses(j, old)) {
      gemel_value by = result_of(j, p, k);
      fit = !gemel_is_null(by) && gemel__edit_fits(j->edit, old, by);
    }
  }
  return fit;
}

static gemel_status replace_results(gemel__join *j, const gemel__join_part *p) {
  for (size_t k = 0; k < gemel__scan_results(&p->old.scan); k++) {
    gemel__ref old = gemel__scan_node_result(&p->old, k);
    if (gemel__join_uses(j, old)) {
      gemel__edit_anew(j->edit);
      ask(j);
      GEMEL__TRY(gemel__edit_replace(j->edit, old, result_of(j, p, k)));
    }
  }
  return GEMEL_OK;
}

static gemel_status replace_loops(gemel__join *j) {
  gemel_status status = apply(j);
  int fit = status == GEMEL_OK;
  for (size_t i = 0; i < j->n_parts && fit; i++) {
    fit = results_fit(j, &j->parts[i]);
  }
  for (size_t i = 0; i < j->n_parts && fit && status == GEMEL_OK; i++) {
    status = replace_results(j, &j->parts[i]);
  }
  return status;
}

/* ---- All of it ---- */

static gemel_status read_part(gemel__join *j, gemel__join_part *p, uint32_t node) {
  GEMEL__TRY(gemel__scan_node_read(j->graph, node, &p->old));
  p->n_inputs = gemel_graph_input_count(p->old.scan.body);
  p->n_outputs = gemel__scan_body_outputs(&p->old.scan);
  p->n_nodes = gemel_graph_node_count(p->old.scan.body);
  p->first_input = j->n_inputs;
  p->first_output = j->n_outputs;
  j->n_inputs += p->n_inputs;
  j->n_outputs += p->n_outputs;
  p->needed = gemel__alloc_zeroed(p->n_nodes);
  p->input_of = gemel__alloc_zeroed(p->n_nodes * sizeof *p->input_of);
  p->stack = gemel__alloc_array(p->n_nodes, sizeof *p->stack);
  return p->needed != NULL && p->input_of != NULL && p->stack != NULL ? GEMEL_OK
                                                                      : gemel__join_no_memory(j);
}

static gemel_status make_arrays(gemel__join *j) {
  j->inputs = gemel__alloc_zeroed((j->n_inputs + 1) * sizeof *j->inputs);
  j->outputs = gemel__alloc_zeroed((j->n_outputs + 1) * sizeof *j->outputs);
  j->values = gemel__alloc_array(j->n_inputs + 1, sizeof *j->values);
  j->results = gemel__alloc_array(j->n_outputs + 1, sizeof *j->results);
  j->refs = gemel__alloc_array(j->n_outputs + 1, sizeof *j->refs);
  j->keys = gemel__alloc_array(j->n_inputs + 1, sizeof *j->keys);
  return j->inputs != NULL && j->outputs != NULL && j->values != NULL && j->results != NULL &&
                 j->refs != NULL && j->keys != NULL
             ? GEMEL_OK
             : gemel__join_no_memory(j);
}

/* Fills in the inputs of P, with their types in the new body, and finds which are live. */
static gemel_status enter_part(gemel__join *j, gemel__join_part *p) {
  gemel_status status = gemel__new_scan_bind(&j->scan, &p->old, &p->symbols, j->error);
  p->used = gemel__alloc_zeroed(p->symbols.count + 1);
  if (status == GEMEL_OK && p->used == NULL) {
    status = gemel__join_no_memory(j);
  }
  for (size_t k = 0; k < p->n_inputs && status == GEMEL_OK; k++) {
    gemel__join_input *in = gemel__join_in(j, p, k);
    gemel_value old = gemel_graph_input(p->old.scan.body, k);
    in->outer = p->old.operands[k];
    in->same = p->first_input + k;
    in->facts = gemel_assumed(old);
    in->type = gemel__scan_inner_type(j->context, &p->symbols, gemel_value_type(old));
    status = gemel_type_is_none(in->type) ? gemel__join_no_memory(j) : GEMEL_OK;
  }
  if (status == GEMEL_OK) {
    gemel__join_find_live(j, p);
  }
  return status;
}

static gemel_status join_loops(gemel__join *j) {
  gemel_status status = make_arrays(j);
  for (size_t i = 0; i < j->n_parts && status == GEMEL_OK; i++) {
    status = enter_part(j, &j->parts[i]);
  }
  if (status == GEMEL_OK) {
    status = gemel__join_find_operands(j);
  }
  if (status == GEMEL_OK) {
    status = make_body(j);
  }
  if (status == GEMEL_OK) {
    status = leave_body(j);
  }
  status = gemel__body_status(j->scan.body, status, j->error);
  return status == GEMEL_OK && is_less(j) ? replace_loops(j) : status;
}

static void clear(gemel__join *j) {
  for (size_t i = 0; i < j->n_parts; i++) {
    gemel__join_part *p = &j->parts[i];
    gemel__free(p->used, p->symbols.count + 1);
    gemel__scan_symbols_clear(&p->symbols);
    gemel__free(p->needed, p->n_nodes);
    gemel__free(p->input_of, p->n_nodes * sizeof *p->input_of);
    gemel__free(p->stack, p->n_nodes * sizeof *p->stack);
  }
  gemel__free(j->parts, j->n_parts * sizeof *j->parts);
  gemel__free(j->inputs, (j->n_inputs + 1) * sizeof *j->inputs);
  gemel__free(j->outputs, (j->n_outputs + 1) * sizeof *j->outputs);
  gemel__free(j->values, (j->n_inputs + 1) * sizeof *j->values);
  gemel__free(j->results, (j->n_outputs + 1) * sizeof *j->results);
  gemel__free(j->refs, (j->n_outputs + 1) * sizeof *j->refs);
  gemel__free(j->keys, (j->n_inputs + 1) * sizeof *j->keys);
  gemel__new_scan_clear(&j->scan);
}

gemel_status gemel__scan_join(gemel_edit *edit, size_t n, const uint32_t *nodes,
                              gemel_error *error) {
  const gemel_graph *graph = gemel_edit_graph(edit);
  gemel_error said = {GEMEL_OK, 0, 0, ""};
  gemel__join j = {.edit = edit,
                   .error = &said,
                   .context = graph->context,
                   .graph = graph,
                   .uses = gemel__edit_uses(edit),
                   .n_parts = n,
                   .parts = gemel__alloc_zeroed(n * sizeof *j.parts)};
  gemel_status status = j.uses != NULL && j.parts != NULL ? GEMEL_OK : gemel__join_no_memory(&j);
  if (j.parts == NULL) {
    j.n_parts = 0;
  }
  for (size_t i = 0; i < n && status == GEMEL_OK; i++) {
    status = read_part(&j, &j.parts[i], nodes[i]);
  }
  if (status == GEMEL_OK) {
    status = join_loops(&j);
  }
  clear(&j);
  if (status == GEMEL_NO_MEMORY) {
    return gemel__no_memory(error, "a loop");
  }
  return GEMEL_OK; /* what can't be joined stays as it is; the edit keeps its own errors */
}
