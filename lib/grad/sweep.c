/* SPDX-License-Identifier: MIT
 *
 * Bookkeeping of a derivative sweep. Ids are a topological order, so both modes are one loop over
 * the array of nodes, with one slot a value and no stack.
 */
#include "grad/sweep.h"

#include <string.h>
#include "core/alloc.h"
#include "core/apply.h"
#include "core/error.h"

static gemel_status number_slots(gemel__sweep *s, gemel_error *error) {
  size_t k;
  s->n_slots = s->n_nodes;
  if (s->graph->n_types == 0) {
    return GEMEL_OK;
  }
  s->first_slot = gemel__alloc_array(s->n_nodes, sizeof *s->first_slot);
  if (s->first_slot == NULL) {
    return gemel__no_memory(error, "derivatives");
  }
  s->n_slots = 0;
  for (k = 0; k < s->n_nodes; k++) {
    s->first_slot[k] = (uint32_t)s->n_slots;
    s->n_slots += gemel__node_at(s->graph, (uint32_t)k)->n_outputs;
  }
  return GEMEL_OK;
}

gemel_status gemel__sweep_init(gemel__sweep *s, gemel_graph *graph, gemel_error *error) {
  memset(s, 0, sizeof *s);
  s->graph = graph;
  s->n_nodes = graph->n_nodes;
  s->active = gemel__alloc_array(s->n_nodes, 1);
  if (s->active == NULL || number_slots(s, error) != GEMEL_OK ||
      (s->slots = gemel__alloc_array(s->n_slots, sizeof *s->slots)) == NULL) {
    gemel__sweep_clear(s);
    return gemel__no_memory(error, "derivatives");
  }
  memset(s->slots, 0xff, s->n_slots * sizeof *s->slots);
  return GEMEL_OK;
}

void gemel__sweep_clear(gemel__sweep *s) {
  gemel__free(s->active, s->n_nodes);
  gemel__free(s->first_slot, s->n_nodes * sizeof *s->first_slot);
  gemel__free(s->slots, s->n_slots * sizeof *s->slots);
  gemel__free(s->room, s->room_capacity * sizeof *s->room);
  gemel__free(s->wanted, s->wanted_capacity);
  memset(s, 0, sizeof *s);
}

gemel_status gemel__sweep_call(gemel__sweep *s, uint32_t node, gemel_error *error) {
  const gemel__node *record = gemel__node_at(s->graph, node);
  uint32_t n_in, n_out = record->n_outputs, k;
  const gemel__ref *refs = gemel__node_inputs(s->graph, node, &n_in);
  size_t need = 2 * ((size_t)n_in + n_out);
  if (gemel__grow(&s->room, &s->room_capacity, need, sizeof *s->room) != 0 ||
      gemel__grow(&s->wanted, &s->wanted_capacity, n_in, 1) != 0) {
    return gemel__no_memory(error, "derivatives");
  }
  s->call.size = sizeof s->call;
  s->call.graph = s->graph;
  s->call.n_inputs = n_in;
  s->call.inputs = s->room;
  s->call.n_outputs = n_out;
  s->call.outputs = s->room + n_in;
  s->call.in_cotangents = s->room + n_in + n_out;
  s->call.out_cotangents = s->room + 2 * (size_t)n_in + n_out;
  s->call.wanted = s->wanted;
  s->call.attrs = gemel__attrs_at(s->graph->context, record->attrs)->values;
  s->call.where.file = s->graph->files[record->file];
  s->call.where.line = (int)record->line;
  s->call.data = gemel__node_op(s->graph, node)->record.data;
  s->call.error = error;
  for (k = 0; k < n_in; k++) {
    s->room[k] = gemel__value(s->graph, refs[k]);
  }
  for (k = 0; k < n_out; k++) {
    gemel__ref ref = {node, k};
    s->room[n_in + k] = gemel__value(s->graph, ref);
  }
  memset(s->room + n_in + n_out, 0, ((size_t)n_in + n_out) * sizeof *s->room);
  memset(s->wanted, 0, n_in);
  return GEMEL_OK;
}

int gemel__differentiable(const gemel_graph *graph, uint32_t node, uint32_t output) {
  gemel_type type = gemel__node_type(graph, node, output);
  return gemel_dtype_kind((gemel_dtype)gemel__type_at(graph->context, type)->dtype) ==
         GEMEL_KIND_FLOAT;
}

gemel_status gemel__sweep_fail(gemel__sweep *s, uint32_t node, gemel_status status,
                               gemel_error *error) {
  const gemel__node *record = gemel__node_at(s->graph, node);
  if (s->graph->error.status != GEMEL_OK && error != NULL) {
    *error = s->graph->error;
  }
  gemel__error_prefix(error, "%s:%u: derivative of %s (node %u)", s->graph->files[record->file],
                      record->line, gemel__node_op(s->graph, node)->record.name, node);
  return s->graph->error.status != GEMEL_OK ? s->graph->error.status : status;
}

gemel_graph *gemel__one_graph(size_t n, const gemel_value *values, size_t m,
                              const gemel_value *more, gemel_error *error) {
  gemel_graph *graph = NULL;
  size_t k;
  for (k = 0; k < n + m; k++) {
    gemel_value v = k < n ? values[k] : more[k - n];
    if (gemel_is_null(v)) {
      gemel__fail(error, GEMEL_BAD_ARGUMENT, "value %zu is null", k);
      return NULL;
    }
    if (graph != NULL && v.graph != graph) {
      gemel__fail(error, GEMEL_BAD_ARGUMENT, "value %zu is of another graph", k);
      return NULL;
    }
    graph = v.graph;
  }
  if (graph == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "there is nothing to differentiate");
  } else if (graph->frozen) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the graph is an attribute and can't change");
    return NULL;
  }
  return graph;
}
