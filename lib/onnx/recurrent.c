/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM of ONNX as loops. What the inputs bring to the gates of all steps is one
 * product before the loop; a step adds what the state before it brings. A batch whose sequences
 * differ in length keeps a state where a sequence has ended, or, from behind, hasn't begun.
 */
#include <string.h>

#include "core/graph.h"
#include "core/value.h"
#include "onnx/operators.h"

enum { MOST_GATES = 4, MOST_ACTIVATIONS = 3 };

/* A node, and what both directions have in common. X is [T, B, inputs]. */
typedef struct recurrence {
  gemel__onnx_call *c;
  char kind; /* of the row's AS: 'r'nn, 'g'ru, 'l'stm */
  size_t gates, activations;
  gemel_value x, running; /* RUNNING: bool[T, B, 1], or null where all sequences have T steps */
  gemel_dim batch, hidden;
  size_t alphas, betas; /* numbers of the lists of parameters that are taken */
} recurrence;

/* One direction: values in the body of its loop, but for ROWS and LAST. */
typedef struct recurrent_cell {
  recurrence *r;
  gemel_loop *loop;
  struct {
    gemel__onnx_activation function;
    double parameters[2];
  } activations[MOST_ACTIVATIONS];
  gemel_value inputs;    /* [B, gates x hidden]: what a row of x and the biases bring */
  gemel_value weights;   /* [gates x hidden, hidden] */
  gemel_value bias;      /* [hidden]: of GRU's last gate, that is reset with it; or null */
  gemel_value peephole;  /* [3 x hidden], or null */
  gemel_value running;   /* [B, 1], or null */
  gemel_value h, memory; /* states [B, hidden]; MEMORY: of LSTM */
  gemel_value rows, last, last_memory;
} recurrent_cell;

/* ---- Parts ---- */

/* Part K of axis AXIS of V, which has N parts of the hidden size. */
static gemel_value part(const recurrence *r, gemel_value v, int axis, size_t n, size_t k) {
  gemel_dim sizes[2 * MOST_GATES];
  gemel_split_options options = {.axis = axis};
  for (size_t i = 0; i < n; i++) {
    sizes[i] = r->hidden;
  }
  return n == 1
             ? v
             : gemel_value_output(gemel_split_at(v, n, sizes, &options, r->c->where), (uint32_t)k);
}

/* Parts 0 to N - 2, and the last one alone, of the rows of V, which has N parts. */
static gemel_value all_but_last(const recurrence *r, gemel_value v, size_t n) {
  gemel_context *context = r->c->context;
  gemel_dim many = gemel_dim_mul(context, gemel_dim_constant(context, (int64_t)n - 1), r->hidden);
  gemel_split_options options = {.axis = 0};
  gemel_dim sizes[2] = {many, r->hidden};
  return gemel_split_at(v, 2, sizes, &options, r->c->where);
}

/* Input K of direction D, or null if it is left out; initial states of layout 1 have the batch
 * first. */
static gemel_value input_of(const recurrence *r, size_t k, int64_t d, int rank, int is_state) {
  gemel__onnx_call *c = r->c;
  if (!gemel__onnx_given(c, k)) {
    return gemel__no_value;
  }
  gemel_value v = gemel__onnx_input(c, k);
  if (gemel__onnx_rank(v) != rank) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "input %zu has %d axes, and must have %d", k,
                              gemel__onnx_rank(v), rank);
  }
  return gemel_index_at(v, is_state && gemel__onnx_int(c, "layout", 0) ? 1 : 0, d, c->where);
}

/* ---- What a step does ---- */

/* Activation K of V; the sums of gates are bounded before by attribute "clip". */
static gemel_value activate(recurrent_cell *cell, size_t k, gemel_value v) {
  gemel__onnx_call *c = cell->r->c;
  double clip = gemel__onnx_float(c, "clip", 0);
  if (clip > 0 && k < 2) { /* h(C) takes C as it is, as ONNX Runtime does */
    v = gemel_clip_at(v, gemel_scalar_like_at(v, -clip, c->where),
                      gemel_scalar_like_at(v, clip, c->where), c->where);
  }
  const double *p = cell->activations[k].parameters;
  return gemel__onnx_activate(c, &cell->activations[k].function, v, p);
}

/* V W^T */
static gemel_value product(const recurrence *r, gemel_value v, gemel_value w) {
  int64_t of_v = gemel__onnx_rank(v) - 1, of_w = 1;
  gemel_dot_options options = {.contract_x = {1, &of_v}, .contract_y = {1, &of_w}};
  return gemel_dot_at(v, w, &options, r->c->where);
}

