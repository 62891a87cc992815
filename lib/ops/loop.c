/* SPDX-License-Identifier: MIT
 *
 * Loops for programs (<gemel/composite.h>): they make the body of a scan while it is built, and its
 * operands at the end.
 *
 * What enters is an input of the body, in the order in which it was asked for, under a name that
 * says what it is, so that it is found again without a search. At the end the body is copied to one
 * whose inputs stand in the order of scan and have its names: states s0, s1, …, rows x0, …,
 * constants c0, …; outputs n0, … for next states, y0, … for what is stacked, and stop.
 *
 * A loop with checkpoints becomes a scan of blocks, the body of which is a scan of that many steps,
 * and a scan of the steps that are left; in reverse these come first. The first is to recompute, so
 * that of its steps a gradient keeps the states between blocks alone.
 *
 * Types of inputs can't have sizes that nodes produce, so in the body these are symbols; so are
 * sizes that the axes of the body's inputs alone would not tell (2*N where there is no N).
 */
#include <stdio.h>
#include <string.h>
#include <gemel/composite.h>
#include "core/alloc.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "ops/body.h"
#include "ops/rule.h"
#include "ops/scan.h"

enum { STATE, ROW, CONSTANT, KINDS };
static const char letters[KINDS] = {'s', 'x', 'c'};

/* Something that enters the body. */
typedef struct loop_input {
  int kind;
  size_t number;     /* among those of its kind */
  gemel_value outer; /* initial value, tensor, constant */
  int64_t offset;    /* of rows */
  gemel_value next;  /* of a state */
} loop_input;

struct gemel_loop {
  gemel_graph *graph, *body;
  loop_input *inputs; /* one for each input of the body */
  size_t n_inputs, input_room, count[KINDS];
  gemel__body_sizes sizes;
  gemel_value *stacks;
  size_t n_stacks, stack_room;
  int64_t first, last; /* the least and the greatest offset of rows, and 0 */
  gemel_value stop;
  int ended, failed;
  gemel_value steps, result; /* once ended; result 0 of the scan that is done last */
  gemel_value blocks, rest;  /* result 0 of both scans of a loop with checkpoints; or null */
  gemel_dim blocked;         /* rows of BLOCKS */
  gemel__scan scan;
  gemel_dim length; /* GEMEL_DIM_NONE: not known */
};

/* ---- Begin and free ---- */

gemel_loop *gemel_loop_begin(gemel_graph *graph, gemel_error *error) {
  if (graph == NULL) {
    gemel__null(error, "the graph");
    return NULL;
  }
  if (graph->frozen) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the graph is an attribute and can't change");
    return NULL;
  }
  gemel_graph *body = gemel_graph_new(graph->context, error);
  gemel_loop *loop = body != NULL ? gemel__alloc_zeroed(sizeof *loop) : NULL;
  if (loop == NULL) {
    gemel_graph_unref(body);
    gemel__no_memory(error, "a loop");
    return NULL;
  }
  loop->graph = gemel_graph_ref(graph);
  loop->body = body;
  body->around = graph;
  graph->inside = body;
  return loop;
}

void gemel_loop_free(gemel_loop *loop) {
  if (loop == NULL) {
    return;
  }
  loop->body->around = NULL;
  if (loop->graph->inside == loop->body) {
    loop->graph->inside = NULL;
  }
  gemel__free(loop->inputs, loop->input_room * sizeof *loop->inputs);
  gemel__body_sizes_clear(&loop->sizes);
  gemel__free(loop->stacks, loop->stack_room * sizeof *loop->stacks);
  gemel_graph_unref(loop->body);
  gemel_graph_unref(loop->graph);
  gemel__free(loop, sizeof *loop);
}

gemel_graph *gemel_loop_body(const gemel_loop *loop) {
  return loop != NULL ? loop->body : NULL;
}

/* ---- Errors ---- */

/* The first error, as a status; from now on the loop comes to nothing. */
static gemel_status loop_status(gemel_loop *loop) {
  if (loop->body->error.status != GEMEL_OK) {
    gemel__graph_take_error(loop->graph, &loop->body->error);
  }
  loop->failed = 1;
  return loop->graph->error.status;
}

static gemel_status loop_fail(gemel_loop *loop, gemel_location where, const char *message) {
  if (loop->body->error.status == GEMEL_OK) { /* which was before */
    gemel__graph_fail_at(loop->graph, where, GEMEL_BAD_ARGUMENT, "%s", message);
  }
  return loop_status(loop);
}

