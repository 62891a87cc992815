/* SPDX-License-Identifier: MIT
 *
 * sum, prod, max and argmax: type rules and derivatives. How they run is in reduce-run.c and
 * reduce-argmax.c.
 *
 * The derivative of a product is made of products of all the others. Along an axis of known size
 * these come from halving: elements are multiplied in pairs, the products of the other pairs are
 * found in the same way, and each is multiplied by its element's partner. That is a few nodes for
 * each power of two, no element is divided by, and so it is right to any order, zeros or not.
 *
 * Where a size is a symbol, how often to halve is not known, and the rule is right to second order
 * where elements are 0: with P the product of an axis's nonzero elements and Z the number of its
 * zeros, an element that isn't 0 gets the whole product divided by itself (whose own derivative is
 * this rule again); one that is 0 gets P if it is the only zero, and (sum of the zeros - itself) *
 * P if there are two: a number that is 0, but with the derivative P towards the other one.
 */
#include <string.h>
#include "core/error.h"
#include "core/value.h"
#include "ops/facts.h"
#include "ops/reduce.h"
#include "ops/batch.h"
#include "ops/rule.h"

/* ---- Types ---- */

/* Marks axis number K of the list. */
static gemel_status mark(int64_t axis, int rank, unsigned char *mask, gemel_error *error) {
  int at = gemel__axis(axis, rank);
  if (at < 0) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "axis %lld is out of range for rank %d",
                       (long long)axis, rank);
  }
  if (mask[at]) {
    return gemel__fail(error, GEMEL_BAD_ARGUMENT, "axis %d is named twice", at);
  }
  mask[at] = 1;
  return GEMEL_OK;
}

gemel_status gemel__reduced_axes(const gemel_attr *attr, int rank, unsigned char *mask,
                                 gemel_error *error) {
  gemel_status status = GEMEL_OK;
  size_t k;
  memset(mask, attr->kind == GEMEL_ATTR_NONE, (size_t)rank);
  for (k = 0; attr->kind != GEMEL_ATTR_NONE && k < attr->count && status == GEMEL_OK; k++) {
    status = mark(attr->u.ints[k], rank, mask, error);
  }
  return status;
}

/* The result has the axes that MASK doesn't name, or size 1 in the place of those that it does. */
static gemel_status infer_reduced(gemel_infer *call, gemel_dtype dtype, const unsigned char *mask,
                                  int keepdims) {
  gemel_dim kept[GEMEL_MAX_RANK];
  int rank, axis, count = 0;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  gemel_dim one = gemel_dim_constant(call->context, 1);
  if (gemel_dim_is_none(one)) {
    return gemel__no_memory(call->error, "a size");
  }
  for (axis = 0; axis < rank; axis++) {
    if (!mask[axis]) {
      kept[count++] = dims[axis];
    } else if (keepdims) {
      kept[count++] = one;
    }
  }
  return gemel__infer_result(call, dtype, count, kept);
}

static gemel_dtype dtype_of(const gemel_infer *call) {
  return (gemel_dtype)gemel__type_at(call->context, call->inputs[0])->dtype;
}

static gemel_status infer_axes(gemel_infer *call, gemel_dtype dtype, unsigned char *mask) {
  int rank = gemel__type_at(call->context, call->inputs[0])->rank;
  GEMEL__TRY(gemel__reduced_axes(&call->attrs[0], rank, mask, call->error));
  return infer_reduced(call, dtype, mask, call->attrs[1].u.i != 0);
}

static gemel_status infer_total(gemel_infer *call) {
  unsigned char mask[GEMEL_MAX_RANK];
  gemel_dtype dtype = dtype_of(call);
  switch (gemel_dtype_kind(dtype)) {
  case GEMEL_KIND_BOOL:
  case GEMEL_KIND_SIGNED:
    dtype = GEMEL_I64;
    break;
  case GEMEL_KIND_UNSIGNED:
    dtype = GEMEL_U64;
    break;
  default:
    break;
  }
  return infer_axes(call, dtype, mask);
}

