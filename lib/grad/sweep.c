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
  s->n_slots = s->n_nodes;
  if (s->graph->n_types == 0) {
    return GEMEL_OK;
  }
  s->first_slot = gemel__alloc_array(s->n_nodes, sizeof *s->first_slot);
  if (s->first_slot == NULL) {
    return gemel__no_memory(error, "derivatives");
  }
  s->n_slots = 0;
  for (size_t k = 0; k < s->n_nodes; k++) {
    s->first_slot[k] = (uint32_t)s->n_slots;
    s->n_slots += gemel__node_at(s->graph, (uint32_t)k)->n_outputs;
  }
  return GEMEL_OK;
}

static size_t active_words(const gemel__sweep *s) {
  return s->n_nodes / 64 + 1;
}

gemel_status gemel__sweep_init(gemel__sweep *s, gemel_graph *graph, gemel_error *error) {
  memset(s, 0, sizeof *s);
  s->graph = graph;
  s->n_nodes = graph->n_nodes;
  s->active = gemel__alloc_array(active_words(s), sizeof *s->active);
  if (s->active == NULL || number_slots(s, error) != GEMEL_OK ||
      (s->slots = gemel__alloc_array(s->n_slots, sizeof *s->slots)) == NULL) {
    gemel__sweep_clear(s);
    return gemel__no_memory(error, "derivatives");
  }
  return GEMEL_OK;
}

void gemel__sweep_clear(gemel__sweep *s) {
  gemel__free(s->active, active_words(s) * sizeof *s->active);
  gemel__free(s->first_slot, s->n_nodes * sizeof *s->first_slot);
  gemel__free(s->slots, s->n_slots * sizeof *s->slots);
  gemel__free(s->others, s->other_capacity * sizeof *s->others);
  gemel__free(s->room, s->room_capacity * sizeof *s->room);
  gemel__free(s->wanted, s->wanted_capacity);
  memset(s, 0, sizeof *s);
}

int gemel__sweep_set(gemel__sweep *s, uint32_t *slot, gemel_value derivative) {
  if (gemel__node_at(s->graph, derivative.node)->n_outputs == 1) {
    *slot = derivative.node + 1;
    return 0;
  }
  if (gemel__grow(&s->others, &s->other_capacity, s->n_others + 1, sizeof *s->others) != 0) {
    return -1;
  }
  s->others[s->n_others] = (gemel__ref){derivative.node, derivative.output};
  *slot = GEMEL__SEVERAL | (uint32_t)s->n_others++;
  return 0;
}

/* Points CALL at room for N_IN inputs and N_OUT outputs. */
static int make_room(gemel__sweep *s, size_t n_in, size_t n_out) {
  if (gemel__grow(&s->room, &s->room_capacity, 2 * (n_in + n_out), sizeof *s->room) != 0 ||
      gemel__grow(&s->wanted, &s->wanted_capacity, n_in, 1) != 0) {
    return -1;
  }
  s->call.n_inputs = n_in;
  s->call.inputs = s->room;
  s->call.n_outputs = n_out;
  s->call.outputs = s->room + n_in;
  s->call.d_inputs = s->room + n_in + n_out;
  s->call.d_outputs = s->room + 2 * n_in + n_out;
  s->call.wanted = s->wanted;
  return 0;
}

gemel_status gemel__sweep_call(gemel__sweep *s, uint32_t node, gemel_error *error) {
  static const gemel_value none;
  const gemel__node *record = gemel__node_at(s->graph, node);
  uint32_t n_in, n_out = record->n_outputs, k;
  const gemel__ref *refs = gemel__node_inputs(s->graph, node, &n_in);
  if (make_room(s, n_in, n_out) != 0) {
    return gemel__no_memory(error, "derivatives");
  }
  s->op = gemel__op_at(s->graph->context, record->op);
  s->call.size = sizeof s->call;
  s->call.graph = s->graph;
  s->call.attrs = gemel__attrs_at(s->graph->context, record->attrs)->values;
  s->call.where = gemel__node_where(s->graph, node);
  s->call.data = s->op->record.data;
  s->call.error = error;
  for (k = 0; k < n_in; k++) {
    s->room[k] = gemel__value(s->graph, refs[k]);
    s->call.d_inputs[k] = none;
    s->wanted[k] = 0;
  }
  for (k = 0; k < n_out; k++) {
    s->room[n_in + k] = (gemel_value){s->graph, node, k};
    s->call.d_outputs[k] = none;
  }
  return GEMEL_OK;
}