static gemel_status no_memory(gemel_loop *loop, gemel_location where) {
  gemel__graph_fail_at(loop->graph, where, GEMEL_NO_MEMORY, "out of memory for a loop");
  return loop_status(loop);
}

/* 0, and an error, unless the loop is being built. */
static int is_open(gemel_loop *loop, gemel_location where) {
  if (loop != NULL && loop->ended) {
    loop_fail(loop, where, "the loop has ended");
  }
  return loop != NULL && !loop->ended;
}

/* 0, and an error, unless VALUE is of GRAPH, which is the loop's body or the graph around. A null
 * value is an error of its own only if nothing has failed before. */
static int is_of(gemel_loop *loop, gemel_graph *graph, gemel_value value, gemel_location where) {
  if (value.graph == graph && gemel__is_value(value)) {
    return 1;
  }
  if (value.graph != NULL || loop->body->error.status == GEMEL_OK) {
    gemel__graph_fail_at(loop->graph, where, GEMEL_BAD_ARGUMENT, "what a loop is given is %s",
                         gemel__stranger(graph, value));
  }
  loop_status(loop);
  return 0;
}

/* ---- Sizes ---- */

/* The type of VALUE without its first SKIP axes, in the body. */
static gemel_type inner_type(gemel_loop *loop, gemel_value value, int skip) {
  gemel_context *context = loop->graph->context;
  gemel_type type = gemel_value_type(value);
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(context, type);
  for (int axis = skip; axis < rank; axis++) {
    dims[axis - skip] =
        gemel__body_size(context, &loop->sizes, gemel_type_dims(context, type)[axis]);
    if (gemel_dim_is_none(dims[axis - skip])) {
      return GEMEL_TYPE_NONE;
    }
  }
  return gemel_type_new(context, gemel_type_dtype(context, type), rank - skip, dims,
                        gemel_type_space(context, type));
}

/* ---- What enters ---- */

/* Which input of the body VALUE is; NULL: none. */
static loop_input *input_of(const gemel_loop *loop, gemel_value value) {
  long k = gemel__input_index(loop->body, value.node);
  return k >= 0 && (size_t)k < loop->n_inputs ? &loop->inputs[k] : NULL;
}

/* OUTER without its first SKIP axes, as a new input of the body. */
static gemel_value new_input(gemel_loop *loop, const char *name, const loop_input *input, int skip,
                             gemel_location where) {
  gemel_value inner = gemel__no_value;
  gemel_type type = inner_type(loop, input->outer, skip);
  if (!gemel_type_is_none(type) && gemel__grow(&loop->inputs, &loop->input_room, loop->n_inputs + 1,
                                               sizeof *loop->inputs) == 0) {
    inner = gemel_input_at(loop->body, name, type, where);
  } else {
    no_memory(loop, where);
  }
  if (gemel_is_null(inner)) {
    loop_status(loop);
    return inner;
  }
  loop->inputs[loop->n_inputs++] = *input;
  loop->count[input->kind]++;
  if (input->kind != STATE && gemel_assume(inner, gemel_assumed(input->outer)) != GEMEL_OK) {
    no_memory(loop, where);
  }
  return inner;
}

static gemel_value enter(gemel_loop *loop, int kind, gemel_value outer, int64_t offset,
                         gemel_location where) {
  loop_input input = {kind, 0, outer, offset, gemel__no_value};
  char name[80];
  if (!is_open(loop, where) || !is_of(loop, loop->graph, outer, where)) {
    return gemel__no_value;
  }
  input.number = loop->count[kind];
  if (kind == STATE) {
    snprintf(name, sizeof name, "s%zu", input.number);
    return new_input(loop, name, &input, 0, where);
  }
  snprintf(name, sizeof name, "%c%u_%u_%llu", letters[kind], (unsigned)outer.node,
           (unsigned)outer.output, (unsigned long long)offset);
  const char *interned = gemel__intern_string(loop->graph->context, name);
  if (interned == NULL) {
    no_memory(loop, where);
    return gemel__no_value;
  }
  long k = gemel__name_find(&loop->body->input_table, loop->body->input_names, interned);
  return k >= 0 ? gemel_graph_input(loop->body, (size_t)k)
                : new_input(loop, name, &input, kind == ROW, where);
}

gemel_value gemel_loop_state_at(gemel_loop *loop, gemel_value initial, gemel_location where) {
  return enter(loop, STATE, initial, 0, where);
}

