/* SPDX-License-Identifier: MIT
 *
 * Graphs as attributes. The context keeps its own frozen copy of a body, so the program's
 * graph stays the program's. Two bodies are one attribute if they are equal
 * node for node; all ids in them are the context's, so that is a comparison of arrays.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/graph.h"
#include "core/intern.h"
#include "core/sizes.h"

uint64_t gemel__graph_hash(const gemel_graph *graph) {
  uint64_t hash = gemel__mix(graph->n_nodes ^ (uint64_t)graph->n_inputs << 40);
  for (size_t k = 0; k < graph->n_nodes; k++) {
    const gemel__node *node = gemel__node_at(graph, (uint32_t)k);
    hash = gemel__mix(hash ^ ((uint64_t)node->op << 32 | node->attrs));
  }
  hash = gemel__hash_bytes(hash, graph->pool, graph->n_pool * sizeof *graph->pool);
  hash = gemel__hash_bytes(hash, graph->inputs, graph->n_inputs * sizeof *graph->inputs);
  return gemel__hash_bytes(hash, graph->outputs, graph->n_outputs * sizeof *graph->outputs);
}

static int same_array(const void *a, const void *b, size_t count, size_t bytes) {
  return count == 0 || memcmp(a, b, count * bytes) == 0;
}

int gemel__graph_same(const gemel_graph *a, const gemel_graph *b) {
  if (a == b) {
    return 1;
  }
  if (a->context != b->context || a->n_nodes != b->n_nodes || a->n_pool != b->n_pool ||
      a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs) {
    return 0;
  }
  for (size_t k = 0; k < a->n_nodes; k++) {
    const gemel__node *x = gemel__node_at(a, (uint32_t)k), *y = gemel__node_at(b, (uint32_t)k);
    if (x->op != y->op || x->attrs != y->attrs || x->in_begin != y->in_begin) {
      return 0;
    }
  }
  for (size_t k = 0; k < a->n_inputs; k++) {
    if (gemel__input_marks(a, k) != gemel__input_marks(b, k)) {
      return 0;
    }
  }
  return same_array(a->pool, b->pool, a->n_pool, sizeof *a->pool) &&
         same_array(a->inputs, b->inputs, a->n_inputs, sizeof *a->inputs) &&
         same_array(a->input_names, b->input_names, a->n_inputs, sizeof *a->input_names) &&
         same_array(a->outputs, b->outputs, a->n_outputs, sizeof *a->outputs) &&
         same_array(a->output_names, b->output_names, a->n_outputs, sizeof *a->output_names);
}

/* *COPY becomes COUNT × BYTES bytes from DATA, *CAPACITY its capacity; 0, or -1. */
static int copy_array(void *copy_pointer, size_t *capacity, const void *data, size_t count,
                      size_t bytes) {
  void **copy = copy_pointer;
  *capacity = 0;
  *copy = NULL;
  if (count == 0) {
    return 0;
  }
  *copy = gemel__alloc_array(count, bytes);
  if (*copy == NULL) {
    return -1;
  }
  memcpy(*copy, data, count * bytes);
  *capacity = count;
  return 0;
}

static int copy_arrays(gemel_graph *copy, const gemel_graph *g) {
  if (copy_array(&copy->nodes, &copy->node_capacity, g->nodes, g->n_nodes + 1, sizeof *g->nodes) ||
      copy_array(&copy->pool, &copy->pool_capacity, g->pool, g->n_pool, sizeof *g->pool) ||
      copy_array(&copy->node_types, &copy->node_type_capacity, g->node_types, g->n_nodes,
                 sizeof *g->node_types) ||
      copy_array(&copy->types, &copy->type_capacity, g->types, g->n_types, sizeof *g->types) ||
      copy_array(&copy->inputs, &copy->input_capacity, g->inputs, g->n_inputs, sizeof *g->inputs) ||
      copy_array(&copy->input_names, &copy->input_name_capacity, g->input_names, g->n_inputs,
                 sizeof *g->input_names) ||
      copy_array(&copy->input_marks, &copy->input_mark_capacity, g->input_marks,
                 g->input_mark_capacity, 1) ||
      copy_array(&copy->outputs, &copy->output_capacity, g->outputs, g->n_outputs,
                 sizeof *g->outputs) ||
      copy_array(&copy->output_names, &copy->output_name_capacity, g->output_names, g->n_outputs,
                 sizeof *g->output_names) ||
      copy_array(&copy->files, &copy->file_capacity, g->files, g->n_files, sizeof *g->files)) {
    return -1;
  }
  return 0;
}

static uint32_t nesting_of(const gemel_graph *graph) {
  uint32_t most = 0;
  for (size_t k = 0; k < graph->n_nodes; k++) {
    uint32_t inside = gemel__attrs_at(graph->context, graph->nodes[k].attrs)->nesting;
    most = inside > most ? inside : most;
  }
  return most + 1;
}

