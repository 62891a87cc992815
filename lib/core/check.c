/* SPDX-License-Identifier: MIT
 *
 * The checker: proves a graph well-formed after a pass. One sweep over the nodes in the order of
 * ids: a node's record points at what exists, inputs come before the node, the type rule, run
 * again, gives the types that are stored, and no earlier node is equal to it. Then the lists of
 * inputs and outputs: names are unique, and the inputs are just the nodes of that operation.
 * Nothing in a record is used before it is known to be in range. Bodies among the attributes are
 * queued and checked after the graph itself, each once, so that no nesting is too deep.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/apply.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/intern.h"

struct checking {
  const gemel_graph *graph;
  size_t n_inputs; /* nodes of operation "input" */
  gemel_value *values;
  gemel_type *types;
  gemel_type *outputs;
  size_t value_capacity, type_capacity, output_capacity;
  const gemel_graph **queue; /* graphs to check; bodies join at the end */
  size_t n_queued, queue_capacity;
  gemel__idtable seen; /* ids of attributes whose bodies are queued */
};

static int make_room(struct checking *c, size_t inputs, size_t outputs) {
  return gemel__grow(&c->values, &c->value_capacity, inputs + 1, sizeof *c->values) ||
         gemel__grow(&c->types, &c->type_capacity, inputs + 1, sizeof *c->types) ||
         gemel__grow(&c->outputs, &c->output_capacity, outputs + 1, sizeof *c->outputs);
}

/* ---- Records ---- */

/* What is wrong with the types stored for node ID; NULL: nothing. */
static const char *types_fault(const gemel_graph *g, uint32_t id) {
  uint32_t type = g->node_types[id], n = gemel__node_at(g, id)->n_outputs, k;
  if (type & GEMEL__SEVERAL) {
    if (n == 1 || (size_t)(type & ~GEMEL__SEVERAL) + n > g->n_types) {
      return "its types are not in the list of types";
    }
  } else if (n != 1) {
    return "it has not the one output that it has a type for";
  }
  for (k = 0; k < n; k++) {
    if (!gemel__type_exists(g->context, gemel__node_type(g, id, k))) {
      return "an output has no type";
    }
  }
  return NULL;
}

/* What is wrong with the record of node ID; NULL: nothing, and all it names can be looked at. */
static const char *record_fault(const gemel_graph *g, uint32_t id) {
  const gemel__node *node = gemel__node_at(g, id);
  if (node->op == 0 || !gemel__stable_has(&g->context->ops, node->op)) {
    return "it has no operation";
  }
  if (!gemel__stable_has(&g->context->attrs, node->attrs) ||
      (node->attrs != 0 && gemel__attrs_at(g->context, node->attrs)->op != node->op) ||
      (node->attrs == 0 && gemel__node_op(g, id)->n_attrs != 0)) {
    return "its attributes are not its operation's";
  }
  if (node->in_begin > node[1].in_begin || node[1].in_begin > g->n_pool) {
    return "its inputs are not in the pool";
  }
  for (uint32_t k = node->in_begin; k < node[1].in_begin; k++) {
    if (g->pool[k].node >= id || !gemel__has_output(g, g->pool[k].node, g->pool[k].output)) {
      return "an input is not a value before it";
    }
  }
  return node->file < g->n_files ? types_fault(g, id) : "its file is not in the list of files";
}

static gemel_status fail_node(const gemel_graph *g, uint32_t id, const char *fault,
                              gemel_error *error) {
  const gemel__node *node = gemel__node_at(g, id);
  int known = node->op != 0 && gemel__stable_has(&g->context->ops, node->op);
  gemel_location where = {node->file < g->n_files ? g->files[node->file] : "", (int)node->line};
  gemel__fail(error, GEMEL_INTERNAL, "node %u (%s): %s", id,
              known ? gemel__node_op(g, id)->record.name : "?", fault);
  gemel__error_place(error, where);
  return GEMEL_INTERNAL;
}

/* ---- Types ---- */

