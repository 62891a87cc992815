/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that change shapes and keep elements, and those that make constants.
 */
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/graph.h"
#include "core/value.h"
#include "onnx/import.h"
#include "onnx/operators.h"

/* What is computed of sizes alone was done before a row's function is called. */
gemel_value gemel__onnx_sizes_only(gemel__onnx_call *c) {
  return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "its operand's shape isn't known");
}

/* ---- Axes ---- */

gemel_value gemel__onnx_transpose(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__int_list order;
  int found = gemel__onnx_ints(c, "perm", &order);
  return found < 0    ? gemel__no_value
         : found == 0 ? gemel_transpose_at(x, c->where)
                      : gemel_permute_at(x, order.count, order.values, c->where);
}

gemel_value gemel__onnx_unsqueeze(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__int_list axes = {0, NULL};
  int found = gemel__onnx_ints(c, "axes", &axes);
  if (found < 0 || (found == 0 && !gemel__onnx_integers(c, 1, &axes))) {
    return gemel__no_value;
  }
  size_t all = (size_t)gemel__onnx_rank(x) + axes.count;
  int rank = (int)all, next = 0;
  int64_t order[GEMEL_MAX_RANK];
  if (all > GEMEL_MAX_RANK) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "a result with more than %d axes",
                              GEMEL_MAX_RANK);
  }
  memset(order, 0, sizeof order);
  for (size_t k = 0; k < axes.count; k++) {
    int axis = gemel__onnx_axis(c, axes.values[k], rank);
    if (axis < 0 || order[axis] < 0) {
      return axis < 0 ? gemel__no_value
                      : gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "axis %d is there twice", axis);
    }
    order[axis] = -1;
  }
  for (int k = 0; k < rank; k++) {
    order[k] = order[k] < 0 ? -1 : next++;
  }
  return gemel_dimshuffle_at(x, (size_t)rank, order, c->where);
}

/* Without axes all of size 1 go. */
gemel_value gemel__onnx_squeeze(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int rank = gemel__onnx_rank(x), dropped[GEMEL_MAX_RANK] = {0};
  gemel__int_list axes;
  int64_t order[GEMEL_MAX_RANK], size;
  size_t kept = 0;
  int found = gemel__onnx_axes(c, 1, rank, &axes);
  if (found < 0 || gemel_is_null(x)) {
    return gemel__no_value;
  }
  for (size_t k = 0; found > 0 && k < axes.count; k++) {
    dropped[axes.values[k]] = 1;
  }
  for (int k = 0; k < rank; k++) {
    if (found == 0) {
      if (!gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[k], &size)) {
        return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                                  "no axes are given, and whether size %d is 1 isn't known", k);
      }
      dropped[k] = size == 1;
    }
    if (!dropped[k]) {
      order[kept++] = k;
    }
  }
  return gemel_dimshuffle_at(x, kept, order, c->where);
}

/* ---- Shapes ---- */

/* The number of elements of X's axes FROM to TO. */
static gemel_dim product_of(gemel__onnx_call *c, gemel_value x, int from, int to) {
  gemel_dim product = gemel_dim_constant(c->context, 1);
  for (int k = from; k < to; k++) {
    product = gemel_dim_mul(c->context, product, gemel__onnx_dims(x)[k]);
  }
  return product;
}

gemel_value gemel__onnx_flatten(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int rank = gemel__onnx_rank(x);
  int64_t axis = gemel__onnx_int(c, "axis", 1);
  axis = axis < 0 ? axis + rank : axis;
  if (axis < 0 || axis > rank) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "axis %lld of %d axes", (long long)axis, rank);
  }
  gemel_dim shape[2] = {product_of(c, x, 0, (int)axis), product_of(c, x, (int)axis, rank)};
  return gemel_reshape_at(x, 2, shape, c->where);
}

/* The sizes of a new shape: input 1, or an attribute before opset 5. */
static const gemel__sizes *new_shape(gemel__onnx_call *c) {
  gemel__int_list list;
  const gemel__sizes *sizes = gemel__onnx_sizes(c, 1);
  if (sizes != NULL || gemel__onnx_ints(c, "shape", &list) != 1) {
    return sizes;
  }
  gemel__sizes *own = gemel__onnx_room(c, sizeof *own);
  gemel_dim *dims = gemel__onnx_room(c, (list.count + 1) * sizeof *dims);
  for (size_t k = 0; dims != NULL && k < list.count; k++) {
    dims[k] = gemel_dim_constant(c->context, list.values[k]);
  }
  if (own == NULL || dims == NULL) {
    return NULL;
  }
  *own = (gemel__sizes){GEMEL_I64, 1, list.count, dims};
  return own;
}

