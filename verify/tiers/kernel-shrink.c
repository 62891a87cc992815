/* SPDX-License-Identifier: MIT
 *
 * Shrinks what refutes a program's own kernel, by shortening axes. Axes of one size, which often
 * belong together, are shortened together first, then each alone. The values are the first, or the
 * last, part of the old ones. A kernel's fault may depend on the remainder by the width of a
 * vector, on the border of a block, or on a large size. So short lengths are tried first, then
 * those with the same remainder modulo 64, from the shortest on; then the length is reduced in
 * steps of 32, 16, … 2, and at last by bisection between the shortest length that is refuted and
 * the longest that isn't.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "tiers/kernel.h"

enum { ROUNDS = 2, REST = 64, RESTS = 24, BISECTIONS = 20, MOST_TRIES = 600 };

struct shrinking {
  gemel__instance *instance;
  gemel_tensor ***values;
  gemel__check check;
  const gemel__trial *trial;
  gemel__outcome *outcome;
  int tries;
};

/* The axes that are shortened: all of SIZE, or one alone. */
struct axes {
  int64_t size;
  size_t leaf; /* SIZE_MAX: all axes of SIZE */
  int axis;
};

static int belongs(const struct axes *a, size_t leaf, int axis, int64_t size) {
  return size == a->size && (a->leaf == SIZE_MAX || (a->leaf == leaf && a->axis == axis));
}

/* ---- A smaller instance ---- */

/* Copies the given attributes. In lists of sizes (put into DIMS) the size of the axes becomes
 * LENGTH. */
static size_t take_attrs(const struct shrinking *s, const struct axes *a, int64_t length,
                         gemel_attr *attrs, gemel_dim (*dims)[GEMEL_MAX_RANK]) {
  gemel_graph *graph = s->instance->graph;
  gemel_context *context = gemel_graph_context(graph);
  uint32_t node = gemel_graph_output(graph, 0).node;
  const struct gemel__attrs *from = gemel__attrs_at(context, gemel__node_at(graph, node)->attrs);
  size_t n = 0;
  for (size_t k = 0; k < from->count && k < GEMEL_SAMPLE_MAX_ATTRS; k++) {
    gemel_attr *attr = &attrs[n];
    *attr = from->values[k];
    attr->name = gemel__node_op(graph, node)->record.attrs[k].name;
    n += attr->kind != GEMEL_ATTR_NONE;
    if (attr->kind != (GEMEL_ATTR_LIST | GEMEL_ATTR_DIM) || attr->count > GEMEL_MAX_RANK ||
        a->leaf != SIZE_MAX) {
      continue;
    }
    for (size_t i = 0; i < attr->count; i++) {
      int64_t size;
      int same = gemel_dim_is_constant(context, attr->u.dims[i], &size) && size == a->size;
      dims[k][i] = same ? gemel_dim_constant(context, length) : attr->u.dims[i];
    }
    attr->u.dims = dims[k];
  }
  return n;
}

static gemel_status build(const struct shrinking *s, const struct axes *a, int64_t length,
                          gemel_graph *graph) {
  gemel_context *context = gemel_graph_context(graph);
  const gemel__instance *from = s->instance;
  gemel_value inputs[GEMEL_SAMPLE_MAX_INPUTS];
  gemel_attr attrs[GEMEL_SAMPLE_MAX_ATTRS];
  gemel_dim dims[GEMEL_SAMPLE_MAX_ATTRS][GEMEL_MAX_RANK];
  for (size_t k = 0; k < from->n_leaves; k++) {
    const gemel__leaf *leaf = &from->leaves[k];
    int64_t shape[GEMEL_MAX_RANK];
    for (int i = 0; i < leaf->rank; i++) {
      shape[i] = belongs(a, k, i, leaf->shape[i]) ? length : leaf->shape[i];
    }
    inputs[k] = gemel_input(graph, gemel_graph_input_name(from->graph, k),
                            gemel_type_of_shape(context, leaf->dtype, leaf->rank, shape));
  }
  uint32_t node = gemel_graph_output(from->graph, 0).node;
  size_t n = take_attrs(s, a, length, attrs, dims);
  gemel_value result = gemel_apply(graph, gemel__node_op(from->graph, node)->record.name,
                                   from->n_leaves, inputs, n, attrs);
  for (size_t k = 0; !gemel_is_null(gemel_value_output(result, (uint32_t)k)); k++) {
    gemel_output(gemel_value_output(result, (uint32_t)k), gemel_graph_output_name(from->graph, k));
  }
  return gemel_graph_error(graph)->status;
}

/* Copies to SMALL the first LENGTH indices of the axes, or (LAST) the last. */
static void copy_part(const gemel__leaf *from, const char *old, const gemel__leaf *small, char *to,
                      int last) {
  size_t size = gemel_dtype_size(from->dtype);
  for (size_t i = 0; i < small->count; i++) {
    size_t rest = i, at = 0, step = 1;
    for (int k = small->rank; k-- > 0;) {
      size_t length = (size_t)small->shape[k], before = (size_t)from->shape[k];
      at += (rest % length + (last ? before - length : 0)) * step;
      step *= before;
      rest /= length;
    }
    memcpy(to + i * size, old + at * size, size);
  }
}

/* 1 if axes may be shortened: not if an input holds indices, which would be out of range. */
static int can_shorten(const gemel__instance *instance) {
  int can = instance->n_leaves <= GEMEL_SAMPLE_MAX_INPUTS && instance->calls == 0;
  for (size_t k = 0; k < instance->n_leaves; k++) {
    can &= instance->leaves[k].range != GEMEL_RANGE_INDEX;
  }
  return can;
}

