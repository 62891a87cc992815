/* SPDX-License-Identifier: MIT
 *
 * An instance whose operands are views. Each input becomes a larger one, and a view of it shows the
 * original elements: with axes in another order, gaps, reversed, at an offset. An axis along which
 * all elements are equal is stored once and broadcast. So kernels on a device, whose tensors are
 * row-major, get operands of any strides. Elements outside the views are NaN, or -1.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/error.h"
#include "core/graph.h"
#include "instances/instance.h"

/* The layout of an input: axis order[j] of the view is axis j of the stored tensor. */
struct layout {
  size_t order[GEMEL_MAX_RANK];
  int64_t stored[GEMEL_MAX_RANK]; /* the size of stored axis j */
  int64_t start[GEMEL_MAX_RANK];  /* of the view, along stored axis j */
  int64_t step[GEMEL_MAX_RANK];   /* negative: reversed */
  int64_t size[GEMEL_MAX_RANK];   /* 1 where an element is broadcast */
  int repeats;                    /* 1 if any axis is broadcast */
};

/* 1 if AXIS of row-major VALUE is longer than 1 and all elements along it are equal. */
static int is_alike(const gemel_tensor *value, int axis) {
  gemel_view v = gemel_tensor_view(value);
  size_t inner = gemel_dtype_size(v.dtype), n = (size_t)v.shape[axis], count = 1;
  const char *data = v.data;
  for (int k = 0; k < v.rank; k++) {
    inner *= k > axis ? (size_t)v.shape[k] : 1;
    count *= (size_t)v.shape[k];
  }
  if (n < 2 || count == 0) {
    return 0;
  }
  for (size_t outer = 0; outer < count * gemel_dtype_size(v.dtype); outer += n * inner) {
    for (size_t k = 1; k < n; k++) {
      if (memcmp(data + outer, data + outer + k * inner, inner) != 0) {
        return 0;
      }
    }
  }
  return 1;
}

static void draw_layout(const gemel__leaf *leaf, const gemel_tensor *value, gemel__random *random,
                        struct layout *made) {
  memset(made, 0, sizeof *made);
  gemel__random_permutation(random, (size_t)leaf->rank, made->order);
  for (int j = 0; j < leaf->rank; j++) {
    int axis = (int)made->order[j], alike = is_alike(value, axis);
    int64_t n = alike ? 1 : leaf->shape[axis], stride = gemel__random_chance(random, 1, 4) ? 2 : 1;
    int64_t span = n > 0 ? (n - 1) * stride + 1 : 0,
            before = (int64_t)gemel__random_below(random, 3);
    int backwards = n > 1 && gemel__random_chance(random, 1, 3);
    made->repeats |= alike;
    made->size[j] = n;
    made->stored[j] = before + span + (int64_t)gemel__random_below(random, 2);
    made->start[j] = before + (backwards ? span - 1 : 0);
    made->step[j] = backwards ? -stride : stride;
  }
}

/* Makes the stored tensor, with VALUE's elements where the view shows them. */
static gemel_tensor *store(const gemel__leaf *leaf, const gemel_tensor *value,
                           const struct layout *l, gemel_error *error) {
  gemel_tensor *made = gemel_tensor_new(leaf->dtype, leaf->rank, l->stored, error);
  int64_t strides[GEMEL_MAX_RANK], step = (int64_t)gemel_dtype_size(leaf->dtype);
  if (made == NULL) {
    return NULL;
  }
  gemel_view from = gemel_tensor_view(value);
  char *to = gemel_tensor_data(made);
  memset(to, leaf->dtype == GEMEL_BOOL ? 1 : 0xff,
         (size_t)gemel_tensor_elements(made) * (size_t)step);
  for (int j = leaf->rank; j-- > 0; step *= l->stored[j]) {
    size_t axis = l->order[j];
    to += l->start[j] * step;
    strides[axis] = l->size[j] == leaf->shape[axis] ? l->step[j] * step : 0;
  }
  if (leaf->count > 0) {
    gemel__put_elements(&from, to, strides);
  }
  return made;
}