/* A size that is -1 is what the others leave of X's elements. Where a symbol or a run-time size is
 * among the factors, what X and the shape share is cancelled first. */
static gemel_dim size_left(gemel__onnx_call *c, gemel_value x, const gemel_dim *shape, size_t count,
                           size_t unknown) {
  const gemel_dim *dims = gemel__onnx_dims(x);
  int rank = gemel__onnx_rank(x), used[GEMEL_MAX_RANK] = {0};
  gemel_dim above = gemel_dim_constant(c->context, 1), below = above;
  for (size_t k = 0; k < count; k++) {
    int same = 0;
    while (same < rank && (used[same] || !gemel_dim_equal(dims[same], shape[k]))) {
      same++;
    }
    if (k != unknown && same < rank) {
      used[same] = 1;
    } else if (k != unknown) {
      below = gemel_dim_mul(c->context, below, shape[k]);
    }
  }
  for (int k = 0; k < rank; k++) {
    above = used[k] ? above : gemel_dim_mul(c->context, above, dims[k]);
  }
  return gemel_dim_floordiv(c->context, above, below);
}

gemel_value gemel__onnx_reshape(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  const gemel__sizes *sizes = new_shape(c);
  int64_t allow_zero = gemel__onnx_int(c, "allowzero", 0), size;
  gemel_dim shape[GEMEL_MAX_RANK];
  size_t unknown = SIZE_MAX;
  if (gemel_is_null(x)) {
    return x;
  }
  if (sizes == NULL || sizes->count > GEMEL_MAX_RANK) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "a shape that isn't known, or has more than %d axes", GEMEL_MAX_RANK);
  }
  for (size_t k = 0; k < sizes->count; k++) {
    int constant = gemel_dim_is_constant(c->context, sizes->dims[k], &size);
    int copied = constant && size == 0 && !allow_zero;
    if (copied && (int)k >= gemel__onnx_rank(x)) {
      return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "size %zu is copied, and there is no axis %zu",
                                k, k);
    }
    shape[k] = copied ? gemel__onnx_dims(x)[k] : sizes->dims[k];
    if (constant && size == -1 && unknown != SIZE_MAX) {
      return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "two sizes are -1");
    }
    unknown = constant && size == -1 ? k : unknown;
  }
  if (unknown != SIZE_MAX) {
    shape[unknown] = size_left(c, x, shape, sizes->count, unknown);
  }
  return gemel_reshape_at(x, sizes->count, shape, c->where);
}

/* The shape that DIMS and SHAPE are broadcast to together, lined up from the last axis. */
static int broadcast(gemel__onnx_call *c, gemel_value x, const gemel__sizes *shape,
                     gemel_dim *out) {
  const gemel_dim *dims = gemel__onnx_dims(x);
  int rank = gemel__onnx_rank(x), other = (int)shape->count;
  int both = rank > other ? rank : other;
  gemel_dim one = gemel_dim_constant(c->context, 1);
  for (int k = 0; k < both; k++) {
    gemel_dim a = k < both - rank ? one : dims[k - (both - rank)];
    gemel_dim b = k < both - other ? one : shape->dims[k - (both - other)];
    out[k] = gemel_dim_equal(b, one) ? a : b;
  }
  return both;
}

gemel_value gemel__onnx_expand(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  const gemel__sizes *shape = gemel__onnx_sizes(c, 1);
  gemel_dim dims[2 * GEMEL_MAX_RANK];
  if (shape == NULL || shape->count > GEMEL_MAX_RANK) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a shape that isn't known");
  }
  int rank = broadcast(c, x, shape, dims);
  return gemel_broadcast_to_at(x, (size_t)rank, dims, c->where);
}

