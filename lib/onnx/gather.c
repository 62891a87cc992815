/* SPDX-License-Identifier: MIT
 *
 * Operators of ONNX that read and write at indices, or find some, and sums along an axis. Those
 * that name one element by several numbers do so by one place among all elements in a row; an index
 * that is out of range is an error of the call, as in gemel_take.
 */
#include "onnx/operators.h"
#include "ops/rule.h"
#include "core/value.h"

/* ---- Along an axis ---- */

gemel_value gemel__onnx_gather(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  const gemel__sizes *at = gemel__onnx_sizes(c, 1);
  int axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", 0), gemel__onnx_rank(x));
  int64_t index, size;
  if (axis < 0) {
    return gemel__no_value;
  }
  if (at != NULL && at->rank == 0 && gemel_dim_is_constant(c->context, at->dims[0], &index) &&
      gemel_dim_is_constant(c->context, gemel__onnx_dims(x)[axis], &size) &&
      (index < -size || index >= size)) {
    return gemel__onnx_refuse(c, GEMEL_BAD_VALUE, "index %lld of axis %d, whose size is %lld",
                              (long long)index, axis, (long long)size);
  }
  if (at != NULL && at->rank == 0 && gemel_dim_is_constant(c->context, at->dims[0], &index)) {
    return gemel_index_at(x, axis, index, c->where);
  }
  return gemel_take_at(x, gemel__onnx_input(c, 1), &(gemel_take_options){.axis = axis}, c->where);
}

gemel_value gemel__onnx_gather_elements(gemel__onnx_call *c) {
  return gemel_take_along_axis_at(gemel__onnx_input(c, 0), gemel__onnx_input(c, 1),
                                  gemel__onnx_int(c, "axis", 0), c->where);
}

/* gemel's mode of put for attribute "reduction"; NULL, and the graph's error, if there is none. */
static const char *mode_of(gemel__onnx_call *c) {
  static const char *const modes[] = {"none", "set", "add", "add", "mul",
                                      "mul",  "min", "min", "max", "max"};
  gemel__wire_span reduction = gemel__onnx_text(c, "reduction");
  for (size_t k = 0; k < sizeof modes / sizeof *modes && reduction.length > 0; k += 2) {
    if (gemel__wire_is(reduction, modes[k])) {
      return modes[k + 1];
    }
  }
  if (reduction.length > 0) {
    gemel__onnx_refuse(c, GEMEL_UNSUPPORTED, "reduction %.*s", (int)reduction.length,
                       (const char *)reduction.bytes);
  }
  return reduction.length > 0 ? NULL : "set";
}

gemel_value gemel__onnx_scatter_elements(gemel__onnx_call *c) {
  const char *mode = mode_of(c);
  return mode == NULL ? gemel__no_value
                      : gemel_put_along_axis_at(gemel__onnx_input(c, 0), gemel__onnx_input(c, 1),
                                                gemel__onnx_input(c, 2),
                                                gemel__onnx_int(c, "axis", 0), mode, c->where);
}

/* x where CONDITION, known bools along an axis or along all elements in a row, is true. */
gemel_value gemel__onnx_compress(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  int all = gemel__onnx_attribute(c, "axis").bytes == NULL;
  int axis = all ? 0 : gemel__onnx_axis(c, gemel__onnx_int(c, "axis", 0), gemel__onnx_rank(x));
  gemel_tensor *condition = gemel__onnx_known(c, 1);
  if (condition == NULL || gemel_tensor_dtype(condition) != GEMEL_BOOL || axis < 0) {
    gemel_tensor_unref(condition);
    return axis < 0 ? gemel__no_value
                    : gemel__onnx_refuse(c, GEMEL_UNSUPPORTED,
                                         "a condition that isn't known, so nor is the shape");
  }
  int64_t n = gemel_tensor_elements(condition), kept = 0;
  const uint8_t *truth = gemel_tensor_data(condition);
  double *numbers = gemel__onnx_room(c, (size_t)(n + 1) * sizeof *numbers);
  for (int64_t k = 0; numbers != NULL && k < n; k++) {
    numbers[kept] = (double)k;
    kept += truth[k] != 0;
  }
  gemel_tensor_unref(condition);
  return numbers == NULL
             ? gemel__no_value
             : gemel_take_at(all ? gemel_flatten_at(x, c->where) : x,
                             gemel_vector_at(c->graph, GEMEL_I64, (size_t)kept, numbers, c->where),
                             &(gemel_take_options){.axis = axis}, c->where);
}

/* ---- By several indices each ---- */

