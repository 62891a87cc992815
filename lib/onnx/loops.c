/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that have bodies: If, Scan and Loop. A body is a graph among the attributes;
 * its nodes are applied as those around it, for Scan and Loop in the body of a loop of gemel's,
 * where values from outside enter as constants of the loop when a node asks for them.
 */
#include <string.h>

#include "core/graph.h"
#include "core/value.h"
#include "onnx/import.h"
#include "onnx/operators.h"

/* Room for N of what the body of a node takes or gives. */
static gemel__onnx_value *room_for(gemel__onnx_call *c, size_t n) {
  gemel__onnx_value *values = gemel__onnx_room(c, (n + 1) * sizeof *values);
  if (values != NULL) {
    memset(values, 0, (n + 1) * sizeof *values);
  }
  return values;
}

/* The graph that is attribute NAME; no bytes, NULL, and the graph's error, if it is absent. */
static gemel__wire_span body_of(gemel__onnx_call *c, const char *name) {
  gemel__wire_span body = gemel__proto_span(gemel__onnx_attribute(c, name), GEMEL__ATTRIBUTE_G);
  if (body.bytes == NULL) {
    gemel__onnx_refuse(c, GEMEL_BAD_FILE, "it has no %s", name);
  }
  return body;
}

/* 1 and *TRUTH if V is one bool that is known. */
static int known_truth(gemel__onnx_call *c, gemel__onnx_value *v, int *truth) {
  gemel__onnx_call asking = *c;
  asking.inputs = &v;
  asking.n_inputs = 1;
  gemel_tensor *tensor = gemel__onnx_known(&asking, 0);
  int is_known = tensor != NULL && gemel_tensor_elements(tensor) == 1 &&
                 gemel_tensor_dtype(tensor) == GEMEL_BOOL;
  if (is_known) {
    *truth = *(const uint8_t *)gemel_tensor_data(tensor) != 0;
  }
  gemel_tensor_unref(tensor);
  return is_known;
}

/* ---- If ---- */

/* The results of branch NAME, or NULL on failure. */
static gemel__onnx_value *take_branch(gemel__onnx_call *c, const char *name) {
  gemel__wire_span body = body_of(c, name);
  gemel__onnx_value *results = room_for(c, c->n_outputs);
  return body.bytes != NULL && results != NULL &&
                 gemel__onnx_body(c, body, 0, NULL, c->n_outputs, results) == GEMEL_OK
             ? results
             : NULL;
}

/* The truth as an integer that is A or B. */
static gemel_dim either(gemel__onnx_call *c, gemel_value condition, gemel_dim a, gemel_dim b) {
  return gemel_dim_equal(a, b)
             ? a
             : gemel_dim_of(gemel_where_at(condition, gemel_size_at(c->graph, a, c->where),
                                           gemel_size_at(c->graph, b, c->where), c->where));
}

/* All elements of X, and how many they are. */
static gemel_value flat(gemel__onnx_call *c, gemel_value x, gemel_dim *n) {
  *n = gemel_dim_constant(c->context, 1);
  for (int k = 0; k < gemel__onnx_rank(x); k++) {
    *n = gemel_dim_mul(c->context, *n, gemel__onnx_dims(x)[k]);
  }
  return gemel_reshape_at(x, 1, n, c->where);
}

/* A or B, of one dtype and rank and other sizes: the elements of both one behind the other, of
 * which those of one are taken. */
static gemel_value chosen_sizes(gemel__onnx_call *c, gemel_value condition, gemel_value a,
                                gemel_value b) {
  gemel_dim dims[GEMEL_MAX_RANK], n, m, zero = gemel_dim_constant(c->context, 0);
  int rank = gemel__onnx_rank(a);
  gemel_value parts[2] = {flat(c, a, &n), flat(c, b, &m)};
  for (int k = 0; k < rank; k++) {
    dims[k] = either(c, condition, gemel__onnx_dims(a)[k], gemel__onnx_dims(b)[k]);
  }
  gemel_dim start = either(c, condition, zero, n), size = gemel_dim_constant(c->context, 1);
  for (int k = 0; k < rank; k++) {
    size = gemel_dim_mul(c->context, size, dims[k]);
  }
  gemel_value both = gemel_concatenate_at(2, parts, 0, c->where);
  gemel_value one = gemel_subtensor_at(both, 1, &start, 1, &size, NULL, c->where);
  return gemel_reshape_at(one, (size_t)rank, dims, c->where);
}

