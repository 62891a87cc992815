/* SPDX-License-Identifier: MIT
 *
 * What a loop's body computes for one row, for all rows at once: a graph that is to stand before
 * the loop or behind it. Its inputs are the body's in their order, sequences with all rows, and
 * then what else is read; putting it in the place of the loop's operands binds the body's symbols.
 */
#ifndef GEMEL__PASSES_SCAN_ROWS_H
#define GEMEL__PASSES_SCAN_ROWS_H

#include "passes/loop.h"

typedef struct gemel__all_rows {
  const gemel__scan_node *loop;
  const gemel_graph *body;
  const unsigned char *marks; /* by node of the body: bit VARIES: it differs from row to row */
  unsigned varies;
  gemel_graph *graph;
  gemel__ref *map; /* by value of the body: what it is in GRAPH */
  gemel_dim rows;  /* a symbol that the body doesn't have */
  size_t n_inputs; /* of GRAPH */
  gemel_error *error;
} gemel__all_rows;

/* 1 if NODE of BODY, whose operands can be computed for all rows at once, can be, too. */
int gemel__all_rows_takes(const gemel_graph *body, uint32_t node);

/* Begins with the body's inputs; LOOP, MARKS, VARIES, MAP and ERROR are set. States are their
 * initial values: nothing may read them, but they may be what tells a size. To be cleared in any
 * case. */
gemel_status gemel__all_rows_begin(gemel__all_rows *all);
void gemel__all_rows_clear(gemel__all_rows *all);

/* One more input: all rows of VALUE of the body. */
gemel_status gemel__all_rows_enter(gemel__all_rows *all, gemel__ref value);

/* NODE of the body, for all rows if it varies; what it reads is in MAP. GEMEL_DECLINED: its hook
 * can't. */
gemel_status gemel__all_rows_add(gemel__all_rows *all, uint32_t node);

/* Makes VALUE of the body the next output. */
gemel_status gemel__all_rows_leave(gemel__all_rows *all, gemel__ref value);

/* Puts the graph into the one that EDIT makes, on OPERANDS; its outputs are RESULTS there. */
gemel_status gemel__all_rows_inline(gemel__all_rows *all, gemel_edit *edit,
                                    const gemel_value *operands, gemel_value *results);

#endif
