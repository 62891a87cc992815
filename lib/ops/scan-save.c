/* SPDX-License-Identifier: MIT
 *
 * What the loop back takes from the loop forward. As scan-grad.c builds it, the body of the loop
 * back computes the forward step once more from the states, rows and constants that the step had.
 * Here those of its values that are expensive are made stacks of the loop forward instead, which
 * the loop back reads row by row: those on a least cut, in bytes, between what must not be computed
 * twice (products, convolutions, reductions, functions, random numbers) and what the cotangents
 * need. States before and after a step cost nothing, their histories are there; nor do stacks of
 * the loop. A value whose size only a run of the body tells can't be a row, and is computed again.
 *
 * The stacks are made by a second loop over the same operands, whose body holds the nodes of the
 * first one's: the pass merge_scans makes the two one.
 */
#include <stdio.h>
#include <string.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/copy.h"
#include "core/cut.h"
#include "core/error.h"
#include "ops/scan-derive.h"

enum { MOST_BYTES = 1 << 30 }; /* of a row, as weights go */

/* Marks of nodes of the loop back. */
enum {
  BACKWARD = 1, /* depends on a cotangent */
  VARIES = 2,   /* depends on a state or a row */
  NEEDED = 4,   /* is needed by the loop back, unless it is saved */
  LEFT = 8,     /* stays in the loop back */
  FORWARD = 16  /* goes into the loop that saves */
};

/* Marks of its values. */
enum { CROSSES = 1, CUT = 2, READ = 4 };

typedef struct saving {
  gemel__derived_loop *d;
  gemel_graph *graph; /* the body of the loop back as it was built */
  size_t n_nodes, n_values;
  unsigned char *marks;       /* by node */
  unsigned char *value_marks; /* by the value's number, as what follows */
  uint32_t *output;           /* which output of the old body it is, + 1 */
  gemel__ref *map;            /* what it became in another graph */
} saving;

/* ---- Which values ---- */

static size_t number_of(const saving *s, gemel__ref value) {
  return gemel__value_number(s->graph, value);
}

static int is_input(const saving *s, uint32_t node) {
  return gemel__node_at(s->graph, node)->op == GEMEL__OP_input;
}

/* BACKWARD and VARIES. */
static void mark_kinds(saving *s) {
  gemel__derived_loop *d = s->d;
  for (size_t k = 0; k < s->graph->n_inputs; k++) {
    s->marks[s->graph->inputs[k].node] = BACKWARD;
  }
  for (size_t k = 0; k < d->n_in; k++) {
    s->marks[d->inputs[k].node] = k < gemel__derived_first_constant(d) ? VARIES : 0;
  }
  for (uint32_t node = 0; node < s->n_nodes; node++) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(s->graph, node, &count);
    for (uint32_t k = 0; k < count; k++) {
      s->marks[node] |= s->marks[in[k].node] & (BACKWARD | VARIES);
    }
  }
}

static void need(saving *s, gemel__ref value, int backward) {
  s->marks[value.node] |= NEEDED;
  if (backward && !(s->marks[value.node] & BACKWARD)) {
    s->value_marks[number_of(s, value)] |= CROSSES;
  }
}

/* NEEDED, and which values of forward nodes the backward ones read. */
static void mark_needed(saving *s) {
  for (size_t k = 0; k < s->graph->n_outputs; k++) {
    need(s, s->graph->outputs[k], 1);
  }
  for (size_t node = s->n_nodes; node-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(s->graph, (uint32_t)node, &count);
    for (uint32_t k = 0; k < count && s->marks[node] & NEEDED; k++) {
      need(s, in[k], s->marks[node] & BACKWARD);
    }
  }
}

/* Bytes of a row that holds VALUE; GEMEL__CUT_NEVER if it can't be one. */
static int64_t bytes_of(const saving *s, gemel__ref value) {
  gemel_context *context = s->graph->context;
  gemel_type type = gemel__node_type(s->graph, value.node, value.output);
  double bytes = (double)gemel_dtype_size(gemel_type_dtype(context, type)) *
                 gemel__guess_elements(context, type);
  if (gemel__type_at(context, type)->has_runtime ||
      gemel_type_rank(context, type) == GEMEL_MAX_RANK) {
    return GEMEL__CUT_NEVER;
  }
  return bytes < MOST_BYTES ? (int64_t)bytes : MOST_BYTES;
}

