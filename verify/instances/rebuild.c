/* SPDX-License-Identifier: MIT
 *
 * Copies with edits, see rebuild.h. A backward sweep finds the nodes that the outputs need after
 * the edits; a forward sweep applies each of them again through the funnel. So the result is a
 * well-typed graph, or an error.
 */
#include "instances/rebuild.h"

#include <string.h>
#include "base/status.h"
#include "core/alloc.h"

struct rebuilding {
  const gemel__rebuild *r;
  gemel_graph *into;
  size_t n;
  unsigned char *live;
  gemel_value *map; /* for each node, the new value of its output 0; further outputs follow it */
  gemel_value *leaves;
};

int gemel__graph_has_runtime_sizes(const gemel_graph *graph) {
  size_t n = gemel_graph_node_count(graph), k;
  for (k = 0; k < n; k++) {
    uint32_t j;
    for (j = 0; gemel__has_output(graph, (uint32_t)k, j); j++) {
      gemel_type type = gemel__node_type(graph, (uint32_t)k, j);
      if (gemel__type_at(gemel_graph_context(graph), type)->has_runtime) {
        return 1;
      }
    }
  }
  return 0;
}

static gemel__edit edit_of(const struct rebuilding *b, size_t node) {
  static const gemel__edit keep = {GEMEL__EDIT_KEEP, {0, 0}, 0, NULL};
  return b->r->edits != NULL ? b->r->edits[node] : keep;
}

static void mark_live(struct rebuilding *b) {
  for (size_t k = 0; k < b->r->n_outputs; k++) {
    b->live[b->r->outputs[k].node] = 1;
  }
  for (size_t k = b->n; k-- > 0;) {
    gemel__edit edit = edit_of(b, k);
    uint32_t count, j;
    const gemel__ref *inputs = gemel__node_inputs(b->r->from, (uint32_t)k, &count);
    if (b->live[k] && edit.kind == GEMEL__EDIT_VALUE) {
      b->live[edit.value.node] = 1;
    }
    for (j = 0; b->live[k] && edit.kind == GEMEL__EDIT_KEEP && j < count; j++) {
      b->live[inputs[j].node] = 1;
    }
  }
}

static gemel_value mapped(const struct rebuilding *b, gemel__ref ref) {
  gemel_value value = b->map[ref.node];
  value.output += ref.output;
  return value;
}

static void add_inputs(struct rebuilding *b) {
  const gemel_graph *from = b->r->from;
  size_t n = gemel_graph_input_count(from), k;
  for (k = 0; k < n; k++) {
    gemel_value input = gemel_graph_input(from, k);
    if (b->r->keep_inputs == NULL || b->r->keep_inputs[k]) {
      b->map[input.node] = gemel__input_like(b->into, gemel_graph_input_name(from, k),
                                             gemel_value_type(input), input);
    }
  }
  for (k = 0; k < b->r->n_leaves; k++) {
    b->leaves[k] = gemel_input(b->into, b->r->leaf_names[k], b->r->leaf_types[k]);
  }
}

static gemel_status apply_node(struct rebuilding *b, size_t node, gemel_error *error) {
  const gemel_graph *from = b->r->from;
  const gemel__node *record = gemel__node_at(from, (uint32_t)node);
  gemel__ref self = {(uint32_t)node, 0};
  uint32_t count, j;
  const gemel__ref *inputs = gemel__node_inputs(from, (uint32_t)node, &count);
  gemel_value *values = gemel__alloc_array(count, sizeof *values);
  if (values == NULL) {
    return gemel__no_memory(error, "a copy of a graph");
  }
  for (j = 0; j < count; j++) {
    values[j] = mapped(b, inputs[j]);
  }
  b->map[node] = gemel__apply(b->into, record->op, record->attrs, count, values,
                              gemel_value_where(gemel__value(from, self)));
  gemel__free(values, count * sizeof *values);
  return GEMEL_OK;
}

static gemel_status fill(struct rebuilding *b, gemel_error *error) {
  mark_live(b);
  add_inputs(b);
  for (size_t k = 0; k < b->n; k++) {
    gemel__edit edit = edit_of(b, k);
    if (!b->live[k] || gemel__node_at(b->r->from, (uint32_t)k)->op == GEMEL__OP_input) {
      if (edit.kind == GEMEL__EDIT_LEAF && b->live[k]) {
        b->map[k] = b->leaves[edit.leaf];
      }
      continue;
    }
    if (edit.kind == GEMEL__EDIT_KEEP) {
      GEMEL__TRY(apply_node(b, k, error));
    } else {
      b->map[k] = edit.kind == GEMEL__EDIT_LEAF       ? b->leaves[edit.leaf]
                  : edit.kind == GEMEL__EDIT_CONSTANT ? gemel_constant(b->into, edit.tensor)
                                                      : mapped(b, edit.value);
    }
  }
  for (size_t k = 0; k < b->r->n_outputs; k++) {
    gemel_output(mapped(b, b->r->outputs[k]), b->r->output_names[k]);
  }
  return gemel__graph_status(b->into, error);
}

gemel_graph *gemel__rebuild_graph(const gemel__rebuild *rebuild, gemel_error *error) {
  struct rebuilding b;
  memset(&b, 0, sizeof b);
  if (gemel__graph_has_runtime_sizes(rebuild->from)) {
    gemel__fail(error, GEMEL_DECLINED, "sizes that only a run tells");
    return NULL;
  }
  b.r = rebuild;
  b.n = gemel_graph_node_count(rebuild->from);
  b.live = gemel__alloc_array(b.n, 1);
  b.map = gemel__alloc_array(b.n, sizeof *b.map);
  b.leaves = gemel__alloc_array(rebuild->n_leaves, sizeof *b.leaves);
  b.into = gemel_graph_new(gemel_graph_context(rebuild->from), error);
  gemel_status status = b.live == NULL || b.map == NULL || b.leaves == NULL || b.into == NULL
                            ? gemel__no_memory(error, "a copy of a graph")
                            : fill(&b, error);
  gemel__free(b.live, b.n);
  gemel__free(b.map, b.n * sizeof *b.map);
  gemel__free(b.leaves, rebuild->n_leaves * sizeof *b.leaves);
  if (status != GEMEL_OK) {
    gemel_graph_unref(b.into);
    return NULL;
  }
  return b.into;
}
