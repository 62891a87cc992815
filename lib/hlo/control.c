/* SPDX-License-Identifier: MIT
 *
 * while and conditional. A while is a loop: its tuple's arrays are states, those that its body
 * passes on are constants. Where the number of steps follows from constants (trips.c) the loop has
 * that length; else it ends with the first state for which the condition is false, and a step with
 * such a state leaves it as it is. A conditional computes all branches and chooses; loops that end
 * by their condition end at once in a branch that isn't taken, where they might never.
 */
#include "hlo/control.h"

#include <string.h>
#include "core/graph.h"
#include "core/value.h"

/* ---- Tuples as lists of arrays ---- */

static size_t count_arrays(const gemel__hlo_value *value) {
  size_t n = !gemel_is_null(value->value);
  for (size_t k = 0; k < value->n_parts; k++) {
    n += count_arrays(&value->parts[k]);
  }
  return n;
}

/* Writes VALUE's arrays to ARRAYS; returns the place behind them. */
static gemel_value *list_arrays(const gemel__hlo_value *value, gemel_value *arrays) {
  if (!gemel_is_null(value->value)) {
    *arrays++ = value->value;
  }
  for (size_t k = 0; k < value->n_parts; k++) {
    arrays = list_arrays(&value->parts[k], arrays);
  }
  return arrays;
}

/* *MADE = as VALUE, of the arrays at *ARRAYS, which becomes the place behind them. */
static int rebuild(gemel__hlo_call *c, const gemel__hlo_value *value, const gemel_value **arrays,
                   gemel__hlo_value *made) {
  *made = (gemel__hlo_value){.n_parts = value->n_parts};
  if (!gemel_is_null(value->value)) {
    return gemel__hlo_give(made, *(*arrays)++);
  }
  gemel__hlo_value *parts = gemel__hlo_room(c, value->n_parts * sizeof *parts);
  made->parts = parts;
  for (size_t k = 0; k < value->n_parts && parts != NULL; k++) {
    if (!rebuild(c, &value->parts[k], arrays, &parts[k])) {
      return 0;
    }
  }
  return parts != NULL;
}

/* ---- Conditional ---- */

/* Whether branch K is taken, of N. */
static gemel_value is_taken(gemel__hlo_call *c, gemel_value which, size_t k) {
  gemel_dtype dtype = gemel_type_dtype(c->import->context, gemel_value_type(which));
  return dtype == GEMEL_BOOL ? which
                             : gemel_eq_at(which, gemel__hlo_number(c, dtype, (double)k), c->where);
}

/* ARRAYS[i] = those of ONE where TAKEN, else as they are. */
static int choose(gemel__hlo_call *c, gemel_value taken, const gemel__hlo_value *one, size_t n,
                  gemel_value *arrays) {
  gemel_value *own = gemel__hlo_room(c, n * sizeof *own);
  if (own == NULL || count_arrays(one) != n) {
    return own != NULL && gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its branches give other shapes");
  }
  list_arrays(one, own);
  for (size_t k = 0; k < n; k++) {
    if (!gemel_type_equal(gemel_value_type(own[k]), gemel_value_type(arrays[k]))) {
      return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its branches give other shapes");
    }
    arrays[k] = gemel_where_at(taken, own[k], arrays[k], c->where);
  }
  return 1;
}

/* The branches' computations, of which branch 1 of a bool is called first: N of them. */
static int list_branches(gemel__hlo_call *c, size_t room, size_t *n,
                         const gemel__hlo_computation **branches) {
  gemel__hlo_span list = gemel__hlo_attr_of(c->instr, "branch_computations");
  *n = 0;
  if (list.text == NULL) {
    branches[0] = gemel__hlo_called(c, "true_computation");
    branches[1] = branches[0] != NULL ? gemel__hlo_called(c, "false_computation") : NULL;
    *n = 2;
    return branches[1] != NULL;
  }
  const char *at = list.text, *end = list.text + list.length;
  while (at < end && *n < room) {
    const char *begin = at;
    while (at < end && strchr("{}, ", *at) == NULL) {
      at++;
    }
    if (at > begin) {
      gemel__hlo_span name = {begin, (size_t)(at - begin)};
      branches[*n] = gemel__hlo_computation_of(c->import->module, name);
      if (branches[(*n)++] == NULL) {
        return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "there is no such branch");
      }
      if (!gemel__hlo_is_before(c, branches[*n - 1])) {
        return 0;
      }
    }
    at += at < end;
  }
  return *n > 0 || gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it has no branches");
}