/* Bodies that are run when GRAPH is, itself among them, each as often as it is: up to UINT32_MAX.
 */
static uint32_t expanded_of(const gemel_graph *graph) {
  uint64_t total = 1;
  for (size_t k = 0; k < graph->n_nodes && total < UINT32_MAX; k++) {
    total += gemel__attrs_at(graph->context, graph->nodes[k].attrs)->expanded;
  }
  return total < UINT32_MAX ? (uint32_t)total : UINT32_MAX;
}

gemel_graph *gemel__graph_freeze_copy(const gemel_graph *graph) {
  gemel_graph *copy = gemel__alloc_zeroed(sizeof *copy);
  if (copy == NULL) {
    return NULL;
  }
  copy->context = graph->context;
  copy->frozen = 1;
  copy->nesting = nesting_of(graph);
  copy->expanded = expanded_of(graph);
  copy->n_nodes = graph->n_nodes;
  copy->n_pool = graph->n_pool;
  copy->n_types = graph->n_types;
  copy->n_inputs = graph->n_inputs;
  copy->n_outputs = graph->n_outputs;
  copy->n_files = graph->n_files;
  if (copy_arrays(copy, graph) != 0) {
    gemel__graph_free_frozen(copy);
    return NULL;
  }
  return copy;
}

/* ---- Inlining ---- */

struct inlining {
  gemel_graph *into;
  const gemel_graph *body;
  size_t n_nodes; /* of the body as it was: it may be INTO, and grow */
  /* Which symbol of the body stands for which size of the surrounding graph. */
  const char **symbols; /* names; equal symbols of a context have one address */
  gemel_dim *sizes;
  size_t n_bindings, symbol_capacity, size_capacity;
  gemel__idtable by_symbol; /* index + 1 */
  gemel__ref *map; /* where the outputs of a body's node went: node; outputs keep their numbers */
};

static int add_binding(struct inlining *s, const char *symbol, gemel_dim size) {
  size_t n = s->n_bindings;
  if (gemel__grow(&s->symbols, &s->symbol_capacity, n + 1, sizeof *s->symbols) != 0 ||
      gemel__grow(&s->sizes, &s->size_capacity, n + 1, sizeof *s->sizes) != 0) {
    return -1;
  }
  s->symbols[n] = symbol;
  s->sizes[n] = size;
  if (gemel__name_add(&s->by_symbol, s->symbols, n) != 0) {
    return -1;
  }
  s->n_bindings++;
  return 0;
}

static int bind_input(struct inlining *s, gemel_type pattern, gemel_type actual) {
  gemel_context *context = s->body->context;
  const struct gemel__type *p = gemel__type_at(context, pattern);
  const struct gemel__type *a = gemel__type_at(context, actual);
  gemel__atom atom;
  for (int k = 0; k < p->rank && k < a->rank; k++) {
    if (gemel__dim_is_atom(context, p->dims[k], &atom) && atom.kind == GEMEL__ATOM_SYMBOL &&
        gemel__name_find(&s->by_symbol, s->symbols, atom.name) < 0 &&
        add_binding(s, atom.name, a->dims[k]) != 0) {
      return -1;
    }
  }
  return 0;
}

static gemel_dim bound_dim(void *user, const gemel__atom *atom, gemel_dim self) {
  const struct inlining *s = user;
  long k = atom->kind == GEMEL__ATOM_SYMBOL
               ? gemel__name_find(&s->by_symbol, s->symbols, atom->name)
               : -1;
  return k >= 0 ? s->sizes[k] : self;
}

static gemel_status take_graph_error(const gemel_graph *graph, gemel_error *error) {
  if (error != NULL) {
    *error = graph->error;
  }
  return graph->error.status;
}

/* Copies one node. Sizes bound to run-time sizes of the surrounding graph become inputs on the way,
 * so the node is built through the attribute list and not from the interned id. */
static gemel_status inline_node(struct inlining *s, uint32_t id, gemel_value *inputs,
                                gemel_error *error) {
  const gemel__node *node = gemel__node_at(s->body, id);
  const struct gemel__attrs *stored;
  uint32_t count, attrs, k;
  const gemel__ref *refs = gemel__node_inputs(s->body, id, &count);
  gemel_location where = gemel__node_where(s->body, id);
  gemel_value value;
  gemel_status status =
      gemel__attrs_substitute(s->body->context, node->attrs, bound_dim, s, &attrs, error);
  if (status != GEMEL_OK) {
    return status;
  }
  for (k = 0; k < count; k++) {
    if (s->map[refs[k].node].node == UINT32_MAX) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "an input of a body is null");
    }
    inputs[k].graph = s->into;
    inputs[k].node = s->map[refs[k].node].node;
    inputs[k].output =
        s->map[refs[k].node].output == UINT32_MAX ? refs[k].output : s->map[refs[k].node].output;
  }
  stored = gemel__attrs_at(s->body->context, attrs);
  if (gemel__runtime_sizes(stored->count, stored->values, s->body->context)) {
    value = gemel_apply_at(s->into, gemel__node_op(s->body, id)->record.name, count, inputs,
                           stored->count, stored->values, where);
  } else {
    value = gemel__apply(s->into, node->op, attrs, count, inputs, where);
  }
  if (gemel_is_null(value)) {
    return take_graph_error(s->into, error);
  }
  if (gemel__is_partial(s->body, id) && gemel__mark_partial(s->into, value.node) != 0) {
    return gemel__no_memory(error, "a node");
  }
  s->map[id].node = value.node;
  s->map[id].output = UINT32_MAX;
  return GEMEL_OK;
}