/* Sizes known to be 0 have no largest element. */
static gemel_status refuse_empty(gemel_infer *call, const unsigned char *mask) {
  int rank, axis;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &rank);
  int64_t size;
  for (axis = 0; axis < rank; axis++) {
    if (mask[axis] && gemel_dim_is_constant(call->context, dims[axis], &size) && size == 0) {
      return gemel__fail(call->error, GEMEL_BAD_SHAPE,
                         "axis %d has size 0, and nothing is the largest of no elements", axis);
    }
  }
  return GEMEL_OK;
}

static gemel_status infer_max(gemel_infer *call) {
  unsigned char mask[GEMEL_MAX_RANK];
  GEMEL__TRY(infer_axes(call, dtype_of(call), mask));
  return refuse_empty(call, mask);
}

static gemel_status infer_argmax(gemel_infer *call) {
  unsigned char mask[GEMEL_MAX_RANK] = {0};
  int rank = gemel__type_at(call->context, call->inputs[0])->rank;
  GEMEL__TRY(mark(call->attrs[0].u.i, rank, mask, call->error));
  GEMEL__TRY(refuse_empty(call, mask));
  return infer_reduced(call, GEMEL_I64, mask, 0);
}

/* ---- Building derivatives ---- */

static gemel_value apply2(const gemel_derive *call, const char *name, gemel_value x,
                          gemel_value y) {
  gemel_value both[2];
  both[0] = x;
  both[1] = y;
  return gemel_is_null(x) || gemel_is_null(y)
             ? gemel__no_value
             : gemel_apply_at(call->graph, name, 2, both, 0, NULL, call->where);
}

static gemel_value where3(const gemel_derive *call, gemel_value x, gemel_value y, gemel_value z) {
  gemel_value all[3];
  all[0] = x;
  all[1] = y;
  all[2] = z;
  return gemel_is_null(x) || gemel_is_null(y) || gemel_is_null(z)
             ? gemel__no_value
             : gemel_apply_at(call->graph, "where", 3, all, 0, NULL, call->where);
}

/* NAME (sum, prod, max) over the axes of the node, which stay with size 1 if KEEPDIMS. */
static gemel_value reduce(const gemel_derive *call, const char *name, gemel_value x, int keepdims) {
  gemel_attr attrs[2];
  if (gemel_is_null(x)) {
    return x;
  }
  attrs[0] = call->attrs[0];
  attrs[1] = gemel_attr_int("keepdims", keepdims);
  return gemel_apply_at(call->graph, name, 1, &x, 2, attrs, call->where);
}

static int keeps_dims(const gemel_derive *call) {
  return call->attrs[1].u.i != 0;
}

/* VALUE, which has the result's shape, with the reduced axes put back as size 1. */
static gemel_value expand(const gemel_derive *call, gemel_value value) {
  gemel_context *context = call->graph->context;
  int rank = gemel_type_rank(context, gemel_value_type(call->inputs[0])), axis, next = 0;
  unsigned char mask[GEMEL_MAX_RANK];
  int64_t order[GEMEL_MAX_RANK];
  if (gemel_is_null(value) || keeps_dims(call) ||
      gemel__reduced_axes(&call->attrs[0], rank, mask, NULL) != GEMEL_OK) {
    return value;
  }
  for (axis = 0; axis < rank; axis++) {
    order[axis] = mask[axis] ? -1 : next++;
  }
  if (next == rank) {
    return value;
  }
  gemel_attr attr = gemel_attr_ints("order", (size_t)rank, order);
  return gemel_apply_at(call->graph, "dimshuffle", 1, &value, 1, &attr, call->where);
}

static gemel_dtype dtype_of_value(gemel_value value) {
  return gemel__value_dtype(value);
}

static gemel_value number_like(const gemel_derive *call, gemel_value like, double number) {
  return gemel__scalar_with(like, dtype_of_value(like), number, call->where);
}

