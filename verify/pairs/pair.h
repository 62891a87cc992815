/* SPDX-License-Identifier: MIT
 *
 * A pair of graphs made comparable: inputs matched by name, symbols given sizes, one set of leaves.
 */
#ifndef GEMEL__PAIRS_PAIR_H
#define GEMEL__PAIRS_PAIR_H

#include "models/model.h"

/* Symbols of a pair that get sizes. */
enum { GEMEL__MOST_SYMBOLS = 32 };

/* Both graphs at concrete sizes; inputs in A's order, outputs in A's order. */
typedef struct gemel__pair {
  gemel__instance a, b;
  size_t symbols; /* that were given sizes; 0: another draw is the same pair again */
  int plain;      /* run by plain kernels */
} gemel__pair;

/* Checks that the graphs have the same inputs and outputs by name and type. GEMEL_BAD_TYPE with
 * both types. */
gemel_status gemel__pair_check(const gemel_graph *a, const gemel_graph *b, gemel_error *error);

/* Instantiates both with the same random sizes for symbols. Sizes that the graphs refuse are drawn
 * again; GEMEL_BAD_SHAPE (the graphs' own message) if none is accepted. */
gemel_status gemel__pair_draw(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                              gemel__random *random, gemel_error *error);
void gemel__pair_clear(gemel__pair *pair);

/* The symbols in the types of A's inputs, at most ROOM; their names are the context's. */
size_t gemel__pair_symbols(const gemel_graph *a, const char **names, size_t room);

/* Instantiates both with these sizes for N symbols; others are drawn. The graphs' own error. */
gemel_status gemel__pair_draw_at(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                 size_t n, const char *const *names, const int64_t *values,
                                 gemel__random *random, gemel_error *error);

/* Instantiates both with SIZE for all symbols; 0: each is drawn. The graphs' own error. */
gemel_status gemel__pair_draw_all(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                  int64_t size, gemel__random *random, gemel_error *error);

/* Where integers of any size are out of range, they are indices: finds for each input of an integer
 * dtype a range within which both graphs run, and has it drawn from there. There may be several, of
 * which WAY, any number, leads to one: 0 … 2^n · n − 1 of n inputs lead to all usual ones.
 * gemel__pair_draw ends with this. GEMEL_NO_MEMORY. */
gemel_status gemel__pair_find_ranges(gemel__pair *pair, uint64_t way, gemel__random *random,
                                     gemel_error *error);

/* Elements of a tensor of TYPE, where a size that isn't a constant counts as UNKNOWN. */
double gemel__type_elements(gemel_context *context, gemel_type type, int64_t unknown);

/* Elements of all nodes' outputs, where a size that isn't a constant counts as UNKNOWN. */
double gemel__graph_elements(const gemel_graph *graph, int64_t unknown);

/* Elements of all values of both graphs. */
double gemel__pair_elements(const gemel__pair *pair);

/* What an evaluation by references costs: these elements, and the products of matrix products and
 * convolutions, about four of which take the time of one element. */
double gemel__pair_work(const gemel__pair *pair);

/* The greatest number that an input of DTYPE, bool or an integer, is given where indices and
 * thresholds are sought: its own greatest, or that of i32. */
int64_t gemel__greatest_sought(gemel_dtype dtype);

/* Puts the smallest and the largest index somewhere into each input that holds indices. */
void gemel__plant_ends(const gemel__instance *instance, gemel__random *random,
                       gemel_tensor *const *values);

/* Are both graphs the same function over the reals? HOW has what the pair doesn't say: points,
 * trials, bisections, seed, and what counts. Release the answer with gemel__answer_clear, whatever
 * the status. */
gemel_status gemel__pair_decide(const gemel__pair *pair, const gemel__question *how,
                                gemel__answer *answer, gemel_error *error);

#endif