/* Output K where both branches are computed. */
static gemel_value chosen(gemel__onnx_call *c, size_t k, gemel_value condition,
                          gemel__onnx_value *yes, gemel__onnx_value *no) {
  gemel_value a = gemel__onnx_value_in(c, yes), b = gemel__onnx_value_in(c, no);
  if (!gemel_is_null(a) && !gemel_is_null(b) &&
      !gemel_type_equal(gemel_value_type(a), gemel_value_type(b))) {
    if (gemel__onnx_dtype_of(a) == gemel__onnx_dtype_of(b) &&
        gemel__onnx_rank(a) == gemel__onnx_rank(b)) {
      return chosen_sizes(c, condition, a, b);
    }
    char types[2][200];
    gemel_type_format(c->context, gemel_value_type(a), types[0], sizeof types[0]);
    gemel_type_format(c->context, gemel_value_type(b), types[1], sizeof types[1]);
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "a condition that isn't known before the graph runs, and output %zu "
                              "is %s or %s",
                              k, types[0], types[1]);
  }
  return gemel_where_at(condition, a, b, c->where);
}

/* The branch that is taken; both, and a choice, where that isn't known. */
gemel_value gemel__onnx_if(gemel__onnx_call *c) {
  int truth = 0;
  if (!gemel__onnx_given(c, 0) || known_truth(c, c->inputs[0], &truth)) {
    gemel__onnx_value *results = take_branch(c, truth ? "then_branch" : "else_branch");
    if (results == NULL) {
      return gemel__no_value;
    }
    gemel__onnx_results(c, results);
    return results[0].value;
  }
  gemel_value condition = gemel__onnx_scalar(c, gemel__onnx_input(c, 0));
  gemel__onnx_value *yes = take_branch(c, "then_branch");
  gemel__onnx_value *no = yes != NULL ? take_branch(c, "else_branch") : NULL;
  for (size_t k = 0; no != NULL && k < c->n_outputs; k++) {
    c->outputs[k] = chosen(c, k, condition, &yes[k], &no[k]);
  }
  return c->outputs[0];
}

/* ---- The body of a loop ---- */

/* A loop of node C. The first LEAD inputs of its body, and the first LEAD_RESULTS, are no states.
 */
typedef struct onnx_loop {
  gemel__onnx_call *c;
  gemel__onnx_call inner; /* C, in the body */
  gemel__onnx_loop entry;
  gemel__wire_span body;
  size_t lead, lead_results, n_states, n_inputs, n_results;
  gemel__onnx_value *inputs, *results; /* of the body */
  gemel_value *values;                 /* of the body: states, and what is stacked */
} onnx_loop;

static void leave(onnx_loop *l) {
  gemel__importer *in = l->c->importer;
  if (l->entry.loop != NULL) {
    in->loop = l->entry.outer;
    in->graph = l->entry.around;
    gemel_loop_free(l->entry.loop);
  }
}

/* Begins a loop in GRAPH, whose body is what the importer makes until it is left: 1, or 0 on
 * failure. */
static int begin(onnx_loop *l, gemel__onnx_call *c, gemel_graph *graph) {
  gemel_error error;
  gemel__importer *in = c->importer;
  *l = (onnx_loop){.c = c, .inner = *c, .entry = {NULL, graph, in->loop}};
  l->entry.loop = gemel_loop_begin(graph, &error);
  if (l->entry.loop == NULL) {
    gemel__graph_take_error(c->graph, &error);
    return 0;
  }
  l->inner.graph = gemel_loop_body(l->entry.loop);
  in->loop = &l->entry;
  in->graph = l->inner.graph;
  return 1;
}

/* What the body is, with N_STATES states behind others: 1, or 0 on failure. */
static int read_body(onnx_loop *l, size_t lead, size_t lead_results, size_t n_states) {
  l->body = body_of(l->c, "body");
  l->lead = lead;
  l->lead_results = lead_results;
  l->n_states = n_states;
  l->n_inputs = gemel__proto_count(l->body, GEMEL__GRAPH_INPUT);
  l->n_results = gemel__proto_count(l->body, GEMEL__GRAPH_OUTPUT);
  if (l->body.bytes == NULL || l->n_inputs < lead + n_states ||
      l->n_results < lead_results + n_states) {
    gemel__onnx_refuse(l->c, GEMEL_BAD_FILE, "its body has %zu inputs and %zu outputs", l->n_inputs,
                       l->n_results);
    return 0;
  }
  l->inputs = room_for(l->c, l->n_inputs);
  l->results = room_for(l->c, l->n_results);
  l->values = gemel__onnx_room(l->c, (l->n_results + 1) * sizeof *l->values);
  return l->inputs != NULL && l->results != NULL && l->values != NULL;
}