/* *RESULT = what BRANCH makes of operand K, where TAKEN says whether it is taken. */
static int apply_branch(gemel__hlo_call *c, const gemel__hlo_computation *branch, size_t k,
                        gemel_value taken, gemel__hlo_value *result) {
  gemel__hlo_call inner = *c;
  inner.guard = gemel_is_null(c->guard) ? taken : gemel_logical_and_at(c->guard, taken, c->where);
  return !gemel_is_null(inner.guard) && gemel__hlo_apply(&inner, branch, 1, c->operands[k], result);
}

/* Whether none of the branches but the last, of N, is taken. */
static gemel_value is_last(gemel__hlo_call *c, gemel_value which, size_t n) {
  gemel_value all = gemel__no_value;
  for (size_t k = 0; k + 1 < n; k++) {
    gemel_value other = gemel_logical_not_at(is_taken(c, which, k), c->where);
    all = gemel_is_null(all) ? other : gemel_logical_and_at(all, other, c->where);
  }
  return n > 1 ? all : gemel_scalar_at(c->graph, GEMEL_BOOL, 1, c->where);
}

/* Of N branches the last is taken where no other is; of a bool's the first is that for true. */
int gemel__hlo_conditional(gemel__hlo_call *c, gemel__hlo_value *result) {
  size_t room = c->instr->n_operands, n;
  const gemel__hlo_computation **branches = gemel__hlo_room(c, (room + 2) * sizeof *branches);
  gemel__hlo_value last, one;
  gemel_value which = gemel__hlo_operand(c, 0);
  if (gemel_is_null(which) || branches == NULL || !list_branches(c, room + 2, &n, branches)) {
    return 0;
  }
  if (n + 1 != room) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "%zu branches and %zu operands", n, room);
  }
  if (!apply_branch(c, branches[n - 1], n, is_last(c, which, n), &last)) {
    return 0;
  }
  size_t n_arrays = count_arrays(&last);
  gemel_value *arrays = gemel__hlo_room(c, n_arrays * sizeof *arrays);
  if (arrays == NULL) {
    return 0;
  }
  list_arrays(&last, arrays);
  for (size_t k = n - 1; k-- > 0;) {
    gemel_value taken = is_taken(c, which, k);
    if (!apply_branch(c, branches[k], k + 1, taken, &one) ||
        !choose(c, taken, &one, n_arrays, arrays)) {
      return 0;
    }
  }
  const gemel_value *from = arrays;
  return rebuild(c, &last, &from, result);
}

/* ---- While ---- */

typedef struct while_loop {
  gemel__hlo_call *c;
  gemel__hlo_call inner; /* C in the loop's body */
  const gemel__hlo_computation *condition, *body;
  const gemel__hlo_value *initial;
  gemel_loop *loop;
  size_t n;                 /* arrays */
  gemel_value *begin, *now; /* at first, and in the body: states or constants */
  char *is_constant;
} while_loop;

/* 1 if BODY passes on part K of its one parameter. */
static int is_passed_on(const gemel__hlo_computation *body, size_t k) {
  const gemel__hlo_instr *root = &body->instrs[body->root];
  if (!gemel__hlo_is(root->opcode, "tuple") || k >= root->n_operands) {
    return 0;
  }
  const gemel__hlo_instr *part = &body->instrs[root->operands[k]];
  gemel__hlo_span index = gemel__hlo_attr_of(part, "index");
  size_t number = 0;
  for (size_t i = 0; i < index.length; i++) {
    number = number * 10 + (size_t)(index.text[i] - '0');
  }
  return gemel__hlo_is(part->opcode, "get-tuple-element") && part->n_operands == 1 &&
         part->operands[0] == body->parameters[0] && index.length > 0 && index.length < 8 &&
         number == k;
}

/* Makes the arrays known in the body. */
static int enter(while_loop *w) {
  int is_flat = w->initial->n_parts == w->n;
  for (size_t k = 0; k < w->n; k++) {
    w->is_constant[k] = (char)(is_flat && is_passed_on(w->body, k));
    w->now[k] = w->is_constant[k] ? gemel_loop_constant_at(w->loop, w->begin[k], w->c->where)
                                  : gemel_loop_state_at(w->loop, w->begin[k], w->c->where);
    if (gemel_is_null(w->now[k])) {
      return 0;
    }
  }
  return 1;
}

/* *TRUTH = the condition of ARRAYS, in the body; false in a branch that isn't taken. */
static int ask(while_loop *w, const gemel_value *arrays, gemel_value *truth) {
  gemel__hlo_value state, answer;
  if (!rebuild(&w->inner, w->initial, &arrays, &state) ||
      !gemel__hlo_apply(&w->inner, w->condition, 1, &state, &answer)) {
    return 0;
  }
  *truth = answer.value;
  if (!gemel_is_null(*truth) && !gemel_is_null(w->inner.guard)) {
    *truth = gemel_logical_and_at(w->inner.guard, *truth, w->c->where);
  }
  return (!gemel_is_null(*truth) &&
          gemel_type_dtype(w->c->import->context, gemel_value_type(*truth)) == GEMEL_BOOL) ||
         gemel__hlo_refuse(&w->inner, GEMEL_BAD_FILE, "its condition gives no truth");
}

