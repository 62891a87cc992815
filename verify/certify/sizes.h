/* SPDX-License-Identifier: MIT
 *
 * Sizes at which a region is compared: small ones in the same order as the true ones and the
 * region's literals; the true ones; and for symbols those around the literals.
 */
#ifndef GEMEL__CERTIFY_SIZES_H
#define GEMEL__CERTIFY_SIZES_H

#include "pairs/pair.h"
#include "base/random.h"

enum { GEMEL__MOST_LITERALS = 48 };

/* The finite numbers in two graphs: of constants and attributes. */
typedef struct gemel__literals {
  double x[GEMEL__MOST_LITERALS];
  unsigned char place[GEMEL__MOST_LITERALS]; /* 1: of an attribute, such as the start of a window */
  size_t n;
  int positions; /* 1: a node makes numbers of indices or sizes (arange, argmax, a size) */
} gemel__literals;

void gemel__literals_find(const gemel_graph *const graphs[2], gemel__literals *literals);

/* Both graphs with small sizes, or the graphs themselves if no size is large or they can't be
 * scaled: references, to be released. Equal sizes stay equal, sizes and literals keep their order,
 * and differences of at most two stay. Returns 1 if the sizes are smaller. */
int gemel__sizes_cut(const gemel_graph *const graphs[2], const gemel__literals *literals,
                     gemel_graph *small[2]);

/* 1 if a size in GRAPH is a symbol or an expression of symbols. */
int gemel__sizes_symbolic(const gemel_graph *graph);

/* How many draws of symbols around the literals there are, and the Kth of them: all symbols are one
 * less than a literal, equal to it, or one more; or drawn small. GEMEL_BAD_SHAPE, GEMEL_BAD_VALUE:
 * the graphs refuse these sizes. Release with gemel__pair_clear. */
size_t gemel__sizes_draws(const gemel__literals *literals);
gemel_status gemel__sizes_draw(const gemel_graph *const graphs[2], const gemel__literals *literals,
                               size_t k, gemel__random *random, gemel__pair *pair,
                               gemel_error *error);

#endif
