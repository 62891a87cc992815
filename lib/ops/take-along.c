/* SPDX-License-Identifier: MIT
 *
 * Elements along an axis at indices of their own, as NumPy's take_along_axis and put_along_axis
 * have them, and what is made of those: sorted elements, the first of them. It is take and put of
 * all elements in a row, at places that are computed from the indices. Whether an index is in range
 * is checked by taking it from 0, 1, … n - 1, which also makes a place of one that counts from the
 * end.
 */
#include <gemel/composite.h>
#include "core/error.h"
#include "core/value.h"
#include "ops/rule.h"

/* The numbers 0, 1, … N - 1 in the memory space of LIKE. */
static gemel_value numbers(gemel_dim n, gemel_value like, gemel_location where) {
  gemel_type type = gemel_value_type(like);
  return gemel__in_space(gemel_arange_at(like.graph, n, NULL, where),
                         gemel_type_space(gemel_graph_context(like.graph), type), where);
}

gemel_value gemel__places_at(gemel_value indices, gemel_dim n, gemel_location where) {
  return gemel_is_null(indices) ? indices
                                : gemel_take_at(numbers(n, indices, where), indices, NULL, where);
}

gemel_value gemel__next_place(gemel_value place, gemel_dim n, gemel_value next,
                              gemel_location where) {
  if (gemel_is_null(place) || gemel_is_null(next)) {
    return gemel__no_value;
  }
  gemel_type type = gemel_value_type(next);
  gemel_value size =
      gemel__in_space(gemel_size_at(next.graph, n, where),
                      gemel_type_space(gemel_graph_context(next.graph), type), where);
  return gemel_add_at(gemel_mul_at(place, size, where), next, where);
}

/* 0, 1, … along AXIS of the indices, as an axis of RANK; where x isn't known to be as long there,
 * they are places in it. */
static gemel_value along(gemel_value indices, int axis, int rank, gemel_dim n, gemel_dim x_n,
                         gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  gemel_value all = numbers(n, indices, where);
  for (int k = 0; k < rank; k++) {
    order[k] = k == axis ? 0 : -1;
  }
  all = gemel_dim_equal(n, x_n) ? all : gemel__places_at(all, x_n, where);
  return gemel_is_null(all) ? all : gemel_dimshuffle_at(all, (size_t)rank, order, where);
}

/* Where, among all elements of X in a row, those are that INDICES mean along AXIS. */
static gemel_value places_along(gemel_value x, gemel_value indices, int64_t axis, const char *what,
                                gemel_location where) {
  if (!gemel__is_value(x) || !gemel__is_value(indices) || x.graph != indices.graph) {
    return gemel_take_at(x, indices, NULL, where); /* which says what is wrong */
  }
  int rank, index_rank;
  const gemel_dim *dims = gemel__value_dims(x, &rank);
  const gemel_dim *index_dims = gemel__value_dims(indices, &index_rank);
  int at = gemel__axis(axis, rank);
  gemel_value place = gemel__no_value;
  if (at < 0 || rank != index_rank) {
    return gemel__graph_fail_at(x.graph, where, GEMEL_BAD_SHAPE,
                                at < 0 ? "%s: axis %lld is out of range for rank %d"
                                       : "%s: axis %lld of rank %d, and indices of rank %d",
                                what, (long long)axis, rank, index_rank);
  }
  for (int k = 0; k < rank; k++) {
    gemel_value next = k == at ? gemel__places_at(indices, dims[k], where)
                               : along(indices, k, rank, index_dims[k], dims[k], where);
    place = k == 0 ? next : gemel__next_place(place, dims[k], next, where);
  }
  return place;
}

gemel_value gemel_take_along_axis_at(gemel_value x, gemel_value indices, int64_t axis,
                                     gemel_location where) {
  gemel_value place = places_along(x, indices, axis, "take_along_axis", where);
  return gemel_is_null(place) ? place
                              : gemel_take_at(gemel_flatten_at(x, where), place, NULL, where);
}

gemel_value gemel_put_along_axis_at(gemel_value x, gemel_value indices, gemel_value y, int64_t axis,
                                    const char *mode, gemel_location where) {
  gemel_value place = places_along(x, indices, axis, "put_along_axis", where);
  gemel_put_options options = {.mode = mode};
  int rank;
  if (gemel_is_null(place)) {
    return place;
  }
  gemel_value all = gemel_put_at(gemel_flatten_at(x, where), place, y, &options, where);
  const gemel_dim *dims = gemel__value_dims(x, &rank);
  return gemel_is_null(all) ? all : gemel_reshape_at(all, (size_t)rank, dims, where);
}

/* ---- Order ---- */

gemel_value gemel_sort_at(gemel_value x, int64_t axis, int descending, gemel_location where) {
  gemel_argsort_options options = {.descending = descending};
  gemel_value order = gemel_argsort_at(x, axis, &options, where);
  return gemel_is_null(order) ? order : gemel_take_along_axis_at(x, order, axis, where);
}

gemel_value gemel_top_k_at(gemel_value x, int64_t k, int64_t axis, int smallest,
                           gemel_value *indices, gemel_location where) {
  gemel_argsort_options options = {.descending = !smallest};
  gemel_value order = gemel_argsort_at(x, axis, &options, where);
  order = gemel_is_null(order) ? order : gemel_slice_at(order, axis, 0, k, where);
  gemel_value top = gemel_is_null(order) ? order : gemel_take_along_axis_at(x, order, axis, where);
  if (indices != NULL) {
    *indices = gemel_is_null(top) ? top : order;
  }
  return top;
}
