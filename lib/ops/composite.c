/* SPDX-License-Identifier: MIT
 *
 * What NumPy's users know by a name and is composed of operations here (<gemel/composite.h>). Each
 * function looks at the types of what it is given, which are known since the graph was built, and
 * appends a few nodes through the builders. Sizes are dims, so all of it works with symbols and
 * with sizes that nodes produce.
 */
#include <gemel/composite.h>

#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/value.h"
#include "ops/rule.h"

/* A value and the parts of its type. */
typedef struct operand {
  gemel_value value;
  gemel_context *context;
  gemel_dtype dtype;
  int rank;
  const gemel_dim *dims;
} operand;

/* Fills in X for VALUE; 0 if that is null, or none of its graph, which is then the graph's error.
 * WHAT is the composite's name. */
static int look(operand *x, gemel_value value, const char *what, gemel_location where) {
  if (!gemel__is_value(value)) {
    gemel__graph_fail_at(value.graph, where, GEMEL_BAD_ARGUMENT,
                         "%s: the operand is no value of its graph", what);
    return 0;
  }
  x->value = value;
  x->context = gemel_graph_context(value.graph);
  x->dtype = gemel__value_dtype(value);
  x->dims = gemel__value_dims(value, &x->rank);
  return 1;
}

/* AXIS of RANK axes counted from the front; -1, and the graph's error, if there is no such axis. */
static int axis_of(const operand *x, int64_t axis, int rank, const char *what,
                   gemel_location where) {
  int k = gemel__axis(axis, rank);
  if (k < 0) {
    gemel__graph_fail_at(x->value.graph, where, GEMEL_BAD_SHAPE,
                         "%s: axis %lld is out of range for rank %d", what, (long long)axis, rank);
  }
  return k;
}

static gemel_value to_dtype(gemel_value x, gemel_dtype dtype, gemel_location where) {
  gemel_type type = gemel_value_type(x);
  if (gemel_is_null(x) || gemel_type_dtype(gemel_graph_context(x.graph), type) == dtype) {
    return x;
  }
  return gemel_cast_at(x, dtype, where);
}

static int is_literal_one(const operand *x, int axis) {
  int64_t size;
  return gemel_dim_is_constant(x->context, x->dims[axis], &size) && size == 1;
}

/* ---- matmul ---- */

/* Which axes of both operands meet. Axes of size 1 that broadcast are dropped before. */
typedef struct pairing {
  operand x[2];
  int n_batch;                       /* axes of the result before the matrix's */
  int first[2];                      /* the place among them of each operand's first */
  int used[2];                       /* how many axes of each are not dropped */
  int64_t kept[2][GEMEL_MAX_RANK];   /* these axes */
  int place[2][GEMEL_MAX_RANK];      /* for each place, its axis behind dropping, or -1 */
  size_t n_shared;                   /* places where both have an axis */
  int64_t shared[2][GEMEL_MAX_RANK]; /* and which one */
} pairing;

static gemel_value misfit(const pairing *p, int a, int b, gemel_location where) {
  char types[2][128];
  for (int k = 0; k < 2; k++) {
    gemel_type_format(p->x[k].context, gemel_value_type(p->x[k].value), types[k], sizeof types[k]);
  }
  return gemel__graph_fail_at(p->x[0].value.graph, where, GEMEL_BAD_SHAPE,
                              "matmul: axis %d of x and axis %d of y differ in size; inputs %s, %s",
                              a, b, types[0], types[1]);
}

static int contracted_axis(const pairing *p, int side) {
  int rank = p->x[side].rank;
  return side == 0 || rank == 1 ? rank - 1 : rank - 2;
}

static int differ(const pairing *p, int a, int b) {
  return gemel__dim_compare(p->x[0].context, p->x[0].dims[a], p->x[1].dims[b]) == GEMEL__DIFFERENT;
}

/* Puts AXIS of SIDE among those that are kept; its number there. */
static int keep(pairing *p, int side, int axis) {
  p->kept[side][p->used[side]] = axis;
  return p->used[side]++;
}

