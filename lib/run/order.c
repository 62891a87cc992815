/* SPDX-License-Identifier: MIT
 *
 * A dynamic topological order. The nodes are a doubly linked list with labels that grow along it,
 * so that two nodes are compared by their labels.
 *
 * "A before B" holds already if A's label is the smaller one. Else it is searched in both
 * directions at once, an edge at a time: forward from B through what lies at or before A, and
 * backward from A through what lies at or behind B. The search that ends first decides. If it met
 * the other end there is a circle; if not, what it found is moved, in its order: what comes before
 * A to just before B, or what comes behind B to just behind A. So a constraint costs as much as the
 * smaller of the two sides, whatever lies between.
 *
 * Source: M. Bender, J. Fineman, S. Gilbert, R. Tarjan, A new approach to incremental cycle
 * detection and related problems, 2015 (two-way search); M. Bender, R. Cole, E. Demaine,
 * M. Farach-Colton, J. Zito, Two simplified algorithms for maintaining order in a list, 2002
 * (labels: where a gap is full, the smallest range of labels around it that isn't crowded gets even
 * ones).
 */
#include "run/order.h"

#include <stdlib.h>
#include "core/alloc.h"

#define NONE UINT32_MAX

typedef struct constraint {
  uint32_t a, b;
  uint32_t next_after, next_before; /* the next constraint with the same A, with the same B */
} constraint;

/* One direction of a search: the nodes found, in the order of finding, and how far it got. */
typedef struct search {
  uint32_t *found;
  uint32_t n;
  uint32_t at;    /* index of the node whose edges are being walked */
  uint32_t edge;  /* the next of them */
  uint32_t extra; /* the next constraint of that node */
} search;

struct gemel__order {
  uint32_t n;
  gemel__edges after, before;
  uint64_t *label;
  uint32_t *next, *previous;            /* N stands before the first and behind the last */
  uint32_t *first_after, *first_before; /* constraints of a node */
  uint32_t *mark;                       /* the search that found a node last */
  uint32_t stamp;
  constraint *constraints;
  size_t n_constraints, capacity;
  search forward, backward;
};

/* ---- Life ---- */

static void spread(gemel__order *o) {
  uint64_t gap = UINT64_MAX / ((uint64_t)o->n + 2), label = gap;
  for (uint32_t k = o->next[o->n]; k != o->n; k = o->next[k], label += gap) {
    o->label[k] = label;
  }
}

static int allocate(gemel__order *o) {
  size_t n = o->n;
  o->label = gemel__alloc_array(n, sizeof *o->label);
  o->next = gemel__alloc_array(n + 1, sizeof *o->next);
  o->previous = gemel__alloc_array(n + 1, sizeof *o->previous);
  o->first_after = gemel__alloc_array(n, sizeof *o->first_after);
  o->first_before = gemel__alloc_array(n, sizeof *o->first_before);
  o->mark = gemel__alloc_array(n, sizeof *o->mark);
  o->forward.found = gemel__alloc_array(n, sizeof *o->forward.found);
  o->backward.found = gemel__alloc_array(n, sizeof *o->backward.found);
  return o->label != NULL && o->next != NULL && o->previous != NULL && o->first_after != NULL &&
         o->first_before != NULL && o->mark != NULL && o->forward.found != NULL &&
         o->backward.found != NULL;
}

gemel__order *gemel__order_new(uint32_t n, gemel__edges after, gemel__edges before) {
  gemel__order *o = gemel__alloc_zeroed(sizeof *o);
  if (o == NULL) {
    return NULL;
  }
  o->n = n;
  o->after = after;
  o->before = before;
  if (!allocate(o)) {
    gemel__order_free(o);
    return NULL;
  }
  for (uint32_t k = 0; k <= n; k++) {
    o->next[k] = k == n ? 0 : k + 1;
    o->previous[k] = k == 0 ? n : k - 1;
  }
  for (uint32_t k = 0; k < n; k++) {
    o->first_after[k] = o->first_before[k] = NONE;
  }
  spread(o);
  return o;
}

