/* SPDX-License-Identifier: MIT
 *
 * Life of a graph, its inputs and outputs, and looking at it. How nodes are appended is in cons.c,
 * how operations are applied in apply.c.
 */
#include "core/graph.h"

#include <stdio.h>
#include <string.h>
#include "core/alloc.h"
#include "core/apply.h"
#include "core/attrs.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/value.h"

static void free_arrays(gemel_graph *graph) {
  gemel__free(graph->nodes, graph->node_capacity * sizeof *graph->nodes);
  gemel__free(graph->pool, graph->pool_capacity * sizeof *graph->pool);
  gemel__free(graph->node_types, graph->node_type_capacity * sizeof *graph->node_types);
  gemel__free(graph->types, graph->type_capacity * sizeof *graph->types);
  gemel__free(graph->buckets, graph->bucket_capacity * sizeof *graph->buckets);
  gemel__idtable_clear(&graph->overflow);
  gemel__free(graph->inputs, graph->input_capacity * sizeof *graph->inputs);
  gemel__free(graph->input_names, graph->input_name_capacity * sizeof *graph->input_names);
  gemel__free(graph->input_marks, graph->input_mark_capacity);
  gemel__free(graph->partial, graph->partial_capacity);
  gemel__free(graph->outputs, graph->output_capacity * sizeof *graph->outputs);
  gemel__free(graph->output_names, graph->output_name_capacity * sizeof *graph->output_names);
  gemel__free(graph->files, graph->file_capacity * sizeof *graph->files);
  gemel__idtable_clear(&graph->input_table);
  gemel__idtable_clear(&graph->output_table);
  gemel__idtable_clear(&graph->file_table);
  gemel__memo_free(graph->memo);
}

void gemel__graph_free_frozen(gemel_graph *graph) {
  free_arrays(graph);
  gemel__free(graph, sizeof *graph);
}

gemel_graph *gemel_graph_new(gemel_context *context, gemel_error *error) {
  gemel_graph *graph;
  if (context == NULL) {
    gemel__fail(error, GEMEL_BAD_ARGUMENT, "the context is null");
    return NULL;
  }
  graph = gemel__alloc_zeroed(sizeof *graph);
  if (graph == NULL || gemel__graph_reserve(graph) != 0 ||
      (graph->memo = gemel__memo_new()) == NULL) {
    if (graph != NULL) {
      gemel__graph_free_frozen(graph);
    }
    gemel__no_memory(error, "a graph");
    return NULL;
  }
  graph->references = 1;
  graph->context = gemel_context_ref(context);
  return graph;
}

gemel_graph *gemel_graph_ref(gemel_graph *graph) {
  if (graph != NULL && graph->frozen) {
    gemel_context_ref(graph->context);
  } else if (graph != NULL) {
    __atomic_add_fetch(&graph->references, 1, __ATOMIC_RELAXED);
  }
  return graph;
}

void gemel_graph_unref(gemel_graph *graph) {
  if (graph == NULL) {
    return;
  }
  gemel_context *context = graph->context;
  if (graph->frozen) {
    gemel_context_unref(context);
  } else if (__atomic_sub_fetch(&graph->references, 1, __ATOMIC_ACQ_REL) == 0) {
    free_arrays(graph);
    gemel__free(graph, sizeof *graph);
    gemel_context_unref(context);
  }
}

gemel_context *gemel_graph_context(const gemel_graph *graph) {
  return graph != NULL ? graph->context : NULL;
}

const gemel_error *gemel_graph_error(const gemel_graph *graph) {
  static const gemel_error none = {GEMEL_BAD_ARGUMENT, 0, 0, "the graph is null"};
  return graph != NULL ? &graph->error : &none;
}

void gemel_graph_clear_error(gemel_graph *graph) {
  if (graph != NULL && graph->error.status != GEMEL_OK) {
    memset(&graph->error, 0, sizeof graph->error);
  }
}

gemel_value gemel__graph_fail_va(gemel_graph *graph, gemel_status status, const char *format,
                                 va_list args) {
  gemel_value null = {NULL, 0, 0};
  /* a frozen graph is shared between threads: nothing is written to it */
  if (graph != NULL && !graph->frozen && graph->error.status == GEMEL_OK) {
    gemel__fail_va(&graph->error, status, format, args);
  }
  return null;
}