/* Sorts the batch axes; 0, or -1 where two of them don't fit. */
static int match_batch(pairing *p, gemel_location where) {
  for (int k = 0; k < p->n_batch; k++) {
    int axis[2], here[2];
    for (int side = 0; side < 2; side++) {
      axis[side] = k - p->first[side];
      here[side] = axis[side] >= 0;
      p->place[side][k] = -1;
    }
    if (here[0] && here[1]) {
      int one[2] = {is_literal_one(&p->x[0], axis[0]), is_literal_one(&p->x[1], axis[1])};
      if (!one[0] && !one[1] && differ(p, axis[0], axis[1])) {
        misfit(p, axis[0], axis[1], where);
        return -1;
      }
      here[0] = !one[0]; /* of two ones, that of y stays */
      here[1] = !one[1] || one[0];
    }
    for (int side = 0; side < 2; side++) {
      if (here[side]) {
        p->place[side][k] = keep(p, side, axis[side]);
      }
    }
    if (here[0] && here[1]) {
      p->shared[0][p->n_shared] = p->place[0][k];
      p->shared[1][p->n_shared++] = p->place[1][k];
    }
  }
  return 0;
}

/* The product's axes are those shared, the free ones of x, the free ones of y; puts them in the
 * order of places. */
static gemel_value in_order(const pairing *p, gemel_value value, gemel_location where) {
  int64_t order[2 * GEMEL_MAX_RANK];
  int next[3] = {0, (int)p->n_shared, 0}, count = p->n_batch, moved = 0;
  int rows = p->x[0].rank > 1, columns = p->x[1].rank > 1;
  for (int k = 0; k < p->n_batch; k++) {
    next[2] += p->place[1][k] < 0;
  }
  next[2] += (int)p->n_shared + rows; /* behind all free axes of x */
  for (int k = 0; k < p->n_batch; k++) {
    int kind = p->place[0][k] >= 0 && p->place[1][k] >= 0 ? 0 : p->place[0][k] >= 0 ? 1 : 2;
    order[k] = next[kind]++;
  }
  if (rows) {
    order[count++] = next[1];
  }
  if (columns) {
    order[count++] = next[2];
  }
  for (int k = 0; k < count; k++) {
    moved |= order[k] != k;
  }
  return moved && !gemel_is_null(value) ? gemel_dimshuffle_at(value, (size_t)count, order, where)
                                        : value;
}

static gemel_value batched(pairing *p, gemel_location where) {
  gemel_value x[2], result;
  int64_t contract[2];
  gemel_dot_options options = {.contract_x = {1, &contract[0]},
                               .contract_y = {1, &contract[1]},
                               .batch_x = {0, p->shared[0]},
                               .batch_y = {0, p->shared[1]}};
  if (match_batch(p, where) != 0) {
    return gemel__no_value;
  }
  options.batch_x.count = options.batch_y.count = p->n_shared;
  for (int side = 0; side < 2; side++) {
    int rank = p->x[side].rank;
    for (int axis = rank > 2 ? rank - 2 : 0; axis < rank; axis++) {
      int number = keep(p, side, axis);
      if (axis == contracted_axis(p, side)) {
        contract[side] = number;
      }
    }
    x[side] = p->x[side].value;
    if (p->used[side] < rank) {
      x[side] = gemel_dimshuffle_at(x[side], (size_t)p->used[side], p->kept[side], where);
    }
  }
  result = gemel_dot_at(x[0], x[1], &options, where);
  return in_order(p, result, where);
}

