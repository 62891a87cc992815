/* SPDX-License-Identifier: MIT
 *
 * take reads x at indices along an axis, which give way to the indices' own axes; put writes there.
 * Indices are known at run time only, may come again, and count from the end where they are
 * negative. What follows from an index that comes again:
 *
 *   set        the last one, in row-major order, stays; only that has a derivative
 *   add, mul   all are added, multiplied, in row-major order
 *   min, max   equal ones, x among them, share the derivative, as those of max do
 *
 * The derivative of a product by one of y is made of all the others at the same index. They are
 * found by comparing each index with each, since no element is divided by: so it is right where
 * elements are 0, to the order that prod is, and takes memory for the square of the number of
 * indices.
 */
#include <string.h>
#include <gemel/composite.h>
#include "core/error.h"
#include "core/value.h"
#include "ops/rule.h"
#include "ops/take.h"

static const char *const modes[] = {
#define NAME(name) #name,
    GEMEL__PUT_TABLE(NAME)
#undef NAME
};

/* ---- Type rules ---- */

gemel__put_mode gemel__put_mode_of(const gemel_attr *attr) {
  gemel__put_mode mode = GEMEL__PUT_set;
  while (mode < GEMEL__PUT_MODES && strcmp(attr->u.text, modes[mode]) != 0) {
    mode++;
  }
  return mode;
}

/* The dims of x at the indices: those of input 0, with input 1's in the place of the axis. */
static gemel_status taken_dims(const gemel_infer *call, int *rank, gemel_dim *taken) {
  int x_rank, index_rank, count = 0;
  const gemel_dim *dims = gemel__infer_dims(call, 0, &x_rank);
  const gemel_dim *indices = gemel__infer_dims(call, 1, &index_rank);
  gemel_kind kind = gemel_dtype_kind(gemel__rule_dtype(call, 1));
  int axis = gemel__axis(call->attrs[0].u.i, x_rank);
  if (kind != GEMEL_KIND_SIGNED && kind != GEMEL_KIND_UNSIGNED) {
    return gemel__rule_fail(call, GEMEL_BAD_TYPE, "indices of dtype %s are no integers",
                            gemel_dtype_name(gemel__rule_dtype(call, 1)));
  }
  if (axis < 0) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "axis %lld is out of range for rank %d",
                            (long long)call->attrs[0].u.i, x_rank);
  }
  *rank = x_rank - 1 + index_rank;
  if (*rank > GEMEL_MAX_RANK) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "rank %d at the indices; at most %d is supported", *rank,
                            GEMEL_MAX_RANK);
  }
  for (int k = 0; k < x_rank; k++) {
    for (int j = 0; k == axis && j < index_rank; j++) {
      taken[count++] = indices[j];
    }
    if (k != axis) {
      taken[count++] = dims[k];
    }
  }
  return GEMEL_OK;
}

static gemel_status infer_take(gemel_infer *call) {
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank;
  GEMEL__TRY(taken_dims(call, &rank, dims));
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), rank, dims);
}

static gemel_status infer_put(gemel_infer *call) {
  gemel_dim dims[GEMEL_MAX_RANK];
  int rank, y_rank, x_rank;
  const gemel_dim *y_dims = gemel__infer_dims(call, 2, &y_rank);
  const gemel_dim *x_dims = gemel__infer_dims(call, 0, &x_rank);
  GEMEL__TRY(gemel__rule_same_dtype(call, 0, 2));
  GEMEL__TRY(taken_dims(call, &rank, dims));
  if (gemel__put_mode_of(&call->attrs[1]) == GEMEL__PUT_MODES) {
    return gemel__rule_fail(call, GEMEL_BAD_VALUE, "mode \"%s\" is none of set, add, mul, min, max",
                            call->attrs[1].u.text);
  }
  if (y_rank != rank) {
    return gemel__rule_fail(call, GEMEL_BAD_SHAPE,
                            "y has rank %d, and x at the indices has rank %d", y_rank, rank);
  }
  for (int k = 0; k < rank; k++) {
    if (gemel__dim_compare(call->context, dims[k], y_dims[k]) == GEMEL__DIFFERENT) {
      return gemel__rule_fail(call, GEMEL_BAD_SHAPE, "y and x at the indices differ along axis %d",
                              k);
    }
  }
  return gemel__rule_result(call, gemel__rule_dtype(call, 0), x_rank, x_dims);
}