gemel_value gemel_loop_constant_at(gemel_loop *loop, gemel_value x, gemel_location where) {
  return enter(loop, CONSTANT, x, 0, where);
}

gemel_value gemel_loop_row_at(gemel_loop *loop, gemel_value x, gemel_location where) {
  return gemel_loop_tap_at(loop, x, 0, where);
}

/* The number of rows of X; GEMEL_DIM_NONE, and an error, if it is no value to take rows of. */
static gemel_dim rows_of(gemel_loop *loop, gemel_value x, gemel_location where) {
  int rank;
  if (!is_open(loop, where) || !is_of(loop, loop->graph, x, where)) {
    return GEMEL_DIM_NONE;
  }
  const gemel_dim *dims = gemel__value_dims(x, &rank);
  if (rank == 0) {
    gemel__graph_fail_at(loop->graph, where, GEMEL_BAD_SHAPE, "a scalar has no rows");
    loop_status(loop);
    return GEMEL_DIM_NONE;
  }
  return dims[0];
}

gemel_value gemel_loop_tap_at(gemel_loop *loop, gemel_value x, int64_t offset,
                              gemel_location where) {
  if (gemel_dim_is_none(rows_of(loop, x, where))) {
    return gemel__no_value;
  }
  if (offset < -INT32_MAX || offset > INT32_MAX) { /* so that sums of them don't overflow */
    loop_fail(loop, where, "an offset is beyond 2^31");
    return gemel__no_value;
  }
  loop->first = offset < loop->first ? offset : loop->first;
  loop->last = offset > loop->last ? offset : loop->last;
  return enter(loop, ROW, x, offset, where);
}

/* 0, and an error, unless INITIAL has a row for each of N values. */
static int has_rows(gemel_loop *loop, gemel_value initial, size_t n, gemel_location where) {
  gemel_dim rows = rows_of(loop, initial, where);
  int64_t count;
  if (gemel_dim_is_none(rows)) {
    return 0;
  }
  if (n == 0 || n > INT32_MAX) {
    loop_fail(loop, where, "a state has one value or more, and an array for them");
    return 0;
  }
  if (gemel_dim_is_constant(loop->graph->context, rows, &count) && count != (int64_t)n) {
    gemel__graph_fail_at(loop->graph, where, GEMEL_BAD_SHAPE,
                         "%zu values of a state begin as %lld rows", n, (long long)count);
    loop_status(loop);
    return 0;
  }
  return 1;
}

gemel_value gemel_loop_state_taps_at(gemel_loop *loop, gemel_value initial, size_t n,
                                     gemel_value *values, gemel_location where) {
  n = values != NULL ? n : 0;
  int fits = has_rows(loop, initial, n, where);
  for (size_t k = 0; k < n; k++) {
    values[k] = gemel__no_value;
    if (fits) {
      gemel_value begin = gemel_index_at(initial, 0, (int64_t)(n - 1 - k), where);
      values[k] = gemel_loop_state_at(loop, begin, where);
    }
    if (k > 0 && !gemel_is_null(values[k])) {
      gemel_loop_next_at(loop, values[k], values[k - 1], where);
    }
  }
  return fits ? values[0] : gemel__no_value;
}

/* ---- What leaves ---- */

