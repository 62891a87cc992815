/* SPDX-License-Identifier: MIT
 *
 * Reference of scan, which is its definition:
 *
 *   s = initial;  n = limited ? steps : T;  history[reverse ? n : 0] = s
 *   for i = 0 .. n - 1:
 *     t = reverse ? n - 1 - i : i
 *     s, y, stop = body(s, x[t], constants)
 *     history[reverse ? t : t + 1] = s;  stack[t] = y
 *     if until and stop: leave the loop
 *   last = s;  count = steps done;  rows not written are 0
 *
 * A truncated derivative treats the results of all steps before the last `truncate` ones as
 * constants: when the first of the last ones begins, the tangents of all values so far are dropped,
 * except those of the initial value. If the number of steps isn't known beforehand, they are
 * counted in a first run.
 *
 * Rows are copied. If it is undecided whether a step is the last, all results are undecided.
 */
#include <string.h>
#include "reference/common.h"
#include "reference/twin.h"

/* Attributes by number. */
enum { BODY, STATES, SEQUENCES, LENGTH, REVERSE, LIMITED, UNTIL, TRUNCATE };

typedef struct scan_reference {
  gemel__rcall *call;
  gemel__evaluation inside;
  const gemel_graph *body;
  size_t states, sequences, values, n_in, n_out;
  int reverse, limited, until, rows;
  int64_t length, steps;
  int64_t forgotten; /* before which step tangents are dropped, or a negative number */
  int unknown;       /* 1: the number of steps is undecided */
  const gemel__rtensor *const *operands; /* initial values, sequences, constants */
  gemel__rtensor *in;                    /* of the body: states and rows */
  const gemel__rtensor **given;          /* all inputs of the body */
  gemel__rtensor *out;                   /* of the body */
} scan_reference;

static gemel_status read_numbers(scan_reference *l) {
  const gemel__rcall *call = l->call;
  const gemel_attr *a = call->attrs;
  l->body = a[BODY].u.graph;
  l->n_in = gemel_graph_input_count(l->body);
  l->n_out = gemel_graph_output_count(l->body);
  l->states = (size_t)a[STATES].u.i;
  l->sequences = (size_t)a[SEQUENCES].u.i;
  l->reverse = a[REVERSE].u.i != 0;
  l->limited = a[LIMITED].u.i != 0;
  l->until = a[UNTIL].u.i != 0;
  l->values = l->n_out - l->states - (size_t)l->until;
  l->operands = call->inputs + l->limited;
  l->rows = l->sequences > 0 || !gemel__reference_absent(call, LENGTH);
  l->length = l->steps = INT64_MAX;
  if (l->rows) {
    l->length = l->sequences > 0 ? l->operands[l->states]->shape[0] : a[LENGTH].u.i;
    l->steps = l->length;
  }
  if (l->limited) {
    l->unknown =
        !call->domain->to_integer(call->domain, gemel__rtensor_at(call->inputs[0], 0), &l->steps);
    l->steps = l->unknown ? 0 : l->steps;
  }
  for (size_t k = 0; k < l->sequences; k++) {
    if (l->operands[l->states + k]->shape[0] != l->length) {
      return gemel__fail(call->error, GEMEL_BAD_SHAPE, "sequences have other numbers of rows");
    }
  }
  return l->steps >= 0 && l->steps <= l->length
             ? GEMEL_OK
             : gemel__fail(call->error, GEMEL_BAD_VALUE, "%lld steps of %lld rows",
                           (long long)l->steps, (long long)l->length);
}

/* ---- Rows ---- */

/* ROW = row T of X; BACK: row T of X = ROW. */
static void copy_row(gemel__domain *d, gemel__rtensor *row, gemel__rtensor *x, int64_t t,
                     int back) {
  for (size_t i = 0; i < row->count; i++) {
    void *there = gemel__rtensor_at(x, (size_t)t * row->count + i);
    void *here = gemel__rtensor_at(row, i);
    d->set(d, back ? there : here, back ? here : there);
  }
}

/* Makes result K of ROWS rows of LIKE's shape, all 0. */
static gemel_status make_rows(gemel__rcall *call, size_t k, int64_t rows,
                              const gemel__rtensor *like) {
  int64_t shape[GEMEL_MAX_RANK + 1];
  if (like->rank >= GEMEL_MAX_RANK) {
    return gemel__fail(call->error, GEMEL_BAD_SHAPE, "a state of rank %d", like->rank);
  }
  shape[0] = rows;
  memcpy(shape + 1, like->shape, (size_t)like->rank * sizeof *shape);
  return gemel__reference_output(call, k, like->dtype, like->rank + 1, shape);
}

