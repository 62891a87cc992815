/* SPDX-License-Identifier: MIT
 *
 * Sizes known only at run time, as explicit inputs (sizes.c).
 */
#ifndef GEMEL__CORE_SIZES_H
#define GEMEL__CORE_SIZES_H

#include "core/graph.h"

/* 1 if a dim among ATTRS holds a VALUE atom. */
int gemel__runtime_sizes(size_t n_attrs, const gemel_attr *attrs, gemel_context *context);

/* Applies OP with each VALUE atom in ATTRS turned into INPUT(k), and the value that produces it
 * appended as input k. */
gemel_value gemel__apply_sized(gemel_graph *graph, uint32_t op, size_t n_inputs,
                               const gemel_value *inputs, size_t n_attrs, const gemel_attr *attrs,
                               gemel_location where);

/* 1 if VALUE, which a size depends on, holds a *DIM that is known: it is a scalar integer constant,
 * or a `size` of symbols. GEMEL_DIM_NONE when memory is out. */
int gemel__known_size(gemel_value value, gemel_dim *dim);

/* Resolves the INPUT atoms of an attribute's dims to sizes of the node's inputs: during inference
 * an INPUT(k) whose input holds a known size becomes that size, else VALUE of its node. */
gemel_dim gemel__infer_resolve(const gemel_infer *call, gemel_dim dim);

/* 1 if a size in CALL's attributes depends on what input INPUT holds. */
int gemel__infer_reads(const gemel_infer *call, size_t input);

#endif
