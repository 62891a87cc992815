/* SPDX-License-Identifier: MIT
 *
 * Random loops for the harness. A body is a handful of random operations on states, rows and
 * constants, all of one shape or scalars; some in eight have a loop within, some draw random
 * numbers from a key that is a state. What a state becomes is kept moderate, or else five steps of
 * a product would leave no useful bound.
 */
#include <stdio.h>
#include <string.h>
#include <gemel/ops.h>
#include "ops/body.h"
#include "sample/sampling.h"

enum { MAX_GROUP = 3, MAX_POOL = 32, MAX_LENGTH = 5, MAX_NODES = 8 };

/* A body under construction: of its values those with the loop's dtype, and what it is made for. */
typedef struct random_body {
  gemel_sample *sample;
  gemel_graph *graph;
  gemel_dtype dtype;
  gemel_value pool[MAX_POOL];
  size_t n;
  int rank; /* of what isn't a scalar */
  int64_t shape[2];
  int nested;
} random_body;

static gemel_value pick(const random_body *b) {
  return b->pool[gemel__sample_int(b->sample, 0, (int64_t)b->n - 1)];
}

static void keep(random_body *b, gemel_value value) {
  if (b->n < MAX_POOL && !gemel_is_null(value)) {
    b->pool[b->n++] = value;
  }
}

static int is_float(const random_body *b) {
  return gemel_dtype_kind(b->dtype) == GEMEL_KIND_FLOAT;
}

/* VALUE with the shape of LIKE, which it broadcasts to. */
static gemel_value shaped(gemel_value value, gemel_value like) {
  return gemel_type_rank(gemel_graph_context(value.graph), gemel_value_type(value)) ==
                 gemel_type_rank(gemel_graph_context(value.graph), gemel_value_type(like))
             ? value
             : gemel_fill(like, value);
}

/* The sum of VALUE over its last axis, broadcast back: elements meet. */
static gemel_value spread_sum(const random_body *b, gemel_value value) {
  int64_t axis = -1;
  if (gemel_type_rank(gemel_graph_context(b->graph), gemel_value_type(value)) == 0) {
    return value;
  }
  gemel_value sum = gemel_sum_with(value, .axes = {1, &axis}, .keepdims = 1);
  return gemel_fill(value, gemel_cast(sum, b->dtype));
}

static gemel_value reversed(const random_body *b, gemel_value value) {
  int64_t axis = 0;
  return gemel_type_rank(gemel_graph_context(b->graph), gemel_value_type(value)) == 0
             ? value
             : gemel_reverse(value, 1, &axis);
}

static gemel_value product(const random_body *b, gemel_value x, gemel_value y) {
  int square = b->rank == 2 && b->shape[0] == b->shape[1];
  gemel_context *context = gemel_graph_context(b->graph);
  return square && gemel_type_rank(context, gemel_value_type(x)) == 2 &&
                 gemel_type_rank(context, gemel_value_type(y)) == 2
             ? gemel_dot(x, y)
             : gemel_mul(x, y);
}

/* A random operation on random values. Floats meet no decision: a decision that always goes one way
 * shows nothing, and most of random ones do. */
static gemel_value random_node(random_body *b) {
  gemel_value x = pick(b), y = pick(b);
  switch (gemel__sample_int(b->sample, 0, is_float(b) ? 9 : 6)) {
  case 0:
    return gemel_add(x, y);
  case 1:
    return product(b, x, y);
  case 2:
    return is_float(b) ? gemel_mul(x, y) : gemel_where(gemel_lt(x, y), pick(b), y);
  case 3:
    return spread_sum(b, x);
  case 4:
    return reversed(b, x);
  case 5:
    return b->dtype == GEMEL_BOOL ? gemel_ne(x, y) : gemel_sub(x, y);
  case 6:
    return gemel_mul(x, y);
  case 7:
    return gemel_tanh(x);
  case 8:
    return gemel_sigmoid(x);
  default:
    return gemel_mul(x, gemel_scalar(b->graph, b->dtype, 0.5));
  }
}

/* What a state becomes: something of the state's shape, mostly of moderate size. */
static gemel_value next_state(random_body *b, gemel_value state) {
  gemel_context *context = gemel_graph_context(b->graph);
  int scalar = gemel_type_rank(context, gemel_value_type(state)) == 0;
  gemel_value value = pick(b);
  if (scalar && gemel_type_rank(context, gemel_value_type(value)) > 0) {
    value = gemel_cast(gemel_sum(value), b->dtype);
  }
  value = shaped(value, state);
  if (!is_float(b) || gemel__sample_chance(b->sample, 4)) {
    return value;
  }
  return gemel__sample_chance(b->sample, 2)
             ? gemel_tanh(value)
             : gemel_mul(value, gemel_scalar(b->graph, b->dtype, 0.25));
}