gemel_value gemel__graph_fail(gemel_graph *graph, gemel_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  gemel_value null = gemel__graph_fail_va(graph, status, format, args);
  va_end(args);
  return null;
}

gemel_value gemel__graph_fail_at(gemel_graph *graph, gemel_location where, gemel_status status,
                                 const char *format, ...) {
  gemel_error error;
  gemel_value null = {NULL, 0, 0};
  va_list args;
  va_start(args, format);
  gemel__fail_va(&error, status, format, args);
  va_end(args);
  gemel__error_place(&error, where);
  return graph != NULL ? gemel__graph_take_error(graph, &error) : null;
}

gemel_value gemel__graph_take_error(gemel_graph *graph, const gemel_error *error) {
  gemel_value null = {NULL, 0, 0};
  if (!graph->frozen && graph->error.status == GEMEL_OK) {
    graph->error = *error;
  }
  return null;
}

/* ---- Inputs and outputs ---- */

/* Appends (REF, NAME) to a list of inputs or outputs; 0, or -1 with nothing changed. */
static int push_named(gemel__ref **refs, size_t *ref_capacity, const char ***names,
                      size_t *name_capacity, gemel__idtable *table, size_t *count, gemel__ref ref,
                      const char *name) {
  if (gemel__grow(refs, ref_capacity, *count + 1, sizeof **refs) != 0 ||
      gemel__grow(names, name_capacity, *count + 1, sizeof **names) != 0) {
    return -1;
  }
  (*refs)[*count] = ref;
  (*names)[*count] = name;
  if (gemel__name_add(table, *names, *count) != 0) {
    return -1;
  }
  ++*count;
  return 0;
}

int gemel__add_named_input(gemel_graph *graph, gemel__ref ref, const char *name) {
  return push_named(&graph->inputs, &graph->input_capacity, &graph->input_names,
                    &graph->input_name_capacity, &graph->input_table, &graph->n_inputs, ref, name);
}

int gemel__add_named_output(gemel_graph *graph, gemel__ref ref, const char *name) {
  return push_named(&graph->outputs, &graph->output_capacity, &graph->output_names,
                    &graph->output_name_capacity, &graph->output_table, &graph->n_outputs, ref,
                    name);
}

static gemel_value add_input(gemel_graph *graph, const char *name, gemel_type type,
                             gemel_location where) {
  const struct gemel__type *t = gemel__type_at(graph->context, type);
  gemel_attr attrs[4];
  gemel_error error;
  uint32_t id;
  gemel_value value;
  attrs[0] = gemel_attr_string("name", name);
  attrs[1] = gemel_attr_dtype("dtype", (gemel_dtype)t->dtype);
  attrs[2] = gemel_attr_dims("shape", t->rank, t->dims);
  attrs[3] = gemel_attr_int("space", t->space);
  if (gemel__attrs_intern(graph->context, gemel__op_at(graph->context, GEMEL__OP_input), 4, attrs,
                          &id, &error) != GEMEL_OK) {
    gemel__error_place(&error, where);
    return gemel__graph_take_error(graph, &error);
  }
  value = gemel__apply(graph, GEMEL__OP_input, id, 0, NULL, where);
  if (!gemel_is_null(value)) {
    gemel__ref ref = {value.node, value.output};
    if (gemel__add_named_input(graph, ref, name) != 0) {
      gemel__graph_pop(graph, value.node);
      return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for input %s",
                                  name);
    }
  }
  return value;
}

gemel_value gemel_input_at(gemel_graph *graph, const char *name, gemel_type type,
                           gemel_location where) {
  const char *interned;
  if (graph == NULL || graph->frozen) {
    return gemel__no_value;
  }
  if (!gemel__is_name(name)) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "malformed name of an input: %s",
                                name != NULL ? name : "(null)");
  }
  if (!gemel__type_exists(graph->context, type)) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT,
                                "input %s has no type: a size was negative or none, the rank above "
                                "%d, the dtype or the memory space unknown, or memory was out",
                                name, GEMEL_MAX_RANK);
  }
  if (gemel__type_at(graph->context, type)->has_runtime) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT,
                                "input %s: a size that a node produces can't be an input's", name);
  }
  interned = gemel__intern_string(graph->context, name);
  if (interned == NULL) {
    return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for a name");
  }
  if (gemel__name_find(&graph->input_table, graph->input_names, interned) >= 0) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT,
                                "there is an input called %s already", name);
  }
  return add_input(graph, interned, type, where);
}