void gemel__order_free(gemel__order *o) {
  size_t n;
  if (o == NULL) {
    return;
  }
  n = o->n;
  gemel__free(o->label, n * sizeof *o->label);
  gemel__free(o->next, (n + 1) * sizeof *o->next);
  gemel__free(o->previous, (n + 1) * sizeof *o->previous);
  gemel__free(o->first_after, n * sizeof *o->first_after);
  gemel__free(o->first_before, n * sizeof *o->first_before);
  gemel__free(o->mark, n * sizeof *o->mark);
  gemel__free(o->forward.found, n * sizeof *o->forward.found);
  gemel__free(o->backward.found, n * sizeof *o->backward.found);
  gemel__free(o->constraints, o->capacity * sizeof *o->constraints);
  gemel__free(o, sizeof *o);
}

uint32_t gemel__order_first(const gemel__order *o) {
  return o->next[o->n];
}

uint32_t gemel__order_next(const gemel__order *o, uint32_t node) {
  return o->next[node];
}

/* ---- Searching ---- */

static void find(gemel__order *o, search *s, uint32_t node, uint32_t stamp) {
  o->mark[node] = stamp;
  s->found[s->n++] = node;
}

static void enter(gemel__order *o, search *s, uint32_t node, int forward, uint32_t stamp) {
  s->n = s->at = 0;
  find(o, s, node, stamp);
  s->edge = (forward ? o->after : o->before).begin[node];
  s->extra = forward ? o->first_after[node] : o->first_before[node];
}

/* The neighbour at the end of the next edge of the search's node; NONE if it has no more. */
static uint32_t next_neighbour(const gemel__order *o, search *s, int forward) {
  gemel__edges edges = forward ? o->after : o->before;
  uint32_t node = s->found[s->at];
  if (s->edge < edges.begin[node + 1]) {
    return edges.to[s->edge++];
  }
  if (s->extra != NONE) {
    const constraint *c = &o->constraints[s->extra];
    s->extra = forward ? c->next_after : c->next_before;
    return forward ? c->b : c->a;
  }
  return NONE;
}

typedef enum search_outcome { GOES_ON, ENDED, CIRCLE } search_outcome;

/* Walks one edge of a search that stays on this side of GOAL, from which the other search, whose
 * mark is OTHER, comes. */
static search_outcome step(gemel__order *o, search *s, uint32_t goal, int forward, uint32_t stamp,
                           uint32_t other) {
  uint32_t node = next_neighbour(o, s, forward);
  if (node != NONE && o->mark[node] == other) {
    return CIRCLE;
  }
  if (node != NONE) {
    int inside = forward ? o->label[node] < o->label[goal] : o->label[node] > o->label[goal];
    if (inside && o->mark[node] != stamp) {
      find(o, s, node, stamp);
    }
    return GOES_ON;
  }
  if (++s->at == s->n) {
    return ENDED;
  }
  s->edge = (forward ? o->after : o->before).begin[s->found[s->at]];
  s->extra = forward ? o->first_after[s->found[s->at]] : o->first_before[s->found[s->at]];
  return GOES_ON;
}

/* ---- Moving ---- */

/* Even labels for the smallest range of 2^k labels around NODE that is less than (2/3)^k full. */
static void make_room(gemel__order *o, uint32_t node) {
  uint32_t first = node, last = node, count = 1;
  double crowded = 1;
  for (int bits = 1; bits < 64; bits++) {
    uint64_t size = (uint64_t)1 << bits, low = o->label[node] & ~(size - 1), high = low + size - 1;
    crowded *= 4.0 / 3;
    while (o->previous[first] != o->n && o->label[o->previous[first]] >= low) {
      first = o->previous[first];
      count++;
    }
    while (o->next[last] != o->n && o->label[o->next[last]] <= high) {
      last = o->next[last];
      count++;
    }
    if ((double)count < crowded && size / count > 2) {
      uint64_t gap = size / ((uint64_t)count + 1), label = low;
      for (uint32_t k = first; count > 0; k = o->next[k], count--) {
        o->label[k] = label += gap;
      }
      return;
    }
  }
  spread(o);
}