gemel_status gemel_loop_next_at(gemel_loop *loop, gemel_value state, gemel_value value,
                                gemel_location where) {
  if (loop == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  if (!is_open(loop, where) || !is_of(loop, loop->body, state, where) ||
      !is_of(loop, loop->body, value, where)) {
    return loop_status(loop);
  }
  loop_input *input = input_of(loop, state);
  if (input == NULL || input->kind != STATE) {
    return loop_fail(loop, where, "the next value of what is no state of the loop");
  }
  if (!gemel_is_null(input->next)) {
    return loop_fail(loop, where, "the state has its next value");
  }
  input->next = value;
  return GEMEL_OK;
}

gemel_value gemel_loop_stack_at(gemel_loop *loop, gemel_value value, gemel_location where) {
  if (!is_open(loop, where) || !is_of(loop, loop->body, value, where)) {
    return gemel__no_value;
  }
  if (gemel__grow(&loop->stacks, &loop->stack_room, loop->n_stacks + 1, sizeof *loop->stacks) !=
      0) {
    no_memory(loop, where);
    return gemel__no_value;
  }
  loop->stacks[loop->n_stacks++] = value;
  return value;
}

gemel_status gemel_loop_until_at(gemel_loop *loop, gemel_value stop, gemel_location where) {
  if (loop == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  if (!is_open(loop, where) || !is_of(loop, loop->body, stop, where)) {
    return loop_status(loop);
  }
  if (!gemel_is_null(loop->stop)) {
    return loop_fail(loop, where, "the loop has a condition to stop at");
  }
  loop->stop = stop;
  return GEMEL_OK;
}

/* ---- The end ---- */

/* What the end makes: the body in scan's order, and the operands. */
typedef struct loop_end {
  gemel_loop *loop;
  gemel_location where;
  gemel_graph *body;
  gemel_value *inputs;  /* of the body, in the order of the loop's */
  gemel_value *outputs; /* of the body */
  gemel_value *operands;
  gemel_value *part; /* room for the operands of a part */
} loop_end;

/* Next states, stacked values and the condition as outputs of the body under construction. */
static gemel_status make_outputs(gemel_loop *loop) {
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; status == GEMEL_OK && k < loop->n_inputs; k++) {
    const loop_input *input = &loop->inputs[k];
    if (input->kind == STATE && gemel_is_null(input->next)) {
      gemel_value state = gemel_graph_input(loop->body, k);
      return loop_fail(loop, gemel_value_where(state), "the state has no next value");
    }
    if (input->kind == STATE) {
      status = gemel__body_add_output(input->next, 'n', input->number);
    }
  }
  for (size_t k = 0; status == GEMEL_OK && k < loop->n_stacks; k++) {
    status = gemel__body_add_output(loop->stacks[k], 'y', k);
  }
  return status == GEMEL_OK && loop->scan.until ? gemel_output(loop->stop, "stop") : status;
}

/* Inputs of the new body, and the operands that belong to them, of one kind. */
static void enter_again(loop_end *e, int kind) {
  const gemel_loop *loop = e->loop;
  gemel_value *operands = e->operands + loop->scan.limited;
  size_t first = kind == STATE ? 0 : loop->count[STATE];
  first += kind == CONSTANT ? loop->count[ROW] : 0;
  for (size_t k = 0; k < loop->n_inputs; k++) {
    const loop_input *input = &loop->inputs[k];
    gemel_value old = gemel_graph_input(loop->body, k);
    char name[32];
    if (input->kind == kind) {
      snprintf(name, sizeof name, "%c%zu", letters[kind], input->number);
      e->inputs[k] = gemel__input_like(e->body, name, gemel_value_type(old), old);
      operands[first + input->number] = input->outer;
    }
  }
}

/* Of the tensor that INPUT reads, the rows for all steps: those for which all rows exist. */
static gemel_value all_rows(const loop_end *e, const loop_input *input) {
  const gemel_loop *loop = e->loop;
  gemel_context *context = loop->graph->context;
  int rank;
  if (loop->last == loop->first) {
    return input->outer;
  }
  gemel_dim first = gemel_dim_constant(context, input->offset - loop->first);
  gemel_dim lost = gemel_dim_constant(context, loop->last - loop->first);
  gemel_dim rows = gemel_dim_sub(context, gemel__value_dims(input->outer, &rank)[0], lost);
  return gemel__scan_rows(input->outer, first, rows, e->where);
}

/* The body in scan's order, from that under construction. */
static gemel_status make_body(loop_end *e) {
  gemel_loop *loop = e->loop;
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  e->body = gemel_graph_new(loop->graph->context, &error);
  for (int kind = 0; e->body != NULL && kind < KINDS; kind++) {
    enter_again(e, kind);
  }
  gemel_status status = e->body != NULL ? e->body->error.status : GEMEL_NO_MEMORY;
  if (status == GEMEL_OK) {
    status = gemel__graph_inline(e->body, loop->body, e->inputs, e->outputs, &error);
  }
  for (size_t k = 0; status == GEMEL_OK && k < loop->body->n_outputs; k++) {
    status = gemel_output(e->outputs[k], loop->body->output_names[k]);
  }
  if (status != GEMEL_OK && e->body != NULL && e->body->error.status != GEMEL_OK) {
    error = e->body->error;
  }
  if (status != GEMEL_OK) {
    gemel__graph_take_error(loop->graph, &error);
  }
  return status;
}

static gemel_dim rows_of_value(gemel_value value) {
  int rank;
  return gemel_is_null(value) ? GEMEL_DIM_NONE : gemel__value_dims(value, &rank)[0];
}

/* The operation on the graph around. */
static void apply_scan(loop_end *e, const gemel_loop_options *o) {
  gemel_loop *loop = e->loop;
  gemel_scan_options options = {.states = (int64_t)loop->count[STATE],
                                .sequences = (int64_t)loop->count[ROW],
                                .length = o->length,
                                .reverse = o->reverse,
                                .limited = loop->scan.limited,
                                .until = loop->scan.until,
                                .truncate = o->truncate,
                                .recompute = o->recompute};
  size_t n = (size_t)loop->scan.limited + loop->n_inputs;
  e->operands[0] = loop->scan.limited ? o->steps : e->operands[0];
  loop->result = gemel_scan_at(n, e->operands, e->body, &options, e->where);
}

/* All rows as operands, and their number. */
static void find_rows(loop_end *e, const gemel_loop_options *o) {
  gemel_loop *loop = e->loop;
  for (size_t k = 0; k < loop->n_inputs; k++) {
    const loop_input *input = &loop->inputs[k];
    if (input->kind == ROW) {
      e->operands[gemel__scan_sequence(&loop->scan, input->number)] = all_rows(e, input);
    }
  }
  loop->length = o->length;
  if (loop->count[ROW] > 0) {
    loop->length = rows_of_value(e->operands[gemel__scan_sequence(&loop->scan, 0)]);
  }
}

/* ---- Checkpoints ---- */

/* X with DIMS, N of them, in place of its first SKIP axes. */
static gemel_value with_axes(gemel_value x, int skip, size_t n, const gemel_dim *dims,
                             gemel_location where) {
  gemel_dim all[2 + GEMEL_MAX_RANK];
  int rank;
  if (gemel_is_null(x)) {
    return x;
  }
  const gemel_dim *old = gemel__value_dims(x, &rank);
  memcpy(all, dims, n * sizeof *all);
  memcpy(all + n, old + skip, (size_t)(rank - skip) * sizeof *all);
  return gemel_reshape_at(x, n + (size_t)(rank - skip), all, where);
}

/* The type of input K of BODY, with an axis of BLOCK rows in front if it is a row. */
static gemel_type block_type(const gemel_loop *loop, const gemel_graph *body, size_t k,
                             gemel_dim block) {
  gemel_context *context = loop->graph->context;
  gemel_type type = gemel__body_input(body, k);
  gemel_dim dims[1 + GEMEL_MAX_RANK] = {block};
  int rank = gemel_type_rank(context, type);
  if (k < loop->count[STATE] || k >= loop->count[STATE] + loop->count[ROW]) {
    return type;
  }
  memcpy(dims + 1, gemel_type_dims(context, type), (size_t)rank * sizeof *dims);
  return gemel_type_new(context, gemel_type_dtype(context, type), rank + 1, dims,
                        gemel_type_space(context, type));
}

/* What a block gives: the next states, their rows, and the rows of what is stacked. */
static gemel_status leave_block(const gemel_loop *loop, gemel_value scan, gemel_dim block,
                                gemel_location where) {
  const gemel__scan *s = &loop->scan;
  gemel_dim first = gemel_dim_constant(loop->graph->context, !s->reverse);
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < s->states && status == GEMEL_OK; k++) {
    status = gemel__body_add_output(gemel_value_output(scan, (uint32_t)k), 'n', k);
  }
  for (size_t k = 0; k < s->states && status == GEMEL_OK; k++) {
    gemel_value history = gemel_value_output(scan, (uint32_t)gemel__scan_history(s, k));
    status = gemel__body_add_output(gemel__scan_rows(history, first, block, where), 'y', k);
  }
  for (size_t k = 0; k < s->values && status == GEMEL_OK; k++) {
    gemel_value stack = gemel_value_output(scan, (uint32_t)gemel__scan_stack(s, k));
    status = gemel__body_add_output(stack, 'y', s->states + k);
  }
  return status;
}