static gemel_type body_type(random_body *b, int scalar) {
  gemel_context *context = gemel_graph_context(b->graph);
  return gemel_type_of_shape(context, b->dtype, scalar ? 0 : b->rank, b->shape);
}

static void enter(random_body *b, char group, size_t k, int scalar) {
  char name[32];
  snprintf(name, sizeof name, "%c%zu", group, k);
  keep(b, gemel_input(b->graph, name, body_type(b, scalar)));
}

/* ---- The loop ---- */

/* What is drawn of a loop before its body is. Scalars are bits by number. */
typedef struct drawn_loop {
  size_t states, sequences, constants, values;
  unsigned scalars;
  int64_t length;
  int reverse, limited, until, key, truncated;
  int64_t truncate;
} drawn_loop;

static void draw_loop(gemel_sample *sample, drawn_loop *l) {
  memset(l, 0, sizeof *l);
  l->states = (size_t)gemel__sample_int(sample, 0, MAX_GROUP);
  l->sequences = (size_t)gemel__sample_int(sample, 0, 2);
  l->constants = (size_t)gemel__sample_int(sample, 0, 1);
  l->values = (size_t)gemel__sample_int(sample, l->states == 0, 2);
  l->scalars = (unsigned)gemel__sample_int(sample, 0, 255);
  l->length = gemel__sample_int(sample, 0, MAX_LENGTH);
  l->reverse = gemel__sample_chance(sample, 3);
  l->limited = gemel__sample_chance(sample, 4);
  l->until = !l->reverse && gemel__sample_chance(sample, 6);
  l->key = gemel__sample_chance(sample, 8);
  l->truncated = gemel__sample_chance(sample, 4);
  l->truncate = gemel__sample_int(sample, 0, MAX_LENGTH - 1);
  if (l->states + l->sequences + l->constants == 0) {
    l->sequences = 1;
  }
}

/* A loop over the rows of X, with one state. */
static gemel_value inner_loop(random_body *b, gemel_value x) {
  gemel_context *context = gemel_graph_context(b->graph);
  gemel_type type = gemel_value_type(x);
  int rank = gemel_type_rank(context, type);
  gemel_graph *body = gemel_graph_new(context, NULL);
  gemel_value in[2], out = {NULL, 0, 0};
  if (body == NULL || rank == 0) {
    gemel_graph_unref(body);
    return x;
  }
  gemel_type row =
      gemel_type_new(context, b->dtype, rank - 1, gemel_type_dims(context, type) + 1, 0);
  in[0] = gemel_input(body, "s0", row);
  in[1] = gemel_input(body, "x0", row);
  gemel_value next = gemel_sub(gemel_mul(in[0], in[1]), in[1]);
  gemel_output(next, "n0");
  gemel_output(gemel_add(next, in[1]), "y0");
  int64_t none = 0;
  in[0] = gemel_sum_with(x, .axes = {1, &none});
  in[0] = gemel_cast(in[0], b->dtype);
  in[1] = x;
  out = gemel_scan_with(2, in, body, .states = 1, .sequences = 1,
                        .reverse = gemel__sample_chance(b->sample, 2));
  gemel_graph_unref(body);
  return gemel_value_output(out, 2);
}

