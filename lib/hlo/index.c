/* SPDX-License-Identifier: MIT
 *
 * gather and scatter. Both name places of an operand by start indices: each start is a vector of
 * indices, a window begins there, and the windows lie side by side in what gather gives, or in what
 * scatter takes. So each element of the windows has a place in the operand, whose elements are
 * counted in a row, and gather is take at these places, scatter is put. A gather's starts are moved
 * until the window is inside; a scatter leaves out windows that aren't, by a place behind all.
 */
#include "hlo/call.h"

#include <string.h>
#include "core/dtype.h"
#include "core/graph.h"
#include "core/value.h"

/* How windows lie in the operand, as the attributes of either opcode say. */
typedef struct indexed {
  gemel__hlo_call *c;
  gemel_value starts;
  int rank, n_window, n_map, n_batching; /* of the operand; lists below */
  int64_t sizes[GEMEL_MAX_RANK];         /* of the operand */
  int64_t strides[GEMEL_MAX_RANK];       /* of its elements in a row */
  int64_t elements;
  int rank_of_all;                /* axes of the windows side by side */
  int64_t all[GEMEL_MAX_RANK];    /* their sizes */
  int64_t window[GEMEL_MAX_RANK]; /* which of these are a window's */
  int64_t spans[GEMEL_MAX_RANK];  /* of each axis of the operand, how long a window is */
  int64_t axes[GEMEL_MAX_RANK];   /* axes of the operand that a window's axes are */
  int64_t map[GEMEL_MAX_RANK];    /* axes of the operand that a start's components are of */
  int64_t batching[GEMEL_MAX_RANK], batching_starts[GEMEL_MAX_RANK];
  int n_batch;                      /* axes of STARTS without that of components */
  int64_t batch[GEMEL_MAX_RANK];    /* their sizes */
  int64_t batch_at[GEMEL_MAX_RANK]; /* which of ALL each is */
  int64_t vector;                   /* the axis of STARTS that a start lies along */
} indexed;

/* The names of attributes: the same things, called otherwise by the two. */
typedef struct attribute_names {
  const char *window, *dropped, *map, *batching, *batching_starts;
} attribute_names;

static int is_in(int64_t axis, int n, const int64_t *axes) {
  for (int k = 0; k < n; k++) {
    if (axes[k] == axis) {
      return 1;
    }
  }
  return 0;
}

/* The operand's sizes, and where its elements lie in a row. */
static int take_operand(indexed *p, gemel_value x) {
  p->rank = gemel__hlo_sizes(p->c, x, p->sizes);
  p->elements = 1;
  for (int k = p->rank; k-- > 0;) {
    p->strides[k] = p->elements;
    if (__builtin_mul_overflow(p->elements, p->sizes[k], &p->elements)) {
      return gemel__hlo_refuse(p->c, GEMEL_UNSUPPORTED, "too many elements");
    }
  }
  return 1;
}

/* The axes of STARTS without that of components, and which axes of all these are. */
static int take_batch(indexed *p) {
  int64_t sizes[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(p->c, p->starts, sizes), n = 0;
  if (p->vector < 0 || p->vector > rank) {
    return gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "index_vector_dim is no axis of its starts");
  }
  if ((p->vector < rank ? sizes[p->vector] : 1) != p->n_map) {
    return gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "a start has other components than axes");
  }
  for (int k = 0; k < rank; k++) {
    if (k != p->vector) {
      p->batch[p->n_batch++] = sizes[k];
    }
  }
  for (int k = 0; k < p->rank_of_all; k++) {
    if (!is_in(k, p->n_window, p->window)) {
      if (n == p->n_batch || p->all[k] != p->batch[n]) {
        return gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "windows don't fit the starts");
      }
      p->batch_at[n++] = k;
    }
  }
  return n == p->n_batch || gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "windows don't fit the starts");
}

/* Which axes of the operand a window's axes are, in order: those that aren't DROPPED. */
static int take_window(indexed *p, int n_dropped, const int64_t *dropped) {
  int n = 0;
  for (int k = 1; k < p->n_window; k++) {
    if (p->window[k] < p->window[k - 1]) {
      return gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "a window's axes aren't in order");
    }
  }
  for (int k = 0; k < p->rank; k++) {
    int is_dropped = is_in(k, n_dropped, dropped) || is_in(k, p->n_batching, p->batching);
    if (!is_dropped && n == p->n_window) {
      return gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "a window has too few axes");
    }
    if (!is_dropped) {
      p->spans[k] = p->all[p->window[n]];
      p->axes[n++] = k;
    } else {
      p->spans[k] = 1;
    }
  }
  return n == p->n_window || gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "a window has too many axes");
}