/* The body of the scan of blocks: the loop over the rows of one. NULL, and the graph's error, on
 * failure. */
static gemel_graph *make_block(loop_end *e, const gemel_loop_options *o) {
  gemel_loop *loop = e->loop;
  gemel_context *context = loop->graph->context;
  gemel_dim block = gemel_dim_constant(context, o->every);
  gemel_scan_options options = {.states = (int64_t)loop->count[STATE],
                                .sequences = (int64_t)loop->count[ROW],
                                .length = loop->count[ROW] > 0 ? GEMEL_DIM_NONE : block,
                                .reverse = o->reverse,
                                .recompute = o->recompute};
  gemel_error error = {GEMEL_OK, 0, 0, ""};
  gemel_graph *body = gemel_graph_new(context, &error);
  for (size_t k = 0; k < loop->n_inputs && body != NULL; k++) {
    gemel_value old = gemel_graph_input(e->body, k);
    e->part[k] = gemel__input_like(body, gemel_graph_input_name(e->body, k),
                                   block_type(loop, e->body, k, block), old);
  }
  if (body != NULL) {
    gemel_value scan = gemel_scan_at(loop->n_inputs, e->part, e->body, &options, e->where);
    gemel_status status = leave_block(loop, scan, block, e->where);
    error.status = gemel__body_status(body, status, &error);
  }
  if (body == NULL || error.status != GEMEL_OK) {
    gemel__graph_take_error(loop->graph, &error);
    gemel_graph_unref(body);
    return NULL;
  }
  return body;
}

