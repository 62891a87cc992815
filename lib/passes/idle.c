/* SPDX-License-Identifier: MIT
 *
 * A look at a graph that passes have left, which tells whether another pass would do anything: it
 * asks at each node for rules that match, in the graph as it is, and makes none. Where none does,
 * that is noted, so that the pass, if there is one, need not ask again. Constants have
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
    status = status               ? status
             : search->count == 0 ? GEMEL_DECLINED
                                  : gemel__search_next(search, &c, &binding);
  }
  *idle = status == GEMEL_DECLINED;
  return status == GEMEL_NO_MEMORY ? status : GEMEL_OK;
}

/* What is noted of a node at which rules were TRIED before, where none of the selection's matches
 * now: of those that ask for use counts only if the selection has all that there are. */
static unsigned char with_selection(const gemel__selection *s, uint32_t tried) {
  return (unsigned char)(tried | s->phases | ((tried & ~s->phases) == 0 ? GEMEL__ASKS_USES : 0));
}

static gemel_status look(gemel__search *search, unsigned char *tried, int *idle) {
  const gemel_graph *graph = search->scene.graph;
  const gemel__selection *selection = search->selection;
  gemel_status status = GEMEL_OK;
  for (uint32_t k = 0; k < graph->n_nodes && status == GEMEL_OK; k++) {
    int quiet = tried[k] != 0 || graph->nodes[k].op == selection->constant_op;
    if (search->scene.uses[k] == 0) {
      continue;
    }
    if (quiet && gemel__selection_has(selection, graph, k, tried[k])) {
      status = look_at(search, k, tried[k], &quiet);
      tried[k] = quiet && tried[k] != 0 ? with_selection(selection, tried[k]) : tried[k];
    }
    *idle &= quiet;
  }
  return status;
}

gemel_status gemel__rewrite_idle(const gemel_graph *graph, const gemel__pass_options *options,
                                 int *idle, gemel_error *error) {
  gemel__tried *tried = options->tried;
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
                          .timed = options->timed,
                          .thorough = options->thorough};
  *idle = 1;
  status = look(&search, tried->phases, idle);
  gemel__arena_clear(&arena);
  return status;
}
