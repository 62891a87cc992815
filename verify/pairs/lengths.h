/* SPDX-License-Identifier: MIT
 *
 * Sizes at which a narrow dtype no longer holds an index, a count or a size: i8 ends at 127, bf16
 * holds all integers up to 256, f16 up to 2048, u16 up to 65,535. Only graphs in which a count
 * becomes narrow are asked about them, with one axis of that length and all others of size 1.
 */
#ifndef GEMEL__PAIRS_LENGTHS_H
#define GEMEL__PAIRS_LENGTHS_H

#include "pairs/pair.h"

enum { GEMEL__LENGTHS = 4 };

/* Elements of all values of a graph that may be asked at such a length. */
#define GEMEL__LENGTH_ELEMENTS 1e6

/* Length K, beyond what one narrow dtype holds; they ascend. */
int64_t gemel__length(size_t k);

/* 1 if something in GRAPH is of a dtype of one or two bytes and counts: it comes from argmax,
 * arange, size, or a sum of truths or integers. */
int gemel__narrows_counts(const gemel_graph *graph);

/* As gemel__pair_draw: one symbol is length K, the others are 1. WHICH, any number, says which
 * symbol. GEMEL_BAD_SHAPE: no input has a symbol, or as gemel__pair_draw_at. */
gemel_status gemel__pair_draw_long(gemel__pair *pair, const gemel_graph *a, const gemel_graph *b,
                                   size_t k, size_t which, gemel__random *random,
                                   gemel_error *error);

#endif
