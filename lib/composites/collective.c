/* SPDX-License-Identifier: MIT
 *
 * Collective operations, <gemel/collective.h>, of values that lie in several memory spaces: made of
 * split, transfer, add and join. An all-reduce is a reduce-scatter of the elements in a row and an
 * all-gather of its parts.
 */
#include <gemel/collective.h>

#include <gemel/ops.h>
#include "core/alloc.h"
#include "core/graph.h"

typedef struct collective {
  gemel_graph *graph;
  gemel_context *context;
  gemel_location where;
  size_t n;
  int *spaces;          /* of each value */
  gemel_value *values;  /* as they are given */
  gemel_value *cut;     /* of each value: its split */
  gemel_value *here;    /* what one device joins or adds */
  gemel_value *results; /* what the program gets when all is done */
  gemel_dim *sizes;     /* of the parts of a split */
} collective;

static gemel_status fail(const collective *c, gemel_status status, const char *text) {
  gemel__graph_fail_at(c->graph, c->where, status, "%s", text);
  return gemel_graph_error(c->graph)->status;
}

static void close_collective(collective *c) {
  gemel__free(c->spaces, c->n * sizeof *c->spaces);
  gemel__free(c->values, c->n * sizeof *c->values);
  gemel__free(c->cut, c->n * sizeof *c->cut);
  gemel__free(c->here, c->n * sizeof *c->here);
  gemel__free(c->results, c->n * sizeof *c->results);
  gemel__free(c->sizes, c->n * sizeof *c->sizes);
}

/* VALUES are of one graph, which has no error. */
static gemel_status take_values(collective *c, const gemel_value *values) {
  for (size_t k = 0; k < c->n; k++) {
    c->values[k] = values[k];
    if (gemel_is_null(values[k]) || values[k].graph != c->graph) {
      return fail(c, GEMEL_BAD_ARGUMENT, "the values of a collective operation are of one graph");
    }
    c->spaces[k] = gemel_type_space(c->context, gemel_value_type(values[k]));
  }
  return gemel_graph_error(c->graph)->status;
}

static gemel_status open_collective(collective *c, size_t n, const gemel_value *values,
                                    gemel_location where) {
  *c = (collective){.where = where};
  for (size_t k = 0; values != NULL && k < n && c->graph == NULL; k++) {
    c->graph = values[k].graph;
  }
  if (c->graph == NULL) {
    return GEMEL_BAD_ARGUMENT;
  }
  c->context = gemel_graph_context(c->graph);
  c->n = n;
  c->spaces = gemel__alloc_array(n, sizeof *c->spaces);
  c->values = gemel__alloc_array(n, sizeof *c->values);
  c->cut = gemel__alloc_array(n, sizeof *c->cut);
  c->here = gemel__alloc_array(n, sizeof *c->here);
  c->results = gemel__alloc_array(n, sizeof *c->results);
  c->sizes = gemel__alloc_array(n, sizeof *c->sizes);
  return c->spaces == NULL || c->values == NULL || c->cut == NULL || c->here == NULL ||
                 c->results == NULL || c->sizes == NULL
             ? fail(c, GEMEL_NO_MEMORY, "out of memory for a collective operation")
             : take_values(c, values);
}

/* Gives RESULTS to the program, or null values if something failed. */
static gemel_status finish(collective *c, gemel_status status, size_t n, gemel_value *results) {
  if (status == GEMEL_OK) {
    status = gemel_graph_error(c->graph)->status;
  }
  for (size_t k = 0; results != NULL && k < n; k++) {
    results[k] = status == GEMEL_OK ? c->results[k] : (gemel_value){0};
  }
  close_collective(c);
  return status;
}

/* The sum, on the device of value K, of what lies in HERE. */
static gemel_value add_up(const collective *c, size_t k) {
  gemel_value sum = gemel_transfer_at(c->here[0], c->spaces[k], c->where);
  for (size_t i = 1; i < c->n; i++) {
    sum = gemel_add_at(sum, gemel_transfer_at(c->here[i], c->spaces[k], c->where), c->where);
  }
  return sum;
}

/* The dims of VALUE's type; *RANK: how many. */
static const gemel_dim *dims_of(const collective *c, gemel_value value, int *rank) {
  gemel_type type = gemel_value_type(value);
  *rank = gemel_type_rank(c->context, type);
  return gemel_type_dims(c->context, type);
}

/* The values have one dtype and shape: adding would broadcast what differs. */
static gemel_status check_alike(const collective *c) {
  int rank, other_rank;
  const gemel_dim *dims = dims_of(c, c->values[0], &rank);
  gemel_dtype dtype = gemel_type_dtype(c->context, gemel_value_type(c->values[0]));
  for (size_t k = 1; k < c->n; k++) {
    const gemel_dim *other = dims_of(c, c->values[k], &other_rank);
    if (gemel_type_dtype(c->context, gemel_value_type(c->values[k])) != dtype) {
      return fail(c, GEMEL_BAD_TYPE, "values that are added up have one dtype");
    }
    for (int axis = 0; axis < rank && rank == other_rank; axis++) {
      other_rank = gemel_dim_equal(dims[axis], other[axis]) ? rank : -1;
    }
    if (other_rank != rank) {
      return fail(c, GEMEL_BAD_SHAPE, "values that are added up have one shape");
    }
  }
  return GEMEL_OK;
}

