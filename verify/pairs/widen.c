/* SPDX-License-Identifier: MIT
 *
 * Computes a pair in f64, see widen.h. The nodes of a graph are applied again to inputs of f64, and
 * type rules make the results f64. A narrower result (of a constant, or of an operation that has
 * its dtype as an attribute) is cast where it is used. A cast to a narrower float is left out. The
 * bodies of loops are computed in f64 likewise.
 */
#include "pairs/widen.h"

#include <string.h>
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "rewrite/bodies.h"
#include "tiers/tiers.h"

static int is_narrow(gemel_dtype dtype) {
  return gemel__is_float(dtype) && dtype != GEMEL_F64;
}

static gemel_value widened(gemel_value value) {
  gemel_attr attr = gemel_attr_dtype("dtype", GEMEL_F64);
  return value.graph != NULL && is_narrow(gemel__value_dtype(value))
             ? gemel_apply(value.graph, "cast", 1, &value, 1, &attr)
             : value;
}

static gemel_value mapped(const gemel_value *map, gemel__ref ref) {
  gemel_value value = map[ref.node];
  value.output += ref.output;
  return widened(value);
}

static gemel_status add_input(gemel_graph *into, const gemel_graph *from, size_t k,
                              gemel_value *map) {
  gemel_context *context = gemel_graph_context(from);
  gemel_value input = gemel_graph_input(from, k);
  gemel_type type = gemel_value_type(input);
  if (is_narrow(gemel__value_dtype(input))) {
    type = gemel_type_new(context, GEMEL_F64, gemel_type_rank(context, type),
                          gemel_type_dims(context, type), GEMEL_SPACE_HOST);
  }
  map[input.node] = gemel__input_like(into, gemel_graph_input_name(from, k), type, input);
  return gemel_graph_error(into)->status;
}

static gemel_status add_node(gemel_graph *into, const gemel_graph *from, uint32_t node,
                             gemel_value *map, gemel__rewrite_bodies *bodies, gemel_error *error) {
  const gemel__node *record = gemel__node_at(from, node);
  gemel__ref self = {node, 0};
  uint32_t n, k, attrs = record->attrs;
  if (gemel__attrs_at(gemel_graph_context(from), attrs)->nesting > 0) {
    GEMEL__TRY(gemel__bodies_rewrite(bodies, gemel_graph_context(from), gemel__node_op(from, node),
                                     &attrs, error));
  }
  const gemel__ref *refs = gemel__node_inputs(from, node, &n);
  gemel_value *inputs = gemel__alloc_array(n, sizeof *inputs);
  if (inputs == NULL) {
    return gemel__no_memory(error, "a graph in f64");
  }
  for (k = 0; k < n; k++) {
    inputs[k] = mapped(map, refs[k]);
  }
  if (record->op == GEMEL__OP_cast && is_narrow(gemel__value_dtype(gemel__value(from, self))) &&
      gemel__is_float(gemel__value_dtype(inputs[0]))) {
    map[node] = inputs[0];
  } else {
    map[node] = gemel__apply(into, record->op, attrs, n, inputs,
                             gemel_value_where(gemel__value(from, self)));
  }
  gemel__free(inputs, n * sizeof *inputs);
  return gemel_graph_error(into)->status;
}

static gemel_status fill(gemel_graph *into, const gemel_graph *from, gemel_value *map,
                         gemel__rewrite_bodies *bodies, gemel_error *error) {
  for (size_t k = 0; k < gemel_graph_input_count(from); k++) {
    GEMEL__TRY(add_input(into, from, k, map));
  }
  for (uint32_t k = 0; k < gemel_graph_node_count(from); k++) {
    if (gemel__node_at(from, k)->op != GEMEL__OP_input) {
      GEMEL__TRY(add_node(into, from, k, map, bodies, error));
    }
  }
  for (size_t k = 0; k < gemel_graph_output_count(from); k++) {
    gemel_value output = gemel_graph_output(from, k);
    gemel__ref ref = {output.node, output.output};
    GEMEL__TRY(gemel_output(mapped(map, ref), gemel_graph_output_name(from, k)));
  }
  return GEMEL_OK;
}

/* GRAPH in f64, or NULL. USER: where its bodies are kept. */
static gemel_graph *widen_one(void *user, const gemel_graph *graph, gemel_error *error) {
  size_t n = gemel_graph_node_count(graph);
  gemel_value *map = gemel__alloc_array(n, sizeof *map);
  gemel_graph *into = gemel_graph_new(gemel_graph_context(graph), error);
  gemel_status status = map == NULL || into == NULL
                            ? gemel__no_memory(error, "a graph in f64")
                            : fill(into, graph, map, *(gemel__rewrite_bodies **)user, error);
  gemel__free(map, n * sizeof *map);
  if (status != GEMEL_OK) {
    if (into != NULL && gemel_graph_error(into)->status != GEMEL_OK) {
      gemel__fail(error, gemel_graph_error(into)->status, "%s", gemel_graph_error(into)->text);
    }
    gemel_graph_unref(into);
    return NULL;
  }
  return into;
}

