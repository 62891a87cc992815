/* SPDX-License-Identifier: MIT
 *
 * Large constant sizes made small: by the same map through both graphs of a pair.
 */
#ifndef GEMEL__PAIRS_SCALE_H
#define GEMEL__PAIRS_SCALE_H

#include <gemel/graph.h>

enum { GEMEL__MOST_SCALED = 16, GEMEL__MOST_SCALED_TEXT = 200 };

/* What becomes of which size. N is 0 if nothing is large. */
typedef struct gemel__scaling {
  size_t n;
  int64_t from[GEMEL__MOST_SCALED], to[GEMEL__MOST_SCALED];
  int64_t unit; /* above 0: other large multiples of it are divided by it, too, but for KEPT */
  int64_t kept;
} gemel__scaling;

/* The large constant sizes of the inputs of A, which B has too, each with a small one that is its
 * own: the order of sizes stays, and no size that is small already is taken. None if both graphs
 * are small: what is proved at their own sizes is worth more. */
void gemel__scaling_find(const gemel_graph *a, const gemel_graph *b, gemel__scaling *scaling);

/* Way WAY of scaling A and B, for trying one after the other; 0: there are no more. The first is
 * gemel__scaling_find's. Sums of sizes, such as those of pieces that are joined, survive a division
 * of all by one number: that is the second. Then one size after the other stays what it is, in both
 * ways. A way that scales nothing has N = 0. */
int gemel__scaling_way(const gemel_graph *a, const gemel_graph *b, size_t way,
                       gemel__scaling *scaling);

/* The graph with those sizes in the types of inputs and in the attributes of nodes, its bodies
 * scaled as it is, or NULL if that isn't a graph: GEMEL_DECLINED, or a shape rule's own error. */
gemel_graph *gemel__graph_scaled(const gemel_graph *graph, const gemel__scaling *scaling,
                                 gemel_error *error);

/* Visits GRAPH and the bodies in it, each as often as it is applied; 0 if some were left out, which
 * are nested or applied too often to be run. */
int gemel__graph_visit(const gemel_graph *graph,
                       void (*visit)(void *user, const gemel_graph *graph), void *user);

/* "1000 → 3, 500 → 2". */
void gemel__scaling_text(const gemel__scaling *scaling, char *text, size_t bytes);

#endif