static gemel_value cast_to(const gemel_derive *call, gemel_value x, gemel_dtype dtype) {
  if (gemel_is_null(x)) {
    return x;
  }
  gemel_attr attr = gemel_attr_dtype("dtype", dtype);
  return gemel_apply_at(call->graph, "cast", 1, &x, 1, &attr, call->where);
}

/* What counts are divided by in, and products made: an f16 holds nothing above 65504, a bf16 few
 * integers above 256. */
static gemel_dtype counting_dtype(gemel_value x) {
  gemel_dtype dtype = dtype_of_value(x);
  return gemel_dtype_size(dtype) < gemel_dtype_size(GEMEL_F32) ? GEMEL_F32 : dtype;
}

static gemel_status outcome(const gemel_derive *call) {
  const gemel_error *error = gemel_graph_error(call->graph);
  if (error->status != GEMEL_OK && call->error != NULL) {
    *call->error = *error;
  }
  return error->status;
}

/* Only floats carry derivatives. */
static int carries(gemel_value value) {
  return !gemel_is_null(value) && gemel_dtype_kind(dtype_of_value(value)) == GEMEL_KIND_FLOAT;
}

/* ---- sum ---- */

static gemel_status grad_sum(gemel_derive *call) {
  call->d_inputs[0] = gemel__no_value;
  if (call->wanted[0] && carries(call->d_outputs[0])) {
    call->d_inputs[0] = apply2(call, "fill", call->inputs[0], expand(call, call->d_outputs[0]));
  }
  return outcome(call);
}

static gemel_status jvp_sum(gemel_derive *call) {
  call->d_outputs[0] = gemel__no_value;
  if (carries(call->d_inputs[0])) {
    call->d_outputs[0] = reduce(call, "sum", call->d_inputs[0], keeps_dims(call));
  }
  return outcome(call);
}

/* ---- prod ---- */

/* For the elements that are 0: the product of the others. */
static gemel_value others_of_zero(const gemel_derive *call, gemel_value is_zero,
                                  gemel_value nonzero) {
  gemel_value x = call->inputs[0], none = number_like(call, x, 0);
  gemel_value zeros = reduce(call, "sum", is_zero, 1);
  gemel_value product = reduce(call, "prod", nonzero, 1);
  gemel_value sum = reduce(call, "sum", where3(call, is_zero, x, none), 1);
  gemel_value one = gemel__scalar_with(x, GEMEL_I64, 1, call->where);
  gemel_value two = gemel__scalar_with(x, GEMEL_I64, 2, call->where);
  gemel_value other = apply2(call, "mul", apply2(call, "sub", sum, x), product);
  return where3(call, apply2(call, "eq", zeros, one), product,
                where3(call, apply2(call, "eq", zeros, two), other, none));
}

/* The product of all the other elements, for each element, where sizes are symbols. */
static gemel_value others_by_division(const gemel_derive *call) {
  gemel_value x = call->inputs[0];
  gemel_value is_zero = apply2(call, "eq", x, number_like(call, x, 0));
  gemel_value nonzero = where3(call, is_zero, number_like(call, x, 1), x);
  gemel_value quotient = apply2(call, "div", expand(call, call->outputs[0]), nonzero);
  return where3(call, is_zero, others_of_zero(call, is_zero, nonzero), quotient);
}

/* ---- The same by halving, along one axis of known size ---- */

enum { MOST_HALVINGS = 64 };

/* One round: the first and second half, and what is left of an odd size. */
typedef struct halving {
  gemel_value first, second, rest;
} halving;

static int64_t known_size(gemel_value x, int axis) {
  gemel_context *context = gemel_graph_context(x.graph);
  int64_t size;
  gemel_dim dim = gemel_type_dims(context, gemel_value_type(x))[axis];
  return gemel_dim_is_constant(context, dim, &size) ? size : -1;
}