/* A scan of BODY over COUNT rows from row FIRST on, behind the scan AFTER (null: none). BLOCKS
 * (GEMEL_DIM_NONE: single rows): over so many blocks of them. */
static gemel_value apply_part(loop_end *e, const gemel_loop_options *o, gemel_graph *body,
                              gemel_value after, gemel_dim first, gemel_dim count,
                              gemel_dim blocks) {
  gemel_loop *loop = e->loop;
  size_t states = loop->count[STATE], rows = loop->count[ROW];
  gemel_dim axes[2] = {blocks, gemel_dim_constant(loop->graph->context, o->every)};
  gemel_scan_options options = {.states = (int64_t)states,
                                .sequences = (int64_t)rows,
                                .length = rows > 0                    ? GEMEL_DIM_NONE
                                          : gemel_dim_is_none(blocks) ? count
                                                                      : blocks,
                                .reverse = o->reverse,
                                .recompute = gemel_dim_is_none(blocks) ? o->recompute : 1};
  for (size_t k = 0; k < loop->n_inputs; k++) {
    gemel_value x = e->operands[k];
    if (k < states && !gemel_is_null(after)) {
      x = gemel_value_output(after, (uint32_t)k);
    } else if (k >= states && k < states + rows) {
      x = gemel__scan_rows(x, first, count, e->where);
      x = gemel_dim_is_none(blocks) ? x : with_axes(x, 1, 2, axes, e->where);
    }
    e->part[k] = x;
  }
  return gemel_scan_at(loop->n_inputs, e->part, body, &options, e->where);
}

/* 1 if there is a whole block, as far as is known. */
static int has_checkpoints(const gemel_loop *loop, const gemel_loop_options *o) {
  int64_t length;
  return o->every > 0 && !gemel_dim_is_none(loop->length) &&
         !(gemel_dim_is_constant(loop->graph->context, loop->length, &length) && length < o->every);
}

static int is_zero(const gemel_loop *loop, gemel_dim dim) {
  int64_t size;
  return gemel_dim_is_constant(loop->graph->context, dim, &size) && size == 0;
}

/* The two scans of a loop with checkpoints, or one if the other has no steps. */
static void apply_blocks(loop_end *e, const gemel_loop_options *o) {
  gemel_loop *loop = e->loop;
  gemel_context *context = loop->graph->context;
  gemel_dim every = gemel_dim_constant(context, o->every), zero = gemel_dim_constant(context, 0);
  gemel_dim blocks = gemel_dim_floordiv(context, loop->length, every);
  loop->blocked = gemel_dim_mul(context, blocks, every);
  gemel_dim left = gemel_dim_sub(context, loop->length, loop->blocked);
  gemel_graph *body = make_block(e, o);
  int failed = body == NULL;
  for (int part = 0; part < 2 && !failed; part++) {
    gemel_value *made = (part == 0) == (o->reverse == 0) ? &loop->blocks : &loop->rest;
    if (made == &loop->blocks) {
      *made = apply_part(e, o, body, loop->result, zero, loop->blocked, blocks);
    } else if (!is_zero(loop, left)) {
      *made = apply_part(e, o, e->body, loop->result, loop->blocked, left, GEMEL_DIM_NONE);
    } else {
      continue;
    }
    failed = gemel_is_null(*made);
    loop->result = *made;
  }
  gemel_graph_unref(body);
}

/* Row by row what is result Y of a block and result REST of the steps that are left. */
static gemel_value rows_of_parts(const gemel_loop *loop, size_t y, gemel_value rest,
                                 gemel_location where) {
  gemel_value parts[2];
  uint32_t output = (uint32_t)(2 * loop->scan.states + y);
  parts[0] = with_axes(gemel_value_output(loop->blocks, output), 2, 1, &loop->blocked, where);
  parts[1] = rest;
  return gemel_is_null(loop->rest) ? parts[0] : gemel_concatenate_at(2, parts, 0, where);
}

