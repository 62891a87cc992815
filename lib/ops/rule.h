/* SPDX-License-Identifier: MIT
 *
 * What the type rules and derivatives of tensor operations share: reading attributes that hold
 * dims, errors that name the operands' types, and the small pieces that gradients are made of.
 *
 * One rule serves twice: while a graph is built, dims may be symbols, and an equality that can't be
 * proved is let pass; at run time the same rule sees constants, so everything is decided then.
 */
#ifndef GEMEL__OPS_RULE_H
#define GEMEL__OPS_RULE_H

#include "ops/ops.h"

/* ---- Type rules ---- */

/* Fails with a message of printf's language, to which "; inputs f32[2, 3], i64[]" is added. */
gemel_status gemel__rule_fail(const gemel_infer *call, gemel_status status, const char *format, ...)
    GEMEL__PRINTF(3, 4);

/* GEMEL_BAD_SHAPE: WHAT, which is no dim, exceeds 64 bits. If memory was out for it, who asked the
 * rule turns that into GEMEL_NO_MEMORY. */
gemel_status gemel__rule_no_size(const gemel_infer *call, const char *what);

/* Sets output 0 to this type, in the memory space of the inputs. A negative size or too high a rank
 * is GEMEL_BAD_SHAPE. */
gemel_status gemel__rule_result(gemel_infer *call, gemel_dtype dtype, int rank,
                                const gemel_dim *dims);

/* Number of elements of a list attribute (0 if absent). */
size_t gemel__attr_count(const gemel_attr *attr);

/* Writes the dims of a dim or list attribute to DIMS (room for GEMEL_MAX_RANK), INPUT atoms
 * resolved. GEMEL_BAD_SHAPE if there are more than that, GEMEL_NO_MEMORY. */
gemel_status gemel__rule_dims(const gemel_infer *call, const gemel_attr *attr, gemel_dim *dims);

/* Checks that inputs from FIRST on are integer scalars, each of which some attribute has as a size.
 */
gemel_status gemel__rule_sizes(const gemel_infer *call, size_t first);

/* Checks that inputs A and B have one dtype. */
gemel_status gemel__rule_same_dtype(const gemel_infer *call, size_t a, size_t b);

/* Normalises the axes in a list attribute to 0..RANK and marks them in USED (RANK entries, zeroed
 * by the caller). Out of range or given twice: GEMEL_BAD_SHAPE. */
gemel_status gemel__rule_axes(const gemel_infer *call, const gemel_attr *attr, int rank, int *axes,
                              unsigned char *used);

static inline gemel_dtype gemel__rule_dtype(const gemel_infer *call, size_t k) {
  return gemel_type_dtype(call->context, call->inputs[k]);
}

/* ---- Normal forms ---- */

/* Makes attribute K a list of COUNT integers and returns where they go; NULL if there is no room.
 */
int64_t *gemel__normal_ints(gemel_normalize *call, size_t k, size_t count);

/* Counts the axis in attribute K from the front of input 0. */
void gemel__normal_axis(gemel_normalize *call, size_t k);

/* The same for a list of axes of input INPUT, which is put in ascending order if SORTED. An absent
 * list stays absent. */
void gemel__normal_axes(gemel_normalize *call, size_t k, size_t input, int sorted);

/* Spells out an absent list: VALUE for each axis of input 0. */
void gemel__normal_filled(gemel_normalize *call, size_t k, int64_t value);

/* ---- Derivatives ---- */

/* What a gradient or a forward hook returns when it is done: the graph's own status. Sizes that are
 * equal without proof have other names in a cotangent than in its input; here it gets the input's
 * (a tangent that of the output). */
gemel_status gemel__grad_done(gemel_derive *call);
gemel_status gemel__jvp_done(gemel_derive *call);

/* Dims of VALUE's type and its rank. */
const gemel_dim *gemel__value_dims(gemel_value value, int *rank);

/* As gemel__rule_dims, for attributes of the node that is being differentiated. */
size_t gemel__derive_dims(const gemel_derive *call, const gemel_attr *attr, gemel_dim *dims);

/* COTANGENT, or zeros like LIKE if it is null. */
gemel_value gemel__or_zeros(gemel_value cotangent, gemel_value like, gemel_location where);

/* x + y, where null is zero. */
gemel_value gemel__add_or(gemel_value x, gemel_value y, gemel_location where);

/* Of INDICES into N elements, which may count from the end, the places 0..N - 1; one that is
 * outside is an error of the call. And PLACE, in a row of places, NEXT among the N of each
 * (take-along.c). */
gemel_value gemel__places_at(gemel_value indices, gemel_dim n, gemel_location where);
gemel_value gemel__next_place(gemel_value place, gemel_dim n, gemel_value next,
                              gemel_location where);

/* The hooks of operations whose outputs don't depend differentiably on their inputs. */
gemel_status gemel__grad_nothing(gemel_derive *call);
gemel_status gemel__jvp_nothing(gemel_derive *call);

/* ---- Kernels ---- */

/* The K-th number of an attribute at run time, where dims have become integers. */
static inline int64_t gemel__attr_int_at(const gemel_attr *attr, size_t k) {
  return attr->kind & GEMEL_ATTR_LIST ? attr->u.ints[k] : attr->u.i;
}

/* Elements of a view, and bytes of one. */
int64_t gemel__view_elements(const gemel_view *view);
static inline int64_t gemel__view_item(const gemel_view *view) {
  return (int64_t)gemel_dtype_size(view->dtype);
}

/* Where element NUMBER, in row-major order, of the first AXES axes of VIEW begins, in bytes. */
static inline int64_t gemel__view_offset(const gemel_view *view, int axes, int64_t number) {
  int64_t offset = 0;
  for (int k = axes - 1; k >= 0; k--) {
    offset += number % view->shape[k] * view->strides[k];
    number /= view->shape[k];
  }
  return offset;
}

/* 1 if images VIEW lie with their channels last (core/tensor.h). */
int gemel__view_channels_last(const gemel_view *view);

/* A hook CHANNELS_LAST: outputs lie as input 0 does. */
int gemel__first_channels_last(const gemel_kernel_call *call);

/* The cost of operations that only move elements: no flops, each output byte read and written. */
void gemel__cost_move(const gemel_kernel_call *call, double *flops, double *bytes);

#endif
