/* SPDX-License-Identifier: MIT
 *
 * Graphs as attributes: each distinct body goes through a phase or pass once, however many nodes
 * have it (the context keeps one of equal bodies, so its address is its name). What it becomes is
 * put in its place before the node itself is rewritten. A body's own bodies go first, to the
 * nesting that can run; those below are left as they are.
 */
#include <string.h>
#include "core/alloc.h"
#include "core/attrs.h"
#include "core/intern.h"
#include "core/schema.h"
#include "rewrite/bodies.h"

struct gemel__rewrite_bodies {
  gemel__body_rewrite rewrite;
  void *user;
  gemel__map indices;   /* by address: index + 1 in what the bodies became */
  gemel_graph **became; /* references */
  size_t count, capacity;
  int depth, changed;
};

gemel__rewrite_bodies *gemel__bodies_new(gemel__body_rewrite rewrite, void *user) {
  gemel__rewrite_bodies *bodies = gemel__alloc_zeroed(sizeof(gemel__rewrite_bodies));
  if (bodies != NULL) {
    bodies->rewrite = rewrite;
    bodies->user = user;
  }
  return bodies;
}

void gemel__bodies_free(gemel__rewrite_bodies *bodies) {
  if (bodies == NULL) {
    return;
  }
  for (size_t k = 0; k < bodies->count; k++) {
    gemel_graph_unref(bodies->became[k]);
  }
  gemel__free(bodies->became, bodies->capacity * sizeof *bodies->became);
  gemel__map_clear(&bodies->indices);
  gemel__free(bodies, sizeof *bodies);
}

int gemel__bodies_changed(const gemel__rewrite_bodies *bodies) {
  return bodies->changed;
}

/* ---- Rewriting ---- */

/* What BODY becomes, borrowed; NULL with *ERROR. */
static gemel_graph *become(gemel__rewrite_bodies *b, gemel_graph *body, gemel_error *error) {
  if (b->depth >= GEMEL_MAX_NESTING) {
    return body;
  }
  uint32_t known = gemel__map_find(&b->indices, (uint64_t)(uintptr_t)body);
  if (known != 0) {
    return b->became[known - 1];
  }
  b->depth++;
  gemel_graph *to = b->rewrite(b->user, body, error);
  b->depth--;
  if (to != NULL &&
      (gemel__grow(&b->became, &b->capacity, b->count + 1, sizeof *b->became) != 0 ||
       gemel__map_put(&b->indices, (uint64_t)(uintptr_t)body, (uint32_t)b->count + 1) != 0)) {
    gemel_graph_unref(to);
    gemel__no_memory(error, "bodies");
    return NULL;
  }
  if (to != NULL) {
    b->became[b->count++] = to;
  }
  return to;
}

/* The list of graphs of ATTR, replaced; the array is the caller's to free. */
static gemel_status become_list(gemel__rewrite_bodies *bodies, gemel_attr *attr,
                                gemel_error *error) {
  gemel_graph **list = gemel__alloc_array(attr->count, sizeof *list);
  if (list == NULL) {
    return gemel__no_memory(error, "bodies");
  }
  for (size_t k = 0; k < attr->count; k++) {
    list[k] = become(bodies, attr->u.graphs[k], error);
    if (list[k] == NULL) {
      gemel__free(list, attr->count * sizeof *list);
      return error->status;
    }
  }
  attr->u.graphs = list;
  return GEMEL_OK;
}

gemel_status gemel__bodies_rewrite(gemel__rewrite_bodies *bodies, gemel_context *context,
                                   const gemel__op *op, uint32_t *attrs, gemel_error *error) {
  const struct gemel__attrs *stored = gemel__attrs_at(context, *attrs);
  gemel_attr given[GEMEL__MAX_ATTRS];
  size_t n = 0, lists = 0;
  uint32_t before = *attrs;
  gemel_status status = GEMEL_OK;
  for (size_t k = 0; k < stored->count && status == GEMEL_OK; k++) {
    gemel_attr *a = &given[n];
    *a = stored->values[k];
    n += a->kind != GEMEL_ATTR_NONE;
    if (a->kind == GEMEL_ATTR_GRAPH) {
      a->u.graph = become(bodies, a->u.graph, error);
      status = a->u.graph != NULL ? GEMEL_OK : error->status;
    } else if (a->kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH)) {
      status = become_list(bodies, a, error);
      n -= status != GEMEL_OK;
    }
  }
  status = status ? status : gemel__attrs_intern(context, op, n, given, attrs, error);
  bodies->changed |= *attrs != before;
  for (; lists < n; lists++) {
    if (given[lists].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH)) {
      gemel__free((void *)given[lists].u.graphs, given[lists].count * sizeof(gemel_graph *));
    }
  }
  return status;
}