gemel_value gemel_matmul_at(gemel_value x, gemel_value y, gemel_location where) {
  pairing p = {.n_batch = 0};
  if (gemel_is_null(x) || gemel_is_null(y) || x.graph != y.graph) {
    return gemel_dot_at(x, y, NULL, where); /* which says what is wrong */
  }
  if (!look(&p.x[0], x, "matmul", where) || !look(&p.x[1], y, "matmul", where)) {
    return gemel__no_value;
  }
  gemel_dtype dtype = gemel_promote(p.x[0].dtype, p.x[1].dtype);
  for (int side = 0; side < 2; side++) {
    p.x[side].value = to_dtype(p.x[side].value, dtype, where);
    p.n_batch = p.x[side].rank - 2 > p.n_batch ? p.x[side].rank - 2 : p.n_batch;
  }
  if (gemel_is_null(p.x[0].value) || gemel_is_null(p.x[1].value)) {
    return gemel__no_value;
  }
  if (p.x[0].rank == 0 || p.x[1].rank == 0) {
    return gemel__graph_fail_at(x.graph, where, GEMEL_BAD_SHAPE,
                                "matmul: a scalar has no axis to sum over");
  }
  if (differ(&p, contracted_axis(&p, 0), contracted_axis(&p, 1))) {
    return misfit(&p, contracted_axis(&p, 0), contracted_axis(&p, 1), where);
  }
  for (int side = 0; side < 2; side++) {
    p.first[side] = p.n_batch - (p.x[side].rank > 2 ? p.x[side].rank - 2 : 0);
  }
  return p.n_batch == 0 ? gemel_dot_at(p.x[0].value, p.x[1].value, NULL, where)
                        : batched(&p, where);
}

/* ---- Formulas, which are texts (composites/numpy.composites) ---- */

/* The composite called NAME of X, with these options. */
static gemel_value reduced(const char *name, gemel_value x, gemel_ints axes, int64_t keepdims,
                           int64_t ddof, gemel_location where) {
  gemel_attr attrs[3] = {
      {.name = "keepdims", .kind = GEMEL_ATTR_INT, .u.i = keepdims},
      {.name = "axes",
       .kind = GEMEL_ATTR_LIST | GEMEL_ATTR_INT,
       .count = axes.count,
       .u.ints = axes.values},
      {.name = "ddof", .kind = GEMEL_ATTR_INT, .u.i = ddof},
  };
  size_t n = axes.values != NULL || axes.count > 0 ? 2 : 1;
  if (ddof != 0) {
    attrs[n++] = attrs[2];
  }
  return gemel_apply_at(x.graph, name, 1, &x, n, attrs, where);
}

static gemel_value summed(const char *name, gemel_value x, const gemel_sum_options *options,
                          gemel_location where) {
  gemel_sum_options o = options != NULL ? *options : (gemel_sum_options){0};
  return reduced(name, x, o.axes, o.keepdims, 0, where);
}

gemel_value gemel_mean_at(gemel_value x, const gemel_sum_options *options, gemel_location where) {
  return summed("mean", x, options, where);
}

gemel_value gemel_any_at(gemel_value x, const gemel_sum_options *options, gemel_location where) {
  return summed("any", x, options, where);
}

gemel_value gemel_all_at(gemel_value x, const gemel_sum_options *options, gemel_location where) {
  return summed("all", x, options, where);
}

static gemel_value spread(const char *name, gemel_value x, const gemel_var_options *options,
                          gemel_location where) {
  gemel_var_options o;
  gemel_error problem;
  if (gemel__take_options(&o, sizeof o, options, "gemel_var_options", &problem) != GEMEL_OK) {
    return gemel__graph_fail_at(x.graph, where, problem.status, "%s", problem.text);
  }
  return reduced(name, x, o.axes, o.keepdims, o.ddof, where);
}

gemel_value gemel_var_at(gemel_value x, const gemel_var_options *options, gemel_location where) {
  return spread("var", x, options, where);
}

gemel_value gemel_std_at(gemel_value x, const gemel_var_options *options, gemel_location where) {
  return spread("std", x, options, where);
}

gemel_value gemel_min_at(gemel_value x, const gemel_max_options *options, gemel_location where) {
  gemel_max_options o = options != NULL ? *options : (gemel_max_options){0};
  return reduced("min", x, o.axes, o.keepdims, 0, where);
}