/* Values that are rows without being saved: states behind a step, and what the loop stacks. */
static void mark_free(saving *s) {
  const gemel__derived_loop *d = s->d;
  for (size_t k = d->old.states + d->old.values; k-- > 0;) {
    gemel__ref value = {d->outputs[k].node, d->outputs[k].output};
    s->output[number_of(s, value)] = (uint32_t)k + 1;
  }
}

/* 1 if NODE takes little more time than reading a row. */
static int is_cheap(const saving *s, uint32_t node) {
  const gemel_operation *op = &gemel__node_op(s->graph, node)->record;
  const gemel__scalar_row *scalar = gemel__scalar_row_of(op);
  return scalar != NULL ? scalar->ulp <= 0.5
                        : (op->flags & GEMEL_OP_VIEW) || op->cost == gemel__cost_move;
}

/* ---- The least cut ---- */

static uint32_t point_before(uint32_t node) {
  return GEMEL__CUT_POINTS + node;
}

static uint32_t point_behind(const saving *s, gemel__ref value) {
  return GEMEL__CUT_POINTS + (uint32_t)(s->n_nodes + number_of(s, value));
}

/* What it costs to have VALUE in the loop back. */
static int64_t cost_of(const saving *s, gemel__ref value) {
  return s->output[number_of(s, value)] != 0 ? 0 : bytes_of(s, value);
}

/* Edges from forward NODE to its values; *SAVABLE: each of them can be a row. */
static gemel_status add_values(saving *s, gemel__cut *cut, uint32_t node, int *savable,
                               gemel_error *error) {
  gemel_status status = GEMEL_OK;
  *savable = 1;
  for (uint32_t k = 0; k < gemel__node_at(s->graph, node)->n_outputs && status == GEMEL_OK; k++) {
    gemel__ref value = {node, k};
    int64_t cost = cost_of(s, value);
    *savable &= cost != GEMEL__CUT_NEVER;
    status = gemel__cut_add(cut, point_before(node), point_behind(s, value), cost, 0, error);
    if (status == GEMEL_OK && s->value_marks[number_of(s, value)] & CROSSES) {
      status =
          gemel__cut_add(cut, point_behind(s, value), GEMEL__CUT_SINK, GEMEL__CUT_NEVER, 0, error);
    }
  }
  return status;
}

/* Edges of forward NODE: behind the cut it is computed from its operands, unless it is expensive.
 */
static gemel_status add_node(saving *s, gemel__cut *cut, uint32_t node, gemel_error *error) {
  uint32_t count;
  int savable;
  const gemel__ref *in = gemel__node_inputs(s->graph, node, &count);
  GEMEL__TRY(add_values(s, cut, node, &savable, error));
  if (savable && s->marks[node] & VARIES && !is_cheap(s, node)) {
    GEMEL__TRY(
        gemel__cut_add(cut, GEMEL__CUT_SOURCE, point_before(node), GEMEL__CUT_NEVER, 0, error));
  }
  for (uint32_t k = 0; k < count; k++) {
    if (!is_input(s, in[k].node)) {
      GEMEL__TRY(gemel__cut_add(cut, point_behind(s, in[k]), point_before(node), GEMEL__CUT_NEVER,
                                0, error));
    }
  }
  return GEMEL_OK;
}

/* 1 if NODE is one of the forward step's that the loop back needs, and no input. */
static int is_repeated(const saving *s, uint32_t node) {
  return s->marks[node] & NEEDED && !(s->marks[node] & BACKWARD) && !is_input(s, node);
}

static void take_cut(saving *s, const gemel__cut *cut) {
  for (uint32_t node = 0; node < s->n_nodes; node++) {
    for (uint32_t k = 0; k < gemel__node_at(s->graph, node)->n_outputs; k++) {
      gemel__ref value = {node, k};
      if (is_repeated(s, node) && gemel__cut_has(cut, point_before(node)) &&
          !gemel__cut_has(cut, point_behind(s, value))) {
        s->value_marks[number_of(s, value)] |= CUT;
      }
    }
  }
}

