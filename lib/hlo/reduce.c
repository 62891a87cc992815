/* SPDX-License-Identifier: MIT
 *
 * Opcodes of HLO that apply a scalars' computation to elements: map, reduce and sort. A reduction
 * by an operation that gemel reduces by is that; by any other computation it is a loop over the
 * elements in row-major order, since XLA takes the computation for associative. A sort counts for
 * each element how many come before it, by the comparator and, where that doesn't tell, by place.
 */
#include "hlo/call.h"

#include <math.h>
#include <string.h>
#include "core/dtype.h"
#include "core/graph.h"
#include "core/value.h"

enum { MOST_COMPARED = 1 << 24 };

int gemel__hlo_map_op(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_shape *shape = &c->instr->shape;
  const gemel__hlo_computation *computation = gemel__hlo_called(c, "to_apply");
  size_t n = c->instr->n_operands;
  gemel_value *operands = gemel__hlo_room(c, n * sizeof *operands), mapped;
  for (size_t k = 0; k < n && operands != NULL; k++) {
    operands[k] = gemel__hlo_operand(c, k);
    if (gemel_is_null(operands[k])) {
      return 0;
    }
  }
  return computation != NULL && operands != NULL &&
         gemel__hlo_map(c, computation, n, operands, shape->rank, shape->dims, 1, &mapped) &&
         gemel__hlo_give(result, mapped);
}

/* ---- Reductions that are gemel's ---- */

int gemel__hlo_is_number(gemel_value value, double number) {
  gemel_attr attr;
  if (strcmp(gemel_value_operation(value), "constant") != 0 ||
      gemel_value_attr(value, "value", &attr) != GEMEL_OK ||
      gemel_tensor_elements(attr.u.tensor) != 1) {
    return 0;
  }
  return gemel__dtype_load(gemel_tensor_dtype(attr.u.tensor), gemel_tensor_data(attr.u.tensor)) ==
         number;
}

/* ELEMENT = what changes nothing, for an operation of this KIND on integers or truths: 1, or 0 if
 * there is none. */
static int neutral_integer(const char *kind, gemel_dtype dtype, unsigned char element[8]) {
  size_t bytes = gemel_dtype_size(dtype);
  int is_signed = gemel_dtype_kind(dtype) == GEMEL_KIND_SIGNED;
  int is_largest = strcmp(kind, "minimum") == 0, is_ones = is_largest || strcmp(kind, "and") == 0;
  int is_one = strcmp(kind, "multiply") == 0 || (is_ones && dtype == GEMEL_BOOL);
  memset(element, is_ones && dtype != GEMEL_BOOL ? 0xff : 0, 8);
  element[0] = is_one ? 1 : element[0];
  if (is_signed && (is_largest || strcmp(kind, "maximum") == 0)) {
    element[bytes - 1] =
        is_largest ? 0x7f : 0x80; /* little-endian, as all machines gemel runs on */
  }
  return is_ones || is_one || strcmp(kind, "add") == 0 || strcmp(kind, "or") == 0 ||
         strcmp(kind, "maximum") == 0;
}

/* The same of floats; NaN: there is none. */
static double neutral_float(const char *kind) {
  return strcmp(kind, "add") == 0        ? 0
         : strcmp(kind, "multiply") == 0 ? 1
         : strcmp(kind, "maximum") == 0  ? -INFINITY
         : strcmp(kind, "minimum") == 0  ? INFINITY
                                         : NAN;
}

int gemel__hlo_is_neutral(const char *kind, gemel_value value) {
  gemel_dtype dtype = gemel__value_dtype(value);
  unsigned char element[8];
  gemel_attr attr;
  if (gemel__is_float(dtype)) {
    return gemel__hlo_is_number(value, neutral_float(kind));
  }
  return strcmp(gemel_value_operation(value), "constant") == 0 &&
         gemel_value_attr(value, "value", &attr) == GEMEL_OK &&
         gemel_tensor_elements(attr.u.tensor) == 1 && neutral_integer(kind, dtype, element) &&
         memcmp(gemel_tensor_data(attr.u.tensor), element, gemel_dtype_size(dtype)) == 0;
}

