/* SPDX-License-Identifier: MIT
 *
 * Minimum cut by maximum flow, as Dinic has it (Soviet Math. Doklady 11, 1970): a phase finds the
 * points' distances from the source along edges that have room, and then sends flow along shortest
 * ways until each of them is blocked, so that the next phase's ways are longer. When no way is
 * left, what the source reaches is its side. In the worst case there are as many phases as points;
 * the graphs of programs take few, since ways are short where all points have edges to an end.
 */
#include "core/cut.h"

#include <string.h>
#include "core/alloc.h"
#include "core/error.h"

gemel_status gemel__cut_start(gemel__cut *cut, uint32_t n, gemel_error *error) {
  memset(cut, 0, sizeof *cut);
  cut->n_points = n;
  cut->first = gemel__alloc_array(n, sizeof *cut->first);
  cut->level = gemel__alloc_array(n, sizeof *cut->level);
  cut->arc = gemel__alloc_array(n, sizeof *cut->arc);
  cut->way = gemel__alloc_array(n, sizeof *cut->way);
  cut->queue = gemel__alloc_array(n, sizeof *cut->queue);
  cut->room = gemel__alloc_array((size_t)n + 1, sizeof *cut->room);
  return cut->first != NULL && cut->level != NULL && cut->arc != NULL && cut->way != NULL &&
                 cut->queue != NULL && cut->room != NULL
             ? GEMEL_OK
             : gemel__no_memory(error, "a cut");
}

void gemel__cut_clear(gemel__cut *cut) {
  gemel__free(cut->first, cut->n_points * sizeof *cut->first);
  gemel__free(cut->level, cut->n_points * sizeof *cut->level);
  gemel__free(cut->arc, cut->n_points * sizeof *cut->arc);
  gemel__free(cut->way, cut->n_points * sizeof *cut->way);
  gemel__free(cut->queue, cut->n_points * sizeof *cut->queue);
  gemel__free(cut->room, ((size_t)cut->n_points + 1) * sizeof *cut->room);
  gemel__free(cut->edges, cut->capacity * sizeof *cut->edges);
}

gemel_status gemel__cut_add(gemel__cut *cut, uint32_t a, uint32_t b, int64_t forward, int64_t back,
                            gemel_error *error) {
  if (gemel__grow(&cut->edges, &cut->capacity, cut->n_edges + 2, sizeof *cut->edges) != 0) {
    return gemel__no_memory(error, "a cut");
  }
  cut->edges[cut->n_edges] = (gemel__cut_edge){b, cut->first[a], forward};
  cut->first[a] = (uint32_t)++cut->n_edges;
  cut->edges[cut->n_edges] = (gemel__cut_edge){a, cut->first[b], back};
  cut->first[b] = (uint32_t)++cut->n_edges;
  return GEMEL_OK;
}

/* Distances from the source; 1 if the sink is reached. */
static int find_levels(gemel__cut *cut) {
  size_t head = 0, tail = 1;
  memset(cut->level, 0, cut->n_points * sizeof *cut->level);
  cut->level[GEMEL__CUT_SOURCE] = 1;
  cut->queue[0] = GEMEL__CUT_SOURCE;
  while (head < tail) {
    uint32_t point = cut->queue[head++];
    for (uint32_t e = cut->first[point]; e != 0; e = cut->edges[e - 1].next) {
      const gemel__cut_edge *edge = &cut->edges[e - 1];
      if (edge->room > 0 && cut->level[edge->to] == 0) {
        cut->level[edge->to] = cut->level[point] + 1;
        cut->queue[tail++] = edge->to;
      }
    }
  }
  return cut->level[GEMEL__CUT_SINK] != 0;
}

/* Sends as much as there is room for along the way of LENGTH edges; the number of edges before the
 * first one that is full then. */
static uint32_t send(gemel__cut *cut, uint32_t length) {
  int64_t most = INT64_MAX;
  uint32_t full = 0;
  for (uint32_t k = 0; k < length; k++) {
    int64_t room = cut->edges[cut->way[k]].room;
    most = room < most ? room : most;
  }
  for (uint32_t k = length; k-- > 0;) {
    cut->edges[cut->way[k]].room -= most;
    cut->edges[cut->way[k] ^ 1].room += most;
    full = cut->edges[cut->way[k]].room == 0 ? k : full;
  }
  return full;
}

/* Sends flow along shortest ways until each is blocked: a way is lengthened by edges that lead one
 * level further; a point from which none does is left for good. */
static void block(gemel__cut *cut) {
  uint32_t length = 0, point = GEMEL__CUT_SOURCE;
  memcpy(cut->arc, cut->first, cut->n_points * sizeof *cut->arc);
  for (;;) {
    if (point == GEMEL__CUT_SINK) {
      length = send(cut, length);
      point = cut->edges[cut->way[length] ^ 1].to;
      continue;
    }
    uint32_t e = cut->arc[point];
    while (e != 0 && (cut->edges[e - 1].room == 0 ||
                      cut->level[cut->edges[e - 1].to] != cut->level[point] + 1)) {
      e = cut->edges[e - 1].next;
    }
    cut->arc[point] = e;
    if (e != 0) {
      cut->way[length++] = e - 1;
      point = cut->edges[e - 1].to;
    } else if (length == 0) {
      return;
    } else {
      cut->level[point] = 0; /* a dead end */
      point = cut->edges[cut->way[--length] ^ 1].to;
    }
  }
}

/* The room from each distance to the next goes to ROOM[distance]. */
static void add_rooms(const gemel__cut *cut, int64_t *room) {
  for (size_t e = 0; e < cut->n_edges; e++) {
    uint32_t from = cut->level[cut->edges[e ^ 1].to], to = cut->level[cut->edges[e].to];
    if (from != 0 && to == from + 1 && cut->edges[e].room > 0) {
      room[from] += room[from] < GEMEL__CUT_NEVER ? cut->edges[e].room : 0;
    }
  }
}

/* Has the source's side end where there is least room; how much that is. */
static int64_t give_up(gemel__cut *cut) {
  uint32_t last = cut->level[GEMEL__CUT_SINK], best = 1;
  int64_t *room = cut->room;
  memset(room, 0, (cut->n_points + 1) * sizeof *room);
  add_rooms(cut, room);
  for (uint32_t level = 1; level < last; level++) {
    best = room[level] < room[best] ? level : best;
  }
  for (uint32_t k = 0; k < cut->n_points; k++) {
    cut->level[k] = cut->level[k] <= best ? cut->level[k] : 0;
  }
  return room[best];
}

int64_t gemel__cut_find(gemel__cut *cut, int phases) {
  while (find_levels(cut)) {
    if (phases-- == 0) {
      return give_up(cut);
    }
    block(cut);
  }
  return 0;
}
