/* SPDX-License-Identifier: MIT
 *
 * Heads of attention as an axis of their own, and back; what kinds of attention have in common.
 */
#ifndef GEMEL__ONNX_ATTENTION_H
#define GEMEL__ONNX_ATTENTION_H

#include "onnx/call.h"

/* [batch, length, heads * size] as [batch, heads, length, size]; 4 axes as they are. Null, and the
 * graph's error, for other ranks, or no HEADS. */
gemel_value gemel__onnx_by_heads(gemel__onnx_call *c, gemel_value x, int64_t heads);

/* [batch, heads, length, size] as [batch, length, heads * size]. */
gemel_value gemel__onnx_heads_together(gemel__onnx_call *c, gemel_value x);

/* X [batch, heads, ...] of 4 axes with each head as often as there are HEADS of queries for it, one
 * after the other. */
gemel_value gemel__onnx_for_queries(gemel__onnx_call *c, gemel_value x, gemel_dim heads);

/* HEADS [batch, heads, length, size], of whose elements the first TURNS (0: all) are turned in
 * pairs by angles [batch or 1, 1, length, TURNS / 2]; INTERLEAVED: pairs are neighbours. */
gemel_value gemel__onnx_rotated(gemel__onnx_call *c, gemel_value heads, gemel_value cosine,
                                gemel_value sine, int64_t turns, int interleaved);

/* X, of which what is large is softened: factor tanh(x / factor). */
gemel_value gemel__onnx_capped(gemel__onnx_call *c, gemel_value x, double factor);

#endif