/* The rows of state K of such a loop. */
static gemel_value state_rows(const gemel_loop *loop, size_t k, gemel_location where) {
  gemel_context *context = loop->graph->context;
  gemel_value rest = gemel__no_value;
  if (!gemel_is_null(loop->rest)) {
    gemel_dim first = gemel_dim_constant(context, !loop->scan.reverse);
    rest = gemel_value_output(loop->rest, (uint32_t)gemel__scan_history(&loop->scan, k));
    rest =
        gemel__scan_rows(rest, first, gemel_dim_sub(context, loop->length, loop->blocked), where);
  }
  return rows_of_parts(loop, k, rest, where);
}

/* The same with the initial value. */
static gemel_value state_history(const gemel_loop *loop, const loop_input *input,
                                 gemel_location where) {
  gemel_value first = gemel_expand_dims_at(input->outer, 0, where);
  gemel_value rows = state_rows(loop, input->number, where);
  gemel_value parts[2] = {loop->scan.reverse ? rows : first, loop->scan.reverse ? first : rows};
  return gemel_concatenate_at(2, parts, 0, where);
}

/* What must hold of the body and OPTIONS before the end. */
static gemel_status check_end(gemel_loop *loop, const gemel_loop_options *o, gemel_location where) {
  if (loop->failed || loop->body->error.status != GEMEL_OK) {
    loop_status(loop);
    return loop_fail(loop, where, "a call for the loop has failed before");
  }
  if (loop->body->n_inputs != loop->n_inputs || loop->body->n_outputs > 0) {
    return loop_fail(loop, where,
                     "the body of a loop has no inputs and outputs but those that "
                     "its states, rows, constants and stacks make");
  }
  if (!gemel_is_null(o->steps) && !is_of(loop, loop->graph, o->steps, where)) {
    return loop_status(loop);
  }
  if (loop->n_inputs == 0) {
    return loop_fail(loop, where, "a loop has a state, a row or a constant");
  }
  if (o->every < 0) {
    return loop_fail(loop, where, "checkpoints stand every step or more");
  }
  if (o->every > 0 &&
      (!gemel_is_null(o->steps) || !gemel_is_null(loop->stop) || !gemel_dim_is_none(o->truncate))) {
    gemel__graph_fail_at(loop->graph, where, GEMEL_UNSUPPORTED,
                         "a loop with checkpoints (every) has no steps, stop or truncate");
    return loop_status(loop);
  }
  return GEMEL_OK;
}

static void describe(gemel_loop *loop, const gemel_loop_options *o) {
  loop->steps = o->steps;
  loop->scan.states = loop->count[STATE];
  loop->scan.sequences = loop->count[ROW];
  loop->scan.constants = loop->count[CONSTANT];
  loop->scan.values = loop->n_stacks;
  loop->scan.reverse = o->reverse != 0;
  loop->scan.limited = !gemel_is_null(o->steps);
  loop->scan.until = !gemel_is_null(loop->stop);
  loop->scan.rows = loop->count[ROW] > 0 || !gemel_dim_is_none(o->length);
}

static gemel_status end_loop(gemel_loop *loop, const gemel_loop_options *o, gemel_location where) {
  size_t n_outputs = loop->count[STATE] + loop->n_stacks + 1;
  size_t room = 3 * loop->n_inputs + 1 + n_outputs;
  gemel_value *block = gemel__alloc_array(room, sizeof *block);
  if (block == NULL) {
    return no_memory(loop, where);
  }
  loop_end e = {loop, where, NULL, block, block + loop->n_inputs, NULL, NULL};
  e.operands = e.outputs + n_outputs;
  e.part = e.operands + loop->n_inputs + 1;
  gemel_status status = make_outputs(loop);
  if (status == GEMEL_OK) {
    status = make_body(&e);
  }
  if (status == GEMEL_OK) {
    find_rows(&e, o);
    (has_checkpoints(loop, o) ? apply_blocks : apply_scan)(&e, o);
  }
  gemel_graph_unref(e.body);
  gemel__free(block, room * sizeof *block);
  return status == GEMEL_OK ? loop->graph->error.status : loop_status(loop);
}