int gemel__differentiable(const gemel_graph *graph, uint32_t node, uint32_t output) {
  gemel_type type = gemel__node_type(graph, node, output);
  return gemel_dtype_kind((gemel_dtype)gemel__type_at(graph->context, type)->dtype) ==
         GEMEL_KIND_FLOAT;
}

gemel_status gemel__sweep_fail(gemel__sweep *s, uint32_t node, gemel_status status,
                               gemel_error *error) {
  gemel_location where = gemel__node_where(s->graph, node);
  if (s->graph->error.status != GEMEL_OK) {
    status = s->graph->error.status;
    *error = s->graph->error;
  } else if (status == GEMEL_OK) {
    status = GEMEL_INTERNAL;
  }
  gemel__told(error, status);
  gemel__error_unplace(error, where);
  gemel__error_prefix(error, "derivative of %s (node %u)",
                      gemel__node_op(s->graph, node)->record.name, node);
  gemel__error_place(error, where);
  return status;
}

int gemel__sweep_fits(const gemel__sweep *s, gemel_value derivative, gemel_value value) {
  gemel_context *context = s->graph->context;
  if (gemel_is_null(derivative)) {
    return 1;
  }
  if (derivative.graph != s->graph || !gemel__is_value(derivative)) {
    return 0;
  }
  if (gemel_type_equal(gemel_value_type(derivative), gemel_value_type(value))) {
    return 1;
  }
  const struct gemel__type *d = gemel__type_at(context, gemel_value_type(derivative));
  const struct gemel__type *v = gemel__type_at(context, gemel_value_type(value));
  if (d->dtype != v->dtype || d->rank != v->rank) {
    return 0;
  }
  for (int k = 0; k < d->rank; k++) {
    if (gemel__dim_compare(context, d->dims[k], v->dims[k]) == GEMEL__DIFFERENT) {
      return 0;
    }
  }
  return 1;
}

gemel_status gemel__sweep_misfit(gemel__sweep *s, uint32_t node, size_t k, gemel_value derivative,
                                 gemel_value value, gemel_error *error) {
  char made[200], wanted[200];
  gemel_type type = derivative.graph == s->graph ? gemel_value_type(derivative) : GEMEL_TYPE_NONE;
  gemel_type_format(s->graph->context, type, made, sizeof made);
  gemel_type_format(s->graph->context, gemel_value_type(value), wanted, sizeof wanted);
  gemel__fail(error, GEMEL_BAD_TYPE, "its rule gives derivative %zu as %s, not %s", k, made,
              wanted);
  return gemel__sweep_fail(s, node, GEMEL_BAD_TYPE, error);
}

/* ---- Arguments ---- */

gemel_status gemel__same_graph(size_t n, const gemel_value *values, const char *what,
                               gemel_graph **graph, gemel_error *error) {
  size_t k;
  if (n > 0 && values == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the %ss are null", what);
  }
  for (k = 0; k < n; k++) {
    if (gemel_is_null(values[k])) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s %zu is null", what, k);
    }
    if (*graph != NULL && values[k].graph != *graph) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s %zu is of another graph", what, k);
    }
    if (!gemel__is_value(values[k])) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "%s %zu is no value of its graph", what, k);
    }
    *graph = values[k].graph;
  }
  return GEMEL_OK;
}

gemel_status gemel__sweep_ready(const gemel_graph *graph, size_t n, const gemel_value *wrt,
                                gemel_error *error) {
  size_t k;
  if (graph == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "there is nothing to differentiate");
  }
  if (graph->frozen) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the graph is an attribute and can't change");
  }
  for (k = 0; k < n; k++) {
    if (!gemel__differentiable(graph, wrt[k].node, wrt[k].output)) {
      return gemel__bad_value(wrt[k], "value to differentiate by", k, "is not of a float dtype",
                              error);
    }
  }
  if (graph->error.status != GEMEL_OK) {
    *error = graph->error;
  }
  return graph->error.status;
}

gemel_status gemel__bad_value(gemel_value value, const char *what, size_t k, const char *fault,
                              gemel_error *error) {
  char type[200];
  gemel_location where = gemel_value_where(value);
  gemel_type_format(value.graph->context, gemel_value_type(value), type, sizeof type);
  gemel__fail(error, GEMEL_BAD_TYPE, "%s %zu (%s, node %u, %s", what, k,
              gemel_value_operation(value), value.node, type);
  if (gemel__is_place(where)) {
    gemel__error_add(error, ", made at %s:%d", where.file, where.line);
  }
  gemel__error_add(error, ") %s", fault);
  return GEMEL_BAD_TYPE;
}
