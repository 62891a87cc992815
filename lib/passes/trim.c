/* SPDX-License-Identifier: MIT
 *
 * The last copy: what nothing uses is left out, and all else is as it was, in the order of ids.
 */
#include "core/alloc.h"
#include "core/copy.h"
#include "passes/engine.h"
#include "passes/uses.h"

struct trim {
  const gemel_graph *from;
  gemel_graph *to;
  uint32_t *map;     /* by old node */
  gemel__ref *refs;  /* what the inputs of the node at hand became */
  gemel_value *wide; /* the same, as values */
  size_t ref_capacity, wide_capacity;
  gemel_error *error;
};

static gemel_status no_memory(const struct trim *t) {
  return gemel__no_memory(t->error, "rewriting");
}

static gemel_status take_error(const struct trim *t) {
  *t->error = *gemel_graph_error(t->to);
  return t->error->status ? t->error->status
                          : gemel__fail(t->error, GEMEL_INTERNAL, "a copy failed");
}

/* Applies the operation of node OLD to T->refs as a program would. */
static gemel_status apply(struct trim *t, uint32_t old, uint32_t count) {
  const gemel__node *node = gemel__node_at(t->from, old);
  gemel_location where = gemel__node_where(t->from, old);
  if (gemel__grow(&t->wide, &t->wide_capacity, count, sizeof *t->wide) != 0) {
    return no_memory(t);
  }
  for (uint32_t k = 0; k < count; k++) {
    t->wide[k] = gemel__value(t->to, t->refs[k]);
  }
  gemel_value made = gemel__apply(t->to, node->op, node->attrs, count, t->wide, where);
  t->map[old] = made.node;
  return gemel_is_null(made) ? take_error(t) : GEMEL_OK;
}

static gemel_status copy(struct trim *t, uint32_t old) {
  uint32_t count;
  const gemel__ref *in = gemel__node_inputs(t->from, old, &count);
  if (count > t->ref_capacity &&
      gemel__grow(&t->refs, &t->ref_capacity, count, sizeof *t->refs) != 0) {
    return no_memory(t);
  }
  for (uint32_t k = 0; k < count; k++) {
    t->refs[k] = (gemel__ref){t->map[in[k].node], in[k].output};
  }
  gemel_status status = gemel__copy_node(t->to, t->from, old, t->refs, &t->map[old]);
  return status == GEMEL_DECLINED ? apply(t, old, count)
         : status == GEMEL_OK     ? GEMEL_OK
                                  : take_error(t);
}

static gemel_status copy_all(struct trim *t, const uint32_t *uses) {
  const gemel_graph *from = t->from;
  gemel_status status = gemel__copy_reserve(t->to, from, 1);
  if (status != GEMEL_OK) {
    return no_memory(t);
  }
  for (size_t k = 0; k < from->n_inputs && status == GEMEL_OK; k++) {
    status = gemel__copy_input(t->to, from, k, &t->map[from->inputs[k].node]);
  }
  for (uint32_t k = 0; k < from->n_nodes && status == GEMEL_OK; k++) {
    if (uses[k] > 0 && from->nodes[k].op != from->context->input_op) {
      status = copy(t, k);
    }
  }
  for (size_t k = 0; k < from->n_outputs && status == GEMEL_OK; k++) {
    gemel__ref value = {t->map[from->outputs[k].node], from->outputs[k].output};
    status = gemel__copy_output(t->to, from, k, value);
  }
  return status == GEMEL_OK || t->error->status != GEMEL_OK ? status : take_error(t);
}

gemel_graph *gemel__rewrite_trim(const gemel_graph *graph, const uint32_t *uses,
                                 gemel_error *error) {
  struct trim t = {.from = graph, .error = error};
  uint32_t *own = uses == NULL ? gemel__graph_uses(graph) : NULL;
  uses = uses == NULL ? own : uses;
  error->status = GEMEL_OK;
  t.to = gemel_graph_new(graph->context, error);
  t.map = gemel__alloc_array(graph->n_nodes, sizeof *t.map);
  gemel_status status = t.to == NULL                    ? error->status
                        : uses == NULL || t.map == NULL ? no_memory(&t)
                                                        : copy_all(&t, uses);
  gemel__free(own, graph->n_nodes * sizeof *own);
  gemel__free(t.map, graph->n_nodes * sizeof *t.map);
  gemel__free(t.refs, t.ref_capacity * sizeof *t.refs);
  gemel__free(t.wide, t.wide_capacity * sizeof *t.wide);
  if (status != GEMEL_OK) {
    gemel_graph_unref(t.to);
    return NULL;
  }
  return t.to;
}