gemel_value gemel_argmin_at(gemel_value x, int64_t axis, gemel_location where) {
  gemel_attr attr = {.name = "axis", .kind = GEMEL_ATTR_INT, .u.i = axis};
  return gemel_apply_at(x.graph, "argmin", 1, &x, 1, &attr, where);
}

static gemel_value of_two(const char *name, gemel_value x, gemel_value y, gemel_location where) {
  gemel_value pair[2] = {x, y};
  return gemel_apply_at(gemel__graph_of(2, pair), name, 2, pair, 0, NULL, where);
}

gemel_value gemel_mean_squared_error_at(gemel_value x, gemel_value y, gemel_location where) {
  return of_two("mean_squared_error", x, y, where);
}

gemel_value gemel_mean_absolute_error_at(gemel_value x, gemel_value y, gemel_location where) {
  return of_two("mean_absolute_error", x, y, where);
}

gemel_value gemel_binary_cross_entropy_at(gemel_value logits, gemel_value targets,
                                          gemel_location where) {
  return of_two("binary_cross_entropy", logits, targets, where);
}

/* ---- cumprod ---- */

/* The products of ROWS before each (EXCLUSIVE) or with it. */
static gemel_value multiply_rows(gemel_value rows, int exclusive, int backwards,
                                 gemel_location where) {
  gemel_loop_options options = {.size = sizeof options, .reverse = backwards};
  gemel_error error = {0};
  int rank;
  const gemel_dim *dims = gemel__value_dims(rows, &rank);
  gemel_value one = gemel_broadcast_to_at(gemel_scalar_like_at(rows, 1, where), (size_t)rank - 1,
                                          dims + 1, where);
  gemel_loop *loop = gemel_loop_begin(rows.graph, &error);
  gemel_value product = gemel_loop_state_at(loop, one, where);
  gemel_value next = gemel_mul_at(product, gemel_loop_row_at(loop, rows, where), where);
  gemel_loop_next_at(loop, product, next, where);
  gemel_value kept = gemel_loop_stack_at(loop, exclusive ? product : next, where);
  gemel_loop_end_at(loop, &options, where);
  gemel_value all = gemel_loop_stacked_at(loop, kept, where);
  gemel_loop_free(loop);
  return all;
}

gemel_value gemel_cumprod_at(gemel_value value, const gemel_cumsum_options *options,
                             gemel_location where) {
  gemel_cumsum_options o = options != NULL ? *options : (gemel_cumsum_options){0};
  operand x;
  int axis = look(&x, value, "cumprod", where) ? axis_of(&x, o.axis, x.rank, "cumprod", where) : -1;
  if (axis < 0) {
    return gemel__no_value;
  }
  gemel_kind kind = gemel_dtype_kind(x.dtype);
  gemel_dtype dtype = kind == GEMEL_KIND_FLOAT      ? x.dtype
                      : kind == GEMEL_KIND_UNSIGNED ? GEMEL_U64
                                                    : GEMEL_I64;
  value = to_dtype(value, gemel_dtype_size(dtype) < 4 ? GEMEL_F32 : dtype, where);
  value = gemel_is_null(value) ? value : gemel_swapaxes_at(value, 0, axis, where);
  value =
      gemel_is_null(value) ? value : multiply_rows(value, o.exclusive != 0, o.reverse != 0, where);
  return gemel_is_null(value) ? value
                              : to_dtype(gemel_swapaxes_at(value, 0, axis, where), dtype, where);
}

/* ---- Axes and shapes ---- */

gemel_value gemel_transpose_at(gemel_value value, gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  operand x;
  if (!look(&x, value, "transpose", where)) {
    return gemel__no_value;
  }
  for (int k = 0; k < x.rank; k++) {
    order[k] = x.rank - 1 - k;
  }
  return x.rank < 2 ? value : gemel_dimshuffle_at(value, (size_t)x.rank, order, where);
}