static uint64_t label_behind(const gemel__order *o, uint32_t node) {
  return node == o->n ? 0 : o->label[node];
}

static uint64_t label_before(const gemel__order *o, uint32_t node) {
  return node == o->n ? UINT64_MAX : o->label[node];
}

/* Takes NODE from its place and puts it behind PLACE (N: at the beginning). */
static void move_behind(gemel__order *o, uint32_t node, uint32_t place) {
  o->next[o->previous[node]] = o->next[node];
  o->previous[o->next[node]] = o->previous[node];
  while (label_before(o, o->next[place]) - label_behind(o, place) < 2) {
    make_room(o, place != o->n ? place : o->next[place]);
  }
  uint64_t low = label_behind(o, place), high = label_before(o, o->next[place]);
  o->label[node] = low + (high - low) / 2;
  o->next[node] = o->next[place];
  o->previous[node] = place;
  o->previous[o->next[node]] = node;
  o->next[place] = node;
}

static void sift(const uint64_t *label, uint32_t *nodes, uint32_t at, uint32_t n) {
  uint32_t node = nodes[at];
  for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
    child += child + 1 < n && label[nodes[child + 1]] > label[nodes[child]];
    if (label[nodes[child]] <= label[node]) {
      break;
    }
    nodes[at] = nodes[child];
  }
  nodes[at] = node;
}

/* Heapsort by label: it needs no memory. */
static void sort_by_label(const uint64_t *label, uint32_t *nodes, uint32_t n) {
  for (uint32_t k = n / 2; k-- > 0;) {
    sift(label, nodes, k, n);
  }
  for (uint32_t k = n; k-- > 1;) {
    uint32_t last = nodes[k];
    nodes[k] = nodes[0];
    nodes[0] = last;
    sift(label, nodes, 0, k);
  }
}

/* Moves what S found, in its order, to just behind PLACE. */
static void move_found(gemel__order *o, search *s, uint32_t place) {
  sort_by_label(o->label, s->found, s->n);
  for (uint32_t k = 0; k < s->n; k++) {
    move_behind(o, s->found[k], place);
    place = s->found[k];
  }
}

/* ---- Constraints ---- */

static gemel_status append(gemel__order *o, uint32_t a, uint32_t b) {
  uint32_t k = (uint32_t)o->n_constraints;
  if (gemel__grow(&o->constraints, &o->capacity, o->n_constraints + 1, sizeof *o->constraints) !=
      0) {
    return GEMEL_NO_MEMORY;
  }
  o->constraints[k] = (constraint){a, b, o->first_after[a], o->first_before[b]};
  o->first_after[a] = o->first_before[b] = k;
  o->n_constraints++;
  return GEMEL_OK;
}

gemel_status gemel__order_add(gemel__order *o, uint32_t a, uint32_t b) {
  search_outcome forward = GOES_ON, backward = GOES_ON;
  uint32_t stamp;
  if (a == b) {
    return GEMEL_DECLINED;
  }
  if (o->label[a] < o->label[b]) {
    return append(o, a, b);
  }
  stamp = o->stamp += 2;
  enter(o, &o->forward, b, 1, stamp - 1);
  enter(o, &o->backward, a, 0, stamp);
  while (forward == GOES_ON && backward == GOES_ON) {
    forward = step(o, &o->forward, a, 1, stamp - 1, stamp);
    backward = forward == GOES_ON ? step(o, &o->backward, b, 0, stamp, stamp - 1) : GOES_ON;
  }
  if (forward == CIRCLE || backward == CIRCLE) {
    return GEMEL_DECLINED;
  }
  if (append(o, a, b) != GEMEL_OK) {
    return GEMEL_NO_MEMORY;
  }
  if (forward == ENDED) {
    move_found(o, &o->forward, a);
  } else {
    move_found(o, &o->backward, o->previous[b]);
  }
  return GEMEL_OK;
}

void gemel__order_drop(gemel__order *o, uint32_t count) {
  for (; count > 0; count--) {
    const constraint *c = &o->constraints[--o->n_constraints];
    o->first_after[c->a] = c->next_after;
    o->first_before[c->b] = c->next_before;
  }
}