/* x as [1, a, 1, b], broadcast to [r, a, s, b], and that as [r a, s b]. */
gemel_value gemel__onnx_tile(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  const gemel__sizes *repeats = gemel__onnx_sizes(c, 1);
  int rank = gemel__onnx_rank(x);
  int64_t order[GEMEL_MAX_RANK];
  gemel_dim wide[GEMEL_MAX_RANK], shape[GEMEL_MAX_RANK];
  if (repeats == NULL || (int)repeats->count != rank || 2 * rank > GEMEL_MAX_RANK) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                              "repeats that aren't known, or not one for each of up to %d axes",
                              GEMEL_MAX_RANK / 2);
  }
  for (int k = 0; k < rank; k++) {
    order[2 * k] = -1;
    order[2 * k + 1] = k;
    wide[2 * k] = repeats->dims[k];
    wide[2 * k + 1] = gemel__onnx_dims(x)[k];
    shape[k] = gemel_dim_mul(c->context, wide[2 * k], wide[2 * k + 1]);
  }
  gemel_value y = gemel_dimshuffle_at(x, 2 * (size_t)rank, order, c->where);
  return gemel_reshape_at(gemel_broadcast_to_at(y, 2 * (size_t)rank, wide, c->where), (size_t)rank,
                          shape, c->where);
}

/* ---- Depth and space ---- */

/* x [N, C, H, W] as PARTS (six sizes), its axes in ORDER, and that as SHAPE. */
static gemel_value regroup(gemel__onnx_call *c, gemel_value x, const gemel_dim parts[6],
                           const int64_t order[6], const gemel_dim shape[4]) {
  gemel_value y = gemel_reshape_at(x, 6, parts, c->where);
  return gemel_reshape_at(gemel_permute_at(y, 6, order, c->where), 4, shape, c->where);
}

/* *BLOCK = the attribute's, and 1 if X is as these operators take it; else 0 and the error. */
static int images_in_blocks(gemel__onnx_call *c, gemel_value x, int64_t *block) {
  *block = gemel__onnx_int(c, "blocksize", 0);
  if (!gemel__onnx_is_one_of(c, "mode", "DCR CRD")) {
    return 0;
  }
  if (gemel__onnx_rank(x) != 4 || *block <= 0) {
    gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes images of 4 axes and a blocksize above 0");
    return 0;
  }
  return 1;
}

gemel_value gemel__onnx_depth_to_space(gemel__onnx_call *c) {
  static const int64_t depth_first[6] = {0, 3, 4, 1, 5, 2}, columns_first[6] = {0, 1, 4, 2, 5, 3};
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_context *context = c->context;
  int columns = gemel__wire_is(gemel__onnx_text(c, "mode"), "CRD");
  int64_t block;
  if (!images_in_blocks(c, x, &block)) {
    return gemel__no_value;
  }
  const gemel_dim *d = gemel__onnx_dims(x);
  gemel_dim b = gemel_dim_constant(context, block);
  gemel_dim depth = gemel_dim_floordiv(context, d[1], gemel_dim_mul(context, b, b));
  gemel_dim first[6] = {d[0], b, b, depth, d[2], d[3]}, last[6] = {d[0], depth, b, b, d[2], d[3]};
  gemel_dim shape[4] = {d[0], depth, gemel_dim_mul(context, d[2], b),
                        gemel_dim_mul(context, d[3], b)};
  return regroup(c, x, columns ? last : first, columns ? columns_first : depth_first, shape);
}

gemel_value gemel__onnx_space_to_depth(gemel__onnx_call *c) {
  static const int64_t depth_first[6] = {0, 3, 5, 1, 2, 4}, columns_first[6] = {0, 1, 3, 5, 2, 4};
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_context *context = c->context;
  int columns = gemel__wire_is(gemel__onnx_text(c, "mode"), "CRD");
  int64_t block;
  if (!images_in_blocks(c, x, &block)) {
    return gemel__no_value;
  }
  const gemel_dim *d = gemel__onnx_dims(x);
  gemel_dim b = gemel_dim_constant(context, block);
  gemel_dim height = gemel_dim_floordiv(context, d[2], b),
            width = gemel_dim_floordiv(context, d[3], b);
  gemel_dim parts[6] = {d[0], d[1], height, b, width, b};
  gemel_dim shape[4] = {d[0], gemel_dim_mul(context, d[1], gemel_dim_mul(context, b, b)), height,
                        width};
  return regroup(c, x, parts, columns ? columns_first : depth_first, shape);
}

/* ---- Constants ---- */

