/* SPDX-License-Identifier: MIT
 *
 * The samplers that a program may name (<gemel/sample.h>). Each draws shapes; what the operation's
 * type rule doesn't take is drawn again.
 */
#include <gemel/sample.h>

#include <string.h>
#include <gemel/graph.h>
#include "core/graph.h"
#include "sample/sampling.h"

enum { USUAL_RANK = 4 };

/* ---- Until the type rule takes it ---- */

typedef void (*drawing_of_shapes)(gemel_sample *sample, size_t operands);

/* How many operands there are to be: at most two beyond the least. */
static size_t operands_of(gemel_sample *sample) {
  const gemel_operation *op = sample->operation;
  int least = op->min_inputs > 1 ? op->min_inputs : 1, most = least + 2;
  most = op->max_inputs >= 0 && op->max_inputs < most ? op->max_inputs : most;
  most = most < GEMEL_SAMPLE_MAX_INPUTS ? most : GEMEL_SAMPLE_MAX_INPUTS;
  return most > least ? (size_t)gemel__sample_int(sample, least, most) : (size_t)least;
}

static gemel_status apply(gemel_graph *graph, const gemel_sample *sample) {
  gemel_value inputs[GEMEL_SAMPLE_MAX_INPUTS];
  char name[] = "x0";
  for (size_t k = 0; k < sample->n_inputs; k++, name[1]++) {
    inputs[k] = gemel_input(graph, name, sample->inputs[k]);
  }
  gemel_apply(graph, sample->operation->name, sample->n_inputs, inputs, sample->n_attrs,
              sample->attrs);
  return gemel_graph_error(graph)->status;
}

/* GEMEL_DECLINED: the type rule doesn't take SAMPLE. */
static gemel_status try_rule(const gemel_sample *sample) {
  gemel_graph *graph = gemel_graph_new(sample->context, NULL);
  gemel_status status = graph != NULL ? apply(graph, sample) : GEMEL_NO_MEMORY;
  gemel_graph_unref(graph);
  return status == GEMEL_OK || status == GEMEL_NO_MEMORY ? status : GEMEL_DECLINED;
}

static gemel_status draw(gemel_sample *sample, drawing_of_shapes shapes) {
  enum { TRIES = 16 };
  gemel_status status = GEMEL_DECLINED;
  if (sample == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  for (int k = 0; k < TRIES && status == GEMEL_DECLINED; k++) {
    sample->n_inputs = sample->n_attrs = sample->storage_used = 0;
    shapes(sample, operands_of(sample));
    status = gemel__sample_status(sample);
    status = status == GEMEL_OK ? try_rule(sample) : status;
  }
  return status;
}

/* ---- Shapes ---- */

static void add(gemel_sample *sample, int rank, const int64_t *shape) {
  gemel__sample_input(sample, sample->dtype, rank, shape, GEMEL_RANGE_MODERATE);
}

/* SHAPE = one of LEAST axes and more; returns how many. */
static int draw_shape(gemel_sample *sample, int least, int64_t *shape) {
  int rank = gemel__sample_rank(sample, least, USUAL_RANK);
  gemel__sample_shape(sample, rank, shape);
  return rank;
}

static int64_t not_empty(int64_t size) {
  return size > 0 ? size : 1;
}

static void alike(gemel_sample *sample, size_t operands) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = draw_shape(sample, 0, shape);
  for (size_t k = 0; k < operands; k++) {
    add(sample, rank, shape);
  }
}

gemel_status gemel_sample_elementwise(gemel_sample *sample) {
  return draw(sample, alike);
}

static void broadcast(gemel_sample *sample, size_t operands) {
  int64_t shape[GEMEL_MAX_RANK], own[GEMEL_MAX_RANK];
  int rank = draw_shape(sample, 0, shape);
  for (size_t k = 0; k < operands; k++) {
    int less = gemel__sample_chance(sample, 2);
    int skip =
        less && gemel__sample_chance(sample, 2) ? (int)gemel__sample_int(sample, 0, rank) : 0;
    for (int axis = skip; axis < rank; axis++) {
      own[axis] = less && gemel__sample_chance(sample, 3) ? 1 : shape[axis];
    }
    add(sample, rank - skip, own + skip);
  }
}

gemel_status gemel_sample_broadcast(gemel_sample *sample) {
  return draw(sample, broadcast);
}

static void rows(gemel_sample *sample, size_t operands) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = draw_shape(sample, 1, shape);
  shape[rank - 1] = not_empty(shape[rank - 1]);
  add(sample, rank, shape);
  for (size_t k = 1; k < operands; k++) {
    add(sample, 1, &shape[rank - 1]);
  }
}

gemel_status gemel_sample_rows(gemel_sample *sample) {
  return draw(sample, rows);
}