/* Cuts X along AXIS into two parts of size HALF and one of size REST, which may be 0. */
static halving cut(const gemel_derive *call, gemel_value x, int axis, int64_t half, int64_t rest) {
  gemel_context *context = gemel_graph_context(call->graph);
  gemel_dim sizes[3];
  gemel_attr attrs[2];
  halving h = {gemel__no_value, gemel__no_value, gemel__no_value};
  sizes[0] = sizes[1] = gemel_dim_constant(context, half);
  sizes[2] = gemel_dim_constant(context, rest);
  attrs[0] = gemel_attr_dims("sizes", rest > 0 ? 3 : 2, sizes);
  attrs[1] = gemel_attr_int("axis", axis);
  if (gemel_is_null(x)) {
    return h;
  }
  gemel_value parts = gemel_apply_at(call->graph, "split", 1, &x, 2, attrs, call->where);
  h.first = gemel_value_output(parts, 0);
  h.second = gemel_value_output(parts, 1);
  h.rest = rest > 0 ? gemel_value_output(parts, 2) : gemel__no_value;
  return h;
}

static gemel_value join_parts(const gemel_derive *call, int axis, size_t n,
                              const gemel_value *parts) {
  gemel_attr attr = gemel_attr_int("axis", axis);
  for (size_t k = 0; k < n; k++) {
    if (gemel_is_null(parts[k])) {
      return gemel__no_value;
    }
  }
  return gemel_apply_at(call->graph, "join", n, parts, 1, &attr, call->where);
}

/* Pairs of X: elements of the first half times those of the second, then what is left. */
static gemel_value pair_up(const gemel_derive *call, int axis, const halving *h) {
  gemel_value parts[2] = {apply2(call, "mul", h->first, h->second), h->rest};
  return gemel_is_null(h->rest) ? parts[0] : join_parts(call, axis, 2, parts);
}

/* From the products of the other pairs (null: there are none) to those of the other elements. */
static gemel_value undo_pairs(const gemel_derive *call, int axis, const halving *h,
                              gemel_value pairs, int64_t half, int64_t rest) {
  gemel_value parts[3] = {h->second, h->first, gemel__no_value};
  if (half + rest > 1) {
    halving p = {pairs, gemel__no_value, gemel__no_value};
    if (rest > 0) { /* the half of PAIRS that is pairs, and the one element that is left */
      gemel_context *context = gemel_graph_context(call->graph);
      gemel_dim sizes[2] = {gemel_dim_constant(context, half), gemel_dim_constant(context, rest)};
      gemel_attr attrs[2] = {gemel_attr_dims("sizes", 2, sizes), gemel_attr_int("axis", axis)};
      p.first = gemel_is_null(pairs)
                    ? pairs
                    : gemel_apply_at(call->graph, "split", 1, &pairs, 2, attrs, call->where);
      parts[2] = gemel_value_output(p.first, 1);
    }
    parts[0] = apply2(call, "mul", p.first, h->second);
    parts[1] = apply2(call, "mul", p.first, h->first);
  }
  return join_parts(call, axis, rest > 0 ? 3 : 2, parts);
}

/* The product of the others along AXIS, which has a known SIZE. */
static gemel_value others_on_axis(const gemel_derive *call, gemel_value x, int axis, int64_t size) {
  halving rounds[MOST_HALVINGS];
  int64_t sizes[MOST_HALVINGS];
  gemel_value y = x;
  int n = 0;
  for (; size > 1; size = size / 2 + size % 2) {
    sizes[n] = size;
    rounds[n] = cut(call, y, axis, size / 2, size % 2);
    y = pair_up(call, axis, &rounds[n++]);
  }
  if (n == 0) { /* one element, whose others are none; or no element */
    return apply2(call, "fill", x, number_like(call, x, 1));
  }
  for (y = gemel__no_value; n-- > 0;) {
    y = undo_pairs(call, axis, &rounds[n], y, sizes[n] / 2, sizes[n] % 2);
  }
  return y;
}