/* Makes the body's inputs: copies of states and rows; constants are used as they are. */
static gemel_status make_inputs(scan_reference *l) {
  gemel__domain *d = l->call->domain;
  for (size_t k = 0; k < l->n_in; k++) {
    const gemel__rtensor *x = l->operands[k];
    int row = k >= l->states && k < l->states + l->sequences;
    if (k < l->states + l->sequences) {
      GEMEL__TRY(gemel__rtensor_init(&l->in[k], d, x->dtype, x->rank - row, x->shape + row,
                                     l->call->error));
    }
    for (size_t i = 0; k < l->states && i < x->count; i++) {
      d->set(d, gemel__rtensor_at(&l->in[k], i), gemel__rtensor_at(x, i));
    }
    l->given[k] = k < l->states + l->sequences ? &l->in[k] : x;
  }
  return GEMEL_OK;
}

/* Makes the histories and stacks. */
static gemel_status make_results(scan_reference *l) {
  gemel__rcall *call = l->call;
  size_t stacks = (size_t)(l->rows ? 2 : 1) * l->states;
  gemel_status status =
      gemel__reference_body_types(l->body, call->domain, l->given, l->out, &l->inside, call->error);
  for (size_t k = 0; k < l->states && l->rows && status == GEMEL_OK; k++) {
    status = make_rows(call, l->states + k, l->length + 1, &l->in[k]);
    if (status == GEMEL_OK) {
      copy_row(call->domain, &l->in[k], &call->outputs[l->states + k], l->reverse ? l->steps : 0,
               1);
    }
  }
  for (size_t k = 0; k < l->values && status == GEMEL_OK; k++) {
    status = make_rows(call, stacks + k, l->length, &l->out[l->states + k]);
  }
  gemel__rtensors_clear(l->n_out, l->out);
  return status;
}

/* ---- Steps ---- */

/* Runs one step, with row T of each sequence. */
static gemel_status take_step(scan_reference *l, int64_t t) {
  gemel__rcall *call = l->call;
  size_t stacks = (size_t)(l->rows ? 2 : 1) * l->states;
  for (size_t k = l->states; k < l->states + l->sequences; k++) {
    copy_row(call->domain, &l->in[k], (gemel__rtensor *)l->operands[k], t, 0);
  }
  GEMEL__TRY(
      gemel__reference_body(l->body, call->domain, l->given, l->out, &l->inside, call->error));
  for (size_t k = 0; k < l->states; k++) {
    gemel__rtensor before = l->in[k];
    if (l->out[k].count != before.count || l->out[k].dtype != before.dtype) {
      return gemel__fail(call->error, GEMEL_BAD_SHAPE, "a state changes its type");
    }
    l->in[k] = l->out[k];
    l->out[k] = before;
    if (l->rows) {
      copy_row(call->domain, &l->in[k], &call->outputs[l->states + k], l->reverse ? t : t + 1, 1);
    }
  }
  for (size_t k = 0; k < l->values; k++) {
    copy_row(call->domain, &l->out[l->states + k], &call->outputs[stacks + k], t, 1);
  }
  return GEMEL_OK;
}

/* 1 if the step was the last, 0 if not, −1 if undecided. */
static int stops(const scan_reference *l) {
  int64_t stop;
  if (!l->until) {
    return 0;
  }
  const gemel__rtensor *t = &l->out[l->states + l->values];
  return l->call->domain->to_integer(l->call->domain, gemel__rtensor_at(t, 0), &stop) ? stop != 0
                                                                                      : -1;
}

static void forget_elements(gemel__domain *d, gemel__rtensor *t, size_t begin, size_t end) {
  for (size_t i = begin; i < end && d->forget != NULL; i++) {
    d->forget(d, gemel__rtensor_at(t, i));
  }
}

/* Drops the tangents of the states and of all rows but that of the initial value. */
static void forget(scan_reference *l) {
  gemel__rcall *call = l->call;
  size_t stacks = (size_t)(l->rows ? 2 : 1) * l->states;
  for (size_t k = 0; k < l->states; k++) {
    gemel__rtensor *history = &call->outputs[l->states + k];
    size_t row = l->in[k].count;
    size_t kept = (size_t)(l->reverse ? l->steps : 0) * row;
    forget_elements(call->domain, &l->in[k], 0, row);
    if (l->rows) {
      forget_elements(call->domain, history, 0, kept);
      forget_elements(call->domain, history, kept + row, history->count);
    }
  }
  for (size_t k = 0; k < l->values; k++) {
    forget_elements(call->domain, &call->outputs[stacks + k], 0, call->outputs[stacks + k].count);
  }
}