/* Cuts CUT[k], LENGTH elements along AXIS, into N parts each, and makes result k the sum of parts
 * k, on the device of value k. */
static void reduce_parts(collective *c, int axis, int64_t length) {
  int64_t n = (int64_t)c->n;
  for (int64_t k = 0; k < n; k++) {
    c->sizes[k] = gemel_dim_constant(c->context, length / n + (k < length % n));
  }
  for (size_t k = 0; k < c->n; k++) {
    c->cut[k] =
        gemel_split_at(c->cut[k], c->n, c->sizes, &(gemel_split_options){.axis = axis}, c->where);
  }
  for (size_t k = 0; k < c->n; k++) {
    for (size_t i = 0; i < c->n; i++) {
      c->here[i] = gemel_value_output(c->cut[i], (uint32_t)k);
    }
    c->results[k] = add_up(c, k);
  }
}

/* HERE, on the device of value K, joined along AXIS. */
static gemel_value join_here(const collective *c, size_t k, int axis) {
  for (size_t i = 0; i < c->n; i++) {
    c->here[i] = gemel_transfer_at(c->here[i], c->spaces[k], c->where);
  }
  return gemel_join_at(c->n, c->here, &(gemel_join_options){.axis = axis}, c->where);
}

/* The number of elements of VALUE, or -1 if it isn't known, or too large. */
static int64_t count_elements(const collective *c, gemel_value value) {
  int rank;
  int64_t size, all = 1;
  const gemel_dim *dims = dims_of(c, value, &rank);
  for (int axis = 0; axis < rank; axis++) {
    if (!gemel_dim_is_constant(c->context, dims[axis], &size) ||
        __builtin_mul_overflow(all, size, &all)) {
      return -1;
    }
  }
  return all;
}

/* All elements in a row, reduced in parts, each part brought to each device. */
static void all_reduce_parts(collective *c, int64_t count) {
  int rank;
  const gemel_dim *dims = dims_of(c, c->values[0], &rank);
  gemel_dim all = gemel_dim_constant(c->context, count);
  for (size_t k = 0; k < c->n; k++) {
    c->cut[k] = gemel_reshape_at(c->values[k], 1, &all, c->where);
  }
  reduce_parts(c, 0, count);
  for (size_t k = 0; k < c->n; k++) {
    c->cut[k] = c->results[k];
  }
  for (size_t k = 0; k < c->n; k++) {
    for (size_t i = 0; i < c->n; i++) {
      c->here[i] = c->cut[i];
    }
    c->results[k] = gemel_reshape_at(join_here(c, k, 0), (size_t)rank, dims, c->where);
  }
}

static void all_reduce_whole(collective *c) {
  for (size_t k = 0; k < c->n; k++) {
    c->here[k] = c->values[k];
  }
  gemel_value sum = add_up(c, 0);
  for (size_t k = 0; k < c->n; k++) {
    c->results[k] = gemel_transfer_at(sum, c->spaces[k], c->where);
  }
}

gemel_status gemel_all_reduce_at(size_t n, const gemel_value *values, gemel_value *results,
                                 gemel_location where) {
  collective c;
  gemel_status status = open_collective(&c, n, values, where);
  status = status == GEMEL_OK ? check_alike(&c) : status;
  if (status == GEMEL_OK) {
    int64_t count = count_elements(&c, c.values[0]);
    if (count >= (int64_t)n) {
      all_reduce_parts(&c, count);
    } else {
      all_reduce_whole(&c);
    }
  }
  return finish(&c, status, n, results);
}

gemel_status gemel_reduce_scatter_at(size_t n, const gemel_value *values, int axis,
                                     gemel_value *results, gemel_location where) {
  collective c;
  int rank = 0;
  int64_t length;
  gemel_status status = open_collective(&c, n, values, where);
  status = status == GEMEL_OK ? check_alike(&c) : status;
  const gemel_dim *dims = status == GEMEL_OK ? dims_of(&c, c.values[0], &rank) : NULL;
  int along = axis < 0 ? axis + rank : axis;
  if (status == GEMEL_OK && (along < 0 || along >= rank)) {
    status = fail(&c, GEMEL_BAD_ARGUMENT, "the axis is out of range");
  } else if (status == GEMEL_OK && !gemel_dim_is_constant(c.context, dims[along], &length)) {
    status = fail(&c, GEMEL_BAD_SHAPE, "an axis that is cut for devices has a number as length");
  } else if (status == GEMEL_OK) {
    for (size_t k = 0; k < n; k++) {
      c.cut[k] = c.values[k];
    }
    reduce_parts(&c, along, length);
  }
  return finish(&c, status, n, results);
}

gemel_status gemel_all_gather_at(size_t n, const gemel_value *values, int axis,
                                 gemel_value *results, gemel_location where) {
  collective c;
  gemel_status status = open_collective(&c, n, values, where);
  for (size_t k = 0; status == GEMEL_OK && k < n; k++) {
    for (size_t i = 0; i < n; i++) {
      c.here[i] = c.values[i];
    }
    c.results[k] = join_here(&c, k, axis);
  }
  return finish(&c, status, n, results);
}