/* The first error of a loop's body, or of the graph around it, as that of the node's graph. */
static void take_error(onnx_loop *l) {
  gemel_error inner = *gemel_graph_error(l->inner.graph);
  gemel_error around = *gemel_graph_error(l->entry.around);
  if (inner.status != GEMEL_OK || around.status != GEMEL_OK) {
    gemel__graph_take_error(l->c->graph, inner.status != GEMEL_OK ? &inner : &around);
  }
}

/* Applies the body to its inputs; its results become next states and stacks: 1, or 0 on failure. */
static int make_body(onnx_loop *l) {
  if (gemel__onnx_body(&l->inner, l->body, l->n_inputs, l->inputs, l->n_results, l->results) !=
      GEMEL_OK) {
    take_error(l);
    return 0;
  }
  for (size_t k = 0; k < l->n_results - l->lead_results; k++) {
    gemel_value value = gemel__onnx_value_in(&l->inner, &l->results[k + l->lead_results]);
    if (k < l->n_states) {
      l->values[k] = l->inputs[k + l->lead].value;
      gemel_loop_next_at(l->entry.loop, l->values[k], value, l->c->where);
    } else {
      l->values[k] = gemel_loop_stack_at(l->entry.loop, value, l->c->where);
    }
  }
  return 1;
}

/* Result K behind those that lead: a state's last value, or the rows of a stack. */
static gemel_value result_of(const onnx_loop *l, size_t k) {
  return k < l->n_states ? gemel_loop_last_at(l->entry.loop, l->values[k], l->c->where)
                         : gemel_loop_stacked_at(l->entry.loop, l->values[k], l->c->where);
}

/* ---- Scan ---- */

/* Number K of the list NAME, 0 if there is none. */
static int64_t listed(gemel__onnx_call *c, const char *name, size_t k) {
  gemel__int_list list;
  return gemel__onnx_ints(c, name, &list) > 0 && k < list.count ? list.values[k] : 0;
}