static gemel_value plus(const recurrence *r, gemel_value a, gemel_value b) {
  return gemel_is_null(b) ? a : gemel_add_at(a, b, r->c->where);
}

static gemel_value times(const recurrence *r, gemel_value a, gemel_value b) {
  return gemel_mul_at(a, b, r->c->where);
}

static gemel_value one_minus(const recurrence *r, gemel_value v) {
  return gemel_sub_at(gemel_scalar_like_at(v, 1, r->c->where), v, r->c->where);
}

static gemel_value step_rnn(recurrent_cell *cell) {
  const recurrence *r = cell->r;
  return activate(cell, 0, plus(r, cell->inputs, product(r, cell->h, cell->weights)));
}

/* Gates z, r and h: H = (1 - z) h + z H', with h = g(x W + (r H') R) or, if that is reset behind
 * the product, g(x W + r (H' R + bias)). */
static gemel_value step_gru(recurrent_cell *cell) {
  const recurrence *r = cell->r;
  gemel_value weights = all_but_last(r, cell->weights, 3), inner;
  gemel_value before = product(r, cell->h, weights);
  gemel_value z =
      activate(cell, 0, plus(r, part(r, cell->inputs, 1, 3, 0), part(r, before, 1, 2, 0)));
  gemel_value reset =
      activate(cell, 0, plus(r, part(r, cell->inputs, 1, 3, 1), part(r, before, 1, 2, 1)));
  gemel_value own = gemel_value_output(weights, 1);
  if (gemel__onnx_int(r->c, "linear_before_reset", 0)) {
    inner = times(r, reset, plus(r, product(r, cell->h, own), cell->bias));
  } else {
    inner = product(r, times(r, reset, cell->h), own);
  }
  gemel_value h = activate(cell, 1, plus(r, part(r, cell->inputs, 1, 3, 2), inner));
  return plus(r, times(r, one_minus(r, z), h), times(r, z, cell->h));
}

/* GATE and what the memory brings to it through part K of the peephole's weights. */
static gemel_value peeping(recurrent_cell *cell, gemel_value gate, size_t k, gemel_value memory) {
  const recurrence *r = cell->r;
  return gemel_is_null(cell->peephole)
             ? gate
             : plus(r, gate, times(r, part(r, cell->peephole, 0, 3, k), memory));
}

/* Gates i, o, f and c: C = f C' + i c, H = o h(C); *MEMORY becomes C. */
static gemel_value step_lstm(recurrent_cell *cell, gemel_value *memory) {
  const recurrence *r = cell->r;
  gemel_value all = plus(r, cell->inputs, product(r, cell->h, cell->weights)), gate[4];
  for (size_t k = 0; k < 4; k++) {
    gate[k] = part(r, all, 1, 4, k);
  }
  gemel_value i = activate(cell, 0, peeping(cell, gate[0], 0, cell->memory));
  gemel_value f = gemel__onnx_int(r->c, "input_forget", 0)
                      ? one_minus(r, i)
                      : activate(cell, 0, peeping(cell, gate[2], 2, cell->memory));
  *memory = plus(r, times(r, f, cell->memory), times(r, i, activate(cell, 1, gate[3])));
  gemel_value o = activate(cell, 0, peeping(cell, gate[1], 1, *memory));
  return times(r, o, activate(cell, 2, *memory));
}

/* VALUE where the sequence has this step, else STATE as it was. */
static gemel_value where_running(const recurrent_cell *cell, gemel_value value, gemel_value state) {
  return gemel_is_null(cell->running)
             ? value
             : gemel_where_at(cell->running, value, state, cell->r->c->where);
}

static void take_step(recurrent_cell *cell) {
  gemel_location where = cell->r->c->where;
  gemel_value memory = gemel__no_value;
  gemel_value h = cell->r->kind == 'r'   ? step_rnn(cell)
                  : cell->r->kind == 'g' ? step_gru(cell)
                                         : step_lstm(cell, &memory);
  gemel_loop_next_at(cell->loop, cell->h, where_running(cell, h, cell->h), where);
  if (cell->r->kind == 'l') {
    gemel_loop_next_at(cell->loop, cell->memory, where_running(cell, memory, cell->memory), where);
  }
}

/* ---- One direction ---- */

/* The activations of direction D and their parameters, of which each takes as many as it has off
 * the lists: 1, or 0 on failure. */
