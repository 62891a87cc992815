/* SPDX-License-Identifier: MIT
 *
 * Reductions of ONNX. Axes are an attribute, or an input that is known; axes that are left out are
 * all, but where noop_with_empty_axes says otherwise. Results have the dtype of the operand.
 */
#include <math.h>

#include "onnx/operators.h"

/* The operand and over what it is reduced. */
typedef struct onnx_reduction {
  gemel_value x;
  gemel_sum_options options;
  int nothing; /* 1: no axis is reduced over */
} onnx_reduction;

/* 1, or 0 on failure. */
static int read_reduction(gemel__onnx_call *c, onnx_reduction *r) {
  gemel__int_list axes = {0, NULL};
  r->x = gemel__onnx_input(c, 0);
  r->options = (gemel_sum_options){.keepdims = gemel__onnx_int(c, "keepdims", 1)};
  int found = gemel__onnx_axes(c, 1, gemel__onnx_rank(r->x), &axes);
  r->nothing = axes.count == 0 && gemel__onnx_int(c, "noop_with_empty_axes", 0);
  if (axes.count > 0) {
    r->options.axes = (gemel_ints){axes.count, axes.values};
  }
  return found >= 0 && !gemel_is_null(r->x);
}

static gemel_value sum_of(gemel__onnx_call *c, const onnx_reduction *r, gemel_value x) {
  return gemel_cast_at(gemel_sum_at(x, &r->options, c->where), gemel__onnx_dtype_of(r->x),
                       c->where);
}

gemel_value gemel__onnx_reduce(gemel__onnx_call *c) {
  onnx_reduction r;
  if (!read_reduction(c, &r) || r.nothing) {
    return r.x;
  }
  if (c->row->as[0] == 's') {
    return sum_of(c, &r, r.x);
  }
  gemel_prod_options options = {.axes = r.options.axes, .keepdims = r.options.keepdims};
  return gemel_cast_at(gemel_prod_at(r.x, &options, c->where), gemel__onnx_dtype_of(r.x), c->where);
}

/* 1 if R is over no elements, which is known. */
static int is_empty(gemel__onnx_call *c, const onnx_reduction *r) {
  int64_t size;
  int rank = gemel__onnx_rank(r->x), all = r->options.axes.values == NULL;
  for (size_t k = 0; k < (all ? (size_t)rank : r->options.axes.count); k++) {
    int64_t axis = all ? (int64_t)k : r->options.axes.values[k];
    if (gemel_dim_is_constant(c->context, gemel__onnx_dims(r->x)[axis], &size) && size == 0) {
      return 1;
    }
  }
  return 0;
}

/* The least number of X's dtype, or the largest, in the shape of R's result: the extreme of no
 * elements. Of integers the largest is -least - 1. */
static gemel_value extreme_of_none(gemel__onnx_call *c, const onnx_reduction *r, int largest) {
  gemel_value shape = sum_of(c, r, r->x);
  gemel_dtype dtype = gemel__onnx_dtype_of(r->x);
  gemel_kind kind = gemel_dtype_kind(dtype);
  if (kind == GEMEL_KIND_FLOAT || kind == GEMEL_KIND_BOOL) {
    double least = kind == GEMEL_KIND_BOOL ? 0 : (double)-INFINITY;
    return gemel_full_like_at(shape,
                              !largest                  ? least
                              : kind == GEMEL_KIND_BOOL ? 1
                                                        : -least,
                              c->where);
  }
  double bits = 8 * (double)gemel_dtype_size(dtype);
  gemel_value least =
      gemel_full_like_at(shape, kind == GEMEL_KIND_SIGNED ? -exp2(bits - 1) : 0, c->where);
  return largest ? gemel_sub_at(gemel_neg_at(least, c->where),
                                gemel_scalar_like_at(least, 1, c->where), c->where)
                 : least;
}

gemel_value gemel__onnx_reduce_extreme(gemel__onnx_call *c) {
  onnx_reduction r;
  if (!read_reduction(c, &r) || r.nothing) {
    return r.x;
  }
  if (is_empty(c, &r)) {
    return extreme_of_none(c, &r, c->row->as[1] == 'i');
  }
  gemel_max_options options = {.axes = r.options.axes, .keepdims = r.options.keepdims};
  gemel_dtype dtype = gemel__onnx_dtype_of(r.x);
  gemel_value x = dtype == GEMEL_BOOL ? gemel_cast_at(r.x, GEMEL_U8, c->where) : r.x;
  gemel_value result = c->row->as[1] == 'a' ? gemel_max_at(x, &options, c->where)
                                            : gemel_min_at(x, &options, c->where);
  return gemel_cast_at(result, dtype, c->where);
}

