/* SPDX-License-Identifier: MIT
 *
 * Sizes at which a narrow dtype no longer holds an index, a count or a size: i8 ends at 127, bf16
 * holds all integers up to 256, f16 up to 2048, u16 up to 65,535. Only graphs that compute a count
 * in a narrow dtype are tried at them, with one axis of that length and all others of size 1.
 */
#ifndef GEMEL__PAIRS_LENGTHS_H
#define GEMEL__PAIRS_LENGTHS_H

#include "instances/source.h"
#include "pairs/pair.h"

enum { GEMEL__LENGTHS = 5, GEMEL__LENGTH_ROUNDS = 4 };

/* The most elements of all values of a graph that is tried at such a length. */
#define GEMEL__LENGTH_ELEMENTS 1e6

/* Length K: each of GEMEL__LENGTHS is beyond what one narrow dtype holds. There are as many in each
 * of GEMEL__LENGTH_ROUNDS rounds: of 2051 and 2050, f16 holds the last index of one and the count
 * of the other, and the last index of 2052 is rounded to the count. */
int64_t gemel__length(size_t k);

/* 1 if a count of DTYPE may show something at length K that it doesn't at other lengths: one beyond
 * what it holds and, in the first two rounds, one far beyond. */
int gemel__length_matters(size_t k, gemel_dtype dtype);

/* 1 if GRAPH counts up to LENGTH, where each of its sizes is LENGTH or 1: by a size, an arange, or
 * an argmax, sum or dot along such an axis. */
int gemel__counts_up_to(const gemel_graph *graph, int64_t length);

/* Like gemel__pair_draw, but one symbol, chosen by WHICH (any number), is length K, and all others
 * are 1. GEMEL_BAD_SHAPE if no input has a symbol; otherwise the errors of gemel__pair_draw_at. */
gemel_status gemel__pair_draw_long(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                   size_t k, size_t which, gemel__random *random,
                                   gemel_error *error);

#endif
