/* SPDX-License-Identifier: MIT
 *
 * The attribute `window` of convolutions and of reductions of windows (window.c).
 */
#ifndef GEMEL__HLO_WINDOW_H
#define GEMEL__HLO_WINDOW_H

#include "hlo/call.h"

typedef struct gemel__hlo_window {
  int rank;
  int64_t size[GEMEL_MAX_RANK], stride[GEMEL_MAX_RANK];
  int64_t low[GEMEL_MAX_RANK], high[GEMEL_MAX_RANK]; /* of padding; negative: cut off */
  int64_t apart[GEMEL_MAX_RANK];    /* how far apart elements of the operand are: lhs_dilate */
  int64_t dilation[GEMEL_MAX_RANK]; /* and those of the window: rhs_dilate */
  int64_t reversed[GEMEL_MAX_RANK]; /* 1: the window's axis counts backwards */
} gemel__hlo_window;

/* C's window, which has RANK axes: 1, or 0 and the graph's error. */
int gemel__hlo_window_of(gemel__hlo_call *c, int rank, gemel__hlo_window *w);

/* How many windows fit along axis K of N elements; 0: none. */
int64_t gemel__hlo_window_count(const gemel__hlo_window *w, int k, int64_t n);

#endif
