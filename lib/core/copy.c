/* SPDX-License-Identifier: MIT
 *
 * Copying a node is appending it with the types that it had. That is right where these follow from
 * the types of its inputs: a type rule of gemel's own looks at types and attributes alone, but for
 * sizes that an input holds; a program's may look at anything.
 */
#include "core/copy.h"

#include "core/alloc.h"
#include "core/cons.h"
#include "core/error.h"
#include "core/ids.h"

static gemel_status fail(gemel_graph *graph, gemel_status status, gemel_location where) {
  gemel__graph_fail_at(graph, where, status, "%s",
                       status == GEMEL_NO_MEMORY ? "out of memory for a node"
                                                 : "the graph is full");
  return status;
}

/* The types of NODE's outputs; a single one is put into *ONLY. */
static const gemel_type *types_of(const gemel_graph *graph, uint32_t node, gemel_type *only) {
  uint32_t type = graph->node_types[node];
  *only = (gemel_type){type};
  return type & GEMEL__SEVERAL ? graph->types + (type & ~GEMEL__SEVERAL) : only;
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
    same &= gemel_type_equal(gemel__node_type(from, in[k].node, in[k].output),
                             gemel__node_type(to, inputs[k].node, inputs[k].output));
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
  gemel_type only;
  const gemel_type *types = types_of(from, old, &only);
  gemel_location where = gemel__node_where(from, old);
  gemel_status status = gemel__cons_append(to, record->op, record->attrs, count, inputs, &place,
                                           record->n_outputs, types, where, node);
  return status == GEMEL_OK ? GEMEL_OK : fail(to, status, where);
}

/* Copies NODE; where its types take the type rules, through these. */
static gemel_status copy_or_apply(gemel_graph *to, const gemel_graph *from, uint32_t node,
                                  gemel__ref *operands, gemel_value *values, gemel__ref *map) {
  const gemel__node *record = gemel__node_at(from, node);
  uint32_t count, copy;
  const gemel__ref *in = gemel__node_inputs(from, node, &count);
  for (uint32_t k = 0; k < count; k++) {
    operands[k] = map[gemel__value_number(from, in[k])];
    values[k] = gemel__value(to, operands[k]);
  }
  gemel_status status = gemel__copy_node(to, from, node, operands, &copy);
  if (status == GEMEL_DECLINED) {
    copy = gemel__apply(to, record->op, record->attrs, count, values, gemel__node_where(from, node))
               .node;
    status = to->error.status;
  }
  for (uint32_t k = 0; status == GEMEL_OK && k < record->n_outputs; k++) {
    gemel__ref *value = &map[gemel__value_number(from, (gemel__ref){node, k})];
    *value = value->node == UINT32_MAX ? (gemel__ref){copy, k} : *value;
  }
  return status;
}

gemel_status gemel__copy_marked(gemel_graph *to, const gemel_graph *from,
                                const unsigned char *marks, unsigned mark, gemel__ref *map) {
  uint32_t most = 0, count;
  for (uint32_t node = 0; node < from->n_nodes; node++) {
    gemel__node_inputs(from, node, &count);
    most = count > most ? count : most;
  }
  gemel__ref *operands = gemel__alloc_array(most, sizeof *operands);
  gemel_value *values = gemel__alloc_array(most, sizeof *values);
  gemel_status status = to->error.status;
  if (operands == NULL || values == NULL) {
    status = fail(to, GEMEL_NO_MEMORY, (gemel_location){NULL, 0});
  }
  for (uint32_t node = 0; node < from->n_nodes && status == GEMEL_OK; node++) {
    if (marks[node] & mark && gemel__node_at(from, node)->op != GEMEL__OP_input) {
      status = copy_or_apply(to, from, node, operands, values, map);
    }
  }
  gemel__free(operands, most * sizeof *operands);
  gemel__free(values, most * sizeof *values);
  return status;
}

gemel_status gemel__copy_reserve(gemel_graph *to, const gemel_graph *from, double share) {
  size_t nodes = (size_t)((double)from->n_nodes * share) + 1;
  size_t pool = (size_t)((double)from->n_pool * share) + 1;
  return gemel__cons_reserve(to, nodes, pool) == 0 ? GEMEL_OK : GEMEL_NO_MEMORY;
}

gemel_status gemel__copy_input(gemel_graph *to, const gemel_graph *from, size_t k, uint32_t *node) {
  uint32_t old = from->inputs[k].node;
  GEMEL__TRY(gemel__copy_node(to, from, old, NULL, node));
  gemel__ref value = {*node, 0};
  if (gemel__add_named_input(to, value, from->input_names[k]) != 0) {
    gemel__graph_pop(to, *node);
    return fail(to, GEMEL_NO_MEMORY, gemel__node_where(from, old));
  }
  if (gemel__input_add_marks(to, to->n_inputs - 1, gemel__input_marks(from, k)) != 0) {
    return fail(to, GEMEL_NO_MEMORY, gemel__node_where(from, old));
  }
  return GEMEL_OK;
}

gemel_status gemel__copy_output(gemel_graph *to, const gemel_graph *from, size_t k,
                                gemel__ref value) {
  return gemel__add_named_output(to, value, from->output_names[k]) == 0
             ? GEMEL_OK
             : fail(to, GEMEL_NO_MEMORY, gemel__node_where(to, value.node));
}