gemel_value gemel_permute_at(gemel_value value, size_t n_axes, const int64_t *axes,
                             gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  operand x;
  if (axes == NULL || !look(&x, value, "permute", where)) {
    return gemel__no_value;
  }
  if (n_axes != (size_t)x.rank) {
    return gemel__graph_fail_at(value.graph, where, GEMEL_BAD_SHAPE,
                                "permute: %zu axes are given for rank %d", n_axes, x.rank);
  }
  for (int k = 0; k < x.rank; k++) {
    order[k] = axis_of(&x, axes[k], x.rank, "permute", where);
    if (order[k] < 0) {
      return gemel__no_value;
    }
  }
  return gemel_dimshuffle_at(value, n_axes, order, where);
}

gemel_value gemel_swapaxes_at(gemel_value value, int64_t a, int64_t b, gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  operand x;
  if (!look(&x, value, "swapaxes", where)) {
    return gemel__no_value;
  }
  int i = axis_of(&x, a, x.rank, "swapaxes", where);
  int j = axis_of(&x, b, x.rank, "swapaxes", where);
  if (i < 0 || j < 0) {
    return gemel__no_value;
  }
  for (int k = 0; k < x.rank; k++) {
    order[k] = k == i ? j : k == j ? i : k;
  }
  return gemel_dimshuffle_at(value, (size_t)x.rank, order, where);
}

gemel_value gemel_expand_dims_at(gemel_value value, int64_t axis, gemel_location where) {
  int64_t order[GEMEL_MAX_RANK + 1];
  operand x;
  int new;
  if (!look(&x, value, "expand_dims", where) ||
      (new = axis_of(&x, axis, x.rank + 1, "expand_dims", where)) < 0) {
    return gemel__no_value;
  }
  for (int k = 0; k <= x.rank; k++) {
    order[k] = k == new ? -1 : k < new ? k : k - 1;
  }
  return gemel_dimshuffle_at(value, (size_t)x.rank + 1, order, where);
}

static gemel_value without_axis(const operand *x, gemel_value value, int axis,
                                gemel_location where) {
  int64_t order[GEMEL_MAX_RANK];
  for (int k = 0; k < x->rank - 1; k++) {
    order[k] = k < axis ? k : k + 1;
  }
  return gemel_dimshuffle_at(value, (size_t)x->rank - 1, order, where);
}

gemel_value gemel_squeeze_at(gemel_value value, int64_t axis, gemel_location where) {
  operand x;
  int old;
  if (!look(&x, value, "squeeze", where) ||
      (old = axis_of(&x, axis, x.rank, "squeeze", where)) < 0) {
    return gemel__no_value;
  }
  return without_axis(&x, value, old, where);
}

/* The size that stands for the -1 in SHAPE: the elements of X over the product of the others. */
static gemel_dim left_over(const operand *x, size_t n_shape, const int64_t *shape) {
  gemel_dim all = gemel_dim_constant(x->context, 1), others = all;
  for (int k = 0; k < x->rank; k++) {
    all = gemel_dim_mul(x->context, all, x->dims[k]);
  }
  for (size_t k = 0; k < n_shape; k++) {
    if (shape[k] != -1) {
      others = gemel_dim_mul(x->context, others, gemel_dim_constant(x->context, shape[k]));
    }
  }
  return gemel_dim_floordiv(x->context, all, others);
}

gemel_value gemel_reshape_to_at(gemel_value value, size_t n_shape, const int64_t *shape,
                                gemel_location where) {
  gemel_dim dims[GEMEL_MAX_RANK];
  operand x;
  size_t open = 0;
  if ((n_shape > 0 && shape == NULL) || !look(&x, value, "reshape", where)) {
    return gemel__no_value;
  }
  for (size_t k = 0; k < n_shape && k < GEMEL_MAX_RANK; k++) {
    open += shape[k] == -1;
    dims[k] =
        shape[k] == -1 ? left_over(&x, n_shape, shape) : gemel_dim_constant(x.context, shape[k]);
  }
  if (n_shape > GEMEL_MAX_RANK || open > 1) {
    return gemel__graph_fail_at(value.graph, where, GEMEL_BAD_SHAPE, "reshape: %s",
                                open > 1 ? "only one size can be -1" : "too many axes");
  }
  for (size_t k = 0; k < n_shape; k++) {
    if (gemel_dim_is_none(dims[k])) {
      return gemel__graph_fail_at(value.graph, where, GEMEL_BAD_SHAPE,
                                  "reshape: what the -1 stands for can't be told");
    }
  }
  return gemel_reshape_at(value, n_shape, dims, where);
}