/* Runs the steps; *DONE is how many, −1 if that is undecided. */
static gemel_status take_steps(scan_reference *l, int64_t *done) {
  gemel_status status = GEMEL_OK;
  int stop = 0;
  int64_t i = l->until || l->steps <= GEMEL__MOST_STEPS ? 0 : GEMEL__MOST_STEPS;
  while (i < l->steps && stop == 0 && status == GEMEL_OK) {
    if (i == GEMEL__MOST_STEPS) {
      gemel__ticker_unfollowed();
      return gemel__fail(l->call->error, GEMEL_TOO_LONG, "more than %d steps", GEMEL__MOST_STEPS);
    }
    if (i == l->forgotten) {
      forget(l);
    }
    status = take_step(l, l->reverse ? l->steps - 1 - i : i);
    stop = status == GEMEL_OK ? stops(l) : 0;
    gemel__rtensors_clear(l->n_out, l->out);
    i++;
  }
  *done = stop < 0 || l->unknown ? -1 : i;
  if (status == GEMEL_OK && i > 0 && i == l->forgotten) {
    forget(l);
  }
  return status;
}

static void undecide(scan_reference *l) {
  gemel__domain *d = l->call->domain;
  for (size_t k = 0; k < l->call->n_outputs; k++) {
    for (size_t i = 0; i < l->call->outputs[k].count; i++) {
      d->set_state(d, gemel__rtensor_at(&l->call->outputs[k], i), GEMEL__UNDECIDED);
    }
  }
}

/* Makes the results: last states, and the number of steps. */
static gemel_status leave_results(scan_reference *l, int64_t done) {
  gemel__rcall *call = l->call;
  size_t count = (size_t)(l->rows ? 2 : 1) * l->states + l->values;
  for (size_t k = 0; k < l->states; k++) {
    call->outputs[k] = l->in[k];
    memset(&l->in[k], 0, sizeof l->in[k]);
  }
  if (l->until) {
    GEMEL__TRY(gemel__reference_output(call, count, GEMEL_I64, 0, NULL));
  }
  call->n_outputs = count + (size_t)l->until;
  if (l->until && done >= 0) {
    call->domain->from_integer(call->domain, gemel__rtensor_at(&call->outputs[count], 0), done);
  }
  if (done < 0) {
    undecide(l);
  }
  return GEMEL_OK;
}

/* Runs the steps once to count them, and restores the initial states. */
static gemel_status count_steps(scan_reference *l, int64_t most) {
  int64_t done = 0;
  GEMEL__TRY(take_steps(l, &done));
  for (size_t k = 0; k < l->states; k++) {
    for (size_t i = 0; i < l->in[k].count; i++) {
      l->call->domain->set(l->call->domain, gemel__rtensor_at(&l->in[k], i),
                           gemel__rtensor_at(l->operands[k], i));
    }
  }
  l->forgotten = done - most;
  return GEMEL_OK;
}

static gemel_status run_loop(scan_reference *l) {
  int64_t done = 0;
  GEMEL__TRY(make_inputs(l));
  l->forgotten = -1;
  GEMEL__TRY(make_results(l));
  if (!gemel__reference_absent(l->call, TRUNCATE)) {
    int64_t most = l->call->attrs[TRUNCATE].u.i;
    if (l->until) {
      GEMEL__TRY(count_steps(l, most));
    } else {
      l->forgotten = l->steps - most;
    }
    l->forgotten = l->forgotten > 0 ? l->forgotten : -1;
  }
  GEMEL__TRY(take_steps(l, &done));
  return leave_results(l, done);
}

static gemel_status reference_scan(gemel__rcall *call) {
  const gemel__evaluation *within = call->data;
  scan_reference l = {.call = call, .inside = *within};
  GEMEL__TRY(read_numbers(&l));
  if (within->depth >= GEMEL_MAX_NESTING) {
    return gemel__fail(call->error, GEMEL_UNSUPPORTED, "bodies nested deeper than %d",
                       GEMEL_MAX_NESTING);
  }
  l.inside.depth++;
  l.inside.outer = within;
  l.in = gemel__alloc_zeroed((l.n_in + 1) * sizeof *l.in);
  l.out = gemel__alloc_zeroed((l.n_out + 1) * sizeof *l.out);
  l.given = gemel__alloc_array(l.n_in, sizeof *l.given);
  gemel_status status = l.in != NULL && l.out != NULL && l.given != NULL
                            ? run_loop(&l)
                            : gemel__no_memory(call->error, "a loop");
  gemel__rtensors_free(l.n_in + 1, l.in);
  gemel__rtensors_free(l.n_out + 1, l.out);
  gemel__free(l.given, l.n_in * sizeof *l.given);
  return status;
}

const gemel__twin gemel__twin_scan = {
    .reference = reference_scan, .sample = gemel__sampler_scan, .refuses_with = 1};