/* Runs the type rule of a node whose record is good, and compares. */
static gemel_status check_types(struct checking *c, uint32_t id, gemel_error *error) {
  const gemel_graph *g = c->graph;
  const gemel__node *node = gemel__node_at(g, id);
  const gemel__op *op = gemel__node_op(g, id);
  size_t n_outputs;
  uint32_t count, k;
  const gemel__ref *inputs = gemel__node_inputs(g, id, &count);
  if (make_room(c, count, node->n_outputs) != 0) {
    return gemel__no_memory(error, "checking a graph");
  }
  for (k = 0; k < count; k++) {
    c->values[k] = gemel__value(g, inputs[k]);
    c->types[k] = gemel__node_type(g, inputs[k].node, inputs[k].output);
  }
  gemel_status status = gemel__infer(g->context, op, node->attrs, count, c->types, c->values,
                                     c->output_capacity, &n_outputs, c->outputs, error);
  if (status != GEMEL_OK) {
    gemel__error_prefix(error, "node %u (%s)", id, op->record.name);
    return status == GEMEL_NO_MEMORY ? status : GEMEL_INTERNAL;
  }
  if (n_outputs != node->n_outputs) {
    return fail_node(g, id, "it has not as many outputs as the operation gives", error);
  }
  for (k = 0; k < n_outputs; k++) {
    if (!gemel_type_equal(c->outputs[k], gemel__node_type(g, id, k))) {
      return fail_node(g, id, "an output has not the type that the operation gives", error);
    }
  }
  return GEMEL_OK;
}

/* ---- Bodies ---- */

static int same_id(const void *user, uint32_t id) {
  return *(const uint32_t *)user == id;
}

static uint64_t id_hash(const void *user, uint32_t id) {
  (void)user;
  return gemel__mix(id);
}

/* Queues the graphs among the attributes ID, if this is the first node that has them; 0, or -1. */
static int queue_bodies(struct checking *c, uint32_t id) {
  const struct gemel__attrs *attrs = gemel__attrs_at(c->graph->context, id);
  for (size_t k = 0; k < attrs->count; k++) {
    const gemel_attr *a = &attrs->values[k];
    int list = a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH);
    gemel_graph *const *graphs = list ? a->u.graphs : &a->u.graph;
    size_t n = list ? a->count : a->kind == GEMEL_ATTR_GRAPH;
    if (n > 0 && gemel__idtable_find(&c->seen, gemel__mix(id), same_id, &id) != 0) {
      return 0;
    }
    for (size_t j = 0; j < n; j++) {
      if (gemel__grow(&c->queue, &c->queue_capacity, c->n_queued + 1, sizeof *c->queue) != 0) {
        return -1;
      }
      c->queue[c->n_queued++] = graphs[j];
    }
  }
  return 0;
}

/* The same for one node, which then counts as seen. */
static int queue_node(struct checking *c, uint32_t id) {
  size_t before = c->n_queued;
  if (queue_bodies(c, id) != 0) {
    return -1;
  }
  return c->n_queued > before ? gemel__idtable_add(&c->seen, gemel__mix(id), id, id_hash, NULL) : 0;
}

/* ---- Nodes, inputs, outputs ---- */

static gemel_status check_node(struct checking *c, uint32_t id, gemel_error *error) {
  const gemel_graph *g = c->graph;
  const gemel__node *node = gemel__node_at(g, id);
  const char *fault = record_fault(g, id);
  gemel__cons_place place;
  uint32_t count, found;
  if (fault != NULL) {
    return fail_node(g, id, fault, error);
  }
  GEMEL__TRY(check_types(c, id, error));
  const gemel__ref *inputs = gemel__node_inputs(g, id, &count);
  if (!g->frozen &&
      (!gemel__cons_find(g, node->op, node->attrs, count, inputs, &place, &found) || found != id)) {
    return fail_node(g, id, "it can't be found by its contents, or an equal node can", error);
  }
  c->n_inputs += node->op == GEMEL__OP_input;
  return queue_node(c, node->attrs) == 0 ? GEMEL_OK : gemel__no_memory(error, "checking a graph");
}