gemel_status gemel_loop_end_at(gemel_loop *loop, const gemel_loop_options *options,
                               gemel_location where) {
  gemel_loop_options o;
  gemel_error problem;
  if (loop == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  if (!is_open(loop, where)) {
    return loop_status(loop);
  }
  gemel_status status = gemel__take_options(&o, sizeof o, options, "gemel_loop_options", &problem);
  status = status == GEMEL_OK ? check_end(loop, &o, where) : loop_fail(loop, where, problem.text);
  loop->ended = 1;
  if (status == GEMEL_OK) {
    describe(loop, &o);
    status = end_loop(loop, &o, where);
  }
  return status;
}

/* ---- What a loop comes to ---- */

/* 0, and an error if none is there, unless the loop has ended well. */
static int is_done(gemel_loop *loop, gemel_location where) {
  if (loop == NULL) {
    return 0;
  }
  if (!loop->ended) {
    loop_fail(loop, where, "the loop has not ended");
  } else if (gemel_is_null(loop->result)) {
    loop_fail(loop, where, "the loop came to nothing, since it could not be built");
  }
  return loop->ended && !gemel_is_null(loop->result);
}

/* The state that VALUE is, of a loop that is done; with ROWS, one of which the rows are known.
 * NULL, and an error, if it is none. */
static const loop_input *state_of(gemel_loop *loop, gemel_value value, int rows,
                                  gemel_location where) {
  if (!is_done(loop, where) || !is_of(loop, loop->body, value, where)) {
    return NULL;
  }
  const loop_input *input = input_of(loop, value);
  if (input == NULL || input->kind != STATE) {
    loop_fail(loop, where, "no state of the loop");
    return NULL;
  }
  if (rows && !loop->scan.rows) {
    loop_fail(loop, where, "a loop without rows and length keeps the last values alone");
    return NULL;
  }
  return input;
}

gemel_value gemel_loop_last_at(gemel_loop *loop, gemel_value state, gemel_location where) {
  const loop_input *input = state_of(loop, state, 0, where);
  return input != NULL ? gemel_value_output(loop->result, (uint32_t)input->number)
                       : gemel__no_value;
}

gemel_value gemel_loop_history_at(gemel_loop *loop, gemel_value state, gemel_location where) {
  const loop_input *input = state_of(loop, state, 1, where);
  if (input != NULL && !gemel_is_null(loop->blocks)) {
    return state_history(loop, input, where);
  }
  return input != NULL
             ? gemel_value_output(loop->result,
                                  (uint32_t)gemel__scan_history(&loop->scan, input->number))
             : gemel__no_value;
}

gemel_value gemel_loop_rows_at(gemel_loop *loop, gemel_value state, gemel_location where) {
  if (loop != NULL && !gemel_is_null(loop->blocks)) {
    const loop_input *input = state_of(loop, state, 1, where);
    return input != NULL ? state_rows(loop, input->number, where) : gemel__no_value;
  }
  gemel_value history = gemel_loop_history_at(loop, state, where);
  if (gemel_is_null(history)) {
    return history;
  }
  gemel_dim first = gemel_dim_constant(loop->graph->context, !loop->scan.reverse);
  return gemel__scan_rows(history, first, loop->length, where);
}

gemel_value gemel_loop_stacked_at(gemel_loop *loop, gemel_value value, gemel_location where) {
  if (!is_done(loop, where) || !is_of(loop, loop->body, value, where)) {
    return gemel__no_value;
  }
  for (size_t k = 0; k < loop->n_stacks; k++) {
    if (loop->stacks[k].node == value.node && loop->stacks[k].output == value.output) {
      uint32_t output = (uint32_t)gemel__scan_stack(&loop->scan, k);
      gemel_value rest =
          gemel_is_null(loop->rest) ? gemel__no_value : gemel_value_output(loop->rest, output);
      return gemel_is_null(loop->blocks) ? gemel_value_output(loop->result, output)
                                         : rows_of_parts(loop, loop->scan.states + k, rest, where);
    }
  }
  loop_fail(loop, where, "the value isn't one of those that are stacked");
  return gemel__no_value;
}

gemel_value gemel_loop_count_at(gemel_loop *loop, gemel_location where) {
  if (!is_done(loop, where)) {
    return gemel__no_value;
  }
  if (loop->scan.until) {
    return gemel_value_output(loop->result, (uint32_t)gemel__scan_count(&loop->scan));
  }
  return loop->scan.limited ? loop->steps : gemel_size_at(loop->graph, loop->length, where);
}