/* Axis by axis: the others on this axis, times the products of the other lines on the next. */
static gemel_value others_by_halving(const gemel_derive *call, const unsigned char *mask,
                                     gemel_value x) {
  int rank = gemel_type_rank(gemel_graph_context(call->graph), gemel_value_type(x)), axis;
  gemel_value result = gemel__no_value;
  for (axis = 0; axis < rank && !gemel_is_null(x); axis++) {
    int64_t index = axis;
    gemel_attr attrs[2] = {gemel_attr_ints("axes", 1, &index), gemel_attr_int("keepdims", 1)};
    if (mask[axis]) {
      gemel_value one = others_on_axis(call, x, axis, known_size(x, axis));
      result = gemel_is_null(result) ? one : apply2(call, "mul", result, one);
      x = gemel_apply_at(call->graph, "prod", 1, &x, 2, attrs, call->where);
    }
  }
  return result;
}

/* The product of all the other elements, for each element. */
static gemel_value others(const gemel_derive *call) {
  gemel_value x = call->inputs[0];
  int rank = gemel_type_rank(gemel_graph_context(call->graph), gemel_value_type(x)), axis;
  unsigned char mask[GEMEL_MAX_RANK];
  int known = 1, any = 0;
  if (gemel__reduced_axes(&call->attrs[0], rank, mask, NULL) != GEMEL_OK) {
    return gemel__no_value;
  }
  for (axis = 0; axis < rank; axis++) {
    known &= !mask[axis] || known_size(x, axis) >= 0;
    any |= mask[axis];
  }
  if (!any) {
    return apply2(call, "fill", x, number_like(call, x, 1));
  }
  return known ? cast_to(call, others_by_halving(call, mask, cast_to(call, x, counting_dtype(x))),
                         dtype_of_value(x))
               : others_by_division(call);
}

static gemel_status grad_prod(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = gemel__no_value;
  if (call->wanted[0] && carries(g)) {
    call->d_inputs[0] = apply2(call, "mul", expand(call, g), others(call));
  }
  return outcome(call);
}

static gemel_status jvp_prod(gemel_derive *call) {
  gemel_value tangent = call->d_inputs[0];
  call->d_outputs[0] = gemel__no_value;
  if (carries(tangent)) {
    gemel_value products = apply2(call, "mul", tangent, others(call));
    call->d_outputs[0] = reduce(call, "sum", products, keeps_dims(call));
  }
  return outcome(call);
}

/* ---- max ---- */

/* FLOW ÷ (number of elements that are as large as the largest) for those, else 0; in the dtype that
 * counts are divided by in. */
static gemel_value share(const gemel_derive *call, gemel_value flow) {
  gemel_value x = call->inputs[0];
  gemel_value largest = apply2(call, "eq", x, expand(call, call->outputs[0]));
  gemel_value count = cast_to(call, reduce(call, "sum", largest, 1), counting_dtype(x));
  gemel_value part = apply2(call, "div", flow, count);
  if (gemel_is_null(part)) {
    return part;
  }
  return where3(call, largest, part, number_like(call, part, 0));
}

static gemel_status grad_max(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = gemel__no_value;
  if (call->wanted[0] && carries(g)) {
    gemel_value x = call->inputs[0];
    call->d_inputs[0] = cast_to(call, share(call, expand(call, g)), dtype_of_value(x));
  }
  return outcome(call);
}

static gemel_status jvp_max(gemel_derive *call) {
  gemel_value tangent = call->d_inputs[0];
  call->d_outputs[0] = gemel__no_value;
  if (carries(tangent)) {
    gemel_value sum = reduce(call, "sum", share(call, tangent), keeps_dims(call));
    call->d_outputs[0] = cast_to(call, sum, dtype_of_value(tangent));
  }
  return outcome(call);
}

/* ---- argmax ---- */

/* An index is constant but where it jumps. */
static gemel_status grad_argmax(gemel_derive *call) {
  call->d_inputs[0] = gemel__no_value;
  return GEMEL_OK;
}

static gemel_status jvp_argmax(gemel_derive *call) {
  call->d_outputs[0] = gemel__no_value;
  return GEMEL_OK;
}

/* ---- Hooks ---- */

static double elements(const gemel_view *view) {
  double count = 1;
  for (int axis = 0; axis < view->rank; axis++) {
    count *= (double)view->shape[axis];
  }
  return count;
}

