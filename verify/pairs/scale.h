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
  int numbers;  /* 1: numbers near FROM[k] become as near to TO[k] */
  int64_t unit; /* above 0: other large multiples of it, except KEPT, are divided by it too */
  int64_t kept;
  int64_t large; /* sizes above it are large */
  int crops;     /* 1: constants of large sizes are cut down to their first elements */
} gemel__scaling;

enum { GEMEL__LARGE_SIZE = 12, GEMEL__SMALL_SIZES = 64 };

/* Sets FROM to the constant sizes of GRAPH's inputs above LARGE, ascending, without KEPT. Of the
 * others, those below GEMEL__SMALL_SIZES are marked in USED, which has a byte for each of them. */
void gemel__scaling_sizes(const gemel_graph *graph, int64_t large, int64_t kept,
                          gemel__scaling *scaling, unsigned char *used);

/* The map for the large constant sizes of A's inputs, which are B's too. Each becomes a small size
 * of its own: their order stays, and sizes that occur already aren't taken. Numbers in either graph
 * that are near a size, such as the 99990 in `arange(n = 100000) < 99990`, keep their distance to
 * it, on either side: sizes become large enough for that. N is 0 if both graphs are small, as
 * evidence at their own sizes is worth more. */
void gemel__scaling_find(const gemel_graph *a, const gemel_graph *b, gemel__scaling *scaling);

/* The WAYth map for A and B, of several that are tried in turn; returns 0 when there are no more.
 * Way 0 is gemel__scaling_find's. Way 1 divides all sizes by one number, so that a size that is a
 * sum of others, as in a concatenation, stays one. Further ways leave one size after the other as
 * it is, each with either map. If there are numbers near sizes, each way is tried with them
 * changed, and then as they are. Where a reference would take long, all ways come once more with
 * sizes above 4. A map that scales nothing has N = 0. */
int gemel__scaling_way(const gemel_graph *a, const gemel_graph *b, size_t way,
                       gemel__scaling *scaling);

/* 1 if the constants that SCALING crops are the same in A and B. */
int gemel__scaling_crops_alike(const gemel_graph *a, const gemel_graph *b,
                               const gemel__scaling *scaling);

/* GRAPH with the sizes in inputs' types and in attributes mapped, and the numbers near them in
 * attributes and in constants of up to GEMEL__MOST_NUMBERS elements; its bodies too. NULL if that
 * isn't a graph: GEMEL_DECLINED, or the error of a shape rule. */
gemel_graph *gemel__graph_scaled(const gemel_graph *graph, const gemel__scaling *scaling,
                                 gemel_error *error);

/* "2 for 500, 3 for 1000". */
void gemel__scaling_text(const gemel__scaling *scaling, char *text, size_t bytes);

#endif
