/* SPDX-License-Identifier: MIT
 *
 * scan: a body applied again and again, each time to the states that it gave the time before and to
 * the next row of each sequence. This file has its type rule; scan-run.c runs it, scan-grad.c
 * and scan-jvp.c differentiate it.
 */
#include "ops/scan.h"

#include <string.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "ops/body.h"
#include "ops/rule.h"

int gemel__scan_read(const gemel_attr *attrs, gemel__scan *s) {
  int64_t states = attrs[GEMEL__SCAN_STATES].u.i, sequences = attrs[GEMEL__SCAN_SEQUENCES].u.i;
  memset(s, 0, sizeof *s);
  s->body = attrs[GEMEL__SCAN_BODY].u.graph;
  s->reverse = attrs[GEMEL__SCAN_REVERSE].u.i != 0;
  s->limited = attrs[GEMEL__SCAN_LIMITED].u.i != 0;
  s->until = attrs[GEMEL__SCAN_UNTIL].u.i != 0;
  s->recompute = attrs[GEMEL__SCAN_RECOMPUTE].u.i != 0;
  s->rows = sequences > 0 || attrs[GEMEL__SCAN_LENGTH].kind != GEMEL_ATTR_NONE;
  int64_t inputs = (int64_t)gemel_graph_input_count(s->body);
  int64_t outputs = (int64_t)gemel_graph_output_count(s->body) - s->until;
  if (states < 0 || sequences < 0 || states > inputs || sequences > inputs - states ||
      states > outputs) {
    return 0;
  }
  s->states = (size_t)states;
  s->sequences = (size_t)sequences;
  s->constants = (size_t)(inputs - states - sequences);
  s->values = (size_t)(outputs - states);
  return 1;
}

gemel_value gemel__scan_rows(gemel_value x, gemel_dim first, gemel_dim rows, gemel_location where) {
  gemel_dim start[GEMEL_MAX_RANK], size[GEMEL_MAX_RANK];
  int rank;
  if (gemel_is_null(x)) {
    return x;
  }
  const gemel_dim *dims = gemel__value_dims(x, &rank);
  for (int axis = 0; axis < rank; axis++) {
    start[axis] = axis == 0 ? first : gemel_dim_constant(gemel_graph_context(x.graph), 0);
    size[axis] = axis == 0 ? rows : dims[axis];
  }
  return gemel_subtensor_at(x, (size_t)rank, start, (size_t)rank, size, NULL, where);
}

gemel_value gemel__scan_as_row(gemel_value x, gemel_location where) {
  int64_t order[GEMEL_MAX_RANK + 1] = {-1};
  int rank;
  if (gemel_is_null(x)) {
    return x;
  }
  gemel__value_dims(x, &rank);
  for (int axis = 0; axis < rank; axis++) {
    order[axis + 1] = axis;
  }
  return gemel_dimshuffle_at(x, (size_t)rank + 1, order, where);
}

/* ---- Type rule ---- */

/* What the type rule has found so far. */
typedef struct scan_types {
  gemel__scan scan;
  gemel__body_argument *arguments; /* of the body */
  gemel_type *results;             /* of the body */
  gemel_dim length, rows;          /* T, and the rows of a history */
} scan_types;

static gemel_status check_numbers(const gemel_infer *call, scan_types *t) {
  gemel__scan *s = &t->scan;
  if (!gemel__scan_read(call->attrs, s)) {
    return gemel__rule_fail(
        call, GEMEL_BAD_ARGUMENT,
        "states = %lld and sequences = %lld do not fit a body of %zu inputs and %zu outputs",
        (long long)call->attrs[GEMEL__SCAN_STATES].u.i,
        (long long)call->attrs[GEMEL__SCAN_SEQUENCES].u.i, gemel_graph_input_count(s->body),
        gemel_graph_output_count(s->body));
  }
  if (call->n_inputs < gemel__scan_operands(s)) {
    return gemel__rule_fail(
        call, GEMEL_BAD_ARGUMENT,
        "%zu values, and the body and its attributes ask for %zu: %s%zu initial "
        "values, %zu sequences, %zu constants",
        call->n_inputs, gemel__scan_operands(s), s->limited ? "steps, " : "", s->states,
        s->sequences, s->constants);
  }
  if (s->until && s->reverse) {
    return gemel__rule_fail(call, GEMEL_UNSUPPORTED, "until and reverse exclude each other");
  }
  if (!s->rows && !s->until && !s->limited) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT,
                            "a loop without sequences needs a length, limited or until");
  }
  if (!s->rows && s->values > 0) {
    return gemel__rule_fail(call, GEMEL_BAD_ARGUMENT,
                            "values are stacked where there are sequences or a length");
  }
  return gemel__scan_results(s) > 0
             ? GEMEL_OK
             : gemel__rule_fail(call, GEMEL_BAD_ARGUMENT, "the body has no outputs");
}