gemel_value gemel_flatten_at(gemel_value x, gemel_location where) {
  int64_t shape = -1;
  return gemel_reshape_to_at(x, 1, &shape, where);
}

/* The dtype to which all XS are promoted; BOOL if none is a value. */
static gemel_dtype common_dtype(size_t n, const gemel_value *xs) {
  gemel_dtype dtype = GEMEL_BOOL;
  for (size_t k = 0; k < n; k++) {
    if (gemel__is_value(xs[k])) {
      dtype = gemel_promote(dtype, gemel__value_dtype(xs[k]));
    }
  }
  return dtype;
}

/* Joins XS along AXIS, which is a new one if STACKED. */
static gemel_value join(int64_t axis, size_t n, const gemel_value *xs, int stacked,
                        gemel_location where) {
  gemel_graph *graph = gemel__graph_of(n, xs);
  gemel_value *parts, result;
  gemel_dtype dtype;
  if (graph == NULL) {
    return gemel__no_value;
  }
  parts = gemel__alloc(n * sizeof *parts);
  if (parts == NULL) {
    return gemel__graph_fail_at(graph, where, GEMEL_NO_MEMORY, "out of memory for parts to join");
  }
  dtype = common_dtype(n, xs);
  for (size_t k = 0; k < n; k++) {
    parts[k] = stacked ? gemel_expand_dims_at(xs[k], axis, where) : xs[k];
    parts[k] = to_dtype(parts[k], dtype, where);
  }
  result = gemel_join_at(n, parts, &(gemel_join_options){.axis = axis}, where);
  gemel__free(parts, n * sizeof *parts);
  return result;
}

gemel_value gemel_concatenate_at(size_t n_xs, const gemel_value *xs, int64_t axis,
                                 gemel_location where) {
  return join(axis, n_xs, xs, 0, where);
}

gemel_value gemel_stack_at(size_t n_xs, const gemel_value *xs, int64_t axis, gemel_location where) {
  return join(axis, n_xs, xs, 1, where);
}

/* ---- Parts ---- */

/* A bound of a slice along an axis of size N, counted from the front. */
static gemel_dim bound(gemel_context *context, int64_t index, gemel_dim n) {
  gemel_dim dim = gemel_dim_constant(context, index);
  return index < 0 ? gemel_dim_add(context, n, dim) : dim;
}

/* How many elements there are from FROM to before TO. Bounds that cross enclose none. */
static gemel_dim slice_size(gemel_context *context, gemel_dim from, gemel_dim to, int64_t step) {
  gemel_dim span = step > 0 ? gemel_dim_sub(context, to, from) : gemel_dim_sub(context, from, to);
  int64_t size = step > 0 ? step : -step;
  span = gemel_dim_add(context, span, gemel_dim_constant(context, size - 1));
  span = gemel_dim_floordiv(context, span, gemel_dim_constant(context, size));
  return gemel_dim_is_constant(context, span, &size) && size < 0 ? gemel_dim_constant(context, 0)
                                                                 : span;
}