/* Reads the attributes that NAMES calls, of the operand X, starts, and windows like ALL. */
static int describe(gemel__hlo_call *c, const attribute_names *called, gemel_value x,
                    gemel_value starts, const gemel__hlo_shape *all, indexed *p) {
  int64_t dropped[GEMEL_MAX_RANK];
  int n_dropped, n_starts;
  *p = (indexed){.c = c, .starts = starts, .rank_of_all = all->rank};
  memcpy(p->all, all->dims, (size_t)all->rank * sizeof *p->all);
  gemel_type type = gemel_value_type(starts);
  int rank_of_starts = gemel_type_rank(c->import->context, type);
  gemel_kind kind = gemel_dtype_kind(gemel_type_dtype(c->import->context, type));
  if (kind == GEMEL_KIND_FLOAT || kind == GEMEL_KIND_BOOL) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its starts are no integers");
  }
  return take_operand(p, x) &&
         gemel__hlo_axes(c, called->window, all->rank, &p->n_window, p->window) &&
         gemel__hlo_axes(c, called->dropped, p->rank, &n_dropped, dropped) &&
         gemel__hlo_axes(c, called->map, p->rank, &p->n_map, p->map) &&
         gemel__hlo_axes(c, called->batching, p->rank, &p->n_batching, p->batching) &&
         gemel__hlo_axes(c, called->batching_starts, rank_of_starts, &n_starts,
                         p->batching_starts) &&
         (n_starts == p->n_batching ||
          gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its batching axes are of two numbers")) &&
         gemel__hlo_int(c, "index_vector_dim", rank_of_starts, &p->vector) &&
         take_window(p, n_dropped, dropped) && take_batch(p);
}

/* ---- Places ---- */

/* Component K of all starts, with the axes of the batch. */
static gemel_value component(indexed *p, int k) {
  int64_t start[GEMEL_MAX_RANK] = {0}, sizes[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(p->c, p->starts, sizes);
  if (p->vector == rank) {
    return p->starts;
  }
  start[p->vector] = k;
  sizes[p->vector] = 1;
  gemel_value part = gemel__hlo_part(p->c, p->starts, start, sizes, NULL);
  return gemel__hlo_reshape(p->c, part, p->n_batch, p->batch);
}

/* 1 if the integer dtype of X has the number HIGH. */
static int has_number(indexed *p, gemel_value x, int64_t high) {
  const gemel__format *format =
      gemel__dtype_format(gemel_type_dtype(p->c->import->context, gemel_value_type(x)));
  return format->highest >= 62 || high < (int64_t)1 << (format->highest + 1);
}

/* X between 0 and HIGH, as i64; it is clipped in its own dtype, which may be unsigned. */
static gemel_value clipped(indexed *p, gemel_value x, int64_t high) {
  gemel_dtype dtype = gemel_type_dtype(p->c->import->context, gemel_value_type(x));
  gemel_location where = p->c->where;
  if (has_number(p, x, high)) {
    x = gemel_minimum_at(x, gemel__hlo_number(p->c, dtype, (double)high), where);
  }
  x = gemel_maximum_at(x, gemel__hlo_number(p->c, dtype, 0), where);
  return dtype == GEMEL_I64 ? x : gemel_cast_at(x, GEMEL_I64, where);
}

/* X, which has the axes of the batch, with the axes of all windows. */
static gemel_value placed(indexed *p, gemel_value x) {
  int64_t order[GEMEL_MAX_RANK];
  for (int k = 0; k < p->rank_of_all; k++) {
    order[k] = -1;
  }
  for (int k = 0; k < p->n_batch; k++) {
    order[p->batch_at[k]] = k;
  }
  return p->n_batch == 0 ? x : gemel__hlo_order(p->c, x, p->rank_of_all, order);
}

/* SUM + X * STRIDE; SUM may be null, for 0. */
static gemel_value plus(indexed *p, gemel_value sum, gemel_value x, int64_t stride) {
  if (stride != 1) {
    gemel_value times = gemel__hlo_number(p->c, GEMEL_I64, (double)stride);
    x = gemel_mul_at(x, times, p->c->where);
  }
  return gemel_is_null(sum) ? x : gemel_add_at(sum, x, p->c->where);
}

/* The place of each element of all windows, i64, where starts are moved inside. */
static gemel_value all_places(indexed *p) {
  gemel_value sum = gemel__no_value;
  for (int k = 0; k < p->n_map; k++) {
    int64_t axis = p->map[k], high = p->sizes[axis] - p->spans[axis];
    gemel_value start = clipped(p, component(p, k), high > 0 ? high : 0);
    sum = plus(p, sum, placed(p, start), p->strides[axis]);
  }
  for (int k = 0; k < p->n_batching; k++) {
    int64_t of_starts = p->batching_starts[k];
    int64_t at = p->batch_at[of_starts - (of_starts > p->vector)];
    gemel_value iota = gemel__hlo_iota(p->c, GEMEL_I64, p->rank_of_all, (int)at, p->all[at]);
    sum = plus(p, sum, iota, p->strides[p->batching[k]]);
  }
  for (int k = 0; k < p->n_window; k++) {
    int64_t at = p->window[k];
    gemel_value iota = gemel__hlo_iota(p->c, GEMEL_I64, p->rank_of_all, (int)at, p->all[at]);
    sum = p->all[at] == 1 ? sum : plus(p, sum, iota, p->strides[p->axes[k]]);
  }
  sum = gemel_is_null(sum) ? gemel__hlo_number(p->c, GEMEL_I64, 0) : sum;
  return gemel__hlo_spread(p->c, sum, p->rank_of_all, p->all);
}

/* Batching axes are of starts, and of the same size there. */
static int check_batching(indexed *p) {
  for (int k = 0; k < p->n_batching; k++) {
    int64_t of_starts = p->batching_starts[k];
    int64_t at = of_starts - (of_starts > p->vector);
    if (of_starts == p->vector || p->batch[at] != p->sizes[p->batching[k]]) {
      return gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "a batching axis that doesn't fit");
    }
  }
  return 1;
}