/* The numbers of a list attribute of floats as a vector. */
static gemel_value float_vector(gemel__onnx_call *c, gemel__wire_span attribute) {
  gemel__numbers numbers = {
      .message = attribute, .number = GEMEL__ATTRIBUTE_FLOATS, .kind = GEMEL__PROTO_FLOAT};
  size_t count = 0, room = attribute.length / sizeof(float) + 1;
  double *values = gemel__onnx_room(c, room * sizeof *values);
  uint64_t bits;
  while (values != NULL && gemel__numbers_next(&numbers, &bits)) {
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    values[count++] = (double)value;
  }
  return values != NULL ? gemel_vector_at(c->graph, GEMEL_F32, count, values, c->where)
                        : gemel__no_value;
}

static gemel_value integers_as_sizes(gemel__onnx_call *c, int rank, size_t count,
                                     const int64_t *values) {
  gemel__arena *arena = &c->importer->arena;
  gemel__sizes *sizes = gemel__arena_alloc(arena, sizeof *sizes);
  gemel_dim *dims = gemel__arena_alloc(arena, (count + 1) * sizeof *dims);
  if (sizes == NULL || dims == NULL) {
    return gemel__onnx_refuse(c, GEMEL_NO_MEMORY, "out of memory for a constant");
  }
  for (size_t k = 0; k < count; k++) {
    dims[k] = gemel_dim_constant(c->context, values[k]);
  }
  *sizes = (gemel__sizes){GEMEL_I64, rank, count, dims};
  c->first.sizes = sizes;
  return gemel__no_value;
}

gemel_value gemel__onnx_constant(gemel__onnx_call *c) {
  gemel__int_list list;
  c->first.tensor = gemel__proto_span(gemel__onnx_attribute(c, "value"), GEMEL__ATTRIBUTE_T);
  if (c->first.tensor.bytes != NULL) {
    return gemel__no_value;
  }
  if (gemel__onnx_attribute(c, "value_int").bytes != NULL) {
    int64_t number = gemel__onnx_int(c, "value_int", 0);
    return integers_as_sizes(c, 0, 1, &number);
  }
  if (gemel__onnx_ints(c, "value_ints", &list) == 1) {
    return integers_as_sizes(c, 1, list.count, list.values);
  }
  if (gemel__onnx_attribute(c, "value_float").bytes != NULL) {
    return gemel_scalar_at(c->graph, GEMEL_F32, gemel__onnx_float(c, "value_float", 0), c->where);
  }
  gemel__wire_span floats = gemel__onnx_attribute(c, "value_floats");
  return floats.bytes != NULL
             ? float_vector(c, floats)
             : gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a constant that is no tensor of numbers");
}

/* The one element of the tensor PROTO as a scalar. */
static gemel_value element_of(gemel__onnx_call *c, gemel__wire_span proto) {
  gemel_error error;
  gemel_tensor *tensor = gemel__onnx_tensor(c->importer->model, proto, &error);
  if (tensor == NULL) {
    return gemel__graph_take_error(c->graph, &error);
  }
  gemel_value value = gemel_tensor_elements(tensor) == 1
                          ? gemel__onnx_first_element(c, tensor)
                          : gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "its value must be one number");
  gemel_tensor_unref(tensor);
  return value;
}

gemel_value gemel__onnx_constant_of_shape(gemel__onnx_call *c) {
  const gemel__sizes *shape = gemel__onnx_sizes(c, 0);
  gemel__wire_span proto = gemel__proto_span(gemel__onnx_attribute(c, "value"), GEMEL__ATTRIBUTE_T);
  if (shape == NULL || shape->count > GEMEL_MAX_RANK) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a shape that isn't known");
  }
  gemel_value one = proto.bytes != NULL ? element_of(c, proto)
                                        : gemel_scalar_at(c->graph, GEMEL_F32, 0, c->where);
  return gemel_broadcast_to_at(one, shape->count, shape->dims, c->where);
}

/* Element n of a range that starts at 0 in steps of 1, as a number of X's dtype. */
static gemel_value counted(gemel__onnx_call *c, gemel_dim n, gemel_dtype dtype) {
  gemel_arange_options options = {.dtype = dtype};
  return gemel_arange_at(c->graph, n, &options, c->where);
}

