/* SPDX-License-Identifier: MIT
 *
 * Generators of the passes that join, prune and unroll loops. Loops are drawn as they are for the
 * operation itself, with other numbers of rows, in a graph where operands are shared and results
 * are left unread.
 */
#include <stdio.h>
#include <string.h>
#include <gemel/composite.h>
#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/error.h"
#include "ops/body.h"
#include "ops/scan.h"
#include "passes/instances.h"
#include "passes/passes.h"
#include "sample/sampling.h"

/* A random loop: its body and operands in a graph. */
typedef struct drawn_scan {
  gemel__drawing by;
  gemel_graph *body; /* one reference */
  gemel_scan_options options;
  gemel__scan scan;
  size_t n_operands;
  gemel_value operands[GEMEL_SAMPLE_MAX_INPUTS];
} drawn_scan;

/* What loops are drawn: any; without `until`; those that are unrolled, of 3 rows at most. */
typedef enum drawn_kind { DRAW_ANY, DRAW_WITHOUT_UNTIL, DRAW_SHORT } drawn_kind;

/* ---- The sample ---- */

/* The sample's attribute NAME; NULL: it has none. */
static const gemel_attr *attr_of(const gemel_sample *sample, const char *name) {
  for (size_t k = 0; k < sample->n_attrs; k++) {
    if (strcmp(sample->attrs[k].name, name) == 0) {
      return &sample->attrs[k];
    }
  }
  return NULL;
}

/* The number that the sample has for attribute NAME; 0 if it has none. */
static int64_t number_of(const gemel_sample *sample, const char *name) {
  const gemel_attr *attr = attr_of(sample, name);
  return attr != NULL ? attr->u.i : 0;
}

/* How many steps the derivatives of the sample take; GEMEL_DIM_NONE: all. */
static gemel_dim truncate_of(const gemel_sample *sample) {
  const gemel_attr *attr = attr_of(sample, "truncate");
  return attr != NULL ? attr->u.dim : GEMEL_DIM_NONE;
}

static void take_attributes(drawn_scan *d, const gemel_sample *sample, gemel_dim rows) {
  d->body = gemel_graph_ref(sample->attrs[0].u.graph);
  d->options.states = number_of(sample, "states");
  d->options.sequences = number_of(sample, "sequences");
  d->options.reverse = number_of(sample, "reverse");
  d->options.limited = number_of(sample, "limited");
  d->options.until = number_of(sample, "until");
  d->options.recompute = number_of(sample, "recompute");
  d->options.truncate = truncate_of(sample);
  d->options.length = d->options.sequences == 0 ? rows : GEMEL_DIM_NONE;
}

/* ---- Operands ---- */

static gemel_value new_input(const drawn_scan *d, gemel_type type) {
  char name[32];
  snprintf(name, sizeof name, "a%zu", gemel_graph_input_count(d->by.graph));
  return gemel_input(d->by.graph, name, type);
}

/* An operand of TYPE: now and then an earlier one, or a constant. */
static gemel_value draw_operand(const drawn_scan *d, gemel_type type) {
  gemel_context *context = gemel_graph_context(d->by.graph);
  gemel_dtype dtype = gemel_type_dtype(context, type);
  uint64_t way = gemel__draw_below(&d->by, 6);
  for (size_t k = d->n_operands; k-- > 0 && way < 2;) {
    if (gemel_type_equal(gemel_value_type(d->operands[k]), type)) {
      return d->operands[k];
    }
  }
  if (way == 2 && dtype != GEMEL_U64) { /* keys are u64 */
    return gemel_broadcast_to(
        gemel_scalar(d->by.graph, dtype, (double)gemel__draw_below(&d->by, 2)),
        (size_t)gemel_type_rank(context, type), gemel_type_dims(context, type));
  }
  return new_input(d, type);
}

/* How many rows are taken: no more than there are. */
static gemel_value draw_steps(const drawn_scan *d, int64_t rows) {
  gemel_graph *graph = d->by.graph;
  gemel_type type = gemel_type_new(gemel_graph_context(graph), GEMEL_I64, 0, NULL, 0);
  if (gemel__draw_below(&d->by, 2)) {
    return gemel_scalar(graph, GEMEL_I64, (double)gemel__draw_below(&d->by, (uint64_t)rows + 1));
  }
  return gemel_clip(new_input(d, type), gemel_scalar(graph, GEMEL_I64, 0),
                    gemel_scalar(graph, GEMEL_I64, (double)rows));
}

/* TYPE, which the sample has for operand K, with as many rows as are wanted. */
static gemel_type type_with(const drawn_scan *d, size_t k, gemel_type type, gemel_dim rows) {
  gemel_context *context = gemel_graph_context(d->by.graph);
  size_t first = (size_t)d->options.limited + (size_t)d->options.states;
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank = gemel_type_rank(context, type);
  if (k < first || k >= first + (size_t)d->options.sequences) {
    return type;
  }
  for (int axis = 0; axis < rank; axis++) {
    dims[axis] = axis == 0 ? rows : gemel_type_dims(context, type)[axis];
  }
  return gemel_type_new(context, gemel_type_dtype(context, type), rank, dims, 0);
}

