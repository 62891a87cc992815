/* SPDX-License-Identifier: MIT
 *
 * Constants and bounds that are IEEE's, see discrete.h. All constants of a graph are evaluated
 * together, in domain S with its roundings, and in O, which tells those without a real value.
 */
#include "equal/discrete.h"

#include <math.h>
#include <stdio.h>
#include "base/element.h"
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "domains/ordered.h"
#include "domains/special.h"
#include "equal/closed.h"
#include "equal/elements.h"
#include "instances/rebuild.h"
#include "sample/points.h"

enum { MOST_ELEMENTS = 1024 }; /* of a value that is looked at */

struct settling {
  const gemel_graph *graph;
  unsigned char *closed;
  gemel__ref *refs; /* the values that are evaluated, N of them */
  const char **names;
  char (*labels)[24];
  gemel__edit *edits; /* by node */
  gemel_tensor **tensors;
  size_t n, n_edits, n_dropped; /* DROPPED: edits of bounds */
};

static gemel_dtype dtype_of(const gemel_graph *graph, gemel__ref ref) {
  return gemel_type_dtype(gemel_graph_context(graph),
                          gemel__node_type(graph, ref.node, ref.output));
}

/* 1 if NODE has one result, which is small, of concrete shape, and may be IEEE's: it is a float, or
 * made of floats. */
static int may_be(const struct settling *s, uint32_t node) {
  const gemel_graph *g = s->graph;
  uint32_t count, j = 0;
  const gemel__ref *inputs = gemel__node_inputs(g, node, &count);
  if (!s->closed[node] || count == 0 || !gemel__has_output(g, node, 0) ||
      gemel__has_output(g, node, 1)) {
    return 0;
  }
  int64_t elements = gemel__value_elements(gemel__value(g, (gemel__ref){node, 0}));
  while (j < count && !gemel__is_float(dtype_of(g, inputs[j]))) {
    j++;
  }
  return elements > 0 && elements <= MOST_ELEMENTS &&
         (j < count || gemel__is_float(dtype_of(g, (gemel__ref){node, 0})));
}

static void choose(struct settling *s) {
  gemel__closed_mark(s->graph, s->closed);
  for (uint32_t k = 0; k < s->graph->n_nodes; k++) {
    if (may_be(s, k)) {
      snprintf(s->labels[s->n], sizeof s->labels[s->n], "v%u", (unsigned)k);
      s->names[s->n] = s->labels[s->n];
      s->refs[s->n++] = (gemel__ref){k, 0};
    }
  }
}

/* 1 if REAL, in O, has an element without a value or one that overflowed in IEEE, in S, or is no
 * float; and all of IEEE are known. */
static int is_settled(const gemel__rtensor *real, gemel__domain *o, const gemel__rtensor *ieee,
                      gemel__domain *s) {
  int settled = !gemel__is_float(real->dtype);
  for (size_t i = 0; i < real->count; i++) {
    settled |= o->state(o, gemel__rtensor_at(real, i)) == GEMEL__UNDEFINED;
    if (i >= ieee->count || s->state(s, gemel__rtensor_at(ieee, i)) != GEMEL__DEFINED) {
      return 0;
    }
    settled |= isinf(gemel__special_value(s, gemel__rtensor_at(ieee, i))) &&
               o->state(o, gemel__rtensor_at(real, i)) == GEMEL__DEFINED;
  }
  return settled;
}

/* VALUE as a tensor; NULL if an integer isn't exact as a double, or memory is out. */
static gemel_tensor *tensor_of(const gemel__rtensor *value, gemel__domain *d) {
  gemel_tensor *tensor = gemel_tensor_new(value->dtype, value->rank, value->shape, NULL);
  for (size_t i = 0; tensor != NULL && i < value->count; i++) {
    double x = gemel__special_value(d, gemel__rtensor_at(value, i));
    char *at = (char *)gemel_tensor_data(tensor) + i * gemel_dtype_size(value->dtype);
    if (gemel__is_float(value->dtype)) {
      gemel__store_real(value->dtype, x, at);
    } else if (fabs(x) >= 0x1p53 || gemel__dtype_store(value->dtype, x, at) != GEMEL_OK) {
      gemel_tensor_unref(tensor);
      return NULL;
    }
  }
  return tensor;
}

/* Edits the nodes that are settled, by REAL, in O, and IEEE, in S. */
static void edit_all(struct settling *s, const gemel__rtensor *real, gemel__domain *o,
                     const gemel__rtensor *ieee, gemel__domain *special) {
  for (size_t k = 0; k < s->n; k++) {
    gemel_tensor *tensor =
        is_settled(&real[k], o, &ieee[k], special) ? tensor_of(&ieee[k], special) : NULL;
    if (tensor != NULL) {
      s->tensors[s->n_edits++] = tensor;
      s->edits[s->refs[k].node] = (gemel__edit){.kind = GEMEL__EDIT_CONSTANT, .tensor = tensor};
    }
  }
}