/* The view of STORED that shows the original input of LEAF's shape. */
static gemel_value show(const gemel__leaf *leaf, const struct layout *l, gemel_value stored) {
  gemel_graph *graph = stored.graph;
  gemel_context *context = gemel_graph_context(graph);
  size_t rank = (size_t)leaf->rank;
  gemel_dim start[GEMEL_MAX_RANK], size[GEMEL_MAX_RANK], shape[GEMEL_MAX_RANK];
  int64_t order[GEMEL_MAX_RANK];
  for (size_t j = 0; j < rank; j++) {
    start[j] = gemel_dim_constant(context, l->start[j]);
    size[j] = gemel_dim_constant(context, l->size[j]);
    shape[j] = gemel_dim_constant(context, leaf->shape[j]);
    order[l->order[j]] = (int64_t)j;
  }
  const gemel_attr part[] = {gemel_attr_dims("start", rank, start),
                             gemel_attr_dims("size", rank, size),
                             gemel_attr_ints("step", rank, l->step)};
  const gemel_attr turn = gemel_attr_ints("order", rank, order);
  const gemel_attr whole = gemel_attr_dims("shape", rank, shape);
  gemel_value x = gemel_apply(graph, "subtensor", 1, &stored, 3, part);
  x = gemel_apply(graph, "dimshuffle", 1, &x, 1, &turn);
  return l->repeats ? gemel_apply(graph, "broadcast_to", 1, &x, 1, &whole) : x;
}

/* Sets *VALUE to the stored tensor and IN to the view. Scalars, and inputs of which something is
 * assumed, stay as they are. */
static gemel_status add_input(gemel_graph *graph, const gemel__instance *base, size_t k,
                              gemel__random *random, gemel_tensor *given, gemel_tensor **value,
                              gemel_value *in, gemel_error *error) {
  gemel_context *context = gemel_graph_context(graph);
  const gemel__leaf *leaf = &base->leaves[k];
  gemel_value input = gemel_graph_input(base->graph, k);
  const char *name = gemel_graph_input_name(base->graph, k);
  struct layout l;
  if (leaf->rank == 0 || gemel_assumed(input) != 0) {
    *value = gemel_tensor_ref(given);
    *in = gemel__input_like(graph, name, gemel_value_type(input), input);
    return GEMEL_OK;
  }
  draw_layout(leaf, given, random, &l);
  *value = store(leaf, given, &l, error);
  *in = show(
      leaf, &l,
      gemel_input(graph, name, gemel_type_of_shape(context, leaf->dtype, leaf->rank, l.stored)));
  return *value != NULL ? GEMEL_OK : GEMEL_NO_MEMORY;
}

static gemel_status build(gemel_graph *graph, const gemel__instance *base, gemel_value *values,
                          gemel__random *random, gemel_tensor *const *given, gemel_tensor **stored,
                          gemel_error *error) {
  gemel_value *in = values, *out = values + base->n_leaves;
  for (size_t k = 0; k < base->n_leaves; k++) {
    GEMEL__TRY(add_input(graph, base, k, random, given[k], &stored[k], &in[k], error));
  }
  GEMEL__TRY(gemel__graph_inline(graph, base->graph, in, out, error));
  for (size_t k = 0; k < gemel_graph_output_count(base->graph); k++) {
    GEMEL__TRY(gemel_output(out[k], gemel_graph_output_name(base->graph, k)));
  }
  return GEMEL_OK;
}

gemel_status gemel__instance_in_views(gemel__instance *made, const gemel__instance *base,
                                      gemel_tensor *const *given, gemel__random *random,
                                      gemel_tensor ***stored, gemel_error *error) {
  size_t n = base->n_leaves + gemel_graph_output_count(base->graph);
  gemel_graph *graph = gemel_graph_new(gemel_graph_context(base->graph), error);
  gemel_value *values = gemel__alloc_array(n, sizeof *values);
  memset(made, 0, sizeof *made);
  *stored = gemel__alloc_array(base->n_leaves, sizeof **stored);
  gemel_status status = graph == NULL || values == NULL || *stored == NULL
                            ? gemel__no_memory(error, "an instance")
                            : build(graph, base, values, random, given, *stored, error);
  status = status ? status : gemel__instance_of_graph(made, graph, NULL, error);
  if (status != GEMEL_OK) {
    gemel__values_free(base, *stored);
    *stored = NULL;
  }
  gemel__free(values, n * sizeof *values);
  gemel_graph_unref(graph);
  return status;
}