/* SIZE elements along AXIS from START on, STEP apart; the other axes whole. */
static gemel_value window(const operand *x, int axis, gemel_dim start, gemel_dim size, int64_t step,
                          gemel_location where) {
  gemel_dim starts[GEMEL_MAX_RANK], sizes[GEMEL_MAX_RANK];
  int64_t steps[GEMEL_MAX_RANK];
  gemel_subtensor_options options = {.step = {(size_t)x->rank, steps}};
  for (int k = 0; k < x->rank; k++) {
    starts[k] = k == axis ? start : gemel_dim_constant(x->context, 0);
    sizes[k] = k == axis ? size : x->dims[k];
    steps[k] = k == axis ? step : 1;
  }
  return gemel_subtensor_at(x->value, (size_t)x->rank, starts, (size_t)x->rank, sizes,
                            step != 1 ? &options : NULL, where);
}

/* 1 if INDEX is provably outside of LOW..N. */
static int beyond(gemel_context *context, gemel_dim index, int64_t low, gemel_dim n) {
  int64_t number;
  return (gemel_dim_is_constant(context, index, &number) && number < low) ||
         (gemel_dim_is_constant(context, gemel_dim_sub(context, index, n), &number) && number > 0);
}

gemel_value gemel_slice_step_at(gemel_value value, int64_t axis, int64_t start, int64_t stop,
                                int64_t step, gemel_location where) {
  operand x;
  gemel_dim n, from, to;
  int k;
  if (!look(&x, value, "slice", where) || (k = axis_of(&x, axis, x.rank, "slice", where)) < 0) {
    return gemel__no_value;
  }
  if (step == 0 || step == INT64_MIN) {
    return gemel__graph_fail_at(value.graph, where, GEMEL_BAD_VALUE, "slice: step %lld",
                                (long long)step);
  }
  n = x.dims[k];
  from = bound(x.context, start, n);
  to = stop != GEMEL_TO_END ? bound(x.context, stop, n)
       : step > 0           ? n
                            : gemel_dim_constant(x.context, -1);
  if (beyond(x.context, from, 0, n) || beyond(x.context, to, step > 0 ? 0 : -1, n)) {
    char size[64];
    gemel_dim_format(x.context, n, size, sizeof size);
    return gemel__graph_fail_at(value.graph, where, GEMEL_BAD_VALUE,
                                "slice: %lld:%lld is outside of axis %d, which has size %s",
                                (long long)start, (long long)stop, k, size);
  }
  return window(&x, k, from, slice_size(x.context, from, to, step), step, where);
}

gemel_value gemel_slice_at(gemel_value x, int64_t axis, int64_t start, int64_t stop,
                           gemel_location where) {
  return gemel_slice_step_at(x, axis, start, stop, 1, where);
}

gemel_value gemel_index_at(gemel_value value, int64_t axis, int64_t index, gemel_location where) {
  operand x;
  int k;
  if (!look(&x, value, "index", where) || (k = axis_of(&x, axis, x.rank, "index", where)) < 0) {
    return gemel__no_value;
  }
  gemel_value part =
      window(&x, k, bound(x.context, index, x.dims[k]), gemel_dim_constant(x.context, 1), 1, where);
  return gemel_is_null(part) ? part : without_axis(&x, part, k, where);
}

/* ---- Constants ---- */

gemel_value gemel_scalar_like_at(gemel_value value, double number, gemel_location where) {
  operand x;
  return look(&x, value, "scalar_like", where) ? gemel__scalar_with(value, x.dtype, number, where)
                                               : gemel__no_value;
}

gemel_value gemel_full_like_at(gemel_value value, double number, gemel_location where) {
  gemel_value scalar = gemel_scalar_like_at(value, number, where);
  operand x;
  if (gemel_is_null(scalar) || !look(&x, value, "full_like", where) || x.rank == 0) {
    return scalar;
  }
  return gemel_broadcast_to_at(scalar, (size_t)x.rank, x.dims, where);
}