/* Evaluates what was chosen, and writes the edits. */
static gemel_status evaluate(struct settling *s, gemel_error *error) {
  gemel_error refused = {GEMEL_OK, 0, 0, ""};
  size_t n_inputs = gemel_graph_input_count(s->graph);
  unsigned char *none = gemel__alloc_zeroed(n_inputs + 1); /* no input is kept */
  gemel__rebuild how = {s->graph, NULL, none, 0, NULL, NULL, s->n, s->refs, s->names};
  gemel__special *special = gemel__special_new();
  gemel__ordered *o = gemel__ordered_new(128);
  gemel__rtensor *room = gemel__alloc_zeroed(2 * s->n * sizeof *room);
  int fine = none != NULL && special != NULL && o != NULL && room != NULL;
  gemel_graph *graph = fine ? gemel__rebuild_graph(&how, &refused) : NULL;
  gemel_status status = !fine ? GEMEL_NO_MEMORY : graph != NULL ? GEMEL_OK : refused.status;
  status =
      status ? status : gemel__reference_graph(graph, &o->domain, NULL, room, NULL, NULL, &refused);
  status = status ? status
                  : gemel__reference_graph(graph, &special->domain, NULL, room + s->n, NULL, NULL,
                                           &refused);
  if (status == GEMEL_OK && special->unknown == 0) {
    edit_all(s, room, &o->domain, room + s->n, &special->domain);
  }
  gemel__rtensors_free(room != NULL ? 2 * s->n : 0, room);
  gemel__ordered_free(o);
  gemel__special_free(special);
  gemel__free(none, n_inputs + 1);
  gemel_graph_unref(graph);
  return status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "constants") : GEMEL_OK;
}

/* *SETTLED = the graph with the edits. */
static gemel_status rebuild(const struct settling *s, gemel_graph **settled, gemel_error *error) {
  size_t n = gemel_graph_output_count(s->graph);
  gemel_error refused = {GEMEL_OK, 0, 0, ""};
  gemel__rebuild how = {.from = s->graph,
                        .edits = s->edits,
                        .n_outputs = n,
                        .outputs = s->graph->outputs,
                        .output_names = s->graph->output_names};
  *settled = gemel__rebuild_graph(&how, &refused);
  return refused.status == GEMEL_NO_MEMORY ? gemel__no_memory(error, "constants") : GEMEL_OK;
}

/* 1 if the constant BOUND is DTYPE's largest finite number, with SIGN, everywhere. */
static int is_largest(const gemel_graph *graph, gemel__ref bound, gemel_dtype dtype, int sign) {
  const gemel__node *record = gemel__node_at(graph, bound.node);
  if (record->op != GEMEL__OP_constant || !gemel__is_float(dtype)) {
    return 0;
  }
  const gemel_tensor *tensor = gemel__attrs_at(graph->context, record->attrs)->values[0].u.tensor;
  return gemel_tensor_elements(tensor) == 1 &&
         gemel__decode(dtype, gemel__tensor_element(tensor, 0)) == sign * gemel__largest(dtype);
}

/* Leaves out bounds that infinities alone exceed. */
static void drop_bounds(struct settling *s) {
  const gemel_graph *g = s->graph;
  for (uint32_t k = 0; k < g->n_nodes; k++) {
    uint32_t count, op = gemel__node_at(g, k)->op;
    const gemel__ref *inputs = gemel__node_inputs(g, k, &count);
    int sign = op == GEMEL__OP_minimum ? 1 : op == GEMEL__OP_maximum ? -1 : 0;
    for (uint32_t j = 0; j < count && sign != 0; j++) {
      gemel__ref x = inputs[1 - j];
      if (s->edits[k].kind == GEMEL__EDIT_KEEP &&
          is_largest(g, inputs[j], dtype_of(g, (gemel__ref){k, 0}), sign) &&
          gemel_type_equal(gemel__node_type(g, x.node, x.output), gemel__node_type(g, k, 0))) {
        s->edits[k] = (gemel__edit){.kind = GEMEL__EDIT_VALUE, .value = x};
        s->n_dropped++;
      }
    }
  }
}

static gemel_status settle(struct settling *s, gemel_graph **settled, gemel_error *error) {
  gemel_status status = GEMEL_OK;
  choose(s);
  if (s->n > 0) {
    status = evaluate(s, error);
  }
  drop_bounds(s);
  if (status == GEMEL_OK && s->n_edits + s->n_dropped > 0) {
    status = rebuild(s, settled, error);
  }
  for (size_t k = 0; k < s->n_edits; k++) {
    gemel_tensor_unref(s->tensors[k]);
  }
  return status;
}

gemel_status gemel__discrete_settle(const gemel_graph *graph, gemel_graph **settled,
                                    gemel_error *error) {
  size_t n = graph->n_nodes + 1;
  struct settling s = {.graph = graph};
  s.closed = gemel__alloc_zeroed(n);
  s.refs = gemel__alloc_array(n, sizeof *s.refs);
  s.names = gemel__alloc_array(n, sizeof *s.names);
  s.labels = gemel__alloc_array(n, sizeof *s.labels);
  s.edits = gemel__alloc_zeroed(n * sizeof *s.edits);
  s.tensors = gemel__alloc_array(n, sizeof *s.tensors);
  *settled = NULL;
  gemel_status status = s.closed == NULL || s.refs == NULL || s.names == NULL || s.labels == NULL ||
                                s.edits == NULL || s.tensors == NULL
                            ? gemel__no_memory(error, "constants")
                            : settle(&s, settled, error);
  gemel__free(s.closed, n);
  gemel__free(s.refs, n * sizeof *s.refs);
  gemel__free(s.names, n * sizeof *s.names);
  gemel__free(s.labels, n * sizeof *s.labels);
  gemel__free(s.edits, n * sizeof *s.edits);
  gemel__free(s.tensors, n * sizeof *s.tensors);
  return status;
}
