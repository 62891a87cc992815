/* SPDX-License-Identifier: MIT
 *
 * Drawing loops on which the passes for loops fire.
 */
#ifndef GEMEL__PASSES_SCAN_DRAW_H
#define GEMEL__PASSES_SCAN_DRAW_H

#include <gemel/ops.h>
#include "ops/scan.h"
#include "passes/instances.h"

/* A random loop: its body and operands in a graph. */
typedef struct gemel__drawn_scan {
  gemel__drawing by;
  gemel_graph *body; /* one reference */
  gemel_scan_options options;
  gemel__scan scan;
  size_t n_operands;
  gemel_value operands[GEMEL_SAMPLE_MAX_INPUTS];
} gemel__drawn_scan;

/* What loops are drawn: any; without `until`; those that are unrolled, of 3 rows at most. */
typedef enum gemel__draw_kind {
  GEMEL__DRAW_ANY,
  GEMEL__DRAW_WITHOUT_UNTIL,
  GEMEL__DRAW_SHORT
} gemel__draw_kind;

/* Draws a loop with 0, 1, 2, 3, 5 or 17 rows; operands are inputs, equal ones among them, and
 * constants. To be cleared in any case. */
gemel_status gemel__draw_scan(gemel__drawn_scan *drawn, gemel_graph *graph,
                              uint64_t (*random)(void *user), void *user, gemel__draw_kind kind);
void gemel__drawn_scan_clear(gemel__drawn_scan *drawn);

/* The same with a body of which a value more is stacked; to be cleared in any case. */
gemel_status gemel__draw_longer(const gemel__drawn_scan *drawn, gemel__drawn_scan *longer);

/* The first result of the loop. */
gemel_value gemel__draw_scan_loop(const gemel__drawn_scan *drawn);

/* Makes some results of LOOP outputs of the graph, one at least, with ROWS some rows of histories
 * too. LOOP may have more stacks than DRAWN: these are left. */
gemel_status gemel__draw_scan_outputs(const gemel__drawn_scan *drawn, gemel_value loop, int rows);

#endif