static int has(const gemel_sample *sample, const char *name) {
  const gemel_attr_spec *spec = sample->operation->attrs;
  while (spec != NULL && spec->name != NULL && strcmp(spec->name, name) != 0) {
    spec++;
  }
  return spec != NULL && spec->name != NULL;
}

static void along(gemel_sample *sample, size_t operands) {
  int64_t shape[GEMEL_MAX_RANK], axes[GEMEL_MAX_RANK];
  int rank = draw_shape(sample, 1, shape);
  size_t n = has(sample, "axes") ? (size_t)gemel__sample_int(sample, 1, rank) : 1;
  gemel__sample_permutation(sample, rank, axes);
  for (size_t k = 0; k < n; k++) {
    shape[axes[k]] = not_empty(shape[axes[k]]);
    axes[k] -= gemel__sample_chance(sample, 2) ? rank : 0;
  }
  for (size_t k = 0; k < operands; k++) {
    add(sample, rank, shape);
  }
  if (has(sample, "axes")) {
    gemel__sample_ints(sample, "axes", n, axes);
  } else if (has(sample, "axis")) {
    gemel__sample_attr(sample, gemel_attr_int("axis", axes[0]));
  }
  if (has(sample, "keepdims")) {
    gemel__sample_attr(sample, gemel_attr_int("keepdims", gemel__sample_int(sample, 0, 1)));
  }
}

gemel_status gemel_sample_along(gemel_sample *sample) {
  return draw(sample, along);
}

/* ---- Matrices ---- */

/* N sizes, of which any two are together at most the limit of elements: short ones, but for those
 * that are wanted, or (where there is room) a long one. Those from FULL on aren't 0. */
static void draw_sides(gemel_sample *sample, int n, int full, int64_t *sides) {
  enum { SHORT = 6, ROOM = 1024 };
  int64_t most = sample->max_elements, longest = 1;
  int grown = sample->length == 0 && most >= ROOM ? (int)gemel__sample_below(sample, 8) : n;
  for (int k = 0; k < n; k++) {
    int64_t size = gemel__sample_int(sample, k < full ? 0 : 1, SHORT);
    size = gemel__sample_wants(sample, k, n) ? sample->length : size;
    size = k == grown ? most / SHORT : size;
    sides[k] = size * longest <= most ? size : 1;
    longest = sides[k] > longest ? sides[k] : longest;
  }
}

static void matmul(gemel_sample *sample, size_t operands) {
  int64_t sides[3]; /* m, k, n */
  draw_sides(sample, 3, 3, sides);
  add(sample, 2, sides);
  for (size_t k = 1; k < operands; k++) {
    add(sample, k == 1 ? 2 : 1, k == 1 ? sides + 1 : sides + 2);
  }
}

gemel_status gemel_sample_matmul(gemel_sample *sample) {
  return draw(sample, matmul);
}

static void square(gemel_sample *sample, size_t operands) {
  int64_t shape[2], size = sample->length > 0 ? sample->length : gemel__sample_int(sample, 1, 6);
  size = size * size <= sample->max_elements ? size : 1;
  shape[0] = shape[1] = size;
  for (size_t k = 0; k < operands; k++) {
    add(sample, 2, shape);
  }
}

gemel_status gemel_sample_square(gemel_sample *sample) {
  return draw(sample, square);
}

/* ---- Networks ---- */

static void attention(gemel_sample *sample, size_t operands) {
  enum { M, N, D, E, SIDES };
  int64_t sides[SIDES], front[2], q[4];
  int before = sample->length > 0 ? 0 : (int)gemel__sample_int(sample, 0, 2);
  draw_sides(sample, SIDES, 1, sides);
  for (int k = 0; k < before; k++) {
    int64_t batch = gemel__sample_int(sample, 0, 3), most = not_empty(sides[0]);
    for (int side = 1; side < SIDES; side++) {
      most = sides[side] > most ? sides[side] : most;
    }
    front[k] = batch * batch * most * most <= sample->max_elements ? batch : 1;
    q[k] = front[k];
  }
  const int shapes[4][2] = {{M, D}, {N, D}, {N, E}, {M, N}};
  for (size_t k = 0; k < operands && k < 4; k++) {
    int skip = k == 3 ? before : 0;
    q[before] = sides[shapes[k][0]];
    q[before + 1] = sides[shapes[k][1]];
    add(sample, before + 2 - skip, q + skip);
  }
}

gemel_status gemel_sample_attention(gemel_sample *sample) {
  return draw(sample, attention);
}

static void images(gemel_sample *sample, size_t operands) {
  int64_t shape[GEMEL_MAX_RANK];
  int rank = 2 + gemel__sample_spatial_axes(sample);
  gemel__sample_shape(sample, rank, shape);
  shape[1] = not_empty(shape[1]);
  add(sample, rank, shape);
  for (size_t k = 1; k < operands; k++) {
    add(sample, 1, &shape[1]);
  }
}

gemel_status gemel_sample_images(gemel_sample *sample) {
  return draw(sample, images);
}