static gemel_status find_cut(saving *s, gemel_error *error) {
  enum { PHASES = 1000 };
  gemel__cut cut;
  gemel_status status =
      gemel__cut_start(&cut, GEMEL__CUT_POINTS + (uint32_t)(s->n_nodes + s->n_values), error);
  for (uint32_t node = 0; node < s->n_nodes && status == GEMEL_OK; node++) {
    status = is_repeated(s, node) ? add_node(s, &cut, node, error) : GEMEL_OK;
  }
  if (status == GEMEL_OK) {
    gemel__cut_find(&cut, PHASES);
    take_cut(s, &cut);
  }
  gemel__cut_clear(&cut);
  return status;
}

/* ---- Which nodes go where ---- */

static void leave(saving *s, gemel__ref value) {
  unsigned char *marks = &s->value_marks[number_of(s, value)];
  if (*marks & CUT) {
    *marks |= READ;
  } else {
    s->marks[value.node] |= LEFT;
  }
}

/* LEFT: what the outputs of the loop back need, up to the cut; READ: what of the cut they do. */
static void mark_left(saving *s) {
  for (size_t k = 0; k < s->graph->n_outputs; k++) {
    leave(s, s->graph->outputs[k]);
  }
  for (size_t node = s->n_nodes; node-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(s->graph, (uint32_t)node, &count);
    for (uint32_t k = 0; k < count && s->marks[node] & LEFT; k++) {
      leave(s, in[k]);
    }
  }
}

/* 1 if a row of the loop that saves is to hold VALUE. */
static int is_saved(const saving *s, gemel__ref value) {
  size_t number = number_of(s, value);
  return s->value_marks[number] & READ && s->output[number] == 0;
}

/* FORWARD: what the rows need, and the next states. How many rows there are. */
static size_t mark_forward(saving *s) {
  const gemel__derived_loop *d = s->d;
  size_t rows = 0;
  for (size_t k = 0; k < d->n_out; k++) {
    int next = k < d->old.states || k >= d->old.states + d->old.values;
    s->marks[d->outputs[k].node] |= next ? FORWARD : 0;
  }
  for (uint32_t node = (uint32_t)s->n_nodes; node-- > 0;) {
    uint32_t count;
    const gemel__ref *in = gemel__node_inputs(s->graph, node, &count);
    for (uint32_t k = 0; k < gemel__node_at(s->graph, node)->n_outputs; k++) {
      int saved = is_saved(s, (gemel__ref){node, k});
      s->marks[node] |= saved ? FORWARD : 0;
      rows += (size_t)saved;
    }
    for (uint32_t k = 0; k < count && s->marks[node] & FORWARD; k++) {
      s->marks[in[k].node] |= FORWARD;
    }
  }
  return rows;
}

/* ---- Copying ---- */

static gemel_status copy_nodes(saving *s, gemel_graph *to, unsigned mark) {
  return gemel__copy_marked(to, s->graph, s->marks, mark, s->map);
}

static void map_value(saving *s, gemel_value from, gemel_value to) {
  s->map[number_of(s, (gemel__ref){from.node, from.output})] = (gemel__ref){to.node, to.output};
}

static gemel_value mapped(const saving *s, gemel_graph *to, gemel_value from) {
  return gemel__value(to, s->map[number_of(s, (gemel__ref){from.node, from.output})]);
}

static void forget_map(saving *s) {
  memset(s->map, 0xff, s->n_values * sizeof *s->map);
}

/* ---- The loop that saves ---- */

