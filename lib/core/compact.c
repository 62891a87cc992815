/* SPDX-License-Identifier: MIT
 *
 * See compact.h. Nodes only move down, so each is made again in the arrays that hold it, behind
 * those that stay before it: what is written lies below what has yet to be read. Equal nodes there
 * were none, and renaming keeps it so; but where a node is looked for depends on its inputs' ids,
 * so the table of equal nodes is filled anew.
 *
 * Types that hold a size known at run time name nodes, and would have to be inferred again; nodes
 * of several outputs are rare. A graph with either is left to whoever copies node by node.
 */
#include "core/compact.h"

#include "core/apply.h"
#include "core/make.h"

/* 1 if no type of GRAPH's nodes holds a size that a node produces. */
static int has_static_types(const gemel_graph *graph) {
  gemel_type last = GEMEL_TYPE_NONE;
  int all = 1;
  for (size_t k = 0; k < graph->n_nodes && all; k++) {
    if (graph->node_types[k] != last) {
      last = graph->node_types[k];
      all = !gemel__type_at(graph->context, last)->has_runtime;
    }
  }
  return all;
}

/* 1 if the inputs are the first nodes, in their order. */
static int begins_with_inputs(const gemel_graph *graph) {
  size_t k = 0;
  while (k < graph->n_inputs && graph->inputs[k].node == k) {
    k++;
  }
  return k == graph->n_inputs;
}

/* Makes node OLD again on what its inputs became; *NODE. */
static gemel_status move(gemel_graph *graph, uint32_t old, const uint32_t *map, uint32_t *node) {
  const gemel__node record = graph->nodes[old];
  gemel_type type = graph->node_types[old];
  gemel_location where = gemel__node_where(graph, old);
  gemel__ref *in = graph->pool + record.in_begin;
  uint32_t count = graph->nodes[old + 1].in_begin - record.in_begin;
  gemel__place place;
  for (uint32_t k = 0; k < count; k++) {
    in[k].node = map[in[k].node];
  }
  if (count > 0) {
    return gemel__cons_make(graph, record.op, record.attrs, count, in, type, where, node);
  }
  gemel__cons_find(graph, record.op, record.attrs, 0, in, &place, node);
  return gemel__cons_append(graph, record.op, record.attrs, 0, in, &place, 1, &type, where, node);
}

/* Forgets all nodes, but not what the arrays hold; 0, or -1 when memory is out. */
static int restart(gemel_graph *graph) {
  struct gemel__memo *memo = gemel__memo_new(); /* it knows nodes by their ids */
  if (memo == NULL) {
    return -1;
  }
  gemel__memo_free(graph->memo);
  graph->memo = memo;
  gemel__idtable_clear(&graph->overflow);
  graph->n_nodes = graph->n_pool = 0;
  return 0;
}

gemel_status gemel__compact(gemel_graph *graph, uint32_t *uses) {
  size_t n = graph->n_nodes;
  if (graph->frozen || graph->references != 1 || graph->n_types > 0 || !begins_with_inputs(graph) ||
      !has_static_types(graph)) {
    return GEMEL_DECLINED;
  }
  if (restart(graph) != 0) {
    return GEMEL_NO_MEMORY;
  }
  for (uint32_t k = 0; k < n; k++) {
    if (uses[k] > 0 || k < graph->n_inputs) {
      gemel_status status = move(graph, k, uses, &uses[k]);
      if (status != GEMEL_OK) {
        return status;
      }
    }
  }
  for (size_t k = 0; k < graph->n_outputs; k++) {
    graph->outputs[k].node = uses[graph->outputs[k].node];
  }
  return GEMEL_OK;
}