/* What scan_read finds in the options. */
static void describe(drawn_scan *d) {
  size_t inputs = gemel_graph_input_count(d->body), outputs = gemel_graph_output_count(d->body);
  d->scan = (gemel__scan){.body = d->body,
                          .states = (size_t)d->options.states,
                          .sequences = (size_t)d->options.sequences,
                          .reverse = d->options.reverse != 0,
                          .limited = d->options.limited != 0,
                          .until = d->options.until != 0,
                          .rows = 1};
  d->scan.constants = inputs - d->scan.states - d->scan.sequences;
  d->scan.values = outputs - d->scan.states - (size_t)d->scan.until;
}

/* 1 if the sample, with so many ROWS, is of this KIND. */
static int is_wanted(const gemel_sample *sample, drawn_kind kind, int64_t rows) {
  int until = number_of(sample, "until") != 0;
  return kind == DRAW_ANY || (kind == DRAW_WITHOUT_UNTIL && !until) ||
         (kind == DRAW_SHORT && !(until && rows > 1) && number_of(sample, "limited") == 0 &&
          gemel_dim_is_none(truncate_of(sample)));
}

/* Draws a loop with 0, 1, 2, 3, 5 or 17 rows; operands are inputs, equal ones among them, and
 * constants. To be cleared in any case. */
static gemel_status draw_scan(drawn_scan *d, gemel_graph *graph, uint64_t (*random)(void *user),
                              void *user, drawn_kind kind) {
  static const int64_t lengths[] = {0, 1, 2, 3, 5, 17};
  gemel_context *context = gemel_graph_context(graph);
  *d = (drawn_scan){.by = gemel__draw_on(graph, random, user, 0)};
  int integer = gemel__draw_below(&d->by, 4) == 0;
  d->by.dtype = integer ? GEMEL_I32 : gemel__draw_below(&d->by, 2) ? GEMEL_F32 : GEMEL_F64;
  int64_t rows = lengths[gemel__draw_below(&d->by, kind == DRAW_SHORT ? 4 : 6)];
  gemel_sample sample;
  gemel_status status;
  do {
    memset(&sample, 0, sizeof sample);
    sample.size = sizeof sample;
    sample.context = context;
    sample.random = random;
    sample.user = user;
    sample.dtype = d->by.dtype;
    sample.max_elements = rows > 5 ? 8 : 40;
    status = gemel__sampler_scan(&sample);
  } while (status == GEMEL_OK && !is_wanted(&sample, kind, rows));
  if (status != GEMEL_OK) {
    return status;
  }
  gemel_dim length = gemel_dim_constant(context, rows);
  take_attributes(d, &sample, length);
  describe(d);
  for (size_t k = 0; k < sample.n_inputs; k++) {
    d->operands[k] = k == 0 && d->scan.limited
                         ? draw_steps(d, rows)
                         : draw_operand(d, type_with(d, k, sample.inputs[k], length));
    d->n_operands = k + 1;
  }
  return gemel_graph_error(graph)->status;
}

static void clear(drawn_scan *d) {
  gemel_graph_unref(d->body);
  d->body = NULL;
}

/* ---- The loop ---- */

/* The first result of the loop. */
static gemel_value draw_scan_loop(const drawn_scan *d) {
  return gemel_scan_at(d->n_operands, d->operands, d->body, &d->options, GEMEL_HERE);
}

/* D's body in BODY, and what one of its nodes gives as one more output, before `stop`; OUT has room
 * for its outputs. */
static gemel_status build_longer(const drawn_scan *d, gemel_graph *body, gemel_value *out) {
  gemel_value in[GEMEL_SAMPLE_MAX_INPUTS];
  size_t n = gemel_graph_output_count(d->body), stop = n - (size_t)d->scan.until;
  for (size_t k = 0; k < gemel_graph_input_count(d->body); k++) {
    in[k] = gemel_input(body, gemel_graph_input_name(d->body, k), gemel__body_input(d->body, k));
  }
  GEMEL__TRY(gemel__graph_inline(body, d->body, in, out, NULL));
  for (size_t k = 0; k <= n; k++) {
    if (k == stop) {
      uint32_t node = (uint32_t)gemel__draw_below(&d->by, gemel_graph_node_count(body));
      GEMEL__TRY(gemel_output((gemel_value){body, node, 0}, "more"));
    }
    if (k < n) {
      GEMEL__TRY(gemel_output(out[k], gemel_graph_output_name(d->body, k)));
    }
  }
  return GEMEL_OK;
}