gemel_value gemel__onnx_reduce_mean(gemel__onnx_call *c) {
  onnx_reduction r;
  if (!read_reduction(c, &r) || r.nothing) {
    return r.x;
  }
  if (gemel_dtype_kind(gemel__onnx_dtype_of(r.x)) != GEMEL_KIND_FLOAT) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a mean of integers");
  }
  return gemel_mean_at(r.x, &r.options, c->where);
}

gemel_value gemel__onnx_reduce_l1(gemel__onnx_call *c) {
  onnx_reduction r;
  gemel_value x = read_reduction(c, &r) ? gemel_abs_at(r.x, c->where) : r.x;
  return r.nothing || gemel_is_null(x) ? x : sum_of(c, &r, x);
}

gemel_value gemel__onnx_reduce_sum_square(gemel__onnx_call *c) {
  onnx_reduction r;
  gemel_value x = read_reduction(c, &r) ? gemel_sqr_at(r.x, c->where) : r.x;
  return r.nothing || gemel_is_null(x) ? x : sum_of(c, &r, x);
}

gemel_value gemel__onnx_reduce_l2(gemel__onnx_call *c) {
  gemel_value squares = gemel__onnx_reduce_sum_square(c);
  return gemel_cast_at(gemel_sqrt_at(squares, c->where), gemel__onnx_dtype_of(squares), c->where);
}

gemel_value gemel__onnx_reduce_log_sum(gemel__onnx_call *c) {
  onnx_reduction r;
  gemel_value sum = read_reduction(c, &r) && !r.nothing ? sum_of(c, &r, r.x) : r.x;
  return gemel_cast_at(gemel_log_at(sum, c->where), gemel__onnx_dtype_of(r.x), c->where);
}

/* The largest element is taken off before exp, so that nothing overflows; where it is infinite, 0
 * is. */
gemel_value gemel__onnx_reduce_log_sum_exp(gemel__onnx_call *c) {
  onnx_reduction r;
  if (!read_reduction(c, &r) || r.nothing) {
    return r.x;
  }
  if (is_empty(c, &r)) {
    return extreme_of_none(c, &r, 0);
  }
  gemel_max_options kept = {.axes = r.options.axes, .keepdims = 1};
  gemel_max_options wanted = {.axes = r.options.axes, .keepdims = r.options.keepdims};
  gemel_value zero = gemel_scalar_like_at(r.x, 0, c->where);
  gemel_value largest = gemel_max_at(r.x, &kept, c->where);
  gemel_value finite = gemel_eq_at(gemel_sub_at(largest, largest, c->where), zero, c->where);
  gemel_value shift = gemel_where_at(finite, largest, zero, c->where);
  gemel_value terms = gemel_exp_at(gemel_sub_at(r.x, shift, c->where), c->where);
  gemel_value log = gemel_log_at(gemel_sum_at(terms, &r.options, c->where), c->where);
  gemel_value largest_as_result = gemel_max_at(r.x, &wanted, c->where);
  gemel_value back = gemel_where_at(
      gemel_eq_at(gemel_sub_at(largest_as_result, largest_as_result, c->where), zero, c->where),
      largest_as_result, zero, c->where);
  return gemel_cast_at(gemel_add_at(log, back, c->where), gemel__onnx_dtype_of(r.x), c->where);
}

/* ---- Where the largest is ---- */

gemel_value gemel__onnx_arg(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int rank = gemel__onnx_rank(x), axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", 0), rank);
  int64_t last = gemel__onnx_int(c, "select_last_index", 0), reversed = axis;
  if (axis < 0) {
    return (gemel_value){NULL, 0, 0};
  }
  gemel_value from = last ? gemel_reverse_at(x, 1, &reversed, c->where) : x;
  gemel_value at = c->row->as[1] == 'a' ? gemel_argmax_at(from, axis, c->where)
                                        : gemel_argmin_at(from, axis, c->where);
  if (last) {
    gemel_value size = gemel_size_at(c->graph, gemel__onnx_dims(x)[axis], c->where);
    gemel_value end = gemel_sub_at(size, gemel_scalar_like_at(size, 1, c->where), c->where);
    at = gemel_sub_at(end, at, c->where);
  }
  return gemel__onnx_int(c, "keepdims", 1) ? gemel_expand_dims_at(at, axis, c->where) : at;
}