gemel_graph *gemel__graph_widen(const gemel_graph *graph, gemel_error *error) {
  gemel__rewrite_bodies *bodies = NULL;
  bodies = gemel__bodies_new(widen_one, &bodies);
  if (bodies == NULL) {
    gemel__no_memory(error, "a graph in f64");
    return NULL;
  }
  gemel_graph *wide = widen_one(&bodies, graph, error);
  gemel__bodies_free(bodies);
  return wide;
}

static gemel_tensor *wide_tensor(const gemel_tensor *tensor, gemel_error *error) {
  gemel_view view = gemel_tensor_view(tensor);
  if (!is_narrow(view.dtype)) {
    return gemel_tensor_copy(&view, error);
  }
  gemel_tensor *wide = gemel_tensor_new(GEMEL_F64, view.rank, view.shape, error);
  double *to = wide != NULL ? gemel_tensor_data(wide) : NULL;
  for (int64_t i = 0; to != NULL && i < gemel_tensor_elements(tensor); i++) {
    to[i] = gemel__decode(view.dtype, gemel__tensor_element(tensor, (size_t)i));
  }
  return wide;
}

gemel_tensor **gemel__tensors_widen(size_t n, gemel_tensor *const *values, gemel_error *error) {
  gemel_tensor **wide = gemel__alloc_array(n, sizeof *wide);
  for (size_t k = 0; wide != NULL && k < n; k++) {
    wide[k] = wide_tensor(values[k], error);
    if (wide[k] == NULL) {
      gemel__tensors_release(k, wide);
      gemel__free(wide, n * sizeof *wide);
      wide = NULL;
    }
  }
  return wide;
}

static int has_narrow(const gemel_graph *graph) {
  for (uint32_t k = 0; k < gemel_graph_node_count(graph); k++) {
    for (uint32_t i = 0; gemel__has_output(graph, k, i); i++) {
      gemel__ref ref = {k, i};
      if (is_narrow(gemel__value_dtype(gemel__value(graph, ref)))) {
        return 1;
      }
    }
  }
  return 0;
}

gemel_status gemel__pair_widen(gemel__pair *wide, const gemel__pair *pair,
                               gemel_tensor *const *values, gemel_tensor ***wide_values,
                               gemel_error *error) {
  gemel_error mine = {GEMEL_OK, 0, 0, ""};
  gemel_graph *a = NULL, *b = NULL;
  gemel_status status = GEMEL_OK;
  memset(wide, 0, sizeof *wide);
  *wide_values = NULL;
  error = error != NULL ? error : &mine;
  if (!has_narrow(pair->a.graph) && !has_narrow(pair->b.graph)) {
    return gemel__fail(error, GEMEL_DECLINED, "all floats are f64");
  }
  a = gemel__graph_widen(pair->a.graph, error);
  b = a != NULL ? gemel__graph_widen(pair->b.graph, error) : NULL;
  status = b == NULL ? error->status : gemel__instance_of_graph(&wide->a, a, NULL, error);
  status = status ? status : gemel__instance_of_graph(&wide->b, b, NULL, error);
  if (status == GEMEL_OK) {
    *wide_values = gemel__tensors_widen(pair->a.n_leaves, values, error);
    status = *wide_values != NULL ? GEMEL_OK : gemel__no_memory(error, "values in f64");
  }
  gemel_graph_unref(a);
  gemel_graph_unref(b);
  if (status != GEMEL_OK) {
    gemel__pair_clear(wide);
  }
  return status;
}

gemel_status gemel__both_run_wide(const gemel__pair *pair, gemel_tensor *const *values, int fast,
                                  gemel__random *random, gemel__both *both, gemel_error *error) {
  gemel__pair wide;
  gemel_tensor **wide_values;
  memset(both, 0, sizeof *both);
  gemel_status status = gemel__pair_widen(&wide, pair, values, &wide_values, NULL);
  if (status == GEMEL_OK) {
    status = fast ? gemel__both_run_fast(&wide, wide_values, random, both, NULL)
                  : gemel__both_run(&wide, wide_values, random, both, NULL);
    gemel__values_free(&wide.a, wide_values);
    gemel__pair_clear(&wide);
  }
  if (status != GEMEL_OK) {
    memset(both, 0, sizeof *both);
  }
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "graphs in f64") : GEMEL_OK;
}