static gemel_status make_smaller(const struct shrinking *s, const struct axes *a, int64_t length,
                                 int last, gemel__instance *small, gemel_tensor ***values) {
  const gemel__instance *from = s->instance;
  gemel__random random = {{1, 2, 3, 4}};
  gemel_graph *graph = gemel_graph_new(gemel_graph_context(from->graph), NULL);
  gemel_status status = graph != NULL ? build(s, a, length, graph) : GEMEL_NO_MEMORY;
  memset(small, 0, sizeof *small);
  *values = NULL;
  status = status ? status : gemel__instance_of_graph(small, graph, NULL, NULL);
  gemel_graph_unref(graph);
  GEMEL__TRY(status);
  small->elementwise = from->elementwise;
  small->ulp = from->ulp;
  for (size_t k = 0; k < from->n_leaves; k++) {
    small->leaves[k].range = from->leaves[k].range;
  }
  GEMEL__TRY(gemel__values_draw(small, GEMEL__FILL_INTEGERS, &random, values, NULL));
  for (size_t k = 0; k < from->n_leaves; k++) {
    copy_part(&from->leaves[k], gemel_tensor_data((*s->values)[k]), &small->leaves[k],
              gemel_tensor_data((*values)[k]), last);
  }
  return GEMEL_OK;
}

/* ---- Trying ---- */

/* Tries LENGTH, with the first or the last part of the values. If that is *REFUTED, it becomes the
 * counterexample. */
static gemel_status try_part(struct shrinking *s, const struct axes *a, int64_t length, int last,
                             int *refuted) {
  gemel__instance small;
  gemel_tensor **values;
  gemel__outcome outcome;
  gemel_status status = make_smaller(s, a, length, last, &small, &values);
  memset(&outcome, 0, sizeof outcome);
  s->tries++;
  status = status ? status : s->check(&small, values, s->trial, &outcome, NULL);
  *refuted = status == GEMEL_OK && outcome.refuted;
  if (*refuted) {
    gemel__values_free(s->instance, *s->values);
    gemel__instance_clear(s->instance);
    *s->instance = small;
    *s->values = values;
    *s->outcome = outcome;
  } else {
    gemel__values_free(&small, values);
    gemel__instance_clear(&small);
  }
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static gemel_status try_length(struct shrinking *s, const struct axes *a, int64_t length,
                               int *refuted) {
  GEMEL__TRY(try_part(s, a, length, 0, refuted));
  return *refuted ? GEMEL_OK : try_part(s, a, length, 1, refuted);
}

static int goes_on(const struct shrinking *s) {
  return s->tries < MOST_TRIES && !s->trial->kernel->slow && !s->trial->kernel->hung;
}

/* The K-th length to try; 0: no more. */
static int64_t candidate(size_t k, int64_t size) {
  static const int64_t shortest[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33};
  size_t n = sizeof shortest / sizeof *shortest;
  if (k < n) {
    return shortest[k];
  }
  k -= n;
  int64_t step = REST * (1 + size / REST / RESTS);
  return k < RESTS ? size % step + (int64_t)k * step : 0;
}

static gemel_status shorten(struct shrinking *s, struct axes a) {
  int64_t low = 0, high = a.size, length;
  int refuted = 0;
  for (size_t k = 0; !refuted && goes_on(s); k++) {
    length = candidate(k, high);
    if (length == 0 && k > RESTS) {
      break;
    }
    if (length > low && length < high) {
      GEMEL__TRY(try_length(s, &a, length, &refuted));
      *(refuted ? &high : &low) = length;
    }
  }
  for (int64_t step = REST / 2; step > 1; step /= 2) {
    for (refuted = 1; refuted && high - step > low && goes_on(s);) {
      a.size = high;
      GEMEL__TRY(try_length(s, &a, high - step, &refuted));
      high -= refuted ? step : 0;
    }
  }
  for (int k = 0; k < BISECTIONS && high - low > 1 && goes_on(s); k++) {
    a.size = high;
    length = low + (high - low) / 2;
    GEMEL__TRY(try_length(s, &a, length, &refuted));
    *(refuted ? &high : &low) = length;
  }
  return GEMEL_OK;
}

static gemel_status shorten_all(struct shrinking *s, int alone) {
  for (size_t k = 0; k < s->instance->n_leaves; k++) {
    for (int i = 0; i < s->instance->leaves[k].rank; i++) {
      struct axes a = {s->instance->leaves[k].shape[i], alone ? k : SIZE_MAX, i};
      GEMEL__TRY(a.size > 1 ? shorten(s, a) : GEMEL_OK);
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__kernel_shrink(gemel__instance *instance, gemel_tensor ***values,
                                  gemel__check check, const gemel__trial *trial,
                                  gemel__outcome *outcome, gemel_error *error) {
  struct shrinking s = {instance, values, check, trial, outcome, 0};
  gemel_status status = GEMEL_OK;
  gemel__kernel_narrow(trial->kernel, outcome);
  for (int round = 0; round < ROUNDS && status == GEMEL_OK && can_shorten(instance); round++) {
    status = shorten_all(&s, 0);
    status = status ? status : shorten_all(&s, 1);
  }
  return status == GEMEL_OK ? status : gemel__no_memory(error, "a counterexample");
}