static uint32_t most_inputs(const gemel_graph *graph) {
  uint32_t most = 0, count;
  for (size_t k = 0; k < graph->n_nodes; k++) {
    gemel__node_inputs(graph, (uint32_t)k, &count);
    most = count > most ? count : most;
  }
  return most;
}

static gemel_status inline_nodes(struct inlining *s, const gemel_value *inputs,
                                 gemel_value *scratch, const unsigned char *live,
                                 gemel_error *error) {
  size_t k;
  gemel_status status = GEMEL_OK;
  for (k = 0; k < s->body->n_inputs; k++) {
    uint32_t node = s->body->inputs[k].node;
    s->map[node].node = inputs[k].node;
    s->map[node].output = inputs[k].output;
    if (inputs[k].graph == NULL) {
      s->map[node].node = UINT32_MAX;
      continue;
    }
    if (inputs[k].graph != s->into) {
      return gemel__fail(error, GEMEL_BAD_ARGUMENT, "input %zu of a body is elsewhere", k);
    }
    if (bind_input(s, gemel__node_type(s->body, node, 0), gemel_value_type(inputs[k])) != 0) {
      return gemel__no_memory(error, "a body's sizes");
    }
  }
  for (k = 0; k < s->n_nodes && status == GEMEL_OK; k++) {
    if (live[k] && gemel__node_at(s->body, (uint32_t)k)->op != GEMEL__OP_input) {
      status = inline_node(s, (uint32_t)k, scratch, error);
    }
  }
  return status;
}

static int bind_given(struct inlining *s, size_t n, const char *const *symbols,
                      const gemel_dim *sizes) {
  size_t k;
  for (k = 0; k < n; k++) {
    if (add_binding(s, symbols[k], sizes[k]) != 0) {
      return -1;
    }
  }
  return 0;
}

gemel_status gemel__graph_inline(gemel_graph *into, const gemel_graph *body,
                                 const gemel_value *inputs, gemel_value *outputs,
                                 gemel_error *error) {
  return gemel__graph_instantiate(into, body, inputs, outputs, 0, NULL, NULL, error);
}

gemel_status gemel__graph_instantiate(gemel_graph *into, const gemel_graph *body,
                                      const gemel_value *inputs, gemel_value *outputs, size_t n,
                                      const char *const *symbols, const gemel_dim *sizes,
                                      gemel_error *error) {
  struct inlining s;
  size_t n_nodes = body->n_nodes;
  uint32_t most = most_inputs(body);
  unsigned char *live = gemel__alloc_array(n_nodes, 1);
  gemel_value *scratch = gemel__alloc_array(most, sizeof *scratch);
  gemel_status status = GEMEL_NO_MEMORY;
  size_t k;
  memset(&s, 0, sizeof s);
  s.into = into;
  s.body = body;
  s.n_nodes = n_nodes;
  s.map = gemel__alloc_array(n_nodes, sizeof *s.map);
  if (live == NULL || scratch == NULL || s.map == NULL || bind_given(&s, n, symbols, sizes) != 0) {
    gemel__no_memory(error, "a body");
  } else {
    gemel__graph_live(body, live);
    status = inline_nodes(&s, inputs, scratch, live, error);
  }
  for (k = 0; k < body->n_outputs && status == GEMEL_OK; k++) {
    gemel__ref to = s.map[body->outputs[k].node];
    outputs[k].graph = to.node != UINT32_MAX ? into : NULL;
    outputs[k].node = to.node;
    outputs[k].output = to.output == UINT32_MAX ? body->outputs[k].output : to.output;
  }
  gemel__free(live, n_nodes);
  gemel__free(scratch, most * sizeof *scratch);
  gemel__free(s.map, n_nodes * sizeof *s.map);
  gemel__free(s.symbols, s.symbol_capacity * sizeof *s.symbols);
  gemel__free(s.sizes, s.size_capacity * sizeof *s.sizes);
  gemel__idtable_clear(&s.by_symbol);
  return status == GEMEL_OK ? gemel__debug_check(into, error) : status;
}
