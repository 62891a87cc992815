/* SPDX-License-Identifier: MIT
 *
 * Heads of attention as an axis of their own, and back.
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

#endif