/* X reduced over AXES by the operation KIND; null without an error: gemel has no such reduction. */
static gemel_value reduce_by(gemel__hlo_call *c, const char *kind, gemel_value x, gemel_ints axes) {
  gemel_dtype dtype = gemel_type_dtype(c->import->context, gemel_value_type(x));
  gemel_sum_options sum = {.axes = axes};
  gemel_max_options max = {.axes = axes};
  int is_bool = dtype == GEMEL_BOOL;
  if (strcmp(kind, "add") == 0 && !is_bool) {
    return gemel_cast_at(gemel_sum_at(x, &sum, c->where), dtype, c->where);
  }
  if (strcmp(kind, "multiply") == 0 && !is_bool) {
    gemel_prod_options prod = {.axes = axes};
    return gemel_cast_at(gemel_prod_at(x, &prod, c->where), dtype, c->where);
  }
  if (strcmp(kind, "maximum") == 0 && !is_bool) {
    return gemel_max_at(x, &max, c->where);
  }
  if (strcmp(kind, "minimum") == 0 && !is_bool) {
    return gemel_min_at(x, &max, c->where);
  }
  if (is_bool &&
      (strcmp(kind, "and") == 0 || strcmp(kind, "minimum") == 0 || strcmp(kind, "multiply") == 0)) {
    return gemel_all_at(x, &sum, c->where);
  }
  int is_any = strcmp(kind, "or") == 0 || strcmp(kind, "maximum") == 0 || strcmp(kind, "add") == 0;
  return is_bool && is_any ? gemel_any_at(x, &sum, c->where) : gemel__no_value;
}

/* A and B combined by COMPUTATION, which is of scalars; A is left out where it changes nothing. */
static gemel_value combine(gemel__hlo_call *c, const gemel__hlo_computation *computation,
                           const char *kind, gemel_value a, gemel_value b) {
  int64_t sizes[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(c, b, sizes);
  gemel_value both[2] = {a, b}, one = gemel__no_value;
  if (gemel__hlo_is_neutral(kind, a)) {
    return b;
  }
  gemel__hlo_map(c, computation, 2, both, rank, sizes, 1, &one);
  return one;
}

/* ---- Any reduction ---- */

/* How X is laid out for a loop over the reduced elements: they come first, in a row. */
typedef struct laid {
  int rank;                      /* of the result */
  int64_t sizes[GEMEL_MAX_RANK]; /* of the result */
  int64_t order[GEMEL_MAX_RANK]; /* axes of the operand: reduced ones, then the others */
  int64_t rows;
} laid;

static int lay(gemel__hlo_call *c, int n_axes, const int64_t *axes, laid *l) {
  int64_t sizes[GEMEL_MAX_RANK];
  int rank = gemel__hlo_sizes(c, gemel__hlo_operand(c, 0), sizes), n = 0;
  uint32_t reduced = 0;
  *l = (laid){.rows = 1};
  for (int k = 0; k < n_axes; k++) {
    reduced |= 1u << axes[k];
  }
  for (int k = 0; k < rank; k++) {
    if ((reduced >> k & 1) != 0) {
      l->order[n++] = k;
      if (__builtin_mul_overflow(l->rows, sizes[k], &l->rows)) {
        return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "too many elements");
      }
    }
  }
  for (int k = 0; k < rank; k++) {
    if ((reduced >> k & 1) == 0) {
      l->order[n++] = k;
      l->sizes[l->rank++] = sizes[k];
    }
  }
  return 1;
}

/* Operand K, with its reduced elements in a row along axis 0. */
static gemel_value rows_of(gemel__hlo_call *c, const laid *l, size_t k) {
  int64_t sizes[GEMEL_MAX_RANK + 1] = {l->rows}, own[GEMEL_MAX_RANK];
  gemel_value x = gemel__hlo_operand(c, k);
  int rank = gemel_is_null(x) ? 0 : gemel__hlo_sizes(c, x, own);
  memcpy(sizes + 1, l->sizes, (size_t)l->rank * sizeof *sizes);
  if (l->rank == GEMEL_MAX_RANK) {
    gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "a result of %d axes", l->rank);
    return gemel__no_value;
  }
  return gemel__hlo_reshape(c, gemel__hlo_order(c, x, rank, l->order), l->rank + 1, sizes);
}

/* The body of LOOP: N states combined with N rows. */
static int make_step(gemel__hlo_call *c, const gemel__hlo_computation *computation, const laid *l,
                     gemel_loop *loop, size_t n, gemel_value *values) {
  gemel__hlo_call inner = gemel__hlo_within(c, loop);
  gemel_value *next = gemel__hlo_room(c, n * sizeof *next);
  if (next == NULL ||
      !gemel__hlo_map(&inner, computation, 2 * n, values, l->rank, l->sizes, n, next)) {
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    if (gemel_loop_next_at(loop, values[k], next[k], c->where) != GEMEL_OK) {
      return 0;
    }
  }
  return gemel_loop_end_at(loop, NULL, c->where) == GEMEL_OK;
}