/* Its body: the old one, but that it stacks the values that are saved. */
static gemel_status fill_forward(saving *s, gemel_graph *body) {
  gemel__derived_loop *d = s->d;
  size_t n = 0;
  forget_map(s);
  for (size_t k = 0; k < d->n_in; k++) {
    gemel_value old = gemel__derived_old_input(d, k);
    map_value(s, d->inputs[k],
              gemel__input_like(body, gemel_graph_input_name(d->old.body, k), gemel_value_type(old),
                                old));
  }
  GEMEL__TRY(copy_nodes(s, body, FORWARD));
  for (size_t k = 0; k < d->old.states; k++) {
    GEMEL__TRY(gemel__body_add_output(mapped(s, body, d->outputs[k]), 'n', k));
  }
  for (uint32_t node = 0; node < s->n_nodes; node++) {
    for (uint32_t k = 0; k < gemel__node_at(s->graph, node)->n_outputs; k++) {
      gemel__ref value = {node, k};
      if (is_saved(s, value)) {
        GEMEL__TRY(
            gemel__body_add_output(mapped(s, body, gemel__value(s->graph, value)), 'y', n++));
      }
    }
  }
  if (d->old.until) {
    GEMEL__TRY(gemel_output(mapped(s, body, d->outputs[d->n_out - 1]), "stop"));
  }
  return GEMEL_OK;
}

/* The loop that saves, with this BODY: its first result. */
static gemel_value apply_forward(const saving *s, gemel_graph *body) {
  const gemel__derived_loop *d = s->d;
  gemel_derive *call = d->call;
  gemel_scan_options options = {.states = (int64_t)d->old.states,
                                .sequences = (int64_t)d->old.sequences,
                                .reverse = d->old.reverse,
                                .limited = d->old.limited,
                                .until = d->old.until};
  if (d->old.sequences == 0) {
    options.length = d->length;
  }
  if (call->attrs[GEMEL__SCAN_TRUNCATE].kind != GEMEL_ATTR_NONE) {
    gemel__derive_dims(call, &call->attrs[GEMEL__SCAN_TRUNCATE], &options.truncate);
  }
  return gemel_scan_at(gemel__scan_operands(&d->old), call->inputs, body, &options, call->where);
}

/* Makes the loop that saves ROWS values, if there are any. */
static gemel_status save_rows(saving *s, size_t rows, gemel_value *loop) {
  gemel_derive *call = s->d->call;
  if (rows == 0) {
    return GEMEL_OK;
  }
  gemel_graph *body = gemel_graph_new(gemel_graph_context(call->graph), call->error);
  if (body == NULL) {
    return GEMEL_NO_MEMORY;
  }
  gemel_status status = fill_forward(s, body);
  if (status == GEMEL_OK) {
    *loop = apply_forward(s, body);
    status = gemel_graph_error(call->graph)->status;
  }
  status = gemel__body_status(body, status, call->error);
  gemel_graph_unref(body);
  return status;
}

/* ---- The loop back ---- */

/* The outer value that has READ value NUMBER as its rows: result *SAVED of LOOP, or one that was
 * there before. */
static gemel_value rows_of(saving *s, size_t number, gemel_value loop, uint32_t *saved) {
  gemel__derived_loop *d = s->d;
  size_t k = s->output[number];
  if (k == 0) {
    return gemel__derived_window_of(d, gemel_value_output(loop, (*saved)++));
  }
  k--;
  return k < d->old.states
             ? gemel__derived_rows_after(d, d->call->outputs[gemel__scan_history(&d->old, k)])
             : gemel__derived_window_of(
                   d, d->call->outputs[gemel__scan_stack(&d->old, k - d->old.states)]);
}

/* 1 if the new loop back has INPUT too: it is read, or may be what tells a size. */
static int is_kept(const saving *s, gemel_value input) {
  gemel_context *context = s->graph->context;
  gemel_type type = gemel_value_type(input);
  int64_t size;
  int kept = s->marks[input.node] & LEFT;
  for (int axis = 0; axis < gemel_type_rank(context, type); axis++) {
    kept |= !gemel_dim_is_constant(context, gemel_type_dims(context, type)[axis], &size);
  }
  return kept;
}

/* Inputs FROM to END of the body, each by its group. */
static void enter_again(saving *s, size_t from, size_t end, const gemel_value *operands,
                        gemel_value (*enter)(gemel__derived_loop *d, gemel_value outer,
                                             gemel_value like)) {
  for (size_t k = from; k < end; k++) {
    gemel_value input = gemel_graph_input(s->graph, k);
    if (is_kept(s, input)) {
      map_value(s, input, enter(s->d, operands[k + 1], input));
    }
  }
}

