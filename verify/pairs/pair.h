/* SPDX-License-Identifier: MIT
 *
 * A pair of graphs made comparable: inputs are matched by name, symbols get sizes, and both are run
 * at the same inputs.
 */
#ifndef GEMEL__PAIRS_PAIR_H
#define GEMEL__PAIRS_PAIR_H

#include "base/element.h"
#include "base/tick.h"
#include "tiers/model.h"

/* The most symbols of a pair. */
enum { GEMEL__MOST_SYMBOLS = 32 };

/* Both graphs at concrete sizes, inputs and outputs in A's order. */
typedef struct gemel__pair {
  gemel__instance a, b;
  size_t symbols; /* how many symbols were given sizes; 0: another draw gives the same pair */
  int plain;      /* 1: run with plain kernels */
} gemel__pair;

/* Checks that the graphs have the same inputs and outputs by name and type. GEMEL_BAD_TYPE
 * otherwise, with a message that shows both types. */
gemel_status gemel__pair_check(const gemel_graph *a, const gemel_graph *b, gemel_error *error);

/* Instantiates both with the same random sizes for symbols. Sizes that the graphs refuse are drawn
 * again; GEMEL_BAD_SHAPE (the graphs' own message) if none is accepted. */
gemel_status gemel__pair_draw(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                              gemel__random *random, gemel_error *error);
void gemel__pair_clear(gemel__pair *pair);

/* Writes the symbols in the types of A's inputs to NAMES, at most ROOM, and returns how many. The
 * names belong to the context. */
size_t gemel__pair_symbols(const gemel_graph *a, const char **names, size_t room);

/* Instantiates both graphs with VALUES for the N symbols NAMES; sizes of other symbols are drawn.
 * Returns the error of the graph that refuses. */
gemel_status gemel__pair_draw_at(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                 size_t n, const char *const *names, const int64_t *values,
                                 gemel__random *random, gemel_error *error);

/* Instantiates both graphs with SIZE for all symbols; 0: each is drawn. Returns the error of the
 * graph that refuses. */
gemel_status gemel__pair_draw_all(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                  int64_t size, gemel__random *random, gemel_error *error);

/* If the graphs don't run at integers of any size, the integers are indices: finds a range within
 * which both graphs run for each integer input, from which it is drawn afterwards. Ranges may
 * depend on each other; WAY, any number, chooses which is found first and from where: for n inputs
 * 0 … 2^n · n − 1 are all usual ways. gemel__pair_draw calls this. Once TICKER (may be NULL) says
 * stop, nothing more is found. GEMEL_NO_MEMORY. */
gemel_status gemel__pair_find_ranges(gemel__pair *pair, uint64_t way, gemel__random *random,
                                     gemel__ticker *ticker, gemel_error *error);

/* Elements of all nodes' outputs, where a size that isn't a constant counts as UNKNOWN. */
double gemel__graph_elements(const gemel_graph *graph, int64_t unknown);

/* Those of A and B together. */
double gemel__graphs_elements(const gemel_graph *a, const gemel_graph *b, int64_t unknown);

/* Elements of all constants of GRAPH. */
double gemel__constant_elements(const gemel_graph *graph);

/* Elements of all values of both graphs. */
double gemel__pair_elements(const gemel__pair *pair);

/* The cost of an evaluation by references, in elements: all elements, and a quarter of the products
 * in matrix products and convolutions. A size that isn't a constant counts as UNKNOWN. */
double gemel__graph_work(const gemel_graph *graph, int64_t unknown);
double gemel__pair_work(const gemel__pair *pair);

/* The greatest number of DTYPE (bool or integer) that is tried in a search for ranges of indices or
 * for thresholds: that of the dtype, at most that of i32. */
int64_t gemel__greatest_sought(gemel_dtype dtype);

/* 1 if DTYPE, or that of LEAF, is a signed or unsigned integer. */
int gemel__is_integer_dtype(gemel_dtype dtype);
int gemel__is_integer_leaf(const gemel__leaf *leaf);

/* Puts the smallest and the largest index somewhere into each input of indices. */
void gemel__plant_ends(const gemel__instance *instance, gemel__random *random,
                       gemel_tensor *const *values);

/* Asks whether both graphs are the same function over the reals. HOW has what the pair doesn't say:
 * points, trials, seed, and what counts. Release the answer with gemel__answer_clear,
 * whatever the status. */
gemel_status gemel__pair_decide(const gemel__pair *pair, const gemel__question *how,
                                gemel__answer *answer, gemel_error *error);

#endif
