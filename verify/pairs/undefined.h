/* SPDX-License-Identifier: MIT
 *
 * Where the format that graphs come from leaves results undefined. A partial node (core/graph.h)
 * has no result for some elements of its operands: a float beyond all integers of the dtype that it
 * is cast to, a divisor of 0. What depends on such an element is undefined as well, unless a
 * `where` chooses something else. For each output there is a mask, a graph of truths: which of its
 * elements are undefined. Two graphs that are undefined at different elements are compared where
 * both are defined, and their masks with each other.
 */
#ifndef GEMEL__PAIRS_UNDEFINED_H
#define GEMEL__PAIRS_UNDEFINED_H

#include "core/graph.h"

enum { GEMEL__MOST_CAUSES = 8 };

/* A partial node. */
typedef struct gemel__cause {
  uint32_t op;
  gemel_dtype dtype; /* of its result */
  gemel_location where;
} gemel__cause;

/* Graphs with the inputs of two others, A and B, and outputs of the same names and shapes. */
typedef struct gemel__undefined {
  gemel_graph
      *defined[2];      /* A and B with 0 in the place of elements that either leaves undefined */
  gemel_graph *mask[2]; /* where A, and where B, is undefined */
  int is_partial[2];    /* 0: that is nowhere, for what is plain to see */
  gemel_graph *either;  /* where one of them is */
  size_t n_causes[2];   /* of A, of B: first partial nodes, those first that the other hasn't */
  gemel__cause cause[2][GEMEL__MOST_CAUSES];
  gemel_graph *causes[2]; /* their own masks, and what they are applied to: outputs c0, x0, y0, c1,
                             …; of a cast x and y are the same. NULL: there are none */
} gemel__undefined;

/* Makes them. GEMEL_DECLINED: both graphs are undefined at the same elements for what is plain to
 * see, as all are that have no partial node, or a size is known only at run time. Release with
 * gemel__undefined_clear whatever the status. GEMEL_NO_MEMORY, or what a builder reports. */
gemel_status gemel__undefined_make(const gemel_graph *a, const gemel_graph *b,
                                   gemel__undefined *undefined, gemel_error *error);
void gemel__undefined_clear(gemel__undefined *undefined);

#endif
