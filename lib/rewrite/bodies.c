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

typedef struct rewritten {
  const gemel_graph *from; /* NULL: an empty slot */
  gemel_graph *to;         /* a reference */
} rewritten;

struct gemel__rewrite_bodies {
  gemel__body_rewrite rewrite;
  void *user;
  rewritten *slots;
  size_t count, capacity;
  int depth;
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
  for (size_t k = 0; k < bodies->capacity; k++) {
    gemel_graph_unref(bodies->slots[k].to);
  }
  gemel__free(bodies->slots, bodies->capacity * sizeof *bodies->slots);
  gemel__free(bodies, sizeof *bodies);
}

/* ---- Memory ---- */

static rewritten *slot_of(const gemel__rewrite_bodies *b, const gemel_graph *from) {
  size_t slot = (size_t)gemel__mix((uint64_t)(uintptr_t)from) & (b->capacity - 1);
  while (b->slots[slot].from != NULL && b->slots[slot].from != from) {
    slot = (slot + 1) & (b->capacity - 1);
  }
  return &b->slots[slot];
}

/* Room for one more; at most half of the slots are taken. */
static int reserve(gemel__rewrite_bodies *b) {
  size_t n = b->capacity;
  rewritten *old = b->slots, *more;
  if (b->count * 2 < n) {
    return 0;
  }
  more = gemel__alloc_array(n == 0 ? 16 : n * 2, sizeof *more);
  if (more == NULL) {
    return -1;
  }
  b->slots = more;
  b->capacity = n == 0 ? 16 : n * 2;
  for (size_t k = 0; k < n; k++) {
    if (old[k].from != NULL) {
      *slot_of(b, old[k].from) = old[k];
    }
  }
  gemel__free(old, n * sizeof *old);
  return 0;
}

/* ---- Rewriting ---- */

/* What BODY becomes, borrowed; NULL with *ERROR. */
static gemel_graph *become(gemel__rewrite_bodies *b, gemel_graph *body, gemel_error *error) {
  gemel_graph *to;
  if (b->depth >= GEMEL_MAX_NESTING) {
    return body;
  }
  if (b->count > 0 && slot_of(b, body)->from != NULL) {
    return slot_of(b, body)->to;
  }
  b->depth++;
  to = b->rewrite(b->user, body, error);
  b->depth--;
  if (to != NULL && reserve(b) != 0) {
    gemel_graph_unref(to);
    gemel__no_memory(error, "bodies");
    return NULL;
  }
  if (to != NULL) {
    rewritten *slot = slot_of(b, body);
    slot->from = body;
    slot->to = to;
    b->count++;
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
  for (; lists < n; lists++) {
    if (given[lists].kind == (GEMEL_ATTR_LIST | GEMEL_ATTR_GRAPH)) {
      gemel__free((void *)given[lists].u.graphs, given[lists].count * sizeof(gemel_graph *));
    }
  }
  return status;
}