/* ---- gather ---- */

/* The axis along which whole parts of X are taken; -1: it isn't so. */
static int64_t taken_axis(const indexed *p) {
  int64_t axis = p->n_map == 1 && p->n_batching == 0 ? p->map[0] : -1;
  for (int k = 0; k < p->rank && axis >= 0; k++) {
    int is_whole = k == axis ? p->n_window == p->rank - 1 && !is_in(k, p->n_window, p->axes)
                             : p->spans[k] == p->sizes[k];
    axis = is_whole ? axis : -1;
  }
  return axis;
}

/* X at the starts along AXIS, which the axes of the batch take the place of. */
static gemel_value take_along(indexed *p, gemel_value x, int64_t axis) {
  int64_t order[GEMEL_MAX_RANK];
  gemel_value at = clipped(p, component(p, 0), p->sizes[axis] - 1);
  gemel_value taken = gemel_take_at(x, at, &(gemel_take_options){.axis = axis}, p->c->where);
  for (int k = 0; k < p->n_batch; k++) {
    order[p->batch_at[k]] = axis + k;
  }
  for (int k = 0; k < p->n_window; k++) {
    order[p->window[k]] = p->axes[k] < axis ? p->axes[k] : p->axes[k] - 1 + p->n_batch;
  }
  return gemel_is_null(taken) ? taken : gemel__hlo_order(p->c, taken, p->rank_of_all, order);
}

/* 1 if slice_sizes say what windows are: 1 where an axis is dropped. */
static int check_slices(indexed *p) {
  int64_t sizes[GEMEL_MAX_RANK];
  int n;
  if (!gemel__hlo_ints(p->c, "slice_sizes", &n, sizes)) {
    return 0;
  }
  int good = n == p->rank;
  for (int k = 0; k < p->rank && good; k++) {
    good = sizes[k] == p->spans[k] && sizes[k] <= p->sizes[k];
  }
  return good || gemel__hlo_refuse(p->c, GEMEL_BAD_FILE, "its slice_sizes don't fit");
}

