/* SPDX-License-Identifier: MIT
 *
 * At which sizes a region is looked at: small ones that stand to each other, and to the numbers
 * that the region names, as the true ones do; the true ones; and, of symbols, those around these
 * numbers.
 */
#ifndef GEMEL__CERTIFY_SIZES_H
#define GEMEL__CERTIFY_SIZES_H

#include "pairs/pair.h"
#include "base/random.h"

enum { GEMEL__MOST_LITERALS = 48 };

/* The finite numbers that two graphs name: in constants and in attributes. */
typedef struct gemel__literals {
  double x[GEMEL__MOST_LITERALS];
  unsigned char place[GEMEL__MOST_LITERALS]; /* 1: an attribute, as the start of a window */
  size_t n;
  int positions; /* 1: a node makes numbers of sizes or places (arange, argmax, a size) */
} gemel__literals;

void gemel__literals_find(const gemel_graph *const graphs[2], gemel__literals *literals);

/* Both graphs with small sizes: references; they themselves if that can't be, or if nothing is
 * large. Equal sizes stay equal, and the order of sizes and of the literals among them stays, and
 * so does each difference of at most two. 1 if they are smaller. */
int gemel__sizes_cut(const gemel_graph *const graphs[2], const gemel__literals *literals,
                     gemel_graph *small[2]);

/* 1 if a size of GRAPH is a symbol, or made of some. */
int gemel__sizes_symbolic(const gemel_graph *graph);

/* How many pairs gemel__sizes_draw makes of symbols around the literals, and the Kth of them: all
 * symbols are one more, the same, or one less than a literal, or small, in turn. GEMEL_BAD_SHAPE,
 * GEMEL_BAD_VALUE: not at these sizes. Release with gemel__pair_clear. */
size_t gemel__sizes_draws(const gemel__literals *literals);
gemel_status gemel__sizes_draw(const gemel_graph *const graphs[2], const gemel__literals *literals,
                               size_t k, gemel__random *random, gemel__pair *pair,
                               gemel_error *error);

#endif