/* X with axis FROM as its axis TO. */
static gemel_value moved(gemel__onnx_call *c, gemel_value x, int from, int to) {
  int64_t order[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(x), other = 0;
  for (int k = 0; k < rank; k++) {
    other += other == from;
    order[k] = k == to ? from : other++;
  }
  return from == to ? x : gemel_permute_at(x, (size_t)rank, order, c->where);
}

static gemel_value turned(gemel__onnx_call *c, gemel_value x, int is_turned) {
  static const int64_t rows[1] = {0};
  return is_turned ? gemel_reverse_at(x, 1, rows, c->where) : x;
}

/* A loop over the rows of what VALUES has behind N_STATES states, of GRAPH: 1 and its results in
 * VALUES, or 0 on failure. STEPS may be null: all. */
static int scan_rows(gemel__onnx_call *c, gemel_graph *graph, size_t n_states, size_t n_values,
                     gemel_value *values, size_t n_results, gemel_value steps) {
  const char *directions = c->opset < 9 ? "directions" : "scan_input_directions";
  gemel_loop_options options = {.size = sizeof options, .steps = steps};
  onnx_loop l;
  int done = begin(&l, c, graph) && read_body(&l, 0, 0, n_states);
  if (done && (l.n_inputs != n_values || l.n_results < n_results)) {
    gemel__onnx_refuse(c, GEMEL_BAD_FILE, "its body has %zu inputs and %zu outputs", l.n_inputs,
                       l.n_results);
    done = 0;
  }
  for (size_t k = 0; done && k < n_values; k++) {
    l.inputs[k].value =
        k < n_states
            ? gemel_loop_state_at(l.entry.loop, values[k], c->where)
            : gemel_loop_row_at(l.entry.loop,
                                turned(c, values[k], listed(c, directions, k - n_states) != 0),
                                c->where);
  }
  done = done && make_body(&l);
  if (done) {
    gemel_loop_end_at(l.entry.loop, &options, c->where);
  }
  for (size_t k = 0; done && k < n_results; k++) {
    values[k] = result_of(&l, k);
  }
  leave(&l);
  return done;
}

/* Of each sequence of a batch, as the opset 8 has it: a loop over the batch, in which the scan is.
 * Input 0 may be how many rows each has. */
static int scan_batch(gemel__onnx_call *c, size_t n_states, size_t n_values, gemel_value *values,
                      size_t n_results) {
  gemel_value steps = gemel__no_value;
  onnx_loop l;
  int done = begin(&l, c, c->graph);
  for (size_t k = 0; done && k < n_values; k++) {
    values[k] = gemel_loop_row_at(l.entry.loop, values[k], c->where);
  }
  if (done && gemel__onnx_given(c, 0)) {
    gemel_value lengths = c->inputs[0]->value;
    lengths = gemel_is_null(lengths) ? gemel__onnx_value_in(c, c->inputs[0]) : lengths;
    steps = gemel_loop_row_at(l.entry.loop, gemel_cast_at(lengths, GEMEL_I64, c->where), c->where);
  }
  done = done && scan_rows(c, l.inner.graph, n_states, n_values, values, n_results, steps);
  for (size_t k = 0; done && k < n_results; k++) {
    gemel_loop_stack_at(l.entry.loop, values[k], c->where);
  }
  if (done) {
    gemel_loop_end_at(l.entry.loop, NULL, c->where);
  }
  for (size_t k = 0; done && k < n_results; k++) {
    values[k] = gemel_loop_stacked_at(l.entry.loop, values[k], c->where);
  }
  leave(&l);
  return done;
}

/* VALUES[k], the operands behind the first FIRST: 1, or 0 on failure. */
static int scan_operands(gemel__onnx_call *c, size_t first, size_t n_states, size_t n_values,
                         gemel_value *values) {
  for (size_t k = 0; k < n_values; k++) {
    gemel_value x = gemel__onnx_input(c, first + k);
    int axis =
        k < n_states || c->opset < 9
            ? 0
            : gemel__onnx_axis(c, listed(c, "scan_input_axes", k - n_states), gemel__onnx_rank(x));
    if (axis < 0) {
      return 0;
    }
    values[k] = moved(c, x, axis, 0);
  }
  return 1;
}

gemel_value gemel__onnx_scan(gemel__onnx_call *c) {
  size_t first = c->opset < 9 ? 1 : 0, n_values = c->n_inputs - first;
  int64_t n_rows = gemel__onnx_int(c, "num_scan_inputs", 0);
  gemel_value *values = gemel__onnx_room(c, (n_values + c->n_outputs + 1) * sizeof *values);
  if (values == NULL || n_rows < 1 || n_rows > (int64_t)n_values) {
    return values == NULL ? gemel__no_value
                          : gemel__onnx_refuse(c, GEMEL_BAD_FILE, "it has %lld tensors to scan",
                                               (long long)n_rows);
  }
  size_t n_states = n_values - (size_t)n_rows;
  if (!scan_operands(c, first, n_states, n_values, values) ||
      !(c->opset < 9
            ? scan_batch(c, n_states, n_values, values, c->n_outputs)
            : scan_rows(c, c->graph, n_states, n_values, values, c->n_outputs, gemel__no_value))) {
    return gemel__no_value;
  }
  for (size_t k = 0; k < c->n_outputs; k++) {
    int axis = 0;
    if (k >= n_states && c->opset >= 9) {
      values[k] = turned(c, values[k], listed(c, "scan_output_directions", k - n_states) != 0);
      axis = gemel__onnx_axis(c, listed(c, "scan_output_axes", k - n_states),
                              gemel__onnx_rank(values[k]));
    }
    c->outputs[k] = axis < 0 ? gemel__no_value : moved(c, values[k], 0, axis);
  }
  return c->outputs[0];
}

/* ---- Loop ---- */

enum { ENDLESS = INT32_MAX }; /* exporters write that or more for a loop with a condition alone */

/* How often a loop goes round at most. */
typedef struct onnx_trips {
  gemel_dim most;    /* GEMEL_DIM_NONE: as often as the condition holds */
  gemel_value steps; /* fewer, or none, as the condition says at the beginning; or null */
} onnx_trips;

static int read_trips(gemel__onnx_call *c, onnx_trips *trips) {
  const gemel__sizes *count = gemel__onnx_sizes(c, 0);
  int64_t number;
  int truth = 1;
  *trips = (onnx_trips){GEMEL_DIM_NONE, gemel__no_value};
  if (count != NULL && count->count == 1) {
    trips->most = gemel_dim_max(c->context, count->dims[0], gemel_dim_constant(c->context, 0));
    if (gemel_dim_is_constant(c->context, trips->most, &number) && number >= ENDLESS) {
      trips->most = GEMEL_DIM_NONE;
    }
  } else if (gemel__onnx_given(c, 0)) {
    trips->most = gemel_dim_of(gemel__onnx_scalar(c, gemel__onnx_input(c, 0)));
  }
  if (gemel__onnx_given(c, 1) && known_truth(c, c->inputs[1], &truth)) {
    trips->most = truth ? trips->most : gemel_dim_constant(c->context, 0);
  } else if (gemel__onnx_given(c, 1)) {
    gemel_value all = gemel_dim_is_none(trips->most)
                          ? gemel_scalar_at(c->graph, GEMEL_I64, (double)ENDLESS, c->where)
                          : gemel_size_at(c->graph, trips->most, c->where);
    trips->steps = gemel_where_at(gemel__onnx_scalar(c, gemel__onnx_input(c, 1)), all,
                                  gemel_scalar_like_at(all, 0, c->where), c->where);
  }
  return gemel_graph_error(c->graph)->status == GEMEL_OK;
}

/* The number of the step, which is input 0 of the body. */
static gemel_value step_number(onnx_loop *l, const onnx_trips *trips) {
  gemel_location where = l->c->where;
  if (!gemel_dim_is_none(trips->most)) {
    return gemel_loop_row_at(l->entry.loop,
                             gemel_arange_at(l->entry.around, trips->most, NULL, where), where);
  }
  gemel_value begin = gemel_scalar_at(l->entry.around, GEMEL_I64, 0, where);
  gemel_value number = gemel_loop_state_at(l->entry.loop, begin, where);
  gemel_loop_next_at(l->entry.loop, number,
                     gemel_add_at(number, gemel_scalar_like_at(number, 1, where), where), where);
  return number;
}

/* Ends the loop where the condition, result 0 of the body, fails: 1 if it may. */
static int stop_by_condition(onnx_loop *l) {
  int truth;
  if (known_truth(&l->inner, &l->results[0], &truth) && truth) {
    return 0;
  }
  gemel_value condition = gemel__onnx_value_in(&l->inner, &l->results[0]);
  gemel_value stop = gemel_logical_not_at(gemel__onnx_scalar(&l->inner, condition), l->c->where);
  gemel_loop_until_at(l->entry.loop, stop, l->c->where);
  return 1;
}

/* The first rows of V, as many as there were steps. */
static gemel_value rows_done(const onnx_loop *l, gemel_value v) {
  gemel_dim starts[GEMEL_MAX_RANK], sizes[GEMEL_MAX_RANK];
  int rank = gemel__onnx_rank(v);
  for (int k = 0; k < rank; k++) {
    starts[k] = gemel_dim_constant(l->c->context, 0);
    sizes[k] = k == 0 ? gemel_dim_of(gemel_loop_count_at(l->entry.loop, l->c->where))
                      : gemel__onnx_dims(v)[k];
  }
  return gemel_subtensor_at(v, (size_t)rank, starts, (size_t)rank, sizes, NULL, l->c->where);
}

static void run_loop(onnx_loop *l, const onnx_trips *trips) {
  gemel__onnx_call *c = l->c;
  gemel_loop_options options = {
      .size = sizeof options, .length = trips->most, .steps = trips->steps};
  if (!make_body(l)) {
    return;
  }
  int ends = stop_by_condition(l), cut = ends || !gemel_is_null(trips->steps);
  if (!ends && gemel_dim_is_none(trips->most)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                       "neither a condition nor a number below 2^31 - 1 ends it");
    return;
  }
  if (c->n_outputs > l->n_states && gemel_dim_is_none(trips->most)) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                       "rows of as many steps as a condition holds, without a number that is the "
                       "most");
    return;
  }
  gemel_loop_end_at(l->entry.loop, &options, c->where);
  for (size_t k = 0; k < c->n_outputs; k++) {
    c->outputs[k] = result_of(l, k);
    if (k >= l->n_states && cut) {
      c->outputs[k] = rows_done(l, c->outputs[k]);
    }
  }
}

gemel_value gemel__onnx_loop_of(gemel__onnx_call *c) {
  size_t n_states = c->n_inputs - 2;
  gemel_error error;
  onnx_trips trips;
  onnx_loop l;
  gemel_tensor *holds = gemel_tensor_new(GEMEL_BOOL, 0, NULL, &error);
  if (holds == NULL) {
    return gemel__graph_take_error(c->graph, &error);
  }
  *(uint8_t *)gemel_tensor_data(holds) = 1; /* where the body is entered, the condition holds */
  if (read_trips(c, &trips) && begin(&l, c, c->graph)) {
    if (read_body(&l, 2, 1, n_states) && c->n_outputs < l.n_results) {
      l.inputs[0].value = step_number(&l, &trips);
      l.inputs[1].bound = holds;
      for (size_t k = 0; k < n_states; k++) {
        l.inputs[k + 2].value =
            gemel_loop_state_at(l.entry.loop, gemel__onnx_input(c, k + 2), c->where);
      }
      run_loop(&l, &trips);
    }
    leave(&l);
  }
  gemel_tensor_unref(holds);
  return c->outputs[0];
}