/* What keeps VALUE from being an output called NAME; NULL: nothing. */
static const char *output_fault(gemel_value value, const char *name) {
  if (value.graph->frozen) {
    return "the graph is an attribute and can't change";
  }
  if (!gemel__is_value(value)) {
    return "the graph has no such value";
  }
  return gemel__is_name(name) ? NULL : "malformed name";
}

/* 1 unless NAME is a state's, whose next value VALUE would be, and the types differ: then that is
 * the graph's error. */
static int fits_state(gemel_value value, const char *name, gemel_location where) {
  gemel_graph *graph = value.graph;
  long k = gemel__state_called(graph, name);
  gemel_type type = gemel_value_type(value);
  gemel_type wanted = k < 0 ? type : gemel__node_type(graph, graph->inputs[k].node, 0);
  char is[300], should[300];
  if (gemel_type_equal(type, wanted)) {
    return 1;
  }
  gemel_type_format(graph->context, type, is, sizeof is);
  gemel_type_format(graph->context, wanted, should, sizeof should);
  gemel__graph_fail_at(graph, where, GEMEL_BAD_TYPE,
                       "the update of state %s is %s, and the state is %s", name, is, should);
  return 0;
}

gemel_status gemel_output_at(gemel_value value, const char *name, gemel_location where) {
  gemel_graph *graph = value.graph;
  gemel__ref ref = {value.node, value.output};
  if (graph == NULL) {
    return GEMEL_NULL_VALUE;
  }
  where = gemel__is_place(where) ? where : gemel_value_where(value);
  const char *fault = output_fault(value, name);
  if (fault != NULL) {
    gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "output %s: %s",
                         name != NULL ? name : "(null)", fault);
    return GEMEL_BAD_ARGUMENT;
  }
  const char *interned = gemel__intern_string(graph->context, name);
  if (interned != NULL &&
      gemel__name_find(&graph->output_table, graph->output_names, interned) >= 0) {
    gemel__graph_fail_at(graph, where, GEMEL_BAD_ARGUMENT, "there is an output called %s already",
                         name);
    return GEMEL_BAD_ARGUMENT;
  }
  if (interned != NULL && !fits_state(value, interned, where)) {
    return GEMEL_BAD_TYPE;
  }
  if (interned == NULL || gemel__add_named_output(graph, ref, interned) != 0) {
    gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for output %s", name);
    return GEMEL_NO_MEMORY;
  }
  return graph->error.status;
}

/* For programs that were compiled when it was no macro. */
gemel_status(gemel_output)(gemel_value value, const char *name);
gemel_status(gemel_output)(gemel_value value, const char *name) {
  gemel_location nowhere = {"", 0};
  return gemel_output_at(value, name, nowhere);
}

/* ---- Looking ---- */

gemel_value gemel_value_output(gemel_value value, uint32_t k) {
  if (value.graph == NULL || !gemel__has_output(value.graph, value.node, k)) {
    return gemel__no_value;
  }
  value.output = k;
  return value;
}

gemel_type gemel_value_type(gemel_value value) {
  return gemel__is_value(value) ? gemel__node_type(value.graph, value.node, value.output)
                                : GEMEL_TYPE_NONE;
}

const char *gemel_value_operation(gemel_value value) {
  return gemel__is_value(value) ? gemel__node_op(value.graph, value.node)->record.name : "";
}

gemel_location gemel_value_where(gemel_value value) {
  gemel_location where = {"", 0};
  if (gemel__is_value(value)) {
    const gemel__node *node = gemel__node_at(value.graph, value.node);
    where.file = value.graph->files[node->file];
    where.line = (int)node->line;
  }
  return where;
}