static gemel_status build_body(random_body *b, const drawn_loop *l) {
  size_t inputs = l->states + l->sequences + l->constants;
  gemel_value key = {NULL, 0, 0};
  for (size_t k = 0; k < inputs; k++) {
    char group = k < l->states ? 's' : k < l->states + l->sequences ? 'x' : 'c';
    enter(b, group, k, (int)(l->scalars >> k & 1));
    if (l->key && k + 1 == l->states) {
      static const int64_t two = 2;
      key = gemel_input(b->graph, "key",
                        gemel_type_of_shape(gemel_graph_context(b->graph), GEMEL_U64, 1, &two));
    }
  }
  gemel_value drawn = {NULL, 0, 0};
  if (!gemel_is_null(key)) {
    drawn = gemel_random_bits(key, 0, &GEMEL_DIM_NONE);
    keep(b, gemel_cast(gemel_lt(drawn, gemel_scalar(b->graph, GEMEL_U32, 1u << 31)), b->dtype));
  }
  for (int64_t k = gemel__sample_int(b->sample, 1, MAX_NODES); k > 0; k--) {
    keep(b, random_node(b));
  }
  if (b->nested) {
    keep(b, inner_loop(b, pick(b)));
  }
  for (size_t k = 0; k < l->states; k++) {
    gemel__body_add_output(next_state(b, b->pool[k]), 'n', k);
  }
  if (!gemel_is_null(key)) {
    gemel_output(gemel_value_output(drawn, 1), "key");
  }
  for (size_t k = 0; k < l->values; k++) {
    gemel__body_add_output(pick(b), 'y', k);
  }
  if (l->until) {
    gemel_value above = gemel_gt(pick(b), gemel_scalar(b->graph, b->dtype, 0));
    gemel_output(gemel_gt(gemel_sum(above), gemel_scalar(b->graph, GEMEL_I64, 0)), "stop");
  }
  return gemel_graph_error(b->graph)->status;
}

/* Operands: rows before the types of the body's inputs. */
static void sample_operands(gemel_sample *sample, const random_body *b, const drawn_loop *l) {
  int64_t shape[3] = {l->length, b->shape[0], b->shape[1]};
  if (l->limited) {
    gemel__sample_input(sample, GEMEL_I64, 0, NULL, GEMEL_RANGE_INDEX);
    sample->low[0] = 0;
    sample->high[0] = l->length + 1;
  }
  for (size_t k = 0; k < l->states + l->sequences + l->constants; k++) {
    int rank = l->scalars >> k & 1 ? 0 : b->rank;
    int row = k >= l->states && k < l->states + l->sequences;
    gemel__sample_input(sample, b->dtype, rank + row, shape + !row, GEMEL_RANGE_MODERATE);
    if (l->key && k + 1 == l->states) {
      static const int64_t two = 2;
      gemel__sample_input(sample, GEMEL_U64, 1, &two, GEMEL_RANGE_ANY);
    }
  }
}

static void sample_attributes(gemel_sample *sample, const drawn_loop *l) {
  size_t states = l->states + (size_t)(l->key && l->states > 0);
  gemel__sample_attr(sample, gemel_attr_int("states", (int64_t)states));
  gemel__sample_attr(sample, gemel_attr_int("sequences", (int64_t)l->sequences));
  if (l->sequences == 0 || gemel__sample_chance(sample, 8)) {
    gemel__sample_attr(sample,
                       gemel_attr_dim("length", gemel_dim_constant(sample->context, l->length)));
  }
  gemel__sample_attr(sample, gemel_attr_int("reverse", l->reverse));
  gemel__sample_attr(sample, gemel_attr_int("limited", l->limited));
  gemel__sample_attr(sample, gemel_attr_int("until", l->until));
  gemel__sample_attr(sample, gemel_attr_int("recompute", gemel__sample_chance(sample, 8)));
  if (l->truncated) {
    gemel__sample_attr(
        sample, gemel_attr_dim("truncate", gemel_dim_constant(sample->context, l->truncate)));
  }
}

/* The shape of states: with so many rows of it as the loop has there is room. */
static void draw_shape(gemel_sample *sample, int64_t length, random_body *b) {
  int64_t room = sample->max_elements / (length > 0 ? length : 1);
  int64_t side = room >= 9 ? 3 : room >= 4 ? 2 : 1;
  b->rank = (int)gemel__sample_int(sample, 1, 2);
  b->shape[0] = gemel__sample_int(sample, 1, side);
  b->shape[1] = gemel__sample_chance(sample, 2) ? b->shape[0] : gemel__sample_int(sample, 0, side);
}

gemel_status gemel__sampler_scan(gemel_sample *sample) {
  random_body b = {.sample = sample, .dtype = sample->dtype};
  drawn_loop l;
  draw_loop(sample, &l);
  draw_shape(sample, l.length, &b);
  b.nested = gemel__sample_chance(sample, 8);
  b.graph = gemel_graph_new(sample->context, NULL);
  gemel_status status = b.graph == NULL ? GEMEL_NO_MEMORY : build_body(&b, &l);
  if (status == GEMEL_OK) {
    status = gemel__sample_body(sample, "scan", b.graph);
  }
  gemel_graph_unref(b.graph);
  if (status != GEMEL_OK) {
    return status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED;
  }
  sample_attributes(sample, &l);
  sample_operands(sample, &b, &l);
  return gemel__sample_status(sample);
}
