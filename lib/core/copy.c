/* SPDX-License-Identifier: MIT
 *
 * Copying a node is appending it with the types that it had. That is right where these follow from
 * the types of its inputs: a type rule of gemel's own looks at types and attributes alone, but for
 * sizes that an input holds; a program's may look at anything.
 */
#include "core/copy.h"

#include "core/cons.h"

static gemel_status fail(gemel_graph *graph, gemel_status status, gemel_location where) {
  gemel__graph_fail_at(graph, where, status, "%s",
                       status == GEMEL_NO_MEMORY ? "out of memory for a node"
                                                 : "the graph is full");
  return status;
}

/* The types of NODE's outputs. */
static const gemel_type *types_of(const gemel_graph *graph, uint32_t node) {
  const uint32_t *type = &graph->node_types[node];
  return *type & GEMEL__SEVERAL ? graph->types + (*type & ~GEMEL__SEVERAL) : type;
}

/* 1 if the types of OLD's results follow from those of its inputs, and INPUTS have the same. */
static int has_same_types(const gemel_graph *to, const gemel_graph *from, uint32_t old,
                          const gemel__ref *inputs) {
  const gemel__node *node = gemel__node_at(from, old);
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(from, old, &count);
  int same = node->op <= from->context->n_builtins &&
             (node->attrs == 0 || !gemel__attrs_at(from->context, node->attrs)->has_runtime);
  for (uint32_t k = 0; k < count; k++) {
    same &= gemel__node_type(from, in[k].node, in[k].output) ==
            gemel__node_type(to, inputs[k].node, inputs[k].output);
  }
  return same;
}

gemel_status gemel__copy_node(gemel_graph *to, const gemel_graph *from, uint32_t old,
                              const gemel__ref *inputs, uint32_t *node) {
  const gemel__node *record = gemel__node_at(from, old);
  uint32_t count = record[1].in_begin - record->in_begin;
  gemel__cons_place place;
  if (to->frozen || !has_same_types(to, from, old, inputs)) {
    return GEMEL_DECLINED;
  }
  if (gemel__cons_find(to, record->op, record->attrs, count, inputs, &place, node)) {
    return GEMEL_OK;
  }
  gemel_location where = gemel__node_where(from, old);
  gemel_status status = gemel__cons_append(to, record->op, record->attrs, count, inputs, &place,
                                           record->n_outputs, types_of(from, old), where, node);
  return status == GEMEL_OK ? GEMEL_OK : fail(to, status, where);
}

gemel_status gemel__copy_reserve(gemel_graph *to, const gemel_graph *from, double share) {
  size_t nodes = (size_t)((double)from->n_nodes * share) + 1;
  size_t pool = (size_t)((double)from->n_pool * share) + 1;
  return gemel__cons_reserve(to, nodes, pool) == 0 ? GEMEL_OK : GEMEL_NO_MEMORY;
}

gemel_status gemel__copy_input(gemel_graph *to, const gemel_graph *from, size_t k, uint32_t *node) {
  uint32_t old = from->inputs[k].node;
  gemel_status status = gemel__copy_node(to, from, old, NULL, node);
  gemel__ref value = {*node, 0};
  if (status == GEMEL_OK && gemel__add_named_input(to, value, from->input_names[k]) != 0) {
    gemel__graph_pop(to, *node);
    status = fail(to, GEMEL_NO_MEMORY, gemel__node_where(from, old));
  }
  if (status == GEMEL_OK &&
      gemel__input_add_marks(to, to->n_inputs - 1, gemel__input_marks(from, k)) != 0) {
    status = fail(to, GEMEL_NO_MEMORY, gemel__node_where(from, old));
  }
  return status;
}

gemel_status gemel__copy_output(gemel_graph *to, const gemel_graph *from, size_t k,
                                gemel__ref value) {
  return gemel__add_named_output(to, value, from->output_names[k]) == 0
             ? GEMEL_OK
             : fail(to, GEMEL_NO_MEMORY, gemel__node_where(to, value.node));
}