static void enter_saved(saving *s, gemel_value loop) {
  uint32_t saved = (uint32_t)(2 * s->d->old.states);
  for (uint32_t node = 0; node < s->n_nodes; node++) {
    for (uint32_t k = 0; k < gemel__node_at(s->graph, node)->n_outputs; k++) {
      gemel__ref value = {node, k};
      size_t number = number_of(s, value);
      if (s->value_marks[number] & READ) {
        gemel_value inner = gemel__value(s->graph, value), rows = rows_of(s, number, loop, &saved);
        map_value(s, inner, gemel__derived_enter_rows(s->d, rows, inner));
      }
    }
  }
}

/* Puts the body of the loop back, up to the cut, in the place of the one that was built. */
static gemel_status fill_backward(saving *s, gemel_value loop) {
  gemel__derived_loop *d = s->d;
  size_t states = d->states, rows = states + d->sequences, all = rows + d->constants;
  const gemel_value *operands = d->operands;
  forget_map(s);
  d->operands = d->entered;
  d->n_operands = 1;
  d->states = d->sequences = d->constants = 0;
  for (size_t k = 0; k < states || k == 0; k++) { /* a loop has one operand at least */
    s->marks[gemel_graph_input(s->graph, k).node] |= LEFT;
  }
  enter_again(s, 0, states, operands, gemel__derived_enter_state);
  enter_again(s, states, rows, operands, gemel__derived_enter_rows);
  enter_saved(s, loop);
  enter_again(s, rows, all, operands, gemel__derived_enter_constant);
  GEMEL__TRY(copy_nodes(s, d->body, LEFT));
  for (size_t k = 0; k < s->graph->n_outputs; k++) {
    GEMEL__TRY(
        gemel__copy_output(d->body, s->graph, k, s->map[number_of(s, s->graph->outputs[k])]));
  }
  return GEMEL_OK;
}

static gemel_status save_values(saving *s) {
  gemel__derived_loop *d = s->d;
  gemel_value loop = {NULL, 0, 0};
  mark_kinds(s);
  mark_needed(s);
  mark_free(s);
  GEMEL__TRY(find_cut(s, d->call->error));
  mark_left(s);
  GEMEL__TRY(save_rows(s, mark_forward(s), &loop));
  d->body = gemel_graph_new(s->graph->context, d->call->error);
  return d->body != NULL ? fill_backward(s, loop) : GEMEL_NO_MEMORY;
}

static gemel_status saving_init(saving *s, gemel__derived_loop *d) {
  memset(s, 0, sizeof *s);
  s->d = d;
  s->graph = d->body;
  s->n_nodes = s->graph->n_nodes;
  s->n_values = gemel__value_count(s->graph);
  d->n_entered = 1 + s->graph->n_inputs + s->n_values;
  d->entered = gemel__alloc_array(d->n_entered, sizeof *d->entered);
  s->marks = gemel__alloc_zeroed(s->n_nodes + s->n_values);
  s->output = gemel__alloc_zeroed(s->n_values * sizeof *s->output);
  s->map = gemel__alloc_array(s->n_values, sizeof *s->map);
  if (d->entered == NULL || s->marks == NULL || s->output == NULL || s->map == NULL) {
    return gemel__no_memory(d->call->error, "what a loop saves");
  }
  s->value_marks = s->marks + s->n_nodes;
  return GEMEL_OK;
}

static void saving_clear(saving *s) {
  gemel__free(s->marks, s->n_nodes + s->n_values);
  gemel__free(s->output, s->n_values * sizeof *s->output);
  gemel__free(s->map, s->n_values * sizeof *s->map);
}

gemel_status gemel__derived_save(gemel__derived_loop *d) {
  saving s;
  gemel_graph *built = d->body;
  gemel_status status = saving_init(&s, d);
  if (status == GEMEL_OK) {
    status = save_values(&s);
  }
  if (d->body != built) {
    status = gemel__body_status(built, status, d->call->error);
    gemel_graph_unref(built);
  }
  saving_clear(&s);
  return status;
}