static int read_activations(recurrent_cell *cell, size_t d) {
  recurrence *r = cell->r;
  int listed = gemel__onnx_attribute(r->c, "activations").bytes != NULL;
  for (size_t k = 0; k < r->activations; k++) {
    const char *name = k == 0 && r->kind != 'r' ? "Sigmoid" : "Tanh";
    gemel__wire_span text = gemel__onnx_text_at(r->c, "activations", d * r->activations + k);
    text = listed ? text : (gemel__wire_span){(const uint8_t *)name, strlen(name)};
    gemel__onnx_activation *row = &cell->activations[k].function;
    if (!gemel__onnx_activation_find(r->c, text, row)) {
      return 0;
    }
    double *p = cell->activations[k].parameters;
    p[0] = row->takes > 0
               ? gemel__onnx_float_at(r->c, "activation_alpha", r->alphas++, row->fallback[0])
               : 0;
    p[1] = row->takes > 1
               ? gemel__onnx_float_at(r->c, "activation_beta", r->betas++, row->fallback[1])
               : 0;
  }
  return 1;
}

/* x W^T and the biases, of all steps; of GRU's last gate the bias that is reset stays in *INNER. */
static gemel_value bring_inputs(recurrence *r, int64_t d, gemel_value *inner) {
  gemel_location where = r->c->where;
  gemel_value all = product(r, r->x, input_of(r, 1, d, 3, 0));
  gemel_value biases = input_of(r, 3, d, 2, 0);
  *inner = gemel__no_value;
  if (gemel_is_null(biases)) {
    return all;
  }
  gemel_dim half =
      gemel_dim_mul(r->c->context, r->hidden, gemel_dim_constant(r->c->context, (int64_t)r->gates));
  gemel_dim halves[2] = {half, half};
  gemel_value w = gemel_split_at(biases, 2, halves, NULL, where), own = gemel_value_output(w, 1);
  if (r->kind == 'g' && gemel__onnx_int(r->c, "linear_before_reset", 0)) {
    gemel_value parts[2] = {all_but_last(r, own, 3), gemel__no_value};
    *inner = gemel_value_output(parts[0], 1);
    parts[1] = gemel_zeros_like(*inner);
    own = gemel_concatenate_at(2, parts, 0, where);
  }
  return gemel_add_at(all, gemel_add_at(w, own, where), where);
}

/* The state that begins as input K, or as zeros. */
static gemel_value begin_state(recurrent_cell *cell, size_t k, int64_t d) {
  const recurrence *r = cell->r;
  gemel_value initial = input_of(r, k, d, 3, 1);
  if (!gemel__onnx_given(r->c, k)) {
    gemel_dim shape[2] = {r->batch, r->hidden};
    initial =
        gemel_broadcast_to_at(gemel_scalar_like_at(r->x, 0, r->c->where), 2, shape, r->c->where);
  }
  return gemel_loop_state_at(cell->loop, initial, r->c->where);
}

/* V as a constant of the loop; null if it is null. */
static gemel_value constant(const recurrent_cell *cell, gemel_value v) {
  return gemel_is_null(v) ? v : gemel_loop_constant_at(cell->loop, v, cell->r->c->where);
}

static void build_loop(recurrent_cell *cell, int64_t d, int reverse) {
  recurrence *r = cell->r;
  gemel_location where = r->c->where;
  gemel_value inner, inputs = bring_inputs(r, d, &inner);
  cell->h = begin_state(cell, 5, d);
  cell->memory = r->kind == 'l' ? begin_state(cell, 6, d) : gemel__no_value;
  cell->inputs = gemel_loop_row_at(cell->loop, inputs, where);
  cell->weights = constant(cell, input_of(r, 2, d, 3, 0));
  cell->bias = constant(cell, inner);
  cell->peephole = r->kind == 'l' ? constant(cell, input_of(r, 7, d, 2, 0)) : gemel__no_value;
  cell->running = gemel_is_null(r->running) ? gemel__no_value
                                            : gemel_loop_row_at(cell->loop, r->running, where);
  take_step(cell);
  gemel_loop_options options = {.size = sizeof options, .reverse = reverse};
  gemel_loop_end_at(cell->loop, &options, where);
  cell->rows = gemel_loop_rows_at(cell->loop, cell->h, where);
  cell->last = gemel_loop_last_at(cell->loop, cell->h, where);
  cell->last_memory =
      r->kind == 'l' ? gemel_loop_last_at(cell->loop, cell->memory, where) : gemel__no_value;
  if (!gemel_is_null(r->running)) {
    gemel_value zero = gemel_scalar_like_at(r->x, 0, where);
    cell->rows = gemel_where_at(r->running, cell->rows, zero, where);
  }
}

