/* SPDX-License-Identifier: MIT
 *
 * A look at a graph that passes have left, which tells whether another pass would do anything: it
 * asks at each node for rules that match, in the graph as it is, and makes none. Constants have
 * been folded and normal forms found at each node where rules were tried, so a graph of such nodes
 * alone only changes by a rule. Most passes behind the first find nothing to do, and a look costs a
 * tenth of what it costs to make the graph again.
 */
#include "core/alloc.h"
#include "core/attrs.h"
#include "passes/engine.h"
#include "passes/search.h"
#include "passes/uses.h"

/* 1 if the node has been through a pass, and has no body that may have something to do. */
static int was_settled(const gemel_graph *graph, const gemel__selection *s, uint32_t node,
                       unsigned char tried) {
  const gemel__node *record = gemel__node_at(graph, node);
  return (tried != 0 || record->op == s->constant_op) &&
         (record->attrs == 0 || gemel__attrs_at(graph->context, record->attrs)->nesting == 0);
}

/* *IDLE: no rule matches at any output of NODE. */
static gemel_status look_at(gemel__search *search, uint32_t node, uint32_t tried, int *idle) {
  const gemel__candidate *c;
  gemel__binding binding;
  uint32_t n = gemel__node_at(search->scene.graph, node)->n_outputs;
  gemel_status status = GEMEL_DECLINED;
  for (uint32_t k = 0; k < n && status == GEMEL_DECLINED; k++) {
    status = gemel__search_start(search, (gemel__ref){node, k}, tried);
    status = status ? status : gemel__search_next(search, &c, &binding);
  }
  *idle = status == GEMEL_DECLINED;
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

static gemel_status look(gemel__search *search, const unsigned char *tried, int *idle) {
  const gemel_graph *graph = search->scene.graph;
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < graph->n_nodes && *idle && status == GEMEL_OK; k++) {
    if (search->scene.uses[k] == 0) {
      continue;
    }
    *idle = was_settled(graph, search->selection, k, tried[k]);
    if (*idle && (search->selection->roots[graph->nodes[k].op] & GEMEL__OP_ROOT)) {
      status = look_at(search, k, tried[k], idle);
    }
  }
  return status;
}

gemel_status gemel__rewrite_idle(const gemel_graph *graph, const gemel__pass_options *options,
                                 int *idle, gemel_error *error) {
  const gemel__tried *tried = options->tried;
  gemel__arena arena = {0};
  *idle = 0;
  if (tried == NULL || tried->graph != graph) {
    return GEMEL_OK;
  }
  uint32_t *uses = gemel__graph_uses(graph);
  if (uses == NULL) {
    return gemel__no_memory(error, "rewriting");
  }
  gemel__search search = {.selection = options->selection,
                          .scene = {tried->graph, uses, &arena, NULL, error},
                          .timed = options->timed};
  *idle = 1;
  gemel_status status = look(&search, tried->phases, idle);
  gemel__arena_clear(&arena);
  gemel__free(uses, graph->n_nodes * sizeof *uses);
  return status;
}