int gemel__hlo_gather(gemel__hlo_call *c, gemel__hlo_value *result) {
  static const attribute_names called = {"offset_dims", "collapsed_slice_dims", "start_index_map",
                                         "operand_batching_dims", "start_indices_batching_dims"};
  gemel_value x = gemel__hlo_operand(c, 0), starts = gemel__hlo_operand(c, 1);
  indexed p;
  if (gemel_is_null(x) || gemel_is_null(starts) ||
      !describe(c, &called, x, starts, &c->instr->shape, &p) || !check_batching(&p) ||
      !check_slices(&p)) {
    return 0;
  }
  int64_t axis = taken_axis(&p);
  if (axis >= 0) {
    return gemel__hlo_give(result, take_along(&p, x, axis));
  }
  gemel_value at = all_places(&p), row = gemel__hlo_reshape(c, x, 1, &p.elements);
  return !gemel_is_null(at) && !gemel_is_null(row) &&
         gemel__hlo_give(result, gemel_take_at(row, at, NULL, c->where));
}

/* ---- scatter ---- */

/* Whether the window of each start is inside, with the axes of all windows; null: each is. */
static gemel_value inside(indexed *p) {
  gemel_location where = p->c->where;
  gemel_value all = gemel__no_value;
  for (int k = 0; k < p->n_map; k++) {
    int64_t high = p->sizes[p->map[k]] - p->spans[p->map[k]];
    gemel_value x = component(p, k);
    if (gemel_is_null(x)) {
      return x;
    }
    gemel_dtype dtype = gemel_type_dtype(p->c->import->context, gemel_value_type(x));
    gemel_value good = gemel_ge_at(x, gemel__hlo_number(p->c, dtype, 0), where);
    if (has_number(p, x, high)) {
      gemel_value last = gemel__hlo_number(p->c, dtype, high > 0 ? (double)high : 0);
      good = gemel_logical_and_at(good, gemel_le_at(x, last, where), where);
    }
    all = gemel_is_null(all) ? good : gemel_logical_and_at(all, good, where);
  }
  return gemel_is_null(all) ? all : placed(p, all);
}

/* How put combines by COMPUTATION; NULL: it can't. */
static const char *mode_of(const gemel__hlo_computation *computation, gemel_dtype dtype) {
  static const char *const modes[][3] = {{"add", "add", "add"},    {"multiply", "mul", "mul"},
                                         {"maximum", "max", NULL}, {"minimum", "min", NULL},
                                         {"or", NULL, "add"},      {"and", NULL, "mul"},
                                         {"second", "set", "set"}};
  const char *kind = gemel__hlo_kind(computation);
  for (size_t k = 0; kind != NULL && k < sizeof modes / sizeof *modes; k++) {
    if (strcmp(kind, modes[k][0]) == 0) {
      return modes[k][dtype == GEMEL_BOOL ? 2 : 1];
    }
  }
  return NULL;
}

/* The state ROW behind LOOP, whose steps combine its element at AT with UPDATE by C's computation.
 */
static gemel_value fill_loop(gemel__hlo_call *c, gemel_loop *loop, gemel_value row, gemel_value at,
                             gemel_value update) {
  static const int64_t one = 1;
  const gemel__hlo_computation *computation = gemel__hlo_called(c, "to_apply");
  gemel__hlo_call inner = gemel__hlo_within(c, loop);
  gemel__hlo_value operands[2], made;
  gemel_value state = gemel_loop_state_at(loop, row, c->where);
  at = gemel_loop_row_at(loop, at, c->where);
  operands[0] = (gemel__hlo_value){.value = gemel_take_at(state, at, NULL, c->where)};
  operands[1] = (gemel__hlo_value){.value = gemel_loop_row_at(loop, update, c->where)};
  if (gemel_is_null(operands[0].value) || gemel_is_null(operands[1].value) ||
      !gemel__hlo_apply(&inner, computation, 2, operands, &made)) {
    return gemel__no_value;
  }
  if (gemel_is_null(made.value)) {
    gemel__hlo_refuse(&inner, GEMEL_BAD_FILE, "its computation gives no array");
    return gemel__no_value;
  }
  at = gemel__hlo_reshape(&inner, at, 1, &one);
  gemel_value next = gemel_put_at(state, at, gemel__hlo_reshape(&inner, made.value, 1, &one),
                                  &(gemel_put_options){.mode = "set"}, c->where);
  return gemel_loop_next_at(loop, state, next, c->where) == GEMEL_OK &&
                 gemel_loop_end_at(loop, NULL, c->where) == GEMEL_OK
             ? gemel_loop_last_at(loop, state, c->where)
             : gemel__no_value;
}