/* The steps are a scalar, sequences have rows, and what comes behind the constants are sizes. */
static gemel_status check_operands(const gemel_infer *call, const gemel__scan *s) {
  if (s->limited && (gemel__rule_dtype(call, 0) != GEMEL_I64 ||
                     gemel_type_rank(call->context, call->inputs[0]) != 0)) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "the number of steps is an i64 scalar");
  }
  for (size_t k = 0; k < s->sequences; k++) {
    if (gemel_type_rank(call->context, call->inputs[gemel__scan_sequence(s, k)]) == 0) {
      return gemel__rule_fail(call, GEMEL_BAD_TYPE, "sequence %zu is a scalar: it has no rows", k);
    }
  }
  return gemel__rule_sizes(call, gemel__scan_operands(s));
}

/* A dim of an attribute; GEMEL_DIM_NONE if it is absent. Negative ones are refused. */
static gemel_status attribute_dim(const gemel_infer *call, int which, gemel_dim *dim) {
  int64_t number;
  *dim = GEMEL_DIM_NONE;
  if (call->attrs[which].kind == GEMEL_ATTR_NONE) {
    return GEMEL_OK;
  }
  GEMEL__TRY(gemel__rule_dims(call, &call->attrs[which], dim));
  if (gemel_dim_is_constant(call->context, *dim, &number) && number < 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "%s is %lld", call->attrs[which].name,
                            (long long)number);
  }
  return GEMEL_OK;
}

/* The number of rows, which all sequences have. */
static gemel_status find_length(const gemel_infer *call, scan_types *t) {
  const gemel__scan *s = &t->scan;
  gemel_dim truncate;
  GEMEL__TRY(attribute_dim(call, GEMEL__SCAN_TRUNCATE, &truncate));
  GEMEL__TRY(attribute_dim(call, GEMEL__SCAN_LENGTH, &t->length));
  for (size_t k = 0; k < s->sequences; k++) {
    gemel_dim rows = gemel_type_dims(call->context, call->inputs[gemel__scan_sequence(s, k)])[0];
    if (gemel_dim_is_none(t->length)) {
      t->length = rows;
    } else if (gemel__dim_compare(call->context, t->length, rows) == GEMEL__DIFFERENT) {
      char a[200], b[200];
      gemel_dim_format(call->context, rows, a, sizeof a);
      gemel_dim_format(call->context, t->length, b, sizeof b);
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                              "sequence %zu has %s rows, and %s are expected", k, a, b);
    }
  }
  if (s->rows) {
    t->rows = gemel_dim_add(call->context, t->length, gemel_dim_constant(call->context, 1));
    GEMEL__TRY(gemel_dim_is_none(t->rows)
                   ? gemel__rule_no_size(call, "the number of a history's rows")
                   : GEMEL_OK);
  }
  return GEMEL_OK;
}

static gemel_status find_results(const gemel_infer *call, scan_types *t) {
  const gemel__scan *s = &t->scan;
  for (size_t k = 0; k < s->states + s->sequences + s->constants; k++) {
    int row = k >= s->states && k < s->states + s->sequences;
    t->arguments[k] = (gemel__body_argument){call->inputs[gemel__scan_initial(s, k)], row};
  }
  return gemel__body_infer(call, s->body, t->arguments, t->results);
}

static int same_type(gemel_context *context, gemel_type a, gemel_type b) {
  int rank = gemel_type_rank(context, a);
  if (gemel_type_dtype(context, a) != gemel_type_dtype(context, b) ||
      rank != gemel_type_rank(context, b)) {
    return 0;
  }
  for (int axis = 0; axis < rank; axis++) {
    if (gemel__dim_compare(context, gemel_type_dims(context, a)[axis],
                           gemel_type_dims(context, b)[axis]) == GEMEL__DIFFERENT) {
      return 0;
    }
  }
  return 1;
}

/* What a step makes of a state has the state's type: nothing is promoted or broadcast. */
static gemel_status check_states(const gemel_infer *call, const scan_types *t) {
  const gemel__scan *s = &t->scan;
  for (size_t k = 0; k < s->states; k++) {
    if (!same_type(call->context, t->results[k], t->arguments[k].type)) {
      char before[160], after[160];
      gemel_type_format(call->context, t->arguments[k].type, before, sizeof before);
      gemel_type_format(call->context, t->results[k], after, sizeof after);
      return gemel__rule_fail(
          call, GEMEL_BAD_TYPE,
          "state %s begins as %s and becomes %s (%s): the types must be the same",
          gemel_graph_input_name(s->body, k), before, after, gemel_graph_output_name(s->body, k));
    }
  }
  if (s->until) {
    gemel_type stop = t->results[s->states + s->values];
    if (gemel_type_dtype(call->context, stop) != GEMEL_BOOL ||
        gemel_type_rank(call->context, stop) != 0) {
      return gemel__rule_fail(call, GEMEL_BAD_TYPE,
                              "with until, the body's last output (%s) is a bool scalar",
                              gemel_graph_output_name(s->body, s->states + s->values));
    }
  }
  return GEMEL_OK;
}

static void put(gemel_infer *call, size_t k, gemel_type type) {
  if (k < call->max_outputs) {
    call->outputs[k] = type;
  }
}

