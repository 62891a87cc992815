/* SPDX-License-Identifier: MIT
 *
 * Makes large constant sizes of a pair small, by the same map in both graphs.
 */
#ifndef GEMEL__PAIRS_SCALE_H
#define GEMEL__PAIRS_SCALE_H

#include <gemel/graph.h>

enum { GEMEL__MOST_SCALED = 16, GEMEL__MOST_SCALED_TEXT = 200 };

/* A map of sizes: FROM[k] becomes TO[k]. N is 0 if no size is large. */
typedef struct gemel__scaling {
  size_t n;
  int64_t from[GEMEL__MOST_SCALED], to[GEMEL__MOST_SCALED];
  int64_t unit; /* above 0: other large multiples of it, except KEPT, are divided by it too */
  int64_t kept;
} gemel__scaling;

/* Sizes above GEMEL__LARGE_SIZE are large. */
enum { GEMEL__LARGE_SIZE = 12, GEMEL__SMALL_SIZES = 64 };

/* Sets FROM to the large constant sizes of GRAPH's inputs, ascending, without KEPT. Of the others,
 * those below GEMEL__SMALL_SIZES are marked in USED, which has a byte for each of them. */
void gemel__scaling_sizes(const gemel_graph *graph, int64_t kept, gemel__scaling *scaling,
                          unsigned char *used);

/* The map for the large constant sizes of A's inputs, which are B's too. Each becomes a small size
 * of its own: their order stays, and sizes that occur already aren't taken. N is 0 if both graphs
 * are small, as evidence at their own sizes is worth more. */
void gemel__scaling_find(const gemel_graph *a, const gemel_graph *b, gemel__scaling *scaling);

/* The WAYth map for A and B, of several that are tried in turn; returns 0 when there are no more.
 * Way 0 is gemel__scaling_find's. Way 1 divides all sizes by one number, so that a size that is a
 * sum of others, as in a concatenation, stays one. Further ways leave one size after the other as
 * it is, each with either map. A map that scales nothing has N = 0. */
int gemel__scaling_way(const gemel_graph *a, const gemel_graph *b, size_t way,
                       gemel__scaling *scaling);

/* GRAPH with the sizes in inputs' types and in attributes mapped, its bodies too. NULL if that
 * isn't a graph: GEMEL_DECLINED, or the error of a shape rule. */
gemel_graph *gemel__graph_scaled(const gemel_graph *graph, const gemel__scaling *scaling,
                                 gemel_error *error);

/* Calls VISIT on GRAPH and on its bodies, each as often as it is applied. Returns 0 if bodies were
 * left out because they are nested too deep, or applied too often, to be run. */
int gemel__graph_visit(const gemel_graph *graph,
                       void (*visit)(void *user, const gemel_graph *graph), void *user);

/* "1000 → 3, 500 → 2". */
void gemel__scaling_text(const gemel__scaling *scaling, char *text, size_t bytes);

#endif