/* The indices of an operator along its last axis: N of them for the axes of x from FIRST on, whose
 * places are made one, behind that of the axes before. */
static gemel_value place_of(gemel__onnx_call *c, gemel_value x, gemel_value indices, int first,
                            int n) {
  int rank = gemel__onnx_rank(indices) - 1;
  const gemel_dim *dims = gemel__onnx_dims(x);
  gemel_value place = gemel__no_value;
  for (int k = 0; k < first; k++) {
    int64_t order[GEMEL_MAX_RANK];
    for (int j = 0; j < rank; j++) {
      order[j] = j == k ? 0 : -1;
    }
    gemel_value next = gemel_dimshuffle_at(gemel_arange_at(c->graph, dims[k], NULL, c->where),
                                           (size_t)rank, order, c->where);
    place = k == 0 ? next : gemel__next_place(place, dims[k], next, c->where);
  }
  for (int k = 0; k < n; k++) {
    gemel_value next =
        gemel__places_at(gemel_index_at(indices, -1, k, c->where), dims[first + k], c->where);
    place = k + first == 0 ? next : gemel__next_place(place, dims[first + k], next, c->where);
  }
  return place;
}

/* x with its first N axes as one. */
static gemel_value merged(gemel__onnx_call *c, gemel_value x, int n) {
  gemel_dim dims[GEMEL_MAX_RANK + 1], all = gemel_dim_constant(c->context, 1);
  int rank = gemel__onnx_rank(x);
  for (int k = 0; k < n; k++) {
    all = gemel_dim_mul(c->context, all, gemel__onnx_dims(x)[k]);
  }
  dims[0] = all;
  for (int k = n; k < rank; k++) {
    dims[k - n + 1] = gemel__onnx_dims(x)[k];
  }
  return gemel_reshape_at(x, (size_t)(rank - n + 1), dims, c->where);
}

/* How many indices name an element, behind FIRST axes that are the indices' own; -1, and the
 * graph's error, if that isn't known or doesn't fit. */
static int indices_each(gemel__onnx_call *c, gemel_value x, gemel_value indices, int64_t first) {
  int rank = gemel__onnx_rank(indices);
  int64_t n = -1;
  if (rank > 0 && first >= 0 && first < rank &&
      gemel_dim_is_constant(c->context, gemel__onnx_dims(indices)[rank - 1], &n) && n >= 0 &&
      n + first <= gemel__onnx_rank(x)) {
    return (int)n;
  }
  gemel__onnx_refuse(c, n < 0 ? GEMEL_UNSUPPORTED : GEMEL_BAD_SHAPE,
                     "indices whose last axis isn't known, or doesn't fit");
  return -1;
}

gemel_value gemel__onnx_gather_nd(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), indices = gemel__onnx_input(c, 1);
  int64_t first = gemel__onnx_int(c, "batch_dims", 0);
  int n = indices_each(c, x, indices, first);
  if (n < 0) {
    return gemel__no_value;
  }
  gemel_value place = place_of(c, x, indices, (int)first, n);
  return gemel_take_at(merged(c, x, (int)first + n), place, NULL, c->where);
}

gemel_value gemel__onnx_scatter_nd(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), indices = gemel__onnx_input(c, 1);
  const char *mode = mode_of(c);
  int n = mode != NULL ? indices_each(c, x, indices, 0) : -1;
  if (n < 0) {
    return gemel__no_value;
  }
  gemel_put_options options = {.mode = mode};
  gemel_value all = gemel_put_at(merged(c, x, n), place_of(c, x, indices, 0, n),
                                 gemel__onnx_input(c, 2), &options, c->where);
  return gemel_reshape_at(all, (size_t)gemel__onnx_rank(x), gemel__onnx_dims(x), c->where);
}

/* ---- Sequences ---- */

/* The first elements along the time axis, as many as LENGTHS says for each of the batch, in
 * opposite order; the others stay. */