/* N operands reduced by COMPUTATION, one row after the other, to RESULTS. */
static int fold(gemel__hlo_call *c, const gemel__hlo_computation *computation, const laid *l,
                gemel_loop *loop, size_t n, gemel_value *results) {
  gemel_value *values = gemel__hlo_room(c, 2 * n * sizeof *values);
  if (values == NULL) {
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    gemel_value init = gemel__hlo_operand(c, n + k), rows = rows_of(c, l, k);
    if (gemel_is_null(init) || gemel_is_null(rows)) {
      return 0;
    }
    init = gemel__hlo_spread(c, init, l->rank, l->sizes);
    values[k] = gemel_loop_state_at(loop, init, c->where);
    values[n + k] = gemel_loop_row_at(loop, rows, c->where);
  }
  if (!make_step(c, computation, l, loop, n, values)) {
    return 0;
  }
  for (size_t k = 0; k < n; k++) {
    results[k] = gemel_loop_last_at(loop, values[k], c->where);
  }
  return 1;
}

/* The results of a loop, one or a tuple, whose error is the graph's too. */
static int reduce_by_loop(gemel__hlo_call *c, const gemel__hlo_computation *computation, int n_axes,
                          const int64_t *axes, gemel__hlo_value *result) {
  size_t n = c->instr->n_operands / 2;
  gemel_value *results = gemel__hlo_room(c, n * sizeof *results);
  gemel_error error;
  laid l;
  if (results == NULL || !lay(c, n_axes, axes, &l)) {
    return 0;
  }
  gemel_loop *loop = gemel_loop_begin(c->graph, &error);
  if (loop == NULL) {
    return gemel__hlo_refuse(c, error.status, "%s", error.text);
  }
  int good = fold(c, computation, &l, loop, n, results);
  if (!good) {
    gemel__graph_take_error(c->graph, gemel_graph_error(gemel_loop_body(loop)));
  }
  gemel_loop_free(loop);
  return good &&
         (n == 1 && !c->instr->shape.is_tuple ? gemel__hlo_give(result, results[0])
                                              : gemel__hlo_give_tuple(c, result, n, results));
}

/* 1 if the reduced axes of X have elements. */
static int has_elements(gemel__hlo_call *c, gemel_value x, int n, const int64_t *axes) {
  int64_t sizes[GEMEL_MAX_RANK];
  gemel__hlo_sizes(c, x, sizes);
  for (int k = 0; k < n; k++) {
    if (sizes[axes[k]] == 0) {
      return 0;
    }
  }
  return 1;
}

int gemel__hlo_reduce(gemel__hlo_call *c, gemel__hlo_value *result) {
  const gemel__hlo_computation *computation = gemel__hlo_called(c, "to_apply");
  int64_t axes[GEMEL_MAX_RANK];
  int n;
  if (computation == NULL) {
    return 0;
  }
  if (c->instr->n_operands == 0 || c->instr->n_operands % 2 != 0) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "it has no initial value for each operand");
  }
  gemel_value x = gemel__hlo_operand(c, 0), init = gemel__hlo_operand(c, 1);
  if (gemel_is_null(x) || gemel_is_null(init) ||
      !gemel__hlo_axes(c, "dimensions", gemel__hlo_shape_of(c, 0)->rank, &n, axes)) {
    return 0;
  }
  const char *kind = c->instr->n_operands == 2 ? gemel__hlo_kind(computation) : NULL;
  gemel_value reduced = kind != NULL && has_elements(c, x, n, axes)
                            ? reduce_by(c, kind, x, (gemel_ints){(size_t)n, axes})
                            : gemel__no_value;
  if (gemel_is_null(reduced)) {
    return gemel_graph_error(c->graph)->status == GEMEL_OK &&
           reduce_by_loop(c, computation, n, axes, result);
  }
  return gemel__hlo_give(result, combine(c, computation, kind, init, reduced));
}

/* ---- Sort ---- */

