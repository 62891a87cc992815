/* SPDX-License-Identifier: MIT
 *
 * A minimum cut: points that are on one of two sides, SOURCE's or SINK's, and what it costs that
 * one is on SOURCE's and another isn't. (cut.c)
 */
#ifndef GEMEL__CORE_CUT_H
#define GEMEL__CORE_CUT_H

#include <stddef.h>
#include <stdint.h>
#include <gemel/status.h>

/* What a cut never pays. */
#define GEMEL__CUT_NEVER (INT64_MAX / 4)

enum { GEMEL__CUT_SOURCE, GEMEL__CUT_SINK, GEMEL__CUT_POINTS /* the first of one's own */ };

typedef struct gemel__cut_edge {
  uint32_t to, next; /* of the same point: edge + 1 */
  int64_t room;      /* what may still flow */
} gemel__cut_edge;

typedef struct gemel__cut {
  uint32_t n_points;
  uint32_t *first; /* by point: edge + 1 */
  uint32_t
      *level;    /* by point: edges from the source on the shortest way, + 1; 0: none leads there */
  uint32_t *arc; /* by point: the edge, + 1, that is tried next */
  uint32_t *way; /* edges from the source to the point that is looked at */
  uint32_t *queue;
  int64_t *room;          /* by distance: see give_up */
  gemel__cut_edge *edges; /* one and its opposite, in turn */
  size_t n_edges, capacity;
} gemel__cut;

/* N points, the two ends among them; to be cleared. GEMEL_NO_MEMORY. */
gemel_status gemel__cut_start(gemel__cut *cut, uint32_t n, gemel_error *error);
void gemel__cut_clear(gemel__cut *cut);

/* FORWARD is paid if A is on the source's side and B isn't, BACK if B is and A isn't. */
gemel_status gemel__cut_add(gemel__cut *cut, uint32_t a, uint32_t b, int64_t forward, int64_t back,
                            gemel_error *error);

/* Finds a cut, in at most PHASES walks over all edges. What comes back is how much more than the
 * least it may cost; 0: it is the least. */
int64_t gemel__cut_find(gemel__cut *cut, int phases);

/* 1 if POINT is on the source's side; of least cuts it is the one with the fewest there. */
static inline int gemel__cut_has(const gemel__cut *cut, uint32_t point) {
  return cut->level[point] != 0;
}

#endif