/* ---- Derivatives ---- */

static gemel_value take_at(const gemel_derive *call, gemel_value x, int64_t axis) {
  return gemel_take_at(x, call->inputs[1], &(gemel_take_options){.axis = axis}, call->where);
}

static gemel_value take(const gemel_derive *call, gemel_value x) {
  return take_at(call, x, call->attrs[0].u.i);
}

static gemel_value put(const gemel_derive *call, gemel_value x, gemel_value y, const char *mode) {
  gemel_put_options options = {.axis = call->attrs[0].u.i, .mode = mode};
  return gemel_put_at(x, call->inputs[1], y, &options, call->where);
}

static gemel_value number_like(const gemel_derive *call, gemel_value x, double number) {
  return gemel_scalar_like_at(x, number, call->where);
}

static gemel_status grad_take(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = call->d_inputs[1] = gemel__no_value;
  if (!gemel_is_null(g) && call->wanted[0]) {
    call->d_inputs[0] = put(call, gemel__filled_like(call->inputs[0], 0, call->where), g, "add");
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_take(gemel_derive *call) {
  call->d_outputs[0] =
      gemel_is_null(call->d_inputs[0]) ? gemel__no_value : take(call, call->d_inputs[0]);
  return gemel__jvp_done(call);
}

/* 0, 1, … n - 1, in the space of the indices. */
static gemel_value numbers(const gemel_derive *call, gemel_dim n) {
  gemel_context *context = gemel_graph_context(call->graph);
  return gemel__in_space(gemel_arange_at(call->graph, n, NULL, call->where),
                         gemel_type_space(context, gemel_value_type(call->inputs[1])), call->where);
}

/* How many indices there are. */
static gemel_dim index_count(const gemel_derive *call) {
  gemel_context *context = gemel_graph_context(call->graph);
  gemel_dim n = gemel_dim_constant(context, 1);
  int rank;
  const gemel_dim *dims = gemel__value_dims(call->inputs[1], &rank);
  for (int k = 0; k < rank; k++) {
    n = gemel_dim_mul(context, n, dims[k]);
  }
  return n;
}

static int axis_of(const gemel_derive *call) {
  int rank;
  gemel__value_dims(call->inputs[0], &rank);
  return gemel__axis(call->attrs[0].u.i, rank);
}

/* The dtype in which counts and products of elements of DTYPE are made: an f16 holds nothing above
 * 65504, a bf16 few integers above 256. */
static gemel_dtype counting_dtype(gemel_dtype dtype) {
  return gemel_dtype_size(dtype) < gemel_dtype_size(GEMEL_F32) ? GEMEL_F32 : dtype;
}

/* X, of the indices' shape, with an axis for each of y's. */
static gemel_value along_indices(const gemel_derive *call, gemel_value x) {
  int64_t order[GEMEL_MAX_RANK];
  int rank, index_rank, axis = axis_of(call);
  gemel__value_dims(call->inputs[2], &rank);
  gemel__value_dims(call->inputs[1], &index_rank);
  for (int k = 0; k < rank; k++) {
    order[k] = k < axis || k >= axis + index_rank ? -1 : k - axis;
  }
  return gemel_is_null(x) ? x : gemel_dimshuffle_at(x, (size_t)rank, order, call->where);
}

/* Which elements of y stay: those of the last index of each place. */
static gemel_value winners(const gemel_derive *call) {
  int rank, index_rank;
  const gemel_dim *indices = gemel__value_dims(call->inputs[1], &index_rank);
  const gemel_dim *dims = gemel__value_dims(call->inputs[0], &rank);
  gemel_value number =
      gemel_reshape_at(numbers(call, index_count(call)), (size_t)index_rank, indices, call->where);
  gemel_value table =
      gemel_broadcast_to_at(gemel__scalar_with(call->inputs[1], GEMEL_I64, 0, call->where), 1,
                            &dims[axis_of(call)], call->where);
  table = gemel_put_at(table, call->inputs[1], number, NULL, call->where);
  return along_indices(call, gemel_eq_at(take_at(call, table, 0), number, call->where));
}

/* Of each place, what is there of x and of y: X and Y put together by MODE, as each of y's elements
 * finds it. */
static gemel_value at_places(const gemel_derive *call, gemel_value x, gemel_value y,
                             const char *mode) {
  return take(call, put(call, x, y, mode));
}

/* One of put's operands, in the dtype in which products are made: all its elements; whether each is
 * 0; the elements with 1 in place of each 0; the zeros, which keep their derivatives, with 0 in
 * place of each other element. */
typedef struct put_factors {
  gemel_value all, is_zero, nonzero, zeros;
} put_factors;

static put_factors factors_of(const gemel_derive *call, gemel_value x, gemel_dtype dtype) {
  put_factors f = {gemel_cast_at(x, dtype, call->where), gemel__no_value, gemel__no_value,
                   gemel__no_value};
  gemel_value zero = number_like(call, f.all, 0), one = number_like(call, f.all, 1);
  f.is_zero = gemel_eq_at(f.all, zero, call->where);
  f.nonzero = gemel_where_at(f.is_zero, one, f.all, call->where);
  f.zeros = gemel_where_at(f.is_zero, f.all, zero, call->where);
  return f;
}

/* For the elements of y that are 0, the product of the others: that of all that aren't, times the
 * other zero if there is one, whose derivative is not 0. */
static gemel_value others_of_zero(const gemel_derive *call, const put_factors *x,
                                  const put_factors *y) {
  gemel_location where = call->where;
  gemel_value product = at_places(call, x->nonzero, y->nonzero, "mul");
  gemel_value sum = at_places(call, x->zeros, y->zeros, "add");
  gemel_value count = at_places(call, gemel_cast_at(x->is_zero, GEMEL_I64, where),
                                gemel_cast_at(y->is_zero, GEMEL_I64, where), "add");
  gemel_value other = gemel_mul_at(gemel_sub_at(sum, y->all, where), product, where);
  gemel_value two = gemel_where_at(gemel_eq_at(count, number_like(call, count, 2), where), other,
                                   number_like(call, other, 0), where);
  return gemel_where_at(gemel_eq_at(count, number_like(call, count, 1), where), product, two,
                        where);
}

/* For each element of y the product of x and of all others of y at its place: that of all divided
 * by it. */
static gemel_value others(const gemel_derive *call) {
  gemel_value y = call->inputs[2];
  gemel_dtype dtype = gemel__value_dtype(y);
  gemel_dtype wide = counting_dtype(dtype);
  put_factors of_x = factors_of(call, call->inputs[0], wide), of_y = factors_of(call, y, wide);
  gemel_value all = at_places(call, of_x.all, of_y.all, "mul");
  gemel_value quotient = gemel_div_at(all, of_y.nonzero, call->where);
  gemel_value product =
      gemel_where_at(of_y.is_zero, others_of_zero(call, &of_x, &of_y), quotient, call->where);
  return gemel_cast_at(product, dtype, call->where);
}

/* Of the smallest or largest of each place: where x and y are it, and how many there are. */
typedef struct extremes {
  gemel_value x, y, count;
} extremes;

static extremes extremes_of(const gemel_derive *call) {
  gemel_value out = call->outputs[0];
  gemel_dtype dtype = gemel__value_dtype(out);
  gemel_dtype counted = counting_dtype(dtype);
  extremes e = {gemel_eq_at(call->inputs[0], out, call->where),
                gemel_eq_at(call->inputs[2], take(call, out), call->where), gemel__no_value};
  e.count = put(call, gemel_cast_at(e.x, counted, call->where),
                gemel_cast_at(e.y, counted, call->where), "add");
  return e;
}

/* G ÷ COUNT where CHOSEN, else 0, in the dtype of LIKE. */
static gemel_value share(const gemel_derive *call, gemel_value g, gemel_value count,
                         gemel_value chosen, gemel_value like) {
  gemel_dtype dtype = gemel__value_dtype(like);
  gemel_value part = gemel_cast_at(gemel_div_at(g, count, call->where), dtype, call->where);
  return gemel_where_at(chosen, part, number_like(call, like, 0), call->where);
}

/* G flows to what stays of x (*X) and of y (*Y). */
static void flow(const gemel_derive *call, gemel_value g, gemel_value *x, gemel_value *y) {
  gemel_value at = call->wanted[2] ? take(call, g) : gemel__no_value;
  extremes e;
  switch (gemel__put_mode_of(&call->attrs[1])) {
  case GEMEL__PUT_set:
    *x = put(call, g, gemel__filled_like(call->inputs[2], 0, call->where), "set");
    *y = call->wanted[2] ? gemel_where_at(winners(call), at, number_like(call, at, 0), call->where)
                         : gemel__no_value;
    return;
  case GEMEL__PUT_add:
    *x = g;
    *y = at;
    return;
  case GEMEL__PUT_mul:
    *x = put(call, g, call->inputs[2], "mul");
    *y = call->wanted[2] ? gemel_mul_at(at, others(call), call->where) : gemel__no_value;
    return;
  default:
    e = extremes_of(call);
    *x = share(call, g, e.count, e.x, g);
    *y = call->wanted[2] ? share(call, at, take(call, e.count), e.y, at) : gemel__no_value;
  }
}

static gemel_status grad_put(gemel_derive *call) {
  gemel_value g = call->d_outputs[0];
  call->d_inputs[0] = call->d_inputs[1] = call->d_inputs[2] = gemel__no_value;
  if (!gemel_is_null(g)) {
    flow(call, g, &call->d_inputs[0], &call->d_inputs[2]);
  }
  return gemel__grad_done(call);
}

static gemel_status jvp_put(gemel_derive *call) {
  gemel_value x = gemel__or_zeros(call->d_inputs[0], call->inputs[0], call->where);
  gemel_value y = gemel__or_zeros(call->d_inputs[2], call->inputs[2], call->where);
  gemel_value result;
  extremes e;
  switch (gemel__put_mode_of(&call->attrs[1])) {
  case GEMEL__PUT_set:
    result = put(call, x, y, "set");
    break;
  case GEMEL__PUT_add:
    result = put(call, x, y, "add");
    break;
  case GEMEL__PUT_mul:
    result = put(call, x, call->inputs[2], "mul");
    if (!gemel_is_null(call->d_inputs[2])) {
      result = put(call, result, gemel_mul_at(y, others(call), call->where), "add");
    }
    break;
  default:
    e = extremes_of(call);
    result = put(call, share(call, x, e.count, e.x, x), share(call, y, take(call, e.count), e.y, y),
                 "add");
  }
  call->d_outputs[0] = result;
  return gemel__jvp_done(call);
}

/* ---- Hooks ---- */

static gemel_status normalize(gemel_normalize *call) {
  gemel__normal_axis(call, 0);
  return GEMEL_OK;
}

/* What is read at an index may lie anywhere, and is read, and an index too. */
static void cost(const gemel_kernel_call *call, double *flops, double *bytes) {
  const gemel_view *indices = &call->inputs[1];
  gemel__cost_move(call, flops, bytes);
  *bytes += (double)(gemel__view_elements(indices) * gemel__view_item(indices));
}

const gemel__hooks gemel__hooks_take = {.infer = infer_take,
                                        .grad = grad_take,
                                        .jvp = jvp_take,
                                        .kernels = gemel__take_kernels,
                                        .cost = cost,
                                        .normalize = normalize,
                                        .moves = 1};
const gemel__hooks gemel__hooks_put = {.infer = infer_put,
                                       .grad = grad_put,
                                       .jvp = jvp_put,
                                       .kernels = gemel__put_kernels,
                                       .overwrites = 1,
                                       .cost = cost,
                                       .normalize = normalize};