/* 1, or 0 on failure. */
static int run_direction(recurrence *r, int64_t d, int reverse, recurrent_cell *cell) {
  gemel_error error;
  *cell = (recurrent_cell){.r = r};
  if (!read_activations(cell, (size_t)d)) {
    return 0;
  }
  cell->loop = gemel_loop_begin(r->c->graph, &error);
  if (cell->loop == NULL) {
    gemel__graph_take_error(r->c->graph, &error);
    return 0;
  }
  build_loop(cell, d, reverse);
  gemel_loop_free(cell->loop);
  return 1;
}

/* ---- The node ---- */

/* Whether step t of each sequence is one of its input 4: bool[T, B, 1]; null if it is left out. */
static gemel_value running_steps(recurrence *r) {
  gemel__onnx_call *c = r->c;
  if (!gemel__onnx_given(c, 4)) {
    return gemel__no_value;
  }
  static const int64_t down[3] = {0, -1, -1}, across[3] = {-1, 0, -1};
  gemel_value steps = gemel_arange_at(c->graph, gemel__onnx_dims(r->x)[0], NULL, c->where);
  gemel_value lengths = gemel_cast_at(gemel__onnx_input(c, 4), GEMEL_I64, c->where);
  return gemel_lt_at(gemel_dimshuffle_at(steps, 3, down, c->where),
                     gemel_dimshuffle_at(lengths, 3, across, c->where), c->where);
}

static int read_recurrence(recurrence *r, gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), weights = gemel__onnx_input(c, 2);
  char kind = c->row->as[0];
  *r = (recurrence){.c = c,
                    .kind = kind,
                    .gates = kind == 'r'   ? 1
                             : kind == 'g' ? 3
                                           : 4,
                    .activations = kind == 'r'   ? 1
                                   : kind == 'g' ? 2
                                                 : 3};
  if (gemel__onnx_rank(x) != 3 || gemel__onnx_rank(weights) != 3) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes sequences and weights of 3 axes");
    return 0;
  }
  r->x = gemel__onnx_int(c, "layout", 0) ? gemel_swapaxes_at(x, 0, 1, c->where) : x;
  r->hidden = gemel__onnx_dims(weights)[2];
  int64_t hidden = 0;
  if (gemel_dim_is_constant(c->context, r->hidden, &hidden) &&
      gemel__onnx_int(c, "hidden_size", hidden) != hidden) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "hidden_size is %lld, and the weights have %lld",
                       (long long)gemel__onnx_int(c, "hidden_size", hidden), (long long)hidden);
    return 0;
  }
  r->batch = gemel__onnx_dims(r->x)[1];
  r->running = running_steps(r);
  return 1;
}

/* The results of N directions: all states [T, N, B, hidden], the last ones [N, B, hidden]. */
static gemel_value collect(gemel__onnx_call *c, const recurrent_cell *cells, size_t n) {
  static const int64_t batch_first[4] = {2, 0, 1, 3};
  gemel_value rows[2], last[2], memory[2];
  int64_t layout = gemel__onnx_int(c, "layout", 0);
  for (size_t k = 0; k < n; k++) {
    rows[k] = cells[k].rows;
    last[k] = cells[k].last;
    memory[k] = cells[k].last_memory;
  }
  if (c->n_outputs > 1) {
    c->outputs[1] = gemel_stack_at(n, last, layout ? 1 : 0, c->where);
  }
  if (c->n_outputs > 2 && !gemel_is_null(memory[0])) {
    c->outputs[2] = gemel_stack_at(n, memory, layout ? 1 : 0, c->where);
  }
  gemel_value all = gemel_stack_at(n, rows, 1, c->where);
  return layout ? gemel_permute_at(all, 4, batch_first, c->where) : all;
}

gemel_value gemel__onnx_recurrent(gemel__onnx_call *c) {
  gemel__wire_span direction = gemel__onnx_text(c, "direction");
  int both = gemel__wire_is(direction, "bidirectional");
  recurrent_cell cells[2];
  recurrence r;
  if (!both && direction.length > 0 && !gemel__wire_is(direction, "forward") &&
      !gemel__wire_is(direction, "reverse")) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "direction %.*s", (int)direction.length,
                              (const char *)direction.bytes);
  }
  if (!read_recurrence(&r, c) ||
      !run_direction(&r, 0, gemel__wire_is(direction, "reverse"), &cells[0]) ||
      (both && !run_direction(&r, 1, 1, &cells[1]))) {
    return gemel__no_value;
  }
  return collect(c, cells, both ? 2 : 1);
}