/* ROW with UPDATES at the places AT, one after the other, combined by C's computation. */
static gemel_value put_in_turn(gemel__hlo_call *c, gemel_value row, gemel_value at,
                               gemel_value updates) {
  gemel_error error;
  gemel_loop *loop = gemel_loop_begin(c->graph, &error);
  if (loop == NULL) {
    gemel__hlo_refuse(c, error.status, "%s", error.text);
    return gemel__no_value;
  }
  gemel_value result = fill_loop(c, loop, row, at, updates);
  if (gemel_is_null(result)) {
    gemel__graph_take_error(c->graph, gemel_graph_error(gemel_loop_body(loop)));
  }
  gemel_loop_free(loop);
  return result;
}

/* X with UPDATES at the places AT, combined by MODE or, if that is NULL, by the computation;
 * the place behind all is none of X's. */
static gemel_value put_at(indexed *p, gemel_value x, gemel_value at, gemel_value updates,
                          const char *mode) {
  int64_t zero = 0, one = 1, longer = p->elements + 1, n = 1;
  for (int k = 0; k < p->rank_of_all; k++) {
    n *= p->all[k]; /* of an array that is there */
  }
  gemel_dtype dtype = gemel_type_dtype(p->c->import->context, gemel_value_type(x));
  gemel_value row = gemel__hlo_reshape(p->c, x, 1, &p->elements);
  row = gemel__hlo_pad(p->c, row, gemel__hlo_number(p->c, dtype, 0), &zero, &one, NULL);
  at = gemel__hlo_reshape(p->c, at, 1, &n);
  updates = gemel__hlo_reshape(p->c, updates, 1, &n);
  if (gemel_is_null(row) || gemel_is_null(at) || gemel_is_null(updates) || longer <= 0) {
    return gemel__no_value;
  }
  row = mode != NULL
            ? gemel_put_at(row, at, updates, &(gemel_put_options){.mode = mode}, p->c->where)
            : put_in_turn(p->c, row, at, updates);
  row = gemel__hlo_part(p->c, row, &zero, &p->elements, NULL);
  return gemel__hlo_reshape(p->c, row, p->rank, p->sizes);
}

int gemel__hlo_scatter(gemel__hlo_call *c, gemel__hlo_value *result) {
  static const attribute_names called = {"update_window_dims", "inserted_window_dims",
                                         "scatter_dims_to_operand_dims", "input_batching_dims",
                                         "scatter_indices_batching_dims"};
  const gemel__hlo_computation *computation = gemel__hlo_called(c, "to_apply");
  gemel_value x = gemel__hlo_operand(c, 0), starts = gemel__hlo_operand(c, 1);
  indexed p;
  if (computation == NULL || gemel_is_null(x) || gemel_is_null(starts)) {
    return 0;
  }
  gemel_dtype dtype = gemel_type_dtype(c->import->context, gemel_value_type(x));
  const char *mode = mode_of(computation, dtype);
  if (c->instr->n_operands != 3) {
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "it has several operands");
  }
  gemel_value updates = gemel__hlo_operand(c, 2);
  if (gemel_is_null(updates) || !describe(c, &called, x, starts, gemel__hlo_shape_of(c, 2), &p) ||
      !check_batching(&p)) {
    return 0;
  }
  gemel_value at = all_places(&p), good = p.n_map > 0 ? inside(&p) : gemel__no_value;
  for (int k = 0; k < p.rank; k++) {
    if (p.spans[k] > p.sizes[k]) {
      return gemel__hlo_give(result, x); /* no window is inside */
    }
  }
  if (gemel_is_null(at) || (p.n_map > 0 && gemel_is_null(good))) {
    return 0;
  }
  if (p.n_map > 0) {
    gemel_value behind = gemel__hlo_number(c, GEMEL_I64, (double)p.elements);
    at = gemel__hlo_spread(c, gemel_where_at(good, at, behind, c->where), p.rank_of_all, p.all);
  }
  return gemel__hlo_give(result, put_at(&p, x, at, updates, mode));
}