static gemel_status check_names(size_t n, const char *const *names, const char *what,
                                gemel_error *error) {
  gemel__idtable table;
  gemel_status status = GEMEL_OK;
  size_t k;
  memset(&table, 0, sizeof table);
  for (k = 0; k < n && status == GEMEL_OK; k++) {
    if (names[k] == NULL || gemel__name_find(&table, names, names[k]) >= 0) {
      status = gemel__fail(error, GEMEL_INTERNAL, "%s %zu (%s) has the name of another", what, k,
                           names[k] != NULL ? names[k] : "null");
    } else if (gemel__name_add(&table, names, k) != 0) {
      status = gemel__no_memory(error, "checking a graph");
    }
  }
  gemel__idtable_clear(&table);
  return status;
}

/* 1 if input K of the list is a node that says it is the input of that name. */
static int input_fits(const struct checking *c, size_t k) {
  gemel__ref ref = c->graph->inputs[k];
  gemel_attr name;
  return gemel__has_output(c->graph, ref.node, ref.output) &&
         gemel__node_at(c->graph, ref.node)->op == GEMEL__OP_input &&
         gemel_value_attr(gemel__value(c->graph, ref), "name", &name) == GEMEL_OK &&
         name.u.text == c->graph->input_names[k];
}

/* 1 unless output K is a state's update and has another type than the state. */
static int update_fits(const gemel_graph *g, size_t k) {
  gemel__ref output = g->outputs[k];
  long state = gemel__state_called(g, g->output_names[k]);
  return state < 0 || gemel_type_equal(gemel__node_type(g, g->inputs[state].node, 0),
                                       gemel__node_type(g, output.node, output.output));
}

static gemel_status check_lists(const struct checking *c, gemel_error *error) {
  const gemel_graph *g = c->graph;
  gemel_status status = check_names(g->n_inputs, g->input_names, "input", error);
  if (status == GEMEL_OK) {
    status = check_names(g->n_outputs, g->output_names, "output", error);
  }
  for (size_t k = 0; k < g->n_inputs && status == GEMEL_OK; k++) {
    if (!input_fits(c, k)) {
      status = gemel__fail(error, GEMEL_INTERNAL, "input %s is not a node of that name",
                           g->input_names[k]);
    }
  }
  if (status == GEMEL_OK && c->n_inputs != g->n_inputs) {
    status = gemel__fail(error, GEMEL_INTERNAL, "%zu nodes are inputs, but %zu inputs are listed",
                         c->n_inputs, g->n_inputs);
  }
  for (size_t k = 0; k < g->n_outputs && status == GEMEL_OK; k++) {
    if (!gemel__has_output(g, g->outputs[k].node, g->outputs[k].output)) {
      status = gemel__fail(error, GEMEL_INTERNAL, "output %s is no value", g->output_names[k]);
    } else if (!update_fits(g, k)) {
      status = gemel__fail(error, GEMEL_INTERNAL, "the update of state %s has another type",
                           g->output_names[k]);
    }
  }
  return status;
}

static gemel_status check_one(struct checking *c, const gemel_graph *graph, gemel_error *error) {
  c->graph = graph;
  c->n_inputs = 0;
  if (graph->nodes[0].in_begin != 0 || graph->nodes[graph->n_nodes].in_begin != graph->n_pool) {
    return gemel__fail(error, GEMEL_INTERNAL, "the nodes don't share out the pool of inputs");
  }
  for (size_t k = 0; k < graph->n_nodes; k++) {
    GEMEL__TRY(check_node(c, (uint32_t)k, error));
  }
  return check_lists(c, error);
}

gemel_status gemel_graph_check(const gemel_graph *graph, gemel_error *error) {
  struct checking c;
  gemel_status status = GEMEL_OK;
  if (graph == NULL) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "the graph is null");
  }
  memset(&c, 0, sizeof c);
  status = check_one(&c, graph, error);
  for (size_t k = 0; k < c.n_queued && status == GEMEL_OK; k++) {
    status = check_one(&c, c.queue[k], error);
    if (status != GEMEL_OK) {
      gemel__error_prefix(error, "in the body of a node");
    }
  }
  gemel__free(c.values, c.value_capacity * sizeof *c.values);
  gemel__free(c.types, c.type_capacity * sizeof *c.types);
  gemel__free(c.outputs, c.output_capacity * sizeof *c.outputs);
  gemel__free(c.queue, c.queue_capacity * sizeof *c.queue);
  gemel__idtable_clear(&c.seen);
  return status;
}