/* What a sort compares: pairs of elements along its axis, the other one on an axis behind all. */
typedef struct pairs {
  const gemel__hlo_computation *comparator;
  int rank, axis;
  int64_t sizes[GEMEL_MAX_RANK]; /* of the pairs: RANK + 1 */
} pairs;

/* Operand K as the element of a pair (IS_OTHER 0), or as the other one. */
static gemel_value side(gemel__hlo_call *c, const pairs *p, gemel_value x, int is_other) {
  int64_t order[GEMEL_MAX_RANK];
  for (int k = 0; k < p->rank; k++) {
    order[k] = is_other && k == p->axis ? -1 : k;
  }
  order[p->rank] = is_other ? p->axis : -1;
  return gemel__hlo_order(c, x, p->rank + 1, order);
}

/* Whether the other one comes first, by the comparator; or the element does. */
static gemel_value compare(gemel__hlo_call *c, const pairs *p, int other_first) {
  size_t n = c->instr->n_operands;
  gemel_value *values = gemel__hlo_room(c, 2 * n * sizeof *values), before = gemel__no_value;
  for (size_t k = 0; k < n && values != NULL; k++) {
    gemel_value x = gemel__hlo_operand(c, k);
    if (gemel_is_null(x)) {
      return x;
    }
    values[2 * k] = side(c, p, x, other_first);
    values[2 * k + 1] = side(c, p, x, !other_first);
  }
  if (values != NULL) {
    gemel__hlo_map(c, p->comparator, 2 * n, values, p->rank + 1, p->sizes, 1, &before);
  }
  return before;
}

/* The place of each element along the axis, i64. */
static gemel_value places(gemel__hlo_call *c, const pairs *p) {
  gemel_value other = compare(c, p, 1), own = compare(c, p, 0);
  if (gemel_is_null(other) || gemel_is_null(own)) {
    return gemel__no_value;
  }
  int64_t n = p->sizes[p->rank], last = p->rank;
  gemel_value i = gemel__hlo_iota(c, GEMEL_I64, p->rank + 1, p->axis, n);
  gemel_value j = gemel__hlo_iota(c, GEMEL_I64, p->rank + 1, p->rank, n);
  gemel_value tie = gemel_logical_not_at(gemel_logical_or_at(other, own, c->where), c->where);
  gemel_value earlier = gemel_logical_and_at(tie, gemel_lt_at(j, i, c->where), c->where);
  gemel_value before = gemel_logical_or_at(other, earlier, c->where);
  return gemel_sum_at(before, &(gemel_sum_options){.axes = {1, &last}}, c->where);
}

static int describe(gemel__hlo_call *c, pairs *p) {
  gemel_value x = gemel__hlo_operand(c, 0);
  int64_t axis, all = 1;
  p->comparator = gemel__hlo_called(c, "to_apply");
  if (gemel_is_null(x) || p->comparator == NULL) {
    return 0;
  }
  p->rank = gemel__hlo_sizes(c, x, p->sizes);
  if (!gemel__hlo_int(c, "dimensions", 0, &axis)) {
    return 0;
  }
  if (axis < 0 || axis >= p->rank || p->rank == GEMEL_MAX_RANK) {
    return gemel__hlo_refuse(c, GEMEL_BAD_FILE, "its dimension is no axis");
  }
  p->axis = (int)axis;
  p->sizes[p->rank] = p->sizes[axis];
  for (int k = 0; k <= p->rank; k++) {
    if (__builtin_mul_overflow(all, p->sizes[k], &all)) {
      all = INT64_MAX;
      break;
    }
  }
  return all <= MOST_COMPARED ||
         gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "too many pairs of elements");
}

int gemel__hlo_sort(gemel__hlo_call *c, gemel__hlo_value *result) {
  size_t n = c->instr->n_operands;
  gemel_value *sorted = gemel__hlo_room(c, n * sizeof *sorted);
  pairs p;
  if (sorted == NULL || !describe(c, &p)) {
    return 0;
  }
  gemel_value at = places(c, &p);
  for (size_t k = 0; k < n; k++) {
    gemel_value x = gemel__hlo_operand(c, k);
    if (gemel_is_null(at) || gemel_is_null(x)) {
      return 0;
    }
    sorted[k] = gemel_put_along_axis_at(x, at, x, p.axis, NULL, c->where);
  }
  return n == 1 && !c->instr->shape.is_tuple ? gemel__hlo_give(result, sorted[0])
                                             : gemel__hlo_give_tuple(c, result, n, sorted);
}
