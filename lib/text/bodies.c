/* SPDX-License-Identifier: MIT
 *
 * Collecting graphs inside graphs: a walk in post-order with a stack of (graph, next node), so that
 * nesting is limited by memory alone.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/error.h"
#include "core/intern.h"
#include "text/bodies.h"

typedef struct level {
  const gemel_graph *graph;
  unsigned char *live;
  uint32_t node;    /* the next to look at */
  uint32_t graph_k; /* of its graphs, the next */
} level;

typedef struct bodies_walk {
  gemel__text_bodies *bodies;
  level *levels;
  size_t count, capacity;
  uint32_t skip;
  const gemel_graph *found;
} bodies_walk;

unsigned char *gemel__live_nodes(const gemel_graph *graph, gemel_error *error) {
  unsigned char *live = (unsigned char *)gemel__alloc_zeroed(graph->n_nodes);
  if (!live) {
    gemel__no_memory(error, "marks");
    return NULL;
  }
  gemel__graph_live(graph, live);
  return live;
}

int gemel__each_graph(gemel_context *context, uint32_t attrs,
                      int (*each)(void *user, const gemel_graph *graph), void *user) {
  const struct gemel__attrs *stored = gemel__attrs_at(context, attrs);
  for (size_t k = 0; attrs && k < stored->count; k++) {
    const gemel_attr *a = &stored->values[k];
    int result = 0;
    if (a->kind == GEMEL_ATTR_GRAPH) {
      result = each(user, a->u.graph);
    }
    for (size_t i = 0; a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH) && i < a->count && !result;
         i++) {
      result = each(user, a->u.graphs[i]);
    }
    if (result) {
      return result;
    }
  }
  return 0;
}

/* ---- Set of graphs ---- */

/* What is found instead of an index while the walk is inside a graph. */
#define UNFINISHED UINT32_MAX

typedef struct structure_key {
  const gemel__text_bodies *bodies;
  const gemel_graph *graph;
} structure_key;

static int same_structure(const void *user, uint32_t id) {
  const structure_key *key = (const structure_key *)user;
  return gemel__graph_same(key->bodies->graphs[id - 1], key->graph);
}

static uint64_t structure_hash(const void *user, uint32_t id) {
  return gemel__graph_hash(((const structure_key *)user)->bodies->graphs[id - 1]);
}

/* Notes that the walk has met GRAPH. 1: it is new and to be walked; 0: it is known, or equal to one
 * that is; -1: memory is out. */
static int meet(gemel__text_bodies *b, const gemel_graph *graph) {
  structure_key key = {b, graph};
  if (gemel__map_find(&b->ids, (uint64_t)(uintptr_t)graph) != 0) {
    return 0;
  }
  uint32_t id = gemel__idtable_find(&b->structures, gemel__graph_hash(graph), same_structure, &key);
  return gemel__map_put(&b->ids, (uint64_t)(uintptr_t)graph, id ? id : UNFINISHED) ? -1 : id == 0;
}

/* Gives GRAPH, which the walk is done with, its index; 0, or -1 when memory is out. */
static int complete(gemel__text_bodies *b, const gemel_graph *graph) {
  structure_key key = {b, graph};
  if (gemel__grow(&b->graphs, &b->capacity, b->count + 1, sizeof *b->graphs)) {
    return -1;
  }
  b->graphs[b->count++] = graph;
  gemel__map_put(&b->ids, (uint64_t)(uintptr_t)graph, (uint32_t)b->count); /* it is there */
  return gemel__idtable_add(&b->structures, gemel__graph_hash(graph), (uint32_t)b->count,
                            structure_hash, &key);
}

size_t gemel__bodies_index(const gemel__text_bodies *bodies, const gemel_graph *graph) {
  return gemel__map_find(&bodies->ids, (uint64_t)(uintptr_t)graph) - 1;
}

void gemel__bodies_clear(gemel__text_bodies *bodies) {
  gemel__free(bodies->graphs, bodies->capacity * sizeof *bodies->graphs);
  gemel__map_clear(&bodies->ids);
  gemel__idtable_clear(&bodies->structures);
  memset(bodies, 0, sizeof *bodies);
}

/* ---- The walk ---- */

static int enter(bodies_walk *w, const gemel_graph *graph, gemel_error *error) {
  if (gemel__grow(&w->levels, &w->capacity, w->count + 1, sizeof *w->levels)) {
    gemel__no_memory(error, "graphs");
    return -1;
  }
  level *l = &w->levels[w->count];
  l->graph = graph;
  l->node = l->graph_k = 0;
  l->live = gemel__live_nodes(graph, error);
  w->count += l->live != NULL;
  return l->live ? 0 : -1;
}

static int take(void *user, const gemel_graph *graph) {
  bodies_walk *w = (bodies_walk *)user;
  if (w->skip == 0) {
    w->found = graph;
    return 1;
  }
  w->skip--;
  return 0;
}

/* 1 if the operation has an attribute that holds graphs. */
static int holds_graphs(const gemel__op *op) {
  for (size_t k = 0; k < op->n_attrs; k++) {
    if ((op->record.attrs[k].kind & ~GEMEL_ATTR_LIST) == GEMEL_ATTR_GRAPH) {
      return 1;
    }
  }
  return 0;
}

/* The next graph that a live node of the level holds, or NULL at the end. */
static const gemel_graph *next_graph(bodies_walk *w, level *l) {
  const gemel_graph *g = l->graph;
  for (; l->node < g->n_nodes; l->node++, l->graph_k = 0) {
    uint32_t attrs = g->nodes[l->node].attrs;
    if (!attrs || !l->live[l->node] || !holds_graphs(gemel__node_op(g, l->node))) {
      continue;
    }
    w->skip = l->graph_k;
    if (gemel__each_graph(g->context, attrs, take, w)) {
      l->graph_k++;
      return w->found;
    }
  }
  return NULL;
}

static gemel_status collect(bodies_walk *w, const gemel_graph *graph, gemel_error *error) {
  if (enter(w, graph, error)) {
    return GEMEL_NO_MEMORY;
  }
  while (w->count > 0) {
    level *l = &w->levels[w->count - 1];
    const gemel_graph *inner = next_graph(w, l);
    if (inner) {
      int met = meet(w->bodies, inner);
      if (met < 0 || (met > 0 && enter(w, inner, error))) {
        return gemel__no_memory(error, "graphs");
      }
      continue;
    }
    gemel__free(l->live, l->graph->n_nodes);
    w->count--;
    if (w->count > 0 && complete(w->bodies, l->graph)) {
      return gemel__no_memory(error, "graphs");
    }
  }
  return GEMEL_OK;
}

gemel_status gemel__bodies_collect(const gemel_graph *graph, gemel__text_bodies *bodies,
                                   gemel_error *error) {
  bodies_walk w;
  memset(&w, 0, sizeof w);
  memset(bodies, 0, sizeof *bodies);
  w.bodies = bodies;
  gemel_status status = collect(&w, graph, error);
  while (w.count > 0) {
    level *l = &w.levels[--w.count];
    gemel__free(l->live, l->graph->n_nodes);
  }
  gemel__free(w.levels, w.capacity * sizeof *w.levels);
  if (status) {
    gemel__bodies_clear(bodies);
  }
  return status;
}