size_t gemel_value_input_count(gemel_value value) {
  uint32_t count = 0;
  if (gemel__is_value(value)) {
    gemel__node_inputs(value.graph, value.node, &count);
  }
  return count;
}

gemel_value gemel_value_input(gemel_value value, size_t k) {
  uint32_t count;
  if (!gemel__is_value(value)) {
    return gemel__no_value;
  }
  const gemel__ref *inputs = gemel__node_inputs(value.graph, value.node, &count);
  return k < count ? gemel__value(value.graph, inputs[k]) : gemel__no_value;
}

gemel_status gemel_value_attr(gemel_value value, const char *name, gemel_attr *attr) {
  if (!gemel__is_value(value) || name == NULL || attr == NULL) {
    return GEMEL_NOT_FOUND;
  }
  const struct gemel__attrs *attrs =
      gemel__attrs_at(value.graph->context, gemel__node_at(value.graph, value.node)->attrs);
  for (size_t k = 0; k < attrs->count; k++) {
    if (strcmp(attrs->values[k].name, name) == 0) {
      *attr = attrs->values[k];
      return GEMEL_OK;
    }
  }
  return GEMEL_NOT_FOUND;
}

size_t gemel_graph_node_count(const gemel_graph *graph) {
  return graph != NULL ? graph->n_nodes : 0;
}

size_t gemel_graph_input_count(const gemel_graph *graph) {
  return graph != NULL ? graph->n_inputs : 0;
}

size_t gemel_graph_output_count(const gemel_graph *graph) {
  return graph != NULL ? graph->n_outputs : 0;
}

gemel_value gemel_graph_input(const gemel_graph *graph, size_t k) {
  return graph != NULL && k < graph->n_inputs ? gemel__value(graph, graph->inputs[k])
                                              : gemel__no_value;
}

gemel_value gemel_graph_output(const gemel_graph *graph, size_t k) {
  return graph != NULL && k < graph->n_outputs ? gemel__value(graph, graph->outputs[k])
                                               : gemel__no_value;
}

const char *gemel_graph_input_name(const gemel_graph *graph, size_t k) {
  return graph != NULL && k < graph->n_inputs ? graph->input_names[k] : NULL;
}

const char *gemel_graph_output_name(const gemel_graph *graph, size_t k) {
  return graph != NULL && k < graph->n_outputs ? graph->output_names[k] : NULL;
}

size_t gemel_graph_bytes(const gemel_graph *graph) {
  if (graph == NULL) {
    return 0;
  }
  return sizeof *graph + graph->node_capacity * sizeof *graph->nodes +
         graph->pool_capacity * sizeof *graph->pool + graph->type_capacity * sizeof *graph->types +
         graph->node_type_capacity * sizeof *graph->node_types +
         graph->bucket_capacity * sizeof *graph->buckets +
         graph->input_capacity * sizeof *graph->inputs +
         graph->input_name_capacity * sizeof *graph->input_names + graph->input_mark_capacity +
         graph->partial_capacity + graph->output_capacity * sizeof *graph->outputs +
         graph->output_name_capacity * sizeof *graph->output_names +
         graph->file_capacity * sizeof *graph->files +
         (graph->input_table.capacity + graph->output_table.capacity + graph->file_table.capacity +
          graph->overflow.capacity) *
             sizeof(uint32_t) +
         gemel__memo_bytes(graph->memo);
}

/* A node needs what its inputs name; sizes that nodes produce are inputs too. Ids are a topological
 * order, so one sweep from the end suffices. */
void gemel__graph_live(const gemel_graph *graph, unsigned char *live) {
  uint32_t j, count;
  for (size_t k = 0; k < graph->n_outputs; k++) {
    live[graph->outputs[k].node] = 1;
  }
  for (size_t k = graph->n_nodes; k-- > 0;) {
    if (live[k]) {
      const gemel__ref *inputs = gemel__node_inputs(graph, (uint32_t)k, &count);
      for (j = 0; j < count; j++) {
        live[inputs[j].node] = 1;
      }
    }
  }
  for (size_t k = 0; k < graph->n_inputs; k++) {
    live[graph->inputs[k].node] = 1;
  }
}