gemel_value gemel_full_at(gemel_graph *graph, gemel_dtype dtype, double value, size_t n_shape,
                          const int64_t *shape, gemel_location where) {
  gemel_value scalar = gemel_scalar_at(graph, dtype, value, where);
  gemel_dim dims[GEMEL_MAX_RANK];
  if (gemel_is_null(scalar) || (n_shape > 0 && shape == NULL)) {
    return gemel__no_value;
  }
  if (n_shape > GEMEL_MAX_RANK) {
    return gemel__graph_fail_at(graph, where, GEMEL_BAD_SHAPE, "full: too many axes");
  }
  for (size_t k = 0; k < n_shape; k++) {
    dims[k] = gemel_dim_constant(gemel_graph_context(graph), shape[k]);
  }
  return n_shape == 0 ? scalar : gemel_broadcast_to_at(scalar, n_shape, dims, where);
}

/* Stores VALUES in TENSOR, whose dtype they are rounded to. */
static gemel_status store(gemel_tensor *tensor, size_t n, const double *values,
                          gemel_error *error) {
  gemel_dtype dtype = gemel_tensor_dtype(tensor);
  for (size_t k = 0; k < n; k++) {
    char *at = (char *)gemel_tensor_data(tensor) + k * gemel_dtype_size(dtype);
    if (gemel__dtype_store(dtype, values[k], at) != GEMEL_OK) {
      return gemel__fail(error, GEMEL_BAD_VALUE, "%s can't hold %.17g", gemel_dtype_name(dtype),
                         values[k]);
    }
  }
  return GEMEL_OK;
}

gemel_value gemel_vector_at(gemel_graph *graph, gemel_dtype dtype, size_t n_values,
                            const double *values, gemel_location where) {
  gemel_error error;
  gemel_value value = gemel__no_value;
  int64_t size = (int64_t)n_values;
  gemel_tensor *tensor;
  if (graph == NULL || values == NULL) {
    return gemel__no_value;
  }
  tensor = gemel_tensor_new(dtype, 1, &size, &error);
  if (tensor == NULL || store(tensor, n_values, values, &error) != GEMEL_OK) {
    gemel__graph_fail_at(graph, where, error.status, "%s", error.text);
  } else {
    value = gemel_constant_at(graph, tensor, where);
  }
  gemel_tensor_unref(tensor);
  return value;
}

/* ---- Random ---- */

/* The uniform numbers are of f32 whatever x is: 24 bits of the rate count. */
static gemel_value drop(const operand *x, gemel_value key, double rate, gemel_value *next,
                        gemel_location where) {
  gemel_value zero = gemel_scalar_like_at(x->value, 0, where);
  gemel_value scaled =
      gemel_mul_at(x->value, gemel_scalar_like_at(x->value, 1 / (1 - rate), where), where);
  gemel_value drawn = gemel_random_uniform_at(key, (size_t)x->rank, x->dims, NULL, where);
  gemel_value kept = gemel_lt_at(drawn, gemel_scalar_like_at(drawn, 1 - rate, where), where);
  *next = gemel_value_output(drawn, 1);
  return gemel_where_at(kept, scaled, zero, where);
}

gemel_value gemel_dropout_at(gemel_value value, gemel_value key, double rate, gemel_value *next,
                             gemel_location where) {
  gemel_value other, result;
  operand x;
  next = next != NULL ? next : &other;
  *next = gemel__no_value;
  if (!look(&x, value, "dropout", where) || gemel_is_null(key)) {
    return gemel__no_value;
  }
  if (gemel_dtype_kind(x.dtype) != GEMEL_KIND_FLOAT) {
    return gemel__graph_fail_at(value.graph, where, GEMEL_BAD_TYPE, "dropout: %s is no float",
                                gemel_dtype_name(x.dtype));
  }
  if (!(rate >= 0 && rate <= 1)) {
    return gemel__graph_fail_at(value.graph, where, GEMEL_BAD_VALUE,
                                "dropout: a rate of %g is outside 0..1", rate);
  }
  if (rate == 0 || rate == 1) {
    *next = key;
    return rate == 0 ? value : gemel_full_like_at(value, 0, where);
  }
  result = drop(&x, key, rate, next, where);
  *next = gemel_is_null(result) ? gemel__no_value : *next;
  return result;
}