/* NEXT = what the body makes of the arrays. */
static int step(while_loop *w, gemel_value *next) {
  gemel__hlo_value state, made;
  const gemel_value *from = w->now;
  if (!rebuild(&w->inner, w->initial, &from, &state) ||
      !gemel__hlo_apply(&w->inner, w->body, 1, &state, &made)) {
    return 0;
  }
  if (count_arrays(&made) != w->n) {
    return gemel__hlo_refuse(&w->inner, GEMEL_BAD_FILE, "its body gives another shape");
  }
  list_arrays(&made, next);
  return 1;
}

/* Leaves the arrays of NEXT as they are where the condition isn't true, and ends the loop when it
 * isn't for what they become. */
static int end_by_condition(while_loop *w, gemel_value *next) {
  gemel_value going, going_on;
  if (!ask(w, w->now, &going)) {
    return 0;
  }
  for (size_t k = 0; k < w->n; k++) {
    next[k] =
        w->is_constant[k] ? w->now[k] : gemel_where_at(going, next[k], w->now[k], w->c->where);
  }
  return ask(w, next, &going_on) &&
         gemel_loop_until_at(w->loop, gemel_logical_not_at(going_on, w->c->where), w->c->where) ==
             GEMEL_OK;
}

/* Fills the loop, of STEPS steps or, if they are -1, as many as it takes, and ends it. */
static int fill(while_loop *w, int64_t steps) {
  gemel_loop_options options = {.size = sizeof options};
  gemel_value *next = gemel__hlo_room(w->c, w->n * sizeof *next);
  if (next == NULL || !enter(w) || !step(w, next) || (steps < 0 && !end_by_condition(w, next))) {
    return 0;
  }
  for (size_t k = 0; k < w->n; k++) {
    if (!w->is_constant[k] &&
        gemel_loop_next_at(w->loop, w->now[k], next[k], w->c->where) != GEMEL_OK) {
      return 0;
    }
  }
  if (steps >= 0 && !gemel__hlo_dims(w->c, 1, &steps, &options.length)) {
    return 0;
  }
  return gemel_loop_end_at(w->loop, &options, w->c->where) == GEMEL_OK;
}

/* *RESULT = what the arrays are behind the loop. */
static int leave(while_loop *w, gemel__hlo_value *result) {
  const gemel_value *from = w->begin;
  for (size_t k = 0; k < w->n; k++) {
    w->begin[k] =
        w->is_constant[k] ? w->begin[k] : gemel_loop_last_at(w->loop, w->now[k], w->c->where);
  }
  return rebuild(w->c, w->initial, &from, result);
}

/* Runs the loop W, which is begun here and freed. */
static int run(while_loop *w, gemel__hlo_value *result) {
  gemel__hlo_call *c = w->c;
  gemel_error error;
  int64_t steps;
  if (!gemel__hlo_trips(c, w->condition, w->body, w->initial, &steps)) {
    return 0;
  }
  if (steps == 0) {
    *result = *w->initial;
    return 1;
  }
  w->loop = gemel_loop_begin(c->graph, &error);
  if (w->loop == NULL) {
    return gemel__hlo_refuse(c, error.status, "%s", error.text);
  }
  w->inner = gemel__hlo_within(c, w->loop);
  int good = fill(w, steps) && leave(w, result);
  if (!good) {
    gemel__graph_take_error(c->graph, gemel_graph_error(gemel_loop_body(w->loop)));
  }
  gemel_loop_free(w->loop);
  return good;
}

int gemel__hlo_while(gemel__hlo_call *c, gemel__hlo_value *result) {
  while_loop w = {.c = c, .condition = gemel__hlo_called(c, "condition")};
  w.body = w.condition != NULL ? gemel__hlo_called(c, "body") : NULL;
  if (w.body == NULL) {
    return 0;
  }
  if (c->instr->n_operands != 1 || w.body->n_parameters != 1 || w.condition->n_parameters != 1) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it takes one operand");
  }
  w.initial = c->operands[0];
  w.n = count_arrays(w.initial);
  w.begin = gemel__hlo_room(c, w.n * sizeof *w.begin);
  w.now = gemel__hlo_room(c, w.n * sizeof *w.now);
  w.is_constant = gemel__hlo_room(c, w.n);
  if (w.begin == NULL || w.now == NULL || w.is_constant == NULL) {
    return 0;
  }
  list_arrays(w.initial, w.begin);
  return run(&w, result);
}