/* The same with a body of which a value more is stacked; to be cleared in any case. */
static gemel_status draw_longer(const drawn_scan *d, drawn_scan *longer) {
  size_t n = gemel_graph_output_count(d->body);
  gemel_value *out = gemel__alloc_array(n, sizeof *out);
  *longer = *d;
  longer->body = gemel_graph_new(gemel_graph_context(d->by.graph), NULL);
  longer->scan.body = longer->body;
  longer->scan.values++;
  gemel_status status =
      longer->body == NULL || out == NULL ? GEMEL_NO_MEMORY : build_longer(d, longer->body, out);
  gemel__free(out, n * sizeof *out);
  return status;
}

static gemel_status new_output(const drawn_scan *d, gemel_value value) {
  char name[32];
  snprintf(name, sizeof name, "r%zu", gemel_graph_output_count(d->by.graph));
  return gemel_output(value, name);
}

/* The first row of a history, or the last. */
static gemel_status row_output(const drawn_scan *d, gemel_value history) {
  int64_t index = gemel__draw_below(&d->by, 2) ? -1 : 0;
  return new_output(d, gemel_index(history, 0, index));
}

/* Makes some results of LOOP outputs of the graph, one at least, with ROWS some rows of histories
 * too. LOOP may have more stacks than D: these are left. */
static gemel_status draw_scan_outputs(const drawn_scan *d, gemel_value loop, int rows) {
  size_t count = gemel__scan_count(&d->scan);
  size_t n = gemel__scan_results(&d->scan);
  if (gemel_is_null(loop)) {
    return gemel_graph_error(d->by.graph)->status;
  }
  size_t one = (size_t)gemel__draw_below(&d->by, n);
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < n && status == GEMEL_OK; k++) {
    int last = k == count; /* the number of steps, behind all stacks */
    gemel_value result =
        gemel_value_output(loop, last ? loop.graph->nodes[loop.node].n_outputs - 1u : (uint32_t)k);
    int history = k >= d->scan.states && k < 2 * d->scan.states;
    if (history && rows && gemel__draw_below(&d->by, 4) == 0) {
      status = row_output(d, result);
    }
    if (status == GEMEL_OK && (k == one || gemel__draw_below(&d->by, 2))) {
      status = new_output(d, result);
    }
  }
  return status;
}

/* ---- The generators ---- */

/* A loop of which one stack at least isn't read. */
gemel_status gemel__generate_scan_prune(gemel_graph *graph, uint64_t (*random)(void *user),
                                        void *user, const void *data) {
  drawn_scan d, longer = {.body = NULL};
  (void)data;
  gemel_status status = draw_scan(&d, graph, random, user, DRAW_ANY);
  if (status == GEMEL_OK) {
    status = draw_longer(&d, &longer);
  }
  if (status == GEMEL_OK) {
    status = draw_scan_outputs(&d, draw_scan_loop(&longer), 1);
  }
  clear(&longer);
  clear(&d);
  return status;
}

/* A short loop. */
gemel_status gemel__generate_scan_unroll(gemel_graph *graph, uint64_t (*random)(void *user),
                                         void *user, const void *data) {
  drawn_scan d;
  (void)data;
  gemel_status status = draw_scan(&d, graph, random, user, DRAW_SHORT);
  if (status == GEMEL_OK) {
    status = draw_scan_outputs(&d, draw_scan_loop(&d), 1);
  }
  clear(&d);
  return status;
}

/* A loop as D says it with a body that gives more, and with some operands exchanged; of some states
 * the initial value is the last of loop FED_BY, if that isn't null. */
static gemel_status draw_another(const drawn_scan *d, gemel_value fed_by) {
  drawn_scan other;
  gemel_status status = draw_longer(d, &other);
  size_t first = (size_t)d->scan.limited;
  for (size_t k = first; k < d->n_operands && status == GEMEL_OK; k++) {
    size_t from = first + (size_t)gemel__draw_below(&d->by, d->n_operands - first);
    if (gemel__draw_below(&d->by, 3) == 0 &&
        gemel_type_equal(gemel_value_type(d->operands[from]), gemel_value_type(d->operands[k]))) {
      other.operands[k] = d->operands[from];
    }
    if (!gemel_is_null(fed_by) && k < first + d->scan.states) {
      other.operands[k] = gemel_value_output(fed_by, (uint32_t)(k - first));
    }
  }
  if (status == GEMEL_OK) {
    status = draw_scan_outputs(&other, draw_scan_loop(&other), 0);
  }
  clear(&other);
  return status;
}

gemel_status gemel__generate_merge_scans(gemel_graph *graph, uint64_t (*random)(void *user),
                                         void *user, const void *data) {
  drawn_scan d;
  (void)data;
  gemel_status status = draw_scan(&d, graph, random, user, DRAW_WITHOUT_UNTIL);
  if (status == GEMEL_OK) {
    gemel_value loop = draw_scan_loop(&d);
    status = draw_scan_outputs(&d, loop, 0);
    if (status == GEMEL_OK) {
      status = draw_another(&d, (gemel_value){NULL, 0, 0});
    }
    if (status == GEMEL_OK && gemel__draw_below(&d.by, 4) == 0) {
      status = draw_another(&d, loop);
    }
  }
  clear(&d);
  return status;
}