/* A range of numbers that are known, as a constant. */
static gemel_value known_range(gemel__onnx_call *c, double start, double limit, double delta) {
  enum { MOST = 1 << 20 };
  double n = ceil((limit - start) / delta);
  if (!(n <= MOST)) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a range of more than %d numbers", MOST);
  }
  size_t count = n > 0 ? (size_t)n : 0;
  double *values = gemel__onnx_room(c, (count + 1) * sizeof *values);
  for (size_t k = 0; values != NULL && k < count; k++) {
    values[k] = start + (double)k * delta;
  }
  gemel_dtype dtype = gemel__onnx_dtype_of(gemel__onnx_input(c, 0));
  return values != NULL ? gemel_vector_at(c->graph, dtype, count, values, c->where)
                        : gemel__no_value;
}

gemel_value gemel__onnx_range(gemel__onnx_call *c) {
  double ends[3];
  const gemel__sizes *start = gemel__onnx_sizes(c, 0), *limit = gemel__onnx_sizes(c, 1);
  const gemel__sizes *delta = gemel__onnx_sizes(c, 2);
  int64_t step;
  if (delta == NULL && gemel__onnx_number(c, 0, &ends[0]) && gemel__onnx_number(c, 1, &ends[1]) &&
      gemel__onnx_number(c, 2, &ends[2])) {
    return known_range(c, ends[0], ends[1], ends[2]);
  }
  if (start == NULL || limit == NULL || delta == NULL || start->count != 1 || limit->count != 1 ||
      delta->count != 1 || !gemel_dim_is_constant(c->context, delta->dims[0], &step) || step == 0 ||
      step == INT64_MIN) {
    return gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "a range whose ends aren't known");
  }
  gemel_context *context = c->context;
  gemel_dim from = step > 0 ? start->dims[0] : limit->dims[0];
  gemel_dim to = step > 0 ? limit->dims[0] : start->dims[0];
  gemel_dim size = gemel_dim_constant(context, step > 0 ? step : -step);
  gemel_dim span = gemel_dim_add(context, gemel_dim_sub(context, to, from),
                                 gemel_dim_constant(context, (step > 0 ? step : -step) - 1));
  gemel_dim n = gemel_dim_max(context, gemel_dim_floordiv(context, span, size),
                              gemel_dim_constant(context, 0));
  gemel_value k = counted(c, n, start->dtype);
  gemel_value first = gemel__onnx_input(c, 0);
  return gemel_add_at(
      first, gemel_mul_at(k, gemel_scalar_like_at(k, (double)step, c->where), c->where), c->where);
}

/* 1 where the column of a matrix is the row's number, and K further. */
static gemel_value columns_from(gemel__onnx_call *c, gemel_value x, int64_t k,
                                gemel_value (*compare)(gemel_value, gemel_value, gemel_location)) {
  int rank = gemel__onnx_rank(x);
  gemel_value row = counted(c, gemel__onnx_dims(x)[rank - 2], GEMEL_I64);
  gemel_value column = counted(c, gemel__onnx_dims(x)[rank - 1], GEMEL_I64);
  gemel_value moved = gemel_add_at(gemel_expand_dims_at(row, 1, c->where),
                                   gemel_scalar_like_at(row, (double)k, c->where), c->where);
  return compare(column, moved, c->where);
}

gemel_value gemel__onnx_eye_like(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel_error error;
  gemel_dtype dtype = gemel__onnx_dtype_of(x);
  int64_t wanted = gemel__onnx_int(c, "dtype", 0);
  if (wanted != 0 && gemel__onnx_dtype(wanted, &dtype, &error) != GEMEL_OK) {
    return gemel__onnx_refuse(c, error.status, "%s", error.text);
  }
  if (gemel__onnx_rank(x) != 2) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes a matrix");
  }
  return gemel_cast_at(columns_from(c, x, gemel__onnx_int(c, "k", 0), gemel_eq_at), dtype,
                       c->where);
}

gemel_value gemel__onnx_trilu(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__int_list k = {0, NULL};
  int upper = gemel__onnx_int(c, "upper", 1) != 0;
  if (gemel__onnx_rank(x) < 2) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "it takes matrices");
  }
  if (gemel__onnx_given(c, 1) && !gemel__onnx_integers(c, 1, &k)) {
    return gemel__no_value;
  }
  gemel_value kept =
      columns_from(c, x, k.count > 0 ? k.values[0] : 0, upper ? gemel_ge_at : gemel_le_at);
  return gemel_where_at(kept, x, gemel_scalar_like_at(x, 0, c->where), c->where);
}