static void cost(const gemel_kernel_call *call, double *flops, double *bytes) {
  const gemel_view *in = &call->inputs[0], *out = &call->outputs[0];
  *flops = elements(in);
  *bytes = elements(in) * (double)gemel_dtype_size(in->dtype) +
           elements(out) * (double)gemel_dtype_size(out->dtype);
}

/* ---- Normal forms ---- */

static gemel_status normalize_axes(gemel_normalize *call) {
  int rank = gemel_type_rank(call->context, call->inputs[0]);
  int64_t *axes;
  gemel__normal_axes(call, 0, 0, 1);
  if (call->attrs[0].kind == GEMEL_ATTR_NONE &&
      (axes = gemel__normal_ints(call, 0, (size_t)rank)) != NULL) {
    for (int axis = 0; axis < rank; axis++) {
      axes[axis] = axis;
    }
  }
  call->attrs[1].u.i = call->attrs[1].u.i != 0;
  return GEMEL_OK;
}

static gemel_status normalize_axis(gemel_normalize *call) {
  gemel__normal_axis(call, 0);
  return GEMEL_OK;
}

/* ---- Facts ---- */

/* Sums and products of what isn't below 0; of bools they count. */
static unsigned sum_facts(const gemel__fact_call *call) {
  unsigned x = call->of[0];
  return gemel__facts_if(call->from == GEMEL_BOOL, GEMEL__NONNEGATIVE) |
         gemel__facts_if(call->is_float && (x & GEMEL__NONNEGATIVE),
                         x & (GEMEL__NONNEGATIVE | GEMEL__NOT_NAN));
}

static unsigned prod_facts(const gemel__fact_call *call) {
  return gemel__facts_if(call->from == GEMEL_BOOL, GEMEL__NONNEGATIVE) |
         gemel__facts_if(call->is_float, call->of[0] & GEMEL__NONNEGATIVE);
}

static unsigned max_facts(const gemel__fact_call *call) {
  return call->of[0];
}

/* ---- All rows at once ---- */

/* A reduction over axes, which are listed. */
static gemel_status batch_axes(gemel__batch *call) {
  int64_t axes[GEMEL_MAX_RANK];
  size_t n = gemel__attr_count(&call->values[0]);
  if (call->values[0].kind == GEMEL_ATTR_NONE) {
    return GEMEL_DECLINED;
  }
  for (size_t k = 0; k < n; k++) {
    axes[k] = call->values[0].u.ints[k] + 1;
  }
  gemel_attr attrs[] = {gemel_attr_ints("axes", n, axes), call->values[1]};
  call->output = gemel_apply_at(call->graph, gemel__rows[call->op].name, 1, call->inputs, 2, attrs,
                                call->where);
  return GEMEL_OK;
}

const gemel__hooks gemel__hooks_sum = {.infer = infer_total,
                                       .grad = grad_sum,
                                       .jvp = jvp_sum,
                                       .kernels = gemel__sum_kernels,
                                       .cost = cost,
                                       .normalize = normalize_axes,
                                       .facts = sum_facts,
                                       .batch = batch_axes};
const gemel__hooks gemel__hooks_prod = {.infer = infer_total,
                                        .grad = grad_prod,
                                        .jvp = jvp_prod,
                                        .kernels = gemel__prod_kernels,
                                        .cost = cost,
                                        .normalize = normalize_axes,
                                        .facts = prod_facts,
                                        .batch = batch_axes};
const gemel__hooks gemel__hooks_max = {.infer = infer_max,
                                       .grad = grad_max,
                                       .jvp = jvp_max,
                                       .kernels = gemel__max_kernels,
                                       .cost = cost,
                                       .normalize = normalize_axes,
                                       .facts = max_facts,
                                       .batch = batch_axes};
const gemel__hooks gemel__hooks_argmax = {.infer = infer_argmax,
                                          .grad = grad_argmax,
                                          .jvp = jvp_argmax,
                                          .kernels = gemel__argmax_kernels,
                                          .cost = cost,
                                          .normalize = normalize_axis,
                                          .facts = gemel__facts_nonnegative};
