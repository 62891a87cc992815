/* SPDX-License-Identifier: MIT
 *
 * A look at a graph that passes have left, which tells whether another pass would do anything: it
 * asks at each node for rules that match, in the graph as it is, and makes none. Constants have
 * been folded and normal forms found at each node where rules were tried, so a graph of such nodes
 * alone only changes by a rule (bodies are not looked into: where there are any, a pass is made).
 * Most passes behind the first find nothing to do, and a look costs a tenth of what it costs to
 * make the graph again.
 */
#include "core/alloc.h"
#include "passes/engine.h"
#include "passes/search.h"

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
    *idle = tried[k] != 0 || graph->nodes[k].op == search->selection->constant_op;
    if (*idle && gemel__selection_has(search->selection, graph->nodes[k].op, tried[k])) {
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
  if (tried == NULL || options->counts == NULL || tried->graph != graph) {
    return GEMEL_OK;
  }
  gemel_status status = gemel__use_counts_find(options->counts, graph, error);
  if (status != GEMEL_OK || options->counts->has_bodies) {
    return status;
  }
  gemel__search search = {.selection = options->selection,
                          .scene = {tried->graph, options->counts->uses, &arena, NULL, error},
                          .timed = options->timed};
  *idle = 1;
  status = look(&search, tried->phases, idle);
  gemel__arena_clear(&arena);
  return status;
}