gemel_value gemel__onnx_reverse_sequence(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), lengths = gemel__onnx_input(c, 1);
  int64_t time = gemel__onnx_int(c, "time_axis", 0), batch = gemel__onnx_int(c, "batch_axis", 1);
  int rank = gemel__onnx_rank(x);
  if (rank < 2 || time + batch != 1 || time * batch != 0 || gemel__onnx_rank(lengths) != 1) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE,
                              "it takes x[time, batch, ...] and lengths[batch]");
  }
  const gemel_dim *dims = gemel__onnx_dims(x);
  gemel_value t =
      gemel_expand_dims_at(gemel_arange_at(c->graph, dims[time], NULL, c->where), batch, c->where);
  gemel_value n = gemel_expand_dims_at(gemel_cast_at(lengths, GEMEL_I64, c->where), time, c->where);
  gemel_value b =
      gemel_expand_dims_at(gemel_arange_at(c->graph, dims[batch], NULL, c->where), time, c->where);
  gemel_value back =
      gemel_sub_at(gemel_sub_at(n, gemel_scalar_like_at(n, 1, c->where), c->where), t, c->where);
  t = gemel__places_at(gemel_where_at(gemel_lt_at(t, n, c->where), back, t, c->where), dims[time],
                       c->where);
  gemel_value place = time == 0 ? gemel__next_place(t, dims[1], b, c->where)
                                : gemel__next_place(b, dims[1], t, c->where);
  return gemel_take_at(merged(c, x, 2), place, NULL, c->where);
}

/* ---- Caches ---- */

/* x with y from places on that input 2 says for each of a batch, along an axis; mode circular
 * begins again at its end. */
gemel_value gemel__onnx_tensor_scatter(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0), y = gemel__onnx_input(c, 1);
  int rank = gemel__onnx_rank(x);
  int axis = gemel__onnx_axis(c, gemel__onnx_int(c, "axis", -2), rank);
  int64_t order[GEMEL_MAX_RANK];
  if (axis < 0 || !gemel__onnx_is_one_of(c, "mode", "linear circular")) {
    return gemel__no_value;
  }
  if (axis == 0 || gemel__onnx_rank(y) != rank) {
    return gemel__onnx_refuse(c, GEMEL_BAD_SHAPE, "axis 0 is that of the batch, or ranks differ");
  }
  for (int k = 0; k < rank; k++) {
    order[k] = k == axis ? 0 : -1;
  }
  gemel_value at = gemel_arange_at(c->graph, gemel__onnx_dims(y)[axis], NULL, c->where);
  at = gemel_dimshuffle_at(at, (size_t)rank, order, c->where);
  if (gemel__onnx_given(c, 2)) {
    order[axis] = -1;
    order[0] = 0;
    at = gemel_add_at(
        at, gemel_dimshuffle_at(gemel__onnx_input(c, 2), (size_t)rank, order, c->where), c->where);
  }
  if (gemel__wire_is(gemel__onnx_text(c, "mode"), "circular")) {
    at = gemel_mod_at(at, gemel_size_at(c->graph, gemel__onnx_dims(x)[axis], c->where), c->where);
  }
  at = gemel_broadcast_to_at(at, (size_t)rank, gemel__onnx_dims(y), c->where);
  return gemel_put_along_axis_at(x, at, y, axis, "set", c->where);
}

/* ---- Along an axis ---- */

/* The known axis of running sums and products, which have x's dtype. */
gemel_value gemel__onnx_cumulative(gemel__onnx_call *c) {
  gemel_value x = gemel__onnx_input(c, 0);
  gemel__int_list axis = {0, NULL};
  if (!gemel__onnx_integers(c, 1, &axis)) {
    return gemel__no_value;
  }
  if (axis.count != 1) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "%zu axes", axis.count);
  }
  gemel_cumsum_options options = {.axis = axis.values[0],
                                  .exclusive = gemel__onnx_int(c, "exclusive", 0),
                                  .reverse = gemel__onnx_int(c, "reverse", 0)};
  gemel_value all = c->row->as[0] == 's' ? gemel_cumsum_at(x, &options, c->where)
                                         : gemel_cumprod_at(x, &options, c->where);
  return gemel_is_null(all) ? all : gemel_cast_at(all, gemel__onnx_dtype_of(x), c->where);
}

gemel_value gemel__onnx_top_k(gemel__onnx_call *c) {
  gemel__int_list k = {0, NULL};
  gemel_value indices;
  if (c->opset >= 10 && !gemel__onnx_integers(c, 1, &k)) {
    return gemel__no_value;
  }
  if (c->opset >= 10 && k.count != 1) {
    return gemel__onnx_refuse(c, GEMEL_BAD_FILE, "k is %zu numbers", k.count);
  }
  gemel_value top = gemel_top_k_at(
      gemel__onnx_input(c, 0), c->opset >= 10 ? k.values[0] : gemel__onnx_int(c, "k", 0),
      gemel__onnx_int(c, "axis", -1), gemel__onnx_int(c, "largest", 1) == 0, &indices, c->where);
  if (c->n_outputs > 1) {
    c->outputs[1] = indices;
  }
  return top;
}