/* Result K: ROWS of TYPE. */
static gemel_status put_rows(gemel_infer *call, size_t k, gemel_dim rows, gemel_type type) {
  gemel_dim dims[GEMEL_MAX_RANK + 1];
  int rank = gemel_type_rank(call->context, type);
  gemel_infer one = *call;
  gemel_type stacked;
  dims[0] = rows;
  for (int axis = 0; axis < rank; axis++) {
    dims[axis + 1] = gemel_type_dims(call->context, type)[axis];
  }
  one.outputs = &stacked;
  GEMEL__TRY(gemel__rule_result(&one, gemel_type_dtype(call->context, type), rank + 1, dims));
  put(call, k, stacked);
  return GEMEL_OK;
}

static gemel_status put_results(gemel_infer *call, const scan_types *t) {
  const gemel__scan *s = &t->scan;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; status == GEMEL_OK && k < s->states; k++) {
    put(call, k, t->arguments[k].type);
    status = s->rows ? put_rows(call, gemel__scan_history(s, k), t->rows, t->arguments[k].type)
                     : GEMEL_OK;
  }
  for (size_t k = 0; status == GEMEL_OK && k < s->values; k++) {
    status = put_rows(call, gemel__scan_stack(s, k), t->length, t->results[s->states + k]);
  }
  if (status == GEMEL_OK && s->until) {
    gemel_type count = gemel_type_new(call->context, GEMEL_I64, 0, NULL, GEMEL_SPACE_HOST);
    put(call, gemel__scan_count(s), count);
    status = gemel_type_is_none(count) ? gemel__no_memory(call->error, "a type") : GEMEL_OK;
  }
  call->n_outputs = gemel__scan_results(s);
  return status;
}

static gemel_status infer_types(gemel_infer *call, scan_types *t) {
  GEMEL__TRY(check_operands(call, &t->scan));
  GEMEL__TRY(find_length(call, t));
  GEMEL__TRY(find_results(call, t));
  GEMEL__TRY(check_states(call, t));
  return put_results(call, t);
}

static gemel_status infer_scan(gemel_infer *call) {
  scan_types t = {.length = GEMEL_DIM_NONE, .rows = GEMEL_DIM_NONE};
  gemel_status status = check_numbers(call, &t);
  if (status != GEMEL_OK) {
    return status;
  }
  size_t n_in = gemel_graph_input_count(t.scan.body);
  size_t n_out = gemel_graph_output_count(t.scan.body);
  t.arguments = gemel__alloc_array(n_in, sizeof *t.arguments);
  t.results = gemel__alloc_array(n_out, sizeof *t.results);
  status = t.arguments != NULL && t.results != NULL
               ? infer_types(call, &t)
               : gemel__no_memory(call->error, "a loop's types");
  gemel__free(t.arguments, n_in * sizeof *t.arguments);
  gemel__free(t.results, n_out * sizeof *t.results);
  return status;
}

/* ---- Normal form ---- */

/* A length that sequences say is left out; any number other than 0 is 1 for what is a switch. */
static gemel_status normalize_scan(gemel_normalize *call) {
  static const int switches[] = {GEMEL__SCAN_REVERSE, GEMEL__SCAN_LIMITED, GEMEL__SCAN_UNTIL,
                                 GEMEL__SCAN_RECOMPUTE};
  gemel_attr *length = &call->attrs[GEMEL__SCAN_LENGTH];
  gemel__scan s;
  for (size_t k = 0; k < sizeof switches / sizeof *switches; k++) {
    call->attrs[switches[k]].u.i = call->attrs[switches[k]].u.i != 0;
  }
  if (gemel__scan_read(call->attrs, &s) && length->kind == GEMEL_ATTR_DIM && s.sequences > 0 &&
      gemel__scan_sequence(&s, 0) < call->n_inputs) {
    gemel_type type = call->inputs[gemel__scan_sequence(&s, 0)];
    if (gemel_type_rank(call->context, type) > 0 &&
        gemel_dim_equal(gemel_type_dims(call->context, type)[0], length->u.dim)) {
      *length = (gemel_attr){.name = length->name, .kind = GEMEL_ATTR_NONE};
    }
  }
  return GEMEL_OK;
}

/* ---- Devices ---- */

int64_t gemel__scan_length(const gemel_kernel_call *call, const gemel__scan *s) {
  return !s->rows           ? INT64_MAX
         : s->sequences > 0 ? call->inputs[gemel__scan_sequence(s, 0)].shape[0]
                            : call->attrs[GEMEL__SCAN_LENGTH].u.i;
}

static int64_t count_steps(const gemel_kernel_call *call) {
  gemel__scan s;
  gemel__scan_read(call->attrs, &s);
  return s.rows ? gemel__scan_length(call, &s) : -1;
}

static int follows(const gemel_attr *attrs) {
  gemel__scan s;
  return gemel__scan_read(attrs, &s) && gemel__scan_follows(&s);
}

const gemel__hooks gemel__hooks_scan = {
    .infer = infer_scan,
    .grad = gemel__scan_grad,
    .jvp = gemel__scan_jvp,
    .kernels = gemel__scan_kernels,
    .normalize = normalize_scan,
    .follows = follows,
    .steps = count_steps,
};
